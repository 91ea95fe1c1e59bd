#include "cluster/admin/admin.h"
#include "cluster/admin/operation.h"

/* WaitOperation, DeleteOperation.
 *
 * A wait looks again every POLL_MS: operations are few, and what ends them comes in by replication
 * as often as not. */

#define POLL_MS 50
#define WAIT_MS_MAX 60000 /* of one call; also when it says nothing */

struct wait {
    struct at_service *service;
    struct at_grpc_call *call;
    const char *name;
    uint64_t deadline_ns; /* monotonic */
    uv_timer_t timer;
    struct at_arena arena; /* of the last look: there are many */
    Google__Longrunning__Operation *operation;
};

struct delete_operation {
    struct at_change change; /* first */
    struct at_slice name;
};

/* The call, in whose arena the timer is, ends when the loop has let go of it. */
static void on_closed(uv_handle_t *handle)
{
    struct wait *w = handle->data; /* it ends with the call */

    if (w->operation)
        at_service_reply(w->service, w->call, &w->operation->base);
    else
        at_operation_fail_unknown(w->service, w->call, w->name);
    at_arena_deinit(&w->arena);
}

static void on_cancel(struct at_grpc_call *call, void *ctx)
{
    struct wait *w = ctx;

    (void)call;
    if (!uv_is_closing((uv_handle_t *)&w->timer))
        uv_close((uv_handle_t *)&w->timer, on_closed);
}

static void look(uv_timer_t *timer)
{
    struct wait *w = timer->data;

    at_arena_reset(&w->arena);
    w->operation = at_operation_find(w->service, &w->arena, w->name);
    bool over = at_loop_now_ns(at_grpc_call_loop(w->call)) >= w->deadline_ns;
    if (w->operation && !w->operation->done && !over)
        return;
    if (!uv_is_closing((uv_handle_t *)timer))
        uv_close((uv_handle_t *)timer, on_closed);
}

static uint64_t wait_ns(const Google__Protobuf__Duration *timeout)
{
    const uint64_t most_ns = WAIT_MS_MAX * AT_MS_NS;

    if (!timeout)
        return most_ns;
    if (timeout->seconds < 0 || timeout->nanos < 0)
        return 0;
    if ((uint64_t)timeout->seconds >= most_ns / AT_S_NS)
        return most_ns;
    return (uint64_t)timeout->seconds * AT_S_NS + (uint64_t)timeout->nanos;
}

void at_on_wait_operation(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    const Google__Longrunning__WaitOperationRequest *in =
        at_service_unpack(service, call, &google__longrunning__wait_operation_request__descriptor);

    if (!in)
        return;
    struct wait *w = AT_ARENA_NEW(at_grpc_call_arena(call), struct wait);
    *w = (struct wait){.service = service, .call = call, .name = in->name};
    w->operation = at_operation_find(service, at_grpc_call_arena(call), in->name);
    if (!w->operation) {
        at_operation_fail_unknown(service, call, in->name);
    } else if (w->operation->done || wait_ns(in->timeout) == 0) {
        at_service_reply(service, call, &w->operation->base);
    } else {
        w->deadline_ns = at_loop_now_ns(at_grpc_call_loop(call)) + wait_ns(in->timeout);
        (void)uv_timer_init(at_loop_uv(at_grpc_call_loop(call)), &w->timer);
        w->timer.data = w;
        at_arena_init(&w->arena, 4096);
        (void)uv_timer_start(&w->timer, look, POLL_MS, POLL_MS);
        at_grpc_call_on_cancel(call, on_cancel, w);
    }
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    const struct delete_operation *d = (struct delete_operation *)at_change_of(write);
    const struct at_named_record *record = at_catalog_named(catalog, AT_CATALOG_OPERATION, d->name);

    if (!record)
        return at_fail(reterr, AT_NOT_FOUND, "Operation not found: %.*s", AT_SLICE_ARG(d->name));
    const Google__Longrunning__Operation *operation =
        at_proto_unpack(write->arena, &google__longrunning__operation__descriptor, record->fields);
    if (operation && !operation->done)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "Operation is not done yet: %.*s",
                       AT_SLICE_ARG(d->name));
    *at_change_record(write, 1) = (struct at_catalog_record){
        .kind = AT_CATALOG_OPERATION, .name = d->name, .counter = record->generation + 1};
    return AT_OK;
}

static void on_deleted(struct at_change *change)
{
    at_admin_reply_empty(change->service, change->call);
}

void at_on_delete_operation(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    const Google__Longrunning__DeleteOperationRequest *in = at_service_unpack(
        service, call, &google__longrunning__delete_operation_request__descriptor);

    if (!in)
        return;
    struct delete_operation *d = AT_ARENA_NEW(at_grpc_call_arena(call), struct delete_operation);
    d->name = at_slice_cstr(in->name);
    d->change = (struct at_change){
        .service = service, .call = call, .write.decide = decide, .reply = on_deleted};
    at_change_submit(&d->change);
}
