/* row_set.h: the rows a read asks for, as ascending, disjoint, half-open key ranges. PURE. */
#ifndef ATOLL_CLUSTER_MODEL_ROW_SET_H
#define ATOLL_CLUSTER_MODEL_ROW_SET_H

#include "base/arena.h"
#include "base/limits.h"
#include "base/status.h"

/* [start, end); an empty start is the first key, an empty end is infinity. */
struct at_row_range {
    struct at_slice start;
    struct at_slice end;
    bool point; /* exactly the row `start`, whatever the end is */
};

struct at_row_set {
    struct at_row_range *ranges; /* in the arena */
    uint32_t count;
    uint32_t cap;
    bool unbounded; /* nothing was added yet: the whole table */
};

enum at_bound_kind { AT_BOUND_NONE, AT_BOUND_CLOSED, AT_BOUND_OPEN };
struct at_row_bound {
    enum at_bound_kind kind;
    struct at_slice key;
};

void at_row_set_init(struct at_row_set *set);

/* at_row_set_add_key: INVALID_ARGUMENT for the empty key or one beyond 4 KiB. Copies into the arena
 * only what it must extend. */
AT_MUST_USE enum at_code at_row_set_add_key(struct at_row_set *set,
                                            struct at_arena *arena,
                                            struct at_slice key,
                                            struct at_error *reterr);

/* at_row_set_add_range: element `index` of row_ranges. An empty key in a bound means unbounded,
 * open or closed (production's reading of an open one; chosen for the closed one too). Start beyond
 * end, or an empty range such as (K,K] or [K,K), is INVALID_ARGUMENT "Error in element #i:
 * start_key must be less than end_key". */
AT_MUST_USE enum at_code at_row_set_add_range(struct at_row_set *set,
                                              struct at_arena *arena,
                                              uint32_t index,
                                              struct at_row_bound start,
                                              struct at_row_bound end,
                                              struct at_error *reterr);

/* at_row_set_finish sorts and joins; an unbounded set becomes one range over everything. Each row
 * is then in at most one range. */
void at_row_set_finish(struct at_row_set *set, struct at_arena *arena);

/* at_row_set_contains, after finish. */
bool at_row_set_contains(const struct at_row_set *set, struct at_slice row);

#endif
