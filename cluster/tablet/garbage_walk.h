/* garbage_walk.h: goes through the stored versions of one family and names those that are garbage,
 * and markers and adds at or below the horizon that are to be forgotten. ADAPTER (engine).
 *
 * A marker is named after all that it covers in this family; adds of one cell and the fold that
 * takes their place are in one batch.
 *
 * Works under a snapshot and the schema taken after it, like a read, and takes both anew between
 * rows, after a while. It may stop anywhere and go on later; memory does not grow with rows. One
 * thread at a time. */
#ifndef ATOLL_CLUSTER_TABLET_GARBAGE_WALK_H
#define ATOLL_CLUSTER_TABLET_GARBAGE_WALK_H

#include "cluster/model/garbage.h"
#include "cluster/tablet/fold.h"
#include "cluster/tablet/garbage_batch.h"
#include "cluster/tablet/row_source.h"
#include "cluster/tablet/store.h"

/* Which family, by its local ids, and when rules are asked. */
struct at_garbage_aim {
    uint32_t table_id;
    uint32_t family_id;
    int64_t now_micros;
    uint64_t horizon; /* all up to it is here, in every snapshot of the walk; 0: forget nothing */
};

struct at_garbage_walk {
    struct at_store *store;
    struct at_garbage_aim aim;
    struct at_garbage garbage;
    struct at_snapshot *snapshot; /* NULL: not open */
    struct at_schema *schema;
    struct at_row_source source;
    struct at_row_source marker; /* row markers; iter NULL: there are none */
    struct at_buf row;           /* the current one; the walk opens at its start */
    struct at_buf escaped;       /* the same, as in keys */
    struct at_buf qualifier;
    struct at_buf scratch; /* of at_key_decode */
    struct at_buf target;  /* of seeks */
    uint64_t passed_bytes;
    uint64_t opened_ns;
    bool in_row;
    bool in_column;
    /* What goes at the end of the row, of the column, and of the cell. */
    struct at_key_list family_markers;
    struct at_key_list column_markers;
    struct at_key_list adds; /* of `fold`; the first has the highest stamp */
    struct at_fold fold;
    uint64_t adds_left_hlc; /* of the cell's adds that show, the lowest above the horizon */
    /* The lowest stamp of what might be forgotten once the horizon has passed it; 0: something
     * might be now, by another walk; UINT64_MAX: nothing. */
    uint64_t left_hlc;
};

void at_garbage_walk_init(struct at_garbage_walk *w, struct at_store *store);
void at_garbage_walk_deinit(struct at_garbage_walk *w);
/* at_garbage_walk_begin aims it at the start of a family. */
void at_garbage_walk_begin(struct at_garbage_walk *w, struct at_garbage_aim aim);

/* at_garbage_walk_step goes on until about `bytes_max` were passed or the batch is full, and sets
 * *ret_done at the end of the family, or when it is no more. now_ns is monotonic. DATA_LOSS or
 * UNAVAILABLE from the disk. */
AT_MUST_USE enum at_code at_garbage_walk_step(struct at_garbage_walk *w,
                                              struct at_garbage_batch *batch,
                                              uint64_t bytes_max,
                                              uint64_t now_ns,
                                              bool *ret_done,
                                              struct at_error *reterr);

#endif
