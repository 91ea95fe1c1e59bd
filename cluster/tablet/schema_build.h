/* schema_build.h: making schemas, for the writer thread only. ADAPTER (atomics).
 *
 * A schema is made whole from a catalog and what the store knows beyond it, and never changes. Two
 * schemas may share a catalog, so that a dropped range does not copy it.
 *
 * Publish a schema with a new dropped range or a first row marker *before* the commit that brings
 * it: a reader takes its snapshot first and the schema second. */
#ifndef ATOLL_CLUSTER_TABLET_SCHEMA_BUILD_H
#define ATOLL_CLUSTER_TABLET_SCHEMA_BUILD_H

#include "cluster/tablet/schema.h"

/* What is known of one table beyond its catalog record. A table that is not listed has neither. */
struct at_schema_table {
    uint32_t table_id;
    bool row_markers; /* a row marker was written, or is about to be */
    bool dead;        /* its generation is over */
    const struct at_dropped_range *drops;
    uint32_t drop_count;
    const struct at_family_floor *floors; /* ascending by family id */
    uint32_t floor_count;
};

struct at_schema_spec {
    struct at_catalog *catalog; /* taken over; NULL: the catalog of `share` */
    struct at_schema *share;    /* only read; may be NULL when there is a catalog */
    uint64_t version;           /* the store counts it up with every schema */
    uint64_t floors_version;
    const struct at_schema_table *tables; /* any order; each id once. Copied */
    uint32_t table_count;
};

/* at_schema_new makes a schema with one reference. Drops are copied, sorted by prefix, and those of
 * one prefix become the one with the highest stamp. Never fails. */
struct at_schema *at_schema_new(const struct at_schema_spec *spec);

#endif
