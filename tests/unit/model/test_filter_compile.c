#include "cluster/model/filter.h"

#include "base/assert.h"
#include "base/limits.h"
#include "support/filter_text.h"
#include "support/test.h"

static enum at_code compile(const char *text, struct at_error *reterr)
{
    struct at_arena arena;
    struct at_filter *filter = NULL;

    at_arena_init(&arena, 4096);
    enum at_code code = at_filter_compile(text_filter(text, &arena), &filter, reterr);
    assert_int_equal(filter != NULL, code == AT_OK);
    at_filter_free(&filter);
    at_arena_deinit(&arena);
    return code;
}

static void bad_regexes_name_their_field(void **state)
{
    static const char *const cases[][2] = {
        {"row:'a('", "Error in field 'row_key_regex_filter' : "},
        {"fam:'*'", "Error in field 'family_name_regex_filter' : "},
        {"col:'[a'", "Error in field 'column_qualifier_regex_filter' : "},
        {"chain(all,value:'a{2000}')", "Error in field 'value_regex_filter' : "},
    };
    struct at_error error = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(compile(cases[i][0], &error), AT_INVALID_ARGUMENT);
        assert_memory_equal(error.msg, cases[i][1], strlen(cases[i][1]));
        assert_true(strlen(error.msg) > strlen(cases[i][1]));
    }
}

static void unknown_filters_are_never_ignored(void **state)
{
    struct at_filter_node node = {.kind = (enum at_filter_kind)1000};
    struct at_filter *filter = NULL;

    (void)state;
    assert_int_equal(at_filter_compile(&node, &filter, NULL), AT_INVALID_ARGUMENT);
    assert_null(filter);
}

static void count(void *ctx, const struct at_cell *cell)
{
    (void)cell;
    ++*(uint64_t *)ctx;
}

/* Runs one cell of column f:a through a chain of `part_count` times `part`. */
static enum at_code run_chain(const char *part, uint32_t part_count, uint64_t *ret_emitted)
{
    static struct at_filter_node *children[3000];
    struct at_filter_node chain = {.kind = AT_FILTER_CHAIN, .children = children};
    struct at_cell cell = {.family = AT_LIT("f"), .qualifier = AT_LIT("a")};
    struct at_arena arena;
    struct at_filter *filter = NULL;

    *ret_emitted = 0;
    at_arena_init(&arena, 4096);
    while (chain.child_count < part_count)
        children[chain.child_count++] = text_filter(part, &arena);
    enum at_code code = at_filter_compile(&chain, &filter, NULL);
    if (code == AT_OK) {
        struct at_filter_run *run = at_filter_run_new(filter, 1);
        (void)at_filter_run_begin(run, AT_LIT("row"));
        (void)at_filter_run_push(run, &cell, count, ret_emitted);
        at_filter_run_end(run, count, ret_emitted);
        code = at_filter_run_code(run, NULL);
        at_filter_run_free(&run);
    }
    at_filter_free(&filter);
    at_arena_deinit(&arena);
    return code;
}

static void filters_that_multiply_cells_are_stopped(void **state)
{
    uint64_t emitted;

    (void)state;
    assert_int_equal(run_chain("inter(all,all)", 15, &emitted), AT_OK);
    assert_int_equal(emitted, 1 << 15);
    assert_int_equal(run_chain("inter(all,all)", 17, &emitted), AT_INVALID_ARGUMENT);
    assert_int_equal(run_chain("inter(all,all)", 3000, &emitted), AT_INVALID_ARGUMENT);
}

static void conditions_may_follow_each_other_up_to_a_point(void **state)
{
    uint64_t emitted;

    (void)state;
    assert_int_equal(run_chain("cond(col:a,all,none)", 400, &emitted), AT_OK);
    assert_int_equal(emitted, 1);
    assert_int_equal(run_chain("cond(col:a,all,none)", 1000, &emitted), AT_INVALID_ARGUMENT);
}

static void longest_filters_run_in_bounded_stack(void **state)
{
    uint64_t emitted;

    (void)state;
    assert_int_equal(run_chain("inter(col:a,col:b)", 3000, &emitted), AT_OK);
    assert_int_equal(emitted, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_regexes_name_their_field),
        cmocka_unit_test(unknown_filters_are_never_ignored),
        cmocka_unit_test(filters_that_multiply_cells_are_stopped),
        cmocka_unit_test(conditions_may_follow_each_other_up_to_a_point),
        cmocka_unit_test(longest_filters_run_in_bounded_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
