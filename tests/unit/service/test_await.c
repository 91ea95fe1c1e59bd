#include "cluster/service/await.h"

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/prng.h"
#include "replication/peer/peering.h"
#include "support/test.h"
#include "wire/grpc_client.h"

/* Waits that end on a thread of their own, while the calls they are for go on or are cancelled. */

#define CALLS 400

struct room {
    struct at_service service;
    struct at_loop *loop;
    struct at_grpc_server *server;
    struct at_loop *client;
    struct at_grpc_channel *channel;
    pthread_t thread;
    pthread_mutex_t lock;
    struct at_mail *held;
    atomic_bool stop;
    atomic_uint told_count;
    atomic_uint all_count;
    atomic_uint asked_count;
    unsigned done_count;
    unsigned ok_count;
};

static void hold(struct room *r, struct at_mail *mail)
{
    atomic_fetch_add(&r->asked_count, 1);
    pthread_mutex_lock(&r->lock);
    mail->next = r->held;
    r->held = mail;
    pthread_mutex_unlock(&r->lock);
}

static void on_wait(void *ctx, struct at_spread_wait *wait)
{
    hold(ctx, &wait->mail);
}

/* The thread of replication: ends what it is given, soon. */
static void *replication(void *arg)
{
    struct room *r = arg;
    struct at_prng prng;

    at_prng_init(&prng, 7);
    while (!atomic_load(&r->stop)) {
        pthread_mutex_lock(&r->lock);
        struct at_mail *list = r->held;
        r->held = NULL;
        pthread_mutex_unlock(&r->lock);
        while (list) {
            struct at_spread_wait *wait = (struct at_spread_wait *)list; /* mail is its first */
            list = list->next;
            wait->all = at_prng_below(&prng, 3) != 0;
            wait->done(wait);
            if (at_prng_below(&prng, 4) == 0)
                sched_yield();
        }
        usleep((useconds_t)at_prng_below(&prng, 300));
    }
    return NULL;
}

static void then(struct at_grpc_call *call, void *ctx, bool all)
{
    struct room *r = ctx;

    atomic_fetch_add(&r->told_count, 1);
    atomic_fetch_add(&r->all_count, all);
    at_grpc_call_finish(call, AT_OK, at_slice_make(NULL, 0), at_slice_make(NULL, 0));
}

/* The request's first byte: 'i' insists, 'n' has nothing to wait for. */
static void on_request(struct at_grpc_call *call, void *ctx)
{
    struct room *r = ctx;
    struct at_slice request = at_grpc_call_request(call);
    bool insist = request.len > 0 && request.data[0] == 'i';
    bool nothing = request.len > 0 && request.data[0] == 'n';

    at_await_spread(&r->service, call,
                    &(struct at_await_spread){.seq = nothing ? 0 : 1,
                                              .deadline_ns = at_await_deadline(call, 5000),
                                              .insist = insist,
                                              .then = then,
                                              .ctx = r});
}

static int setup(void **state)
{
    static struct at_grpc_method method = {.path = "/t.T/Wait", .on_request = on_request};
    struct room *r = AT_NEW(struct room);
    struct at_error error;

    method.ctx = r;
    r->service.port = (struct at_service_port){.ctx = r, .wait_spread = on_wait};
    AT_ASSERT(pthread_mutex_init(&r->lock, NULL) == 0);
    r->loop = at_loop_new(at_clock_system());
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .loops = &r->loop,
                                           .loop_count = 1,
                                           .methods = &method,
                                           .method_count = 1};
    assert_int_equal(at_grpc_server_open(&config, &r->server, &error), AT_OK);
    assert_int_equal(at_loop_start(r->loop, "server", &error), AT_OK);
    r->client = at_loop_new(at_clock_system());
    struct at_grpc_channel_config channel = {.host = "127.0.0.1",
                                             .port = at_grpc_server_port(r->server),
                                             .connection_count = 1,
                                             .connect_timeout_ms = 20000};
    assert_int_equal(at_grpc_channel_open(r->client, &channel, &r->channel, &error), AT_OK);
    assert_int_equal(pthread_create(&r->thread, NULL, replication, r), 0);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    struct room *r = *state;

    at_grpc_channel_close(&r->channel);
    at_loop_free(&r->client);
    at_loop_stop(r->loop);
    at_loop_join(r->loop);
    at_grpc_server_close(&r->server);
    /* What is still held was let go of by its calls: it frees itself. */
    bool held = true;
    while (held) {
        usleep(100);
        pthread_mutex_lock(&r->lock);
        held = r->held != NULL;
        pthread_mutex_unlock(&r->lock);
    }
    atomic_store(&r->stop, true);
    pthread_join(r->thread, NULL);
    at_loop_free(&r->loop);
    pthread_mutex_destroy(&r->lock);
    at_free(r);
    return 0;
}

static void on_message(void *ctx, struct at_slice message)
{
    (void)ctx;
    assert_int_equal(message.len, 0); /* there is none */
}

static void on_done(void *ctx, const struct at_grpc_result *result)
{
    struct room *r = ctx;

    r->done_count++;
    r->ok_count += result->code == AT_OK;
    at_loop_stop(r->client);
}

static struct at_grpc_client_call *
start(struct room *r, struct at_slice request, uint64_t timeout_ns)
{
    static const struct at_grpc_client_handler HANDLER = {.on_message = on_message,
                                                          .on_done = on_done};
    struct at_clock clock = at_clock_system();
    struct at_grpc_client_request q = {
        .path = "/t.T/Wait",
        .message = request,
        .deadline_ns = timeout_ns ? at_clock_mono_ns(&clock) + timeout_ns : UINT64_MAX,
        .handler = &HANDLER,
        .ctx = r};

    return at_grpc_client_start(r->channel, &q);
}

static void finish(struct room *r, unsigned count)
{
    while (r->done_count < count)
        at_loop_run(r->client);
}

static void nothing_to_wait_for_is_told_at_once(void **state)
{
    struct room *r = *state;

    (void)start(r, AT_LIT("n"), 0);
    finish(r, 1);
    assert_int_equal(r->asked_count, 0);
    assert_int_equal(r->all_count, 1);
}

static void who_insists_waits_until_all_have_it(void **state)
{
    struct room *r = *state;

    for (int i = 0; i < 8; i++)
        (void)start(r, AT_LIT("i"), 0);
    finish(r, 8);
    assert_int_equal(r->told_count, 8);
    assert_int_equal(r->all_count, 8);
}

static void who_does_not_insist_is_told_what_came(void **state)
{
    struct room *r = *state;

    for (int i = 0; i < 60; i++)
        (void)start(r, AT_LIT("x"), 0);
    finish(r, 60);
    assert_int_equal(r->told_count, 60);
    assert_int_equal(r->asked_count, 60);
    assert_in_range(r->all_count, 1, 59);
}

static void a_call_that_is_cancelled_meanwhile_is_told_once(void **state)
{
    struct room *r = *state;
    struct at_prng prng;
    unsigned cancelled = 0;

    at_prng_init(&prng, 11);
    for (unsigned i = 0; i < CALLS; i++) {
        struct at_slice request = i % 2 ? AT_LIT("i") : AT_LIT("x");
        bool cancel = at_prng_below(&prng, 2) == 0;
        uint64_t timeout_ns = !cancel && i % 5 == 0 ? 1 + at_prng_below(&prng, 3000000) : 0;
        unsigned done = r->done_count;
        struct at_grpc_client_call *call = start(r, request, timeout_ns);
        for (uint64_t turns = at_prng_below(&prng, 30); turns > 0; turns--)
            (void)uv_run(at_loop_uv(r->client), UV_RUN_NOWAIT);
        if (cancel && r->done_count == done && i == cancelled + done) {
            at_grpc_client_cancel(call);
            cancelled++;
        } else {
            finish(r, i + 1 - cancelled);
        }
    }
    assert_true(cancelled > 0);
    assert_int_equal(r->done_count + cancelled, CALLS);
    /* The server has told each call that reached it once, cancelled or not. */
    (void)start(r, AT_LIT("n"), 0);
    finish(r, CALLS - cancelled + 1);
    assert_in_range(r->told_count, r->ok_count, CALLS + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_to_wait_for_is_told_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(who_insists_waits_until_all_have_it, setup, teardown),
        cmocka_unit_test_setup_teardown(who_does_not_insist_is_told_what_came, setup, teardown),
        cmocka_unit_test_setup_teardown(a_call_that_is_cancelled_meanwhile_is_told_once, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
