#include "base/buf.h"

#include "base/alloc.h"
#include "support/test.h"

#define assert_holds(b, text) assert_true(at_slice_eq_cstr(at_buf_slice(b), (text)))

static void appends_until_the_maximum_and_not_beyond(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf b;

    (void)state;
    at_buf_init(&b, 5);
    assert_int_equal(at_buf_append(&b, AT_LIT("abc")), AT_OK);
    assert_int_equal(at_buf_append(&b, AT_LIT("def")), AT_RESOURCE_EXHAUSTED);
    assert_holds(&b, "abc");
    assert_int_equal(at_buf_append(&b, AT_LIT("de")), AT_OK);
    assert_int_equal(at_buf_append(&b, AT_LIT("")), AT_OK);
    assert_int_equal(at_buf_append(&b, AT_LIT("f")), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(at_buf_reserve(&b, SIZE_MAX), AT_RESOURCE_EXHAUSTED);
    assert_holds(&b, "abcde");
    assert_true(b.cap <= b.max);
}

static void grows_to_any_size_up_to_the_maximum(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf b;
    const size_t max = 1000003;

    (void)state;
    at_buf_init(&b, max);
    for (size_t i = 0; i < max; i++) {
        uint8_t byte = (uint8_t)(i * 7);
        assert_int_equal(at_buf_append(&b, at_slice_make(&byte, 1)), AT_OK);
    }
    assert_int_equal(at_buf_append(&b, AT_LIT("x")), AT_RESOURCE_EXHAUSTED);
    for (size_t i = 0; i < max; i++)
        assert_int_equal(b.data[i], (uint8_t)(i * 7));
}

static void a_zeroed_buffer_refuses_all_bytes(void **state)
{
    struct at_buf b = {0};

    (void)state;
    assert_int_equal(at_buf_append(&b, AT_LIT("x")), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(at_buf_append(&b, AT_LIT("")), AT_OK);
    assert_int_equal(at_buf_printf(&b, "x"), AT_RESOURCE_EXHAUSTED);
    at_buf_deinit(&b);
    at_buf_deinit(&b);
}

static void prints_up_to_the_last_byte(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf b;

    (void)state;
    at_buf_init(&b, 10);
    assert_int_equal(at_buf_printf(&b, "%s", ""), AT_OK);
    assert_int_equal(at_buf_printf(&b, "%d-%s", 12, "ab"), AT_OK);
    assert_int_equal(at_buf_printf(&b, "%s", "123456"), AT_RESOURCE_EXHAUSTED);
    assert_holds(&b, "12-ab");
    assert_int_equal(at_buf_printf(&b, "%s", "12345"), AT_OK);
    assert_holds(&b, "12-ab12345");
    assert_string_equal(at_buf_cstr(&b), "12-ab12345");
}

static void prints_text_longer_than_what_is_reserved(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf b;

    (void)state;
    at_buf_init(&b, 10000);
    assert_int_equal(at_buf_printf(&b, "%0*d", 1000, 5), AT_OK);
    assert_int_equal(b.len, 1000);
    assert_int_equal(at_buf_printf(&b, "%0*d", 2000, 6), AT_OK);
    assert_int_equal(b.len, 3000);
    assert_int_equal(b.data[999], '5');
    assert_int_equal(b.data[2999], '6');
}

static void consume_drops_from_the_front(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf b;

    (void)state;
    at_buf_init(&b, 100);
    at_buf_consume(&b, 0);
    assert_int_equal(at_buf_append(&b, AT_LIT("abcdef")), AT_OK);
    at_buf_consume(&b, 2);
    assert_holds(&b, "cdef");
    at_buf_consume(&b, 4);
    assert_holds(&b, "");
}

static void clear_keeps_the_memory(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf b;

    (void)state;
    at_buf_init(&b, 100);
    assert_string_equal(at_buf_cstr(&b), "");
    assert_int_equal(at_buf_append(&b, AT_LIT("abc")), AT_OK);
    const uint8_t *data = b.data;
    at_buf_clear(&b);
    assert_int_equal(at_buf_append(&b, AT_LIT("de")), AT_OK);
    assert_ptr_equal(b.data, data);
    assert_string_equal(at_buf_cstr(&b), "de");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_until_the_maximum_and_not_beyond),
        cmocka_unit_test(grows_to_any_size_up_to_the_maximum),
        cmocka_unit_test(a_zeroed_buffer_refuses_all_bytes),
        cmocka_unit_test(prints_up_to_the_last_byte),
        cmocka_unit_test(prints_text_longer_than_what_is_reserved),
        cmocka_unit_test(consume_drops_from_the_front),
        cmocka_unit_test(clear_keeps_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
