#include "base/limits.h"
#include "replication/peer/packing.h"
#include "support/test.h"

static struct at_buf text_of(size_t size)
{
    struct at_buf b;
    at_buf_init(&b, 64 * AT_MIB);
    while (b.len < size)
        assert_int_equal(at_buf_printf(&b, "row %zu has some text in it; ", b.len), AT_OK);
    return b;
}

static void what_shrinks_comes_back_as_it_was(void **state)
{
    (void)state;
    struct at_buf raw = text_of(100000);
    struct at_buf packed;
    struct at_buf back;
    at_buf_init(&packed, AT_MIB);
    at_buf_init(&back, AT_MIB);
    assert_int_equal(at_buf_append(&packed, AT_LIT("before")), AT_OK);
    assert_true(at_pack(at_buf_slice(&raw), &packed));
    assert_true(packed.len < raw.len / 2);
    struct at_slice body = at_slice_make(packed.data + 6, packed.len - 6);
    assert_int_equal(at_unpack_into(body, raw.len, &back), AT_OK);
    assert_true(at_slice_eq(at_buf_slice(&back), at_buf_slice(&raw)));
    at_buf_deinit(&raw);
    at_buf_deinit(&packed);
    at_buf_deinit(&back);
}

static void small_and_random_bytes_are_left_alone(void **state)
{
    (void)state;
    struct at_buf raw = text_of(AT_PACK_BYTES_MIN);
    struct at_buf packed;
    at_buf_init(&packed, AT_MIB);
    assert_false(at_pack(at_slice_make(raw.data, AT_PACK_BYTES_MIN - 1), &packed));
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < raw.len; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        raw.data[i] = (uint8_t)(x >> 32);
    }
    assert_false(at_pack(at_buf_slice(&raw), &packed));
    assert_int_equal(packed.len, 0);
    at_buf_deinit(&raw);
    at_buf_deinit(&packed);
}

static void lies_about_the_size_are_refused_before_memory_is_taken(void **state)
{
    (void)state;
    struct at_buf raw = text_of(50000);
    struct at_buf packed;
    struct at_buf back;
    at_buf_init(&packed, AT_MIB);
    at_buf_init(&back, 10000);
    assert_true(at_pack(at_buf_slice(&raw), &packed));
    struct at_slice body = at_buf_slice(&packed);
    assert_int_equal(at_unpack_into(body, raw.len, &back), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(at_unpack_into(body, 100, &back), AT_INVALID_ARGUMENT);
    assert_int_equal(at_unpack_into(body, 0, &back), AT_INVALID_ARGUMENT);
    assert_int_equal(at_unpack_into(AT_LIT("nonsense"), 100, &back), AT_INVALID_ARGUMENT);
    assert_int_equal(back.cap, 0);
    back.max = AT_MIB;
    body.len -= 3;
    assert_int_equal(at_unpack_into(body, raw.len, &back), AT_INVALID_ARGUMENT);
    assert_int_equal(back.len, 0);
    at_buf_deinit(&raw);
    at_buf_deinit(&packed);
    at_buf_deinit(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_shrinks_comes_back_as_it_was),
        cmocka_unit_test(small_and_random_bytes_are_left_alone),
        cmocka_unit_test(lies_about_the_size_are_refused_before_memory_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
