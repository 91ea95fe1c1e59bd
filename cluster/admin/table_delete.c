#include "base/namespace.h"
#include "cluster/admin/admin.h"

struct delete_table {
    struct at_change change; /* first */
    struct at_slice id;
};

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);

static void on_deleted(struct at_change *change)
{
    at_admin_reply_empty(change->service, change->call);
}

void at_on_delete_table(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__DeleteTableRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__delete_table_request__descriptor);

    if (!in)
        return;
    struct delete_table *drop = AT_ARENA_NEW(at_grpc_call_arena(call), struct delete_table);
    drop->change = (struct at_change){
        .service = service, .call = call, .write.decide = decide, .reply = on_deleted};
    if (at_service_table_id(service, at_slice_cstr(in->name), &drop->id, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_change_submit(&drop->change);
}

/* A table made anew under this name must not be found with the policy of this one. */
static void forget_policy(struct at_write_catalog *write,
                          const struct at_catalog *catalog,
                          const struct delete_table *drop)
{
    struct at_slice kept = drop->id;

    if (at_namespace_of(drop->id).len == 0)
        kept = at_slice_cstr(at_arena_printf(write->arena, "tables/%.*s", AT_SLICE_ARG(drop->id)));
    const struct at_named_record *record = at_catalog_named(catalog, AT_CATALOG_POLICY, kept);
    if (record)
        *at_change_record(write, 2) = (struct at_catalog_record){
            .kind = AT_CATALOG_POLICY, .name = kept, .counter = record->generation + 1};
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    const struct delete_table *drop = (struct delete_table *)at_change_of(write);
    const struct at_table *table = at_catalog_table(catalog, drop->id);
    struct at_slice kept;

    if (!table)
        return at_admin_no_table(drop->change.service, drop->id, reterr);
    if (table->fields.deletion_protection)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "table '%.*s' is protected from deletion",
                       AT_SLICE_ARG(drop->id));
    if (table->fields.change_stream_config.len > 0)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "table '%.*s' has a change stream: disable it before deleting the table",
                       AT_SLICE_ARG(drop->id));
    AT_TRY(at_table_deleted_fields(drop->change.service, table, write->arena, &kept, reterr));
    *at_change_record(write, 2) = (struct at_catalog_record){
        .kind = AT_CATALOG_TABLE,
        .name = drop->id,
        .counter = table->counter + 1,
        .fields = kept,
    };
    forget_policy(write, catalog, drop);
    return AT_OK;
}
