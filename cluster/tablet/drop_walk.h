/* drop_walk.h: names all that is left below one dropped row range. ADAPTER (engine).
 *
 * Looks at every family there are keys of, known or not, and at row markers. Once it has come to
 * its end and what it named is gone, the range hides nothing any more, provided nothing can arrive
 * below its stamp: that it is at or below the horizon. One thread at a time. */
#ifndef ATOLL_CLUSTER_TABLET_DROP_WALK_H
#define ATOLL_CLUSTER_TABLET_DROP_WALK_H

#include "cluster/tablet/garbage_batch.h"
#include "cluster/tablet/store.h"

struct at_drop_walk {
    struct at_store *store;
    uint32_t table_id;
    struct at_dropped_range drop;
    struct at_buf position; /* the next step begins here */
    struct at_buf scratch;  /* of at_key_decode */
};

void at_drop_walk_init(struct at_drop_walk *w, struct at_store *store);
void at_drop_walk_deinit(struct at_drop_walk *w);
/* at_drop_walk_begin: the prefix is borrowed until the walk ends. */
void at_drop_walk_begin(struct at_drop_walk *w, uint32_t table_id, struct at_dropped_range drop);

/* at_drop_walk_step goes on until about `bytes_max` were passed or the batch is full. DATA_LOSS or
 * UNAVAILABLE from the disk. */
AT_MUST_USE enum at_code at_drop_walk_step(struct at_drop_walk *w,
                                           struct at_garbage_batch *batch,
                                           uint64_t bytes_max,
                                           bool *ret_done,
                                           struct at_error *reterr);

#endif
