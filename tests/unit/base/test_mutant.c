#include "base/mutant.h"

#include "support/test.h"

#include <string.h>

static void each_has_a_name_of_its_own_and_a_text(void **state)
{
    (void)state;
    for (int i = 0; i < AT_MUTANT_COUNT; i++) {
        assert_true(strlen(at_mutant_text((enum at_mutant)i)) > 10);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(at_mutant_name((enum at_mutant)i),
                                    at_mutant_name((enum at_mutant)k));
    }
}

static void none_is_on_unless_it_is_set(void **state)
{
    (void)state;
    assert_false(AT_MUTANT(lag_zero));
    assert_false(at_mutant_set("no such bug"));
    assert_true(at_mutant_set(NULL));
    assert_int_equal(at_mutant_set("lag_zero"), AT_MUTANT(lag_zero));
    assert_false(AT_MUTANT(gap_ignored));
    (void)at_mutant_set(NULL);
    assert_false(AT_MUTANT(lag_zero));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_a_name_of_its_own_and_a_text),
        cmocka_unit_test(none_is_on_unless_it_is_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
