/* schema.h: the catalog as readers see it: immutable, counted, swapped as a whole. ADAPTER
 * (atomics).
 *
 * The writer thread makes a new schema after each catalog change or dropped row range; a request
 * holds one from its start to its end. Also carries, per table, what a read must know beyond the
 * catalog: dropped ranges and whether row markers may exist.
 *
 * A reader opens its snapshot first and takes the schema second: then every dropped range that the
 * snapshot knows is in the schema. (The other order could show half of a drop.) */
#ifndef ATOLL_CLUSTER_TABLET_SCHEMA_H
#define ATOLL_CLUSTER_TABLET_SCHEMA_H

#include "cluster/model/catalog.h"

/* All rows with this prefix whose versions are stamped below `stamp` are hidden. */
struct at_dropped_range {
    struct at_slice prefix; /* empty: all rows */
    struct at_stamp stamp;
};

struct at_schema {
    const struct at_catalog *catalog;
    uint64_t version;
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

#endif
