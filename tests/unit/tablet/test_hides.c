#include "support/test.h"

#include "cluster/tablet/hides.h"

static uint32_t gone_count;

static void count_gone(void *ctx, uint32_t table_id, struct at_dropped_range drop)
{
    (void)ctx, (void)table_id, (void)drop;
    gone_count++;
}

static struct at_dropped_range drop_of(const char *prefix, uint64_t hlc)
{
    return (struct at_dropped_range){at_slice_cstr(prefix), {hlc, {1}}};
}

static void row_markers_are_known_per_table(void **state)
{
    struct at_hides h;

    (void)state;
    at_hides_init(&h);
    at_hides_set_row_markers(&h, 7);
    at_hides_set_row_markers(&h, 3);
    at_hides_set_row_markers(&h, 7);
    assert_true(at_hides_has_row_markers(&h, 3));
    assert_true(at_hides_has_row_markers(&h, 7));
    assert_false(at_hides_has_row_markers(&h, 5));
    assert_int_equal(h.count, 2);
    at_hides_deinit(&h);
}

static void a_later_wider_drop_replaces_those_it_covers(void **state)
{
    struct at_hides h;

    (void)state;
    gone_count = 0;
    at_hides_init(&h);
    assert_true(at_hides_add_drop(&h, 1, drop_of("ab", 10), count_gone, NULL));
    assert_true(at_hides_add_drop(&h, 1, drop_of("ac", 30), count_gone, NULL));
    assert_true(at_hides_add_drop(&h, 2, drop_of("ab", 5), count_gone, NULL));
    assert_true(at_hides_add_drop(&h, 1, drop_of("a", 20), count_gone, NULL));
    assert_int_equal(gone_count, 1); /* "ab" at 10; "ac" is younger, the other table another one */
    assert_int_equal(h.tables[0].drop_count, 2);
    assert_false(at_hides_add_drop(&h, 1, drop_of("ax", 15), count_gone, NULL));
    assert_false(at_hides_add_drop(&h, 1, drop_of("a", 20), count_gone, NULL));
    assert_int_equal(gone_count, 1);
    at_hides_forget(&h, 1, count_gone, NULL);
    assert_int_equal(gone_count, 3);
    assert_int_equal(h.count, 1);
    at_hides_deinit(&h);
}

static void what_is_forgotten_hides_no_more_and_is_told(void **state)
{
    struct at_hides h;

    (void)state;
    gone_count = 0;
    at_hides_init(&h);
    at_hides_set_row_markers(&h, 1);
    assert_true(at_hides_add_drop(&h, 1, drop_of("a", 10), NULL, NULL));
    assert_true(at_hides_add_drop(&h, 1, drop_of("b", 10), NULL, NULL));
    assert_true(at_hides_add_drop(&h, 1, drop_of("c", 10), NULL, NULL));
    assert_false(h.floors_changed);
    assert_false(at_hides_forget_drop(&h, 1, drop_of("b", 9), count_gone, NULL));
    assert_false(at_hides_forget_drop(&h, 1, drop_of("", 10), count_gone, NULL));
    assert_false(at_hides_forget_drop(&h, 2, drop_of("b", 10), count_gone, NULL));
    assert_false(h.floors_changed);
    assert_true(at_hides_forget_drop(&h, 1, drop_of("b", 10), count_gone, NULL));
    assert_true(h.floors_changed);
    assert_int_equal(gone_count, 1);
    assert_int_equal(h.tables[0].drop_count, 2);
    assert_true(at_slice_eq_cstr(h.tables[0].drops[1].prefix, "c"));
    h.floors_changed = false;
    at_hides_clear_row_markers(&h, 1);
    assert_true(h.floors_changed);
    assert_false(at_hides_has_row_markers(&h, 1));
    at_hides_deinit(&h);
}

static void floors_are_kept_by_family_and_told_once(void **state)
{
    struct at_hides h;

    (void)state;
    at_hides_init(&h);
    assert_int_equal(at_hides_floor(&h, 1, 7).before_micros, 0);
    at_hides_set_floor(&h, 1, 7, (struct at_floor){50, {5, {1}}});
    at_hides_set_floor(&h, 1, 3, (struct at_floor){60, {6, {1}}});
    assert_true(h.floors_changed);
    h.floors_changed = false;
    at_hides_set_floor(&h, 1, 7, (struct at_floor){70, {7, {1}}});
    assert_true(h.floors_changed);
    assert_int_equal(h.tables[0].floor_count, 2);
    assert_int_equal(h.tables[0].floors[0].family_id, 3);
    assert_int_equal(at_hides_floor(&h, 1, 7).before_micros, 70);
    at_hides_set_dead(&h, 1, 3);
    at_hides_set_dead(&h, 2, 0);
    assert_true(h.tables[0].floors[0].dead && !h.tables[0].dead && h.tables[1].dead);
    at_hides_deinit(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_markers_are_known_per_table),
        cmocka_unit_test(a_later_wider_drop_replaces_those_it_covers),
        cmocka_unit_test(what_is_forgotten_hides_no_more_and_is_told),
        cmocka_unit_test(floors_are_kept_by_family_and_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
