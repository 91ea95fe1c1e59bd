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
        cmocka_unit_test(after_a_restart_nothing_is_issued_below_the_reservation),
        cmocka_unit_test(an_older_stamp_does_not_move_the_clock),
        cmocka_unit_test(a_reservation_near_the_end_of_time_does_not_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
