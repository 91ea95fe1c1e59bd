#include "base/slice.h"

#include "support/test.h"

/* In Bigtable's row order. */
static const struct at_slice ordered[] = {
    {NULL, 0},           AT_LIT_INIT("\0"),   AT_LIT_INIT("\0\0"),     AT_LIT_INIT("a"),
    AT_LIT_INIT("a\0"),  AT_LIT_INIT("aa"),   AT_LIT_INIT("b"),        AT_LIT_INIT("\x7f"),
    AT_LIT_INIT("\x80"), AT_LIT_INIT("\xff"), AT_LIT_INIT("\xff\xff"),
};
#define ORDERED_COUNT (sizeof(ordered) / sizeof(ordered[0]))

static void order_is_by_unsigned_bytes_prefix_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < ORDERED_COUNT; i++) {
        for (size_t k = 0; k < ORDERED_COUNT; k++) {
            int c = at_slice_cmp(ordered[i], ordered[k]);
            assert_true(i < k ? c < 0 : i > k ? c > 0 : c == 0);
            assert_int_equal(at_slice_eq(ordered[i], ordered[k]), i == k);
        }
    }
}

static void prefixes_are_found(void **state)
{
    (void)state;
    assert_true(at_slice_has_prefix(AT_LIT("abc"), AT_LIT("ab")));
    assert_true(at_slice_has_prefix(AT_LIT("abc"), AT_LIT("abc")));
    assert_true(at_slice_has_prefix(AT_LIT(""), ordered[0]));
    assert_false(at_slice_has_prefix(AT_LIT("abc"), AT_LIT("b")));
    assert_false(at_slice_has_prefix(AT_LIT("ab"), AT_LIT("abc")));
}

static void c_strings_and_rests_are_borrowed(void **state)
{
    const char *text = "hello";

    (void)state;
    struct at_slice s = at_slice_cstr(text);
    assert_ptr_equal(s.data, text);
    assert_int_equal(s.len, 5);
    assert_int_equal(at_slice_cstr(NULL).len, 0);
    assert_true(at_slice_eq_cstr(at_slice_from(s, 2), "llo"));
    assert_int_equal(at_slice_from(s, 5).len, 0);
    assert_int_equal(at_slice_from(ordered[0], 0).len, 0);
    assert_int_equal(AT_LIT("a\0b").len, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_by_unsigned_bytes_prefix_first),
        cmocka_unit_test(prefixes_are_found),
        cmocka_unit_test(c_strings_and_rests_are_borrowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
