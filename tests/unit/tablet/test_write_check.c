#include "support/test.h"

#include "support/store_fixture.h"

/* CheckAndMutateRow through the writer. */

struct world {
    struct fx fx;
    struct at_arena arena;
    struct at_write_check check;
};

static int setup(void **state)
{
    struct world *w = at_alloc(sizeof(*w));

    fx_open(&w->fx, 1, 1);
    fx_make_table(&w->fx);
    at_arena_init(&w->arena, 4096);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    at_arena_deinit(&w->arena);
    fx_close(&w->fx);
    at_free(w);
    return 0;
}

static enum at_code check(struct world *w,
                          const char *row,
                          const struct at_filter_node *predicate,
                          struct at_mutation *if_true,
                          struct at_mutation *if_false)
{
    struct at_filter *filter = NULL;

    if (predicate != NULL)
        assert_int_equal(at_filter_compile(predicate, &filter, NULL), AT_OK);
    w->check = (struct at_write_check){
        .base = {.kind = AT_WRITE_CHECK},
        .table = AT_LIT("t"),
        .full_name = FX_NAME,
        .row = fx_s(row),
        .predicate = filter,
        .if_true = {.mutations = if_true, .mutation_count = if_true != NULL},
        .if_false = {.mutations = if_false, .mutation_count = if_false != NULL},
        .arena = &w->arena,
    };
    enum at_code code = fx_run(&w->fx, &w->check.base);
    at_filter_free(&filter);
    return code;
}

static struct at_filter_node pass = {.kind = AT_FILTER_PASS_ALL};
static struct at_filter_node block = {.kind = AT_FILTER_BLOCK_ALL};

static void predicates_match_when_a_cell_comes_out(void **state)
{
    struct world *w = *state;
    struct at_filter_node *pass_block[] = {&pass, &block};
    struct at_filter_node *block_block[] = {&block, &block};
    struct at_filter_node *condition[] = {&pass, NULL, &pass};
    const struct {
        const char *row;
        struct at_filter_node node;
        bool none;
        bool matched;
    } cases[] = {
        {"r", {0}, true, true},
        {"missing", {0}, true, false},
        {"r", {.kind = AT_FILTER_PASS_ALL}, false, true},
        {"r", {.kind = AT_FILTER_BLOCK_ALL}, false, false},
        {"r", {.kind = AT_FILTER_CHAIN, .children = pass_block, .child_count = 2}, false, false},
        {"r",
         {.kind = AT_FILTER_INTERLEAVE, .children = block_block, .child_count = 2},
         false,
         false},
        {"r", {.kind = AT_FILTER_CELLS_PER_ROW_OFFSET, .number = 1}, false, false},
        {"r", {.kind = AT_FILTER_ROW_KEY_REGEX, .bytes = AT_LIT("nomatch")}, false, false},
        {"r", {.kind = AT_FILTER_ROW_KEY_REGEX, .bytes = AT_LIT("r")}, false, true},
        {"missing", {.kind = AT_FILTER_PASS_ALL}, false, false},
        {"r", {.kind = AT_FILTER_CONDITION, .children = condition, .child_count = 3}, false, false},
    };
    struct at_mutation yes = fx_set_of("f", "yes", 1000, "");
    struct at_mutation no = fx_set_of("f", "no", 1000, "");

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(fx_delete_row(&w->fx, "r"), AT_OK);
        assert_int_equal(fx_delete_row(&w->fx, "missing"), AT_OK);
        assert_int_equal(fx_set(&w->fx, "r", "f", "a", 1000, "1"), AT_OK);
        const struct at_filter_node *node = cases[i].none ? NULL : &cases[i].node;
        assert_int_equal(check(w, cases[i].row, node, &yes, &no), AT_OK);
        assert_int_equal(w->check.ret_matched, cases[i].matched);
        char *text = fx_rows(&w->fx, "t");
        assert_int_equal(strstr(text, "f:yes@") != NULL, cases[i].matched);
        assert_int_equal(strstr(text, "f:no@") == NULL, cases[i].matched);
        at_free(text);
    }
}

static void an_unknown_family_in_the_branch_changes_nothing(void **state)
{
    struct world *w = *state;
    struct at_mutation m[2] = {fx_set_of("f", "x", 1000, "v"), fx_set_of("zz", "q", 1000, "v")};

    assert_int_equal(fx_set(&w->fx, "r", "f", "a", 1000, "1"), AT_OK);
    w->check = (struct at_write_check){
        .base = {.kind = AT_WRITE_CHECK},
        .table = AT_LIT("t"),
        .full_name = FX_NAME,
        .row = AT_LIT("r"),
        .if_true = {.mutations = m, .mutation_count = 2},
        .arena = &w->arena,
    };
    assert_int_equal(fx_run(&w->fx, &w->check.base), AT_NOT_FOUND);
    assert_non_null(strstr(w->check.base.error.msg, "Requested column family not found."));
    fx_expect_rows(&w->fx, "t", "r: f:a@1000=1|");
}

static void a_branch_without_mutations_writes_nothing(void **state)
{
    struct world *w = *state;
    struct at_mutation yes = fx_set_of("f", "yes", 1000, "");

    assert_int_equal(check(w, "r", NULL, &yes, NULL), AT_OK);
    assert_false(w->check.ret_matched);
    assert_int_equal(w->check.base.seq, 0);
    fx_expect_rows(&w->fx, "t", "");
}

/* A lock taken by check-and-mutate is taken by one of many. */
static void *take_thread(void *arg)
{
    struct world *w = arg;
    struct at_mutation set = fx_set_of("f", "lock", 1000, "mine");
    uintptr_t taken = 0;

    for (int i = 0; i < 50; i++) {
        char row[16];
        snprintf(row, sizeof(row), "lock%d", i);
        struct at_write_check c = {
            .base = {.kind = AT_WRITE_CHECK},
            .table = AT_LIT("t"),
            .full_name = FX_NAME,
            .row = fx_s(row),
            .if_false = {.mutations = &set, .mutation_count = 1},
        };
        AT_ASSERT(fx_run(&w->fx, &c.base) == AT_OK);
        taken += !c.ret_matched;
    }
    return (void *)taken;
}

static void a_lock_is_taken_once(void **state)
{
    struct world *w = *state;
    pthread_t threads[4];
    uintptr_t taken = 0;

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_thread, w), 0);
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        taken += (uintptr_t)result;
    }
    assert_int_equal(taken, 50);
}

int main(void)
{
#define CHECK_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CHECK_TEST(predicates_match_when_a_cell_comes_out),
        CHECK_TEST(an_unknown_family_in_the_branch_changes_nothing),
        CHECK_TEST(a_branch_without_mutations_writes_nothing),
        CHECK_TEST(a_lock_is_taken_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
