/* What a router adds to answers, passes on, and keeps to itself. */
#include "routing/proxy/reply.h"

#include "router_fixture.h"

static struct at_grpc_metadata headers[40];
static size_t header_count;
static struct at_grpc_result result;
static bool own_error;

static void on_request(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    if (own_error) {
        struct at_error error;
        (void)at_fail(&error, AT_NOT_FOUND, "no such thing");
        at_reply_error(call, &error);
        return;
    }
    at_reply_headers(call, headers, header_count);
    assert_int_equal(at_grpc_call_send(call, AT_LIT("body")), AT_OK);
    at_reply_result(call, &result);
}

static const struct at_grpc_method METHODS[] = {{"/t.T/Go", on_request, NULL}};

static void ask(struct got *g)
{
    struct router_fixture r;
    r_serve(&r, METHODS, 1);
    (void)r_call(&r, g, "/t.T/Go", AT_LIT(""), R_CALL_MS);
    r_serve_end(&r);
}

static void googles_names_pass_and_others_do_not(void **state)
{
    (void)state;
    static const struct at_grpc_metadata TRAILERS[] = {
        {AT_LIT_INIT(FAKE_SERVED_BY), AT_LIT_INIT("t\0"), false},
        {AT_LIT_INIT("x-private"), AT_LIT_INIT("no"), false},
    };
    struct got g;
    headers[0] = (struct at_grpc_metadata){AT_LIT(FAKE_SERVED_BY), AT_LIT("h1"), false};
    headers[1] = (struct at_grpc_metadata){AT_LIT("x-private"), AT_LIT("no"), false};
    headers[2] = (struct at_grpc_metadata){AT_LIT("server"), AT_LIT("x"), false};
    header_count = 3;
    result = (struct at_grpc_result){
        .code = AT_OK, .from_peer = true, .trailers = TRAILERS, .trailer_count = 2};
    ask(&g);
    assert_int_equal(g.code, AT_OK);
    assert_string_equal(g.header_by, "h1");
    assert_string_equal(g.trailer_by, "t");
    assert_false(g.private_seen);
    assert_memory_equal(g.timing, "gfet4t7; dur=", 13);
    r_got_deinit(&g);
}

static void names_too_long_or_too_many_do_no_harm(void **state)
{
    (void)state;
    struct got g;
    static char name[80] = "x-goog-";
    memset(name + 7, 'a', sizeof(name) - 7);
    headers[0] = (struct at_grpc_metadata){at_slice_make(name, sizeof(name)), AT_LIT("v"), false};
    for (size_t i = 1; i < 40; i++)
        headers[i] = (struct at_grpc_metadata){AT_LIT("x-goog-many"), AT_LIT("v"), false};
    header_count = 40;
    result = (struct at_grpc_result){.code = AT_OK, .from_peer = true};
    ask(&g);
    assert_int_equal(g.code, AT_OK);
    assert_int_equal(g.body_bytes, 4);
    assert_memory_equal(g.timing, "gfet4t7; dur=", 13);
    r_got_deinit(&g);
}

static void what_a_broken_connection_makes_is_unavailable(void **state)
{
    (void)state;
    static const struct {
        enum at_code code;
        bool from_peer;
        enum at_code want;
    } ROWS[] = {
        {AT_INTERNAL, false, AT_UNAVAILABLE},
        {AT_UNKNOWN, false, AT_UNAVAILABLE},
        {AT_CANCELLED, false, AT_UNAVAILABLE},
        {AT_UNAVAILABLE, false, AT_UNAVAILABLE},
        {AT_DEADLINE_EXCEEDED, false, AT_DEADLINE_EXCEEDED},
        {AT_RESOURCE_EXHAUSTED, false, AT_RESOURCE_EXHAUSTED},
        {AT_INTERNAL, true, AT_INTERNAL},
        {AT_CANCELLED, true, AT_CANCELLED},
    };
    header_count = 0;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        struct got g;
        result = (struct at_grpc_result){
            .code = ROWS[i].code, .from_peer = ROWS[i].from_peer, .message = AT_LIT("why")};
        ask(&g);
        assert_int_equal(g.code, ROWS[i].want);
        assert_string_equal(g.message, "why");
        r_got_deinit(&g);
    }
}

static void errors_of_the_router_carry_its_time(void **state)
{
    (void)state;
    struct got g;
    own_error = true;
    ask(&g);
    own_error = false;
    assert_int_equal(g.code, AT_NOT_FOUND);
    assert_string_equal(g.message, "no such thing");
    assert_memory_equal(g.timing, "gfet4t7; dur=", 13);
    r_got_deinit(&g);
}

static void decimals_are_those_of_printf(void **state)
{
    (void)state;
    static const uint64_t NUMBERS[] = {0, 9, 10, 1234567890, UINT64_MAX};
    for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++) {
        char want[24], text[AT_REPLY_DECIMAL_BYTES];
        int n = snprintf(want, sizeof(want), "%llu", (unsigned long long)NUMBERS[i]);
        assert_int_equal(at_reply_decimal(NUMBERS[i], text), n);
        assert_memory_equal(text, want, (size_t)n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(googles_names_pass_and_others_do_not),
        cmocka_unit_test(names_too_long_or_too_many_do_no_harm),
        cmocka_unit_test(what_a_broken_connection_makes_is_unavailable),
        cmocka_unit_test(errors_of_the_router_carry_its_time),
        cmocka_unit_test(decimals_are_those_of_printf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
