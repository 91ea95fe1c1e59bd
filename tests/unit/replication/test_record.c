#include "replication/record.h"

#include "base/limits.h"
#include "support/test.h"

static const uint8_t payload_bytes[70000] = {1, 2, 3};

struct size_case {
    size_t len;
    size_t payload_max; /* given to add_begin */
    uint32_t ticks;
};

static const struct size_case size_cases[] = {
    {0, 0, 1},          {1, 1, 127},       {255, 255, 128},
    {256, 256, 100000}, {3, 300, 2}, /* a 16 bit length that holds a small number */
    {3, 70000, 3},                   /* a 32 bit one */
    {65535, 65535, 1},  {65536, 65536, 1}, {70000, 70000, UINT32_MAX},
};
#define SIZE_CASES (sizeof(size_cases) / sizeof(size_cases[0]))

static void entries_come_out_as_they_went_in(void **state)
{
    struct at_record_builder b;
    struct at_record_reader r;
    struct at_entry e;
    (void)state;

    at_record_builder_init(&b, 1 << 20);
    at_record_begin(&b, UINT64_C(1) << 40);
    for (size_t i = 0; i < SIZE_CASES; i++) {
        const struct size_case *c = &size_cases[i];
        assert_int_equal(at_record_add_begin(&b, 1000 * i, c->ticks, c->payload_max), AT_OK);
        assert_int_equal(at_buf_append(&b.bytes, at_slice_make(payload_bytes, c->len)), AT_OK);
        at_record_add_commit(&b);
    }
    assert_int_equal(at_record_last_seq(&b), (UINT64_C(1) << 40) + SIZE_CASES - 1);
    assert_int_equal(at_record_open(&r, at_record_finish(&b)), AT_OK);
    for (size_t i = 0; i < SIZE_CASES; i++) {
        assert_int_equal(at_record_next(&r, &e), AT_OK);
        assert_int_equal(e.seq, (UINT64_C(1) << 40) + i);
        assert_int_equal(e.hlc, 1000 * i);
        assert_int_equal(e.ticks, size_cases[i].ticks);
        assert_int_equal(e.payload.len, size_cases[i].len);
        if (e.payload.len > 0)
            assert_memory_equal(e.payload.data, payload_bytes, e.payload.len);
    }
    assert_int_equal(at_record_next(&r, &e), AT_OUT_OF_RANGE);
    assert_int_equal(at_record_next(&r, &e), AT_OUT_OF_RANGE);
    at_record_builder_deinit(&b);
}

static void begin_empties_the_builder(void **state)
{
    struct at_record_builder b;
    struct at_record_reader r;
    struct at_entry e = {.seq = 1, .hlc = 5, .ticks = 1, .payload = AT_LIT("x")};
    (void)state;

    at_record_builder_init(&b, 1000);
    at_record_begin(&b, 1);
    assert_int_equal(at_record_add(&b, &e), AT_OK);
    at_record_begin(&b, 7);
    assert_int_equal(b.count, 0);
    e.seq = 7;
    assert_int_equal(at_record_add(&b, &e), AT_OK);
    assert_int_equal(at_record_open(&r, at_record_finish(&b)), AT_OK);
    assert_int_equal(at_record_next(&r, &e), AT_OK);
    assert_int_equal(e.seq, 7);
    assert_int_equal(at_record_next(&r, &e), AT_OUT_OF_RANGE);
    at_record_builder_deinit(&b);
}

static void a_too_large_entry_leaves_the_record_as_it_was(void **state)
{
    struct at_record_builder b;
    struct at_record_reader r;
    struct at_entry e = {.seq = 1, .hlc = 5, .ticks = 1, .payload = AT_LIT("first")};
    struct at_entry large = {.seq = 2, .hlc = 6, .ticks = 1, .payload = {payload_bytes, 100}};
    (void)state;

    at_record_builder_init(&b, 100);
    at_record_begin(&b, 1);
    assert_int_equal(at_record_add(&b, &e), AT_OK);
    assert_int_equal(at_record_add(&b, &large), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(at_record_add_begin(&b, 6, 1, AT_ENTRY_BYTES_MAX + 1), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(b.count, 1);
    assert_int_equal(at_record_open(&r, at_record_finish(&b)), AT_OK);
    assert_int_equal(at_record_next(&r, &e), AT_OK);
    assert_true(at_slice_eq_cstr(e.payload, "first"));
    assert_int_equal(at_record_next(&r, &e), AT_OUT_OF_RANGE);
    at_record_builder_deinit(&b);
}

static enum at_code read_all(struct at_slice record)
{
    struct at_record_reader r;
    struct at_entry e;
    enum at_code rc = at_record_open(&r, record);

    while (rc == AT_OK)
        rc = at_record_next(&r, &e);
    return rc;
}

static void every_prefix_of_a_record_is_refused(void **state)
{
    struct at_record_builder b;
    struct at_entry e = {.seq = 9, .hlc = 5, .ticks = 200, .payload = AT_LIT("payload")};
    (void)state;

    at_record_builder_init(&b, 1000);
    at_record_begin(&b, 9);
    assert_int_equal(at_record_add(&b, &e), AT_OK);
    e.seq = 10;
    assert_int_equal(at_record_add(&b, &e), AT_OK);
    struct at_slice whole = at_record_finish(&b);
    for (size_t n = 0; n < whole.len; n++) {
        uint8_t *cut = test_malloc(n + 1);
        memcpy(cut, whole.data, n);
        assert_int_equal(read_all(at_slice_make(cut, n)), AT_INVALID_ARGUMENT);
        test_free(cut);
    }
    assert_int_equal(read_all(whole), AT_OUT_OF_RANGE);
    at_record_builder_deinit(&b);
}

struct bad_case {
    const char *name;
    uint8_t bytes[24];
    size_t len;
};

#define MAX64 0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff

static const struct bad_case bad_cases[] = {
    {"no bytes", {0}, 0},
    {"no array", {0x01}, 1},
    {"an empty record", {0x92, 1, 0}, 3},
    {"seq 0", {0x95, 0, 1, 1, 1, 0xa0}, 6},
    {"a count of another length", {0x95, 1, 2, 1, 1, 0xa0}, 6},
    {"bytes behind the last entry", {0x95, 1, 1, 1, 1, 0xa0, 0}, 7},
    {"ticks 0", {0x95, 1, 1, 1, 0, 0xa0}, 6},
    {"stamps past the end of time", {0x95, 1, 1, MAX64, 2, 0xa0}, 14},
    {"seq past the end", {0x98, MAX64, 2, 1, 1, 0xa0, 1, 1, 0xa0}, 17},
    {"a payload beyond the bytes", {0x95, 1, 1, 1, 1, 0xa2, 0}, 7},
    {"a number as payload", {0x95, 1, 1, 1, 1, 7}, 6},
};

static void malformed_records_are_refused(void **state)
{
    static const uint8_t good[] = {0x95, 1, 1, MAX64, 1, 0xa0};
    (void)state;

    assert_int_equal(read_all(at_slice_make(good, sizeof(good))), AT_OUT_OF_RANGE);
    for (size_t i = 0; i < sizeof(bad_cases) / sizeof(bad_cases[0]); i++)
        if (read_all(at_slice_make(bad_cases[i].bytes, bad_cases[i].len)) != AT_INVALID_ARGUMENT)
            fail_msg("accepted: %s", bad_cases[i].name);
}

static void a_reader_that_failed_stays_failed(void **state)
{
    static const uint8_t bytes[] = {0x98, 1, 2, 1, 0, 0xa0, 1, 1, 0xa0};
    struct at_record_reader r;
    struct at_entry e;
    (void)state;

    assert_int_equal(at_record_open(&r, at_slice_make(bytes, sizeof(bytes))), AT_OK);
    assert_int_equal(at_record_next(&r, &e), AT_INVALID_ARGUMENT);
    assert_int_equal(at_record_next(&r, &e), AT_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_out_as_they_went_in),
        cmocka_unit_test(begin_empties_the_builder),
        cmocka_unit_test(a_too_large_entry_leaves_the_record_as_it_was),
        cmocka_unit_test(every_prefix_of_a_record_is_refused),
        cmocka_unit_test(malformed_records_are_refused),
        cmocka_unit_test(a_reader_that_failed_stays_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
