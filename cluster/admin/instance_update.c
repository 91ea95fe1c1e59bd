#include "cluster/admin/instance_update.h"

#include "base/assert.h"
#include "cluster/admin/instance_view.h"
#include "cluster/admin/mask.h"
#include "wire/instance_fields.h"

/* Display name, labels and type can change. UpdateInstance replaces them all and answers with the
 * instance; PartialUpdateInstance sets what its mask names and answers with an operation, which is
 * done. */

typedef Google__Bigtable__Admin__V2__Instance instance_t;

struct update_instance {
    struct at_change change; /* first */
    struct at_slice in;      /* as at_service_namespace says */
    const instance_t *wanted;
    bool sets_display_name;
    bool sets_labels;
    bool sets_type;
    uint64_t start_ns; /* wall */
    /* PartialUpdateInstance: of its metadata. */
    Google__Bigtable__Admin__V2__PartialUpdateInstanceRequest *request;
};

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);

static void on_updated(struct at_change *change)
{
    const struct update_instance *u = (struct update_instance *)change;
    struct at_arena *arena = at_grpc_call_arena(change->call);
    const instance_t *out =
        at_instance_view(change->service, u->in, change->write.ret_schema->catalog, arena);

    at_service_reply(change->service, change->call, &out->base);
}

static enum at_code answer(const struct at_change *change,
                           const struct at_catalog *after,
                           struct at_operation_answer *ret_answer,
                           struct at_error *reterr)
{
    const struct update_instance *u = (const struct update_instance *)change;
    struct at_arena *arena = change->write.arena;
    const instance_t *out = at_instance_view(change->service, u->in, after, arena);
    Google__Bigtable__Admin__V2__UpdateInstanceMetadata *metadata =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__UpdateInstanceMetadata);

    (void)reterr;
    google__bigtable__admin__v2__update_instance_metadata__init(metadata);
    metadata->original_request = u->request;
    metadata->request_time = at_admin_time(arena, u->start_ns);
    metadata->finish_time = at_admin_time(arena, at_clock_wall_ns(&change->service->clock));
    *ret_answer = (struct at_operation_answer){out->name, &out->base, &metadata->base};
    return AT_OK;
}

static enum at_code prepare(struct update_instance *u, struct at_error *reterr)
{
    const instance_t *in = u->wanted;
    struct at_service *service = u->change.service;

    if (!in)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'instance' : must be set");
    struct at_slice name = at_slice_cstr(in->name);
    AT_TRY(at_service_instance_check(service, name, reterr));
    AT_TRY(at_service_namespace(service, name, &u->in, reterr));
    if (u->sets_display_name)
        AT_TRY(at_instance_display_name_check(in->display_name, reterr));
    AT_TRY(at_instance_type_check(in, reterr));
    return u->sets_labels ? at_instance_labels_check(in, reterr) : AT_OK;
}

static enum at_code read_path(struct update_instance *u, const char *path, struct at_error *reterr)
{
    if (at_mask_same(path, "display_name"))
        u->sets_display_name = true;
    else if (at_mask_is(path, "labels"))
        u->sets_labels = true;
    else if (at_mask_same(path, "type"))
        u->sets_type = true;
    else
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'update_mask' : '%s' can't be updated", path);
    return AT_OK;
}

static struct update_instance *update_new(struct at_service *service, struct at_grpc_call *call)
{
    struct update_instance *u = AT_ARENA_NEW(at_grpc_call_arena(call), struct update_instance);

    u->start_ns = at_clock_wall_ns(&service->clock);
    u->change = (struct at_change){
        .service = service, .call = call, .write.decide = decide, .reply = on_updated};
    return u;
}

void at_on_update_instance(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const instance_t *in =
        at_service_unpack(service, call, &google__bigtable__admin__v2__instance__descriptor);

    if (!in)
        return;
    struct update_instance *u = update_new(service, call);
    u->wanted = in;
    u->sets_display_name = u->sets_labels = true;
    u->sets_type = in->type != GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__TYPE_UNSPECIFIED;
    if (prepare(u, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_change_submit(&u->change);
}

static enum at_code prepare_partial(struct update_instance *u, struct at_error *reterr)
{
    const Google__Protobuf__FieldMask *mask = u->request->update_mask;

    if (!mask || mask->n_paths == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'update_mask' : must be set");
    for (size_t i = 0; i < mask->n_paths; i++)
        AT_TRY(read_path(u, mask->paths[i], reterr));
    u->wanted = u->request->instance;
    return prepare(u, reterr);
}

void at_on_partial_update_instance(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    Google__Bigtable__Admin__V2__PartialUpdateInstanceRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__partial_update_instance_request__descriptor);

    if (!in)
        return;
    struct update_instance *u = update_new(service, call);
    u->request = in;
    if (prepare_partial(u, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_operation_submit(&u->change, answer);
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    const struct update_instance *u = (struct update_instance *)at_change_of(write);
    const struct at_service *service = u->change.service;
    struct at_slice kept = at_instance_kept(service, u->in);
    instance_t *stored = at_instance_view(service, u->in, catalog, write->arena);
    char empty[] = "";

    (void)reterr;
    stored->name = empty;
    if (u->sets_display_name)
        stored->display_name = u->wanted->display_name;
    if (u->sets_type)
        stored->type = u->wanted->type;
    if (u->sets_labels) {
        stored->labels = u->wanted->labels;
        stored->n_labels = u->wanted->n_labels;
    }
    *at_change_record(write, 1) = (struct at_catalog_record){
        .kind = AT_CATALOG_INSTANCE,
        .name = kept,
        .counter = at_catalog_named_counter(catalog, AT_CATALOG_INSTANCE, kept) | 1,
        .fields = at_admin_pack(write->arena, &stored->base),
    };
    return AT_OK;
}
