#include "cli/cell_diff.h"

#include <stdio.h>

#include "support/test.h"

#define CELL(r, f, q, t, v)                                                 \
    {                                                                       \
        AT_LIT_INIT(r), AT_LIT_INIT(f), AT_LIT_INIT(q), (t), AT_LIT_INIT(v) \
    }

/* "VALUE/VALUE ..." of the cells that differ, - for none. */
struct text {
    char s[256];
    uint32_t lists;
};

static void add(void *ctx, const struct at_listed_cell *const *cells)
{
    struct text *t = ctx;

    for (uint32_t i = 0; i < t->lists; i++) {
        size_t len = strlen(t->s);
        snprintf(t->s + len, sizeof(t->s) - len, "%.*s%s",
                 AT_SLICE_ARG(cells[i] ? cells[i]->value : AT_LIT("-")),
                 i + 1 < t->lists ? "/" : " ");
    }
}

static void equal_lists_do_not_differ(void **state)
{
    static const struct at_listed_cell cells[] = {CELL("r", "f", "q", 2, "a"),
                                                  CELL("r", "f", "q", 1, "b")};
    const struct at_cell_list lists[] = {{cells, 2}, {cells, 2}, {cells, 2}};
    struct text t = {.lists = 3};

    (void)state;
    assert_int_equal(at_cell_diff(lists, 3, add, &t), 0);
    assert_string_equal(t.s, "");
}

static void what_is_missing_and_what_has_another_value_differs(void **state)
{
    static const struct at_listed_cell a[] = {
        CELL("r", "f", "q", 2, "a"), CELL("r", "f", "q", 1, "b"), CELL("r", "g", "", 1, "c"),
        CELL("s", "f", "q", 1, "e")};
    static const struct at_listed_cell b[] = {
        CELL("r", "f", "q", 3, "x"), CELL("r", "f", "q", 2, "a"), CELL("r", "g", "", 1, "C")};
    const struct at_cell_list two[] = {{a, 4}, {b, 3}};
    const struct at_cell_list three[] = {{a, 4}, {b, 3}, {NULL, 0}};
    struct text t = {.lists = 2};

    (void)state;
    assert_int_equal(at_cell_diff(two, 2, add, &t), 4);
    assert_string_equal(t.s, "-/x b/- c/C e/- ");
    t = (struct text){.lists = 3};
    assert_int_equal(at_cell_diff(three, 3, add, &t), 5);
    assert_string_equal(t.s, "-/x/- a/a/- b/-/- c/C/- e/-/- ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_lists_do_not_differ),
        cmocka_unit_test(what_is_missing_and_what_has_another_value_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
