/* Calls of a client to a server over loopback, each on its own threads. */
#include "support/grpc_outcome.h"

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
    begin_hanging(&o, &f);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
