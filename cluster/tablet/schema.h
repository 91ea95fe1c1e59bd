/* schema.h: the catalog as readers see it: immutable, counted, swapped as a whole. ADAPTER
 * (atomics).
 *
 * The writer thread makes a new schema after each catalog change or dropped row range; a request
 * holds one from its start to its end. Also carries, per table, what a read must know beyond the
 * catalog: dropped ranges, whether row markers may exist, and what garbage collection by age hides.
 *
 * A reader opens its snapshot first and takes the schema second: then every dropped range that the
 * snapshot knows is in the schema. (The other order could show half of a drop.) And it makes sure
 * that nothing was forgotten in between: at_store_look. */
#ifndef ATOLL_CLUSTER_TABLET_SCHEMA_H
#define ATOLL_CLUSTER_TABLET_SCHEMA_H

#include "cluster/model/catalog.h"
#include "cluster/model/visible.h"

/* All rows with this prefix whose versions are stamped below `stamp` are hidden. */
struct at_dropped_range {
    struct at_slice prefix; /* empty: all rows */
    struct at_stamp stamp;
};

/* What garbage collection knows of a family's keys. */
struct at_family_floor {
    uint32_t family_id;
    bool dead; /* its generation is over: no key of it will be read again */
    struct at_floor floor;
};

struct at_schema {
    const struct at_catalog *catalog;
    uint64_t version;
    uint64_t floors_version; /* changes with every floor, when a family or table dies, and when a
                                dropped range or the row markers of a table are forgotten */
    struct at_schema_impl *impl;
};

struct at_schema *at_schema_ref(struct at_schema *schema);
void at_schema_unref(struct at_schema **schema);

/* The dropped ranges of a table, by its local id. */
const struct at_dropped_range *
at_schema_drops(const struct at_schema *s, uint32_t table_id, uint32_t *ret_count);
/* at_schema_row_hidden: the highest stamp among dropped ranges that cover `row`, {0} when none. */
struct at_stamp
at_schema_row_hidden(const struct at_schema *s, uint32_t table_id, struct at_slice row);
/* False only when no row marker was ever written to the table: a read may leave that iterator out.
 */
bool at_schema_has_row_markers(const struct at_schema *s, uint32_t table_id);
/* at_schema_floor: of a family; {0} when nothing was collected by age. A table that is known to be
 * dead has dead families. Lives as long as the schema. */
const struct at_family_floor *
at_schema_floor(const struct at_schema *s, uint32_t table_id, uint32_t family_id);

#endif
