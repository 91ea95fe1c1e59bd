#include "cluster/control/collect.h"

#include "atoll/v1/control.pb-c.h"

/* The collector works on a thread of its own and answers from there, so the answer is carried back
 * to the call's loop. A call that was cancelled is still answered: its run goes on. */

struct collect_call {
    struct at_task task;
    struct at_service *service;
    struct at_grpc_call *call;
    struct at_collect collect;
};

static void on_done(struct at_collect *collect);
static void answer(struct at_task *task);

void at_on_collect(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error = {0};
    Atoll__V1__CollectRequest *request =
        at_service_unpack(service, call, &atoll__v1__collect_request__descriptor);
    if (!request)
        return;

    struct collect_call *c = AT_ARENA_NEW(at_grpc_call_arena(call), struct collect_call);
    enum at_code code = AT_OK;
    if (request->table_name[0] != '\0')
        code = at_service_table_id(service, at_slice_cstr(request->table_name), &c->collect.table,
                                   &error);
    c->service = service;
    c->call = call;
    c->task.run = answer;
    c->collect.done = on_done;
    c->collect.ctx = c;
    if (code == AT_OK) {
        code = at_store_collect(service->store, &c->collect);
        if (code == AT_OK)
            return;
        (void)at_fail(&error, code, "the collector takes no more requests now");
    }
    at_service_fail(service, call, &error);
}

static void on_done(struct at_collect *collect)
{
    struct collect_call *c = collect->ctx;

    at_loop_post(at_grpc_call_loop(c->call), &c->task);
}

static void answer(struct at_task *task)
{
    struct collect_call *c = (struct collect_call *)task; /* task is its first member */

    if (c->collect.code != AT_OK) {
        at_service_fail(c->service, c->call, &c->collect.error);
        return;
    }
    Atoll__V1__CollectResponse response = ATOLL__V1__COLLECT_RESPONSE__INIT;
    response.collected = c->collect.collected_count;
    response.compacted = c->collect.sieved_count;
    at_service_reply(c->service, c->call, &response.base);
}
