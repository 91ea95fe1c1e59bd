#include "cluster/service/service.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/assert.h"
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

/* Takes "<literal>" and then everything up to the next '/' off the front of `rest`. */
static bool take_part(struct at_slice *rest, struct at_slice literal, struct at_slice *ret_part)
{
    if (!at_slice_has_prefix(*rest, literal))
        return false;
    struct at_slice after = at_slice_from(*rest, literal.len);
    const uint8_t *slash = after.len > 0 ? memchr(after.data, '/', after.len) : NULL;
    size_t len = slash ? (size_t)(slash - after.data) : after.len;
    *ret_part = at_slice_make(after.data, len);
    *rest = at_slice_from(after, len);
    return len > 0;
}

/* Leaves behind "projects/P/instances/I" in `rest`. */
static bool
take_instance(struct at_slice *rest, struct at_slice *ret_project, struct at_slice *ret_instance)
{
    return rest->len <= AT_RESOURCE_NAME_BYTES_MAX &&
           take_part(rest, AT_LIT("projects/"), ret_project) &&
           take_part(rest, AT_LIT("/instances/"), ret_instance);
}

static enum at_code check_ours(const struct at_service *service,
                               struct at_slice project,
                               struct at_slice instance,
                               struct at_error *reterr)
{
    if (at_slice_eq_cstr(project, service->project) &&
        at_slice_eq_cstr(instance, service->instance))
        return AT_OK;
    return at_fail(reterr, AT_NOT_FOUND, "Instance projects/%.*s/instances/%.*s not found",
                   AT_SLICE_ARG(project), AT_SLICE_ARG(instance));
}

enum at_code at_service_table_id(const struct at_service *service,
                                 struct at_slice name,
                                 struct at_slice *ret_table_id,
                                 struct at_error *reterr)
{
    struct at_slice rest = name;
    struct at_slice project;
    struct at_slice instance;

    if (!take_instance(&rest, &project, &instance) ||
        !take_part(&rest, AT_LIT("/tables/"), ret_table_id) || rest.len > 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid table name '%.*s': projects/<project>/instances/<instance>/tables/"
                       "<table> is expected",
                       AT_SLICE_ARG(name));
    return check_ours(service, project, instance, reterr);
}

enum at_code at_service_instance_check(const struct at_service *service,
                                       struct at_slice name,
                                       struct at_error *reterr)
{
    struct at_slice rest = name;
    struct at_slice project;
    struct at_slice instance;

    if (!take_instance(&rest, &project, &instance) || rest.len > 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid instance name '%.*s': projects/<project>/instances/<instance> is "
                       "expected",
                       AT_SLICE_ARG(name));
    return check_ours(service, project, instance, reterr);
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

enum at_code at_service_profile_check(struct at_service *service,
                                      struct at_slice id,
                                      enum at_profile_use use,
                                      struct at_error *reterr)
{
    struct at_profile_cache *cache = &service->state->profiles;
    struct at_profile_grant grant = {0};

    if (id.len == 0)
        id = AT_LIT(DEFAULT_PROFILE);
    enum at_profile_found found =
        at_profile_cache_find(cache, at_store_profiles_version(service->store), id, &grant);
    if (found == AT_PROFILE_STALE) {
        struct at_schema *schema = at_store_schema(service->store);
        found = at_profile_cache_refill(cache, schema->catalog, at_slice_cstr(service->cluster_id),
                                        id, &grant);
        at_schema_unref(&schema);
    }
    if (found != AT_PROFILE_FOUND)
        return at_fail(reterr, AT_NOT_FOUND,
                       "App profile projects/%s/instances/%s/appProfiles/%.*s not found",
                       service->project, service->instance, AT_SLICE_ARG(id));
    return check_grant(service, id, &grant, use, reterr);
}
