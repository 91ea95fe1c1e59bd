#include "base/assert.h"
#include "base/namespace.h"
#include "cluster/admin/backup.h"

/* RestoreTable: an empty table that says what it is to be filled from, and an operation, in one
 * change. The worker of the backup's cluster, which has the file, does the rest: families and rows
 * reach the other clusters like those of any client. */

typedef Google__Bigtable__Admin__V2__Backup backup_t;

#define FROM_BACKUP GOOGLE__BIGTABLE__ADMIN__V2__RESTORE_SOURCE_TYPE__BACKUP

struct restore_table {
    struct at_change change; /* first */
    struct at_slice in;      /* the table's instance */
    struct at_slice id;      /* the name it is kept by */
    struct at_backup_name source;
    uint64_t start_ns; /* wall */
};

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);

static enum at_code prepare(struct restore_table *r,
                            const Google__Bigtable__Admin__V2__RestoreTableRequest *in,
                            struct at_error *reterr)
{
    const struct at_service *service = r->change.service;
    struct at_arena *arena = at_grpc_call_arena(r->change.call);

    if (in->source_case != GOOGLE__BIGTABLE__ADMIN__V2__RESTORE_TABLE_REQUEST__SOURCE_BACKUP)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'backup' : must be set");
    AT_TRY(at_backup_same_instance(in->backup, in->parent, reterr));
    AT_TRY(at_service_instance_check(service, at_slice_cstr(in->parent), reterr));
    AT_TRY(at_service_namespace(service, at_slice_cstr(in->parent), &r->in, reterr));
    AT_TRY(at_backup_name_parse(service, in->backup, arena, &r->source, reterr));
    AT_TRY(at_table_id_check(at_slice_cstr(in->table_id), reterr));
    r->id = at_admin_keep(arena, r->in, "tables", at_slice_cstr(in->table_id));
    return AT_OK;
}

void at_on_restore_table(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__RestoreTableRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__restore_table_request__descriptor);

    if (!in)
        return;
    struct restore_table *r = AT_ARENA_NEW(at_grpc_call_arena(call), struct restore_table);
    r->start_ns = at_clock_wall_ns(&service->clock);
    r->change = (struct at_change){
        .service = service, .call = call, .write.decide = decide, .reply = at_operation_reply};
    if (prepare(r, in, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_change_submit(&r->change);
}

/* --- on the writer thread --- */

static void begin(struct restore_table *r, const backup_t *backup)
{
    struct at_arena *arena = r->change.write.arena;
    char *table = at_admin_table_name(r->change.service, arena, r->id);
    Google__Bigtable__Admin__V2__OperationProgress progress =
        GOOGLE__BIGTABLE__ADMIN__V2__OPERATION_PROGRESS__INIT;
    Google__Bigtable__Admin__V2__RestoreTableMetadata metadata =
        GOOGLE__BIGTABLE__ADMIN__V2__RESTORE_TABLE_METADATA__INIT;

    progress.start_time = at_admin_time(arena, r->start_ns);
    metadata.name = table;
    metadata.source_type = FROM_BACKUP;
    metadata.progress = &progress;
    metadata.source_info_case =
        GOOGLE__BIGTABLE__ADMIN__V2__RESTORE_TABLE_METADATA__SOURCE_INFO_BACKUP_INFO;
    metadata.backup_info = at_backup_info(arena, backup);
    at_operation_begin(&r->change, table, r->start_ns, &metadata.base);
}

static enum at_code make_fields(const struct restore_table *r,
                                const struct at_catalog *catalog,
                                const backup_t *backup,
                                struct at_slice *ret_fields,
                                struct at_error *reterr)
{
    struct at_arena *arena = r->change.write.arena;
    Google__Bigtable__Admin__V2__RestoreInfo info = GOOGLE__BIGTABLE__ADMIN__V2__RESTORE_INFO__INIT;

    info.source_type = FROM_BACKUP;
    info.source_info_case = GOOGLE__BIGTABLE__ADMIN__V2__RESTORE_INFO__SOURCE_INFO_BACKUP_INFO;
    info.backup_info = at_backup_info(arena, backup);
    struct at_table_fields fields = {
        .granularity_micros = 1000, /* until the file is open */
        .restore_info = at_admin_pack(arena, &info.base),
        .restoring = true,
    };
    AT_TRY(at_table_fields_make(&fields, arena, ret_fields, reterr));
    return at_table_created_fields(catalog, r->id, arena, ret_fields, reterr);
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    struct restore_table *r = (struct restore_table *)at_change_of(write);
    const struct at_service *service = r->change.service;
    backup_t *backup = NULL;
    struct at_slice fields;

    AT_TRY(at_backup_find(service, catalog, &r->source, write->arena, &backup, reterr));
    AT_ASSERT(backup != NULL);
    if (backup->state != GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__STATE__READY)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "%s is not ready yet", backup->name);
    if (at_catalog_table(catalog, r->id))
        return at_fail(reterr, AT_ALREADY_EXISTS, "table \"%s\" already exists",
                       at_admin_table_name(service, write->arena, r->id));
    AT_TRY(at_table_count_check(catalog, r->in, reterr));
    AT_TRY(make_fields(r, catalog, backup, &fields, reterr));
    *at_change_record(write, 1) = (struct at_catalog_record){
        .kind = AT_CATALOG_TABLE,
        .name = r->id,
        .counter = at_catalog_table_counter(catalog, r->id) + 1,
        .fields = fields,
    };
    begin(r, backup);
    return AT_OK;
}
