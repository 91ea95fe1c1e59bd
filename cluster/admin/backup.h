/* backup.h: backups: what the handlers of their RPCs and their worker share. ADAPTER.
 *
 * What is to be done stands in the catalog, which every member has and which outlives restarts; the
 * worker (backup_worker.h) of the cluster that a backup lives in looks for it there:
 *
 *   backup CREATING, no source_backup    a table is read into a file
 *   backup CREATING, with source_backup  a file is copied from another cluster
 *   table `restoring`                    is filled from the file of its restore_info
 *   backup whose expire_time is over     goes
 *   file without a record                goes
 *
 * The operation of each is found by the name of its resource. Handlers only write records. */
#ifndef ATOLL_CLUSTER_ADMIN_BACKUP_H
#define ATOLL_CLUSTER_ADMIN_BACKUP_H

#include "cluster/admin/admin.h"
#include "cluster/admin/backup_name.h"

#define AT_BACKUP_SECONDS_MIN (INT64_C(6) * 3600) /* from creation to expiry */
#define AT_BACKUP_SECONDS_MAX (INT64_C(90) * 24 * 3600)
#define AT_BACKUP_COPY_SECONDS_MAX (INT64_C(30) * 24 * 3600)
#define AT_BACKUP_HOT_SECONDS_MIN (INT64_C(24) * 3600)

/* at_backup_read: the stored backup with its name; NULL when it is damaged. A hot one whose
 * time is over is a standard one. */
Google__Bigtable__Admin__V2__Backup *at_backup_read(const struct at_service *service,
                                                    const struct at_named_record *record,
                                                    struct at_arena *arena);
/* at_backup_pack is what is stored: without the name. */
struct at_slice at_backup_pack(struct at_arena *arena,
                               const Google__Bigtable__Admin__V2__Backup *backup);
/* at_backup_find: NOT_FOUND, DATA_LOSS. */
AT_MUST_USE enum at_code at_backup_find(const struct at_service *service,
                                        const struct at_catalog *catalog,
                                        const struct at_backup_name *name,
                                        struct at_arena *arena,
                                        Google__Bigtable__Admin__V2__Backup **ret_backup,
                                        struct at_error *reterr);
Google__Bigtable__Admin__V2__BackupInfo *
at_backup_info(struct at_arena *arena, const Google__Bigtable__Admin__V2__Backup *backup);

/* at_backup_of_cluster: the kept name of any backup that lives in a cluster; empty: it has none.
 * Borrows the catalog. */
struct at_slice at_backup_of_cluster(const struct at_catalog *catalog, struct at_slice cluster);

/* at_backup_delete puts the records by which a backup and its policy are deleted: one made anew
 * under its name must not be found with that. `count_max` of all records of the change. */
void at_backup_delete(struct at_write_catalog *write,
                      const struct at_catalog *catalog,
                      const struct at_named_record *record,
                      uint32_t count_max);

/* at_backup_same_instance: are two resource names of one instance? UNIMPLEMENTED when not. */
AT_MUST_USE enum at_code
at_backup_same_instance(const char *a, const char *b, struct at_error *reterr);

/* at_backup_expiry_check: INVALID_ARGUMENT unless `expire` is so far from `created_s`. */
AT_MUST_USE enum at_code at_backup_expiry_check(const Google__Protobuf__Timestamp *expire,
                                                int64_t created_s,
                                                int64_t seconds_max,
                                                struct at_error *reterr);
/* at_backup_type_check: of the fields backup_type and hot_to_standard_time. INVALID_ARGUMENT. */
AT_MUST_USE enum at_code at_backup_type_check(const Google__Bigtable__Admin__V2__Backup *backup,
                                              int64_t created_s,
                                              struct at_error *reterr);

/* at_backup_operation_open: the operation of this resource that is not done; NULL: there is none.
 * `ret_record` borrows the catalog. */
Google__Longrunning__Operation *at_backup_operation_open(const struct at_catalog *catalog,
                                                         const char *resource,
                                                         struct at_arena *arena,
                                                         const struct at_named_record **ret_record);

/* --- handlers; `ctx` is the at_service --- */
void at_on_create_backup(struct at_grpc_call *call, void *ctx);
void at_on_copy_backup(struct at_grpc_call *call, void *ctx);
void at_on_get_backup(struct at_grpc_call *call, void *ctx);
void at_on_list_backups(struct at_grpc_call *call, void *ctx);
void at_on_update_backup(struct at_grpc_call *call, void *ctx);
void at_on_delete_backup(struct at_grpc_call *call, void *ctx);
void at_on_restore_table(struct at_grpc_call *call, void *ctx);
void at_on_read_backup(struct at_grpc_call *call, void *ctx);

#endif
