#include "cluster/admin/iam.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/namespace.h"
#include "cluster/admin/admin.h"
#include "cluster/admin/lookup.h"
#include "google/iam/v1/iam_policy.pb-c.h"

/* A policy belongs to a resource that is there. Its etag is a digest of what is stored; a resource
 * that never had one has the empty policy under production's etag for it. Nobody is kept out by
 * policies here: whoever reaches the port may do everything, and TestIamPermissions says so. */

#define POLICY_BYTES_MAX (64 * AT_KIB) /* production's limit */
#define PERMISSIONS_MAX 100
#define ETAG_BYTES 8

static const uint8_t NO_POLICY_ETAG[] = {0x00, 0x20, 0x01};

typedef Google__Iam__V1__Policy policy_t;

struct resource {
    struct at_slice in;   /* as at_service_namespace says */
    struct at_slice rest; /* "", "tables/T", "clusters/C/backups/B" ... */
    struct at_slice kept;
};

struct set_policy {
    struct at_change change; /* first */
    const char *name;
    struct resource resource;
    const policy_t *wanted;
};

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);

struct at_slice at_iam_name(struct at_slice in, struct at_slice name, struct at_slice rest)
{
    return in.len > 0 ? name : rest;
}

static enum at_code parse(const struct at_service *service,
                          const char *text,
                          struct resource *ret_resource,
                          struct at_error *reterr)
{
    struct at_slice name = at_slice_cstr(text);
    struct at_slice rest = name;
    struct at_instance_name parts;

    if (name.len > AT_RESOURCE_NAME_BYTES_MAX || !at_namespace_take(&rest, &parts) ||
        (rest.len > 0 && (rest.data[0] != '/' || rest.len == 1)))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid resource name '%s': projects/<project>/instances/<instance>[/...] "
                       "is expected",
                       text);
    struct at_slice instance = at_slice_make(name.data, name.len - rest.len);
    AT_TRY(at_service_instance_check(service, instance, reterr));
    AT_TRY(at_service_namespace(service, instance, &ret_resource->in, reterr));
    ret_resource->rest = rest.len > 0 ? at_slice_from(rest, 1) : rest;
    ret_resource->kept = at_iam_name(ret_resource->in, name, ret_resource->rest);
    return AT_OK;
}

/* A backup is kept under "cluster/backup". */
static bool has_backup(const struct at_catalog *catalog, struct at_slice rest)
{
    char name[AT_INSTANCE_ID_BYTES_MAX + 1 + AT_BACKUP_ID_BYTES_MAX + 1];
    struct at_slice middle = AT_LIT("/backups/");
    const uint8_t *at = memmem(rest.data, rest.len, middle.data, middle.len);
    size_t cluster_len = at ? (size_t)(at - rest.data) : 0;

    if (!at || rest.len - middle.len + 1 > sizeof(name) - 1)
        return false;
    struct at_slice backup = at_slice_from(rest, cluster_len + middle.len);
    memcpy(name, rest.data, cluster_len);
    name[cluster_len] = '/';
    memcpy(name + cluster_len + 1, backup.data, backup.len);
    return at_catalog_named(catalog, AT_CATALOG_BACKUP,
                            at_slice_make(name, cluster_len + 1 + backup.len)) != NULL;
}

static enum at_code check_there(const struct at_catalog *catalog,
                                const struct resource *r,
                                const char *name,
                                struct at_error *reterr)
{
    struct at_slice tables = AT_LIT("tables/");
    struct at_slice clusters = AT_LIT("clusters/");
    struct at_slice rest = r->rest;
    bool there = rest.len == 0;

    if (at_slice_has_prefix(rest, tables))
        there =
            at_catalog_table(catalog, r->in.len > 0 ? r->kept : at_slice_from(rest, tables.len));
    else if (at_slice_has_prefix(rest, clusters))
        there = has_backup(catalog, at_slice_from(rest, clusters.len));
    return there ? AT_OK : at_fail(reterr, AT_NOT_FOUND, "Resource not found: %s", name);
}

static struct at_slice etag_of(const struct at_named_record *record, struct at_arena *arena)
{
    uint8_t etag[ETAG_BYTES];

    if (!record)
        return at_slice_make(NO_POLICY_ETAG, sizeof(NO_POLICY_ETAG));
    at_put_be64(etag, at_hash64(record->fields, record->generation));
    return at_arena_copy(arena, at_slice_make(etag, sizeof(etag)));
}

static policy_t *
read_policy(const struct at_catalog *catalog, struct at_slice kept, struct at_arena *arena)
{
    const struct at_named_record *record = at_catalog_named(catalog, AT_CATALOG_POLICY, kept);
    struct at_slice etag = etag_of(record, arena);
    policy_t *policy = record ? at_proto_unpack(arena, &google__iam__v1__policy__descriptor,
                                                at_arena_copy(arena, record->fields))
                              : NULL;
    uint8_t *bytes = at_arena_alloc_raw(arena, etag.len);

    if (!policy) {
        policy = AT_ARENA_NEW(arena, policy_t);
        google__iam__v1__policy__init(policy);
    }
    memcpy(bytes, etag.data, etag.len);
    policy->etag = (ProtobufCBinaryData){etag.len, bytes};
    return policy;
}

static enum at_code get(const struct at_lookup *lookup,
                        const void *request,
                        const ProtobufCMessage **ret_answer,
                        struct at_error *reterr)
{
    const Google__Iam__V1__GetIamPolicyRequest *in = request;
    struct resource r;

    AT_TRY(parse(lookup->service, in->resource, &r, reterr));
    AT_TRY(check_there(lookup->catalog, &r, in->resource, reterr));
    *ret_answer = &read_policy(lookup->catalog, r.kept, lookup->arena)->base;
    return AT_OK;
}

void at_on_get_iam_policy(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__iam__v1__get_iam_policy_request__descriptor, get);
}

static void on_set(struct at_change *change)
{
    const struct set_policy *s = (struct set_policy *)change;
    policy_t *policy = read_policy(change->write.ret_schema->catalog, s->resource.kept,
                                   at_grpc_call_arena(change->call));

    at_service_reply(change->service, change->call, &policy->base);
}

static enum at_code prepare_set(struct set_policy *s,
                                const Google__Iam__V1__SetIamPolicyRequest *in,
                                struct at_error *reterr)
{
    s->name = in->resource;
    s->wanted = in->policy;
    AT_TRY(parse(s->change.service, in->resource, &s->resource, reterr));
    if (!in->policy)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'policy' : must be set");
    if (protobuf_c_message_get_packed_size(&in->policy->base) > POLICY_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'policy' : is larger than %zu",
                       POLICY_BYTES_MAX);
    int32_t version = in->policy->version;
    if (version != 0 && version != 1 && version != 3)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'policy.version' : must be 0, 1 or 3");
    return AT_OK;
}

void at_on_set_iam_policy(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Iam__V1__SetIamPolicyRequest *in =
        at_service_unpack(service, call, &google__iam__v1__set_iam_policy_request__descriptor);

    if (!in)
        return;
    struct set_policy *s = AT_ARENA_NEW(at_grpc_call_arena(call), struct set_policy);
    s->change = (struct at_change){
        .service = service, .call = call, .write.decide = decide, .reply = on_set};
    if (prepare_set(s, in, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_change_submit(&s->change);
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    const struct set_policy *s = (struct set_policy *)at_change_of(write);
    struct at_slice kept = s->resource.kept;
    struct at_slice given = at_slice_make(s->wanted->etag.data, s->wanted->etag.len);
    policy_t stored = *s->wanted;

    AT_TRY(check_there(catalog, &s->resource, s->name, reterr));
    const struct at_named_record *record = at_catalog_named(catalog, AT_CATALOG_POLICY, kept);
    if (given.len > 0 && !at_slice_eq(given, etag_of(record, write->arena)))
        return at_fail(reterr, AT_ABORTED,
                       "There were concurrent policy changes. Please retry the whole "
                       "read-modify-write with exponential backoff.");
    stored.etag = (ProtobufCBinaryData){0, NULL};
    *at_change_record(write, 1) = (struct at_catalog_record){
        .kind = AT_CATALOG_POLICY,
        .name = kept,
        .counter = at_catalog_named_counter(catalog, AT_CATALOG_POLICY, kept) | 1,
        .fields = at_admin_pack(write->arena, &stored.base),
    };
    return AT_OK;
}

static enum at_code check_permissions(const Google__Iam__V1__TestIamPermissionsRequest *in,
                                      struct at_error *reterr)
{
    if (in->n_permissions == 0 || in->n_permissions > PERMISSIONS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'permissions' : must have 1 to %d, has %zu", PERMISSIONS_MAX,
                       in->n_permissions);
    for (size_t i = 0; i < in->n_permissions; i++)
        if (strchr(in->permissions[i], '*') || in->permissions[i][0] == '\0')
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "Error in field 'permissions' : '%s' is no permission",
                           in->permissions[i]);
    return AT_OK;
}

static enum at_code test(const struct at_lookup *lookup,
                         const void *request,
                         const ProtobufCMessage **ret_answer,
                         struct at_error *reterr)
{
    const Google__Iam__V1__TestIamPermissionsRequest *in = request;
    Google__Iam__V1__TestIamPermissionsResponse *out =
        AT_ARENA_NEW(lookup->arena, Google__Iam__V1__TestIamPermissionsResponse);
    struct resource r;

    google__iam__v1__test_iam_permissions_response__init(out);
    AT_TRY(parse(lookup->service, in->resource, &r, reterr));
    AT_TRY(check_permissions(in, reterr));
    out->permissions = in->permissions;
    out->n_permissions = in->n_permissions;
    *ret_answer = &out->base;
    return AT_OK;
}

void at_on_test_iam_permissions(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__iam__v1__test_iam_permissions_request__descriptor, test);
}
