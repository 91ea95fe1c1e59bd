#include "cluster/model/filter.h"

#include "base/assert.h"
#include "support/filter_text.h"
#include "support/test.h"

/* Forms that the API refuses, with the words it uses, and their neighbours that it takes. */

struct check_case {
    const char *name;
    const char *filter;
    const char *error; /* NULL: accepted */
};

#define ROW_LIMIT_ERROR "Error in field 'cells_per_row_limit_filter' : argument must be > 0"
#define COLUMN_LIMIT_ERROR "Error in field 'cells_per_column_limit_filter' : argument must be > 0"
#define OFFSET_ERROR "Error in field 'cells_per_row_offset_filter' : argument must be >= 0"
#define SAMPLE_ERROR "Error in field 'row_sample_filter' : argument must be between 0.0 and 1.0"
#define ORDER " : the start must not be greater than the end"
#define LABEL_LENGTH_ERROR "Error in field 'apply_label_transformer' : must have 1 to 15 characters"
#define LABEL_ERROR "Error in field 'apply_label_transformer' : must match [a-z0-9\\-]+"
#define LABELS_ERROR                                                                     \
    "Error in field 'apply_label_transformer' : a chain must contain at most one label " \
    "transformer"
#define SINK_ERROR "Error in field 'sink' : must not be inside a condition"
#define DEPTH_ERROR "Error in field 'filter' : filters must not be nested deeper than 20"

#define CHAIN5(x) "chain(all,chain(all,chain(all,chain(all,chain(all," x ")))))"
#define MIXED5(x) "inter(all,cond(all,chain(all,inter(all,chain(" x ",all))),all))"

static const struct check_case cases[] = {
    {"a chain of none", "chain()", "Chain must contain at least two RowFilters"},
    {"a chain of one", "chain(all)", "Chain must contain at least two RowFilters"},
    {"an interleave of one", "inter(all)", "Interleave must contain at least two RowFilters"},
    {"a short chain in a branch", "cond(all,-,chain(all))",
     "Chain must contain at least two RowFilters"},
    {"a row limit of 0", "limit:0", ROW_LIMIT_ERROR},
    {"a row limit of -1", "limit:-1", ROW_LIMIT_ERROR},
    {"a row limit of 1", "limit:1", NULL},
    {"a column limit of 0", "collimit:0", COLUMN_LIMIT_ERROR},
    {"a column limit of -5", "chain(all,collimit:-5)", COLUMN_LIMIT_ERROR},
    {"an offset of -1", "offset:-1", OFFSET_ERROR},
    {"an offset of 0", "offset:0", NULL},
    {"a sample of 0", "sample:0", SAMPLE_ERROR},
    {"a sample of 1", "sample:1", SAMPLE_ERROR},
    {"a negative sample", "sample:-0.5", SAMPLE_ERROR},
    {"a sample that is no number", "sample:nan", SAMPLE_ERROR},
    {"a sample of a half", "sample:0.5", NULL},
    {"a condition without predicate", "cond(-,all,all)",
     "Error in field 'condition' : predicate_filter must be set"},
    {"a condition without branches", "cond(all,-,-)", NULL},
    {"a sink in a predicate", "cond(sink,all,all)", SINK_ERROR},
    {"a sink in a branch", "cond(all,chain(all,inter(sink,all)),-)", SINK_ERROR},
    {"a sink beside a condition", "inter(sink,cond(all,all,-))", NULL},
    {"an empty label", "label:", LABEL_LENGTH_ERROR},
    {"a label of 16 characters", "label:abcdefghijklmnop", LABEL_LENGTH_ERROR},
    {"a label of 15 characters", "label:abcdefghijklmno", NULL},
    {"a label with spaces and capitals", "label:BAD LABEL", LABEL_ERROR},
    {"a label with a capital", "label:Foo", LABEL_ERROR},
    {"a label of digits and dashes", "label:0-9", NULL},
    {"two labels in a chain", "chain(label:a,label:b)", LABELS_ERROR},
    {"two labels in a chain, one of them deeper", "chain(inter(label:a,all),label:b)",
     LABELS_ERROR},
    {"two labels in a chain, one of them in a condition", "chain(label:b,cond(all,all,label:a))",
     LABELS_ERROR},
    {"two labels in an interleave", "inter(label:a,label:b)", NULL},
    {"a label behind an interleave without", "chain(inter(all,all),label:b)", NULL},
    {"a family regex with a colon", "fam:'(?:a|b)'",
     "Error in field 'family_name_regex_filter' : must not contain ':'"},
    {"a column range without family", "crange:/[a..b]",
     "Error in field 'column_range_filter' : family_name must be set"},
    {"an inverted column range", "crange:f/[b..a]", "Error in field 'column_range_filter'" ORDER},
    {"an inverted value range", "vrange:[b..a]", "Error in field 'value_range_filter'" ORDER},
    {"a value range to the closed empty string", "vrange:[b..]",
     "Error in field 'value_range_filter'" ORDER},
    {"a value range to the open empty string", "vrange:[b..)", NULL},
    {"an empty value range", "vrange:(b..b)", NULL},
    {"an inverted timestamp range", "ts:2000..1000",
     "Error in field 'timestamp_range_filter'" ORDER},
    {"a timestamp range open to the future", "ts:2000..0", NULL},
    {"an empty timestamp range", "ts:1000..1000", NULL},
    {"20 levels", CHAIN5(MIXED5(CHAIN5(MIXED5("all")))), NULL},
    {"21 levels", "chain(all," CHAIN5(MIXED5(CHAIN5(MIXED5("all")))) ")", DEPTH_ERROR},
    {"40 levels", CHAIN5(CHAIN5(CHAIN5(CHAIN5(CHAIN5(CHAIN5(CHAIN5(CHAIN5("all")))))))),
     DEPTH_ERROR},
};
#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

static void filter_is_checked(void **state)
{
    const struct check_case *c = *state;
    struct at_arena arena;
    struct at_filter *filter = NULL;
    struct at_error error = {0};

    at_arena_init(&arena, 4096);
    enum at_code code = at_filter_compile(text_filter(c->filter, &arena), &filter, &error);
    assert_string_equal(error.msg, c->error ? c->error : "");
    assert_int_equal(code, c->error ? AT_INVALID_ARGUMENT : AT_OK);
    at_filter_free(&filter);
    at_arena_deinit(&arena);
}

int main(void)
{
    struct CMUnitTest tests[CASE_COUNT];

    for (size_t i = 0; i < CASE_COUNT; i++) {
        union {
            const void *in;
            void *out;
        } state = {&cases[i]};
        tests[i] = (struct CMUnitTest){
            .name = cases[i].name, .test_func = filter_is_checked, .initial_state = state.out};
    }
    return _cmocka_run_group_tests("filter_check", tests, CASE_COUNT, NULL, NULL);
}
