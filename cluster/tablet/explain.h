/* explain.h: everything that is stored of one row, and why each version shows or not. ADAPTER
 * (engine).
 *
 * For people who ask where a value came from, or where it went. It judges each version by itself,
 * by the rule of visible.h, and names what hides it. One call reads the whole row under one
 * snapshot. */
#ifndef ATOLL_CLUSTER_TABLET_EXPLAIN_H
#define ATOLL_CLUSTER_TABLET_EXPLAIN_H

#include "base/arena.h"
#include "base/status.h"
#include "cluster/model/key.h"

struct at_store;

#define AT_EXPLAIN_ITEMS_MAX 10000
#define AT_EXPLAIN_VALUE_BYTES_MAX 1024 /* of a value; its size tells whether there is more */
#define AT_EXPLAIN_NONE UINT32_MAX

enum at_explain_kind {
    AT_EXPLAIN_CELL,          /* what a set left */
    AT_EXPLAIN_PARTIAL,       /* what an add or a merge left */
    AT_EXPLAIN_COLUMN_MARKER, /* deletes a range of timestamps of a column */
    AT_EXPLAIN_FAMILY_MARKER,
    AT_EXPLAIN_ROW_MARKER,
    AT_EXPLAIN_DROPPED_RANGE, /* all rows with a prefix */
};

/* Why a version does not show. The first that applies. */
enum at_explain_reason {
    AT_EXPLAIN_SHOWS,
    AT_EXPLAIN_DELETED,     /* by the marker `by`, whose stamp is higher */
    AT_EXPLAIN_OVERWRITTEN, /* by `by`, the same cell with a higher stamp */
    AT_EXPLAIN_COLLECTED,   /* below its family's floor: garbage collection by age was there */
    AT_EXPLAIN_OTHER_KIND,  /* a set in an aggregate family, an add in a plain one, or an add of
                               another type */
    AT_EXPLAIN_CONDEMNED,   /* by the family's rule: shows until it is collected, unless reads are
                               strict */
};

struct at_explain_item {
    enum at_explain_kind kind;
    enum at_explain_reason reason; /* versions */
    uint32_t by;                   /* index of the item that hides it, or AT_EXPLAIN_NONE */
    uint32_t hides_count;          /* markers: versions that have it as `by` */
    struct at_stamp stamp;
    struct at_slice family;    /* empty for row markers and dropped ranges */
    struct at_slice qualifier; /* versions and column markers */
    int64_t timestamp_micros;  /* versions */
    int64_t start_micros;      /* column markers: from here */
    int64_t end_micros;        /* up to but not with; 0: no end */
    struct at_slice prefix;    /* dropped ranges */
    struct at_slice value;     /* versions: at most AT_EXPLAIN_VALUE_BYTES_MAX of it */
    size_t value_size;
};

struct at_explanation {
    struct at_explain_item *items; /* what hides rows first, then families by name, in key order */
    uint32_t count;
    bool truncated; /* there is more */
};

struct at_explain_query {
    struct at_slice table;
    struct at_slice row;
    int64_t now_micros; /* as of when rules are asked */
};
/* at_explain_row: all is in the arena. NOT_FOUND for the table,
 * DATA_LOSS or UNAVAILABLE from the disk. Blocks for the length of the row. */
AT_MUST_USE enum at_code at_explain_row(struct at_store *store,
                                        struct at_explain_query query,
                                        struct at_arena *arena,
                                        struct at_explanation *ret_explanation,
                                        struct at_error *reterr);

#endif
