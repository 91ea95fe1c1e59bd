#include "cluster/tablet/range_walk.h"

#include "base/assert.h"

static void go_up(struct at_range_walk *w, struct at_slice row);
static void go_down(struct at_range_walk *w, struct at_slice row);

void at_range_walk_init(struct at_range_walk *w, const struct at_row_set *rows, bool reversed)
{
    *w = (struct at_range_walk){
        .rows = rows,
        .index = reversed && rows->count > 0 ? rows->count - 1 : 0,
        .reversed = reversed,
        .done = rows->count == 0,
    };
}

enum at_range_place at_range_walk_place(struct at_range_walk *w, struct at_slice row)
{
    if (!w->done && w->reversed)
        go_down(w, row);
    else if (!w->done)
        go_up(w, row);
    if (w->done)
        return AT_RANGE_OVER;

    const struct at_row_range *r = at_range_walk_range(w);
    return at_row_range_before(r, row) || at_row_range_behind(r, row) ? AT_RANGE_AHEAD
                                                                      : AT_RANGE_INSIDE;
}

bool at_range_walk_ended(const struct at_range_walk *w, struct at_slice row)
{
    if (w->done)
        return true;
    if (w->index != (w->reversed ? 0 : w->rows->count - 1))
        return false;
    const struct at_row_range *r = at_range_walk_range(w);
    return r->point && at_slice_eq(r->start, row);
}

/* To the first range that is not wholly before the row. */
static void go_up(struct at_range_walk *w, struct at_slice row)
{
    if (!at_row_range_before(at_range_walk_range(w), row))
        return;
    uint32_t low = w->index + 1;
    uint32_t high = w->rows->count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (at_row_range_before(&w->rows->ranges[mid], row))
            low = mid + 1;
        else
            high = mid;
    }
    AT_ASSERT(low > w->index);
    w->done = low == w->rows->count;
    if (!w->done)
        w->index = low;
}

/* To the last range that is not wholly behind the row. */
static void go_down(struct at_range_walk *w, struct at_slice row)
{
    if (!at_row_range_behind(at_range_walk_range(w), row))
        return;
    uint32_t low = 0;
    uint32_t high = w->index;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (at_row_range_behind(&w->rows->ranges[mid], row))
            high = mid;
        else
            low = mid + 1;
    }
    AT_ASSERT(low <= w->index);
    w->done = low == 0;
    if (!w->done)
        w->index = low - 1;
}
