/* The list of switches: the latest ones, oldest first, with time and reason. */
#include "routing/proxy/board.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "support/test.h"

static struct at_cluster_config clusters[] = {{.id = "c1", .zone = "z1"},
                                              {.id = "c2", .zone = "z2"}};
static const struct at_instance_config INSTANCE = {.clusters = clusters, .cluster_count = 2};

static void starts_with_clusters_that_are_down(void **state)
{
    (void)state;
    struct at_board b;
    char lines[AT_BOARD_SWITCHES][AT_BOARD_LINE_BYTES];
    at_board_init(&b, &INSTANCE);
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
    at_board_init(&b, &INSTANCE);
    at_board_switch(&b, 1, false, "heartbeat lost", UINT64_C(1700000000) * AT_S_NS + 42 * AT_MS_NS);
    at_board_switch(&b, 1, true, "healthy again", UINT64_C(1700000001) * AT_S_NS);
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
    at_board_init(&b, &INSTANCE);
    for (uint32_t i = 0; i < AT_BOARD_SWITCHES + 5; i++)
        at_board_switch(&b, 0, i % 2, "x", i * AT_S_NS);
    assert_int_equal(at_board_switches(&b, lines), AT_BOARD_SWITCHES);
    assert_non_null(strstr(lines[0], "00:00:05.000Z"));
    assert_non_null(strstr(lines[AT_BOARD_SWITCHES - 1], "00:00:36.000Z"));
    at_board_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_with_clusters_that_are_down),
        cmocka_unit_test(a_switch_says_when_who_and_why),
        cmocka_unit_test(only_the_latest_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
