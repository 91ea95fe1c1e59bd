#include "cluster/admin/backup.h"

#include "base/namespace.h"

typedef Google__Bigtable__Admin__V2__Backup backup_t;

#define HOT GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__BACKUP_TYPE__HOT
#define STANDARD GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__BACKUP_TYPE__STANDARD
#define TABLES(rpc) "/google.bigtable.admin.v2.BigtableTableAdmin/" rpc

static const struct at_admin_method METHODS[] = {
    {TABLES("CreateBackup"), at_on_create_backup},
    {TABLES("CopyBackup"), at_on_copy_backup},
    {TABLES("GetBackup"), at_on_get_backup},
    {TABLES("ListBackups"), at_on_list_backups},
    {TABLES("UpdateBackup"), at_on_update_backup},
    {TABLES("DeleteBackup"), at_on_delete_backup},
    {TABLES("RestoreTable"), at_on_restore_table},
    {"/atoll.v1.Cluster/ReadBackup", at_on_read_backup},
};

size_t at_backup_methods(struct at_service *service, struct at_grpc_method *methods, size_t max)
{
    return at_admin_add(service, METHODS, sizeof(METHODS) / sizeof(METHODS[0]), methods, max);
}

backup_t *at_backup_read(const struct at_service *service,
                         const struct at_named_record *record,
                         struct at_arena *arena)
{
    struct at_backup_name name = at_backup_name_kept(record->name);
    backup_t *backup =
        at_proto_unpack(arena, &google__bigtable__admin__v2__backup__descriptor, record->fields);
    int64_t now_s = (int64_t)(at_clock_wall_ns(&service->clock) / AT_S_NS);

    if (!backup)
        return NULL;
    backup->name = at_backup_name_full(service, arena, &name);
    if (backup->hot_to_standard_time && backup->hot_to_standard_time->seconds <= now_s) {
        backup->backup_type = STANDARD;
        backup->hot_to_standard_time = NULL;
    }
    return backup;
}

struct at_slice at_backup_pack(struct at_arena *arena, const backup_t *backup)
{
    backup_t stored = *backup;
    char empty[] = "";

    stored.name = empty;
    return at_admin_pack(arena, &stored.base);
}

enum at_code at_backup_find(const struct at_service *service,
                            const struct at_catalog *catalog,
                            const struct at_backup_name *name,
                            struct at_arena *arena,
                            backup_t **ret_backup,
                            struct at_error *reterr)
{
    const struct at_named_record *record = at_catalog_named(catalog, AT_CATALOG_BACKUP, name->kept);

    if (!record)
        return at_fail(reterr, AT_NOT_FOUND, "Backup not found: %s",
                       at_backup_name_full(service, arena, name));
    *ret_backup = at_backup_read(service, record, arena);
    return *ret_backup ? AT_OK
                       : at_fail(reterr, AT_DATA_LOSS, "What is stored of backup %.*s is damaged",
                                 AT_SLICE_ARG(name->kept));
}

struct at_slice at_backup_of_cluster(const struct at_catalog *catalog, struct at_slice cluster)
{
    uint32_t count = at_catalog_named_count(catalog, AT_CATALOG_BACKUP);

    for (uint32_t i = 0; i < count; i++) {
        struct at_slice kept = at_catalog_named_at(catalog, AT_CATALOG_BACKUP, i)->name;
        if (at_slice_eq(at_backup_name_kept(kept).cluster, cluster))
            return kept;
    }
    return at_slice_make(NULL, 0);
}

Google__Bigtable__Admin__V2__BackupInfo *at_backup_info(struct at_arena *arena,
                                                        const backup_t *backup)
{
    Google__Bigtable__Admin__V2__BackupInfo *info =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__BackupInfo);

    google__bigtable__admin__v2__backup_info__init(info);
    info->backup = backup->name;
    info->start_time = backup->start_time;
    info->end_time = backup->end_time;
    info->source_table = backup->source_table;
    info->source_backup = backup->source_backup;
    return info;
}

enum at_code at_backup_same_instance(const char *a, const char *b, struct at_error *reterr)
{
    struct at_slice rest_a = at_slice_cstr(a), rest_b = at_slice_cstr(b);
    struct at_instance_name in_a, in_b;

    if (!at_namespace_take(&rest_a, &in_a) || !at_namespace_take(&rest_b, &in_b))
        return AT_OK; /* which is refused elsewhere */
    if (at_slice_eq(in_a.project, in_b.project) && at_slice_eq(in_a.instance, in_b.instance))
        return AT_OK;
    return at_fail(reterr, AT_UNIMPLEMENTED,
                   "Backups can't be copied or restored to another instance: %s is not of the "
                   "instance of %s",
                   a, b);
}

enum at_code at_backup_expiry_check(const Google__Protobuf__Timestamp *expire,
                                    int64_t created_s,
                                    int64_t seconds_max,
                                    struct at_error *reterr)
{
    int64_t seconds = expire ? expire->seconds - created_s : 0;

    if (!expire)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'expire_time' : must be set");
    if (expire->seconds < 0 || expire->nanos < 0 || seconds < AT_BACKUP_SECONDS_MIN ||
        seconds > seconds_max || (seconds == seconds_max && expire->nanos > 0))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'expire_time' : must be from 6 hours to %d days after the "
                       "backup is created",
                       (int)(seconds_max / 86400));
    return AT_OK;
}

enum at_code
at_backup_type_check(const backup_t *backup, int64_t created_s, struct at_error *reterr)
{
    const Google__Protobuf__Timestamp *time = backup->hot_to_standard_time;

    if ((int)backup->backup_type < 0 || backup->backup_type > HOT)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'backup_type' : unknown");
    if (!time)
        return AT_OK;
    if (backup->backup_type != HOT)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'hot_to_standard_time' : is for hot backups only");
    if (time->seconds - created_s < AT_BACKUP_HOT_SECONDS_MIN || time->nanos < 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'hot_to_standard_time' : must be at least 24 hours after "
                       "the backup is created");
    return AT_OK;
}

Google__Longrunning__Operation *at_backup_operation_open(const struct at_catalog *catalog,
                                                         const char *resource,
                                                         struct at_arena *arena,
                                                         const struct at_named_record **ret_record)
{
    struct at_slice prefix =
        at_slice_cstr(at_arena_printf(arena, "operations/%s/operations/", resource));
    uint32_t count = at_catalog_named_count(catalog, AT_CATALOG_OPERATION);

    for (uint32_t i = 0; i < count; i++) {
        const struct at_named_record *record =
            at_catalog_named_at(catalog, AT_CATALOG_OPERATION, i);
        if (!at_slice_has_prefix(record->name, prefix))
            continue;
        Google__Longrunning__Operation *operation =
            at_proto_unpack(arena, &google__longrunning__operation__descriptor,
                            at_arena_copy(arena, record->fields));
        *ret_record = record;
        if (operation && !operation->done && operation->metadata)
            return operation;
    }
    return NULL;
}
