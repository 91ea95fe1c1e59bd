/* backup_end.h: what the worker writes into the catalog: how a job began, got on and ended.
 * ADAPTER.
 *
 * Each is one change, decided on the writer thread against the newest catalog; while writes are
 * held back it is tried again. All of them block; on a thread of the worker. CANCELLED: `stop` was
 * set before it could be written. */
#ifndef ATOLL_CLUSTER_ADMIN_BACKUP_END_H
#define ATOLL_CLUSTER_ADMIN_BACKUP_END_H

#include <stdatomic.h>

#include "cluster/admin/backup_job.h"
#include "cluster/backup/chunk.h"

struct at_backup_end_of {
    struct at_service *service;
    const _Atomic bool *stop; /* of the whole worker */
    struct at_backup_job *job;
};

/* at_backup_end_file ends a TAKE or FETCH: READY with the size of its file, or, when `error` has a
 * code, gone. ABORTED when the record was gone already: then the file is not wanted. */
AT_MUST_USE enum at_code at_backup_end_file(const struct at_backup_end_of *end,
                                            uint64_t file_bytes,
                                            const struct at_error *error);

/* at_backup_end_begin_table gives a table to be restored a new generation, with the families of the
 * file and no rows: whatever an attempt before left is gone with the old one. The job has its new
 * counter then, which is also the generation of the data. ABORTED: not wanted any more. */
AT_MUST_USE enum at_code at_backup_end_begin_table(const struct at_backup_end_of *end,
                                                   const struct at_backup_head *head,
                                                   struct at_error *reterr);
/* at_backup_end_table ends a RESTORE: the table is there, or, when `error` has a code, gone. */
AT_MUST_USE enum at_code at_backup_end_table(const struct at_backup_end_of *end,
                                             const struct at_error *error);

/* at_backup_end_progress notes it in the operation, if there is one. */
void at_backup_end_progress(const struct at_backup_end_of *end, uint32_t percent);

/* at_backup_end_expired deletes the records of own backups whose time is over, and those of
 * clusters that are no more. Does not block when there are none. */
void at_backup_end_expired(struct at_service *service, const _Atomic bool *stop);

#endif
