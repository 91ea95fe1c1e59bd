#include "base/status.h"

#include "support/test.h"

#include <string.h>

static void codes_have_the_numbers_and_names_of_grpc(void **state)
{
    (void)state;
    assert_int_equal(AT_CODE_COUNT, 17);
    assert_int_equal(AT_NOT_FOUND, 5);
    assert_string_equal(at_code_name(AT_OK), "OK");
    assert_string_equal(at_code_name(AT_FAILED_PRECONDITION), "FAILED_PRECONDITION");
    assert_string_equal(at_code_name(AT_UNAUTHENTICATED), "UNAUTHENTICATED");
    assert_string_equal(at_code_name((enum at_code)17), "UNKNOWN");
    assert_string_equal(at_code_name((enum at_code) - 1), "UNKNOWN");
}

static void foreign_numbers_become_unknown(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < AT_CODE_COUNT; i++)
        assert_int_equal(at_code_from_number(i), i);
    assert_int_equal(at_code_from_number(17), AT_UNKNOWN);
    assert_int_equal(at_code_from_number(UINT32_MAX), AT_UNKNOWN);
}

static void fail_says_what_and_where(void **state)
{
    struct at_error e;

    (void)state;
    memset(&e, 0xff, sizeof(e));
    assert_int_equal(at_fail(&e, AT_NOT_FOUND, "table %s not found", "t1"), AT_NOT_FOUND);
    assert_int_equal(e.code, AT_NOT_FOUND);
    assert_int_equal(e.retry_after_ms, 0);
    assert_string_equal(e.msg, "table t1 not found");
    assert_non_null(strstr(e.where, "test_status.c:"));
}

static void a_null_error_is_legal(void **state)
{
    (void)state;
    assert_int_equal(at_fail(NULL, AT_ABORTED, "x"), AT_ABORTED);
    assert_int_equal(at_wrap(NULL, AT_ABORTED, "x"), AT_ABORTED);
}

static void a_long_message_is_cut_and_marked(void **state)
{
    struct at_error e;
    char text[500];

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(at_fail(&e, AT_INTERNAL, "%s", text), AT_INTERNAL);
    assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
    assert_string_equal(e.msg + sizeof(e.msg) - 5, "a...");

    text[sizeof(e.msg) - 1] = '\0';
    assert_int_equal(at_fail(&e, AT_INTERNAL, "%s", text), AT_INTERNAL);
    assert_string_equal(e.msg, text);
}

static void wrap_prefixes_and_keeps_the_code(void **state)
{
    struct at_error e;
    char text[300];

    (void)state;
    assert_int_equal(at_fail(&e, AT_DATA_LOSS, "bad crc"), AT_DATA_LOSS);
    const char *where = e.where;
    assert_int_equal(at_wrap(&e, AT_INTERNAL, "apply batch %d", 3), AT_DATA_LOSS);
    assert_string_equal(e.msg, "apply batch 3: bad crc");
    assert_ptr_equal(e.where, where);

    memset(text, 'b', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(at_wrap(&e, AT_INTERNAL, "%s", text), AT_DATA_LOSS);
    assert_string_equal(e.msg + sizeof(e.msg) - 5, "b...");

    text[225] = '\0';
    assert_int_equal(at_fail(&e, AT_DATA_LOSS, "0123456789"), AT_DATA_LOSS);
    assert_int_equal(at_wrap(&e, AT_INTERNAL, "%s", text), AT_DATA_LOSS);
    assert_string_equal(e.msg + 225, ": 0...");
}

static enum at_code try_it(enum at_code code, int *ret_reached)
{
    AT_TRY(code);
    *ret_reached = 1;
    return AT_OK;
}

static void try_returns_on_failure_only(void **state)
{
    int reached = 0;

    (void)state;
    assert_int_equal(try_it(AT_ABORTED, &reached), AT_ABORTED);
    assert_int_equal(reached, 0);
    assert_int_equal(try_it(AT_OK, &reached), AT_OK);
    assert_int_equal(reached, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_have_the_numbers_and_names_of_grpc),
        cmocka_unit_test(foreign_numbers_become_unknown),
        cmocka_unit_test(fail_says_what_and_where),
        cmocka_unit_test(a_null_error_is_legal),
        cmocka_unit_test(a_long_message_is_cut_and_marked),
        cmocka_unit_test(wrap_prefixes_and_keeps_the_code),
        cmocka_unit_test(try_returns_on_failure_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
