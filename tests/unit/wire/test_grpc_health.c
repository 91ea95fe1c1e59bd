/* The health service over loopback. */
#include "wire/grpc_health.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/alloc.h"
#include "grpc/health/v1/health.pb-c.h"
#include "support/test.h"
#include "wire/grpc_client.h"

#define SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
#define NOT_SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
#define UNKNOWN_SERVICE GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN
#define STATUSES_MAX 8

static const struct at_slice EMPTY = {NULL, 0};
static const struct at_slice NAMED = {(const uint8_t *)"\x0a\x03"
                                                       "a.B",
                                      5};
static const struct at_slice STRANGE = {(const uint8_t *)"\x0a\x01z", 3};

struct room {
    struct at_loop *loop;
    struct at_grpc_server *server;
    struct at_loop *client;
    struct at_grpc_channel *channel;
    struct at_grpc_health health;
    struct at_grpc_method methods[AT_GRPC_HEALTH_METHODS];
    atomic_bool serving;
    bool done;
    enum at_code code;
    int statuses[STATUSES_MAX];
    unsigned status_count;
};

static bool serving(void *ctx)
{
    return atomic_load(&((struct room *)ctx)->serving);
}

static int setup(void **state)
{
    static const char *const NAMES[] = {"a.B", "c.D"};
    struct room *r = AT_NEW(struct room);
    struct at_error error;

    atomic_store(&r->serving, true);
    r->health = (struct at_grpc_health){
        .serving = serving, .ctx = r, .services = NAMES, .service_count = 2};
    at_grpc_health_methods(&r->health, r->methods);
    r->loop = at_loop_new(at_clock_system());
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .loops = &r->loop,
                                           .loop_count = 1,
                                           .methods = r->methods,
                                           .method_count = AT_GRPC_HEALTH_METHODS};
    assert_int_equal(at_grpc_server_open(&config, &r->server, &error), AT_OK);
    assert_int_equal(at_loop_start(r->loop, "server", &error), AT_OK);
    r->client = at_loop_new(at_clock_system());
    struct at_grpc_channel_config channel = {.host = "127.0.0.1",
                                             .port = at_grpc_server_port(r->server),
                                             .connection_count = 1,
                                             .connect_timeout_ms = 20000};
    assert_int_equal(at_grpc_channel_open(r->client, &channel, &r->channel, &error), AT_OK);
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
    at_grpc_server_close(&r->server); /* ends the watches that are open */
    at_loop_free(&r->loop);
    at_free(r);
    return 0;
}

static void on_message(void *ctx, struct at_slice message)
{
    struct room *r = ctx;
    Grpc__Health__V1__HealthCheckResponse *response =
        grpc__health__v1__health_check_response__unpack(NULL, message.len, message.data);

    assert_non_null(response);
    assert_true(r->status_count < STATUSES_MAX);
    r->statuses[r->status_count++] = (int)response->status;
    grpc__health__v1__health_check_response__free_unpacked(response, NULL);
    at_loop_stop(r->client);
}

static void on_done(void *ctx, const struct at_grpc_result *result)
{
    struct room *r = ctx;

    r->done = true;
    r->code = result->code;
    at_loop_stop(r->client);
}

static struct at_grpc_client_call *start(struct room *r, const char *path, struct at_slice request)
{
    static const struct at_grpc_client_handler HANDLER = {.on_message = on_message,
                                                          .on_done = on_done};
    struct at_grpc_client_request q = {
        .path = path, .message = request, .deadline_ns = UINT64_MAX, .handler = &HANDLER, .ctx = r};

    r->done = false;
    r->status_count = 0;
    return at_grpc_client_start(r->channel, &q);
}

static void check(struct room *r, struct at_slice request)
{
    (void)start(r, "/grpc.health.v1.Health/Check", request);
    while (!r->done)
        at_loop_run(r->client);
}

static void await_statuses(struct room *r, unsigned count)
{
    while (r->status_count < count && !r->done)
        at_loop_run(r->client);
}

static void check_tells_whether_the_process_serves(void **state)
{
    struct room *r = *state;

    check(r, EMPTY);
    assert_int_equal(r->code, AT_OK);
    assert_int_equal(r->statuses[0], SERVING);
    check(r, NAMED);
    assert_int_equal(r->code, AT_OK);
    assert_int_equal(r->statuses[0], SERVING);
    atomic_store(&r->serving, false);
    check(r, NAMED);
    assert_int_equal(r->code, AT_OK);
    assert_int_equal(r->statuses[0], NOT_SERVING);
}

static void a_service_that_is_not_here_is_not_found(void **state)
{
    struct room *r = *state;

    check(r, STRANGE);
    assert_int_equal(r->code, AT_NOT_FOUND);
    assert_int_equal(r->status_count, 0);
    check(r, AT_LIT("\xff\xff"));
    assert_int_equal(r->code, AT_NOT_FOUND);
    (void)start(r, "/grpc.health.v1.Health/Watch", STRANGE);
    while (!r->done)
        at_loop_run(r->client);
    assert_int_equal(r->code, AT_NOT_FOUND);
    assert_int_equal(r->status_count, 1);
    assert_int_equal(r->statuses[0], UNKNOWN_SERVICE);
}

static void a_watch_tells_every_change(void **state)
{
    struct room *r = *state;
    struct at_grpc_client_call *call = start(r, "/grpc.health.v1.Health/Watch", NAMED);

    await_statuses(r, 1);
    atomic_store(&r->serving, false);
    await_statuses(r, 2);
    atomic_store(&r->serving, true);
    await_statuses(r, 3);
    assert_false(r->done);
    assert_int_equal(r->statuses[0], SERVING);
    assert_int_equal(r->statuses[1], NOT_SERVING);
    assert_int_equal(r->statuses[2], SERVING);
    at_grpc_client_cancel(call);
    check(r, EMPTY); /* the server goes on */
    assert_int_equal(r->code, AT_OK);
}

static void a_watch_that_is_open_at_the_end_ends_with_the_server(void **state)
{
    struct room *r = *state;

    (void)start(r, "/grpc.health.v1.Health/Watch", EMPTY);
    await_statuses(r, 1);
    assert_int_equal(r->statuses[0], SERVING);
    assert_false(r->done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(check_tells_whether_the_process_serves, setup, teardown),
        cmocka_unit_test_setup_teardown(a_service_that_is_not_here_is_not_found, setup, teardown),
        cmocka_unit_test_setup_teardown(a_watch_tells_every_change, setup, teardown),
        cmocka_unit_test_setup_teardown(a_watch_that_is_open_at_the_end_ends_with_the_server, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
