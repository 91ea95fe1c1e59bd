#include "cluster/tablet/family_reader.h"

#include "base/assert.h"

/* A cell is given out while its source still stands on it, so that no value is copied; the move
 * comes with the next step (`consumed`). A fold is given out when its (column, timestamp) is over,
 * which is seen at the key behind it: that key is not consumed then.
 *
 * Cells of a plain family show, and partials of an aggregate one. What is of the other kind, or no
 * partial of the family's type, came from a cluster that took the family for another one: it is
 * passed over, and never an error. */

/* Keys that are stepped over before seeking behind a column or an overwritten timestamp. */
#define STALE_BEFORE_SEEK 6

static enum at_code
pass_column(struct at_family_reader *r, struct at_row_source *s, struct at_error *reterr);
static enum at_code take_key(struct at_family_reader *r,
                             struct at_row_source *s,
                             bool *ret_shown,
                             struct at_error *reterr);
static enum at_code take_cell(struct at_family_reader *r,
                              struct at_row_source *s,
                              const struct at_key *key,
                              bool *ret_shown,
                              struct at_error *reterr);
static void
take_partial(struct at_family_reader *r, const struct at_row_source *s, const struct at_key *key);
static bool spared(struct at_family_reader *r, const struct at_row_source *s, int64_t micros);
static enum at_code
enter_column(struct at_family_reader *r, const struct at_row_source *s, struct at_slice qualifier);
static enum at_code pass_stale(struct at_family_reader *r,
                               struct at_row_source *s,
                               const struct at_key *key,
                               struct at_error *reterr);
static bool show_fold(struct at_family_reader *r, const struct at_row_source *s);

void at_family_reader_init(struct at_family_reader *r)
{
    *r = (struct at_family_reader){0};
    at_visible_init(&r->visible);
    at_buf_init(&r->qualifier, AT_KEY_BYTES_MAX);
    at_buf_init(&r->scratch, AT_KEY_BYTES_MAX);
    at_buf_init(&r->target, AT_KEY_BYTES_MAX);
}

void at_family_reader_deinit(struct at_family_reader *r)
{
    at_visible_deinit(&r->visible);
    at_fold_deinit(&r->fold);
    at_buf_deinit(&r->qualifier);
    at_buf_deinit(&r->scratch);
    at_buf_deinit(&r->target);
}

void at_family_reader_begin_row(struct at_family_reader *r,
                                struct at_slice row,
                                struct at_slice escaped,
                                struct at_stamp hidden)
{
    at_visible_begin_row(&r->visible, hidden);
    r->row = row;
    r->escaped = escaped;
    r->consumed = false;
    r->skip_column = false;
    at_fold_drop(&r->fold);
    r->in_column = false;
    r->stale = 0;
}

void at_family_reader_begin_family(struct at_family_reader *r)
{
    AT_ASSERT(!r->fold.active && !r->consumed);
    at_visible_begin_family(&r->visible);
    r->skip_column = false;
    r->in_column = false;
    r->stale = 0;
}

enum at_code at_family_reader_step(struct at_family_reader *r,
                                   struct at_row_source *s,
                                   enum at_family_event *ret_event,
                                   struct at_error *reterr)
{
    bool shown = false;

    if (r->consumed) {
        r->consumed = false;
        AT_TRY(at_row_source_next(s, reterr));
    }
    if (r->skip_column) {
        r->skip_column = false;
        AT_TRY(pass_column(r, s, reterr));
    }
    if (at_row_source_at(s, r->escaped)) {
        AT_TRY(take_key(r, s, &shown, reterr));
        *ret_event = shown ? AT_FAMILY_CELL : AT_FAMILY_MOVED;
    } else if (r->fold.active) {
        *ret_event = show_fold(r, s) ? AT_FAMILY_CELL : AT_FAMILY_MOVED;
    } else {
        *ret_event = AT_FAMILY_END;
    }
    return AT_OK;
}

/* Moves behind the current column, unless the source left it already. */
static enum at_code
pass_column(struct at_family_reader *r, struct at_row_source *s, struct at_error *reterr)
{
    struct at_key key;

    for (int i = 0; i <= STALE_BEFORE_SEEK; i++) {
        if (!at_row_source_at(s, r->escaped))
            return AT_OK;
        AT_TRY(at_row_source_decode(s, &r->scratch, &key, reterr));
        if (!r->in_column || !at_slice_eq(key.qualifier, at_buf_slice(&r->qualifier)))
            return AT_OK;
        if (i < STALE_BEFORE_SEEK)
            AT_TRY(at_row_source_next(s, reterr));
    }
    at_buf_clear(&r->target);
    AT_TRY(at_key_seek_column_after(&r->target, s->table_id, s->family_id, r->row,
                                    at_buf_slice(&r->qualifier)));
    return at_row_source_seek(s, at_buf_slice(&r->target), reterr);
}

/* Deals with the key under the source. *ret_shown: `cell` is the next one; either the key is it and
 * is consumed, or a fold ended before the key and it is not. */
static enum at_code take_key(struct at_family_reader *r,
                             struct at_row_source *s,
                             bool *ret_shown,
                             struct at_error *reterr)
{
    struct at_key key;

    *ret_shown = false;
    AT_TRY(at_row_source_decode(s, &r->scratch, &key, reterr));
    bool same_column = r->in_column && key.kind != AT_KEY_FAMILY_MARKER &&
                       at_slice_eq(key.qualifier, at_buf_slice(&r->qualifier));
    if (r->fold.active && (!same_column || key.timestamp_micros != r->fold.timestamp_micros)) {
        *ret_shown = show_fold(r, s);
        return AT_OK;
    }
    if (!same_column && key.kind != AT_KEY_FAMILY_MARKER)
        AT_TRY(enter_column(r, s, key.qualifier));
    r->consumed = true;
    bool folded = at_fold_applies(s->family->type);
    if (key.kind == AT_KEY_CELL)
        return folded ? AT_OK : take_cell(r, s, &key, ret_shown, reterr);
    if (key.kind == AT_KEY_PARTIAL) {
        if (folded)
            take_partial(r, s, &key);
        else
            r->skip_column = true; /* partials are the last of a column */
        return AT_OK;
    }
    if (at_visible_marker(&r->visible, &key, at_iter_value(s->iter)) != AT_OK)
        return at_fail(reterr, AT_DATA_LOSS, "a stored delete marker is malformed");
    return AT_OK;
}

static enum at_code take_cell(struct at_family_reader *r,
                              struct at_row_source *s,
                              const struct at_key *key,
                              bool *ret_shown,
                              struct at_error *reterr)
{
    const struct at_visible *v = &r->visible;
    bool decided = v->have_cell && v->last_timestamp_micros == key->timestamp_micros;

    if (!at_visible_cell(&r->visible, key->timestamp_micros, key->stamp))
        return decided ? pass_stale(r, s, key, reterr) : AT_OK;
    r->stale = 0;
    if (!spared(r, s, key->timestamp_micros))
        return AT_OK;
    r->cell = (struct at_cell){
        .family = s->family->name,
        .qualifier = at_buf_slice(&r->qualifier),
        .timestamp_micros = key->timestamp_micros,
        .value = at_iter_value(s->iter),
    };
    *ret_shown = true;
    return AT_OK;
}

static void
take_partial(struct at_family_reader *r, const struct at_row_source *s, const struct at_key *key)
{
    if (!at_visible_partial(&r->visible, key->timestamp_micros, key->stamp))
        return;
    bool fits =
        at_fold_add(&r->fold, s->family->type, key->timestamp_micros, at_iter_value(s->iter));
    (void)fits; /* hidden when not */
}

/* Asks the rule about the next version that shows. What it condemns is the rest of a column. */
static bool spared(struct at_family_reader *r, const struct at_row_source *s, int64_t micros)
{
    if (r->gc_micros == 0 ||
        !at_gc_rule_condemns(s->family->rule, ++r->versions, micros, r->gc_micros))
        return true;
    r->skip_column = true;
    return false;
}

static enum at_code
enter_column(struct at_family_reader *r, const struct at_row_source *s, struct at_slice qualifier)
{
    at_visible_begin_column(&r->visible);
    r->visible.floor = s->floor;
    r->versions = 0;
    r->in_column = true;
    r->stale = 0;
    at_buf_clear(&r->qualifier);
    return at_buf_append(&r->qualifier, qualifier);
}

/* An older stamp of a timestamp that is decided. One that was written over and over is left by a
 * seek to the last possible version of it. */
static enum at_code pass_stale(struct at_family_reader *r,
                               struct at_row_source *s,
                               const struct at_key *key,
                               struct at_error *reterr)
{
    if (++r->stale < STALE_BEFORE_SEEK)
        return AT_OK;
    r->stale = 0;
    r->consumed = false;
    at_buf_clear(&r->target);
    AT_TRY(at_key_put_row(&r->target, s->table_id, s->family_id, r->row));
    AT_TRY(at_key_put_qualifier(&r->target, at_buf_slice(&r->qualifier)));
    AT_TRY(at_key_put_cell_end(&r->target, key->timestamp_micros, (struct at_stamp){0}));
    if (at_slice_cmp(s->key, at_buf_slice(&r->target)) >= 0)
        return at_row_source_next(s, reterr);
    return at_row_source_seek(s, at_buf_slice(&r->target), reterr);
}

static bool show_fold(struct at_family_reader *r, const struct at_row_source *s)
{
    if (!spared(r, s, r->fold.timestamp_micros)) {
        at_fold_drop(&r->fold);
        return false;
    }
    r->cell = (struct at_cell){
        .family = s->family->name,
        .qualifier = at_buf_slice(&r->qualifier),
        .timestamp_micros = r->fold.timestamp_micros,
        .value = at_fold_take(&r->fold),
    };
    return true;
}
