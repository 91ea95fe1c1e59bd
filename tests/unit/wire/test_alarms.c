#include "support/test.h"

#include "wire/alarms.h"

struct bell {
    struct at_alarm alarm;
    struct at_alarms *alarms;
    uint64_t due_ns;
    uint32_t rung;
    struct bell *sets; /* set anew when this rings */
    bool last;
};

static void ring(struct at_alarm *alarm)
{
    struct bell *b = (struct bell *)alarm;
    uint64_t now_ns = at_loop_now_ns(b->alarms->loop);
    assert_true(now_ns >= b->due_ns);
    b->rung++;
    if (b->sets) {
        b->sets->due_ns = now_ns + 5 * AT_MS_NS;
        at_alarms_set(b->alarms, &b->sets->alarm, b->sets->due_ns);
    }
    if (b->last)
        at_loop_stop(b->alarms->loop);
}

static struct bell bell(struct at_alarms *alarms, uint64_t in_ms)
{
    return (struct bell){.alarm.ring = ring,
                         .alarms = alarms,
                         .due_ns = at_loop_now_ns(alarms->loop) + in_ms * AT_MS_NS};
}

static void alarms_ring_once_each_when_due(void **state)
{
    (void)state;
    struct at_loop *loop = at_loop_new(at_clock_system());
    struct at_alarms alarms = {0};
    at_alarms_init(&alarms, loop);
    struct bell late = bell(&alarms, 30);
    struct bell soon = bell(&alarms, 5);
    struct bell gone = bell(&alarms, 3);
    struct bell moved = bell(&alarms, 1);
    struct bell never = bell(&alarms, 1);
    late.last = true;
    at_alarms_set(&alarms, &late.alarm, late.due_ns);
    at_alarms_set(&alarms, &soon.alarm, soon.due_ns);
    at_alarms_set(&alarms, &gone.alarm, gone.due_ns);
    at_alarms_clear(&alarms, &gone.alarm);
    at_alarms_clear(&alarms, &gone.alarm);
    at_alarms_set(&alarms, &moved.alarm, moved.due_ns);
    moved.due_ns += 10 * AT_MS_NS;
    at_alarms_set(&alarms, &moved.alarm, moved.due_ns);
    at_alarms_set(&alarms, &never.alarm, UINT64_MAX);
    at_loop_run(loop);
    assert_int_equal(soon.rung, 1);
    assert_int_equal(moved.rung, 1);
    assert_int_equal(late.rung, 1);
    assert_int_equal(gone.rung, 0);
    assert_int_equal(never.rung, 0);
    at_alarms_close(&alarms, NULL);
    at_loop_free(&loop);
    at_alarms_deinit(&alarms);
}

static void an_alarm_may_set_others_when_it_rings(void **state)
{
    (void)state;
    struct at_loop *loop = at_loop_new(at_clock_system());
    struct at_alarms alarms = {0};
    at_alarms_init(&alarms, loop);
    struct bell second = bell(&alarms, 0);
    struct bell first = bell(&alarms, 1);
    first.sets = &second;
    second.last = true;
    at_alarms_set(&alarms, &first.alarm, first.due_ns);
    at_loop_run(loop);
    assert_int_equal(first.rung, 1);
    assert_int_equal(second.rung, 1);
    at_alarms_close(&alarms, NULL);
    at_loop_free(&loop);
    at_alarms_deinit(&alarms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alarms_ring_once_each_when_due),
        cmocka_unit_test(an_alarm_may_set_others_when_it_rings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
