/* filter_impl.h: what the rooms of filter.h share: the program that a filter becomes. PURE.
 *
 * A tree of filters becomes a flat array of steps. A step hands a cell on to the step at `next`,
 * which is always lower; step 0 puts out. A chain is steps in a row, an interleave a fan-out whose
 * branches all lead to what follows it: each step answers a cell at once with copies of it, so what
 * leaves the branches is in order without a merge, and so is what a sink puts out past the rest.
 *
 * Only a condition has to wait. A filter with conditions keeps the row at one step (BUFFER) and
 * runs what is behind it several times at the end of the row: pass p settles the predicates of
 * level p, whose input depends on conditions of lower levels only; the last pass puts out. */
#ifndef ATOLL_CLUSTER_MODEL_FILTER_IMPL_H
#define ATOLL_CLUSTER_MODEL_FILTER_IMPL_H

#include "base/buf.h"
#include "base/regex.h"
#include "cluster/model/filter.h"

/* Interleaves in a chain multiply copies: a filter of the largest size could ask for 2^1000 of each
 * cell. One that makes more of a cell than this fails the read. */
#define FILTER_COPIES_MAX 100000

enum filter_op {
    FILTER_EMIT, /* put out */
    FILTER_DROP,
    FILTER_FAN, /* to each of branches[first .. first + count) */
    FILTER_COND,
    FILTER_MARK, /* the end of condition `index`'s predicate */
    FILTER_BUFFER,
    FILTER_SAMPLE, /* rows: decided at begin */
    FILTER_ROW_LITERAL,
    FILTER_ROW_REGEX,
    FILTER_FAMILY_LITERAL,
    FILTER_FAMILY_REGEX,
    FILTER_QUALIFIER_LITERAL,
    FILTER_QUALIFIER_REGEX,
    FILTER_COLUMN_RANGE,
    FILTER_TIMESTAMP_RANGE,
    FILTER_VALUE_LITERAL,
    FILTER_VALUE_REGEX,
    FILTER_VALUE_RANGE,
    FILTER_VALUE_BITMASK,
    FILTER_ROW_OFFSET,
    FILTER_ROW_LIMIT,
    FILTER_COLUMN_LIMIT,
    FILTER_STRIP,
    FILTER_LABEL,
};

struct filter_step {
    enum filter_op op;
    uint32_t next;
    uint32_t index; /* of its counter, cache, row decision or condition */
    uint32_t first; /* FAN: its branches; COND and MARK: the entry of the true branch */
    uint32_t count; /* FAN; COND and MARK: the entry of the false branch */
    uint32_t level; /* COND and MARK, from 1 */
    const struct at_filter_node *node;
    struct at_slice bytes; /* the literal */
    struct at_regex *regex;
};

struct at_filter {
    struct filter_step *steps;
    uint32_t step_count;
    uint32_t step_cap;
    uint32_t *branches;
    uint32_t branch_count;
    uint32_t branch_cap;
    uint32_t entry;         /* where the source's cells go in */
    uint32_t body;          /* where the kept row goes in; only if `buffered` */
    uint32_t counter_count; /* offsets and limits */
    uint32_t cache_count;   /* family and qualifier regexes */
    uint32_t row_count;     /* row decisions */
    uint32_t cond_count;
    uint32_t level_max;
    bool buffered;
    bool blocked;        /* nothing of any row can come out */
    bool tracks_columns; /* some step needs to know when the column changes */
};

/* A count holds for one row and pass, that of a column limit also for one column. */
struct filter_counter {
    uint64_t epoch;
    uint64_t count;
};

/* What a regex said about the family or qualifier of an epoch. */
struct filter_cache {
    uint64_t epoch;
    bool matches;
};

struct at_filter_run {
    const struct at_filter *filter;
    struct at_prng prng;
    at_filter_emit emit;
    void *ctx;
    bool emitting; /* false in the passes that settle conditions */
    uint32_t pass; /* 0 while the row comes in */
    uint32_t undecided;
    enum at_code code;
    uint32_t copy_count; /* that fan-outs have made of the current cell */
    struct filter_counter *counters;
    struct filter_cache *caches;
    bool *row_passes;
    bool *conds;
    uint8_t *alive; /* scratch of begin, by step */

    /* The column of the last cell; the epochs count its changes. */
    struct at_buf family;
    struct at_buf qualifier;
    uint64_t family_epoch;
    uint64_t column_epoch;

    struct at_arena arena; /* the kept row's bytes */
    struct at_cell *cells;
    size_t cell_count;
    size_t cell_cap;
};

/* at_filter_check refuses what the API forbids (filter_check.c). INVALID_ARGUMENT. */
AT_MUST_USE enum at_code at_filter_check(const struct at_filter_node *root,
                                         struct at_error *reterr);

/* at_filter_sweep tells whether a cell can get from the entry to the output (filter_query.c).
 * `family` NULL: any. `row_passes` NULL: any row. `alive` has a byte per step. */
bool at_filter_sweep(const struct at_filter *f,
                     const struct at_slice *family,
                     const bool *row_passes,
                     uint8_t *alive);

/* at_filter_exec runs one cell from step `pc` on (filter_exec.c). */
enum at_filter_next
at_filter_exec(struct at_filter_run *run, uint32_t pc, const struct at_cell *cell);

/* at_filter_feed is the same behind the bookkeeping of columns. */
enum at_filter_next
at_filter_feed(struct at_filter_run *run, uint32_t pc, const struct at_cell *cell);

/* at_filter_keep copies a cell for the end of the row (filter_run.c). */
enum at_filter_next at_filter_keep(struct at_filter_run *run, const struct at_cell *cell);

#endif
