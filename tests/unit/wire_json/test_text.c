/* Times, durations and masks as text. */
#include "wire/json/text.h"

#include "base/alloc.h"
#include "support/test.h"

struct text_case {
    const char *text;
    int64_t s;
    int32_t ns;
    const char *written; /* NULL: as it was read */
};

static const struct text_case TIMESTAMPS[] = {
    {"1970-01-01T00:00:00Z", 0, 0, NULL},
    {"2026-01-02T03:04:05.006Z", 1767323045, 6000000, NULL},
    {"2000-02-29T23:59:59.000001Z", 951868799, 1000, NULL},
    {"0001-01-01T00:00:00Z", -62135596800, 0, NULL},
    {"9999-12-31T23:59:59.999999999Z", 253402300799, 999999999, NULL},
    {"1969-12-31T23:59:59Z", -1, 0, NULL},
    {"2026-01-02T03:04:05.5+01:30", 1767317645, 500000000, "2026-01-02T01:34:05.500Z"},
    {"2026-01-02t03:04:05-00:30z", 0, 0, ""},
    {"2026-01-02t03:04:05z", 1767323045, 0, "2026-01-02T03:04:05Z"},
    {"2026-02-30T00:00:00Z", 0, 0, ""},
    {"1900-02-29T00:00:00Z", 0, 0, ""},
    {"2026-13-01T00:00:00Z", 0, 0, ""},
    {"2026-00-01T00:00:00Z", 0, 0, ""},
    {"2026-01-01T24:00:00Z", 0, 0, ""},
    {"2026-01-01T00:00:00", 0, 0, ""},
    {"2026-01-01T00:00:00.Z", 0, 0, ""},
    {"2026-01-01T00:00:00.0123456789Z", 0, 0, ""},
    {"0001-01-01T00:00:00+01:00", 0, 0, ""},
    {"9999-12-31T23:59:59-01:00", 0, 0, ""},
    {"2026-1-01T00:00:00Z", 0, 0, ""},
    {"", 0, 0, ""},
};

static const struct text_case DURATIONS[] = {
    {"604800s", 604800, 0, NULL},
    {"0s", 0, 0, NULL},
    {"3.500s", 3, 500000000, NULL},
    {"1.5s", 1, 500000000, "1.500s"},
    {"-0.000000001s", 0, -1, NULL},
    {"-5s", -5, 0, NULL},
    {"315576000000s", 315576000000, 0, NULL},
    {"315576000001s", 0, 0, ""},
    {"99999999999999999999s", 0, 0, ""},
    {"5", 0, 0, ""},
    {"s", 0, 0, ""},
    {".5s", 0, 0, ""},
    {"5.s", 0, 0, ""},
    {"+5s", 0, 0, ""},
    {"5s ", 0, 0, ""},
    {"", 0, 0, ""},
};

static void check(const struct text_case *c, bool duration)
{
    struct at_json_time t = {0};
    struct at_slice text = at_slice_cstr(c->text);
    enum at_code code =
        duration ? at_json_duration_read(text, &t) : at_json_timestamp_read(text, &t);
    bool bad = c->written && c->written[0] == '\0';
    if (code != (bad ? AT_INVALID_ARGUMENT : AT_OK) || t.s != c->s || t.ns != c->ns)
        fail_msg("\"%s\": %d, %lld s %d ns", c->text, (int)code, (long long)t.s, (int)t.ns);
    if (bad)
        return;
    AT_CLEANUP(at_buf_deinit) struct at_buf out;
    at_buf_init(&out, 64);
    assert_int_equal(duration ? at_json_duration_write(&out, t) : at_json_timestamp_write(&out, t),
                     AT_OK);
    assert_string_equal(at_buf_cstr(&out), c->written ? c->written : c->text);
}

static void timestamps_are_rfc_3339(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(TIMESTAMPS) / sizeof(TIMESTAMPS[0]); i++)
        check(&TIMESTAMPS[i], false);
}

static void durations_are_seconds_with_an_s(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(DURATIONS) / sizeof(DURATIONS[0]); i++)
        check(&DURATIONS[i], true);
}

static void every_day_of_four_centuries_comes_back(void **state)
{
    (void)state;
    AT_CLEANUP(at_buf_deinit) struct at_buf out;
    at_buf_init(&out, 64);
    for (int64_t day = -146097 / 2; day < 146097 / 2; day++) {
        struct at_json_time t = {day * 86400 + 43200, 0};
        struct at_json_time back;
        at_buf_clear(&out);
        assert_int_equal(at_json_timestamp_write(&out, t), AT_OK);
        assert_int_equal(at_json_timestamp_read(at_buf_slice(&out), &back), AT_OK);
        assert_true(back.s == t.s);
    }
}

static void times_out_of_range_are_not_written(void **state)
{
    (void)state;
    static const struct at_json_time BAD[] = {
        {253402300800, 0}, {-62135596801, 0}, {0, -1}, {0, 1000000000}, {INT64_MAX, 0}};
    static const struct at_json_time BAD_DURATIONS[] = {
        {1, -1}, {-1, 1}, {0, 1000000000}, {INT64_MIN, 0}, {315576000001, 0}};
    AT_CLEANUP(at_buf_deinit) struct at_buf out;
    at_buf_init(&out, 64);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(at_json_timestamp_write(&out, BAD[i]), AT_INVALID_ARGUMENT);
        assert_int_equal(at_json_duration_write(&out, BAD_DURATIONS[i]), AT_INVALID_ARGUMENT);
    }
}

static void a_mask_path_is_snake_case_in_either_spelling(void **state)
{
    (void)state;
    struct at_arena arena;
    at_arena_init(&arena, 256);
    assert_string_equal(at_json_mask_path(&arena, AT_LIT("singleClusterRouting.clusterId")),
                        "single_cluster_routing.cluster_id");
    assert_string_equal(at_json_mask_path(&arena, AT_LIT("serve_nodes")), "serve_nodes");
    assert_string_equal(at_json_mask_path(&arena, AT_LIT("")), "");
    at_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timestamps_are_rfc_3339),
        cmocka_unit_test(durations_are_seconds_with_an_s),
        cmocka_unit_test(every_day_of_four_centuries_comes_back),
        cmocka_unit_test(times_out_of_range_are_not_written),
        cmocka_unit_test(a_mask_path_is_snake_case_in_either_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
