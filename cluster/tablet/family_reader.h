/* family_reader.h: the visible cells of one row in one family after another. ADAPTER (engine).
 *
 * Turns a source's stored keys into cells: applies the markers, leaves out what is overwritten or
 * hidden, folds adds. The cursor above it chooses rows and families. One thread at a time. */
#ifndef ATOLL_CLUSTER_TABLET_FAMILY_READER_H
#define ATOLL_CLUSTER_TABLET_FAMILY_READER_H

#include "cluster/model/cell.h"
#include "cluster/model/visible.h"
#include "cluster/tablet/fold.h"
#include "cluster/tablet/row_source.h"

/* Invariant: `qualifier` is the column of the last key that was taken, when in_column. */
struct at_family_reader {
    int64_t gc_micros; /* leave out what rules condemn at this time; 0: show it */
    struct at_visible visible;
    struct at_fold fold;
    struct at_cell cell;     /* of AT_FAMILY_CELL, until the next step */
    struct at_slice row;     /* borrowed from begin_row until the next one */
    struct at_slice escaped; /* the same, as in keys */
    struct at_buf qualifier;
    struct at_buf scratch; /* of at_key_decode */
    struct at_buf target;  /* of seeks */
    bool in_column;
    bool consumed;     /* the key under the source was dealt with: move first */
    bool skip_column;  /* a hint: the current column is not wanted any more */
    uint32_t versions; /* of the column that showed; with gc_micros */
    uint32_t stale;    /* overwritten versions passed in a row */
};

enum at_family_event {
    AT_FAMILY_CELL,  /* `cell` is the next visible one */
    AT_FAMILY_MOVED, /* nothing to show yet */
    AT_FAMILY_END,   /* the source has left the row */
};

void at_family_reader_init(struct at_family_reader *r);
void at_family_reader_deinit(struct at_family_reader *r);

/* at_family_reader_begin_row starts a row; what is stamped below `hidden` does not show. */
void at_family_reader_begin_row(struct at_family_reader *r,
                                struct at_slice row,
                                struct at_slice escaped,
                                struct at_stamp hidden);
/* at_family_reader_begin_family goes on to another family of the same row. */
void at_family_reader_begin_family(struct at_family_reader *r);

/* at_family_reader_step deals with the next key of the source: moves at least once, or ends. The
 * source still stands on a cell that is shown. DATA_LOSS for malformed data, else what the source
 * says. */
AT_MUST_USE enum at_code at_family_reader_step(struct at_family_reader *r,
                                               struct at_row_source *s,
                                               enum at_family_event *ret_event,
                                               struct at_error *reterr);

#endif
