#include "cluster/service/service.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/namespace.h"
#include "cluster/service/details.h"
#include "cluster/service/state.h"

/* What an answer says besides its messages: which cluster served it (clients record it as the
 * serving zone and cluster) and how long that took. */

#define RESPONSE_PARAMS "x-goog-ext-425905942-bin"
#define SERVER_TIMING "server-timing"
#define DEFAULT_PROFILE "default"

void at_service_begin(struct at_service *service, struct at_grpc_call *call)
{
    char timing[40];

    if (at_grpc_call_has_header(call, RESPONSE_PARAMS))
        return;
    at_grpc_call_header(call, RESPONSE_PARAMS,
                        at_slice_make(service->response_params, service->response_params_size));
    uint64_t now_ns = at_loop_now_ns(at_grpc_call_loop(call));
    uint64_t start_ns = at_grpc_call_start_ns(call);
    uint64_t ms = now_ns > start_ns ? (now_ns - start_ns) / AT_MS_NS : 0;
    int len = snprintf(timing, sizeof(timing), "gfet4t7; dur=%" PRIu64, ms);
    at_grpc_call_header(call, SERVER_TIMING, at_slice_make(timing, (size_t)len));
}

void at_service_fail(struct at_service *service,
                     struct at_grpc_call *call,
                     const struct at_error *error)
{
    struct at_slice none = {NULL, 0};
    bool retry = error->retry_after_ms > 0;

    at_service_fail_with(service, call, error,
                         retry ? at_details_retry(error, at_grpc_call_arena(call)) : none);
}

void at_service_fail_with(struct at_service *service,
                          struct at_grpc_call *call,
                          const struct at_error *error,
                          struct at_slice details)
{
    at_service_begin(service, call);
    if (details.len == 0)
        at_grpc_call_fail(call, error);
    else
        at_grpc_call_finish(call, error->code, at_slice_cstr(error->msg), details);
}

void at_service_reply(struct at_service *service,
                      struct at_grpc_call *call,
                      const ProtobufCMessage *message)
{
    at_service_begin(service, call);
    enum at_code code = at_proto_pack(at_grpc_call_begin(call), message);
    if (code != AT_OK) {
        struct at_error error;
        at_grpc_call_abandon(call);
        code = at_fail(&error, code, "the answer is too large");
        AT_ASSERT(code != AT_OK);
        at_grpc_call_fail(call, &error);
        return;
    }
    at_grpc_call_commit(call);
    at_grpc_call_finish(call, AT_OK, at_slice_make(NULL, 0), at_slice_make(NULL, 0));
}

void *at_service_unpack(struct at_service *service,
                        struct at_grpc_call *call,
                        const ProtobufCMessageDescriptor *descriptor)
{
    void *message =
        at_proto_unpack(at_grpc_call_arena(call), descriptor, at_grpc_call_request(call));

    if (!message) {
        struct at_error error;
        enum at_code code =
            at_fail(&error, AT_INVALID_ARGUMENT, "the request is no valid %s", descriptor->name);
        AT_ASSERT(code != AT_OK);
        at_service_fail(service, call, &error);
    }
    return message;
}

static enum at_code check_ours(const struct at_service *service,
                               const struct at_instance_name *name,
                               bool *ret_home,
                               struct at_error *reterr)
{
    *ret_home = at_slice_eq_cstr(name->project, service->project) &&
                at_slice_eq_cstr(name->instance, service->instance);
    if (*ret_home)
        return AT_OK;
    if (service->accept_any_instance)
        return at_namespace_check(name, reterr);
    return at_fail(reterr, AT_NOT_FOUND, "Instance projects/%.*s/instances/%.*s not found",
                   AT_SLICE_ARG(name->project), AT_SLICE_ARG(name->instance));
}

enum at_code at_service_table_id(const struct at_service *service,
                                 struct at_slice name,
                                 struct at_slice *ret_table_id,
                                 struct at_error *reterr)
{
    struct at_slice rest = name;
    struct at_slice collection = AT_LIT("/tables/");
    struct at_instance_name instance;
    bool home = false;

    if (name.len > AT_RESOURCE_NAME_BYTES_MAX || !at_namespace_take(&rest, &instance) ||
        !at_slice_has_prefix(rest, collection) || rest.len == collection.len ||
        memchr(rest.data + collection.len, '/', rest.len - collection.len))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid table name '%.*s': projects/<project>/instances/<instance>/tables/"
                       "<table> is expected",
                       AT_SLICE_ARG(name));
    AT_TRY(check_ours(service, &instance, &home, reterr));
    *ret_table_id = home ? at_slice_from(rest, collection.len) : name;
    return AT_OK;
}

enum at_code at_service_namespace(const struct at_service *service,
                                  struct at_slice name,
                                  struct at_slice *ret_namespace,
                                  struct at_error *reterr)
{
    struct at_slice rest = name;
    struct at_instance_name instance;
    bool home = false;

    if (name.len > AT_RESOURCE_NAME_BYTES_MAX || !at_namespace_take(&rest, &instance))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid name '%.*s': it must begin with projects/<project>/instances/"
                       "<instance>",
                       AT_SLICE_ARG(name));
    AT_TRY(check_ours(service, &instance, &home, reterr));
    *ret_namespace = at_slice_make(name.data, home ? 0 : name.len - rest.len);
    return AT_OK;
}

enum at_code at_service_instance_check(const struct at_service *service,
                                       struct at_slice name,
                                       struct at_error *reterr)
{
    struct at_slice rest = name;
    struct at_instance_name instance;
    bool home = false;

    if (name.len > AT_RESOURCE_NAME_BYTES_MAX || !at_namespace_take(&rest, &instance) ||
        rest.len > 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid instance name '%.*s': projects/<project>/instances/<instance> is "
                       "expected",
                       AT_SLICE_ARG(name));
    return check_ours(service, &instance, &home, reterr);
}

static enum at_code check_grant(const struct at_service *service,
                                struct at_slice id,
                                const struct at_profile_grant *grant,
                                enum at_profile_use use,
                                struct at_error *reterr)
{
    if (use == AT_USE_TRANSACTION && !grant->transactions)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "Single-row transactions are not allowed by this app profile");
    if (use != AT_USE_READ && grant->read_only)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "App profile '%.*s' is read-only: it uses Data Boost", AT_SLICE_ARG(id));
    if (!grant->serves)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "App profile '%.*s' does not route to cluster '%s'", AT_SLICE_ARG(id),
                       service->cluster_id);
    return AT_OK;
}

static enum at_profile_found
find_grant(struct at_service *service, struct at_slice kept, struct at_profile_grant *ret_grant)
{
    struct at_profile_cache *cache = &service->state->profiles;
    enum at_profile_found found =
        at_profile_cache_find(cache, at_store_profiles_version(service->store), kept, ret_grant);

    if (found == AT_PROFILE_STALE) {
        struct at_schema *schema = at_store_schema(service->store);
        found = at_profile_cache_refill(cache, schema->catalog, at_slice_cstr(service->cluster_id),
                                        kept, ret_grant);
        at_schema_unref(&schema);
    }
    return found;
}

enum at_code at_service_profile_check(struct at_service *service,
                                      struct at_slice name,
                                      struct at_slice id,
                                      enum at_profile_use use,
                                      struct at_error *reterr)
{
    char kept[AT_KEPT_NAME_BYTES_MAX];
    struct at_profile_grant grant = {0};
    struct at_slice in = {NULL, 0};

    if (id.len == 0)
        id = AT_LIT(DEFAULT_PROFILE);
    AT_TRY(at_service_namespace(service, name, &in, reterr));
    struct at_slice key =
        at_slice_make(kept, at_namespace_keep(in, AT_LIT("appProfiles"), id, kept));
    enum at_profile_found found = AT_PROFILE_ABSENT;
    if (key.len > 0 && !memchr(id.data, '/', id.len)) /* a whole name is no id */
        found = find_grant(service, key, &grant);
    if (found != AT_PROFILE_FOUND && in.len > 0 && at_slice_eq_cstr(id, DEFAULT_PROFILE))
        found = find_grant(service, id, &grant);
    if (found != AT_PROFILE_FOUND)
        return at_fail(reterr, AT_NOT_FOUND, "App profile %.*s/appProfiles/%.*s not found",
                       AT_SLICE_ARG(at_namespace_of(name)), AT_SLICE_ARG(id));
    return check_grant(service, id, &grant, use, reterr);
}
