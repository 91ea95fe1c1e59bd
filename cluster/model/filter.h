/* filter.h: row filters as a streaming pipeline over cells. PURE.
 *
 * A filter is built as a tree of nodes in an arena (service/filter_decode does
 * it from the protobuf), checked and compiled once per request, then run row by row: cells go in in
 * storage order (family name, qualifier, newest first) and come out in the same order, with memory
 * that does not grow with the row, except for a condition, whose branches must wait for its
 * predicate.
 *
 * Where production's behaviour is not known for certain:
 *   - regexes are Latin-1 and byte-wise: '.' is one byte (but a newline), '\C' is any byte;
 *   - row_sample takes 0 < p < 1;
 *   - ranges of columns, values and timestamps may be empty but not inverted (start > end);
 *   - an open end at the empty string is infinity; a closed one is the empty string itself, which
 *     qualifiers and values may be;
 *   - a column range must name its family; a family regex must not contain ':', literal or not;
 *   - a condition must have a predicate; it may lack either branch or both;
 *   - conditions count into the depth of nesting, as chains and interleaves do. */
#ifndef ATOLL_CLUSTER_MODEL_FILTER_H
#define ATOLL_CLUSTER_MODEL_FILTER_H

#include "base/arena.h"
#include "base/prng.h"
#include "base/status.h"
#include "cluster/model/cell.h"

enum at_filter_kind {
    AT_FILTER_PASS_ALL,
    AT_FILTER_BLOCK_ALL,
    AT_FILTER_CHAIN,
    AT_FILTER_INTERLEAVE,
    AT_FILTER_CONDITION,
    AT_FILTER_SINK,
    AT_FILTER_ROW_KEY_REGEX,
    AT_FILTER_ROW_SAMPLE,
    AT_FILTER_FAMILY_REGEX,
    AT_FILTER_QUALIFIER_REGEX,
    AT_FILTER_COLUMN_RANGE,
    AT_FILTER_TIMESTAMP_RANGE,
    AT_FILTER_VALUE_REGEX,
    AT_FILTER_VALUE_RANGE,
    AT_FILTER_CELLS_PER_ROW_OFFSET,
    AT_FILTER_CELLS_PER_ROW_LIMIT,
    AT_FILTER_CELLS_PER_COLUMN_LIMIT,
    AT_FILTER_STRIP_VALUE,
    AT_FILTER_APPLY_LABEL,
    AT_FILTER_VALUE_BITMASK,
};

struct at_filter_bound {
    bool set;
    bool open;
    struct at_slice bytes;
};

/* A node as asked for. Slices borrow the request. */
struct at_filter_node {
    enum at_filter_kind kind;
    struct at_filter_node *
        *children; /* CHAIN, INTERLEAVE; CONDITION: predicate, true, false (each may be NULL) */
    uint32_t child_count;
    struct at_slice bytes; /* regexes, label, mask, COLUMN_RANGE: the family */
    double probability;    /* ROW_SAMPLE */
    int64_t number;        /* offsets and limits */
    int64_t start_micros;  /* TIMESTAMP_RANGE: [start, end), 0 end is open */
    int64_t end_micros;
    struct at_filter_bound start; /* COLUMN_RANGE, VALUE_RANGE */
    struct at_filter_bound end;
};

struct at_filter;

/* at_filter_compile checks the tree (forbidden forms and limits of the API, with field and reason
 * as production words them: "Error in field 'cells_per_row_limit_filter' : argument must be > 0")
 * and compiles its regexes. NULL root passes everything. The nodes and their bytes must outlive the
 * filter. All refusals are INVALID_ARGUMENT. A compiled filter is immutable: any thread. */
AT_MUST_USE enum at_code at_filter_compile(const struct at_filter_node *root,
                                           struct at_filter **ret_filter,
                                           struct at_error *reterr);
void at_filter_free(struct at_filter **filter);

/* at_filter_may_pass_family: false when no cell of the family can ever come out, nor be counted or
 * looked for by a condition, so that its storage need not be read. */
bool at_filter_may_pass_family(const struct at_filter *f, struct at_slice family);

/* at_filter_literal_families lists family names that the filter asks for literally (a regex that
 * can match one string, or a column range), for the check that they exist. Returns the count. */
uint32_t at_filter_literal_families(const struct at_filter *f,
                                    struct at_slice *ret_names,
                                    uint32_t names_max);

/* at_filter_row_literal: true when the only row that can pass is `*ret_row`, which lives as long as
 * the filter: a scan can then be a look-up. */
bool at_filter_row_literal(const struct at_filter *f, struct at_slice *ret_row);

/* --- running --- */

struct at_filter_run;

/* One run per read; it keeps counters and buffers between rows. */
struct at_filter_run *at_filter_run_new(const struct at_filter *f, uint64_t seed);
void at_filter_run_free(struct at_filter_run **run);

/* What the source may do next. SKIP_* are hints: nothing more of that column or row can come out,
 * so the source may seek past it (it need not). */
enum at_filter_next { AT_FILTER_NEXT_CELL, AT_FILTER_SKIP_COLUMN, AT_FILTER_SKIP_ROW };

/* Receives what comes out. `cell` lives during the call. */
typedef void (*at_filter_emit)(void *ctx, const struct at_cell *cell);

/* at_filter_run_begin starts a row. SKIP_ROW: nothing of it can come out. The key must live until
 * end. */
enum at_filter_next at_filter_run_begin(struct at_filter_run *run, struct at_slice row);
enum at_filter_next at_filter_run_push(struct at_filter_run *run,
                                       const struct at_cell *cell,
                                       at_filter_emit emit,
                                       void *ctx);
/* at_filter_run_end flushes what waited for the end of the row. */
void at_filter_run_end(struct at_filter_run *run, at_filter_emit emit, void *ctx);

/* at_filter_run_code tells how the last row went; ask after at_filter_run_end. On failure not all
 * of the row came out. FAILED_PRECONDITION: the row was too large (AT_ROW_READ_BYTES_MAX) to be
 * kept for its condition. INVALID_ARGUMENT: interleaves made a hundred thousand copies of one cell.
 */
AT_MUST_USE enum at_code at_filter_run_code(const struct at_filter_run *run,
                                            struct at_error *reterr);

#endif
