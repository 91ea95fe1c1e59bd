#include "cluster/backup/pace.h"

#include "base/clock.h"
#include "support/test.h"

static uint64_t now_ns(void)
{
    struct at_clock clock = at_clock_system();

    return at_clock_mono_ns(&clock);
}

static void rests_as_long(void **state)
{
    struct at_pace pace;
    uint64_t start_ns = now_ns();

    (void)state;
    at_pace_start(&pace);
    while (now_ns() - start_ns < 10 * AT_MS_NS)
        continue;
    at_pace_rest(&pace);
    assert_true(now_ns() - start_ns >= 20 * AT_MS_NS);
    pace.worked_from_ns = now_ns() - 3600 * AT_S_NS;
    start_ns = now_ns();
    at_pace_rest(&pace);
    assert_true(now_ns() - start_ns >= 50 * AT_MS_NS);
    assert_true(now_ns() - start_ns < 5 * AT_S_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"rests as long as it worked, but never for long", rests_as_long, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
