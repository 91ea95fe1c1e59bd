/* Catalog records and table fields on the wire, and the forms of names. */
#include "base/limits.h"
#include "cluster/model/catalog.h"
#include "support/test.h"

static void a_record_comes_back_and_has_the_size_foretold(void **state)
{
    const struct at_catalog_record r = {.kind = AT_CATALOG_FAMILY,
                                        .name = AT_LIT("cf"),
                                        .table = AT_LIT("t"),
                                        .table_generation = 300,
                                        .counter = UINT32_MAX,
                                        .stamp = {UINT64_MAX, {70000}},
                                        .fields = AT_LIT("\x0a\x00")};
    struct at_catalog_record got;
    struct at_unpack in;
    struct at_buf b;

    (void)state;
    at_buf_init(&b, AT_MIB);
    assert_int_equal(at_catalog_record_encode(&r, &b), AT_OK);
    assert_int_equal(b.len, at_catalog_record_size(&r));
    at_unpack_init(&in, at_buf_slice(&b));
    assert_int_equal(at_catalog_record_decode(&in, &got), AT_OK);
    assert_true(at_unpack_done(&in));
    assert_int_equal(got.kind, r.kind);
    assert_true(at_slice_eq(got.name, r.name) && at_slice_eq(got.table, r.table));
    assert_true(at_slice_eq(got.fields, r.fields));
    assert_int_equal(got.table_generation, r.table_generation);
    assert_int_equal(got.counter, r.counter);
    assert_int_equal(at_stamp_cmp(got.stamp, r.stamp), 0);
    at_buf_deinit(&b);
}

static enum at_code recode(struct at_catalog_record r)
{
    struct at_catalog_record got;
    struct at_unpack in;
    struct at_buf b;

    at_buf_init(&b, AT_MIB);
    assert_int_equal(at_catalog_record_encode(&r, &b), AT_OK);
    at_unpack_init(&in, at_buf_slice(&b));
    enum at_code code = at_catalog_record_decode(&in, &got);
    at_buf_deinit(&b);
    return code;
}

static void a_record_of_a_peer_must_have_a_kind_a_name_and_a_counter(void **state)
{
    uint8_t text[AT_KEPT_NAME_BYTES_MAX + 1];
    struct at_catalog_record r = {.kind = AT_CATALOG_PROFILE, .name = AT_LIT("p"), .counter = 1};

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(recode(r), AT_OK);
    r.name = at_slice_make(text, AT_KEPT_NAME_BYTES_MAX);
    assert_int_equal(recode(r), AT_OK);
    r.name = at_slice_make(text, AT_KEPT_NAME_BYTES_MAX + 1);
    assert_int_equal(recode(r), AT_INVALID_ARGUMENT);
    r.name = AT_LIT("");
    assert_int_equal(recode(r), AT_INVALID_ARGUMENT);
    r.name = AT_LIT("p");
    r.counter = 0;
    assert_int_equal(recode(r), AT_INVALID_ARGUMENT);
    r.counter = (uint64_t)UINT32_MAX + 1;
    assert_int_equal(recode(r), AT_INVALID_ARGUMENT);
    r.counter = 1;
    r.kind = (enum at_catalog_kind)(AT_CATALOG_KIND_MAX + 1);
    assert_int_equal(recode(r), AT_INVALID_ARGUMENT);
    r.kind = AT_CATALOG_POLICY;
    assert_int_equal(recode(r), AT_OK);
    r.name = AT_LIT(""); /* the instance's own policy */
    assert_int_equal(recode(r), AT_OK);
    r.kind = AT_CATALOG_OPERATION;
    assert_int_equal(recode(r), AT_INVALID_ARGUMENT);
    r.kind = AT_CATALOG_FAMILY; /* without a table */
    assert_int_equal(recode(r), AT_INVALID_ARGUMENT);
}

static void table_fields_come_back(void **state)
{
    struct at_slice splits[] = {AT_LIT("a"), AT_LIT("a\0"), AT_LIT("b")};
    const struct at_table_fields f = {.granularity_micros = 1,
                                      .data_generation = 3,
                                      .previous = {{5, 1000}, {1, 7}},
                                      .previous_count = 2,
                                      .deletion_protection = true,
                                      .change_stream_config = AT_LIT("\x0a\x00"),
                                      .splits = splits,
                                      .split_count = 3};
    struct at_table_fields got;
    struct at_arena arena;
    struct at_buf b;

    (void)state;
    at_arena_init(&arena, 1024);
    at_buf_init(&b, AT_MIB);
    assert_int_equal(at_table_fields_encode(&f, &b), AT_OK);
    assert_int_equal(at_table_fields_decode(at_buf_slice(&b), &arena, &got), AT_OK);
    assert_int_equal(got.granularity_micros, 1);
    assert_true(got.deletion_protection);
    assert_true(at_slice_eq(got.change_stream_config, f.change_stream_config));
    assert_int_equal(got.split_count, 3);
    assert_int_equal(got.data_generation, 3);
    assert_int_equal(got.previous_count, 2);
    assert_int_equal(got.previous[1].until_micros, 7);
    for (size_t i = 0; i < 3; i++)
        assert_true(at_slice_eq(got.splits[i], splits[i]));
    for (size_t len = 0; len < b.len; len++)
        assert_int_equal(at_table_fields_decode(at_slice_make(b.data, len), &arena, &got),
                         AT_INVALID_ARGUMENT);
    at_buf_deinit(&b);
    at_arena_deinit(&arena);
}

static void unknown_table_fields_are_skipped_and_missing_ones_have_defaults(void **state)
{
    static const uint8_t later[] = {0x82, 0x09, 0x92, 0x01, 0xa1, 'x', 0x02, 0xc3};
    struct at_table_fields got;
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, 1024);
    assert_int_equal(at_table_fields_decode(at_slice_make(later, sizeof(later)), &arena, &got),
                     AT_OK);
    assert_true(got.deletion_protection);
    assert_int_equal(got.granularity_micros, 1000);
    assert_int_equal(got.split_count, 0);
    at_arena_deinit(&arena);
}

static void wrong_table_fields_are_refused_both_ways(void **state)
{
    struct at_slice unsorted[] = {AT_LIT("b"), AT_LIT("a")};
    struct at_slice twice[] = {AT_LIT("a"), AT_LIT("a")};
    struct at_slice empty[] = {AT_LIT("")};
    const struct at_table_fields bad[] = {
        {.granularity_micros = 10},
        {.granularity_micros = 1000, .splits = unsorted, .split_count = 2},
        {.granularity_micros = 1000, .splits = twice, .split_count = 2},
        {.granularity_micros = 1000, .splits = empty, .split_count = 1},
    };
    static const uint8_t stored[] = {0x81, 0x04, 0x92, 0xa1, 'b', 0xa1, 'a'};
    struct at_table_fields got;
    struct at_arena arena;
    struct at_buf b;

    (void)state;
    at_arena_init(&arena, 1024);
    at_buf_init(&b, AT_MIB);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(at_table_fields_encode(&bad[i], &b), AT_INVALID_ARGUMENT);
    assert_int_equal(b.len, 0);
    assert_int_equal(at_table_fields_decode(at_slice_make(stored, sizeof(stored)), &arena, &got),
                     AT_INVALID_ARGUMENT);
    at_buf_deinit(&b);
    at_arena_deinit(&arena);
}

struct name_case {
    const char *name;
    bool table;
    bool family;
};

static void names_have_their_forms(void **state)
{
    static const struct name_case cases[] = {
        {"t", true, true},
        {"_a-b.c9", true, true},
        {"9", true, true},
        {"-a", false, true},
        {".a", false, true},
        {"", false, false},
        {"a b", false, false},
        {"a/b", false, false},
        {"a:b", false, false},
        {"caf\xc3\xa9", false, false},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true, true},   /* 50 */
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, true}, /* 51 */
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, true},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct at_slice name = at_slice_cstr(cases[i].name);
        assert_int_equal(at_table_id_check(name, NULL),
                         cases[i].table ? AT_OK : AT_INVALID_ARGUMENT);
        assert_int_equal(at_family_name_check(name, NULL),
                         cases[i].family ? AT_OK : AT_INVALID_ARGUMENT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_comes_back_and_has_the_size_foretold),
        cmocka_unit_test(a_record_of_a_peer_must_have_a_kind_a_name_and_a_counter),
        cmocka_unit_test(table_fields_come_back),
        cmocka_unit_test(unknown_table_fields_are_skipped_and_missing_ones_have_defaults),
        cmocka_unit_test(wrong_table_fields_are_refused_both_ways),
        cmocka_unit_test(names_have_their_forms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
