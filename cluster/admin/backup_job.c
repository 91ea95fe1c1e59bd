#include "cluster/admin/backup_job.h"

#include "base/assert.h"

typedef Google__Bigtable__Admin__V2__Backup backup_t;
typedef Google__Bigtable__Admin__V2__RestoreInfo restore_info_t;

#define CREATING GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__STATE__CREATING

bool at_backup_job_same(const struct at_backup_job *a, const struct at_backup_job *b)
{
    bool both_tables = (a->kind == AT_BACKUP_JOB_RESTORE) == (b->kind == AT_BACKUP_JOB_RESTORE);

    return both_tables && at_slice_eq(a->name, b->name);
}

static bool is_running(const struct at_backup_job *job,
                       const struct at_backup_job *const *running,
                       uint32_t running_count)
{
    for (uint32_t i = 0; i < running_count; i++)
        if (at_backup_job_same(job, running[i]))
            return true;
    return false;
}

/* False: nothing is to be done for this backup, here or now. */
static bool job_of_backup(const struct at_service *service,
                          const struct at_named_record *record,
                          struct at_arena *arena,
                          struct at_backup_job *ret_job)
{
    struct at_backup_name name = at_backup_name_kept(record->name);

    if (!at_slice_eq_cstr(name.cluster, service->cluster_id))
        return false;
    const backup_t *backup = at_backup_read(service, record, arena);
    if (!backup || backup->state != CREATING)
        return false;
    bool copy = backup->source_backup[0] != '\0';
    *ret_job = (struct at_backup_job){
        .kind = copy ? AT_BACKUP_JOB_FETCH : AT_BACKUP_JOB_TAKE,
        .name = at_arena_copy(arena, record->name),
        .counter = record->generation,
        .resource = backup->name,
        .source = copy ? backup->source_backup : backup->source_table,
    };
    return true;
}

static bool job_of_table(const struct at_service *service,
                         const struct at_table *table,
                         struct at_arena *arena,
                         struct at_backup_job *ret_job)
{
    struct at_backup_name name;

    if (!table->fields.restoring)
        return false;
    const restore_info_t *info = at_proto_unpack(
        arena, &google__bigtable__admin__v2__restore_info__descriptor, table->fields.restore_info);
    bool from_backup =
        info && info->source_info_case ==
                    GOOGLE__BIGTABLE__ADMIN__V2__RESTORE_INFO__SOURCE_INFO_BACKUP_INFO;
    if (!from_backup || !info->backup_info ||
        at_backup_name_parse(service, info->backup_info->backup, arena, &name, NULL) != AT_OK ||
        !at_slice_eq_cstr(name.cluster, service->cluster_id))
        return false;
    *ret_job = (struct at_backup_job){
        .kind = AT_BACKUP_JOB_RESTORE,
        .name = at_arena_copy(arena, table->name),
        .counter = table->counter,
        .resource = at_admin_table_name(service, arena, table->name),
        .source = info->backup_info->backup,
    };
    return true;
}

static bool find(const struct at_service *service,
                 const struct at_catalog *catalog,
                 const struct at_backup_job *const *running,
                 uint32_t running_count,
                 struct at_arena *arena,
                 struct at_backup_job *ret_job)
{
    uint32_t backup_count = at_catalog_named_count(catalog, AT_CATALOG_BACKUP);
    uint32_t table_count = at_catalog_table_count(catalog);

    for (uint32_t i = 0; i < backup_count; i++)
        if (job_of_backup(service, at_catalog_named_at(catalog, AT_CATALOG_BACKUP, i), arena,
                          ret_job) &&
            !is_running(ret_job, running, running_count))
            return true;
    for (uint32_t i = 0; i < table_count; i++)
        if (job_of_table(service, at_catalog_table_at(catalog, i), arena, ret_job) &&
            !is_running(ret_job, running, running_count))
            return true;
    return false;
}

bool at_backup_job_next(const struct at_service *service,
                        const struct at_catalog *catalog,
                        const struct at_backup_job *const *running,
                        uint32_t running_count,
                        struct at_arena *arena,
                        struct at_backup_job *ret_job)
{
    const struct at_named_record *record = NULL;

    if (!find(service, catalog, running, running_count, arena, ret_job))
        return false;
    if (at_backup_operation_open(catalog, ret_job->resource, arena, &record))
        ret_job->operation = at_admin_text(arena, record->name);
    return true;
}

bool at_backup_job_wanted(const struct at_service *service,
                          const struct at_catalog *catalog,
                          const struct at_backup_job *job,
                          struct at_arena *arena)
{
    struct at_backup_job now;

    if (job->kind == AT_BACKUP_JOB_RESTORE) {
        const struct at_table *table = at_catalog_table(catalog, job->name);
        return table && table->counter == job->counter && table->fields.restoring;
    }
    const struct at_named_record *record = at_catalog_named(catalog, AT_CATALOG_BACKUP, job->name);
    return record && record->generation == job->counter &&
           job_of_backup(service, record, arena, &now);
}

bool at_backup_job_moot(const struct at_catalog *catalog, const struct at_backup_job *job)
{
    if (job->kind == AT_BACKUP_JOB_RESTORE) {
        const struct at_table *table = at_catalog_table(catalog, job->name);
        return !table || !table->fields.restoring;
    }
    return at_catalog_named_counter(catalog, AT_CATALOG_BACKUP, job->name) != job->counter;
}
