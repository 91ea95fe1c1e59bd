#include "base/stamp.h"

#include "support/test.h"

static void stamps_order_by_clock_then_origin(void **state)
{
    static const struct at_stamp ordered[] = {
        {0, {0}}, {0, {1}}, {1, {0}}, {1, {7}}, {UINT64_MAX, {0}}, {UINT64_MAX, {UINT32_MAX}},
    };

    (void)state;
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 6; k++) {
            int c = at_stamp_cmp(ordered[i], ordered[k]);
            assert_int_equal(c, i < k ? -1 : i > k);
        }
    }
}

static void members_are_equal_by_id(void **state)
{
    (void)state;
    assert_true(at_member_eq((struct at_member_id){3}, (struct at_member_id){3}));
    assert_false(at_member_eq((struct at_member_id){3}, (struct at_member_id){4}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_order_by_clock_then_origin),
        cmocka_unit_test(members_are_equal_by_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
