/* row_cursor.h: the visible cells of a table's rows, one after another. ADAPTER (engine).
 *
 * Merges one iterator per family, and one over the family-less row markers where there may be any.
 * Rows come ascending or descending, cells in a row always in normal order: families by name,
 * qualifiers by bytes, newest first. Adds to an aggregate family come folded into one cell per
 * (column, timestamp). Rows without a visible cell are passed too, so that a long stretch of
 * deleted data can be left and taken up again. One thread at a time. */
#ifndef ATOLL_CLUSTER_TABLET_ROW_CURSOR_H
#define ATOLL_CLUSTER_TABLET_ROW_CURSOR_H

#include "cluster/engine/engine.h"
#include "cluster/model/cell.h"
#include "cluster/model/filter.h"
#include "cluster/model/row_set.h"
#include "cluster/tablet/schema.h"

/* All is borrowed for the cursor's life. */
struct at_row_cursor_spec {
    struct at_engine *engine;
    const struct at_snapshot *snapshot; /* NULL: only when at_row_cursor_sources says 1 or less */
    const struct at_schema *schema;     /* taken after the snapshot */
    const struct at_table *table;       /* of that schema */
    const struct at_row_set *rows;
    const struct at_filter *filter; /* only to leave families out; may be NULL */
    struct at_slice after;          /* go on behind this row, in reading order; empty: from the
                                       start. Only borrowed by open */
    int64_t gc_micros;              /* leave out what rules condemn at this time; 0: show it */
    bool reversed;
    bool scan; /* a long read */
};

enum at_cursor_event {
    AT_CURSOR_ROW,     /* a row begins */
    AT_CURSOR_CELL,    /* a visible cell of it */
    AT_CURSOR_ROW_END, /* the row is done with */
    AT_CURSOR_PAUSE,   /* the budget is used up, perhaps in the middle of a row */
    AT_CURSOR_END,     /* no more rows */
};

struct at_row_cursor;

/* at_row_cursor_sources: how many iterators the read needs. */
uint32_t at_row_cursor_sources(const struct at_schema *schema,
                               const struct at_table *table,
                               const struct at_filter *filter);

AT_MUST_USE enum at_code at_row_cursor_open(const struct at_row_cursor_spec *spec,
                                            struct at_row_cursor **ret_cursor,
                                            struct at_error *reterr);
void at_row_cursor_close(struct at_row_cursor **cursor);

/* at_row_cursor_step goes on to the next event. It moves at least once; AT_CURSOR_PAUSE comes when
 * the budget is used up before there is another event. DATA_LOSS or UNAVAILABLE from the disk. */
AT_MUST_USE enum at_code at_row_cursor_step(struct at_row_cursor *c,
                                            enum at_cursor_event *ret_event,
                                            struct at_error *reterr);

/* at_row_cursor_allow sets the budget: bytes of stored keys and values that may be passed. */
void at_row_cursor_allow(struct at_row_cursor *c, uint64_t bytes);
bool at_row_cursor_exhausted(const struct at_row_cursor *c);
/* at_row_cursor_passed_bytes: all bytes passed since open. */
uint64_t at_row_cursor_passed_bytes(const struct at_row_cursor *c);

/* The current row, from AT_CURSOR_ROW until the step after AT_CURSOR_ROW_END. */
struct at_slice at_row_cursor_row(const struct at_row_cursor *c);
/* The cell of AT_CURSOR_CELL, until the next step. */
const struct at_cell *at_row_cursor_cell(const struct at_row_cursor *c);

/* Hints that nothing more of the current column, or row, is wanted. */
void at_row_cursor_skip_column(struct at_row_cursor *c);
void at_row_cursor_skip_row(struct at_row_cursor *c);

#endif
