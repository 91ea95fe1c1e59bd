#include "replication/hlc.h"

#include "support/test.h"

#define STEP 100

static struct at_hlc fresh(void)
{
    struct at_hlc c;

    at_hlc_init(&c, STEP);
    return c;
}

static void the_next_stamp_is_the_wall_clock_or_one_more_than_the_last(void **state)
{
    struct at_hlc c = fresh();
    (void)state;

    assert_int_equal(at_hlc_issue(&c, 1, 1000), 1000);
    assert_int_equal(at_hlc_issue(&c, 1, 1000), 1001);
    assert_int_equal(at_hlc_issue(&c, 5, 900), 1002);
    assert_int_equal(at_hlc_issue(&c, 1, 900), 1007);
    assert_int_equal(at_hlc_issue(&c, 1, 2000), 2000);
}

static void the_clock_never_passes_its_reservation(void **state)
{
    struct at_hlc c = fresh();
    (void)state;

    (void)at_hlc_issue(&c, 3, 1000);
    assert_true(c.moved);
    assert_int_equal(c.reserved, 1002 + STEP);
    at_hlc_stored(&c);
    at_hlc_merge(&c, 1050);
    assert_false(c.moved);
    at_hlc_merge(&c, 1103);
    assert_true(c.moved);
    assert_int_equal(c.reserved, 1103 + STEP);
    assert_int_equal(c.reserved_durable, 1002 + STEP);
    at_hlc_stored(&c);
    assert_int_equal(at_hlc_promise(&c, 5000), 5000);
    assert_true(c.moved);
    assert_true(c.now <= c.reserved);
}

static void an_idle_clock_moves_its_reservation_about_once_per_step(void **state)
{
    struct at_hlc c = fresh();
    uint32_t moves = 0;
    (void)state;

    for (uint64_t wall = 1; wall <= 100 * STEP; wall++) {
        (void)at_hlc_promise(&c, wall);
        moves += c.moved;
        at_hlc_stored(&c);
    }
    assert_in_range(moves, 95, 101);
}

/* A clock that has stored its first reservation, of 1100, and moved on to `now`. */
static struct at_hlc moved_to(uint64_t now)
{
    struct at_hlc c = fresh();

    (void)at_hlc_issue(&c, 1, 1000);
    at_hlc_stored(&c);
    at_hlc_durable(&c, c.stored);
    at_hlc_merge(&c, now);
    return c;
}

static void the_next_reservation_is_asked_for_before_this_one_is_used_up(void **state)
{
    static const struct {
        uint64_t now;
        bool asked;
        bool moved;
    } cases[] = {{1050, false, false},
                 {1075, false, false},
                 {1076, true, false},
                 {1100, true, false},
                 {1101, false, true}};
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct at_hlc c = moved_to(cases[i].now);
        assert_int_equal(c.ahead_moved, cases[i].asked);
        assert_int_equal(c.moved, cases[i].moved);
        assert_int_equal(c.ahead, cases[i].asked || cases[i].moved ? cases[i].now + STEP : 1100);
        assert_int_equal(c.reserved, cases[i].moved ? cases[i].now + STEP : 1100);
    }
}

static void what_was_asked_for_counts_once_it_is_durable(void **state)
{
    struct at_hlc c = moved_to(1080);
    (void)state;

    at_hlc_stored(&c);
    assert_false(c.ahead_moved);
    assert_int_equal(c.stored, 1180);
    assert_int_equal(c.reserved, 1100);
    assert_int_equal(c.reserved_durable, 1100);
    at_hlc_durable(&c, 1100); /* that sync began before */
    assert_int_equal(c.reserved, 1100);
    at_hlc_merge(&c, 1090);
    assert_false(c.ahead_moved); /* it was asked for */
    at_hlc_durable(&c, 1180);
    assert_int_equal(c.reserved, 1180);
    assert_int_equal(c.reserved_durable, 1180);
    at_hlc_merge(&c, 1150);
    assert_false(c.moved);
    assert_false(c.ahead_moved);
}

static void a_reservation_whose_sync_is_late_is_moved_with_one(void **state)
{
    struct at_hlc c = moved_to(1080);
    (void)state;

    at_hlc_stored(&c);
    at_hlc_merge(&c, 1101);
    assert_true(c.moved);
    assert_int_equal(c.reserved_durable, 1100);
    at_hlc_durable(&c, 1180); /* the late one */
    assert_int_equal(c.reserved, 1201);
    assert_int_equal(c.reserved_durable, 1180);
    at_hlc_stored(&c);
    assert_int_equal(c.stored, 1201);
    assert_int_equal(c.reserved_durable, 1201);
}

static void after_a_restart_nothing_is_issued_below_the_reservation(void **state)
{
    struct at_hlc c = fresh();
    (void)state;

    at_hlc_restore(&c, 7000);
    assert_int_equal(at_hlc_issue(&c, 1, 3), 7001);
    assert_true(c.moved);
}

static void an_older_stamp_does_not_move_the_clock(void **state)
{
    struct at_hlc c = fresh();
    (void)state;

    at_hlc_restore(&c, 7000);
    at_hlc_merge(&c, 6999);
    assert_int_equal(at_hlc_promise(&c, 1), 7000);
    assert_int_equal(at_hlc_next(&c, 1), 7001);
    assert_int_equal(at_hlc_next(&c, 9000), 9000);
}

static void a_reservation_near_the_end_of_time_does_not_wrap(void **state)
{
    struct at_hlc c = fresh();
    (void)state;

    at_hlc_merge(&c, UINT64_MAX - 10);
    assert_true(c.reserved == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_stamp_is_the_wall_clock_or_one_more_than_the_last),
        cmocka_unit_test(the_clock_never_passes_its_reservation),
        cmocka_unit_test(an_idle_clock_moves_its_reservation_about_once_per_step),
        cmocka_unit_test(the_next_reservation_is_asked_for_before_this_one_is_used_up),
        cmocka_unit_test(what_was_asked_for_counts_once_it_is_durable),
        cmocka_unit_test(a_reservation_whose_sync_is_late_is_moved_with_one),
        cmocka_unit_test(after_a_restart_nothing_is_issued_below_the_reservation),
        cmocka_unit_test(an_older_stamp_does_not_move_the_clock),
        cmocka_unit_test(a_reservation_near_the_end_of_time_does_not_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
