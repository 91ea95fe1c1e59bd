#include "cluster/admin/admin.h"

/* UpdateTable: the fields that can change after creation. The operation is done when it is
 * answered. */

struct update_table {
    struct at_change change; /* first */
    struct at_slice id;
    uint64_t start_ns; /* wall */
    bool sets_change_stream;
    bool sets_protection;
    struct at_slice change_stream_config;
    bool deletion_protection;
};

static enum at_code prepare(struct update_table *update,
                            const Google__Bigtable__Admin__V2__UpdateTableRequest *in,
                            struct at_error *reterr);
static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);
static enum at_code answer(const struct at_change *change,
                           const struct at_catalog *after,
                           struct at_operation_answer *ret_answer,
                           struct at_error *reterr);

void at_on_update_table(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__UpdateTableRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__update_table_request__descriptor);

    if (!in)
        return;
    struct update_table *update = AT_ARENA_NEW(at_grpc_call_arena(call), struct update_table);
    update->change = (struct at_change){.service = service, .call = call, .write.decide = decide};
    update->start_ns = at_clock_wall_ns(&service->clock);
    if (prepare(update, in, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_operation_submit(&update->change, answer);
}

static enum at_code
read_path(struct update_table *update, const char *path, struct at_error *reterr)
{
    if (strcmp(path, "deletion_protection") == 0 || strcmp(path, "deletionProtection") == 0) {
        update->sets_protection = true;
        return AT_OK;
    }
    if (strcmp(path, "change_stream_config") == 0 || strcmp(path, "changeStreamConfig") == 0 ||
        strcmp(path, "change_stream_config.retention_period") == 0 ||
        strcmp(path, "changeStreamConfig.retentionPeriod") == 0) {
        update->sets_change_stream = true;
        return AT_OK;
    }
    static const char *const OTHERS[] = {"column_families", "columnFamilies",   "row_key_schema",
                                         "rowKeySchema",    "automated_backup", "automatedBackup",
                                         "tiered_storage",  "tieredStorage"};
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
        if (strncmp(path, OTHERS[i], strlen(OTHERS[i])) == 0)
            return at_fail(reterr, AT_UNIMPLEMENTED, "UpdateTable does not support %s", path);
    return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'update_mask' : unknown path '%s'",
                   path);
}

static enum at_code prepare(struct update_table *update,
                            const Google__Bigtable__Admin__V2__UpdateTableRequest *in,
                            struct at_error *reterr)
{
    const Google__Bigtable__Admin__V2__Table *table = in->table;

    if (!table)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'table' : must be set");
    AT_TRY(at_service_table_id(update->change.service, at_slice_cstr(table->name), &update->id,
                               reterr));
    if (!in->update_mask || in->update_mask->n_paths == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'update_mask' : must be set");
    for (size_t i = 0; i < in->update_mask->n_paths; i++)
        AT_TRY(read_path(update, in->update_mask->paths[i], reterr));
    update->deletion_protection = table->deletion_protection;
    if (!update->sets_change_stream || !table->change_stream_config)
        return AT_OK;
    update->change_stream_config =
        at_admin_pack(at_grpc_call_arena(update->change.call), &table->change_stream_config->base);
    return at_change_stream_check(table->change_stream_config, reterr);
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    const struct update_table *update = (struct update_table *)at_change_of(write);
    const struct at_table *table = at_catalog_table(catalog, update->id);
    struct at_slice bytes;

    if (!table)
        return at_admin_no_table(update->change.service, update->id, reterr);
    struct at_table_fields fields = table->fields;
    if (update->sets_protection)
        fields.deletion_protection = update->deletion_protection;
    if (update->sets_change_stream)
        fields.change_stream_config = update->change_stream_config;
    AT_TRY(at_table_fields_make(&fields, write->arena, &bytes, reterr));
    *at_change_record(write, 1) = (struct at_catalog_record){
        .kind = AT_CATALOG_TABLE,
        .name = update->id,
        .counter = table->counter,
        .fields = bytes,
    };
    return AT_OK;
}

static enum at_code answer(const struct at_change *change,
                           const struct at_catalog *after,
                           struct at_operation_answer *ret_answer,
                           struct at_error *reterr)
{
    const struct update_table *update = (const struct update_table *)change;
    struct at_arena *arena = change->write.arena;
    Google__Bigtable__Admin__V2__UpdateTableMetadata *metadata =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__UpdateTableMetadata);

    AT_TRY(at_table_view_answer(change, after, update->id, ret_answer, reterr));
    google__bigtable__admin__v2__update_table_metadata__init(metadata);
    metadata->name = at_admin_table_name(change->service, arena, update->id);
    metadata->start_time = at_admin_time(arena, update->start_ns);
    metadata->end_time = at_admin_time(arena, at_clock_wall_ns(&change->service->clock));
    ret_answer->metadata = &metadata->base;
    return AT_OK;
}
