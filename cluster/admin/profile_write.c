#include "appprofile/warning.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/namespace.h"
#include "cluster/admin/admin.h"
#include "cluster/admin/instance_view.h"
#include "cluster/service/namespaces.h"
#include "google/rpc/error_details.pb-c.h"
#include "google/rpc/status.pb-c.h"

/* CreateAppProfile, UpdateAppProfile, DeleteAppProfile. A change that an operator must confirm is
 * refused with one violation per warning, which clients show and ignore_warnings overrides. */

#define PROFILE_BYTES_MAX AT_MIB
#define ETAG_BYTES_MAX 64

struct profile_change {
    struct at_change change; /* first */
    struct at_slice id;
    struct at_profile wanted; /* creation, update; borrows the call's arena */
    struct at_slice *paths;   /* update */
    uint32_t path_count;
    bool ignore_warnings;
    struct at_profile_warning warnings[AT_PROFILE_WARNINGS_MAX];
    uint32_t warning_count;
};

static struct profile_change *profile_change_new(struct at_service *service,
                                                 struct at_grpc_call *call,
                                                 enum at_code (*decide)(struct at_write_catalog *,
                                                                        const struct at_catalog *,
                                                                        struct at_error *),
                                                 void (*reply)(struct at_change *));
static enum at_code decide_create(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr);
static enum at_code decide_update(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr);
static enum at_code decide_delete(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr);
static enum at_code put_profile(struct profile_change *p,
                                const struct at_catalog *catalog,
                                const struct at_profile *old,
                                const struct at_profile *now,
                                struct at_error *reterr);
static void on_refused(struct at_change *change);
static void on_created(struct at_change *change);
static enum at_code answer_update(const struct at_change *change,
                                  const struct at_catalog *after,
                                  struct at_operation_answer *ret_answer,
                                  struct at_error *reterr);

static void on_deleted(struct at_change *change)
{
    at_admin_reply_empty(change->service, change->call);
}

static void
submit_or_fail(struct profile_change *p, enum at_code code, const struct at_error *error)
{
    if (code == AT_OK)
        at_change_submit(&p->change);
    else
        at_service_fail(p->change.service, p->change.call, error);
}

/* The readable form of a profile that came in; what is output only does not count. */
static enum at_code read_profile(struct profile_change *p,
                                 const Google__Bigtable__Admin__V2__AppProfile *in,
                                 struct at_error *reterr)
{
    struct at_arena *arena = at_grpc_call_arena(p->change.call);

    if (!in)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'app_profile' : must be set");
    return at_profile_decode(at_admin_pack(arena, &in->base), arena, &p->wanted, reterr);
}

static enum at_code prepare_create(struct profile_change *p,
                                   const Google__Bigtable__Admin__V2__CreateAppProfileRequest *in,
                                   struct at_error *reterr)
{
    struct at_slice id = at_slice_cstr(in->app_profile_id);
    struct at_slice parent = at_slice_cstr(in->parent);
    struct at_slice instance;

    p->ignore_warnings = in->ignore_warnings;
    AT_TRY(at_service_instance_check(p->change.service, parent, reterr));
    AT_TRY(at_service_namespace(p->change.service, parent, &instance, reterr));
    AT_TRY(at_profile_id_check(id, reterr));
    p->id = at_admin_keep(at_grpc_call_arena(p->change.call), instance, "appProfiles", id);
    return read_profile(p, in->app_profile, reterr);
}

void at_on_create_app_profile(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__CreateAppProfileRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__create_app_profile_request__descriptor);

    if (!in)
        return;
    struct profile_change *p = profile_change_new(service, call, decide_create, on_created);
    submit_or_fail(p, prepare_create(p, in, &error), &error);
}

static enum at_code prepare_update(struct profile_change *p,
                                   const Google__Bigtable__Admin__V2__UpdateAppProfileRequest *in,
                                   struct at_error *reterr)
{
    struct at_arena *arena = at_grpc_call_arena(p->change.call);
    const Google__Protobuf__FieldMask *mask = in->update_mask;

    p->ignore_warnings = in->ignore_warnings;
    AT_TRY(read_profile(p, in->app_profile, reterr));
    AT_TRY(
        at_admin_child(p->change.service, in->app_profile->name, "/appProfiles/", &p->id, reterr));
    if (!mask)
        return AT_OK;
    if (mask->n_paths > AT_ADMIN_MODIFICATIONS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'update_mask' : too long");
    p->path_count = (uint32_t)mask->n_paths;
    p->paths = AT_ARENA_ARRAY(arena, struct at_slice, mask->n_paths + 1);
    for (size_t i = 0; i < mask->n_paths; i++)
        p->paths[i] = at_slice_cstr(mask->paths[i]);
    return AT_OK;
}

void at_on_update_app_profile(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__UpdateAppProfileRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__update_app_profile_request__descriptor);

    if (!in)
        return;
    struct profile_change *p = profile_change_new(service, call, decide_update, NULL);
    if (prepare_update(p, in, &error) == AT_OK)
        at_operation_submit(&p->change, answer_update);
    else
        at_service_fail(service, call, &error);
}

void at_on_delete_app_profile(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__DeleteAppProfileRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__delete_app_profile_request__descriptor);

    if (!in)
        return;
    struct profile_change *p = profile_change_new(service, call, decide_delete, on_deleted);
    p->ignore_warnings = in->ignore_warnings;
    submit_or_fail(p, at_admin_child(service, in->name, "/appProfiles/", &p->id, &error), &error);
}

static struct profile_change *profile_change_new(struct at_service *service,
                                                 struct at_grpc_call *call,
                                                 enum at_code (*decide)(struct at_write_catalog *,
                                                                        const struct at_catalog *,
                                                                        struct at_error *),
                                                 void (*reply)(struct at_change *))
{
    struct profile_change *p = AT_ARENA_NEW(at_grpc_call_arena(call), struct profile_change);

    p->change = (struct at_change){.service = service,
                                   .call = call,
                                   .write.decide = decide,
                                   .reply = reply,
                                   .refuse = on_refused};
    return p;
}

/* --- on the writer thread --- */

static enum at_code no_profile(const struct profile_change *p, struct at_error *reterr)
{
    return at_fail(reterr, AT_NOT_FOUND, "App profile %s not found",
                   at_admin_profile_name(p->change.service, p->change.write.arena, p->id));
}

static enum at_code decide_create(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr)
{
    struct profile_change *p = (struct profile_change *)at_change_of(write);
    struct at_named_record there;

    if (at_namespaces_profile(catalog, p->id, &there))
        return at_fail(reterr, AT_ALREADY_EXISTS, "App profile %s already exists",
                       at_admin_profile_name(p->change.service, write->arena, p->id));
    if (at_catalog_named_count(catalog, AT_CATALOG_PROFILE) >= AT_PROFILES_MAX)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "An instance has at most %d app profiles",
                       AT_PROFILES_MAX);
    return put_profile(p, catalog, NULL, &p->wanted, reterr);
}

static enum at_code
check_etag(const struct profile_change *p, const struct at_profile *old, struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf etag;

    at_buf_init(&etag, ETAG_BYTES_MAX);
    if (p->wanted.etag.len == 0)
        return AT_OK;
    AT_TRY(at_profile_etag(old, &etag));
    if (at_slice_eq(p->wanted.etag, at_buf_slice(&etag)))
        return AT_OK;
    return at_fail(reterr, AT_ABORTED,
                   "The etag is stale: app profile '%.*s' has been changed since it was read",
                   AT_SLICE_ARG(p->id));
}

static enum at_code decide_update(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr)
{
    struct profile_change *p = (struct profile_change *)at_change_of(write);
    struct at_named_record record;
    struct at_profile old;
    struct at_profile now;

    if (!at_namespaces_profile(catalog, p->id, &record))
        return no_profile(p, reterr);
    AT_TRY(at_profile_decode(record.fields, write->arena, &old, reterr));
    AT_TRY(check_etag(p, &old, reterr));
    const struct at_profile_mask mask = {p->paths, p->path_count};
    AT_TRY(at_profile_merge(&old, &p->wanted, mask, write->arena, &now, reterr));
    return put_profile(p, catalog, &old, &now, reterr);
}

static enum at_code refuse_warned(const struct profile_change *p, struct at_error *reterr)
{
    AT_ASSERT(p->warning_count > 0);
    return at_fail(reterr, AT_FAILED_PRECONDITION, "%s", p->warnings[0].description);
}

static enum at_code decide_delete(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr)
{
    struct profile_change *p = (struct profile_change *)at_change_of(write);
    struct at_named_record record;

    if (!at_namespaces_profile(catalog, p->id, &record))
        return no_profile(p, reterr);
    p->warning_count = at_profile_delete_warnings(at_namespace_id(p->id), p->warnings);
    if (p->warning_count > 0 && !p->ignore_warnings)
        return refuse_warned(p, reterr);
    p->warning_count = 0;
    *at_change_record(write, 1) = (struct at_catalog_record){
        .kind = AT_CATALOG_PROFILE,
        .name = p->id,
        /* One that was not kept is deleted too, and is the home instance's again. */
        .counter = (at_catalog_named_counter(catalog, AT_CATALOG_PROFILE, p->id) | 1) + 1,
    };
    return AT_OK;
}

static enum at_code check_warnings(struct profile_change *p,
                                   const struct at_catalog *catalog,
                                   const struct at_profile *old,
                                   const struct at_profile *now,
                                   struct at_error *reterr)
{
    struct at_arena *arena = p->change.write.arena;
    uint32_t count = at_catalog_named_count(catalog, AT_CATALOG_PROFILE);
    struct at_profile *others = AT_ARENA_ARRAY(arena, struct at_profile, count + 1);
    uint32_t other_count = 0;

    if (p->ignore_warnings)
        return AT_OK;
    for (uint32_t i = 0; i < count; i++) {
        const struct at_named_record *record = at_catalog_named_at(catalog, AT_CATALOG_PROFILE, i);
        if (at_slice_eq(record->name, p->id) ||
            !at_namespace_holds(at_namespace_of(p->id), record->name))
            continue;
        if (at_profile_decode(record->fields, arena, &others[other_count], NULL) != AT_OK)
            continue; /* damaged: no reason to refuse this one */
        others[other_count++].name = at_namespace_id(record->name);
    }
    p->warning_count = at_profile_update_warnings(at_namespace_id(p->id), old, now, others,
                                                  other_count, p->warnings);
    return p->warning_count > 0 ? refuse_warned(p, reterr) : AT_OK;
}

/* `old` is NULL at a creation. */
static enum at_code put_profile(struct profile_change *p,
                                const struct at_catalog *catalog,
                                const struct at_profile *old,
                                const struct at_profile *now,
                                struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    const struct at_service *service = p->change.service;
    struct at_write_catalog *write = &p->change.write;
    struct at_slice clusters[AT_MEMBERS_MAX];
    uint64_t counter = at_catalog_named_counter(catalog, AT_CATALOG_PROFILE, p->id);
    struct at_profile stored = *now;

    at_buf_init(&bytes, PROFILE_BYTES_MAX);
    struct at_cluster_entries all = at_cluster_entries(service, catalog, write->arena);
    uint32_t cluster_count = all.count < AT_MEMBERS_MAX ? all.count : AT_MEMBERS_MAX;
    for (uint32_t i = 0; i < cluster_count; i++)
        clusters[i] = all.items[i].id;
    AT_TRY(at_profile_check(now, clusters, cluster_count, reterr));
    AT_TRY(check_warnings(p, catalog, old, now, reterr));
    stored.name = at_slice_make(NULL, 0);
    stored.etag = at_slice_make(NULL, 0);
    enum at_code code = at_profile_encode(&stored, &bytes);
    if (code != AT_OK)
        return at_fail(reterr, code, "The app profile is too large");
    *at_change_record(write, 1) = (struct at_catalog_record){
        .kind = AT_CATALOG_PROFILE,
        .name = p->id,
        .counter = counter | 1, /* the next one, unless it is there */
        .fields = at_arena_copy(write->arena, at_buf_slice(&bytes)),
    };
    return AT_OK;
}

/* --- answers --- */

/* The warnings as a google.rpc.Status for grpc-status-details-bin. */
static struct at_slice warning_details(const struct profile_change *p, struct at_arena *arena)
{
    Google__Rpc__Status status = GOOGLE__RPC__STATUS__INIT;
    Google__Rpc__PreconditionFailure failure = GOOGLE__RPC__PRECONDITION_FAILURE__INIT;
    Google__Rpc__PreconditionFailure__Violation items[AT_PROFILE_WARNINGS_MAX];
    Google__Rpc__PreconditionFailure__Violation *violations[AT_PROFILE_WARNINGS_MAX];
    Google__Protobuf__Any *details[1];

    for (uint32_t i = 0; i < p->warning_count; i++) {
        google__rpc__precondition_failure__violation__init(&items[i]);
        items[i].type = at_arena_printf(arena, "%s", p->warnings[i].type);
        items[i].subject = at_admin_text(arena, p->warnings[i].subject);
        items[i].description = at_arena_printf(arena, "%s", p->warnings[i].description);
        violations[i] = &items[i];
    }
    failure.n_violations = p->warning_count;
    failure.violations = violations;
    details[0] = at_admin_any(arena, &failure.base);
    status.code = AT_FAILED_PRECONDITION;
    status.message = at_arena_printf(arena, "%s", p->change.write.base.error.msg);
    status.n_details = 1;
    status.details = details;
    return at_admin_pack(arena, &status.base);
}

static void on_refused(struct at_change *change)
{
    const struct profile_change *p = (struct profile_change *)change;
    struct at_write *base = &change->write.base;

    if (base->code != AT_FAILED_PRECONDITION || p->warning_count == 0) {
        at_data_fail(change->service, change->call, base, base->code);
        return;
    }
    at_service_begin(change->service, change->call);
    at_grpc_call_finish(change->call, base->code, at_slice_cstr(base->error.msg),
                        warning_details(p, at_grpc_call_arena(change->call)));
}

static void on_created(struct at_change *change)
{
    const struct profile_change *p = (struct profile_change *)change;
    const struct at_named_record *record =
        at_catalog_named(change->write.ret_schema->catalog, AT_CATALOG_PROFILE, p->id);
    Google__Bigtable__Admin__V2__AppProfile *profile;
    struct at_error error;

    /* In the round of the change, a later one may have deleted it again. */
    enum at_code code =
        record ? at_profile_view_render(change->service, record, at_grpc_call_arena(change->call),
                                        &profile, &error)
               : no_profile(p, &error);
    if (code == AT_OK)
        at_service_reply(change->service, change->call, &profile->base);
    else
        at_service_fail(change->service, change->call, &error);
}

static enum at_code answer_update(const struct at_change *change,
                                  const struct at_catalog *after,
                                  struct at_operation_answer *ret_answer,
                                  struct at_error *reterr)
{
    static const Google__Bigtable__Admin__V2__UpdateAppProfileMetadata METADATA =
        GOOGLE__BIGTABLE__ADMIN__V2__UPDATE_APP_PROFILE_METADATA__INIT;
    const struct profile_change *p = (const struct profile_change *)change;
    const struct at_named_record *record = at_catalog_named(after, AT_CATALOG_PROFILE, p->id);
    Google__Bigtable__Admin__V2__AppProfile *profile;

    if (!record)
        return no_profile(p, reterr);
    AT_TRY(at_profile_view_render(change->service, record, change->write.arena, &profile, reterr));
    *ret_answer = (struct at_operation_answer){profile->name, &profile->base, &METADATA.base};
    return AT_OK;
}
