/* row_marker_walk.h: names the row markers of a table that are to be forgotten, each after all that
 * it covers. ADAPTER (engine).
 *
 * A row marker covers all families of its table, also those that this cluster has no name for yet.
 * What it covers in known families is garbage and mostly gone before; what is left is named here.
 * The snapshot is taken anew between rows, after some seconds. One thread at a time. */
#ifndef ATOLL_CLUSTER_TABLET_ROW_MARKER_WALK_H
#define ATOLL_CLUSTER_TABLET_ROW_MARKER_WALK_H

#include "cluster/tablet/garbage_batch.h"
#include "cluster/tablet/row_source.h"
#include "cluster/tablet/store.h"

#define AT_ROW_MARKER_FAMILIES_MAX 512

struct at_row_marker_walk {
    struct at_store *store;
    uint32_t table_id;
    uint64_t horizon;
    struct at_snapshot *snapshot; /* NULL: not open */
    struct at_schema *schema;
    struct at_row_source markers;
    struct at_row_source *families; /* all that there are keys of */
    uint32_t family_count;
    bool families_known;
    struct at_buf row;     /* the current one; a step opens at its start */
    struct at_buf escaped; /* the same, as in keys */
    struct at_buf scratch; /* of at_key_decode */
    struct at_buf target;  /* of seeks */
    uint64_t passed_bytes;
    uint64_t opened_ns;
    bool covered_gone; /* of the row: nothing that its markers cover is left to be named */
    /* The lowest stamp of the markers that stay, UINT64_MAX: none does. */
    uint64_t left_hlc;
};

void at_row_marker_walk_init(struct at_row_marker_walk *w, struct at_store *store);
void at_row_marker_walk_deinit(struct at_row_marker_walk *w);
void at_row_marker_walk_begin(struct at_row_marker_walk *w, uint32_t table_id, uint64_t horizon);

/* at_row_marker_walk_step goes on until about `bytes_max` were passed or the batch is full. now_ns
 * is monotonic. DATA_LOSS or UNAVAILABLE from the disk. */
AT_MUST_USE enum at_code at_row_marker_walk_step(struct at_row_marker_walk *w,
                                                 struct at_garbage_batch *batch,
                                                 uint64_t bytes_max,
                                                 uint64_t now_ns,
                                                 bool *ret_done,
                                                 struct at_error *reterr);

#endif
