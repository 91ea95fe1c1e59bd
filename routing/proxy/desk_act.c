#include "base/alloc.h"
#include "routing/proxy/desk_impl.h"
#include "routing/proxy/reply.h"

#define AGAIN_MS 200

static void on_cancel(struct at_grpc_call *call, void *ctx)
{
    struct at_desk_act *a = ctx;
    a->call = NULL;
    at_grpc_call_finish(call, AT_CANCELLED, (struct at_slice){0}, (struct at_slice){0});
}

struct at_desk_act *at_desk_act_of(struct at_inquiry *inquiry)
{
    return (struct at_desk_act *)inquiry; /* its first member */
}

void at_desk_act_fail(struct at_desk_act *a, const struct at_error *error)
{
    if (a->call)
        at_reply_error(a->call, error);
    a->call = NULL;
}

static void on_timer_closed(uv_handle_t *handle)
{
    at_free(handle->data);
}

void at_desk_act_free(struct at_desk_act *a)
{
    at_inquiry_deinit(&a->inquiry);
    at_arena_deinit(&a->arena);
    if (a->has_timer)
        uv_close((uv_handle_t *)&a->again, on_timer_closed);
    else
        at_free(a);
}

void at_desk_act_end(struct at_desk_act *a)
{
    if (a->marked)
        at_desk_end(a->desk, a->name);
    at_front_end(a->inquiry.front);
    at_desk_act_free(a);
}

struct at_desk_act *at_desk_act_new(struct at_desk *desk, struct at_grpc_call *call)
{
    struct at_desk_act *a = AT_NEW(struct at_desk_act);
    a->desk = desk;
    a->call = call;
    a->loop = at_grpc_call_loop(call);
    at_arena_init(&a->arena, 2 * AT_KIB);
    at_inquiry_init(&a->inquiry);
    return a;
}

void at_desk_act_refuse(struct at_desk_act *a, const struct at_error *error)
{
    at_desk_act_fail(a, error);
    at_desk_act_free(a);
}

void at_desk_act_again(struct at_desk_act *a, uv_timer_cb again)
{
    if (!a->has_timer) {
        (void)uv_timer_init(at_loop_uv(a->loop), &a->again);
        a->again.data = a;
        a->has_timer = true;
    }
    (void)uv_timer_start(&a->again, again, AGAIN_MS, 0);
}

enum at_code at_desk_act_aim(struct at_desk_act *a, struct at_slice name, struct at_error *reterr)
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
    return AT_OK;
}

enum at_code at_desk_act_mark(struct at_desk_act *a, struct at_error *reterr)
{
    AT_TRY(at_desk_begin(a->desk, a->name, reterr));
    a->marked = true;
    return AT_OK;
}

void at_desk_act_begin(struct at_desk_act *a)
{
    at_front_begin(a->inquiry.front);
    at_grpc_call_on_cancel(a->call, on_cancel, a);
}

json_t *at_desk_act_spec(const struct at_desk_act *a)
{
    return json_pack("{s:s%, s:s%, s:s%}", "project", (const char *)a->project.data, a->project.len,
                     "instance", (const char *)a->instance.data, a->instance.len, "cluster",
                     (const char *)a->cluster.data, a->cluster.len);
}
