#include "base/pbwire.h"

#include "base/alloc.h"
#include "base/prng.h"
#include "support/test.h"

#define LIT AT_LIT_INIT

static void fields_are_written_as_protobuf_says(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf b;
    static const char want[] = "\x08\x96\x01"
                               "\x12\x07testing"
                               "\x1a\x03"
                               "\xf8\xff\xff\xff\x0f\x00"
                               "\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                               "\x2a\x00";

    (void)state;
    at_buf_init(&b, 1000);
    assert_int_equal(at_pb_put_varint(&b, 1, 150), AT_OK);
    assert_int_equal(at_pb_put_bytes(&b, 2, AT_LIT("testing")), AT_OK);
    assert_int_equal(at_pb_put_head(&b, 3, 3), AT_OK);
    assert_int_equal(at_pb_put_varint(&b, (1U << 29) - 1, 0), AT_OK);
    assert_int_equal(at_pb_put_varint(&b, 4, UINT64_MAX), AT_OK);
    assert_int_equal(at_pb_put_bytes(&b, 5, at_slice_make(NULL, 0)), AT_OK);
    assert_true(at_slice_eq(at_buf_slice(&b), at_slice_make(want, sizeof(want) - 1)));
}

static void varint_size_is_what_is_written(void **state)
{
    uint8_t bytes[10];

    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t v = UINT64_C(1) << bit;
        for (int d = -1; d <= 1; d++) {
            uint64_t x = v + (uint64_t)d;
            assert_int_equal(at_pb_write_varint(bytes, x) - bytes, at_pb_varint_size(x));
        }
    }
}

static void a_full_buffer_is_left_unchanged(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf b;

    (void)state;
    at_buf_init(&b, 4);
    assert_int_equal(at_pb_put_bytes(&b, 1, AT_LIT("abc")), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(at_pb_put_bytes(&b, 1, at_slice_make("", SIZE_MAX)), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(at_pb_put_varint(&b, 1, UINT64_MAX), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(at_pb_put_head(&b, 1, UINT32_MAX), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(b.len, 0);
    assert_int_equal(at_pb_put_bytes(&b, 1, AT_LIT("ab")), AT_OK);
    assert_int_equal(b.len, 4);
}

static void every_type_is_read(void **state)
{
    struct at_slice rest = AT_LIT("\x08\x96\x01\x12\x03"
                                  "abc"
                                  "\x1d\x01\x02\x03\x84\x21\x01\x02\x03\x04\x05\x06\x07\x88\x2a\0");
    struct at_pb_field f;
    bool bad = false;

    (void)state;
    assert_true(at_pb_next(&rest, &f, &bad));
    assert_int_equal(f.number, 1);
    assert_int_equal(f.type, AT_PB_VARINT);
    assert_int_equal(f.varint, 150);
    assert_true(at_pb_next(&rest, &f, &bad));
    assert_int_equal(f.number, 2);
    assert_int_equal(f.type, AT_PB_BYTES);
    assert_true(at_slice_eq_cstr(f.bytes, "abc"));
    assert_true(at_pb_next(&rest, &f, &bad));
    assert_int_equal(f.type, AT_PB_FIXED32);
    assert_int_equal(f.varint, 0x84030201);
    assert_true(at_pb_next(&rest, &f, &bad));
    assert_int_equal(f.type, AT_PB_FIXED64);
    assert_true(f.varint == UINT64_C(0x8807060504030201));
    assert_true(at_pb_next(&rest, &f, &bad));
    assert_int_equal(f.number, 5);
    assert_int_equal(f.bytes.len, 0);
    assert_false(at_pb_next(&rest, &f, &bad));
    assert_false(bad);
}

static void malformed_bytes_are_told_apart_from_the_end(void **state)
{
    static const struct at_slice table[] = {
        LIT("\x08"),                                             /* no value */
        LIT("\x80"),                                             /* tag cut off */
        LIT("\x08\x80"),                                         /* varint cut off */
        LIT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),     /* beyond 64 bits */
        LIT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* eleven bytes */
        LIT("\x12\x04"
            "abc"),                                          /* bytes cut off */
        LIT("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* huge length */
        LIT("\x1d\x01\x02\x03"),                             /* fixed32 cut off */
        LIT("\x21\x01\x02\x03\x04\x05\x06\x07"),             /* fixed64 cut off */
        LIT("\x00\x01"),                                     /* field 0 */
        LIT("\x80\x80\x80\x80\x10\x01"),                     /* field 2^29 */
        LIT("\x0b\x0c"),                                     /* group */
        LIT("\x0e"),                                         /* wire type 6 */
        LIT("\x0f"),                                         /* wire type 7 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct at_slice rest = table[i];
        struct at_pb_field f;
        bool bad = false;
        assert_false(at_pb_next(&rest, &f, &bad));
        assert_true(bad);
    }
}

static void any_bytes_end_without_reading_beyond_them(void **state)
{
    struct at_prng rng;

    (void)state;
    at_prng_init(&rng, 11);
    for (int round = 0; round < 20000; round++) {
        size_t len = at_prng_below(&rng, 40);
        AT_CLEANUP(at_free_ptr) uint8_t *data = at_alloc(len); /* exact: ASan sees the edge */
        for (size_t i = 0; i < len; i++)
            data[i] = (uint8_t)(at_prng_u64(&rng) & (i % 2 ? 0xff : 0x1f));
        struct at_slice rest = at_slice_make(data, len);
        struct at_pb_field f;
        bool bad = false;
        while (at_pb_next(&rest, &f, &bad)) {
            if (f.type == AT_PB_BYTES && f.bytes.len > 0)
                assert_true(f.bytes.data + f.bytes.len <= data + len);
        }
        assert_true(bad || rest.len == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_written_as_protobuf_says),
        cmocka_unit_test(varint_size_is_what_is_written),
        cmocka_unit_test(a_full_buffer_is_left_unchanged),
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(malformed_bytes_are_told_apart_from_the_end),
        cmocka_unit_test(any_bytes_end_without_reading_beyond_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
