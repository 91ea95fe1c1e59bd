/* hides.h: what hides rows beyond the catalog, per table: dropped row ranges, whether row markers
 * exist, and the floors of its families. Owned by the writer, copied into each schema. PURE.
 *
 * A dropped range that a later one of the same table covers whole is forgotten: it can hide
 * nothing that the later one does not. */
#ifndef ATOLL_CLUSTER_TABLET_HIDES_H
#define ATOLL_CLUSTER_TABLET_HIDES_H

#include "cluster/tablet/schema_build.h"

/* Invariant: tables ascend by id, floors by family id; drops, prefixes and floors are owned. */
struct at_hides {
    struct at_schema_table *tables;
    uint32_t count;
    uint32_t cap;
    bool floors_changed; /* since the owner last looked: a floor rose, something died, or something
                            that hid rows is no more */
};

/* Told of each dropped range that is forgotten; the slice lives during the call. */
typedef void (*at_hides_gone)(void *ctx, uint32_t table_id, struct at_dropped_range drop);

void at_hides_init(struct at_hides *h);
void at_hides_deinit(struct at_hides *h);

bool at_hides_has_row_markers(const struct at_hides *h, uint32_t table_id);
void at_hides_set_row_markers(struct at_hides *h, uint32_t table_id);
/* at_hides_clear_row_markers: none is left. Readers of before must notice: floors_changed. */
void at_hides_clear_row_markers(struct at_hides *h, uint32_t table_id);

/* at_hides_add_drop adds a dropped range (copied) and forgets those it covers. False: it is itself
 * covered by one that is known, and was not added. `gone` may be NULL. */
bool at_hides_add_drop(struct at_hides *h,
                       uint32_t table_id,
                       struct at_dropped_range drop,
                       at_hides_gone gone,
                       void *ctx);

/* at_hides_forget_drop forgets this very range, below which nothing is left; as with _clear. False:
 * it is not known (any more). */
bool at_hides_forget_drop(struct at_hides *h,
                          uint32_t table_id,
                          struct at_dropped_range drop,
                          at_hides_gone gone,
                          void *ctx);

/* at_hides_floor: of a family, {0} when it has none. */
struct at_floor at_hides_floor(const struct at_hides *h, uint32_t table_id, uint32_t family_id);
/* at_hides_set_floor raises a floor: neither time nor stamp may fall. */
void at_hides_set_floor(struct at_hides *h,
                        uint32_t table_id,
                        uint32_t family_id,
                        struct at_floor floor);
/* at_hides_set_dead notes that a family, or (family_id 0) a table, will not be read again. */
void at_hides_set_dead(struct at_hides *h, uint32_t table_id, uint32_t family_id);

/* at_hides_forget drops all that is known of a table whose data is gone. */
void at_hides_forget(struct at_hides *h, uint32_t table_id, at_hides_gone gone, void *ctx);

#endif
