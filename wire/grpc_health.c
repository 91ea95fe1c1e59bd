/* grpc_health.c: the health service.
 *
 * A watch holds a libuv timer on its call's loop; it ends with the call, which the client, the
 * deadline or a drain cancels. The memory of the timer must outlive its close callback, so a watch
 * is on the heap and not in the call's arena. */
#include "wire/grpc_health.h"

#include "base/alloc.h"
#include "grpc/health/v1/health.pb-c.h"
#include "wire/proto_alloc.h"

struct watch {
    uv_timer_t timer;
    struct at_grpc_call *call;
    struct at_grpc_health *health;
    bool last;
};

static void on_check(struct at_grpc_call *call, void *ctx);
static void on_watch(struct at_grpc_call *call, void *ctx);
static void on_watch_end(struct at_grpc_call *call, void *ctx);
static void on_timer(uv_timer_t *timer);
static void on_closed(uv_handle_t *handle);
static enum at_code send_status(struct at_grpc_call *call, int status);
static bool known(const struct at_grpc_health *health, struct at_grpc_call *call);

void at_grpc_health_methods(struct at_grpc_health *health, struct at_grpc_method *ret_methods)
{
    ret_methods[0] = (struct at_grpc_method){
        .path = "/grpc.health.v1.Health/Check", .on_request = on_check, .ctx = health};
    ret_methods[1] = (struct at_grpc_method){
        .path = "/grpc.health.v1.Health/Watch", .on_request = on_watch, .ctx = health};
}

static int status_of(const struct at_grpc_health *health)
{
    return health->serving(health->ctx)
               ? GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
               : GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING;
}

static void finish(struct at_grpc_call *call, enum at_code code, const char *message)
{
    at_grpc_call_finish(call, code, at_slice_cstr(message), (struct at_slice){0});
}

static void on_check(struct at_grpc_call *call, void *ctx)
{
    struct at_grpc_health *health = ctx;
    if (!known(health, call)) {
        finish(call, AT_NOT_FOUND, "unknown service");
        return;
    }
    enum at_code code = send_status(call, status_of(health));
    finish(call, code, NULL);
}

static void on_watch(struct at_grpc_call *call, void *ctx)
{
    struct at_grpc_health *health = ctx;
    if (!known(health, call)) {
        /* The protocol wants the call kept open with SERVICE_UNKNOWN; the names are fixed here, so
         * nothing would ever follow. */
        (void)send_status(call,
                          GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN);
        finish(call, AT_NOT_FOUND, "unknown service");
        return;
    }
    struct watch *w = AT_NEW(struct watch);
    w->call = call;
    w->health = health;
    w->last = health->serving(health->ctx);
    (void)send_status(call, status_of(health));
    (void)uv_timer_init(at_loop_uv(at_grpc_call_loop(call)), &w->timer);
    w->timer.data = w;
    (void)uv_timer_start(&w->timer, on_timer, AT_HEALTH_POLL_MS, AT_HEALTH_POLL_MS);
    at_grpc_call_on_cancel(call, on_watch_end, w);
}

static void on_watch_end(struct at_grpc_call *call, void *ctx)
{
    struct watch *w = ctx;
    finish(call, AT_CANCELLED, NULL);
    uv_close((uv_handle_t *)&w->timer, on_closed);
}

static void on_closed(uv_handle_t *handle)
{
    at_free(handle->data);
}

static void on_timer(uv_timer_t *timer)
{
    struct watch *w = timer->data;
    bool now = w->health->serving(w->health->ctx);
    if (now == w->last)
        return;
    w->last = now;
    (void)send_status(w->call, status_of(w->health));
}

static enum at_code send_status(struct at_grpc_call *call, int status)
{
    Grpc__Health__V1__HealthCheckResponse response = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    response.status = (Grpc__Health__V1__HealthCheckResponse__ServingStatus)status;
    enum at_code code = at_proto_pack(at_grpc_call_begin(call), &response.base);
    if (code == AT_OK)
        at_grpc_call_commit(call);
    else
        at_grpc_call_abandon(call);
    return code;
}

static bool known(const struct at_grpc_health *health, struct at_grpc_call *call)
{
    Grpc__Health__V1__HealthCheckRequest *request = at_proto_unpack(
        at_grpc_call_arena(call), &grpc__health__v1__health_check_request__descriptor,
        at_grpc_call_request(call));
    if (!request)
        return false;
    if (request->service[0] == '\0')
        return true;
    for (size_t i = 0; i < health->service_count; i++)
        if (strcmp(request->service, health->services[i]) == 0)
            return true;
    return false;
}
