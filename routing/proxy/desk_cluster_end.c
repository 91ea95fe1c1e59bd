/* desk_cluster_end.c: DeleteCluster, and CancelOperation of what creates one.
 *
 *   delete: the cluster hands all that it has to the others and leaves -> launcher removes process
 *           and files -> every loop knows -> answered; one that is CREATING still can't leave, or
 *           does not run at all: the others remove it
 *   cancel: another cluster removes it, if it is CREATING still, and ends the operation -> launcher
 *           removes process and files -> answered. Else it is the clusters' to answer
 *
 * Without a launcher a deleted cluster leaves its files where they are. */
#include "base/alloc.h"
#include "base/log.h"
#include "google/protobuf/empty.pb-c.h"
#include "routing/proxy/desk_impl.h"
#include "routing/proxy/refresh_all.h"
#include "routing/proxy/reply.h"

#define LEAVE_NS (600 * AT_S_NS)
#define LEAVE_TRY_NS (10 * AT_S_NS) /* one that has just been started is soon to be reached */

static void ask_leave(struct at_desk_act *a);
static void on_left(struct at_inquiry *inquiry, const struct at_grpc_result *result);
static bool ask_removal(struct at_desk_act *a);
static void on_removed(struct at_inquiry *inquiry, const struct at_grpc_result *result);
static void on_forgone(struct at_inquiry *inquiry, const struct at_grpc_result *result);
static void drop_when_free(struct at_desk_act *a);
static void drop(struct at_desk_act *a);
static void
on_dropped(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer);
static void on_known(void *ctx);

/* --- deleting --- */

static enum at_code check_deletion(struct at_desk_act *a, struct at_error *reterr)
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
    struct at_desk_act *a = at_desk_act_new(method->desk, call);
    enum at_code code =
        at_request_peek(method->forward.method, at_grpc_call_request(call), &head, &error);
    if (code == AT_OK)
        code = at_desk_act_aim(a, head.table_name, &error);
    if (code == AT_OK)
        code = at_desk_act_mark(a, &error);
    if (code != AT_OK) {
        at_desk_act_refuse(a, &error);
        return;
    }
    at_desk_act_begin(a);
    if (check_deletion(a, &a->error) != AT_OK) {
        /* one that has not joined yet is not known here, but to the clusters */
        if (ask_removal(a))
            return;
        at_desk_act_fail(a, &a->error);
        at_desk_act_end(a);
        return;
    }
    a->leave_until_ns = at_loop_now_ns(a->loop) + LEAVE_TRY_NS;
    ask_leave(a);
}

static void ask_leave(struct at_desk_act *a)
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
static bool asks_again(struct at_desk_act *a, const struct at_grpc_result *result)
{
    if (result->code != AT_UNAVAILABLE || result->from_peer || a->desk->fleet->closed || !a->call ||
        at_loop_now_ns(a->loop) >= a->leave_until_ns ||
        !at_front_find(a->inquiry.front, a->cluster, &a->pick))
        return false;
    at_desk_act_again(a, on_again);
    return true;
}

static void on_left(struct at_inquiry *inquiry, const struct at_grpc_result *result)
{
    struct at_desk_act *a = at_desk_act_of(inquiry);
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
                      "it, or give those up with `atoll remove --force %.*s`",
                      AT_SLICE_ARG(a->cluster), AT_SLICE_ARG(a->cluster));
    if (ask_removal(a))
        return;
    at_desk_act_fail(a, &a->error);
    at_desk_act_end(a);
}

/* Asks another cluster to remove it if it is CREATING still; false: there is none. */
static bool ask_removal(struct at_desk_act *a)
{
    Atoll__V1__RemoveRequest request = ATOLL__V1__REMOVE_REQUEST__INIT;
    const struct at_inquiry_question question = {"/atoll.v1.Cluster/Remove", &request.base,
                                                 AT_DESK_REMOVE_NS};
    struct at_front_pick order[AT_MEMBERS_MAX];
    char *id = at_arena_printf(&a->arena, "%.*s", AT_SLICE_ARG(a->cluster));

    uint32_t count = at_front_order(a->inquiry.front, NULL, (struct at_slice){0}, order);
    for (uint32_t i = 0; i < count && !a->desk->fleet->closed; i++) {
        if (at_slice_eq(a->inquiry.front->targets[order[i].index].id, a->cluster))
            continue;
        request.cluster_ids = &id;
        request.n_cluster_ids = 1;
        request.creating_only = true;
        if (a->cancels)
            request.operation = a->operation;
        a->inquiry.done = a->cancels ? on_forgone : on_removed;
        at_inquire(&a->inquiry, order[i], &question);
        return true;
    }
    return false;
}

static void on_removed(struct at_inquiry *inquiry, const struct at_grpc_result *result)
{
    struct at_desk_act *a = at_desk_act_of(inquiry);
    if (result->code == AT_OK) {
        drop(a);
        return;
    }
    /* Else it is not CREATING, or not there, and it counts why it did not leave. */
    if (result->from_peer &&
        (result->code == AT_FAILED_PRECONDITION || result->code == AT_DEADLINE_EXCEEDED))
        (void)at_fail(&a->error, result->code, "%.*s", AT_SLICE_ARG(result->message));
    at_desk_act_fail(a, &a->error);
    at_desk_act_end(a);
}

/* --- cancelling a creation --- */

/* "operations/projects/P/instances/I/clusters/C/operations/N": the cluster's name. */
static struct at_slice cluster_of_operation(struct at_slice name)
{
    static const struct at_slice BEFORE = AT_LIT_INIT("operations/");
    static const struct at_slice AFTER = AT_LIT_INIT("/operations/");
    struct at_resource r;
    if (!at_slice_has_prefix(name, BEFORE) || !at_resource_parse(name, &r) || r.cluster.len == 0)
        return (struct at_slice){0};
    size_t end = (size_t)(r.cluster.data - name.data) + r.cluster.len;
    if (!at_slice_has_prefix(at_slice_from(name, end), AFTER))
        return (struct at_slice){0};
    return at_slice_make(name.data + BEFORE.len, end - BEFORE.len);
}

void at_desk_cancel_operation(struct at_grpc_call *call, void *ctx)
{
    struct at_desk_method *method = ctx;
    struct at_request_head head;
    struct at_error error = {0};
    enum at_code code =
        at_request_peek(method->forward.method, at_grpc_call_request(call), &head, NULL);
    struct at_slice name = {0};
    if (code == AT_OK)
        name = cluster_of_operation(head.table_name);
    if (name.len == 0) {
        at_forward_request(call, &method->forward);
        return;
    }
    struct at_desk_act *a = at_desk_act_new(method->desk, call);
    a->cancels = method;
    a->operation = at_arena_printf(&a->arena, "%.*s", AT_SLICE_ARG(head.table_name));
    if (at_desk_act_aim(a, name, &error) != AT_OK) {
        at_desk_act_refuse(a, &error);
        return;
    }
    at_desk_act_begin(a);
    if (ask_removal(a))
        return;
    (void)at_fail(&error, AT_UNAVAILABLE, "No other cluster of the instance can be asked");
    at_desk_act_fail(a, &error);
    at_desk_act_end(a);
}

static void on_free(uv_timer_t *timer)
{
    drop_when_free(timer->data);
}

/* The launcher may just be starting it. */
static void drop_when_free(struct at_desk_act *a)
{
    struct at_error error;
    if (at_desk_act_mark(a, &error) == AT_OK || a->desk->fleet->closed)
        drop(a);
    else
        at_desk_act_again(a, on_free);
}

static void on_forgone(struct at_inquiry *inquiry, const struct at_grpc_result *result)
{
    struct at_desk_act *a = at_desk_act_of(inquiry);
    if (result->code == AT_OK) {
        drop_when_free(a);
        return;
    }
    /* It is not what is being created: its clusters know the operation. */
    bool other = result->from_peer && (result->code == AT_ABORTED || result->code == AT_NOT_FOUND);
    struct at_grpc_call *call = other ? AT_TAKE(a->call) : NULL;
    if (call)
        at_forward_request(call, (void *)(uintptr_t)&a->cancels->forward);
    if (a->call)
        at_reply_result(a->call, result);
    a->call = NULL;
    at_desk_act_end(a);
}

static void drop(struct at_desk_act *a)
{
    if (a->desk->launcher.program)
        at_launch(&a->desk->launcher, a->loop, "drop-cluster", at_desk_act_spec(a), on_dropped, a);
    else
        on_dropped(a, AT_OK, NULL, NULL);
}

static void
on_dropped(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer)
{
    struct at_desk_act *a = ctx;
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
    struct at_desk_act *a = ctx;
    static const Google__Protobuf__Empty EMPTY = GOOGLE__PROTOBUF__EMPTY__INIT;
    if (a->call)
        at_desk_reply(a->call, &EMPTY.base);
    a->call = NULL;
    at_desk_act_end(a);
}
