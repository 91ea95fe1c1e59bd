#include "base/pack.h"

#include "base/alloc.h"
#include "base/prng.h"
#include "support/test.h"

#include <msgpack.h>

#define LIT AT_LIT_INIT

static struct at_unpack over(struct at_slice s)
{
    struct at_unpack u;

    at_unpack_init(&u, s);
    return u;
}

static void integers_of_every_width_come_back(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int d = -2; d <= 2; d++) {
            AT_CLEANUP(at_buf_deinit) struct at_buf b;
            uint64_t v = (UINT64_C(1) << bit) + (uint64_t)d;
            uint64_t u64 = 0;
            int64_t i64 = 0;
            at_buf_init(&b, 100);
            assert_int_equal(at_pack_u64(&b, v), AT_OK);
            assert_int_equal(at_pack_i64(&b, (int64_t)v), AT_OK);
            struct at_unpack u = over(at_buf_slice(&b));
            assert_int_equal(at_unpack_u64(&u, &u64), AT_OK);
            assert_int_equal(at_unpack_i64(&u, &i64), AT_OK);
            assert_true(at_unpack_done(&u));
            assert_true(u64 == v && i64 == (int64_t)v);
        }
    }
}

static void integers_out_of_range_fail(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf b;
    uint64_t u64;
    uint32_t u32;
    int64_t i64;

    (void)state;
    at_buf_init(&b, 100);
    assert_int_equal(at_pack_u64(&b, (uint64_t)INT64_MAX + 1), AT_OK);
    struct at_unpack u = over(at_buf_slice(&b));
    assert_int_equal(at_unpack_i64(&u, &i64), AT_INVALID_ARGUMENT);
    at_buf_clear(&b);
    assert_int_equal(at_pack_i64(&b, -1), AT_OK);
    u = over(at_buf_slice(&b));
    assert_int_equal(at_unpack_u64(&u, &u64), AT_INVALID_ARGUMENT);
    at_buf_clear(&b);
    assert_int_equal(at_pack_u64(&b, (uint64_t)UINT32_MAX + 1), AT_OK);
    u = over(at_buf_slice(&b));
    assert_int_equal(at_unpack_u32(&u, &u32), AT_INVALID_ARGUMENT);
    at_buf_clear(&b);
    assert_int_equal(at_pack_u64(&b, UINT32_MAX), AT_OK);
    u = over(at_buf_slice(&b));
    assert_int_equal(at_unpack_u32(&u, &u32), AT_OK);
    assert_int_equal(u32, UINT32_MAX);
    /* A non-negative number in a signed form is one all the same. */
    u = over(AT_LIT("\xd0\x05\xd1\x01\x00"));
    assert_int_equal(at_unpack_u64(&u, &u64), AT_OK);
    assert_int_equal(u64, 5);
    assert_int_equal(at_unpack_u64(&u, &u64), AT_OK);
    assert_int_equal(u64, 256);
}

static void strings_of_every_length_form_are_borrowed(void **state)
{
    static const size_t lengths[] = {0, 1, 31, 32, 255, 256, 65535, 65536, 100000};
    AT_CLEANUP(at_free_ptr) char *data = at_alloc(100000);

    (void)state;
    memset(data, 'q', 100000);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        AT_CLEANUP(at_buf_deinit) struct at_buf b;
        struct at_slice s = at_slice_make(data, lengths[i]);
        struct at_slice got;
        at_buf_init(&b, 300000);
        assert_int_equal(at_pack_bin(&b, s), AT_OK);
        assert_int_equal(at_pack_str(&b, s), AT_OK);
        struct at_unpack u = over(at_buf_slice(&b));
        for (int k = 0; k < 2; k++) {
            assert_int_equal(at_unpack_bin(&u, &got), AT_OK);
            assert_true(at_slice_eq(got, s));
            assert_true(got.data >= b.data && got.data + got.len <= b.data + b.len);
        }
        assert_true(at_unpack_done(&u));
    }
}

static void a_full_buffer_is_left_unchanged(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf b;

    (void)state;
    at_buf_init(&b, 4);
    assert_int_equal(at_pack_nil(&b), AT_OK);
    assert_int_equal(at_pack_bin(&b, AT_LIT("abc")), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(at_pack_str(&b, AT_LIT("abcd")), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(at_pack_str(&b, at_slice_make("", (size_t)UINT32_MAX + 1)),
                     AT_RESOURCE_EXHAUSTED);
    assert_int_equal(at_pack_u64(&b, UINT64_MAX), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(b.len, 1);
    assert_int_equal(at_pack_array(&b, 3), AT_OK);
    assert_int_equal(at_pack_map(&b, 3), AT_OK);
    assert_int_equal(at_pack_bool(&b, true), AT_OK);
    assert_int_equal(at_pack_bool(&b, true), AT_RESOURCE_EXHAUSTED);
}

static void counts_are_checked_against_limit_and_bytes(void **state)
{
    uint32_t count = 77;

    (void)state;
    struct at_unpack u = over(AT_LIT("\x93\1\2\3"));
    assert_int_equal(at_unpack_array(&u, 3, &count), AT_OK);
    assert_int_equal(count, 3);
    u = over(AT_LIT("\x93\1\2\3"));
    assert_int_equal(at_unpack_array(&u, 2, &count), AT_INVALID_ARGUMENT);
    u = over(AT_LIT("\x93\1\2"));
    assert_int_equal(at_unpack_array(&u, 10, &count), AT_INVALID_ARGUMENT);
    u = over(AT_LIT("\xdd\xff\xff\xff\xff\1\2"));
    assert_int_equal(at_unpack_array(&u, UINT32_MAX, &count), AT_INVALID_ARGUMENT);
    u = over(AT_LIT("\x82\1\2\3\4"));
    assert_int_equal(at_unpack_map(&u, 2, &count), AT_OK);
    assert_int_equal(count, 2);
    u = over(AT_LIT("\x82\1\2\3"));
    assert_int_equal(at_unpack_map(&u, 2, &count), AT_INVALID_ARGUMENT);
    u = over(AT_LIT("\x82\1\2\3\4"));
    assert_int_equal(at_unpack_array(&u, 2, &count), AT_INVALID_ARGUMENT);
}

static void a_failed_cursor_stays_failed(void **state)
{
    struct at_unpack u = over(AT_LIT("\xc3\1\2"));
    struct at_slice s;
    uint64_t v;
    bool truth;

    (void)state;
    assert_int_equal(at_unpack_u64(&u, &v), AT_INVALID_ARGUMENT);
    assert_int_equal(at_unpack_u64(&u, &v), AT_INVALID_ARGUMENT);
    assert_int_equal(at_unpack_bool(&u, &truth), AT_INVALID_ARGUMENT);
    assert_int_equal(at_unpack_bin(&u, &s), AT_INVALID_ARGUMENT);
    assert_int_equal(at_unpack_skip(&u), AT_INVALID_ARGUMENT);
    assert_false(at_unpack_is_nil(&u));
    assert_false(at_unpack_done(&u));
}

static void kinds_are_told_apart(void **state)
{
    bool truth = false;

    (void)state;
    struct at_unpack u = over(AT_LIT("\xc0\xc3\xc2\1"));
    assert_true(at_unpack_is_nil(&u));
    assert_false(at_unpack_is_nil(&u));
    assert_int_equal(at_unpack_bool(&u, &truth), AT_OK);
    assert_true(truth);
    assert_int_equal(at_unpack_bool(&u, &truth), AT_OK);
    assert_false(truth);
    assert_false(at_unpack_done(&u));
    assert_int_equal(at_unpack_bool(&u, &truth), AT_INVALID_ARGUMENT);
    u = over(at_slice_make(NULL, 0));
    assert_true(at_unpack_done(&u));
    assert_false(at_unpack_is_nil(&u));
}

static void skip_passes_over_any_item(void **state)
{
    static const struct at_slice items[] = {
        LIT("\x05"),
        LIT("\xe0"),
        LIT("\xc0"),
        LIT("\xca\0\0\0\0"),
        LIT("\xcb\0\0\0\0\0\0\0\0"),
        LIT("\xcf\0\0\0\0\0\0\0\0"),
        LIT("\xd4\x01X"),
        LIT("\xd8\x01ZZZZZZZZZZZZZZZZ"),
        LIT("\xc7\x02\x01XX"),
        LIT("\xc8\x00\x01\x01X"),
        LIT("\xc9\x00\x00\x00\x00\x01"),
        LIT("\xa3XYZ"),
        LIT("\xd9\x01Z"),
        LIT("\x90"),
        LIT("\x80"),
        LIT("\x92\x92\1\2\x81\1\x91\xc0"),
        LIT("\xdc\x00\x01\x01"),
        LIT("\xdf\x00\x00\x00\x01\x01\x02"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        struct at_unpack u = over(items[i]);
        assert_int_equal(at_unpack_skip(&u), AT_OK);
        assert_true(at_unpack_done(&u));
        for (size_t len = 0; len < items[i].len; len++) {
            u = over(at_slice_make(items[i].data, len));
            assert_int_equal(at_unpack_skip(&u), AT_INVALID_ARGUMENT);
        }
    }
    struct at_unpack u = over(AT_LIT("\xc1"));
    assert_int_equal(at_unpack_skip(&u), AT_INVALID_ARGUMENT);
}

static void skip_goes_32_deep_and_no_deeper(void **state)
{
    uint8_t data[40];

    (void)state;
    memset(data, 0x91, sizeof(data));
    data[32] = 0xc0;
    struct at_unpack u = over(at_slice_make(data, 33));
    assert_int_equal(at_unpack_skip(&u), AT_OK);
    assert_true(at_unpack_done(&u));
    data[32] = 0x91;
    data[33] = 0xc0;
    u = over(at_slice_make(data, 34));
    assert_int_equal(at_unpack_skip(&u), AT_INVALID_ARGUMENT);
}

/* Reads `o` with the cursor and compares; recursion follows msgpack-c's own depth limit. */
static void compare(struct at_unpack *u, const msgpack_object *o)
{
    uint32_t count = 0;
    uint64_t u64 = 0;
    int64_t i64 = 0;
    bool truth = false;
    struct at_slice s;

    switch (o->type) {
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        assert_int_equal(at_unpack_u64(u, &u64), AT_OK);
        assert_true(u64 == o->via.u64);
        break;
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        assert_int_equal(at_unpack_i64(u, &i64), AT_OK);
        assert_true(i64 == o->via.i64);
        break;
    case MSGPACK_OBJECT_BOOLEAN:
        assert_int_equal(at_unpack_bool(u, &truth), AT_OK);
        assert_int_equal(truth, o->via.boolean);
        break;
    case MSGPACK_OBJECT_NIL:
        assert_true(at_unpack_is_nil(u));
        break;
    case MSGPACK_OBJECT_BIN:
    case MSGPACK_OBJECT_STR:
        assert_int_equal(at_unpack_bin(u, &s), AT_OK);
        assert_true(at_slice_eq(s, at_slice_make(o->via.bin.ptr, o->via.bin.size)));
        break;
    case MSGPACK_OBJECT_ARRAY:
        assert_int_equal(at_unpack_array(u, UINT32_MAX, &count), AT_OK);
        assert_int_equal(count, o->via.array.size);
        for (uint32_t i = 0; i < count; i++)
            compare(u, &o->via.array.ptr[i]);
        break;
    case MSGPACK_OBJECT_MAP:
        assert_int_equal(at_unpack_map(u, UINT32_MAX, &count), AT_OK);
        assert_int_equal(count, o->via.map.size);
        for (uint32_t i = 0; i < count; i++) {
            compare(u, &o->via.map.ptr[i].key);
            compare(u, &o->via.map.ptr[i].val);
        }
        break;
    case MSGPACK_OBJECT_FLOAT32:
    case MSGPACK_OBJECT_FLOAT64:
    case MSGPACK_OBJECT_EXT:
        assert_int_equal(at_unpack_skip(u), AT_OK);
        break;
    }
}

/* Random bytes, mostly small so that containers and strings are short enough to be whole. Without
 * 32-bit counts: msgpack-c allocates whatever they say. */
static void random_item(struct at_prng *rng, uint8_t *data, size_t len)
{
    static const uint8_t starts[] = {0x81, 0x92, 0x93, 0xa3, 0xc4, 0xd9, 0xdc, 0xde, 0xc7, 0xd4};

    for (size_t i = 0; i < len; i++) {
        uint64_t r = at_prng_u64(rng);
        if (r % 4 == 0)
            data[i] = starts[(r >> 8) % sizeof(starts)];
        else if (r % 4 == 1)
            data[i] = (uint8_t)(r >> 8);
        else
            data[i] = (uint8_t)((r >> 8) % 4);
        if (data[i] == 0xdd || data[i] == 0xdf)
            data[i]--;
    }
}

/* msgpack-c judges the same bytes: where it finds a whole item, so must skip and the readers, and
 * they must agree on every value. */
static void agrees_with_msgpack_c_on_random_bytes(void **state)
{
    struct at_prng rng;
    int whole = 0;

    (void)state;
    at_prng_init(&rng, 17);
    for (int round = 0; round < 100000; round++) {
        size_t len = at_prng_below(&rng, 30);
        AT_CLEANUP(at_free_ptr) uint8_t *data = at_alloc(len);
        random_item(&rng, data, len);
        msgpack_unpacked found;
        size_t end = 0;
        msgpack_unpacked_init(&found);
        msgpack_unpack_return rc = msgpack_unpack_next(&found, (const char *)data, len, &end);
        struct at_unpack u = over(at_slice_make(data, len));
        if (rc == MSGPACK_UNPACK_SUCCESS) {
            whole++;
            assert_int_equal(at_unpack_skip(&u), AT_OK);
            assert_int_equal(u.next - data, end);
            at_unpack_init(&u, at_slice_make(data, len));
            compare(&u, &found.data);
            assert_int_equal(u.next - data, end);
        } else {
            assert_int_equal(at_unpack_skip(&u), AT_INVALID_ARGUMENT);
        }
        msgpack_unpacked_destroy(&found);
    }
    assert_in_range(whole, 10000, 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_every_width_come_back),
        cmocka_unit_test(integers_out_of_range_fail),
        cmocka_unit_test(strings_of_every_length_form_are_borrowed),
        cmocka_unit_test(a_full_buffer_is_left_unchanged),
        cmocka_unit_test(counts_are_checked_against_limit_and_bytes),
        cmocka_unit_test(a_failed_cursor_stays_failed),
        cmocka_unit_test(kinds_are_told_apart),
        cmocka_unit_test(skip_passes_over_any_item),
        cmocka_unit_test(skip_goes_32_deep_and_no_deeper),
        cmocka_unit_test(agrees_with_msgpack_c_on_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
