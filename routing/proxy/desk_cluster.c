/* desk_cluster.c: CreateCluster and DeleteCluster.
 *
 *   create: launcher gives number and ports -> a live cluster registers it, with the operation that
 *           is answered -> launcher starts it -> it fills itself, and ends the operation
 *   delete: the cluster hands all that it has to the others and leaves -> launcher removes process
 *           and files -> every loop knows -> answered; one that is CREATING still can't leave, or
 *           does not run at all: the others remove it
 *
 * Without a launcher a cluster is registered, and CREATING until `atoll cluster --join` runs where
 * it is to be; a deleted one leaves its files where they are. A registration whose process does not
 * start is taken back. */
#include <string.h>

#include "atoll/v1/control.pb-c.h"
#include "base/alloc.h"
#include "base/log.h"
#include "google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h"
#include "google/longrunning/operations.pb-c.h"
#include "routing/proxy/desk.h"
#include "routing/proxy/inquiry.h"
#include "routing/proxy/refresh_all.h"
#include "routing/proxy/reply.h"

#define REGISTER_NS (30 * AT_S_NS)
#define LEAVE_NS (600 * AT_S_NS)
#define LEAVE_TRY_NS (10 * AT_S_NS) /* one that has just been started is soon to be reached */
#define LEAVE_PAUSE_MS 200

struct act {
    struct at_inquiry inquiry; /* its front is kept by at_front_begin */
    struct at_desk *desk;
    struct at_grpc_call *call; /* NULL: answered, or the client has gone */
    struct at_loop *loop;
    struct at_arena arena;
    struct at_slice name;    /* "projects/P/instances/I/clusters/C" */
    struct at_slice project; /* parts of it */
    struct at_slice instance;
    struct at_slice cluster;
    struct at_front_pick pick; /* the registrar, or the one that leaves */
    uv_timer_t again;          /* asks to leave once more */
    bool has_timer;
    uint64_t leave_until_ns;
    struct at_error error; /* of a creation that is taken back; why a cluster does not leave */
    /* creation */
    Google__Bigtable__Admin__V2__CreateClusterRequest *request;
    struct at_slice request_bytes;
    const char *zone;
    Atoll__V1__ClusterAddress address;
};

static void register_cluster(struct act *a);
static void
on_prepared(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer);
static void on_registered(struct at_inquiry *inquiry, const struct at_grpc_result *result);
static void
on_started(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer);
static void take_back(struct act *a);
static void on_taken_back(struct at_inquiry *inquiry, const struct at_grpc_result *result);
static void
on_dropped_unborn(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer);
static void ask_leave(struct act *a);
static void on_left(struct at_inquiry *inquiry, const struct at_grpc_result *result);
static bool ask_removal(struct act *a);
static void on_removed(struct at_inquiry *inquiry, const struct at_grpc_result *result);
static void drop(struct act *a);
static void
on_dropped(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer);
static void on_known(void *ctx);
static void end_act(struct act *a);

static void on_cancel(struct at_grpc_call *call, void *ctx)
{
    struct act *a = ctx;
    a->call = NULL;
    at_grpc_call_finish(call, AT_CANCELLED, (struct at_slice){0}, (struct at_slice){0});
}

static struct act *of_inquiry(struct at_inquiry *inquiry)
{
    return (struct act *)inquiry; /* its first member */
}

static void fail(struct act *a, const struct at_error *error)
{
    if (a->call)
        at_reply_error(a->call, error);
    a->call = NULL;
}

static void on_timer_closed(uv_handle_t *handle)
{
    at_free(handle->data);
}

static void end_act(struct act *a)
{
    at_desk_end(a->desk, a->name);
    at_front_end(a->inquiry.front);
    at_inquiry_deinit(&a->inquiry);
    at_arena_deinit(&a->arena);
    if (a->has_timer)
        uv_close((uv_handle_t *)&a->again, on_timer_closed);
    else
        at_free(a);
}

static struct act *new_act(struct at_desk *desk, struct at_grpc_call *call)
{
    struct act *a = AT_NEW(struct act);
    a->desk = desk;
    a->call = call;
    a->loop = at_grpc_call_loop(call);
    at_arena_init(&a->arena, 2 * AT_KIB);
    at_inquiry_init(&a->inquiry);
    return a;
}

/* Answers, and frees an act that has not begun. */
static void refuse(struct act *a, const struct at_error *error)
{
    at_reply_error(a->call, error);
    at_inquiry_deinit(&a->inquiry);
    at_arena_deinit(&a->arena);
    at_free(a);
}

/* Marks the name and keeps the front; from here on end_act. */
static enum at_code begin(struct act *a, struct at_slice name, struct at_error *reterr)
{
    struct at_resource r;
    a->name = at_arena_copy(&a->arena, name);
    if (!at_resource_parse(a->name, &r) || r.cluster.len == 0 ||
        r.cluster.data + r.cluster.len != a->name.data + a->name.len)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid cluster name '%.*s': projects/<project>/instances/<instance>/"
                       "clusters/<cluster> is expected",
                       AT_SLICE_ARG(name));
    a->project = r.project;
    a->instance = r.id;
    a->cluster = r.cluster;
    a->inquiry.front = at_fleet_find(a->desk->fleet, a->loop, r.instance);
    if (!a->inquiry.front)
        return at_fail(reterr, AT_NOT_FOUND, "Instance %.*s not found", AT_SLICE_ARG(r.instance));
    AT_TRY(at_desk_begin(a->desk, a->name, reterr));
    at_front_begin(a->inquiry.front);
    at_grpc_call_on_cancel(a->call, on_cancel, a);
    return AT_OK;
}

static json_t *spec_of(const struct act *a)
{
    return json_pack("{s:s%, s:s%, s:s%}", "project", (const char *)a->project.data, a->project.len,
                     "instance", (const char *)a->instance.data, a->instance.len, "cluster",
                     (const char *)a->cluster.data, a->cluster.len);
}

/* The nearest cluster that is up. */
static bool pick_live(struct act *a)
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

static enum at_code check_creation(struct act *a, struct at_error *reterr)
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
    struct act *a = new_act(method->desk, call);
    a->request_bytes = at_arena_copy(&a->arena, at_grpc_call_request(call));
    a->request =
        at_proto_unpack(&a->arena, &google__bigtable__admin__v2__create_cluster_request__descriptor,
                        a->request_bytes);
    enum at_code code =
        a->request ? AT_OK : at_fail(&error, AT_INVALID_ARGUMENT, "Malformed request message");
    if (code == AT_OK) {
        const char *name = at_arena_printf(&a->arena, "%s/clusters/%s", a->request->parent,
                                           a->request->cluster_id);
        code = begin(a, at_slice_cstr(name), &error);
    }
    if (code != AT_OK) {
        refuse(a, &error);
        return;
    }
    if (check_creation(a, &error) != AT_OK) {
        fail(a, &error);
        end_act(a);
        return;
    }
    atoll__v1__cluster_address__init(&a->address);
    a->address.cluster_id = a->request->cluster_id;
    a->address.zone = (char *)(uintptr_t)a->zone;
    if (!method->desk->launcher.program) {
        register_cluster(a);
        return;
    }
    json_t *spec = spec_of(a);
    (void)json_object_set_new(spec, "zone", json_string(a->zone));
    at_launch(&a->desk->launcher, a->loop, "prepare-cluster", spec, on_prepared, a);
}

static void
on_prepared(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer)
{
    struct act *a = ctx;
    if (code != AT_OK) {
        fail(a, error);
        end_act(a);
        return;
    }
    const char *host = json_string_value(json_object_get(answer, "host"));
    a->address.host = at_arena_printf(&a->arena, "%s", host ? host : "");
    a->address.member_id = (uint32_t)json_integer_value(json_object_get(answer, "member"));
    a->address.grpc_port = (uint32_t)json_integer_value(json_object_get(answer, "grpc"));
    a->address.peer_port = (uint32_t)json_integer_value(json_object_get(answer, "peer"));
    register_cluster(a);
}

static void register_cluster(struct act *a)
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
    struct act *a = of_inquiry(inquiry);
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
            at_launch(&a->desk->launcher, a->loop, "drop-cluster", spec_of(a), on_dropped_unborn,
                      a);
        else
            end_act(a);
        return;
    }
    if (a->call) {
        at_reply_headers(a->call, NULL, 0);
        enum at_code code = at_grpc_call_send(a->call, at_proto_bytes(response->operation));
        at_grpc_call_finish(a->call, code, (struct at_slice){0}, (struct at_slice){0});
    }
    a->call = NULL;
    if (!a->desk->launcher.program) {
        end_act(a); /* it stays CREATING until somebody starts it */
        return;
    }
    json_t *spec = spec_of(a);
    uint64_t hlc = response->members ? response->members->hlc : 0;
    (void)json_object_set_new(spec, "join_hlc", json_integer((json_int_t)hlc));
    at_launch(&a->desk->launcher, a->loop, "start-cluster", spec, on_started, a);
}

static void
on_started(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer)
{
    struct act *a = ctx;
    (void)answer;
    if (code == AT_OK || a->desk->fleet->closed) {
        end_act(a);
        return;
    }
    a->error = *error;
    take_back(a);
}

/* The members take it out again; then its files go. */
static void take_back(struct act *a)
{
    Atoll__V1__RemoveRequest request = ATOLL__V1__REMOVE_REQUEST__INIT;
    at_log(AT_LOG_ERROR, "a cluster does not start, its registration is taken back",
           AT_KV_SLICE("cluster", a->cluster), AT_KV_STR("error", a->error.msg));
    request.cluster_ids = &a->request->cluster_id;
    request.n_cluster_ids = 1;
    request.creating_only = true;
    const struct at_inquiry_question question = {"/atoll.v1.Cluster/Remove", &request.base,
                                                 REGISTER_NS};
    a->inquiry.done = on_taken_back;
    at_inquire(&a->inquiry, a->pick, &question);
}

static void on_taken_back(struct at_inquiry *inquiry, const struct at_grpc_result *result)
{
    struct act *a = of_inquiry(inquiry);
    if (result->code != AT_OK) {
        at_log(AT_LOG_ERROR, "a registration could not be taken back",
               AT_KV_SLICE("cluster", a->cluster), AT_KV_SLICE("error", result->message));
        end_act(a);
        return;
    }
    at_launch(&a->desk->launcher, a->loop, "drop-cluster", spec_of(a), on_dropped_unborn, a);
}

static void
on_dropped_unborn(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer)
{
    (void)code;
    (void)error;
    (void)answer;
    end_act(ctx);
}

/* --- deleting --- */

static enum at_code check_deletion(struct act *a, struct at_error *reterr)
{
    if (!at_front_find(a->inquiry.front, a->cluster, &a->pick))
        return at_fail(reterr, AT_NOT_FOUND, "Cluster %.*s not found", AT_SLICE_ARG(a->name));
    return AT_OK;
}

void at_desk_delete_cluster(struct at_grpc_call *call, void *ctx)
{
    struct at_desk_method *method = ctx;
    struct at_request_head head;
    struct at_error error = {0};
    struct act *a = new_act(method->desk, call);
    enum at_code code =
        at_request_peek(method->forward.method, at_grpc_call_request(call), &head, &error);
    if (code == AT_OK)
        code = begin(a, head.table_name, &error);
    if (code != AT_OK) {
        refuse(a, &error);
        return;
    }
    if (check_deletion(a, &a->error) != AT_OK) {
        /* one that has not joined yet is not known here, but to the clusters */
        if (ask_removal(a))
            return;
        fail(a, &a->error);
        end_act(a);
        return;
    }
    a->leave_until_ns = at_loop_now_ns(a->loop) + LEAVE_TRY_NS;
    ask_leave(a);
}

static void ask_leave(struct act *a)
{
    Atoll__V1__LeaveRequest request = ATOLL__V1__LEAVE_REQUEST__INIT;
    const struct at_inquiry_question question = {"/atoll.v1.Cluster/Leave", &request.base,
                                                 LEAVE_NS};
    a->inquiry.done = on_left;
    at_inquire(&a->inquiry, a->pick, &question);
}

static void on_again(uv_timer_t *timer)
{
    ask_leave(timer->data);
}

/* What is known of its health may be old: only it itself tells whether it can be reached. Asked
 * twice, a cluster leaves once. */
static bool asks_again(struct act *a, const struct at_grpc_result *result)
{
    if (result->code != AT_UNAVAILABLE || result->from_peer || a->desk->fleet->closed || !a->call ||
        at_loop_now_ns(a->loop) >= a->leave_until_ns ||
        !at_front_find(a->inquiry.front, a->cluster, &a->pick))
        return false;
    if (!a->has_timer) {
        (void)uv_timer_init(at_loop_uv(a->loop), &a->again);
        a->again.data = a;
        a->has_timer = true;
    }
    (void)uv_timer_start(&a->again, on_again, LEAVE_PAUSE_MS, 0);
    return true;
}

static void on_left(struct at_inquiry *inquiry, const struct at_grpc_result *result)
{
    struct act *a = of_inquiry(inquiry);
    if (asks_again(a, result))
        return;
    if (result->code == AT_OK) {
        drop(a);
        return;
    }
    if (result->from_peer)
        (void)at_fail(&a->error, result->code, "%.*s", AT_SLICE_ARG(result->message));
    else
        (void)at_fail(&a->error, AT_UNAVAILABLE,
                      "Cluster %.*s is down and cannot hand its last writes to the others; start "
                      "it, or give those up with `atoll remove %.*s`",
                      AT_SLICE_ARG(a->cluster), AT_SLICE_ARG(a->cluster));
    if (ask_removal(a))
        return;
    fail(a, &a->error);
    end_act(a);
}

/* Asks another cluster to remove it if it is CREATING still; false: there is none. */
static bool ask_removal(struct act *a)
{
    Atoll__V1__RemoveRequest request = ATOLL__V1__REMOVE_REQUEST__INIT;
    const struct at_inquiry_question question = {"/atoll.v1.Cluster/Remove", &request.base,
                                                 REGISTER_NS};
    struct at_front_pick order[AT_MEMBERS_MAX];
    char *id = at_arena_printf(&a->arena, "%.*s", AT_SLICE_ARG(a->cluster));

    uint32_t count = at_front_order(a->inquiry.front, NULL, (struct at_slice){0}, order);
    for (uint32_t i = 0; i < count && !a->desk->fleet->closed; i++) {
        if (at_slice_eq(a->inquiry.front->targets[order[i].index].id, a->cluster))
            continue;
        request.cluster_ids = &id;
        request.n_cluster_ids = 1;
        request.creating_only = true;
        a->inquiry.done = on_removed;
        at_inquire(&a->inquiry, order[i], &question);
        return true;
    }
    return false;
}

static void on_removed(struct at_inquiry *inquiry, const struct at_grpc_result *result)
{
    struct act *a = of_inquiry(inquiry);
    if (result->code == AT_OK) {
        drop(a);
        return;
    }
    /* Else it is not CREATING, or not there, and it counts why it did not leave. */
    if (result->from_peer &&
        (result->code == AT_FAILED_PRECONDITION || result->code == AT_DEADLINE_EXCEEDED))
        (void)at_fail(&a->error, result->code, "%.*s", AT_SLICE_ARG(result->message));
    fail(a, &a->error);
    end_act(a);
}

static void drop(struct act *a)
{
    if (a->desk->launcher.program)
        at_launch(&a->desk->launcher, a->loop, "drop-cluster", spec_of(a), on_dropped, a);
    else
        on_dropped(a, AT_OK, NULL, NULL);
}

static void
on_dropped(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer)
{
    struct act *a = ctx;
    (void)answer;
    struct at_refresh_plan plan = {.home = a->inquiry.front};
    struct at_front_pick order[AT_MEMBERS_MAX];
    if (code != AT_OK)
        at_log(AT_LOG_WARN, "files of a cluster that left could not be removed",
               AT_KV_SLICE("cluster", a->cluster), AT_KV_STR("error", error->msg));
    uint32_t count = at_front_order(a->inquiry.front, NULL, (struct at_slice){0}, order);
    for (uint32_t i = 0; i < count && plan.cluster.len == 0; i++)
        if (!at_slice_eq(a->inquiry.front->targets[order[i].index].id, a->cluster))
            plan.cluster = a->inquiry.front->targets[order[i].index].id;
    if (a->desk->fleet->closed)
        on_known(a);
    else
        (void)at_refresh_all_start(&plan, on_known, a);
}

static void on_known(void *ctx)
{
    struct act *a = ctx;
    static const Google__Protobuf__Empty EMPTY = GOOGLE__PROTOBUF__EMPTY__INIT;
    if (a->call)
        at_desk_reply(a->call, &EMPTY.base);
    a->call = NULL;
    end_act(a);
}
