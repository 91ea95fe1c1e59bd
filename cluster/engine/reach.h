/* reach.h: how far a database was written, kept outside of it while it runs. ADAPTER (files).
 *
 * RocksDB takes a log that ends early, or is gone, for a crash before it was written, and says
 * nothing. So a small file, REACH, holds the number of the last write that was handed to the
 * operating system, and of the last one that was synced. A database that has less when it is opened
 * has lost something: than the former, if the machine ran on (a process that dies takes nothing
 * with it); than the latter in any case.
 *
 * The file is overwritten in place and not synced. What is found after the machine went down may be
 * older, which is true as well; one that is damaged tells nothing. */
#ifndef ATOLL_CLUSTER_ENGINE_REACH_H
#define ATOLL_CLUSTER_ENGINE_REACH_H

#include "base/slice.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define ENGINE_BOOT_ID_BYTES 40

struct engine_reach {
    int fd; /* -1: nothing is kept */
    pthread_mutex_t lock;
    bool failed;
    uint64_t written;
    uint64_t synced;
    uint8_t boot_id[ENGINE_BOOT_ID_BYTES]; /* of this start of the machine; zeros behind it */
    bool boot_known;
};

/* engine_reach_open reads what was kept in `dir`, which holds a database that ends at write `last`,
 * and returns the number of the write that it once ended at, if that was beyond; else 0. Nothing is
 * overwritten before the first engine_reach_written. `boot_id` tells starts of the machine apart;
 * empty: they can't be. */
uint64_t
engine_reach_open(struct engine_reach *r, const char *dir, struct at_slice boot_id, uint64_t last);
void engine_reach_close(struct engine_reach *r);

/* engine_reach_written: the database ends at write `last` now, which is synced, or in the hands of
 * the operating system. One thread at a time. */
void engine_reach_written(struct engine_reach *r, uint64_t last, bool synced);
/* engine_reach_asked, before a sync, returns what that makes durable; _synced after it. Any thread.
 */
uint64_t engine_reach_asked(struct engine_reach *r);
void engine_reach_synced(struct engine_reach *r, uint64_t asked);

#endif
