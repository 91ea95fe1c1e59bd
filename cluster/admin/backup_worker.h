/* backup_worker.h: the threads that make, copy and restore this cluster's backups. ADAPTER.
 *
 * Two threads take jobs from the catalog (backup_job.h), one each at a time; a third looks every
 * 100 ms whether running jobs are still wanted, lets expired backups go, and removes files that no
 * record speaks of. All that a job does is found again, or gone, after kill -9 at any point:
 *
 *   a backup that was being made      is given up when the process starts: ABORTED
 *   a copy that was being made        is begun anew
 *   a table that was being restored   is emptied and filled anew */
#ifndef ATOLL_CLUSTER_ADMIN_BACKUP_WORKER_H
#define ATOLL_CLUSTER_ADMIN_BACKUP_WORKER_H

#include "cluster/service/service.h"

struct at_backup_worker;

/* at_backup_worker_start: the store is open. INTERNAL when there are no threads to be had. */
AT_MUST_USE enum at_code at_backup_worker_start(struct at_service *service,
                                                struct at_backup_worker **ret_worker,
                                                struct at_error *reterr);
/* at_backup_worker_stop waits until they have ended, some seconds at most. Before the store is
 * closed; the loops may have stopped. */
void at_backup_worker_stop(struct at_backup_worker **worker);

#endif
