#include "support/test.h"

#include "base/clock.h"
#include "wire/grpc_status.h"

struct timeout_case {
    const char *text;
    enum at_code code;
    uint64_t ns;
};

static const struct timeout_case TIMEOUTS[] = {
    {"1n", AT_OK, 1},
    {"20u", AT_OK, 20000},
    {"100m", AT_OK, 100 * AT_MS_NS},
    {"7S", AT_OK, 7 * AT_S_NS},
    {"2M", AT_OK, 120 * AT_S_NS},
    {"1H", AT_OK, 3600 * AT_S_NS},
    {"0m", AT_OK, 0},
    {"99999999H", AT_OK, UINT64_MAX},
    {"", AT_INVALID_ARGUMENT, 0},
    {"m", AT_INVALID_ARGUMENT, 0},
    {"5", AT_INVALID_ARGUMENT, 0},
    {"5x", AT_INVALID_ARGUMENT, 0},
    {"-5m", AT_INVALID_ARGUMENT, 0},
    {"123456789m", AT_INVALID_ARGUMENT, 0},
};

static void timeouts_are_read_as_the_spec_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(TIMEOUTS) / sizeof(TIMEOUTS[0]); i++) {
        uint64_t ns = 0;
        enum at_code code = at_grpc_timeout_parse(at_slice_cstr(TIMEOUTS[i].text), &ns);
        if (code != TIMEOUTS[i].code || ns != TIMEOUTS[i].ns)
            fail_msg("\"%s\"", TIMEOUTS[i].text);
    }
}

static void a_timeout_written_is_never_shorter_than_meant(void **state)
{
    (void)state;
    char text[AT_GRPC_TIMEOUT_TEXT_BYTES];
    for (uint64_t ns = 1; ns < UINT64_MAX / 3; ns = ns * 3 + 1) {
        uint64_t back = 0;
        size_t len = at_grpc_timeout_format(ns, text);
        assert_int_equal(at_grpc_timeout_parse(at_slice_make(text, len), &back), AT_OK);
        assert_true(back >= ns && back - ns <= ns / 100000);
    }
    (void)at_grpc_timeout_format(50 * AT_MS_NS, text);
    assert_string_equal(text, "50000000n");
    (void)at_grpc_timeout_format(UINT64_MAX - 1, text);
    assert_string_equal(text, "5124096H");
}

static void only_the_digits_of_codes_are_codes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < AT_CODE_COUNT; i++) {
        struct at_slice text = at_grpc_status_text((enum at_code)i);
        assert_int_equal(at_grpc_status_parse(text), i);
    }
    static const char *const BAD[] = {"", "17", "99", "100", "-1", "1x", "OK"};
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
        assert_int_equal(at_grpc_status_parse(at_slice_cstr(BAD[i])), AT_UNKNOWN);
}

static void http_and_reset_codes_map_as_the_spec_says(void **state)
{
    (void)state;
    assert_int_equal(at_grpc_status_from_http(400), AT_INTERNAL);
    assert_int_equal(at_grpc_status_from_http(401), AT_UNAUTHENTICATED);
    assert_int_equal(at_grpc_status_from_http(403), AT_PERMISSION_DENIED);
    assert_int_equal(at_grpc_status_from_http(404), AT_UNIMPLEMENTED);
    assert_int_equal(at_grpc_status_from_http(429), AT_UNAVAILABLE);
    assert_int_equal(at_grpc_status_from_http(503), AT_UNAVAILABLE);
    assert_int_equal(at_grpc_status_from_http(500), AT_UNKNOWN);
    assert_int_equal(at_grpc_status_from_reset(7), AT_UNAVAILABLE);
    assert_int_equal(at_grpc_status_from_reset(8), AT_CANCELLED);
    assert_int_equal(at_grpc_status_from_reset(11), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(at_grpc_status_from_reset(1), AT_INTERNAL);
}

static void content_types_of_grpc_are_told_apart(void **state)
{
    (void)state;
    assert_true(at_grpc_is_content_type(AT_LIT("application/grpc")));
    assert_true(at_grpc_is_content_type(AT_LIT("application/grpc+proto")));
    assert_true(at_grpc_is_content_type(AT_LIT("application/grpc; charset=utf-8")));
    assert_false(at_grpc_is_content_type(AT_LIT("application/grpc+json")));
    assert_false(at_grpc_is_content_type(AT_LIT("application/grpc-web")));
    assert_false(at_grpc_is_content_type(AT_LIT("application/json")));
    assert_false(at_grpc_is_content_type(AT_LIT("")));
}

static void bin_values_go_there_and_back(void **state)
{
    (void)state;
    struct at_arena arena;
    uint8_t raw[40];
    at_arena_init(&arena, 256);
    for (size_t i = 0; i < sizeof(raw); i++)
        raw[i] = (uint8_t)(i * 37);
    for (size_t len = 0; len <= sizeof(raw); len++) {
        struct at_slice back;
        struct at_slice text = at_grpc_bin_encode(&arena, at_slice_make(raw, len));
        assert_null(len ? memchr(text.data, '=', text.len) : NULL);
        assert_int_equal(at_grpc_bin_decode(&arena, text, &back), AT_OK);
        assert_true(at_slice_eq(back, at_slice_make(raw, len)));
    }
    struct at_slice back;
    assert_int_equal(at_grpc_bin_decode(&arena, AT_LIT("YWI=, Y2Q"), &back), AT_OK);
    assert_true(at_slice_eq(back, AT_LIT("abcd")));
    assert_int_equal(at_grpc_bin_decode(&arena, AT_LIT("a b!"), &back), AT_INVALID_ARGUMENT);
    at_arena_deinit(&arena);
}

static void messages_are_escaped_and_cut_between_characters(void **state)
{
    (void)state;
    struct at_arena arena;
    static uint8_t text[AT_GRPC_STATUS_MESSAGE_BYTES_MAX + 10];
    at_arena_init(&arena, 256);
    struct at_slice e = at_grpc_message_encode(&arena, AT_LIT("50% \xc3\xbc\n"));
    assert_true(at_slice_eq(e, AT_LIT("50%25 %C3%BC%0A")));
    assert_true(at_slice_eq(at_grpc_message_decode(&arena, e), AT_LIT("50% \xc3\xbc\n")));
    e = at_grpc_message_encode(&arena, AT_LIT("not found: "));
    assert_true(at_slice_eq(e, AT_LIT("not found:%20"))); /* HTTP/2 forbids the bare space */
    assert_true(at_slice_eq(at_grpc_message_decode(&arena, e), AT_LIT("not found: ")));
    assert_true(at_slice_eq(at_grpc_message_decode(&arena, AT_LIT("a%zz%2")), AT_LIT("a%zz%2")));
    memset(text, 'a', sizeof(text));
    memcpy(text + AT_GRPC_STATUS_MESSAGE_BYTES_MAX - 1, "\xc3\xbc", 2);
    e = at_grpc_message_encode(&arena, at_slice_make(text, sizeof(text)));
    assert_int_equal(e.len, AT_GRPC_STATUS_MESSAGE_BYTES_MAX - 1);
    assert_int_equal(e.data[e.len - 1], 'a');
    at_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeouts_are_read_as_the_spec_says),
        cmocka_unit_test(a_timeout_written_is_never_shorter_than_meant),
        cmocka_unit_test(only_the_digits_of_codes_are_codes),
        cmocka_unit_test(http_and_reset_codes_map_as_the_spec_says),
        cmocka_unit_test(content_types_of_grpc_are_told_apart),
        cmocka_unit_test(bin_values_go_there_and_back),
        cmocka_unit_test(messages_are_escaped_and_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
