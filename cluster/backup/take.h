/* take.h: a table becomes a backup's file. ADAPTER (store, files).
 *
 * All rows are read under one snapshot, so the file is one moment of the table on this cluster.
 * What a read would show is kept: no markers, no stamps, aggregates by their state. The thread
 * rests as long as it works, so that others get their share of disk and processor. */
#ifndef ATOLL_CLUSTER_BACKUP_TAKE_H
#define ATOLL_CLUSTER_BACKUP_TAKE_H

#include <stdatomic.h>

#include "cluster/backup/chunk.h"
#include "cluster/tablet/store.h"

struct at_backup_take {
    struct at_store *store;
    struct at_slice table;        /* the name it is kept by */
    struct at_slice source_table; /* full name, for the head */
    const char *path;
    const _Atomic bool *stop; /* set: CANCELLED soon */
    /* Results. */
    struct at_backup_end counts;
    uint64_t file_bytes;
};

/* at_backup_take: NOT_FOUND when there is no such table; what the disk says; else as said above.
 * Nothing is left of a file that did not get whole. Blocks for as long as it takes. */
AT_MUST_USE enum at_code at_backup_take(struct at_backup_take *take, struct at_error *reterr);

#endif
