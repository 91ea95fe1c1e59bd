/* garbage_pass.h: one pass of the collector over some tables, piece by piece: what is garbage goes,
 * and what lies at or below the horizon is forgotten. ADAPTER (engine, the writer). Private to the
 * tablet folder.
 *
 * It looks under snapshots and has the writer remove exact keys in small batches, each of which it
 * waits for. A batch that was refused ends the pass before anything that relied on it. One thread
 * at a time: the collector's, or the one that drives a manual store. */
#ifndef ATOLL_CLUSTER_TABLET_GARBAGE_PASS_H
#define ATOLL_CLUSTER_TABLET_GARBAGE_PASS_H

#include "cluster/tablet/drop_walk.h"
#include "cluster/tablet/garbage_walk.h"
#include "cluster/tablet/row_marker_walk.h"

#include <semaphore.h>

enum at_garbage_target_kind {
    AT_GARBAGE_FAMILY,      /* the versions and markers of one family */
    AT_GARBAGE_DROP,        /* what is left below one dropped range, then its record */
    AT_GARBAGE_ROW_MARKERS, /* those of one table */
};

struct at_garbage_target {
    enum at_garbage_target_kind kind;
    uint32_t table_id;
    uint32_t family_id;
    struct at_dropped_range drop; /* the prefix lives with the pass's schema */
};

struct at_garbage_pass {
    struct at_store *store;
    struct at_schema *schema; /* as of the beginning */
    struct at_garbage_target *targets;
    uint32_t count;
    uint32_t at; /* the target at work */
    bool in_target;
    bool retried; /* it began again, after a batch that was void */
    /* The lowest stamp of what may be forgotten once the horizon has passed it; 0: another pass
     * may find something at once; UINT64_MAX: nothing. */
    uint64_t left_hlc;
    int64_t now_micros;
    uint64_t horizon; /* 0: nothing is forgotten now */
    uint64_t collected_count;
    uint64_t forgotten_count;
    struct at_garbage_walk walk;
    struct at_row_marker_walk markers;
    struct at_drop_walk drops;
    struct at_garbage_batch batch;
    struct at_write_collect write;
    sem_t written;
};

/* at_garbage_pass_begin raises the floors and stores the horizon, then names what is to be looked
 * at: of one table, by its id, or (empty) of all. NOT_FOUND: no such table. Blocks, as do steps; to
 * be ended whatever it returns. */
AT_MUST_USE enum at_code at_garbage_pass_begin(struct at_garbage_pass *p,
                                               struct at_store *store,
                                               struct at_slice table,
                                               struct at_error *reterr);
void at_garbage_pass_end(struct at_garbage_pass *p);

/* at_garbage_pass_step looks at about `bytes_max` of keys and removes what it found; *ret_done:
 * that was all. UNAVAILABLE: the writer takes nothing now; DATA_LOSS from the disk. */
AT_MUST_USE enum at_code at_garbage_pass_step(struct at_garbage_pass *p,
                                              uint64_t bytes_max,
                                              bool *ret_done,
                                              struct at_error *reterr);

#endif
