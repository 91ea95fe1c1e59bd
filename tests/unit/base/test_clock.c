#include "base/clock.h"

#include "support/test.h"

#include <time.h>

static void wall_time_is_the_machine_s(void **state)
{
    struct at_clock c = at_clock_system();

    (void)state;
    uint64_t before_s = (uint64_t)time(NULL);
    uint64_t now_ns = at_clock_wall_ns(&c);
    assert_in_range(now_ns / AT_S_NS, before_s ? before_s - 1 : 0, (uint64_t)time(NULL) + 1);
}

static void monotonic_time_never_goes_back(void **state)
{
    struct at_clock c = at_clock_system();
    struct timespec pause = {.tv_nsec = 2000000};

    (void)state;
    uint64_t start_ns = at_clock_mono_ns(&c);
    uint64_t last_ns = start_ns;
    for (int i = 0; i < 10000; i++) {
        uint64_t now_ns = at_clock_mono_ns(&c);
        assert_true(now_ns >= last_ns);
        last_ns = now_ns;
    }
    nanosleep(&pause, NULL);
    assert_true(at_clock_mono_ns(&c) - start_ns >= 2 * AT_MS_NS);
}

static uint64_t fixed_ns(void *ctx)
{
    return *(uint64_t *)ctx;
}

static void a_test_can_bend_it(void **state)
{
    uint64_t now_ns = 5;
    struct at_clock c = {.wall_ns = fixed_ns, .mono_ns = fixed_ns, .ctx = &now_ns};

    (void)state;
    assert_int_equal(at_clock_wall_ns(&c), 5);
    now_ns = 3;
    assert_int_equal(at_clock_wall_ns(&c), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wall_time_is_the_machine_s),
        cmocka_unit_test(monotonic_time_never_goes_back),
        cmocka_unit_test(a_test_can_bend_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
