#include "replication/guard.h"

#include "support/test.h"

#define SKEW (400 * AT_MS_NS)
#define NOW (UINT64_C(1700000000) * AT_S_NS)
#define MONO (1000 * AT_S_NS)
#define MS(n) ((uint64_t)((int64_t)(NOW) + (int64_t)(n) * (int64_t)AT_MS_NS))

struct median_case {
    const char *name;
    int64_t own_ms; /* off NOW */
    uint32_t heard_count;
    int64_t heard_ms[4];
    enum at_guard_verdict verdict;
};

static const struct median_case median_cases[] = {
    {"two that agree", 0, 1, {100}, AT_GUARD_FINE},
    {"two: the one ahead refuses", 500, 1, {0}, AT_GUARD_AHEAD},
    {"two: the one behind goes on", 0, 1, {500}, AT_GUARD_FINE},
    {"three: one other that is slow does not lock out", 0, 2, {0, -5000}, AT_GUARD_FINE},
    {"three: ahead of both", 500, 2, {0, 50}, AT_GUARD_AHEAD},
    {"three: behind both", -500, 2, {0, 50}, AT_GUARD_BEHIND},
    {"three: one other that is ahead", 0, 2, {5000, 10}, AT_GUARD_FINE},
    {"four: with a fast pair, the fast refuse", 500, 3, {500, 0, 0}, AT_GUARD_AHEAD},
    {"four: with a fast pair, the others go on", 0, 3, {500, 500, 0}, AT_GUARD_FINE},
    {"exactly max_skew ahead is allowed", 400, 1, {0}, AT_GUARD_FINE},
};

static void the_median_of_the_clocks_decides(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(median_cases) / sizeof(median_cases[0]); i++) {
        const struct median_case *c = &median_cases[i];
        struct at_guard g;
        at_guard_init(&g, SKEW);
        for (uint32_t k = 0; k < c->heard_count; k++)
            at_guard_hear(&g, (struct at_member_id){k + 2}, MS(c->heard_ms[k]), MONO);
        struct at_guard_finding f =
            at_guard_judge(&g, MS(c->own_ms), 0, MS(c->own_ms), MONO, false);
        if (f.verdict != c->verdict)
            fail_msg("%s: verdict %d", c->name, (int)f.verdict);
        assert_int_equal(f.heard_count, c->heard_count);
    }
}

static void of_two_the_other_is_named(void **state)
{
    struct at_guard g;
    (void)state;

    at_guard_init(&g, SKEW);
    at_guard_hear(&g, (struct at_member_id){9}, NOW, MONO);
    assert_int_equal(at_guard_judge(&g, MS(500), 0, MS(500), MONO, false).other.v, 9);
}

static void the_clock_of_a_member_that_is_gone_does_not_count(void **state)
{
    struct at_guard g;
    (void)state;

    at_guard_init(&g, SKEW);
    at_guard_hear(&g, (struct at_member_id){2}, MS(-600), MONO);
    at_guard_hear(&g, (struct at_member_id){3}, MS(-600), MONO);
    at_guard_hear(&g, (struct at_member_id){4}, NOW, MONO);
    assert_int_equal(at_guard_judge(&g, NOW, 0, NOW, MONO, false).verdict, AT_GUARD_AHEAD);
    at_guard_forget(&g, (struct at_member_id){2});
    at_guard_forget(&g, (struct at_member_id){3});
    struct at_guard_finding f = at_guard_judge(&g, NOW, 0, NOW, MONO, false);
    assert_int_equal(f.verdict, AT_GUARD_FINE);
    assert_int_equal(f.heard_count, 1);
}

static void a_clock_goes_on_after_it_was_heard_and_is_forgotten_in_silence(void **state)
{
    struct at_guard g;
    (void)state;

    at_guard_init(&g, SKEW);
    at_guard_hear(&g, (struct at_member_id){2}, NOW, MONO);
    assert_int_equal(at_guard_judge(&g, MS(3000), 0, MS(3000), MONO + 3 * AT_S_NS, false).verdict,
                     AT_GUARD_FINE);
    struct at_guard_finding f =
        at_guard_judge(&g, MS(3600), 0, MS(3600), MONO + 3 * AT_S_NS, false);
    assert_int_equal(f.verdict, AT_GUARD_AHEAD);
    f = at_guard_judge(&g, MS(60000), 0, MS(60000), MONO + 60 * AT_S_NS, false);
    assert_int_equal(f.verdict, AT_GUARD_FINE);
    assert_int_equal(f.heard_count, 0);
}

static void the_operators_release_lifts_the_guard(void **state)
{
    struct at_guard g;
    (void)state;

    at_guard_init(&g, SKEW);
    at_guard_hear(&g, (struct at_member_id){2}, NOW, MONO);
    assert_int_equal(at_guard_judge(&g, MS(9000), MS(8700), MS(9000), MONO, false).verdict,
                     AT_GUARD_FINE);
    assert_int_equal(at_guard_judge(&g, MS(9200), MS(8700), MS(9200), MONO, false).verdict,
                     AT_GUARD_AHEAD);
}

static void cut_off_a_jump_of_the_wall_clock_is_refused(void **state)
{
    struct at_guard g;
    (void)state;

    at_guard_init(&g, SKEW);
    assert_int_equal(at_guard_judge(&g, NOW, 0, NOW, MONO, false).verdict, AT_GUARD_FINE);
    assert_int_equal(
        at_guard_judge(&g, MS(60000), 0, MS(60000), MONO + 60 * AT_S_NS, false).verdict,
        AT_GUARD_FINE);
    assert_int_equal(
        at_guard_judge(&g, MS(70000), 0, MS(70000), MONO + 61 * AT_S_NS, false).verdict,
        AT_GUARD_JUMPED);
    /* back again, or slewed */
    assert_int_equal(
        at_guard_judge(&g, MS(62000), 0, MS(62000), MONO + 62 * AT_S_NS, false).verdict,
        AT_GUARD_FINE);
    /* the others agree with the new time */
    at_guard_hear(&g, (struct at_member_id){2}, MS(72000), MONO + 62 * AT_S_NS);
    assert_int_equal(
        at_guard_judge(&g, MS(72000), 0, MS(72000), MONO + 62 * AT_S_NS, false).verdict,
        AT_GUARD_FINE);
    assert_int_equal(
        at_guard_judge(&g, MS(82000), 0, MS(82000), MONO + 72 * AT_S_NS, false).verdict,
        AT_GUARD_FINE);
}

static void an_instance_of_one_trusts_its_clock(void **state)
{
    struct at_guard g;
    (void)state;

    at_guard_init(&g, SKEW);
    (void)at_guard_judge(&g, NOW, 0, NOW, MONO, true);
    assert_int_equal(at_guard_judge(&g, MS(90000), 0, MS(90000), MONO, true).verdict,
                     AT_GUARD_FINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_of_the_clocks_decides),
        cmocka_unit_test(of_two_the_other_is_named),
        cmocka_unit_test(a_clock_goes_on_after_it_was_heard_and_is_forgotten_in_silence),
        cmocka_unit_test(the_clock_of_a_member_that_is_gone_does_not_count),
        cmocka_unit_test(the_operators_release_lifts_the_guard),
        cmocka_unit_test(cut_off_a_jump_of_the_wall_clock_is_refused),
        cmocka_unit_test(an_instance_of_one_trusts_its_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
