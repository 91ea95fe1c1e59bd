/* range_walk.h: where a read stands in its row set, going up or down. PURE. */
#ifndef ATOLL_CLUSTER_TABLET_RANGE_WALK_H
#define ATOLL_CLUSTER_TABLET_RANGE_WALK_H

#include "cluster/model/row_set.h"

/* Invariant: index < rows->count unless done. */
struct at_range_walk {
    const struct at_row_set *rows; /* finished; borrowed */
    uint32_t index;
    bool reversed;
    bool done; /* all ranges are behind */
};

enum at_range_place {
    AT_RANGE_INSIDE, /* the row is asked for */
    AT_RANGE_AHEAD,  /* the next asked row is further on than this one: seek to the current range */
    AT_RANGE_OVER,   /* nothing further on is asked for */
};

void at_range_walk_init(struct at_range_walk *w, const struct at_row_set *rows, bool reversed);

/* at_range_walk_place tells where a row stands that comes behind all earlier ones (in reading
 * order), and moves on to the range that may hold it or those further on. */
enum at_range_place at_range_walk_place(struct at_range_walk *w, struct at_slice row);

/* at_range_walk_ended tells, behind `row`, that no other row can be asked for. */
bool at_range_walk_ended(const struct at_range_walk *w, struct at_slice row);

static inline const struct at_row_range *at_range_walk_range(const struct at_range_walk *w)
{
    return &w->rows->ranges[w->index];
}

/* at_row_range_before: the whole range lies before the row. */
static inline bool at_row_range_before(const struct at_row_range *r, struct at_slice row)
{
    if (r->point)
        return at_slice_cmp(r->start, row) < 0;
    return r->end.len > 0 && at_slice_cmp(r->end, row) <= 0;
}

/* at_row_range_behind: the whole range lies behind the row. */
static inline bool at_row_range_behind(const struct at_row_range *r, struct at_slice row)
{
    return at_slice_cmp(r->start, row) > 0;
}

#endif
