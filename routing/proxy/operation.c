/* operation.c: checks of a CreateInstanceRequest, and what is told of it meanwhile. */
#include "routing/proxy/operation.h"

#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/namespace.h"
#include "google/longrunning/operations.pb-c.h"
#include "wire/cluster_fields.h"
#include "wire/instance_fields.h"

#define TYPE_PREFIX "type.googleapis.com/"
#define LOCATIONS "/locations/"
#define CLUSTER_ID_BYTES_MAX 30
#define ZONE_BYTES_MAX 63

static struct at_slice pack(struct at_arena *arena, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = at_arena_alloc(arena, size + 1);
    return at_slice_make(bytes, protobuf_c_message_pack(message, bytes));
}

static Google__Protobuf__Any *any_of(struct at_arena *arena, const ProtobufCMessage *message)
{
    Google__Protobuf__Any *any = AT_ARENA_NEW(arena, Google__Protobuf__Any);
    struct at_slice bytes = pack(arena, message);
    google__protobuf__any__init(any);
    any->type_url = at_arena_printf(arena, TYPE_PREFIX "%s", message->descriptor->name);
    any->value = (ProtobufCBinaryData){bytes.len, (uint8_t *)(uintptr_t)bytes.data};
    return any;
}

static Google__Protobuf__Timestamp *time_of(struct at_arena *arena, uint64_t ns)
{
    Google__Protobuf__Timestamp *t = AT_ARENA_NEW(arena, Google__Protobuf__Timestamp);
    google__protobuf__timestamp__init(t);
    t->seconds = (int64_t)(ns / AT_S_NS);
    t->nanos = (int32_t)(ns % AT_S_NS);
    return t;
}

Google__Bigtable__Admin__V2__Instance *
at_operation_instance(const Google__Bigtable__Admin__V2__CreateInstanceRequest *request,
                      bool ready,
                      uint64_t created_ns,
                      struct at_arena *arena)
{
    Google__Bigtable__Admin__V2__Instance *out =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__Instance);
    *out = *request->instance;
    out->name = at_arena_printf(arena, "%s/instances/%s", request->parent, request->instance_id);
    out->state = ready ? GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__STATE__READY
                       : GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__STATE__CREATING;
    if (out->type == GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__TYPE_UNSPECIFIED)
        out->type = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__PRODUCTION;
    out->create_time = time_of(arena, created_ns);
    return out;
}

struct at_slice at_operation_pack(const struct at_operation_facts *facts, struct at_arena *arena)
{
    Google__Bigtable__Admin__V2__CreateInstanceMetadata metadata =
        GOOGLE__BIGTABLE__ADMIN__V2__CREATE_INSTANCE_METADATA__INIT;
    Google__Longrunning__Operation operation = GOOGLE__LONGRUNNING__OPERATION__INIT;
    Google__Rpc__Status status = GOOGLE__RPC__STATUS__INIT;
    metadata.original_request =
        (Google__Bigtable__Admin__V2__CreateInstanceRequest *)(uintptr_t)facts->request;
    metadata.request_time = time_of(arena, facts->begin_ns);
    if (facts->end_ns)
        metadata.finish_time = time_of(arena, facts->end_ns);
    operation.name = at_arena_printf(arena, "%.*s", AT_SLICE_ARG(facts->name));
    operation.metadata = any_of(arena, &metadata.base);
    operation.done = facts->end_ns != 0;
    if (facts->end_ns && facts->error) {
        status.code = (int32_t)facts->error->code;
        status.message = at_arena_printf(arena, "%s", facts->error->msg);
        operation.result_case = GOOGLE__LONGRUNNING__OPERATION__RESULT_ERROR;
        operation.error = &status;
    } else if (facts->end_ns) {
        operation.result_case = GOOGLE__LONGRUNNING__OPERATION__RESULT_RESPONSE;
        operation.response = any_of(
            arena, &at_operation_instance(facts->request, true, facts->begin_ns, arena)->base);
    }
    return pack(arena, &operation.base);
}

static bool id_ok(const char *s, size_t len_max)
{
    size_t len = strlen(s);
    if (len == 0 || len > len_max || s[0] < 'a' || s[0] > 'z')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9') || s[i] == '-'))
            return false;
    return true;
}

static enum at_code check_cluster(const char *id,
                                  const Google__Bigtable__Admin__V2__Cluster *cluster,
                                  struct at_error *reterr)
{
    if (!id_ok(id, CLUSTER_ID_BYTES_MAX) || strcmp(id, "router") == 0)
        return at_fail(
            reterr, AT_INVALID_ARGUMENT,
            "Invalid cluster id '%s': a lower-case letter, then letters, digits or -, at "
            "most %d",
            id, CLUSTER_ID_BYTES_MAX);
    const char *zone = cluster && cluster->location ? strstr(cluster->location, LOCATIONS) : NULL;
    if (!zone || !id_ok(zone + strlen(LOCATIONS), ZONE_BYTES_MAX))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Cluster %s has no valid location: projects/<project>/locations/<zone> is "
                       "expected",
                       id);
    return at_cluster_fields_check(cluster, reterr);
}

static enum at_code
check_clusters(const Google__Bigtable__Admin__V2__CreateInstanceRequest *request,
               struct at_error *reterr)
{
    if (request->n_clusters < 1 || request->n_clusters > AT_CLUSTERS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "An instance has 1 to %d clusters",
                       AT_CLUSTERS_MAX);
    for (size_t i = 0; i < request->n_clusters; i++) {
        AT_TRY(check_cluster(request->clusters[i]->key, request->clusters[i]->value, reterr));
        const char *zone = strstr(request->clusters[i]->value->location, LOCATIONS);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(request->clusters[k]->key, request->clusters[i]->key) == 0)
                return at_fail(reterr, AT_INVALID_ARGUMENT, "Cluster %s stands twice",
                               request->clusters[i]->key);
            if (strcmp(strstr(request->clusters[k]->value->location, LOCATIONS), zone) == 0)
                return at_fail(reterr, AT_FAILED_PRECONDITION,
                               "Cannot create multiple clusters in the same zone.");
        }
    }
    return AT_OK;
}

enum at_code at_operation_check(const Google__Bigtable__Admin__V2__CreateInstanceRequest *request,
                                struct at_error *reterr)
{
    static const struct at_slice PREFIX = AT_LIT_INIT("projects/");
    struct at_slice parent = at_slice_cstr(request->parent);
    if (!at_slice_has_prefix(parent, PREFIX) || parent.len == PREFIX.len)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid parent '%s': projects/<project> is expected", request->parent);
    struct at_instance_name name = {.project = at_slice_from(parent, PREFIX.len),
                                    .instance = at_slice_cstr(request->instance_id)};
    AT_TRY(at_namespace_check(&name, reterr));
    if (!request->instance || request->instance->display_name[0] == '\0')
        return at_fail(reterr, AT_INVALID_ARGUMENT, "An instance needs a display name");
    AT_TRY(at_instance_fields_check(request->instance, reterr));
    return check_clusters(request, reterr);
}
