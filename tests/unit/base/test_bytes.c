#include "base/bytes.h"

#include "support/test.h"

static void integers_are_big_endian_at_any_address(void **state)
{
    uint8_t b[16] = {0};

    (void)state;
    at_put_be32(b + 1, 0x01020304);
    assert_memory_equal(b, "\0\1\2\3\4\0", 6);
    assert_int_equal(at_get_be32(b + 1), 0x01020304);
    at_put_be64(b + 3, UINT64_C(0x8182838485868788));
    assert_memory_equal(b + 3, "\x81\x82\x83\x84\x85\x86\x87\x88\0", 9);
    assert_true(at_get_be64(b + 3) == UINT64_C(0x8182838485868788));
}

static void their_bytes_sort_like_the_numbers(void **state)
{
    static const uint64_t numbers[] = {0, 1, 255, 256, UINT64_C(1) << 32, INT64_MAX, UINT64_MAX};

    (void)state;
    for (size_t i = 1; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        uint8_t a[8];
        uint8_t b[8];
        at_put_be64(a, numbers[i - 1]);
        at_put_be64(b, numbers[i]);
        assert_true(memcmp(a, b, 8) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_big_endian_at_any_address),
        cmocka_unit_test(their_bytes_sort_like_the_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
