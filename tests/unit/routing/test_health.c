/* Leave fast, return slowly. */
#include "routing/health.h"

#include "base/clock.h"
#include "support/test.h"

static const struct at_health_config CONFIG = {.heartbeat_ms = 100,
                                               .heartbeat_timeout_ms = 100,
                                               .probes_good = 3,
                                               .lag_ms_max = 1000,
                                               .return_jitter_ms = 0,
                                               .switches_per_minute_max = 4,
                                               .error_burst = 5,
                                               .error_window_ms = 1000};

static const struct at_health_event GOOD = {
    .kind = AT_HEALTH_HEARTBEAT_OK, .ready = true, .lag_known = true, .rtt_us = 200};
static const struct at_health_event LOST = {.kind = AT_HEALTH_HEARTBEAT_LOST};

static struct at_health up_at(uint64_t now_ns)
{
    struct at_health h;
    at_health_init(&h, &CONFIG, 1);
    assert_true(at_health_step(&h, &GOOD, now_ns));
    assert_true(h.up);
    return h;
}

static bool feed(struct at_health *h, const struct at_health_event *e, uint32_t times, uint64_t ns)
{
    bool changed = false;
    for (uint32_t i = 0; i < times; i++)
        changed = at_health_step(h, e, ns + i * 100 * AT_MS_NS) || changed;
    return changed;
}

static void a_fresh_cluster_is_up_after_one_good_heartbeat(void **state)
{
    (void)state;
    struct at_health h = up_at(1);
    assert_int_equal(h.rtt_us, 200);
}

static void one_lost_heartbeat_takes_it_down(void **state)
{
    (void)state;
    struct at_health h = up_at(1);
    assert_true(at_health_step(&h, &LOST, 2));
    assert_false(h.up);
    assert_string_equal(h.reason, "heartbeat lost");
    assert_false(at_health_step(&h, &LOST, 3));
}

static void a_lost_connection_and_a_not_ready_answer_take_it_down(void **state)
{
    (void)state;
    struct at_health h = up_at(1);
    struct at_health_event gone = {.kind = AT_HEALTH_CONNECTION_LOST};
    assert_true(at_health_step(&h, &gone, 2));
    h = up_at(1);
    struct at_health_event not_ready = GOOD;
    not_ready.ready = false;
    assert_true(at_health_step(&h, &not_ready, 2));
    assert_false(h.up);
}

static void only_a_burst_of_errors_takes_it_down(void **state)
{
    (void)state;
    struct at_health_event error = {.kind = AT_HEALTH_REQUEST_ERROR};
    struct at_health h = up_at(1);
    for (int i = 0; i < 20; i++) /* one every 300 ms: never five in a second */
        assert_false(at_health_step(&h, &error, AT_S_NS + (uint64_t)i * 300 * AT_MS_NS));
    h = up_at(1);
    for (int i = 0; i < 4; i++)
        assert_false(at_health_step(&h, &error, AT_S_NS));
    assert_true(at_health_step(&h, &error, AT_S_NS));
    assert_false(h.up);
}

static void it_returns_after_three_good_probes(void **state)
{
    (void)state;
    struct at_health h = up_at(1);
    assert_true(at_health_step(&h, &LOST, AT_S_NS));
    assert_false(feed(&h, &GOOD, 2, 2 * AT_S_NS));
    assert_true(at_health_step(&h, &GOOD, 3 * AT_S_NS));
    assert_true(h.up);
}

static void a_lost_probe_starts_the_count_again(void **state)
{
    (void)state;
    struct at_health h = up_at(1);
    assert_true(at_health_step(&h, &LOST, AT_S_NS));
    assert_false(feed(&h, &GOOD, 2, 2 * AT_S_NS));
    assert_false(at_health_step(&h, &LOST, 3 * AT_S_NS));
    assert_false(feed(&h, &GOOD, 2, 4 * AT_S_NS));
    assert_true(feed(&h, &GOOD, 1, 5 * AT_S_NS));
}

static void it_does_not_return_while_replication_is_behind(void **state)
{
    (void)state;
    struct at_health h = up_at(1);
    assert_true(at_health_step(&h, &LOST, AT_S_NS));
    struct at_health_event behind = GOOD, unknown = GOOD, alone = GOOD;
    behind.lag_ms = 1001;
    unknown.lag_known = false;
    assert_false(feed(&h, &behind, 10, 2 * AT_S_NS));
    assert_false(feed(&h, &unknown, 10, 4 * AT_S_NS));
    assert_string_equal(h.reason, "replication behind");
    alone.lag_known = false;
    alone.alone = true; /* nobody else is there: nothing better could be chosen */
    assert_true(feed(&h, &alone, 3, 6 * AT_S_NS));
}

static void the_jitter_delays_the_return(void **state)
{
    (void)state;
    struct at_health_config config = CONFIG;
    config.return_jitter_ms = 1000;
    bool delayed = false;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct at_health h;
        at_health_init(&h, &config, seed);
        assert_true(at_health_step(&h, &GOOD, 1));
        assert_true(at_health_step(&h, &LOST, AT_S_NS));
        (void)feed(&h, &GOOD, 3, 2 * AT_S_NS);
        delayed = delayed || !h.up;
        struct at_health_event tick = {.kind = AT_HEALTH_TICK};
        (void)at_health_step(&h, &tick, 4 * AT_S_NS);
        assert_true(h.up);
    }
    assert_true(delayed);
}

static void returns_are_limited_per_minute(void **state)
{
    (void)state;
    struct at_health h = up_at(1);
    uint64_t now = AT_S_NS;
    uint32_t returns = 0;
    for (int i = 0; i < 20; i++, now += AT_S_NS) {
        (void)at_health_step(&h, &LOST, now);
        returns += feed(&h, &GOOD, 3, now) ? 1 : 0;
    }
    assert_int_equal(returns, 3); /* the first rise of the minute counts as well */
    assert_true(feed(&h, &GOOD, 3, now + 61 * AT_S_NS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_cluster_is_up_after_one_good_heartbeat),
        cmocka_unit_test(one_lost_heartbeat_takes_it_down),
        cmocka_unit_test(a_lost_connection_and_a_not_ready_answer_take_it_down),
        cmocka_unit_test(only_a_burst_of_errors_takes_it_down),
        cmocka_unit_test(it_returns_after_three_good_probes),
        cmocka_unit_test(a_lost_probe_starts_the_count_again),
        cmocka_unit_test(it_does_not_return_while_replication_is_behind),
        cmocka_unit_test(the_jitter_delays_the_return),
        cmocka_unit_test(returns_are_limited_per_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
