/* model.h: what a table must look like and answer, written as plainly as can be: an array of cells,
 * filters that map lists to lists. It knows the rules of the API, and nothing of the code under
 * test but the types of its requests. */
#ifndef ATOLL_TESTS_PROPERTY_MODEL_H
#define ATOLL_TESTS_PROPERTY_MODEL_H

#include "cluster/model/cell.h"
#include "property/program.h"

#define MODEL_CELLS_MAX 1024
#define MODEL_TOKENS_MAX (PROGRAM_OPS_MAX * PROGRAM_ROWS_MAX)

struct model_cell {
    struct at_slice row;
    struct at_cell cell;
};

struct model_token {
    struct at_slice row;
    uint64_t token;
};

/* Cells ascend by row, family and qualifier; the newest of a column is first. */
struct model {
    struct at_arena *arena;
    int64_t now_micros;
    bool sample_passes; /* what row samples do */
    /* Set by a step: an offset or limit cut through copies of one cell that differ. Their order is
     * not defined, so the answer is not, either. */
    bool ambiguous;
    const bool *matched; /* what a predicate of the next step is taken to be; NULL: find out */
    uint32_t seen_count;
    struct model_token seen[MODEL_TOKENS_MAX]; /* under which a row was written */
    uint32_t count;
    struct model_cell cells[MODEL_CELLS_MAX];
};

/* model_step runs a request and appends the answer: codes by name, "matched" or "unmatched", and
 * rows as model_put_row writes them. Operations that change no data do nothing. */
void model_step(struct model *m, const struct op *op, struct at_buf *out);

/* --- model_filter.c --- */

struct model_list {
    struct at_cell *cells;
    uint32_t count;
};

/* model_filter_check: INVALID_ARGUMENT for a filter of a forbidden form. */
enum at_code model_filter_check(const struct at_filter_node *n);
/* model_filter_families: NOT_FOUND when it names a family that is not there. */
enum at_code model_filter_families(const struct at_filter_node *n);
bool model_filter_samples(const struct at_filter_node *n);
struct model_list
model_filter_run(struct model *m, const struct at_filter_node *n, struct at_slice row);

bool model_is_family(struct at_slice name, bool *ret_aggregate);
int model_cell_cmp(const struct at_cell *a, const struct at_cell *b);

/* --- model_regex.c --- */

/* model_regex_matches: does all of `s` match? The expressions of programs: characters, \xHH, \C, .
 * classes, groups, | * + and ?. */
bool model_regex_matches(struct at_slice regex, struct at_slice s);

/* --- model_text.c --- */

/* Appends "key f:q@ts=value#label ...;", bytes that do not print as \xHH, as row_reader.h does. */
void model_put_row(struct at_buf *out,
                   struct at_slice row,
                   const struct at_cell *cells,
                   uint32_t n);

/* Are these rows the same, but for the order of copies of one cell, which is not defined? */
bool model_same_rows(struct at_slice a, struct at_slice b);

#endif
