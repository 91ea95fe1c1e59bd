/* backup_progress.h: the metadata of operations on backups while they run, and at their end. PURE.
 */
#ifndef ATOLL_CLUSTER_ADMIN_BACKUP_PROGRESS_H
#define ATOLL_CLUSTER_ADMIN_BACKUP_PROGRESS_H

#include "cluster/admin/operation.h"

/* at_backup_progress_set: false when the operation's metadata tells no progress (CreateBackup), or
 * tells this already. */
bool at_backup_progress_set(Google__Longrunning__Operation *operation,
                            uint32_t percent,
                            struct at_arena *arena);
/* at_backup_progress_end notes when it ended; one that went well is at 100 %. */
void at_backup_progress_end(Google__Longrunning__Operation *operation,
                            uint64_t end_ns,
                            bool well,
                            struct at_arena *arena);

#endif
