#include "base/assert.h"
#include "cluster/admin/admin.h"

/* UndeleteTable: the newest deleted generation of a name is the table again, under the next counter
 * of its record, with the data and families that it had. */

struct undelete {
    struct at_change change; /* first */
    struct at_slice id;
    uint64_t start_ns; /* wall */
};

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);
static enum at_code answer(const struct at_change *change,
                           const struct at_catalog *after,
                           struct at_operation_answer *ret_answer,
                           struct at_error *reterr);

/* By the hybrid clock, which is ahead of what any member has removed: its own wall clock may be
 * slow, and say that there is time when the data is gone. */
static int64_t now_micros(const struct at_service *service)
{
    struct at_replica_view view;

    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    uint64_t wall_ns = at_clock_wall_ns(&service->clock);
    uint64_t now_ns = view.hlc > wall_ns ? view.hlc : wall_ns;
    at_replica_view_deinit(&view);
    return (int64_t)(now_ns / 1000);
}

static bool is_over(int64_t now, const struct at_table_previous *p)
{
    return now > p->until_micros;
}

enum at_code at_table_deleted_fields(const struct at_service *service,
                                     const struct at_table *table,
                                     struct at_arena *arena,
                                     struct at_slice *ret_fields,
                                     struct at_error *reterr)
{
    struct at_table_fields fields = table->fields;
    int64_t now = now_micros(service);
    uint32_t count = 0;

    *ret_fields = at_slice_make(NULL, 0);
    if (service->undelete_retention_s == 0)
        return AT_OK;
    fields.data_generation = table->generation;
    fields.previous[count++] = (struct at_table_previous){
        table->generation, now + (int64_t)service->undelete_retention_s * 1000000};
    for (uint32_t i = 0; i < table->fields.previous_count && count < AT_TABLE_PREVIOUS_MAX; i++)
        if (table->fields.previous[i].generation != table->generation &&
            !is_over(now, &table->fields.previous[i]))
            fields.previous[count++] = table->fields.previous[i];
    fields.previous_count = count;
    return at_table_fields_make(&fields, arena, ret_fields, reterr);
}

enum at_code at_table_created_fields(const struct at_catalog *catalog,
                                     struct at_slice table,
                                     struct at_arena *arena,
                                     struct at_slice *fields,
                                     struct at_error *reterr)
{
    const struct at_table_fields *deleted = at_catalog_deleted_table(catalog, table);
    struct at_table_fields made;

    if (!deleted)
        return AT_OK;
    enum at_code code = at_table_fields_decode(*fields, arena, &made);
    AT_ASSERT(code == AT_OK); /* just encoded */
    memcpy(made.previous, deleted->previous, sizeof(made.previous));
    made.previous_count = deleted->previous_count;
    return at_table_fields_make(&made, arena, fields, reterr);
}

void at_on_undelete_table(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__UndeleteTableRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__undelete_table_request__descriptor);

    if (!in)
        return;
    struct undelete *u = AT_ARENA_NEW(at_grpc_call_arena(call), struct undelete);
    u->start_ns = at_clock_wall_ns(&service->clock);
    u->change = (struct at_change){.service = service, .call = call, .write.decide = decide};
    if (at_service_table_id(service, at_slice_cstr(in->name), &u->id, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_operation_submit(&u->change, answer);
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    const struct undelete *u = (struct undelete *)at_change_of(write);
    const struct at_service *service = u->change.service;
    const struct at_table_fields *deleted = at_catalog_deleted_table(catalog, u->id);
    struct at_slice bytes;

    if (at_catalog_table(catalog, u->id))
        return at_fail(reterr, AT_ALREADY_EXISTS, "table \"%s\" already exists",
                       at_admin_table_name(service, write->arena, u->id));
    if (!deleted || is_over(now_micros(service), &deleted->previous[0]))
        return at_admin_no_table(service, u->id, reterr);
    if (at_catalog_table_count(catalog) >= AT_TABLES_ALL_MAX)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "There are too many tables");
    struct at_table_fields fields = *deleted;
    fields.data_generation = deleted->previous[0].generation;
    fields.previous_count--;
    memmove(&fields.previous[0], &deleted->previous[1],
            sizeof(fields.previous[0]) * fields.previous_count);
    AT_TRY(at_table_fields_make(&fields, write->arena, &bytes, reterr));
    *at_change_record(write, 1) = (struct at_catalog_record){
        .kind = AT_CATALOG_TABLE,
        .name = u->id,
        .counter = at_catalog_table_counter(catalog, u->id) + 1,
        .fields = bytes,
    };
    return AT_OK;
}

static enum at_code answer(const struct at_change *change,
                           const struct at_catalog *after,
                           struct at_operation_answer *ret_answer,
                           struct at_error *reterr)
{
    const struct undelete *u = (const struct undelete *)change;
    struct at_arena *arena = change->write.arena;
    Google__Bigtable__Admin__V2__UndeleteTableMetadata *metadata =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__UndeleteTableMetadata);

    AT_TRY(at_table_view_answer(change, after, u->id, ret_answer, reterr));
    google__bigtable__admin__v2__undelete_table_metadata__init(metadata);
    metadata->name = at_admin_table_name(change->service, arena, u->id);
    metadata->start_time = at_admin_time(arena, u->start_ns);
    metadata->end_time = at_admin_time(arena, at_clock_wall_ns(&change->service->clock));
    ret_answer->metadata = &metadata->base;
    return AT_OK;
}
