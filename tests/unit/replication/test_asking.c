#include "replication/asking.h"

#include "base/clock.h"
#include "support/test.h"

#define S AT_S_NS
#define MS AT_MS_NS

static struct at_asking open_at(uint64_t now_ns)
{
    struct at_asking a;

    at_asking_init(&a, now_ns);
    assert_true(at_asking_due(&a, now_ns));
    (void)at_asking_begin(&a, now_ns);
    return a;
}

static void asks_at_once_after_something_was_applied(void **state)
{
    (void)state;
    struct at_asking a = open_at(S);

    assert_false(at_asking_due(&a, 100 * S)); /* one question at a time */
    at_asking_replied(&a, false, S + MS);
    assert_false(at_asking_due(&a, 100 * S)); /* while it is applied as well */
    at_asking_applied(&a, AT_ASKING_MOVED, S + 2 * MS);
    assert_true(at_asking_due(&a, S + 2 * MS));
}

static void backs_off_from_50_ms_to_1_s_when_it_fails(void **state)
{
    (void)state;
    static const uint64_t pauses_ms[] = {50, 100, 200, 400, 800, 1000, 1000};
    struct at_asking a;
    uint64_t now_ns = S;

    at_asking_init(&a, now_ns);
    for (size_t i = 0; i < sizeof(pauses_ms) / sizeof(*pauses_ms); i++) {
        (void)at_asking_begin(&a, now_ns);
        assert_false(at_asking_failed(&a, AT_UNAVAILABLE, now_ns));
        assert_false(at_asking_due(&a, now_ns + pauses_ms[i] * MS - 1));
        now_ns += pauses_ms[i] * MS;
        assert_true(at_asking_due(&a, now_ns));
    }
    (void)at_asking_begin(&a, now_ns);
    at_asking_replied(&a, false, now_ns);
    at_asking_applied(&a, AT_ASKING_MOVED, now_ns);
    (void)at_asking_begin(&a, now_ns);
    (void)at_asking_failed(&a, AT_UNAVAILABLE, now_ns);
    assert_true(at_asking_due(&a, now_ns + 50 * MS)); /* begins anew after a success */
}

static void backs_off_when_nothing_could_be_applied(void **state)
{
    (void)state;
    struct at_asking a = open_at(S);

    at_asking_replied(&a, false, S);
    at_asking_applied(&a, AT_ASKING_STALLED, S);
    assert_true(a.stalled);
    assert_false(at_asking_due(&a, S + 49 * MS));
    assert_true(at_asking_due(&a, S + 50 * MS));
    (void)at_asking_begin(&a, S + 50 * MS);
    at_asking_replied(&a, false, S + 51 * MS);
    at_asking_applied(&a, AT_ASKING_MOVED, S + 51 * MS);
    assert_false(a.stalled);
}

static void early_empty_replies_make_no_busy_loop(void **state)
{
    (void)state;
    struct at_asking a = open_at(S);

    at_asking_replied(&a, false, S);
    at_asking_applied(&a, AT_ASKING_EMPTY, S);
    assert_false(at_asking_due(&a, S + 19 * MS));
    assert_true(at_asking_due(&a, S + 20 * MS));

    (void)at_asking_begin(&a, S + 20 * MS);
    at_asking_replied(&a, false, 2 * S); /* it waited at the donor */
    at_asking_applied(&a, AT_ASKING_EMPTY, 2 * S);
    assert_true(at_asking_due(&a, 2 * S));
}

static void waits_longer_after_deadlines_and_then_wants_a_new_socket(void **state)
{
    (void)state;
    struct at_asking a;
    uint64_t now_ns = S;
    uint32_t before_ms = 0;

    at_asking_init(&a, now_ns);
    for (int i = 1; i <= 6; i++) {
        uint32_t timeout_ms = at_asking_timeout_ms(&a, 1000);
        assert_true(timeout_ms >= before_ms && timeout_ms <= 25000);
        before_ms = timeout_ms;
        (void)at_asking_begin(&a, now_ns);
        assert_int_equal(at_asking_failed(&a, AT_DEADLINE_EXCEEDED, now_ns), i % 3 == 0);
        now_ns = a.due_ns;
    }
    assert_true(before_ms > at_asking_timeout_ms(&(struct at_asking){0}, 1000));
    (void)at_asking_begin(&a, now_ns);
    at_asking_replied(&a, false, now_ns);
    assert_int_equal(at_asking_timeout_ms(&a, 1000), 4000);
}

static void is_in_touch_only_by_good_replies(void **state)
{
    (void)state;
    struct at_asking a = open_at(S);

    assert_false(at_asking_in_touch(&a, S, 2 * S));
    (void)at_asking_failed(&a, AT_INVALID_ARGUMENT, S);
    assert_false(at_asking_in_touch(&a, S, 2 * S));
    (void)at_asking_begin(&a, 2 * S);
    at_asking_replied(&a, false, 3 * S);
    assert_true(at_asking_in_touch(&a, 5 * S, 2 * S));
    assert_false(at_asking_in_touch(&a, 5 * S + 1, 2 * S));
}

static struct at_asking long_link(uint64_t now_ns, bool full)
{
    struct at_asking a = open_at(now_ns);

    at_asking_probed(&a, 100 * MS);
    at_asking_replied(&a, full, now_ns);
    at_asking_applied(&a, AT_ASKING_MOVED, now_ns);
    return a;
}

static void a_link_that_is_never_empty_is_emptied_for_a_probe(void **state)
{
    (void)state;
    struct at_asking a = long_link(30 * S, true);

    a.probe_ns = 30 * S;
    for (int i = 0; i < AT_ASKING_DEPTH_MAX; i++)
        assert_false(at_asking_begin(&a, 30 * S));
    for (uint64_t now_ns = 30 * S + 100 * MS; now_ns < 49 * S; now_ns += 100 * MS) {
        at_asking_replied(&a, true, now_ns);
        at_asking_applied(&a, AT_ASKING_MOVED, now_ns);
        assert_true(at_asking_due(&a, now_ns));
        assert_false(at_asking_begin(&a, now_ns)); /* full of ordinary ones for a while */
    }
    for (int i = 0; i < AT_ASKING_DEPTH_MAX; i++) {
        assert_false(i > 0 && at_asking_wants(&a));
        at_asking_replied(&a, true, 51 * S);
        at_asking_applied(&a, AT_ASKING_MOVED, 51 * S);
    }
    assert_true(at_asking_due(&a, 51 * S));
    assert_true(at_asking_begin(&a, 51 * S));
    at_asking_probed(&a, 2 * MS);
    assert_int_equal(a.rtt_ns, 2 * MS);
}

static void a_reply_that_comes_faster_tells_the_round_trip_too(void **state)
{
    (void)state;
    struct at_asking a = long_link(S, true);

    at_asking_took(&a, 300 * MS); /* it may have waited */
    assert_int_equal(a.rtt_ns, 100 * MS);
    at_asking_took(&a, 4 * MS);
    assert_int_equal(a.rtt_ns, 4 * MS);
    at_asking_init(&a, S);
    at_asking_took(&a, 4 * MS); /* nothing is known yet */
    assert_int_equal(a.rtt_ns, 0);
}

static void a_long_link_is_filled_when_replies_come_full(void **state)
{
    (void)state;
    struct at_asking a = long_link(S, true);

    for (int i = 0; i < AT_ASKING_DEPTH_MAX; i++) {
        assert_true(at_asking_due(&a, S));
        assert_false(at_asking_begin(&a, S));
    }
    assert_false(at_asking_due(&a, 100 * S));
    at_asking_replied(&a, true, S + 100 * MS);
    assert_false(at_asking_due(&a, 100 * S)); /* it is under way until it is through */
    at_asking_applied(&a, AT_ASKING_MOVED, S + 101 * MS);
    assert_true(at_asking_due(&a, S + 101 * MS));
    a = long_link(S, false);
    (void)at_asking_begin(&a, S);
    (void)at_asking_begin(&a, S);
    assert_false(at_asking_due(&a, 100 * S)); /* two, so that news never wait for a question */
}

static void after_a_failure_the_whole_flight_ends_first(void **state)
{
    (void)state;
    struct at_asking a = long_link(S, true);

    for (int i = 0; i < 3; i++)
        (void)at_asking_begin(&a, S);
    (void)at_asking_failed(&a, AT_UNAVAILABLE, S);
    assert_false(at_asking_due(&a, 100 * S));
    (void)at_asking_failed(&a, AT_CANCELLED, S);
    assert_false(at_asking_wants(&a));
    (void)at_asking_failed(&a, AT_CANCELLED, S);
    assert_true(at_asking_wants(&a));
    assert_false(at_asking_due(&a, S + 49 * MS));
    assert_true(at_asking_due(&a, S + 50 * MS)); /* the back-off of one failure */
    (void)at_asking_begin(&a, S + 50 * MS);
    assert_true(at_asking_due(&a, 2 * S)); /* and it goes on as before */
}

static void a_probe_comes_first_and_every_five_seconds(void **state)
{
    (void)state;
    struct at_asking a;

    at_asking_init(&a, S);
    assert_true(at_asking_begin(&a, S));
    at_asking_probed(&a, 7 * MS);
    assert_true(at_asking_slow(&a));
    at_asking_replied(&a, false, S);
    at_asking_applied(&a, AT_ASKING_MOVED, S);
    assert_false(at_asking_begin(&a, 2 * S));
    at_asking_replied(&a, false, 2 * S);
    at_asking_applied(&a, AT_ASKING_MOVED, 2 * S);
    assert_true(at_asking_begin(&a, 6 * S));
    at_asking_probed(&a, MS); /* the fastest of the last three counts */
    assert_false(at_asking_slow(&a));
    assert_int_equal(at_asking_depth(&a), 1);
    for (int i = 0; i < 3; i++)
        at_asking_probed(&a, 9 * MS);
    assert_true(at_asking_slow(&a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_that_is_never_empty_is_emptied_for_a_probe),
        cmocka_unit_test(a_reply_that_comes_faster_tells_the_round_trip_too),
        cmocka_unit_test(a_long_link_is_filled_when_replies_come_full),
        cmocka_unit_test(after_a_failure_the_whole_flight_ends_first),
        cmocka_unit_test(a_probe_comes_first_and_every_five_seconds),
        cmocka_unit_test(asks_at_once_after_something_was_applied),
        cmocka_unit_test(backs_off_from_50_ms_to_1_s_when_it_fails),
        cmocka_unit_test(backs_off_when_nothing_could_be_applied),
        cmocka_unit_test(early_empty_replies_make_no_busy_loop),
        cmocka_unit_test(waits_longer_after_deadlines_and_then_wants_a_new_socket),
        cmocka_unit_test(is_in_touch_only_by_good_replies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
