#include "support/test.h"

#include "support/store_fixture.h"

/* ReadModifyWriteRow and CheckAndMutateRow through the writer. */

#define RULES_MAX 8

struct world {
    struct fx fx;
    struct at_arena arena;
    struct at_write_modify modify;
    struct at_modify_rule rules[RULES_MAX];
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

static struct at_modify_rule append_of(const char *f, const char *q, const char *bytes)
{
    return (struct at_modify_rule){
        .kind = AT_RULE_APPEND, .family = fx_s(f), .qualifier = fx_s(q), .append = fx_s(bytes)};
}

static struct at_modify_rule add_of(const char *f, const char *q, int64_t n)
{
    return (struct at_modify_rule){
        .kind = AT_RULE_INCREMENT, .family = fx_s(f), .qualifier = fx_s(q), .increment = n};
}

static enum at_code modify(struct world *w, const char *row, uint32_t rule_count)
{
    w->modify = (struct at_write_modify){
        .base = {.kind = AT_WRITE_MODIFY},
        .table = AT_LIT("t"),
        .full_name = FX_NAME,
        .row = fx_s(row),
        .rules = w->rules,
        .rule_count = rule_count,
        .arena = &w->arena,
    };
    return fx_run(&w->fx, &w->modify.base);
}

static uint64_t cell_number(const struct at_cell *cell)
{
    assert_int_equal(cell->value.len, 8);
    return at_get_be64(cell->value.data);
}

static void a_missing_cell_counts_as_nothing(void **state)
{
    struct world *w = *state;

    w->rules[0] = add_of("f", "n", 5);
    w->rules[1] = append_of("f", "s", "xy");
    w->rules[2] = append_of("f", "e", "");
    assert_int_equal(modify(w, "r", 3), AT_OK);
    assert_int_equal(w->modify.ret_cell_count, 3);
    assert_true(at_slice_eq_cstr(w->modify.ret_cells[0].qualifier, "e"));
    assert_int_equal(w->modify.ret_cells[0].value.len, 0);
    assert_true(at_slice_eq_cstr(w->modify.ret_cells[1].qualifier, "n"));
    assert_int_equal(cell_number(&w->modify.ret_cells[1]), 5);
    assert_true(at_slice_eq_cstr(w->modify.ret_cells[2].value, "xy"));
    assert_true(w->modify.base.seq > 0);
    char *text = fx_rows(&w->fx, "t");
    assert_non_null(strstr(text, "=%00%00%00%00%00%00%00%05 f:s@"));
    at_free(text);
}

static void rules_see_what_earlier_ones_made(void **state)
{
    struct world *w = *state;

    w->rules[0] = append_of("g", "s", "a");
    w->rules[1] = add_of("f", "n", 2);
    w->rules[2] = append_of("g", "s", "b");
    w->rules[3] = add_of("f", "n", -5);
    assert_int_equal(modify(w, "r", 4), AT_OK);
    assert_int_equal(w->modify.ret_cell_count, 2);
    assert_true(at_slice_eq_cstr(w->modify.ret_cells[0].family, "f"));
    assert_int_equal((int64_t)cell_number(&w->modify.ret_cells[0]), -3);
    assert_true(at_slice_eq_cstr(w->modify.ret_cells[1].value, "ab"));
    w->rules[0] = append_of("g", "s", "cd");
    assert_int_equal(modify(w, "r", 1), AT_OK);
    assert_true(at_slice_eq_cstr(w->modify.ret_cells[0].value, "abcd"));
}

static void what_is_no_integer_is_not_incremented_and_nothing_changes(void **state)
{
    struct world *w = *state;

    assert_int_equal(fx_set(&w->fx, "com.google", "f", "golang.org", 1000, "1"), AT_OK);
    w->rules[0] = append_of("g", "s", "a");
    w->rules[1] = add_of("f", "golang.org", 1);
    assert_int_equal(modify(w, "com.google", 2), AT_FAILED_PRECONDITION);
    assert_string_equal(w->modify.base.error.msg,
                        "Cannot increment value '1' (family=f, qualifier=golang.org). The "
                        "increment operation can only be performed on 64-bit values");
    assert_int_equal(w->modify.ret_cell_count, 0);
    fx_expect_rows(&w->fx, "t", "com.google: f:golang.org@1000=1|");
    w->rules[0] = append_of("g", "s", "");
    w->rules[1] = add_of("g", "s", 1);
    assert_int_equal(modify(w, "com.google", 2), AT_FAILED_PRECONDITION);
}

static void overflow_wraps(void **state)
{
    struct world *w = *state;

    w->rules[0] = add_of("f", "n", INT64_MAX);
    w->rules[1] = add_of("f", "n", 1);
    assert_int_equal(modify(w, "r", 2), AT_OK);
    assert_true((int64_t)cell_number(&w->modify.ret_cells[0]) == INT64_MIN);
}

static void a_future_timestamp_is_kept(void **state)
{
    static const int64_t future = INT64_C(4102444800000000);
    struct world *w = *state;
    struct at_mutation m = fx_set_of("f", "n", future, "");

    m.value = AT_LIT("\0\0\0\0\0\0\0\1");
    assert_int_equal(fx_mutate(&w->fx, "r", &m, 1, NULL), AT_OK);
    w->rules[0] = add_of("f", "n", 1);
    assert_int_equal(modify(w, "r", 1), AT_OK);
    assert_int_equal(w->modify.ret_cells[0].timestamp_micros, future);
    assert_int_equal(cell_number(&w->modify.ret_cells[0]), 2);
    fx_expect_rows(&w->fx, "t", "r: f:n@4102444800000000=%00%00%00%00%00%00%00%02|");
    m.timestamp_micros = 1000;
    assert_int_equal(fx_mutate(&w->fx, "s", &m, 1, NULL), AT_OK);
    assert_int_equal(modify(w, "s", 1), AT_OK);
    assert_true(w->modify.ret_cells[0].timestamp_micros > 1000);
    assert_int_equal(w->modify.ret_cells[0].timestamp_micros % 1000, 0);
}

static void what_can_not_be_modified_is_refused(void **state)
{
    struct world *w = *state;

    assert_int_equal(fx_change(&w->fx, "t", "sum", FX_FIELDS(FX_SUM), true), AT_OK);
    w->rules[0] = add_of("sum", "n", 1);
    assert_int_equal(modify(w, "r", 1), AT_FAILED_PRECONDITION);
    w->rules[0] = add_of("f", "n", 1);
    w->rules[1] = add_of("zz", "n", 1);
    assert_int_equal(modify(w, "r", 2), AT_NOT_FOUND);
    assert_non_null(strstr(w->modify.base.error.msg, "Requested column family not found."));
    assert_int_equal(modify(w, "r", 0), AT_INVALID_ARGUMENT);
    fx_expect_rows(&w->fx, "t", "");
}

static void many_columns_are_read_too(void **state)
{
    struct world *w = *state;
    struct at_modify_rule rules[40];
    char names[40][8];

    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < 40; i++) {
            snprintf(names[i], sizeof(names[i]), "q%02u", 39 - i);
            rules[i] = add_of(i % 2 == 0 ? "f" : "g", names[i], i);
        }
        w->modify = (struct at_write_modify){
            .base = {.kind = AT_WRITE_MODIFY},
            .table = AT_LIT("t"),
            .full_name = FX_NAME,
            .row = AT_LIT("r"),
            .rules = rules,
            .rule_count = 40,
            .arena = &w->arena,
        };
        assert_int_equal(fx_run(&w->fx, &w->modify.base), AT_OK);
    }
    assert_int_equal(w->modify.ret_cell_count, 40);
    assert_true(at_slice_eq_cstr(w->modify.ret_cells[0].qualifier, "q01"));
    assert_int_equal(cell_number(&w->modify.ret_cells[0]), 2 * 38);
}

/* Two writes of one row in one list are in one round; the second sees the first. */
static void a_modify_sees_a_write_of_its_own_round(void **state)
{
    struct world *w = *state;
    struct at_mutation m = fx_set_of("f", "s", 1000, "a");
    struct at_row_mutations row = {.row = AT_LIT("r"), .mutations = &m, .mutation_count = 1};
    struct fx_wait wait;
    struct at_write_rows set = {
        .base = {.kind = AT_WRITE_ROWS, .done = fx_done, .ctx = &wait},
        .table = AT_LIT("t"),
        .full_name = FX_NAME,
        .rows = &row,
        .row_count = 1,
    };
    struct at_write_modify mods[2];

    w->rules[0] = append_of("f", "s", "b");
    sem_init(&wait.done, 0, 0);
    for (int i = 0; i < 2; i++)
        mods[i] = (struct at_write_modify){
            .base = {.kind = AT_WRITE_MODIFY, .done = fx_done, .ctx = &wait},
            .table = AT_LIT("t"),
            .full_name = FX_NAME,
            .row = AT_LIT("r"),
            .rules = w->rules,
            .rule_count = 1,
            .arena = &w->arena,
        };
    set.base.mail.next = &mods[0].base.mail;
    mods[0].base.mail.next = &mods[1].base.mail;
    assert_int_equal(at_store_submit_list(w->fx.store, &set.base, 3), AT_OK);
    for (int i = 0; i < 3; i++)
        sem_wait(&wait.done);
    sem_destroy(&wait.done);
    assert_true(at_slice_eq_cstr(mods[0].ret_cells[0].value, "ab"));
    assert_true(at_slice_eq_cstr(mods[1].ret_cells[0].value, "abb"));
}

static void *increment_thread(void *arg)
{
    struct world *w = arg;
    struct at_arena arena;
    struct at_modify_rule rule = add_of("f", "n", 1);

    at_arena_init(&arena, 4096);
    for (int i = 0; i < 1000; i++) {
        struct at_write_modify m = {
            .base = {.kind = AT_WRITE_MODIFY},
            .table = AT_LIT("t"),
            .full_name = FX_NAME,
            .row = AT_LIT("r"),
            .rules = &rule,
            .rule_count = 1,
            .arena = &arena,
        };
        at_arena_reset(&arena);
        AT_ASSERT(fx_run(&w->fx, &m.base) == AT_OK);
    }
    at_arena_deinit(&arena);
    return NULL;
}

static void eight_clients_increment_without_losing_one(void **state)
{
    struct world *w = *state;
    pthread_t threads[8];

    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, increment_thread, w), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    w->rules[0] = add_of("f", "n", 0);
    assert_int_equal(modify(w, "r", 1), AT_OK);
    assert_int_equal(cell_number(&w->modify.ret_cells[0]), 8000);
}

int main(void)
{
#define MODIFY_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        MODIFY_TEST(a_missing_cell_counts_as_nothing),
        MODIFY_TEST(rules_see_what_earlier_ones_made),
        MODIFY_TEST(what_is_no_integer_is_not_incremented_and_nothing_changes),
        MODIFY_TEST(overflow_wraps),
        MODIFY_TEST(a_future_timestamp_is_kept),
        MODIFY_TEST(what_can_not_be_modified_is_refused),
        MODIFY_TEST(many_columns_are_read_too),
        MODIFY_TEST(a_modify_sees_a_write_of_its_own_round),
        MODIFY_TEST(eight_clients_increment_without_losing_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
