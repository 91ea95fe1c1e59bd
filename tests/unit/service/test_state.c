#include "cluster/service/state.h"

#include "support/test.h"

static void each_loop_has_one_lane_for_good(void **state)
{
    enum { LOOPS = 5 };
    struct at_loop *loops[LOOPS];
    struct at_lane *lanes[LOOPS];
    struct at_service_state *s = at_service_state_new();

    (void)state;
    for (int i = 0; i < LOOPS; i++) {
        loops[i] = at_loop_new(at_clock_system());
        lanes[i] = at_service_lane(s, NULL, loops[i]);
        assert_ptr_equal(at_lane_loop(lanes[i]), loops[i]);
        for (int j = 0; j < i; j++)
            assert_ptr_not_equal(lanes[i], lanes[j]);
    }
    for (int i = 0; i < LOOPS; i++)
        assert_ptr_equal(at_service_lane(s, NULL, loops[i]), lanes[i]);
    at_service_state_free(&s);
    assert_null(s);
    at_service_state_free(&s);
    for (int i = 0; i < LOOPS; i++)
        at_loop_free(&loops[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_loop_has_one_lane_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
