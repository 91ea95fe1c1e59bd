#include "cluster/tablet/range_walk.h"

#include "support/test.h"

/* [b,d) {f} [h,inf) */
static struct at_row_range ranges[] = {
    {.start = AT_LIT_INIT("b"), .end = AT_LIT_INIT("d")},
    {.start = AT_LIT_INIT("f"), .end = AT_LIT_INIT("f\0"), .point = true},
    {.start = AT_LIT_INIT("h")},
};
static const struct at_row_set rows = {.ranges = ranges, .count = 3, .cap = 3};

struct place_case {
    const char *row;
    enum at_range_place place;
    uint32_t index; /* the range it is in, or that comes next */
};

static void check(const struct place_case *cases, int count, bool reversed)
{
    /* Each row from the start, and all in one walk. */
    struct at_range_walk walk;
    at_range_walk_init(&walk, &rows, reversed);
    for (int i = 0; i < count; i++) {
        struct at_range_walk fresh;
        at_range_walk_init(&fresh, &rows, reversed);
        struct at_slice row = at_slice_cstr(cases[i].row);
        assert_int_equal(at_range_walk_place(&fresh, row), cases[i].place);
        assert_int_equal(at_range_walk_place(&walk, row), cases[i].place);
        if (cases[i].place == AT_RANGE_OVER)
            continue;
        assert_int_equal(fresh.index, cases[i].index);
        assert_int_equal(walk.index, cases[i].index);
    }
}

static void going_up_finds_the_range_or_the_next(void **state)
{
    static const struct place_case cases[] = {
        {"a", AT_RANGE_AHEAD, 0},  {"b", AT_RANGE_INSIDE, 0}, {"c", AT_RANGE_INSIDE, 0},
        {"d", AT_RANGE_AHEAD, 1},  {"f", AT_RANGE_INSIDE, 1}, {"f0", AT_RANGE_AHEAD, 2},
        {"h", AT_RANGE_INSIDE, 2}, {"z", AT_RANGE_INSIDE, 2},
    };

    (void)state;
    check(cases, 8, false);
}

static void going_down_finds_the_range_or_the_one_below(void **state)
{
    static const struct place_case cases[] = {
        {"z", AT_RANGE_INSIDE, 2}, {"h", AT_RANGE_INSIDE, 2}, {"g", AT_RANGE_AHEAD, 1},
        {"f0", AT_RANGE_AHEAD, 1}, {"f", AT_RANGE_INSIDE, 1}, {"e", AT_RANGE_AHEAD, 0},
        {"d", AT_RANGE_AHEAD, 0},  {"c", AT_RANGE_INSIDE, 0}, {"b", AT_RANGE_INSIDE, 0},
        {"a", AT_RANGE_OVER, 0},
    };

    (void)state;
    check(cases, 10, true);
}

static void a_last_point_ends_the_walk(void **state)
{
    struct at_row_set points = {.ranges = ranges, .count = 2, .cap = 2};
    struct at_row_set none = {.ranges = ranges, .count = 0, .cap = 2};
    struct at_range_walk walk;

    (void)state;
    at_range_walk_init(&walk, &points, false);
    assert_int_equal(at_range_walk_place(&walk, AT_LIT("c")), AT_RANGE_INSIDE);
    assert_false(at_range_walk_ended(&walk, AT_LIT("c")));
    assert_int_equal(at_range_walk_place(&walk, AT_LIT("f")), AT_RANGE_INSIDE);
    assert_true(at_range_walk_ended(&walk, AT_LIT("f")));
    assert_int_equal(at_range_walk_place(&walk, AT_LIT("g")), AT_RANGE_OVER);
    assert_true(at_range_walk_ended(&walk, AT_LIT("g")));
    at_range_walk_init(&walk, &none, true);
    assert_int_equal(at_range_walk_place(&walk, AT_LIT("c")), AT_RANGE_OVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(going_up_finds_the_range_or_the_next),
        cmocka_unit_test(going_down_finds_the_range_or_the_one_below),
        cmocka_unit_test(a_last_point_ends_the_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
