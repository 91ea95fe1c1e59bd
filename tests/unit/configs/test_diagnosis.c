/* Finding a word again in the text. */
#include "configs/diagnosis.h"

#include "support/test.h"

static void words_are_whole_and_counted(void **state)
{
    (void)state;
    struct at_slice text = AT_LIT("ab: abc\n  x-ab: ab\nab\n");
    unsigned line = 0, column = 0;
    assert_true(at_text_place(text, "ab", 0, 1, &line, &column));
    assert_true(line == 1 && column == 1);
    assert_true(at_text_place(text, "ab", 1, 1, &line, &column));
    assert_true(line == 2 && column == 9);
    assert_true(at_text_place(text, "ab", 0, 3, &line, &column));
    assert_true(line == 3 && column == 1);
    assert_false(at_text_place(text, "ab", 3, 1, &line, &column));
    assert_false(at_text_place(text, "", 0, 1, &line, &column));
    assert_false(at_text_place((struct at_slice){0}, "ab", 0, 1, &line, &column));
}

static void a_failure_without_a_place_points_at_the_top(void **state)
{
    (void)state;
    struct at_diagnosis d = {0};
    struct at_error error;
    assert_int_equal(at_diagnosis_fail(&d, "f.yaml", AT_LIT(""), &error), AT_INVALID_ARGUMENT);
    assert_non_null(strstr(error.msg, "f.yaml:1:1: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_whole_and_counted),
        cmocka_unit_test(a_failure_without_a_place_points_at_the_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
