/* What compactions leave out, key by key. */
#include "cluster/tablet/sieve.h"

#include "cluster/model/key.h"
#include "cluster/tablet/schema_build.h"
#include "support/test.h"

/* Tables: 3 with family 5 (a floor) and family 6 (dead), 4 (dead). Of 7 and its families nothing is
 * known. */
static struct at_schema *make_schema(void)
{
    static const struct at_family_floor floors[] = {
        {.family_id = 5, .floor = {1000, {50, {2}}}},
        {.family_id = 6, .dead = true},
    };
    const struct at_schema_table tables[] = {
        {.table_id = 3, .floors = floors, .floor_count = 2},
        {.table_id = 4, .dead = true},
    };
    struct at_schema_spec spec = {.catalog = at_catalog_new(), .tables = tables, .table_count = 2};

    return at_schema_new(&spec);
}

static const struct sieve_case {
    const char *name;
    struct at_key key;
    bool dropped;
} cases[] = {
    {"a cell below the floor goes",
     {.kind = AT_KEY_CELL, .table = 3, .family = 5, .timestamp_micros = 999, .stamp = {50, {2}}},
     true},
    {"a partial below the floor goes",
     {.kind = AT_KEY_PARTIAL, .table = 3, .family = 5, .timestamp_micros = 0, .stamp = {1, {9}}},
     true},
    {"a cell at the floor stays",
     {.kind = AT_KEY_CELL, .table = 3, .family = 5, .timestamp_micros = 1000, .stamp = {1, {1}}},
     false},
    {"a cell stamped later stays",
     {.kind = AT_KEY_CELL, .table = 3, .family = 5, .timestamp_micros = 1, .stamp = {50, {3}}},
     false},
    {"a column marker stays",
     {.kind = AT_KEY_COLUMN_MARKER, .table = 3, .family = 5, .stamp = {1, {1}}},
     false},
    {"a family marker stays",
     {.kind = AT_KEY_FAMILY_MARKER, .table = 3, .family = 5, .stamp = {1, {1}}},
     false},
    {"a row marker stays", {.kind = AT_KEY_ROW_MARKER, .table = 3, .stamp = {1, {1}}}, false},
    {"a cell of a dead family goes",
     {.kind = AT_KEY_CELL, .table = 3, .family = 6, .timestamp_micros = 5000, .stamp = {99, {1}}},
     true},
    {"a marker of a dead family goes",
     {.kind = AT_KEY_FAMILY_MARKER, .table = 3, .family = 6, .stamp = {1, {1}}},
     true},
    {"all of a dead table goes", {.kind = AT_KEY_ROW_MARKER, .table = 4, .stamp = {1, {1}}}, true},
    {"a family without a floor stays",
     {.kind = AT_KEY_CELL, .table = 3, .family = 9, .stamp = {1, {1}}},
     false},
    {"a table that is not known stays",
     {.kind = AT_KEY_CELL, .table = 7, .family = 5, .stamp = {1, {1}}},
     false},
};
#define COUNT (sizeof(cases) / sizeof(cases[0]))

static void put_key(const struct sieve_case *c, struct at_buf *out)
{
    struct at_key key = c->key;

    key.row = AT_LIT("r\0w");
    key.qualifier = AT_LIT("q\0");
    at_buf_clear(out);
    assert_int_equal(at_key_encode(&key, out), AT_OK);
}

static void sieves(void **state)
{
    struct at_buf key;
    void *pass = at_sieve_begin(make_schema());

    at_buf_init(&key, AT_KEY_BYTES_MAX);
    put_key(*state, &key);
    assert_int_equal(at_sieve_drops(pass, at_buf_slice(&key)),
                     ((const struct sieve_case *)*state)->dropped);
    at_buf_deinit(&key);
    at_sieve_end(pass);
}

static void a_pass_goes_from_family_to_family(void **state)
{
    struct at_buf key;
    void *pass = at_sieve_begin(make_schema());

    (void)state;
    at_buf_init(&key, AT_KEY_BYTES_MAX);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            put_key(&cases[i], &key);
            assert_int_equal(at_sieve_drops(pass, at_buf_slice(&key)), cases[i].dropped);
        }
    }
    at_buf_deinit(&key);
    at_sieve_end(pass);
}

static void what_is_no_key_stays(void **state)
{
    void *pass = at_sieve_begin(make_schema());

    (void)state;
    assert_false(at_sieve_drops(pass, AT_LIT("")));
    assert_false(at_sieve_drops(pass, AT_LIT("\0\0\0\4")));
    assert_false(at_sieve_drops(pass, AT_LIT("\0\0\0\3\0\0\0\5")));
    assert_false(at_sieve_drops(pass, AT_LIT("\0\0\0\3\0\0\0\5row without end")));
    at_sieve_end(pass);
}

int main(void)
{
    struct CMUnitTest tests[COUNT + 2];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] =
            (struct CMUnitTest){cases[i].name, sieves, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(a_pass_goes_from_family_to_family);
    tests[COUNT + 1] = (struct CMUnitTest)cmocka_unit_test(what_is_no_key_stays);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
