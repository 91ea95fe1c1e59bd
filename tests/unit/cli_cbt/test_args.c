/* test_args.c: arguments as cbt reads them. */
#include "support/test.h"

#include "cli/cbt/args.h"

static void options_are_found_by_key(void **state)
{
    (void)state;
    char start[] = "start=a=b";
    char empty[] = "end=";
    char *args[] = {start, empty};
    struct at_cbt_option o[] = {{.key = "end"}, {.key = "start"}, {.key = "count"}, {0}};
    assert_int_equal(at_cbt_args_parse(args, 2, o, NULL), AT_OK);
    assert_string_equal(o[1].value, "a=b");
    assert_true(at_cbt_args_given(&o[1]));
    assert_false(at_cbt_args_given(&o[0]));
    assert_null(o[2].value);
}

static void other_arguments_are_refused(void **state)
{
    (void)state;
    char unknown[] = "foo=1";
    char plain[] = "foo";
    char *args[] = {unknown, plain};
    struct at_cbt_option o[] = {{.key = "end"}, {0}};
    struct at_error error;
    assert_int_equal(at_cbt_args_parse(args, 1, o, &error), AT_INVALID_ARGUMENT);
    assert_string_equal(error.msg, "unknown arg key \"foo\"");
    assert_int_equal(at_cbt_args_parse(args + 1, 1, o, &error), AT_INVALID_ARGUMENT);
    assert_string_equal(error.msg, "bad arg \"foo\"");
}

static void numbers_are_whole_strings(void **state)
{
    (void)state;
    static const char *const BAD[] = {"", " 1", "1 ", "x", "0x", "1.5", "9223372036854775808"};
    int64_t n = 0;
    assert_true(at_cbt_int(at_slice_cstr("-12"), &n));
    assert_int_equal(n, -12);
    assert_true(at_cbt_int(at_slice_cstr("0x1f"), &n));
    assert_int_equal(n, 31);
    assert_true(at_cbt_int(at_slice_cstr("9223372036854775807"), &n));
    assert_true(n == INT64_MAX);
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
        assert_false(at_cbt_int(at_slice_cstr(BAD[i]), &n));
}

static void booleans_have_few_spellings(void **state)
{
    (void)state;
    bool b = false;
    assert_true(at_cbt_bool("true", &b) && b);
    assert_true(at_cbt_bool("F", &b) && !b);
    assert_true(at_cbt_bool("1", &b) && b);
    assert_false(at_cbt_bool("yes", &b));
    assert_false(at_cbt_bool("", &b));
}

struct cell_case {
    const char *arg;
    const char *family;
    const char *qualifier;
    const char *value;
    int64_t micros; /* 0: none */
};

static void cells_have_family_qualifier_value_and_time(void **state)
{
    (void)state;
    static const struct cell_case CASES[] = {
        {"f:q=v", "f", "q", "v", 0},
        {"f:=v", "f", "", "v", 0},
        {"f:q=", "f", "q", "", 0},
        {"f:a:b=c=d", "f", "a:b", "c=d", 0},
        {"f:q=v@1000", "f", "q", "v", 1000},
        {"f:q=v@1999", "f", "q", "v", 1000},
        {"f:q=v@-1", "f", "q", "v", -1},
        {"f:q=a@b", "f", "q", "a@b", 0},
        {"f:q=a@1@2000", "f", "q", "a@1", 2000},
        {"f:q=a@2000@", "f", "q", "a@2000@", 0},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct at_cbt_cell cell;
        assert_int_equal(at_cbt_cell_parse(CASES[i].arg, &cell, NULL), AT_OK);
        assert_true(at_slice_eq_cstr(cell.family, CASES[i].family));
        assert_true(at_slice_eq_cstr(cell.qualifier, CASES[i].qualifier));
        assert_true(at_slice_eq_cstr(cell.value, CASES[i].value));
        assert_int_equal(cell.has_timestamp, CASES[i].micros != 0);
        if (cell.has_timestamp)
            assert_int_equal(cell.timestamp_micros, CASES[i].micros);
    }
}

static void what_is_no_cell_is_refused(void **state)
{
    (void)state;
    static const char *const BAD[] = {"", "f", "f:q", "f=v", ":q=v"};
    struct at_cbt_cell cell;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
        assert_int_equal(at_cbt_cell_parse(BAD[i], &cell, NULL), AT_INVALID_ARGUMENT);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(options_are_found_by_key),
        cmocka_unit_test(other_arguments_are_refused),
        cmocka_unit_test(numbers_are_whole_strings),
        cmocka_unit_test(booleans_have_few_spellings),
        cmocka_unit_test(cells_have_family_qualifier_value_and_time),
        cmocka_unit_test(what_is_no_cell_is_refused),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
