#include "cluster/service/filter_decode.h"

#include "google/bigtable/v2/bigtable.pb-c.h"
#include "support/filter_text.h"
#include "support/test.h"
#include "support/wire_text.h"
#include "wire/proto_alloc.h"

/* Each row is a RowFilter and what the model's tree then looks like (see filter_text.h). */

struct filter_case {
    const char *name;
    const char *filter;
    enum at_code code;
    const char *out; /* or, on error, a part of the message */
};

static const struct filter_case cases[] = {
    {"an empty filter passes all", "", AT_OK, "all"},
    {"pass_all", "17=1", AT_OK, "all"},
    {"block_all", "18=1", AT_OK, "none"},
    {"sink", "16=1", AT_OK, "sink"},
    {"strip", "13=1", AT_OK, "strip"},
    {"row key regex", "4:'a.*'", AT_OK, "row:'a.*'"},
    {"family regex", "5:f", AT_OK, "fam:'f'"},
    {"qualifier regex", "6:q", AT_OK, "col:'q'"},
    {"value regex", "9:v", AT_OK, "value:'v'"},
    {"label", "19:l", AT_OK, "label:'l'"},
    {"row offset", "10=3", AT_OK, "offset:3"},
    {"a negative row offset is left to the check", "10=-1", AT_OK, "offset:-1"},
    {"row limit", "11=2", AT_OK, "limit:2"},
    {"column limit", "12=1", AT_OK, "collimit:1"},
    {"row sample", "14#0.5", AT_OK, "sample"},
    {"timestamp range", "8{1=1000 2=2000}", AT_OK, "ts:1000..2000"},
    {"an open timestamp range", "8{}", AT_OK, "ts:0..0"},
    {"column range, closed and open", "7{1:f 2:a 5:c}", AT_OK, "crange:f/[a..c)"},
    {"column range, open and closed", "7{1:f 3:a 4:c}", AT_OK, "crange:f/(a..c]"},
    {"column range without bounds", "7{1:f}", AT_OK, "crange:f/[*..*]"},
    {"a bound set to the empty string is set", "7{1:f 5:''}", AT_OK, "crange:f/[*..)"},
    {"value range, closed and open", "15{1:a 4:c}", AT_OK, "vrange:[a..c)"},
    {"value range, open and closed", "15{2:a 3:c}", AT_OK, "vrange:(a..c]"},
    {"value bitmask", "20{1:m}", AT_OK, "mask:'m'"},
    {"chain", "1{1{17=1} 1{18=1} 1{4:r}}", AT_OK, "chain(all,none,row:'r')"},
    {"interleave", "2{1{6:a} 1{6:b}}", AT_OK, "inter(col:'a',col:'b')"},
    {"nested", "1{1{2{1{6:a} 1{1{1{9:v} 1{13=1}}}}} 1{11=1}}", AT_OK,
     "chain(inter(col:'a',chain(value:'v',strip)),limit:1)"},
    {"condition", "3{1{17=1} 2{6:t} 3{6:f}}", AT_OK, "cond(all,col:'t',col:'f')"},
    {"condition without branches", "3{1{17=1}}", AT_OK, "cond(all,-,-)"},
    {"condition without predicate is left to the check", "3{2{17=1}}", AT_OK, "cond(-,all,-)"},
    {"a mask within a chain", "1{1{20{1:m}} 1{17=1}}", AT_OK, "chain(mask:'m',all)"},

    {"pass_all: false", "17=0", AT_INVALID_ARGUMENT, "pass_all_filter must be true if set"},
    {"block_all: false", "18=0", AT_INVALID_ARGUMENT, "block_all_filter must be true if set"},
    {"sink: false", "16=0", AT_INVALID_ARGUMENT, "sink must be true if set"},
    {"strip: false", "13=0", AT_INVALID_ARGUMENT, "strip_value_transformer must be true if set"},
    {"an unknown filter", "21{1:x}", AT_UNIMPLEMENTED, "field 21 of RowFilter is not supported"},
    {"an unknown filter deep inside", "1{1{17=1} 1{2{1{30=1} 1{17=1}}}}", AT_UNIMPLEMENTED,
     "field 30 of RowFilter"},
    {"an unknown filter beside a known one", "17=1 21=1", AT_UNIMPLEMENTED, "field 21"},
    {"a mask beside another filter", "20{1:m} 17=1", AT_INVALID_ARGUMENT, "Only one filter"},
    {"a mask that is no message", "20=5", AT_INVALID_ARGUMENT, "value_bitmask_filter"},
    {"a mask with strange contents", "20{1=5}", AT_INVALID_ARGUMENT, "value_bitmask_filter"},
    {"20 KiB are the limit", "9:*20480", AT_INVALID_ARGUMENT, "20480 bytes"},
};

static const Google__Bigtable__V2__RowFilter *unpack(const char *text, struct at_arena *arena)
{
    const void *filter = at_proto_unpack(arena, &google__bigtable__v2__row_filter__descriptor,
                                         wire_text(text, arena));

    assert_non_null(filter);
    return filter;
}

static void check_case(void **state)
{
    const struct filter_case *c = *state;
    struct at_error error = {0};
    struct at_filter_node *root;
    struct at_arena arena;
    struct at_buf out;

    at_arena_init(&arena, 4096);
    at_buf_init(&out, AT_MIB);
    enum at_code code = at_filter_decode(unpack(c->filter, &arena), &arena, &root, &error);
    assert_int_equal(code, c->code);
    if (code == AT_OK) {
        text_put_filter(&out, root);
        assert_string_equal(at_buf_cstr(&out), c->out);
    } else {
        assert_int_equal(error.code, code);
        assert_non_null(strstr(error.msg, c->out));
    }
    at_buf_deinit(&out);
    at_arena_deinit(&arena);
}

static void no_filter_gives_no_tree(void **state)
{
    struct at_filter_node *root;
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, 4096);
    assert_int_equal(at_filter_decode(NULL, &arena, &root, NULL), AT_OK);
    assert_null(root);
    at_arena_deinit(&arena);
}

static void the_sample_keeps_its_probability(void **state)
{
    struct at_filter_node *root;
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, 4096);
    assert_int_equal(at_filter_decode(unpack("14#0.25", &arena), &arena, &root, NULL), AT_OK);
    assert_true(root->probability > 0.24 && root->probability < 0.26);
    at_arena_deinit(&arena);
}

static enum at_code decode_nested(unsigned depth)
{
    struct at_filter_node *root;
    struct at_arena arena;
    struct at_buf text;

    at_arena_init(&arena, 4096);
    at_buf_init(&text, AT_MIB);
    for (unsigned i = 0; i < depth; i++)
        assert_int_equal(at_buf_printf(&text, "1{1{17=1} 1{"), AT_OK);
    assert_int_equal(at_buf_printf(&text, "17=1"), AT_OK);
    for (unsigned i = 0; i < depth; i++)
        assert_int_equal(at_buf_printf(&text, "}}"), AT_OK);
    enum at_code code = at_filter_decode(unpack(at_buf_cstr(&text), &arena), &arena, &root, NULL);
    at_buf_deinit(&text);
    at_arena_deinit(&arena);
    return code;
}

static void nesting_is_limited(void **state)
{
    (void)state;
    assert_int_equal(decode_nested(AT_FILTER_DEPTH_MAX), AT_OK);
    assert_int_equal(decode_nested(AT_FILTER_DEPTH_MAX + 1), AT_INVALID_ARGUMENT);
    assert_int_equal(decode_nested(40), AT_INVALID_ARGUMENT);
}

int main(void)
{
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[COUNT + 3];

    for (size_t i = 0; i < COUNT; i++) {
        union {
            const struct filter_case *in;
            void *out;
        } c = {.in = &cases[i]};
        tests[i] = (struct CMUnitTest){cases[i].name, check_case, NULL, NULL, c.out};
    }
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(no_filter_gives_no_tree);
    tests[COUNT + 1] = (struct CMUnitTest)cmocka_unit_test(the_sample_keeps_its_probability);
    tests[COUNT + 2] = (struct CMUnitTest)cmocka_unit_test(nesting_is_limited);
    return _cmocka_run_group_tests("filter_decode", tests, COUNT + 3, NULL, NULL);
}
