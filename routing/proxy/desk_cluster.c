/* desk_cluster.c: CreateCluster.
 *
 *   launcher gives number and ports -> a live cluster registers it, with the operation that is
 *   answered -> launcher starts it -> it fills itself, and ends the operation
 *
 * Without a launcher a cluster is registered, and CREATING until `atoll cluster --join` runs where
 * it is to be. A registration whose process does not start is taken back. */
#include <string.h>

#include "base/log.h"
#include "google/longrunning/operations.pb-c.h"
#include "routing/proxy/desk_impl.h"
#include "routing/proxy/reply.h"
#include "wire/proto_alloc.h"

#define REGISTER_NS (30 * AT_S_NS)

static void register_cluster(struct at_desk_act *a);
static void
on_prepared(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer);
static void on_registered(struct at_inquiry *inquiry, const struct at_grpc_result *result);
static void
on_started(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer);
static void take_back(struct at_desk_act *a);
static void on_taken_back(struct at_inquiry *inquiry, const struct at_grpc_result *result);
static void
on_dropped_unborn(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer);

/* The nearest cluster that is up. */
static bool pick_live(struct at_desk_act *a)
{
    struct at_front_pick order[AT_MEMBERS_MAX];
    uint32_t count = at_front_order(a->inquiry.front, NULL, (struct at_slice){0}, order);
    if (count == 0 || !a->inquiry.front->targets[order[0].index].health.up)
        return false;
    a->pick = order[0];
    return true;
}

/* --- creating --- */

static bool id_ok(struct at_slice id)
{
    bool ok = id.len > 0 && id.len <= 30 && id.data[0] >= 'a' && id.data[0] <= 'z' &&
              !at_slice_eq_cstr(id, "router");
    for (size_t i = 0; i < id.len && ok; i++)
        ok = (id.data[i] >= 'a' && id.data[i] <= 'z') || (id.data[i] >= '0' && id.data[i] <= '9') ||
             id.data[i] == '-';
    return ok;
}

static enum at_code check_creation(struct at_desk_act *a, struct at_error *reterr)
{
    const struct at_front *front = a->inquiry.front;
    const char *location = a->request->cluster ? a->request->cluster->location : "";
    const char *zone = strstr(location, "/locations/");
    struct at_front_pick pick;
    if (!id_ok(a->cluster))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid cluster id '%.*s': a lower-case letter, then letters, digits or -, "
                       "at most 30",
                       AT_SLICE_ARG(a->cluster));
    if (!zone || !id_ok(at_slice_cstr(zone + strlen("/locations/"))))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid location '%s': projects/<project>/locations/<zone> is expected",
                       location);
    a->zone = zone + strlen("/locations/");
    if (at_front_find(front, a->cluster, &pick))
        return at_fail(reterr, AT_ALREADY_EXISTS, "Cluster %.*s already exists",
                       AT_SLICE_ARG(a->name));
    for (uint32_t i = 0; i < front->target_count; i++)
        if (front->targets[i].state == AT_FRONT_MEMBER &&
            at_slice_eq_cstr(front->targets[i].zone, a->zone))
            return at_fail(reterr, AT_FAILED_PRECONDITION,
                           "Cannot create multiple clusters in the same zone.");
    if (!pick_live(a))
        return at_fail(reterr, AT_UNAVAILABLE, "No cluster of the instance is up to register it");
    return AT_OK;
}

void at_desk_create_cluster(struct at_grpc_call *call, void *ctx)
{
    struct at_desk_method *method = ctx;
    struct at_error error = {0};
    struct at_desk_act *a = at_desk_act_new(method->desk, call);
    a->request_bytes = at_arena_copy(&a->arena, at_grpc_call_request(call));
    a->request =
        at_proto_unpack(&a->arena, &google__bigtable__admin__v2__create_cluster_request__descriptor,
                        a->request_bytes);
    enum at_code code =
        a->request ? AT_OK : at_fail(&error, AT_INVALID_ARGUMENT, "Malformed request message");
    if (code == AT_OK) {
        const char *name = at_arena_printf(&a->arena, "%s/clusters/%s", a->request->parent,
                                           a->request->cluster_id);
        code = at_desk_act_aim(a, at_slice_cstr(name), &error);
    }
    if (code == AT_OK)
        code = at_desk_act_mark(a, &error);
    if (code != AT_OK) {
        at_desk_act_refuse(a, &error);
        return;
    }
    at_desk_act_begin(a);
    if (check_creation(a, &error) != AT_OK) {
        at_desk_act_fail(a, &error);
        at_desk_act_end(a);
        return;
    }
    atoll__v1__cluster_address__init(&a->address);
    a->address.cluster_id = a->request->cluster_id;
    a->address.zone = (char *)(uintptr_t)a->zone;
    if (!method->desk->launcher.program) {
        register_cluster(a);
        return;
    }
    json_t *spec = at_desk_act_spec(a);
    (void)json_object_set_new(spec, "zone", json_string(a->zone));
    at_launch(&a->desk->launcher, a->loop, "prepare-cluster", spec, on_prepared, a);
}

static void
on_prepared(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer)
{
    struct at_desk_act *a = ctx;
    if (code != AT_OK) {
        at_desk_act_fail(a, error);
        at_desk_act_end(a);
        return;
    }
    const char *host = json_string_value(json_object_get(answer, "host"));
    a->address.host = at_arena_printf(&a->arena, "%s", host ? host : "");
    a->address.member_id = (uint32_t)json_integer_value(json_object_get(answer, "member"));
    a->address.grpc_port = (uint32_t)json_integer_value(json_object_get(answer, "grpc"));
    a->address.peer_port = (uint32_t)json_integer_value(json_object_get(answer, "peer"));
    register_cluster(a);
}

static void register_cluster(struct at_desk_act *a)
{
    Atoll__V1__AddClusterRequest request = ATOLL__V1__ADD_CLUSTER_REQUEST__INIT;
    request.cluster_id = a->request->cluster_id;
    request.cluster = a->request->cluster;
    request.address = &a->address;
    request.original_request =
        (ProtobufCBinaryData){a->request_bytes.len, (uint8_t *)(uintptr_t)a->request_bytes.data};
    const struct at_inquiry_question question = {"/atoll.v1.Cluster/AddCluster", &request.base,
                                                 REGISTER_NS};
    a->inquiry.done = on_registered;
    at_inquire(&a->inquiry, a->pick, &question);
}

static void on_registered(struct at_inquiry *inquiry, const struct at_grpc_result *result)
{
    struct at_desk_act *a = at_desk_act_of(inquiry);
    Atoll__V1__AddClusterResponse *response = NULL;
    if (result->code == AT_OK)
        response = at_proto_unpack(&a->arena, &atoll__v1__add_cluster_response__descriptor,
                                   at_buf_slice(&inquiry->answer));
    if (!response) {
        if (a->call)
            at_reply_result(a->call, result);
        a->call = NULL;
        /* An answer that was lost may stand for a registration that was made: it stays then. */
        bool refused =
            result->code != AT_OK && result->from_peer && a->desk->launcher.program != NULL;
        if (refused)
            at_launch(&a->desk->launcher, a->loop, "drop-cluster", at_desk_act_spec(a),
                      on_dropped_unborn, a);
        else
            at_desk_act_end(a);
        return;
    }
    if (a->call) {
        at_reply_headers(a->call, NULL, 0);
        enum at_code code = at_grpc_call_send(a->call, at_proto_bytes(response->operation));
        at_grpc_call_finish(a->call, code, (struct at_slice){0}, (struct at_slice){0});
    }
    a->call = NULL;
    if (!a->desk->launcher.program) {
        at_desk_act_end(a); /* it stays CREATING until somebody starts it */
        return;
    }
    json_t *spec = at_desk_act_spec(a);
    uint64_t hlc = response->members ? response->members->hlc : 0;
    (void)json_object_set_new(spec, "join_hlc", json_integer((json_int_t)hlc));
    at_launch(&a->desk->launcher, a->loop, "start-cluster", spec, on_started, a);
}

static void
on_started(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer)
{
    struct at_desk_act *a = ctx;
    (void)answer;
    if (code == AT_OK || a->desk->fleet->closed) {
        at_desk_act_end(a);
        return;
    }
    a->error = *error;
    take_back(a);
}

/* The members take it out again; then its files go. */
static void take_back(struct at_desk_act *a)
{
    Atoll__V1__RemoveRequest request = ATOLL__V1__REMOVE_REQUEST__INIT;
    at_log(AT_LOG_ERROR, "a cluster does not start, its registration is taken back",
           AT_KV_SLICE("cluster", a->cluster), AT_KV_STR("error", a->error.msg));
    request.cluster_ids = &a->request->cluster_id;
    request.n_cluster_ids = 1;
    request.creating_only = true;
    const struct at_inquiry_question question = {"/atoll.v1.Cluster/Remove", &request.base,
                                                 AT_DESK_REMOVE_NS};
    a->inquiry.done = on_taken_back;
    at_inquire(&a->inquiry, a->pick, &question);
}

static void on_taken_back(struct at_inquiry *inquiry, const struct at_grpc_result *result)
{
    struct at_desk_act *a = at_desk_act_of(inquiry);
    if (result->code != AT_OK) {
        at_log(AT_LOG_ERROR, "a registration could not be taken back",
               AT_KV_SLICE("cluster", a->cluster), AT_KV_SLICE("error", result->message));
        at_desk_act_end(a);
        return;
    }
    at_launch(&a->desk->launcher, a->loop, "drop-cluster", at_desk_act_spec(a), on_dropped_unborn,
              a);
}

static void
on_dropped_unborn(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer)
{
    (void)code;
    (void)error;
    (void)answer;
    at_desk_act_end(ctx);
}
