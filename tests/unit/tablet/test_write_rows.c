#include "base/escape.h"
#include "cluster/model/hll.h"
#include "support/test.h"

#include "support/store_fixture.h"

/* Row mutations through the writer. Rule numbers are those of the API's promises. */

static int setup(void **state)
{
    struct fx *f = at_alloc(sizeof(*f));

    fx_open(f, 1, 1);
    fx_make_table(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fx_close(*state);
    at_free(*state);
    return 0;
}

static void a_set_cell_is_read_back(void **state)
{
    struct fx *f = *state;

    assert_int_equal(fx_set(f, "r", "f", "q", 1000, "v"), AT_OK);
    fx_expect_rows(f, "t", "r: f:q@1000=v|");
    assert_int_equal(fx_set(f, "r", "f", "q", 1000, "w"), AT_OK);
    assert_int_equal(fx_set(f, "r", "g", "", 0, ""), AT_OK);
    fx_expect_rows(f, "t", "r: f:q@1000=w g:@0=|");
}

static void an_unknown_family_leaves_nothing_of_the_row(void **state)
{
    struct fx *f = *state;
    struct at_error error = {0};
    struct at_mutation m[2] = {fx_set_of("f", "q", 1000, "v"), fx_set_of("zz", "q", 1000, "v")};

    assert_int_equal(fx_mutate(f, "r2", m, 2, &error), AT_NOT_FOUND);
    assert_string_equal(error.msg,
                        "Error while mutating the row 'r2' (projects/p/instances/i/tables/t) : "
                        "Requested column family not found.");
    fx_expect_rows(f, "t", "");
}

static void deleting_from_an_unknown_family_is_not_found(void **state)
{
    struct fx *f = *state;
    struct at_mutation m = {.kind = AT_MUTATION_DELETE_FAMILY, .family = AT_LIT("zz")};

    assert_int_equal(fx_mutate(f, "r", &m, 1, NULL), AT_NOT_FOUND);
    m.kind = AT_MUTATION_DELETE_COLUMN;
    assert_int_equal(fx_mutate(f, "r", &m, 1, NULL), AT_NOT_FOUND);
}

static void an_unknown_table_refuses_the_whole_request(void **state)
{
    struct fx *f = *state;
    struct at_error error = {0};
    struct at_mutation m = fx_set_of("f", "q", 1000, "v");

    assert_int_equal(fx_mutate_in(f, "nosuch", AT_LIT("r"), &m, 1, &error), AT_NOT_FOUND);
    assert_non_null(strstr(error.msg, "projects/p/instances/i/tables/t"));
}

static void each_row_of_a_request_fails_on_its_own(void **state)
{
    struct fx *f = *state;
    struct at_mutation good = fx_set_of("f", "q", 1000, "v");
    struct at_mutation bad = fx_set_of("zz", "q", 1000, "v");
    struct at_error errors[3] = {{0}};
    struct at_row_mutations rows[3] = {
        {.row = AT_LIT("a"), .mutations = &good, .mutation_count = 1, .error = &errors[0]},
        {.row = AT_LIT("b"), .mutations = &bad, .mutation_count = 1, .error = &errors[1]},
        {.row = AT_LIT("c"), .mutations = &good, .mutation_count = 1, .error = &errors[2]},
    };
    struct at_write_rows write = {
        .base = {.kind = AT_WRITE_ROWS},
        .table = AT_LIT("t"),
        .full_name = FX_NAME,
        .rows = rows,
        .row_count = 3,
    };

    assert_int_equal(fx_run(f, &write.base), AT_OK);
    assert_int_equal(rows[0].code, AT_OK);
    assert_int_equal(rows[1].code, AT_NOT_FOUND);
    assert_int_equal(errors[1].code, AT_NOT_FOUND);
    assert_int_equal(rows[2].code, AT_OK);
    assert_true(write.base.seq > 0);
    fx_expect_rows(f, "t", "a: f:q@1000=v|c: f:q@1000=v|");
}

static void later_mutations_of_a_request_mask_earlier_ones(void **state)
{
    struct fx *f = *state;
    struct at_mutation m[3] = {
        fx_set_of("f", "a", 1000, "a"),
        {.kind = AT_MUTATION_DELETE_ROW},
        fx_set_of("f", "b", 1000, "b"),
    };
    struct at_mutation twice[2] = {fx_set_of("f", "c", 1000, "1"), fx_set_of("f", "c", 1000, "2")};

    assert_int_equal(fx_mutate(f, "r", m, 3, NULL), AT_OK);
    fx_expect_rows(f, "t", "r: f:b@1000=b|");
    assert_int_equal(fx_mutate(f, "r", twice, 2, NULL), AT_OK);
    fx_expect_rows(f, "t", "r: f:b@1000=b f:c@1000=2|");
}

static void server_time_is_cut_to_the_granularity(void **state)
{
    struct fx *f = *state;
    struct at_mutation m = fx_set_of("f", "q", AT_TIMESTAMP_SERVER, "v");
    struct at_row_mutations row = {.row = AT_LIT("r"), .mutations = &m, .mutation_count = 1};
    struct at_write_rows write = {
        .base = {.kind = AT_WRITE_ROWS},
        .table = AT_LIT("t"),
        .full_name = FX_NAME,
        .rows = &row,
        .row_count = 1,
        .server_micros = 1234567,
    };

    assert_int_equal(fx_run(f, &write.base), AT_OK);
    fx_expect_rows(f, "t", "r: f:q@1234000=v|");
    assert_int_equal(m.timestamp_micros, 1234000);

    uint64_t before = fx_wall_ns(f) / 1000000;
    m.timestamp_micros = AT_TIMESTAMP_SERVER;
    assert_int_equal(fx_mutate(f, "r", &m, 1, NULL), AT_OK);
    uint64_t after = fx_wall_ns(f) / 1000000;
    assert_in_range((uint64_t)m.timestamp_micros / 1000, before, after);
    assert_int_equal(m.timestamp_micros % 1000, 0);
}

struct range_case {
    const char *name;
    int64_t start;
    int64_t end;
    const char *left;
};

static void a_column_delete_covers_its_range(void **state)
{
    static const struct range_case cases[] = {
        {"both", 2000, 4000, "r: f:q@5000=5 f:q@4000=4 f:q@1000=1|"},
        {"end only", 0, 5000, "r: f:q@5000=5|"},
        {"start only", 4000, 0, "r: f:q@3000=3 f:q@2000=2 f:q@1000=1|"},
        {"all", 0, 0, ""},
    };
    struct fx *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(fx_delete_row(f, "r"), AT_OK);
        for (int64_t n = 1; n <= 5; n++) {
            char value[2] = {(char)('0' + n), 0};
            assert_int_equal(fx_set(f, "r", "f", "q", n * 1000, value), AT_OK);
        }
        struct at_mutation m = {
            .kind = AT_MUTATION_DELETE_COLUMN,
            .family = AT_LIT("f"),
            .qualifier = AT_LIT("q"),
            .start_micros = cases[i].start,
            .end_micros = cases[i].end,
        };
        assert_int_equal(fx_mutate(f, "r", &m, 1, NULL), AT_OK);
        fx_expect_rows(f, "t", cases[i].left);
    }
}

static void aggregates_merge_and_refuse_sets(void **state)
{
    struct fx *f = *state;
    uint8_t value[8];

    assert_int_equal(fx_change(f, "t", "sum", FX_FIELDS(FX_SUM), true), AT_OK);
    assert_int_equal(fx_change(f, "t", "max", FX_FIELDS(FX_MAX), true), AT_OK);
    assert_int_equal(fx_change(f, "t", "min", FX_FIELDS(FX_MIN), true), AT_OK);
    assert_int_equal(fx_set(f, "r", "sum", "q", 1000, "abc"), AT_INVALID_ARGUMENT);
    assert_int_equal(fx_add(f, "r", "f", "q", 1), AT_INVALID_ARGUMENT);
    fx_expect_rows(f, "t", "");

    assert_int_equal(fx_add(f, "r", "sum", "q", 40), AT_OK);
    assert_int_equal(fx_add(f, "r", "sum", "q", 2), AT_OK);
    assert_int_equal(fx_add(f, "r", "max", "q", 9), AT_OK);
    assert_int_equal(fx_add(f, "r", "max", "q", 3), AT_OK);
    assert_int_equal(fx_add(f, "r", "min", "q", 3), AT_OK);
    assert_int_equal(fx_add(f, "r", "min", "q", 9), AT_OK);
    fx_expect_rows(f, "t",
                   "r: max:q@1000=%00%00%00%00%00%00%00%09 min:q@1000=%00%00%00%00%00%00%00%03 "
                   "sum:q@1000=%00%00%00%00%00%00%00*|");

    struct at_mutation merge = {.kind = AT_MUTATION_MERGE,
                                .family = AT_LIT("sum"),
                                .qualifier = AT_LIT("q"),
                                .timestamp_micros = 1000};
    assert_int_equal(fx_mutate(f, "r", &merge, 1, NULL), AT_OK); /* NULL does nothing */
    merge.value = AT_LIT("abc");
    assert_int_equal(fx_mutate(f, "r", &merge, 1, NULL), AT_INVALID_ARGUMENT);
    at_put_be64(value, (uint64_t)-2);
    merge.value = at_slice_make(value, sizeof(value));
    merge.family = AT_LIT("max");
    assert_int_equal(fx_mutate(f, "r", &merge, 1, NULL), AT_OK);
    fx_expect_rows(f, "t",
                   "r: max:q@1000=%00%00%00%00%00%00%00%09 min:q@1000=%00%00%00%00%00%00%00%03 "
                   "sum:q@1000=%00%00%00%00%00%00%00*|");
}

static enum at_code
add_value(struct fx *f, const char *family, enum at_input input, struct at_slice v)
{
    struct at_mutation m = {.kind = AT_MUTATION_ADD,
                            .family = fx_s(family),
                            .qualifier = AT_LIT("q"),
                            .timestamp_micros = 1000,
                            .value = v,
                            .input = input};

    return fx_mutate(f, "r", &m, 1, NULL);
}

static enum at_code merge_value(struct fx *f, const char *family, struct at_slice v)
{
    struct at_mutation m = {.kind = AT_MUTATION_MERGE,
                            .family = fx_s(family),
                            .qualifier = AT_LIT("q"),
                            .timestamp_micros = 1000,
                            .value = v};

    return fx_mutate(f, "r", &m, 1, NULL);
}

static void expect_sketch(struct fx *f, const struct at_hll *want)
{
    uint8_t bytes[AT_HLL_STATE_BYTES_MAX];
    struct at_buf text AT_CLEANUP(at_buf_deinit);
    size_t len = at_hll_encode(want, bytes);

    at_buf_init(&text, AT_MIB);
    assert_int_equal(at_buf_append(&text, AT_LIT("r: hll:q@1000=")), AT_OK);
    assert_int_equal(at_escape_percent(&text, at_slice_make(bytes, len)), AT_OK);
    assert_int_equal(at_buf_append(&text, AT_LIT("|")), AT_OK);
    fx_expect_rows(f, "t", at_buf_cstr(&text));
}

static void a_unique_count_is_the_sketch_of_what_was_added(void **state)
{
    struct fx *f = *state;
    struct at_hll want = {0};
    uint8_t five[8] = {0, 0, 0, 0, 0, 0, 0, 5};
    uint8_t one[AT_HLL_ONE_BYTES];

    assert_int_equal(fx_change(f, "t", "hll", FX_FIELDS(FX_HLL), true), AT_OK);
    for (int i = 0; i < 2; i++) { /* once more changes nothing */
        assert_int_equal(add_value(f, "hll", AT_INPUT_INT, at_slice_make(five, 8)), AT_OK);
        assert_int_equal(add_value(f, "hll", AT_INPUT_STRING, AT_LIT("six")), AT_OK);
    }
    at_hll_add(&want, at_slice_make(five, 8));
    at_hll_add(&want, AT_LIT("six"));
    assert_int_equal(at_hll_estimate(&want), 2);
    expect_sketch(f, &want);

    assert_int_equal(merge_value(f, "hll", at_slice_make(NULL, 0)), AT_OK); /* NULL */
    expect_sketch(f, &want);
    at_hll_one(AT_LIT("seven"), one);
    assert_int_equal(merge_value(f, "hll", at_slice_make(one, sizeof(one))), AT_OK);
    at_hll_add(&want, AT_LIT("seven"));
    expect_sketch(f, &want);

    assert_int_equal(merge_value(f, "hll", AT_LIT("no state")), AT_INVALID_ARGUMENT);
    assert_int_equal(fx_set(f, "r", "hll", "q", 1000, "v"), AT_INVALID_ARGUMENT);
    expect_sketch(f, &want);
    at_hll_deinit(&want);
}

struct input_case {
    const char *family;
    enum at_input input;
    struct at_slice value;
    enum at_code code;
};

/* ColumnFamily { value_type { aggregate { input_type { ... } hllpp } } } */
#define OF_BYTES "\x1a\x08\x32\x06\x0a\x02\x0a\x00\x2a\x00"
#define OF_STRING "\x1a\x08\x32\x06\x0a\x02\x12\x00\x2a\x00"
#define OF_INT64 "\x1a\x08\x32\x06\x0a\x02\x2a\x00\x2a\x00"

static void an_input_must_be_of_the_family_s_type(void **state)
{
    static const struct input_case cases[] = {
        {"sum", AT_INPUT_INT, AT_LIT_INIT("12345678"), AT_OK},
        {"sum", AT_INPUT_RAW, AT_LIT_INIT("12345678"), AT_OK},
        {"sum", AT_INPUT_RAW, AT_LIT_INIT("1234567"), AT_INVALID_ARGUMENT},
        {"sum", AT_INPUT_RAW, {NULL, 0}, AT_INVALID_ARGUMENT},
        {"sum", AT_INPUT_STRING, AT_LIT_INIT("12345678"), AT_INVALID_ARGUMENT},
        {"sum", AT_INPUT_BYTES, AT_LIT_INIT("12345678"), AT_INVALID_ARGUMENT},
        {"any", AT_INPUT_STRING, AT_LIT_INIT("x"), AT_OK},
        {"any", AT_INPUT_RAW, {NULL, 0}, AT_OK},
        {"bytes", AT_INPUT_BYTES, AT_LIT_INIT("x"), AT_OK},
        {"bytes", AT_INPUT_RAW, AT_LIT_INIT("x"), AT_OK},
        {"bytes", AT_INPUT_INT, AT_LIT_INIT("12345678"), AT_INVALID_ARGUMENT},
        {"string", AT_INPUT_STRING, AT_LIT_INIT("x"), AT_OK},
        {"string", AT_INPUT_BYTES, AT_LIT_INIT("x"), AT_INVALID_ARGUMENT},
        {"int64", AT_INPUT_INT, AT_LIT_INIT("12345678"), AT_OK},
        {"int64", AT_INPUT_RAW, AT_LIT_INIT("x"), AT_INVALID_ARGUMENT},
        {"int64", AT_INPUT_STRING, AT_LIT_INIT("x"), AT_INVALID_ARGUMENT},
    };
    struct fx *f = *state;

    assert_int_equal(fx_change(f, "t", "sum", FX_FIELDS(FX_SUM), true), AT_OK);
    assert_int_equal(fx_change(f, "t", "any", FX_FIELDS(FX_HLL), true), AT_OK);
    assert_int_equal(fx_change(f, "t", "bytes", FX_FIELDS(OF_BYTES), true), AT_OK);
    assert_int_equal(fx_change(f, "t", "string", FX_FIELDS(OF_STRING), true), AT_OK);
    assert_int_equal(fx_change(f, "t", "int64", FX_FIELDS(OF_INT64), true), AT_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct input_case *c = &cases[i];
        assert_int_equal(add_value(f, c->family, c->input, c->value), c->code);
    }
}

static void odd_bytes_in_keys_keep_rows_apart(void **state)
{
    struct fx *f = *state;
    struct at_mutation m = fx_set_of("f", "q", 1000, "v");
    static const struct at_slice rows[] = {
        AT_LIT_INIT("a"),     AT_LIT_INIT("a\0"),       AT_LIT_INIT("a\0b"), AT_LIT_INIT("a\x01"),
        AT_LIT_INIT("a\xff"), AT_LIT_INIT("a\xff\xff"), AT_LIT_INIT("ab"),
    };

    for (size_t i = sizeof(rows) / sizeof(rows[0]); i-- > 0;)
        assert_int_equal(fx_mutate_in(f, "t", rows[i], &m, 1, NULL), AT_OK);
    fx_expect_rows(f, "t",
                   "a: f:q@1000=v|a%00: f:q@1000=v|a%00b: f:q@1000=v|a%01: f:q@1000=v|"
                   "ab: f:q@1000=v|a%FF: f:q@1000=v|a%FF%FF: f:q@1000=v|");
}

/* More rows than one round takes. */
static void a_request_may_stretch_over_rounds(void **state)
{
    enum { COUNT = 10000 };
    struct fx *f = *state;
    struct at_mutation *m = at_alloc(COUNT * sizeof(*m));
    struct at_row_mutations *rows = at_alloc(COUNT * sizeof(*rows));
    char(*keys)[16] = at_alloc(COUNT * sizeof(*keys));

    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof(keys[i]), "r%05u", i);
        m[i] = fx_set_of("f", "q", 1000, "v");
        rows[i] = (struct at_row_mutations){
            .row = fx_s(keys[i]), .mutations = &m[i], .mutation_count = 1};
    }
    struct at_write_rows write = {
        .base = {.kind = AT_WRITE_ROWS},
        .table = AT_LIT("t"),
        .full_name = FX_NAME,
        .rows = rows,
        .row_count = COUNT,
    };
    assert_int_equal(fx_run(f, &write.base), AT_OK);
    char *text = fx_rows(f, "t");
    uint32_t seen = 0;
    for (const char *p = text; (p = strchr(p, '|')) != NULL; p++)
        seen++;
    assert_int_equal(seen, COUNT);
    at_free(text);
    at_free(keys);
    at_free(rows);
    at_free(m);
}

int main(void)
{
#define ROW_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        ROW_TEST(a_set_cell_is_read_back),
        ROW_TEST(an_unknown_family_leaves_nothing_of_the_row),
        ROW_TEST(deleting_from_an_unknown_family_is_not_found),
        ROW_TEST(an_unknown_table_refuses_the_whole_request),
        ROW_TEST(each_row_of_a_request_fails_on_its_own),
        ROW_TEST(later_mutations_of_a_request_mask_earlier_ones),
        ROW_TEST(server_time_is_cut_to_the_granularity),
        ROW_TEST(a_column_delete_covers_its_range),
        ROW_TEST(aggregates_merge_and_refuse_sets),
        ROW_TEST(a_unique_count_is_the_sketch_of_what_was_added),
        ROW_TEST(an_input_must_be_of_the_family_s_type),
        ROW_TEST(odd_bytes_in_keys_keep_rows_apart),
        ROW_TEST(a_request_may_stretch_over_rounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
