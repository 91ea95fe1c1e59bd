#include "base/clock.h"
#include "replication/rate.h"
#include "support/test.h"

#define T0 (1000 * AT_S_NS)

static void it_is_zero_before_anything_came(void **state)
{
    (void)state;
    struct at_rate r = {0};
    assert_int_equal(at_rate_of(&r, T0), 0);
}

static void the_first_second_counts_as_a_whole_one(void **state)
{
    (void)state;
    struct at_rate r = {0};
    at_rate_add(&r, 50, T0);
    assert_int_equal(at_rate_of(&r, T0), 50);
    assert_int_equal(at_rate_of(&r, T0 + 100 * AT_MS_NS), 50);
}

static void a_steady_flow_shows_its_rate(void **state)
{
    (void)state;
    struct at_rate r = {0};
    uint64_t now = T0;
    for (int i = 0; i < 1000; i++, now += 10 * AT_MS_NS)
        at_rate_add(&r, 7, now);
    assert_in_range(at_rate_of(&r, now), 690, 710);
}

/* As of a link that was cut: it carries nothing any more. */
static void a_flow_that_stopped_shows_less_and_less(void **state)
{
    (void)state;
    struct at_rate r = {0};
    uint64_t now = T0;
    for (int i = 0; i < 201; i++, now += 10 * AT_MS_NS) /* the last one ends a window */
        at_rate_add(&r, 7, now);
    assert_in_range(at_rate_of(&r, now + 1500 * AT_MS_NS), 690, 710);
    assert_int_equal(at_rate_of(&r, now + 2000 * AT_MS_NS), 0);
    for (int i = 0; i < 100; i++, now += 10 * AT_MS_NS)
        at_rate_add(&r, 7, now);
    assert_in_range(at_rate_of(&r, now + 1500 * AT_MS_NS), 270, 290); /* 700 in 2.5 s */
}

static void it_falls_to_zero_when_nothing_comes_and_begins_anew(void **state)
{
    (void)state;
    struct at_rate r = {0};
    uint64_t now = T0;
    for (int i = 0; i < 1000; i++, now += 10 * AT_MS_NS)
        at_rate_add(&r, 7, now);
    now += 5 * AT_S_NS;
    assert_int_equal(at_rate_of(&r, now), 0);
    at_rate_add(&r, 3, now);
    assert_int_equal(at_rate_of(&r, now), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_zero_before_anything_came),
        cmocka_unit_test(the_first_second_counts_as_a_whole_one),
        cmocka_unit_test(a_steady_flow_shows_its_rate),
        cmocka_unit_test(a_flow_that_stopped_shows_less_and_less),
        cmocka_unit_test(it_falls_to_zero_when_nothing_comes_and_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
