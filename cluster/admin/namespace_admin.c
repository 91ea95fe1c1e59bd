#include "base/assert.h"
#include "base/namespace.h"
#include "cluster/admin/instance_view.h"
#include "cluster/admin/operation.h"
#include "cluster/service/namespaces.h"

/* CreateInstance and DeleteInstance of a cluster that accepts any instance name: they make and end
 * a namespace. The clusters that are asked for are those there are. Without that, instances are
 * processes, which a cluster does not start: it answers UNIMPLEMENTED. */

#define INSTANCES "/google.bigtable.admin.v2.BigtableInstanceAdmin/"

struct namespace_change {
    struct at_change change;                                     /* first */
    struct at_slice in;                                          /* "projects/P/instances/I" */
    Google__Bigtable__Admin__V2__CreateInstanceRequest *request; /* creation */
    uint64_t start_ns;                                           /* wall */
};

static enum at_code decide_create(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr);
static enum at_code decide_delete(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr);

static struct namespace_change *change_new(struct at_service *service,
                                           struct at_grpc_call *call,
                                           void (*reply)(struct at_change *change))
{
    struct namespace_change *n = AT_ARENA_NEW(at_grpc_call_arena(call), struct namespace_change);

    n->start_ns = at_clock_wall_ns(&service->clock);
    n->change = (struct at_change){.service = service, .call = call, .reply = reply};
    return n;
}

static enum at_code answer_create(const struct at_change *change,
                                  const struct at_catalog *after,
                                  struct at_operation_answer *ret_answer,
                                  struct at_error *reterr)
{
    const struct namespace_change *n = (const struct namespace_change *)change;
    struct at_arena *arena = change->write.arena;
    const Google__Bigtable__Admin__V2__Instance *out =
        at_instance_view(change->service, n->in, after, arena);
    Google__Bigtable__Admin__V2__CreateInstanceMetadata *metadata =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__CreateInstanceMetadata);

    (void)reterr;
    google__bigtable__admin__v2__create_instance_metadata__init(metadata);
    metadata->original_request = n->request;
    metadata->request_time = at_admin_time(arena, n->start_ns);
    metadata->finish_time = at_admin_time(arena, at_clock_wall_ns(&change->service->clock));
    *ret_answer = (struct at_operation_answer){out->name, &out->base, &metadata->base};
    return AT_OK;
}

static enum at_code prepare_create(struct namespace_change *n, struct at_error *reterr)
{
    const Google__Bigtable__Admin__V2__CreateInstanceRequest *in = n->request;
    struct at_service *service = n->change.service;
    struct at_arena *arena = at_grpc_call_arena(n->change.call);

    if (in->instance_id[0] == '\0' || strchr(in->instance_id, '/'))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Invalid instance id '%s'", in->instance_id);
    struct at_slice name =
        at_slice_cstr(at_arena_printf(arena, "%s/instances/%s", in->parent, in->instance_id));
    AT_TRY(at_service_instance_check(service, name, reterr));
    AT_TRY(at_service_namespace(service, name, &n->in, reterr));
    if (n->in.len == 0)
        return at_fail(reterr, AT_ALREADY_EXISTS, "Instance %.*s already exists",
                       AT_SLICE_ARG(name));
    if (!in->instance)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'instance' : must be set");
    if (in->n_clusters == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'clusters' : an instance has at least one");
    return AT_OK;
}

static void on_create_instance(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;

    if (!service->accept_any_instance) {
        at_on_unimplemented(call, service);
        return;
    }
    Google__Bigtable__Admin__V2__CreateInstanceRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__create_instance_request__descriptor);
    if (!in)
        return;
    struct namespace_change *n = change_new(service, call, NULL);
    n->request = in;
    n->change.write.decide = decide_create;
    if (prepare_create(n, &error) == AT_OK)
        at_operation_submit(&n->change, answer_create);
    else
        at_service_fail(service, call, &error);
}

static enum at_code decide_create(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr)
{
    const struct namespace_change *n = (struct namespace_change *)at_change_of(write);
    Google__Bigtable__Admin__V2__Instance stored = *n->request->instance;
    char empty[] = "";

    if (at_catalog_named(catalog, AT_CATALOG_INSTANCE, n->in))
        return at_fail(reterr, AT_ALREADY_EXISTS, "Instance %.*s already exists",
                       AT_SLICE_ARG(n->in));
    stored.name = empty;
    *at_change_record(write, 1) = (struct at_catalog_record){
        .kind = AT_CATALOG_INSTANCE,
        .name = n->in,
        .counter = at_catalog_named_counter(catalog, AT_CATALOG_INSTANCE, n->in) | 1,
        .fields = at_admin_pack(write->arena, &stored.base),
    };
    return AT_OK;
}

static void on_deleted(struct at_change *change)
{
    at_admin_reply_empty(change->service, change->call);
}

static enum at_code
prepare_delete(struct namespace_change *n, const char *name, struct at_error *reterr)
{
    AT_TRY(at_service_instance_check(n->change.service, at_slice_cstr(name), reterr));
    AT_TRY(at_service_namespace(n->change.service, at_slice_cstr(name), &n->in, reterr));
    if (n->in.len == 0)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "Instance %s is the one that all others are served from: it stays", name);
    return AT_OK;
}

static void on_delete_instance(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;

    if (!service->accept_any_instance) {
        at_on_unimplemented(call, service);
        return;
    }
    const Google__Bigtable__Admin__V2__DeleteInstanceRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__delete_instance_request__descriptor);
    if (!in)
        return;
    struct namespace_change *n = change_new(service, call, on_deleted);
    n->change.write.decide = decide_delete;
    if (prepare_delete(n, in->name, &error) == AT_OK)
        at_change_submit(&n->change);
    else
        at_service_fail(service, call, &error);
}

/* Nothing of an instance that is deleted can be had back: also not what was deleted before. */
static void drop_deleted(struct at_write_catalog *write,
                         const struct at_catalog *catalog,
                         struct at_slice in,
                         uint32_t count_max)
{
    for (uint32_t i = 0; i < at_catalog_record_count(catalog); i++) {
        const struct at_catalog_record *r = at_catalog_record_at(catalog, i);
        if (r->kind == AT_CATALOG_TABLE && r->counter % 2 == 0 && r->fields.len > 0 &&
            at_namespace_holds(in, r->name))
            *at_change_record(write, count_max) = (struct at_catalog_record){
                .kind = AT_CATALOG_TABLE, .name = r->name, .counter = r->counter + 2};
    }
}

static enum at_code drop_tables(struct at_write_catalog *write,
                                const struct at_catalog *catalog,
                                struct at_slice in,
                                uint32_t count_max,
                                struct at_error *reterr)
{
    for (uint32_t i = 0; i < at_catalog_table_count(catalog); i++) {
        const struct at_table *table = at_catalog_table_at(catalog, i);
        if (!at_namespace_holds(in, table->name))
            continue;
        if (table->fields.deletion_protection)
            return at_fail(reterr, AT_FAILED_PRECONDITION,
                           "table '%.*s' is protected from deletion", AT_SLICE_ARG(table->name));
        *at_change_record(write, count_max) = (struct at_catalog_record){
            .kind = AT_CATALOG_TABLE, .name = table->name, .counter = table->counter + 1};
    }
    return AT_OK;
}

static void drop_named(struct at_write_catalog *write,
                       const struct at_catalog *catalog,
                       enum at_catalog_kind kind,
                       struct at_slice in,
                       uint32_t count_max)
{
    for (uint32_t i = 0; i < at_catalog_named_count(catalog, kind); i++) {
        const struct at_named_record *record = at_catalog_named_at(catalog, kind, i);
        if (at_namespace_holds(in, record->name))
            *at_change_record(write, count_max) = (struct at_catalog_record){
                .kind = kind, .name = record->name, .counter = record->generation + 1};
    }
}

/* Operations stay: they tell what was done. */
static enum at_code decide_delete(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr)
{
    static const enum at_catalog_kind KINDS[] = {AT_CATALOG_PROFILE, AT_CATALOG_INSTANCE,
                                                 AT_CATALOG_POLICY, AT_CATALOG_BACKUP};
    const struct namespace_change *n = (struct namespace_change *)at_change_of(write);
    uint32_t count_max = at_catalog_record_count(catalog);

    AT_TRY(drop_tables(write, catalog, n->in, count_max, reterr));
    drop_deleted(write, catalog, n->in, count_max);
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        drop_named(write, catalog, KINDS[i], n->in, count_max);
    if (write->record_count == 0)
        return at_fail(reterr, AT_NOT_FOUND, "Instance %.*s not found", AT_SLICE_ARG(n->in));
    return AT_OK;
}

static const struct at_admin_method METHODS[] = {
    {INSTANCES "CreateInstance", on_create_instance},
    {INSTANCES "DeleteInstance", on_delete_instance},
};

size_t
at_namespace_admin_methods(struct at_service *service, struct at_grpc_method *methods, size_t max)
{
    return at_admin_add(service, METHODS, sizeof(METHODS) / sizeof(METHODS[0]), methods, max);
}
