/* Request memory is bounded through flow control, and every request gets on all the same. */
#include "support/grpc_fixture.h"
#include "support/h2_raw.h"

#define BIG_COUNT 5
#define BIG_BYTES (110 * AT_MIB) /* together beyond the connection's hard limit */

struct big {
    struct grpc_fixture *f;
    uint32_t *left;
    enum at_code code;
};

static void ignore_message(void *ctx, struct at_slice message)
{
    (void)ctx;
    (void)message;
}

static void on_big_done(void *ctx, const struct at_grpc_result *result)
{
    struct big *b = ctx;
    b->code = result->code;
    if (--*b->left == 0)
        at_loop_stop(b->f->loop);
}

static const struct at_grpc_client_handler HANDLER = {.on_message = ignore_message,
                                                      .on_done = on_big_done};

static void big_requests_at_a_time_all_get_through(void **state)
{
    (void)state;
    struct grpc_fixture f;
    struct big big[BIG_COUNT];
    uint32_t left = BIG_COUNT;
    uint8_t *data = at_alloc(BIG_BYTES);
    fixture_up(&f, 1);
    for (int i = 0; i < BIG_COUNT; i++) {
        big[i] = (struct big){.f = &f, .left = &left, .code = AT_UNKNOWN};
        struct at_grpc_client_request request = {.path = "/t.T/Fail",
                                                 .message = at_slice_make(data, BIG_BYTES),
                                                 .deadline_ns = UINT64_MAX,
                                                 .handler = &HANDLER,
                                                 .ctx = &big[i]};
        (void)at_grpc_client_start(f.channel, &request);
    }
    while (left > 0)
        at_loop_run(f.loop);
    for (int i = 0; i < BIG_COUNT; i++)
        assert_int_equal(big[i].code, AT_ABORTED); /* what the method answers */
    fixture_down(&f);
    at_free(data);
}

static void a_request_cut_into_single_bytes_is_understood(void **state)
{
    (void)state;
    static const uint8_t HELLO[] = {0, 0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o'};
    static struct h2_raw raw;
    struct grpc_fixture f;
    struct at_slice body = {HELLO, 1};
    fixture_up(&f, 1);
    h2_raw_open(&raw, h2_raw_dial(at_grpc_server_port(f.server)), 65535);
    raw.keep_open = true;
    int32_t id = h2_raw_submit(&raw, &(struct h2_raw_request){0}, &body);
    for (size_t len = 1; len <= sizeof(HELLO); len++) {
        raw.body.len = len;
        raw.keep_open = len < sizeof(HELLO);
        (void)nghttp2_session_resume_data(raw.session, id);
        (void)h2_raw_step(&raw, 2);
    }
    h2_raw_wait_closed(&raw, id);
    assert_string_equal(h2_raw_at(&raw, id)->grpc_status, "0");
    assert_int_equal(h2_raw_at(&raw, id)->data_bytes, sizeof(HELLO));
    h2_raw_close(&raw);
    fixture_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(big_requests_at_a_time_all_get_through),
        cmocka_unit_test(a_request_cut_into_single_bytes_is_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
