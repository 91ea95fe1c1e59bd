/* mutation.h: one change to one row, and the checks of production on it. PURE. */
#ifndef ATOLL_CLUSTER_MODEL_MUTATION_H
#define ATOLL_CLUSTER_MODEL_MUTATION_H

#include "base/limits.h"
#include "base/slice.h"
#include "base/status.h"

enum at_mutation_kind {
    AT_MUTATION_SET,
    AT_MUTATION_DELETE_COLUMN,
    AT_MUTATION_DELETE_FAMILY,
    AT_MUTATION_DELETE_ROW,
    AT_MUTATION_ADD,   /* to an aggregate cell */
    AT_MUTATION_MERGE, /* a state into an aggregate cell */
};
#define AT_MUTATION_KIND_COUNT 6

/* What an add or a merge was given, as the request says it. */
enum at_input { AT_INPUT_RAW, AT_INPUT_INT, AT_INPUT_BYTES, AT_INPUT_STRING };

#define AT_TIMESTAMP_SERVER INT64_C(-1)

/* Slices borrow from the request (or from the log entry it was decoded from). */
struct at_mutation {
    enum at_mutation_kind kind;
    struct at_slice family;
    uint32_t family_generation; /* filled in by the writer, or by the log entry */
    struct at_slice qualifier;
    int64_t timestamp_micros; /* SET, ADD, MERGE; AT_TIMESTAMP_SERVER until the writer stamps it */
    int64_t start_micros;     /* DELETE_COLUMN: [start, end), 0 is open */
    int64_t end_micros;
    struct at_slice value;
    enum at_input input; /* ADD, MERGE; not logged */
};

/* at_mutation_check applies the limits and forms of the API to element `index` of a mutation list.
 * `granularity_micros` is 1000 or 1. INVALID_ARGUMENT with production's wording, e.g. "Error in
 * Mutation list : Error in element #0 : Timestamp granularity mismatch. Expected a multiple of 1000
 * (millisecond granularity), but got N." */
AT_MUST_USE enum at_code at_mutation_check(const struct at_mutation *m,
                                           uint32_t index,
                                           int64_t granularity_micros,
                                           struct at_error *reterr);

/* at_row_key_check: INVALID_ARGUMENT "Row keys must be non-empty", or longer than 4 KiB. */
AT_MUST_USE enum at_code at_row_key_check(struct at_slice row, struct at_error *reterr);

#endif
