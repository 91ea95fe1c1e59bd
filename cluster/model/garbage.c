#include "cluster/model/garbage.h"

#include "base/assert.h"

void at_garbage_init(struct at_garbage *g)
{
    *g = (struct at_garbage){0};
    at_visible_init(&g->visible);
}

void at_garbage_deinit(struct at_garbage *g)
{
    at_visible_deinit(&g->visible);
}

void at_garbage_begin_family(struct at_garbage *g, const struct at_garbage_law *law)
{
    AT_ASSERT(law->rule != NULL);
    g->rule = law->rule;
    g->folds = law->folds;
    g->now_micros = law->now_micros;
    g->visible.floor = law->floor;
}

void at_garbage_begin_row(struct at_garbage *g, struct at_stamp hidden)
{
    AT_ASSERT(g->rule != NULL);
    at_visible_begin_row(&g->visible, hidden);
    g->versions = 0;
}

void at_garbage_begin_column(struct at_garbage *g)
{
    at_visible_begin_column(&g->visible);
    g->versions = 0;
}

enum at_code
at_garbage_marker(struct at_garbage *g, const struct at_key *key, struct at_slice value)
{
    return at_visible_marker(&g->visible, key, value);
}

bool at_garbage_cell(struct at_garbage *g, int64_t timestamp_micros, struct at_stamp stamp)
{
    bool shows = g->folds ? at_visible_partial(&g->visible, timestamp_micros, stamp)
                          : at_visible_cell(&g->visible, timestamp_micros, stamp);

    if (!shows)
        return true;
    if (g->versions == 0 || timestamp_micros != g->last_timestamp_micros) {
        g->versions++;
        g->last_timestamp_micros = timestamp_micros;
        g->last_condemned =
            at_gc_rule_condemns(g->rule, g->versions, timestamp_micros, g->now_micros);
    }
    return g->last_condemned;
}
