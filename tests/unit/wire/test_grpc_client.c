/* Client against server over loopback, each on its own threads. */
#include "support/grpc_fixture.h"

#include <unistd.h>

/* What one call gave. */
struct outcome {
    struct grpc_fixture *f;
    struct at_grpc_client_call *call;
    struct at_buf body;
    uint32_t message_count;
    uint64_t byte_count;
    uint32_t header_count;
    char header_text[64];
    uint8_t header_bin[16];
    size_t header_bin_len;
    struct at_grpc_result result;
    char message[20000];
    uint8_t details[16];
    uint8_t trailer_bin[16];
    size_t trailer_bin_len;
    uint32_t done_count;
    uint32_t cancel_after; /* messages; 0: never */
    size_t framed_held;
};

static const uint8_t RAW[] = {0, 1, 2, 254, 255};

static void on_headers(void *ctx, const struct at_grpc_metadata *metadata, size_t count)
{
    struct outcome *o = ctx;
    o->header_count++;
    for (size_t i = 0; i < count; i++) {
        if (at_slice_eq_cstr(metadata[i].name, "x-text"))
            memcpy(o->header_text, metadata[i].value.data, metadata[i].value.len);
        if (at_slice_eq_cstr(metadata[i].name, "x-raw-bin")) {
            o->header_bin_len = metadata[i].value.len;
            memcpy(o->header_bin, metadata[i].value.data, metadata[i].value.len);
        }
    }
}

static void on_message(void *ctx, struct at_slice message)
{
    struct outcome *o = ctx;
    o->message_count++;
    o->byte_count += message.len;
    if (o->message_count == 1)
        assert_int_equal(at_buf_append(&o->body, message), AT_OK);
    if (o->message_count == o->cancel_after) {
        at_grpc_client_cancel(o->call);
        at_loop_stop(o->f->loop);
    }
}

static void on_done(void *ctx, const struct at_grpc_result *result)
{
    struct outcome *o = ctx;
    o->result = *result;
    memcpy(o->message, result->message.data ? result->message.data : RAW, result->message.len);
    if (result->details.len > 0 && result->details.len <= sizeof(o->details))
        memcpy(o->details, result->details.data, result->details.len);
    for (size_t i = 0; i < result->trailer_count; i++) {
        if (!at_slice_eq_cstr(result->trailers[i].name, "x-trail-bin"))
            continue;
        o->trailer_bin_len = result->trailers[i].value.len;
        memcpy(o->trailer_bin, result->trailers[i].value.data, o->trailer_bin_len);
    }
    o->done_count++;
    at_loop_stop(o->f->loop);
}

static const struct at_grpc_client_handler HANDLER = {
    .on_headers = on_headers, .on_message = on_message, .on_done = on_done};

#define PATIENCE_NS (60 * AT_S_NS) /* for calls that are to end by themselves */

static void begin(struct outcome *o, struct grpc_fixture *f)
{
    memset(o, 0, sizeof(*o));
    o->f = f;
    at_buf_init(&o->body, AT_GRPC_MESSAGE_BYTES_MAX);
}

static void end(struct outcome *o)
{
    at_buf_deinit(&o->body);
}

static void start(struct outcome *o, const char *path, struct at_slice message, uint64_t timeout_ns)
{
    struct at_grpc_metadata metadata[] = {
        {AT_LIT("x-text"), AT_LIT("hello"), true},
        {AT_LIT("x-raw-bin"), at_slice_make(RAW, sizeof(RAW)), false},
    };
    struct at_grpc_client_request request = {
        .path = path,
        .message = message,
        .deadline_ns =
            timeout_ns ? at_clock_mono_ns(at_loop_clock(o->f->loop)) + timeout_ns : UINT64_MAX,
        .metadata = metadata,
        .metadata_count = 2,
        .handler = &HANDLER,
        .ctx = o,
    };
    o->call = at_grpc_client_start(o->f->channel, &request);
    assert_int_equal(o->done_count, 0);
}

static void wait_done(struct outcome *o)
{
    while (o->done_count == 0)
        at_loop_run(o->f->loop);
    assert_int_equal(o->done_count, 1);
}

static void call(struct outcome *o, const char *path, struct at_slice message, uint64_t timeout_ns)
{
    start(o, path, message, timeout_ns);
    wait_done(o);
}

/* Runs the test's loop for a while. */
struct pause {
    uv_timer_t timer;
    struct at_loop *loop;
};

static void on_pause_over(uv_timer_t *timer)
{
    struct pause *p = timer->data;
    at_loop_stop(p->loop);
}

static void run_for(struct grpc_fixture *f, uint64_t ms)
{
    struct pause *p = AT_NEW(struct pause);
    p->loop = f->loop;
    assert_int_equal(uv_timer_init(at_loop_uv(f->loop), &p->timer), 0);
    p->timer.data = p;
    assert_int_equal(uv_timer_start(&p->timer, on_pause_over, ms, 0), 0);
    at_loop_run(f->loop); /* a call that is done ends it early */
    uv_close((uv_handle_t *)&p->timer, NULL);
    at_loop_settle(f->loop);
    at_free(p);
}

static void wait_count(struct grpc_fixture *f, atomic_uint *count, uint32_t wanted)
{
    for (int i = 0; i < 6000 && atomic_load(count) < wanted; i++)
        run_for(f, 10);
    assert_int_equal(atomic_load(count), wanted);
}

static void a_unary_call_returns_message_and_metadata(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    fixture_up(&f, 1);
    begin(&o, &f);
    call(&o, "/t.T/Echo", AT_LIT("ping"), PATIENCE_NS);
    assert_int_equal(o.result.code, AT_OK);
    assert_true(o.result.from_peer);
    assert_true(o.result.got_data);
    assert_false(o.result.unprocessed);
    assert_int_equal(o.message_count, 1);
    assert_true(at_slice_eq(at_buf_slice(&o.body), AT_LIT("ping")));
    assert_int_equal(o.header_count, 1);
    assert_string_equal(o.header_text, "hello");
    assert_int_equal(o.header_bin_len, sizeof(RAW));
    assert_memory_equal(o.header_bin, RAW, sizeof(RAW));
    assert_int_equal(o.trailer_bin_len, sizeof(RAW));
    assert_memory_equal(o.trailer_bin, RAW, sizeof(RAW));
    assert_true(at_grpc_channel_connected(f.channel));
    end(&o);
    fixture_down(&f);
}

static void an_empty_message_is_a_message(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    fixture_up(&f, 1);
    begin(&o, &f);
    call(&o, "/t.T/Echo", FIXTURE_NONE, 0);
    assert_int_equal(o.result.code, AT_OK);
    assert_int_equal(o.message_count, 1);
    assert_int_equal(o.byte_count, 0);
    end(&o);
    fixture_down(&f);
}

static void a_call_may_be_answered_later_from_another_thread(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    fixture_up(&f, 2);
    for (int i = 0; i < 20; i++) {
        begin(&o, &f);
        call(&o, "/t.T/Later", AT_LIT("later"), 0);
        assert_int_equal(o.result.code, AT_OK);
        assert_true(at_slice_eq(at_buf_slice(&o.body), AT_LIT("later")));
        end(&o);
    }
    fixture_down(&f);
}

static void a_status_carries_message_details_and_trailers(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    fixture_up(&f, 1);
    begin(&o, &f);
    call(&o, "/t.T/Fail", AT_LIT("100% \xc3\xbcml\n"), 0);
    assert_int_equal(o.result.code, AT_ABORTED);
    assert_true(o.result.from_peer);
    assert_false(o.result.got_data);
    assert_int_equal(o.header_count, 0);
    assert_string_equal(o.message, "100% \xc3\xbcml\n");
    assert_int_equal(o.result.details.len, 4);
    assert_int_equal(o.details[3], 255);
    assert_int_equal(o.result.trailer_count, 1);
    end(&o);
    fixture_down(&f);
}

static void a_long_status_message_is_cut(void **state)
{
    (void)state;
    static uint8_t text[20000];
    struct grpc_fixture f;
    struct outcome o;
    memset(text, 'a', sizeof(text));
    fixture_up(&f, 1);
    begin(&o, &f);
    call(&o, "/t.T/Fail", at_slice_make(text, sizeof(text)), 0);
    assert_int_equal(o.result.code, AT_ABORTED);
    assert_int_equal(o.result.message.len, 8192);
    end(&o);
    fixture_down(&f);
}

static void an_unknown_path_is_unimplemented_and_named(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    fixture_up(&f, 1);
    begin(&o, &f);
    call(&o, "/no.Such/Method", AT_LIT("x"), 0);
    assert_int_equal(o.result.code, AT_UNIMPLEMENTED);
    assert_non_null(strstr(o.message, "/no.Such/Method"));
    end(&o);
    fixture_down(&f);
}

static void big_messages_pass_both_ways(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    size_t size = 20 * AT_MIB + 3;
    uint8_t *data = at_alloc(size);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    fixture_up(&f, 1);
    begin(&o, &f);
    call(&o, "/t.T/Echo", at_slice_make(data, size), 0);
    assert_int_equal(o.result.code, AT_OK);
    assert_int_equal(o.body.len, size);
    assert_memory_equal(o.body.data, data, size);
    end(&o);
    fixture_down(&f);
    at_free(data);
}

static void an_oversize_request_is_refused_here(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    size_t size = AT_GRPC_MESSAGE_BYTES_MAX + 1;
    uint8_t *data = at_alloc(size);
    fixture_up(&f, 1);
    begin(&o, &f);
    call(&o, "/t.T/Echo", at_slice_make(data, size), 0);
    assert_int_equal(o.result.code, AT_RESOURCE_EXHAUSTED);
    assert_true(o.result.unprocessed);
    end(&o);
    fixture_down(&f);
    at_free(data);
}

static void a_stream_of_100_megabytes_keeps_little_pending(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    fixture_up(&f, 1);
    begin(&o, &f);
    call(&o, "/t.T/Stream", AT_LIT("100000 1000"), 0);
    assert_int_equal(o.result.code, AT_OK);
    assert_int_equal(o.message_count, 100000);
    assert_int_equal(o.byte_count, 100000000);
    assert_true(atomic_load(&f.pending_max) <= 2 * FIXTURE_LOW_BYTES + 2000);
    end(&o);
    fixture_down(&f);
}

/* --- framed, as a proxy reads --- */

static void on_framed_hold(void *ctx, struct at_slice bytes)
{
    struct outcome *o = ctx;
    o->byte_count += bytes.len;
    o->framed_held += bytes.len;
}

static const struct at_grpc_client_handler FRAMED = {.on_framed = on_framed_hold,
                                                     .on_done = on_done};

static void framed_bytes_stop_until_they_are_consumed(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    fixture_up(&f, 1);
    begin(&o, &f);
    struct at_grpc_client_request request = {.path = "/t.T/Stream",
                                             .message = AT_LIT("10000 1000"),
                                             .deadline_ns = UINT64_MAX,
                                             .handler = &FRAMED,
                                             .ctx = &o};
    o.call = at_grpc_client_start(f.channel, &request);
    for (int i = 0; i < 6000 && o.byte_count < AT_MIB; i++)
        run_for(&f, 10);
    run_for(&f, 100);
    assert_int_equal(o.byte_count, AT_MIB);
    while (o.done_count == 0) {
        at_grpc_client_consume(o.call, o.framed_held);
        o.framed_held = 0;
        run_for(&f, 2);
    }
    assert_int_equal(o.result.code, AT_OK);
    assert_int_equal(o.byte_count, 10000 * 1005);
    end(&o);
    fixture_down(&f);
}

/* --- ends before the end --- */

static void cancelling_reaches_the_handler(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    fixture_up(&f, 1);
    begin(&o, &f);
    start(&o, "/t.T/Hang", AT_LIT("x"), 0);
    wait_count(&f, &f.hanging_count, 1);
    at_grpc_client_cancel(o.call);
    wait_count(&f, &f.cancelled_count, 1);
    assert_int_equal(o.done_count, 0);
    end(&o);
    fixture_down(&f);
}

static void a_call_may_cancel_itself_within_its_message(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    fixture_up(&f, 1);
    begin(&o, &f);
    o.cancel_after = 3;
    start(&o, "/t.T/Stream", AT_LIT("1000000 1000"), 0);
    wait_count(&f, &f.cancelled_count, 1);
    assert_int_equal(o.message_count, 3);
    assert_int_equal(o.done_count, 0);
    end(&o);
    fixture_down(&f);
}

static void a_deadline_ends_the_call_on_both_sides(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    fixture_up(&f, 1);
    begin(&o, &f);
    start(&o, "/t.T/Hang", AT_LIT("x"), 2 * AT_S_NS);
    wait_count(&f, &f.hanging_count, 1);
    wait_done(&o);
    assert_int_equal(o.result.code, AT_DEADLINE_EXCEEDED);
    assert_false(o.result.unprocessed);
    wait_count(&f, &f.cancelled_count, 1);
    end(&o);
    fixture_down(&f);
}

static void a_deadline_that_has_passed_still_ends_by_on_done(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    fixture_up(&f, 1);
    begin(&o, &f);
    call(&o, "/t.T/Hang", AT_LIT("x"), 1);
    assert_int_equal(o.result.code, AT_DEADLINE_EXCEEDED);
    end(&o);
    fixture_down(&f);
}

static void a_lost_connection_is_unavailable_and_maybe_processed(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct outcome o;
    fixture_up(&f, 1);
    begin(&o, &f);
    start(&o, "/t.T/Hang", AT_LIT("x"), 0);
    wait_count(&f, &f.hanging_count, 1);
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
    fixture_up(&f, 1);
    begin(&o, &f);
    start(&o, "/t.T/Hang", AT_LIT("x"), 0);
    wait_count(&f, &f.hanging_count, 1);
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
        cmocka_unit_test(a_unary_call_returns_message_and_metadata),
        cmocka_unit_test(an_empty_message_is_a_message),
        cmocka_unit_test(a_call_may_be_answered_later_from_another_thread),
        cmocka_unit_test(a_status_carries_message_details_and_trailers),
        cmocka_unit_test(a_long_status_message_is_cut),
        cmocka_unit_test(an_unknown_path_is_unimplemented_and_named),
        cmocka_unit_test(big_messages_pass_both_ways),
        cmocka_unit_test(an_oversize_request_is_refused_here),
        cmocka_unit_test(a_stream_of_100_megabytes_keeps_little_pending),
        cmocka_unit_test(framed_bytes_stop_until_they_are_consumed),
        cmocka_unit_test(cancelling_reaches_the_handler),
        cmocka_unit_test(a_call_may_cancel_itself_within_its_message),
        cmocka_unit_test(a_deadline_ends_the_call_on_both_sides),
        cmocka_unit_test(a_deadline_that_has_passed_still_ends_by_on_done),
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
