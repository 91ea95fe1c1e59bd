/* Connections of a client to a server over loopback: lost, refused, drained, full. */
#include "support/grpc_outcome.h"

static void a_lost_connection_is_unavailable_and_maybe_processed(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    begin_hanging(&o, &f);
    fixture_stop_server(&f);
    wait_done(&o);
    assert_int_equal(o.result.code, AT_UNAVAILABLE);
    assert_false(o.result.from_peer);
    assert_false(o.result.unprocessed);
    assert_int_equal(atomic_load(&f.cancelled_count), 1);
    end(&o);
    fixture_down(&f);
}

static void a_refused_connection_fails_calls_at_once_and_unprocessed(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    fixture_up(&f, 2);
    begin(&o, &f);
    call(&o, "/t.T/Echo", AT_LIT("x"), 0);
    end(&o);
    fixture_stop_server(&f);
    for (int i = 0; i < 3; i++) {
        begin(&o, &f);
        call(&o, "/t.T/Echo", AT_LIT("x"), PATIENCE_NS);
        assert_int_equal(o.result.code, AT_UNAVAILABLE);
        assert_true(o.result.unprocessed || i == 0);
        assert_false(o.result.from_peer);
        end(&o);
    }
    assert_false(at_grpc_channel_connected(f.channel));
    fixture_down(&f);
}

static void closing_the_channel_ends_open_calls_with_cancelled(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o[3];
    fixture_up(&f, 2);
    for (int i = 0; i < 3; i++) {
        begin(&o[i], &f);
        start(&o[i], "/t.T/Hang", AT_LIT("x"), 0);
    }
    wait_count(&f, &f.hanging_count, 2 + 1);
    at_grpc_channel_close(&f.channel);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(o[i].done_count, 1);
        assert_int_equal(o[i].result.code, AT_CANCELLED);
        end(&o[i]);
    }
    wait_count(&f, &f.cancelled_count, 3);
    fixture_down(&f);
}

/* --- drain --- */

static void count_drained(void *ctx)
{
    struct grpc_fixture *f = ctx;
    atomic_fetch_add(&f->drained_count, 1);
}

static void a_drain_lets_open_calls_finish_and_refuses_new_ones(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    struct outcome late;
    fixture_up(&f, 1);
    begin(&o, &f);
    start(&o, "/t.T/Stream", AT_LIT("30000 1000"), 0);
    while (o.message_count == 0)
        run_for(&f, 1);
    at_grpc_server_drain(f.server, 60000, count_drained, &f);
    wait_done(&o);
    assert_int_equal(o.result.code, AT_OK);
    assert_int_equal(o.message_count, 30000);
    wait_count(&f, &f.drained_count, 1);
    begin(&late, &f);
    call(&late, "/t.T/Echo", AT_LIT("x"), PATIENCE_NS);
    assert_int_equal(late.result.code, AT_UNAVAILABLE);
    assert_true(late.result.unprocessed);
    end(&late);
    end(&o);
    fixture_down(&f);
}

static void a_drain_resets_what_is_open_after_the_grace(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    begin_hanging(&o, &f);
    at_grpc_server_drain(f.server, 50, count_drained, &f);
    wait_done(&o);
    assert_int_not_equal(o.result.code, AT_OK);
    wait_count(&f, &f.drained_count, 1);
    assert_int_equal(atomic_load(&f.cancelled_count), 1);
    end(&o);
    fixture_down(&f);
}

/* --- many at once --- */

static void more_calls_than_streams_are_queued(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    struct grpc_fixture f;
    fixture_up(&f, 1);
    struct outcome *o = at_alloc(COUNT * sizeof(*o));
    for (int i = 0; i < COUNT; i++) {
        begin(&o[i], &f);
        start(&o[i], "/t.T/Later", AT_LIT("x"), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        wait_done(&o[i]);
        assert_int_equal(o[i].result.code, AT_OK);
        end(&o[i]);
    }
    at_free(o);
    fixture_down(&f);
}

/* --- blocking --- */

static bool count_some(void *ctx, struct at_slice message)
{
    uint32_t *count = ctx;
    (void)message;
    return ++*count < 5;
}

static void blocking_calls_return_code_and_message(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct at_error error;
    struct at_buf body;
    uint32_t count = 0;
    fixture_up(&f, 1);
    at_buf_init(&body, 1000);
    struct at_grpc_client_request request = {
        .path = "/t.T/Echo", .message = AT_LIT("abc"), .deadline_ns = UINT64_MAX};
    assert_int_equal(at_grpc_unary(f.channel, &request, &body, &error), AT_OK);
    assert_true(at_slice_eq(at_buf_slice(&body), AT_LIT("abc")));
    request.path = "/t.T/Fail";
    assert_int_equal(at_grpc_unary(f.channel, &request, &body, &error), AT_ABORTED);
    assert_string_equal(error.msg, "abc");
    request.path = "/t.T/Stream";
    request.message = AT_LIT("100000 1000");
    assert_int_equal(at_grpc_stream(f.channel, &request, count_some, &count, &error), AT_OK);
    assert_int_equal(count, 5);
    at_buf_deinit(&body);
    fixture_down(&f);
}

static void a_missing_server_is_unavailable_within_the_timeout(void **state)
{
    (void)state;
    struct at_error error;
    struct at_buf body;
    struct at_loop *loop = at_loop_new(at_clock_system());
    struct at_grpc_channel *channel;
    struct at_grpc_channel_config config = {
        .host = "localhost", .port = 1, .connection_count = 1, .connect_timeout_ms = 2000};
    assert_int_equal(at_grpc_channel_open(loop, &config, &channel, &error), AT_OK);
    at_buf_init(&body, 1000);
    struct at_grpc_client_request request = {.path = "/x/Y", .deadline_ns = UINT64_MAX};
    assert_int_equal(at_grpc_unary(channel, &request, &body, &error), AT_UNAVAILABLE);
    at_buf_deinit(&body);
    at_grpc_channel_close(&channel);
    at_loop_free(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_connection_is_unavailable_and_maybe_processed),
        cmocka_unit_test(a_refused_connection_fails_calls_at_once_and_unprocessed),
        cmocka_unit_test(closing_the_channel_ends_open_calls_with_cancelled),
        cmocka_unit_test(a_drain_lets_open_calls_finish_and_refuses_new_ones),
        cmocka_unit_test(a_drain_resets_what_is_open_after_the_grace),
        cmocka_unit_test(more_calls_than_streams_are_queued),
        cmocka_unit_test(blocking_calls_return_code_and_message),
        cmocka_unit_test(a_missing_server_is_unavailable_within_the_timeout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
