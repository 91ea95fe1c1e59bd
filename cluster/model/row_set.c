#include "cluster/model/row_set.h"

#include <stdlib.h>

#include "base/assert.h"

/* Every bound is turned into a half-open one when it comes in: behind a key K there is no room
 * before K 00, so (K.. is [K 00.. and ..K] is ..K 00). Two ranges then join where they overlap, and
 * where they touch, except that a point that only touches stays a point: a look-up is cheaper than
 * a scan over two rows. */

static bool is_point(const struct at_row_range *r);
static void sort(struct at_row_set *set);

void at_row_set_init(struct at_row_set *set)
{
    *set = (struct at_row_set){.unbounded = true};
}

static enum at_code check_key(struct at_slice key, struct at_error *reterr)
{
    if (key.len > AT_ROW_KEY_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Row keys must be at most %zu bytes, this one has %zu", AT_ROW_KEY_BYTES_MAX,
                       key.len);
    return AT_OK;
}

static struct at_slice successor(struct at_arena *arena, struct at_slice key)
{
    uint8_t *bytes = at_arena_alloc_raw(arena, key.len + 1);

    if (key.len > 0)
        memcpy(bytes, key.data, key.len);
    bytes[key.len] = 0;
    return at_slice_make(bytes, key.len + 1);
}

static enum at_code append(struct at_row_set *set,
                           struct at_arena *arena,
                           struct at_row_range range,
                           struct at_error *reterr)
{
    if (set->count >= AT_ROW_SET_ITEMS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "at most %d row keys and row ranges are allowed", AT_ROW_SET_ITEMS_MAX);
    if (set->count == set->cap) {
        uint32_t cap = set->cap ? 2 * set->cap : 4;
        struct at_row_range *ranges = at_arena_alloc_raw(arena, cap * sizeof(*ranges));
        if (set->count > 0)
            memcpy(ranges, set->ranges, set->count * sizeof(*ranges));
        set->ranges = ranges;
        set->cap = cap;
    }
    set->ranges[set->count++] = range;
    set->unbounded = false;
    return AT_OK;
}

enum at_code at_row_set_add_key(struct at_row_set *set,
                                struct at_arena *arena,
                                struct at_slice key,
                                struct at_error *reterr)
{
    if (key.len == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Row keys must be non-empty");
    AT_TRY(check_key(key, reterr));
    struct at_slice end = successor(arena, key);
    struct at_slice start = at_slice_make(end.data, key.len);
    return append(set, arena, (struct at_row_range){start, end, true}, reterr);
}

enum at_code at_row_set_add_range(struct at_row_set *set,
                                  struct at_arena *arena,
                                  uint32_t index,
                                  struct at_row_bound start,
                                  struct at_row_bound end,
                                  struct at_error *reterr)
{
    struct at_row_range range = {0};

    AT_TRY(check_key(start.key, reterr));
    AT_TRY(check_key(end.key, reterr));
    if (start.kind != AT_BOUND_NONE && start.key.len > 0)
        range.start = start.kind == AT_BOUND_OPEN ? successor(arena, start.key) : start.key;
    if (end.kind != AT_BOUND_NONE && end.key.len > 0) {
        range.end = end.kind == AT_BOUND_CLOSED ? successor(arena, end.key) : end.key;
        int order = at_slice_cmp(range.start, range.end);
        /* (K,K 00) is a range like others, though no key is in it. */
        if (order > 0 || (order == 0 && at_slice_cmp(start.key, end.key) >= 0))
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "Error in element #%u: start_key must be less than end_key", index);
    }
    range.point = is_point(&range);
    return append(set, arena, range, reterr);
}

static bool is_point(const struct at_row_range *r)
{
    return r->end.len > 1 && r->start.len == r->end.len - 1 && r->end.data[r->start.len] == 0 &&
           at_slice_has_prefix(r->end, r->start);
}

/* end_cmp orders ends: the empty one is beyond all others. */
static int end_cmp(struct at_slice a, struct at_slice b)
{
    if (a.len == 0 || b.len == 0)
        return (a.len == 0) - (b.len == 0);
    return at_slice_cmp(a, b);
}

/* joins tells whether `next`, which does not start before `cur`, is to be one range with it. */
static bool joins(const struct at_row_range *cur, const struct at_row_range *next)
{
    int c = cur->end.len == 0 ? -1 : at_slice_cmp(next->start, cur->end);

    return c < 0 || (c == 0 && !cur->point && !next->point);
}

void at_row_set_finish(struct at_row_set *set, struct at_arena *arena)
{
    if (set->unbounded) {
        enum at_code code = append(set, arena, (struct at_row_range){0}, NULL);
        AT_ASSERT(code == AT_OK);
        return;
    }
    sort(set);
    uint32_t last = 0;
    for (uint32_t i = 1; i < set->count; i++) {
        struct at_row_range *cur = &set->ranges[last];
        const struct at_row_range *next = &set->ranges[i];
        if (!joins(cur, next)) {
            set->ranges[++last] = *next;
        } else if (end_cmp(next->end, cur->end) > 0) {
            cur->end = next->end;
            cur->point = false;
        }
    }
    set->count = last + 1;
}

static int range_cmp(const void *a, const void *b)
{
    return at_slice_cmp(((const struct at_row_range *)a)->start,
                        ((const struct at_row_range *)b)->start);
}

/* sort leaves alone what is in order already, as most clients send it. */
static void sort(struct at_row_set *set)
{
    for (uint32_t i = 1; i < set->count; i++) {
        if (range_cmp(&set->ranges[i - 1], &set->ranges[i]) > 0) {
            qsort(set->ranges, set->count, sizeof(set->ranges[0]), range_cmp);
            return;
        }
    }
}

bool at_row_set_contains(const struct at_row_set *set, struct at_slice row)
{
    uint32_t low = 0;
    uint32_t high = set->count;

    AT_ASSERT(!set->unbounded);
    while (low < high) { /* the first range that starts behind the row */
        uint32_t middle = low + (high - low) / 2;
        if (at_slice_cmp(set->ranges[middle].start, row) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    const struct at_row_range *r = &set->ranges[low - 1];
    if (r->point)
        return at_slice_eq(r->start, row);
    return r->end.len == 0 || at_slice_cmp(row, r->end) < 0;
}
