#include "cluster/service/await.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "replication/peer/peering.h"

/* An await is on the heap, because replication may hold it longer than the call lives.
 *
 *   OUT   replication has it          --its thread--> BACK, and a task is posted to the loop
 *     \-- the call is cancelled, loop --> ALONE: whoever brings it back frees it
 *   BACK  only the loop has it: a task is on its way, or the pause before asking again runs
 *
 * `call` is NULL once `then` has run; then the loop frees the await at its next occasion. */

#define EARLY_NS (50 * AT_MS_NS) /* before the call's deadline */
#define PAUSE_MS 100             /* between two waits for a member that is out of touch */

enum await_phase { AWAIT_OUT, AWAIT_BACK, AWAIT_ALONE };

struct await {
    struct at_task task;
    uv_timer_t timer;
    bool pausing; /* the timer is initialised and not yet closed */
    _Atomic int phase;
    struct at_service_port port;
    struct at_loop *loop;
    struct at_grpc_call *call;
    bool surveys;
    struct at_await_spread spread;
    struct at_await_survey ask;
    struct at_spread_wait wait;
    struct at_survey survey;
};

static struct await *begin(struct at_service *service, struct at_grpc_call *call);
static void send_out(struct await *a);
static void on_spread(struct at_spread_wait *wait);
static void on_survey(struct at_survey *survey);
static void come_back(struct await *a);
static void on_back(struct at_task *task);
static void on_cancel(struct at_grpc_call *call, void *ctx);
static void take_pause(struct await *a);
static void on_pause_over(uv_timer_t *timer);
static void on_pause_closed(uv_handle_t *handle);
static void tell(struct await *a, bool reached);
static void let_go(struct await *a);

uint64_t at_await_deadline(const struct at_grpc_call *call, uint32_t ms_max)
{
    uint64_t now_ns = at_loop_now_ns(at_grpc_call_loop(call));
    uint64_t end_ns = at_grpc_call_deadline_ns(call);
    uint64_t own_ns = now_ns + ms_max * AT_MS_NS;

    end_ns = end_ns > now_ns + EARLY_NS ? end_ns - EARLY_NS : now_ns;
    return end_ns < own_ns ? end_ns : own_ns;
}

void at_await_spread(struct at_service *service,
                     struct at_grpc_call *call,
                     const struct at_await_spread *ask)
{
    if (ask->seq == 0 || at_grpc_call_cancelled(call)) {
        ask->then(call, ask->ctx, ask->seq == 0);
        return;
    }
    struct await *a = begin(service, call);
    a->spread = *ask;
    send_out(a);
}

void at_await_survey(struct at_service *service,
                     struct at_grpc_call *call,
                     const struct at_await_survey *ask)
{
    if (at_grpc_call_cancelled(call)) {
        ask->then(call, ask->ctx, NULL);
        return;
    }
    struct await *a = begin(service, call);
    a->surveys = true;
    a->ask = *ask;
    send_out(a);
}

static struct await *begin(struct at_service *service, struct at_grpc_call *call)
{
    struct await *a = AT_NEW(struct await);

    a->task.run = on_back;
    a->port = service->port;
    a->loop = at_grpc_call_loop(call);
    a->call = call;
    at_grpc_call_on_cancel(call, on_cancel, a);
    return a;
}

static uint32_t left_ms(const struct await *a)
{
    uint64_t now_ns = at_loop_now_ns(a->loop);

    if (a->spread.deadline_ns <= now_ns)
        return 0;
    return (uint32_t)((a->spread.deadline_ns - now_ns) / AT_MS_NS);
}

static void send_out(struct await *a)
{
    atomic_store(&a->phase, AWAIT_OUT);
    if (a->surveys) {
        a->survey =
            (struct at_survey){.timeout_ms = a->ask.timeout_ms, .done = on_survey, .ctx = a};
        a->port.survey(a->port.ctx, &a->survey);
        return;
    }
    a->wait = (struct at_spread_wait){
        .seq = a->spread.seq, .timeout_ms = left_ms(a), .done = on_spread, .ctx = a};
    a->port.wait_spread(a->port.ctx, &a->wait);
}

/* --- on the thread of replication --- */

static void on_spread(struct at_spread_wait *wait)
{
    come_back(wait->ctx);
}

static void on_survey(struct at_survey *survey)
{
    come_back(survey->ctx);
}

static void come_back(struct await *a)
{
    int out = AWAIT_OUT;

    if (atomic_compare_exchange_strong(&a->phase, &out, AWAIT_BACK))
        at_loop_post(a->loop, &a->task);
    else
        let_go(a);
}

/* --- on the loop --- */

static void on_back(struct at_task *task)
{
    struct await *a = (struct await *)task; /* its first member */

    AT_ASSERT(atomic_load(&a->phase) == AWAIT_BACK);
    if (!a->call) {
        let_go(a);
    } else if (!a->surveys && !a->wait.all && a->spread.insist && left_ms(a) > 0) {
        take_pause(a);
    } else {
        tell(a, a->surveys || a->wait.all);
        let_go(a);
    }
}

static void on_cancel(struct at_grpc_call *call, void *ctx)
{
    struct await *a = ctx;
    struct await told = {.call = call, .surveys = a->surveys, .spread = a->spread, .ask = a->ask};
    int out = AWAIT_OUT;

    AT_ASSERT(a->call == call);
    if (!atomic_compare_exchange_strong(&a->phase, &out, AWAIT_ALONE)) {
        a->call = NULL;
        if (a->pausing && !uv_is_closing((uv_handle_t *)&a->timer))
            uv_close((uv_handle_t *)&a->timer, on_pause_closed);
    }
    /* Out with replication, it may be gone from here on. */
    tell(&told, false);
}

static void tell(struct await *a, bool reached)
{
    struct at_grpc_call *call = AT_TAKE(a->call);

    if (a->surveys)
        a->ask.then(call, a->ask.ctx, reached ? &a->survey : NULL);
    else
        a->spread.then(call, a->spread.ctx, reached);
}

static void take_pause(struct await *a)
{
    int rc = uv_timer_init(at_loop_uv(a->loop), &a->timer);

    AT_ASSERT(rc == 0);
    a->pausing = true;
    a->timer.data = a;
    uint32_t left = left_ms(a);
    (void)uv_timer_start(&a->timer, on_pause_over, left < PAUSE_MS ? left : PAUSE_MS, 0);
}

static void on_pause_over(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, on_pause_closed);
}

static void on_pause_closed(uv_handle_t *handle)
{
    struct await *a = handle->data;

    a->pausing = false;
    if (a->call)
        send_out(a);
    else
        let_go(a);
}

static void let_go(struct await *a)
{
    if (a->surveys)
        at_survey_free(&a->survey);
    at_free(a);
}
