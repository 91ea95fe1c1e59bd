#include "cluster/service/drop_set.h"

#include <stdio.h>

#include "support/test.h"

static void a_table_is_entered_once_until_it_is_left(void **state)
{
    struct at_drop_set set;

    (void)state;
    at_drop_set_init(&set);
    assert_true(at_drop_set_enter(&set, AT_LIT("a")));
    assert_true(at_drop_set_enter(&set, AT_LIT("ab")));
    assert_false(at_drop_set_enter(&set, AT_LIT("a")));
    at_drop_set_leave(&set, AT_LIT("a"));
    assert_false(at_drop_set_enter(&set, AT_LIT("ab")));
    assert_true(at_drop_set_enter(&set, AT_LIT("a")));
    at_drop_set_leave(&set, AT_LIT("ab"));
    at_drop_set_leave(&set, AT_LIT("a"));
    at_drop_set_deinit(&set);
}

static void the_set_is_bounded(void **state)
{
    struct at_drop_set set;
    char id[AT_KEPT_NAME_BYTES_MAX + 1];

    (void)state;
    at_drop_set_init(&set);
    memset(id, 'x', sizeof(id));
    assert_false(at_drop_set_enter(&set, at_slice_make(id, sizeof(id))));
    assert_false(at_drop_set_enter(&set, at_slice_make(id, 0)));
    assert_true(at_drop_set_enter(&set, at_slice_make(id, sizeof(id) - 1)));
    for (unsigned i = 1; i < AT_DROPS_MAX; i++) {
        int len = snprintf(id, sizeof(id), "t%u", i);
        assert_true(at_drop_set_enter(&set, at_slice_make(id, (size_t)len)));
    }
    assert_false(at_drop_set_enter(&set, AT_LIT("more")));
    at_drop_set_leave(&set, AT_LIT("t7"));
    assert_true(at_drop_set_enter(&set, AT_LIT("more")));
    at_drop_set_deinit(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_entered_once_until_it_is_left),
        cmocka_unit_test(the_set_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
