/* The list of switches: the latest ones, oldest first, with time and reason. */
#include "routing/proxy/board.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "support/test.h"

/* With lines for c1 in z1 and c2 in z2. */
static void init(struct at_board *b)
{
    at_board_init(b);
    assert_ptr_equal(at_board_take(b, AT_LIT("c1"), AT_LIT("z1")), &b->targets[0]);
    assert_ptr_equal(at_board_take(b, AT_LIT("c2"), AT_LIT("z2")), &b->targets[1]);
}

static void starts_with_clusters_that_are_down(void **state)
{
    (void)state;
    struct at_board b;
    char lines[AT_BOARD_SWITCHES][AT_BOARD_LINE_BYTES];
    init(&b);
    assert_int_equal(b.target_count, 2);
    assert_string_equal(b.targets[1].id, "c2");
    assert_string_equal(b.targets[1].zone, "z2");
    assert_false(atomic_load(&b.targets[0].up));
    assert_string_equal(atomic_load(&b.targets[0].reason), "not heard yet");
    assert_int_equal(at_board_switches(&b, lines), 0);
    at_board_deinit(&b);
}

static void a_switch_says_when_who_and_why(void **state)
{
    (void)state;
    struct at_board b;
    char lines[AT_BOARD_SWITCHES][AT_BOARD_LINE_BYTES];
    init(&b);
    at_board_switch(&b, &b.targets[1], false, "heartbeat lost",
                    UINT64_C(1700000000) * AT_S_NS + 42 * AT_MS_NS);
    at_board_switch(&b, &b.targets[1], true, "healthy again", UINT64_C(1700000001) * AT_S_NS);
    assert_int_equal(at_board_switches(&b, lines), 2);
    assert_string_equal(lines[0], "2023-11-14T22:13:20.042Z c2 down: heartbeat lost");
    assert_string_equal(lines[1], "2023-11-14T22:13:21.000Z c2 up: healthy again");
    at_board_deinit(&b);
}

static void only_the_latest_are_kept(void **state)
{
    (void)state;
    struct at_board b;
    char lines[AT_BOARD_SWITCHES][AT_BOARD_LINE_BYTES];
    init(&b);
    for (uint32_t i = 0; i < AT_BOARD_SWITCHES + 5; i++)
        at_board_switch(&b, &b.targets[0], i % 2, "x", i * AT_S_NS);
    assert_int_equal(at_board_switches(&b, lines), AT_BOARD_SWITCHES);
    assert_non_null(strstr(lines[0], "00:00:05.000Z"));
    assert_non_null(strstr(lines[AT_BOARD_SWITCHES - 1], "00:00:36.000Z"));
    at_board_deinit(&b);
}

static void a_line_stays_while_one_loop_shows_it(void **state)
{
    (void)state;
    struct at_board b;
    struct at_board_view views[AT_BOARD_TARGETS_MAX];
    init(&b);
    struct at_board_target *c1 = &b.targets[0];
    assert_ptr_equal(at_board_take(&b, AT_LIT("c1"), AT_LIT("z1")), c1);
    at_board_release(&b, c1);
    assert_int_equal(at_board_views(&b, views), 2);
    at_board_leave(&b, c1);
    assert_int_equal(at_board_views(&b, views), 1);
    assert_string_equal(views[0].id, "c2");
    struct at_board_target *again = at_board_take(&b, AT_LIT("c1"), AT_LIT("z9"));
    assert_ptr_equal(again, &b.targets[2]); /* another cluster, though its name is the same */
    at_board_release(&b, c1);
    assert_ptr_equal(at_board_take(&b, AT_LIT("c3"), AT_LIT("z3")), c1);
    assert_int_equal(b.target_count, 3);
    at_board_release(&b, again);
    assert_int_equal(b.target_count, 2);
    at_board_deinit(&b);
}

static void lines_are_limited(void **state)
{
    (void)state;
    struct at_board b;
    char id[16];
    at_board_init(&b);
    for (int i = 0; i < AT_BOARD_TARGETS_MAX; i++) {
        (void)snprintf(id, sizeof(id), "c%d", i);
        assert_non_null(at_board_take(&b, at_slice_cstr(id), AT_LIT("z")));
    }
    assert_null(at_board_take(&b, AT_LIT("more"), AT_LIT("z")));
    at_board_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_with_clusters_that_are_down),
        cmocka_unit_test(a_switch_says_when_who_and_why),
        cmocka_unit_test(only_the_latest_are_kept),
        cmocka_unit_test(a_line_stays_while_one_loop_shows_it),
        cmocka_unit_test(lines_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
