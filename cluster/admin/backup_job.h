/* backup_job.h: what is to be done for the backups of this cluster, as the catalog tells it. PURE.
 *
 * A job is known by the record it is about: a backup, or a table that is being restored, in one
 * generation. It is over when the record says so. */
#ifndef ATOLL_CLUSTER_ADMIN_BACKUP_JOB_H
#define ATOLL_CLUSTER_ADMIN_BACKUP_JOB_H

#include "cluster/admin/backup.h"

enum at_backup_job_kind {
    AT_BACKUP_JOB_TAKE,    /* a table is read into a file */
    AT_BACKUP_JOB_FETCH,   /* a file is copied from another cluster */
    AT_BACKUP_JOB_RESTORE, /* a table is filled */
};

/* Texts are in the arena that it was made with. */
struct at_backup_job {
    enum at_backup_job_kind kind;
    struct at_slice name;  /* of the record: a kept backup name, or a kept table name */
    uint64_t counter;      /* of the record */
    const char *resource;  /* full name of the same */
    const char *source;    /* full name: TAKE of the table, FETCH and RESTORE of the backup */
    const char *operation; /* its name; NULL: none is known */
};

/* at_backup_job_same: are they about the same record? */
bool at_backup_job_same(const struct at_backup_job *a, const struct at_backup_job *b);

/* at_backup_job_next finds a job that is not among `running`; false: there is none. */
bool at_backup_job_next(const struct at_service *service,
                        const struct at_catalog *catalog,
                        const struct at_backup_job *const *running,
                        uint32_t running_count,
                        struct at_arena *arena,
                        struct at_backup_job *ret_job);

/* at_backup_job_wanted: does the catalog still ask for it? */
bool at_backup_job_wanted(const struct at_service *service,
                          const struct at_catalog *catalog,
                          const struct at_backup_job *job,
                          struct at_arena *arena);
/* at_backup_job_moot: has what it is about gone? For another thread than the job's own, which may
 * be changing its counter: false leaves open whether it is wanted. */
bool at_backup_job_moot(const struct at_catalog *catalog, const struct at_backup_job *job);

#endif
