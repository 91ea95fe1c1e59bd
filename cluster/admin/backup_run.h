/* backup_run.h: one job of the backup worker, from its beginning to its end in the catalog.
 * ADAPTER.
 */
#ifndef ATOLL_CLUSTER_ADMIN_BACKUP_RUN_H
#define ATOLL_CLUSTER_ADMIN_BACKUP_RUN_H

#include <stdatomic.h>

#include "cluster/admin/backup_job.h"

struct at_backup_run {
    struct at_service *service;
    const _Atomic bool *worker_stop; /* the process ends: leave all as it is */
    const _Atomic bool *stop;        /* also set when the job is not wanted any more */
    struct at_backup_job *job;
};

/* at_backup_run does the job and records how it ended. False: it must be tried again. Blocks. */
bool at_backup_run(const struct at_backup_run *run);

/* at_backup_run_remains lists what a process before this one was making: TAKEs, in the arena.
 * Before any other job. at_backup_run_give_up ends one of them with ABORTED; it blocks. */
struct at_backup_job *at_backup_run_remains(const struct at_service *service,
                                            struct at_arena *arena,
                                            uint32_t *ret_count);
void at_backup_run_give_up(struct at_service *service,
                           const _Atomic bool *worker_stop,
                           struct at_backup_job *job);

#endif
