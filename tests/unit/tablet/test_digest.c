#include "support/fake_store.h"
#include "support/read_text.h"
#include "support/test.h"

static struct at_digest
digest_of(struct at_store *store, const char *table, size_t bytes_max, size_t *ret_steps)
{
    struct at_digest_run *run = NULL;
    struct at_digest digest = {0};
    bool done = false;

    *ret_steps = 0;
    assert_int_equal(at_digest_open(store, at_slice_cstr(table), 1, &run, NULL), AT_OK);
    while (!done) {
        assert_int_equal(at_digest_step(run, bytes_max, &done, &digest, NULL), AT_OK);
        ++*ret_steps;
    }
    at_digest_close(&run);
    assert_null(run);
    return digest;
}

static bool same(struct at_store *a, struct at_store *b, const char *table)
{
    size_t steps;
    struct at_digest left = digest_of(a, table, SIZE_MAX, &steps);
    struct at_digest right = digest_of(b, table, 100, &steps);

    return left.rows == right.rows && left.cells == right.cells &&
           memcmp(left.bytes, right.bytes, sizeof(left.bytes)) == 0;
}

static void
put(struct at_store *store, const char *table, const char *row, const char *value, uint64_t hlc)
{
    struct fake_cell cell = {
        .family = "f", .row = at_slice_cstr(row), .hlc = hlc, .value = at_slice_cstr(value)};

    fake_put_cell(store, table, &cell);
    fake_commit(store);
}

/* Two stores with the tables t and u, whose local ids differ. */
static void open_two(struct at_store **a, struct at_store **b)
{
    *a = fake_store_open();
    *b = fake_store_open();
    fake_table(*a, "t");
    fake_table(*a, "u");
    fake_table(*b, "u");
    fake_table(*b, "t");
    for (int i = 0; i < 2; i++) {
        fake_family(i ? *a : *b, "t", "f", at_slice_make(NULL, 0));
        fake_family(i ? *a : *b, "u", "f", at_slice_make(NULL, 0));
    }
}

static void equal_data_has_an_equal_digest_however_it_came(void **state)
{
    struct at_store *a;
    struct at_store *b;
    size_t steps;

    (void)state;
    open_two(&a, &b);
    assert_true(same(a, b, ""));
    put(a, "t", "r1", "x", 5);
    put(a, "t", "r2", "y", 6);
    put(b, "t", "r2", "y", 16);
    put(b, "t", "r1", "old", 11);
    put(b, "t", "r3", "gone", 11);
    fake_put_marker(b, "t", NULL, AT_LIT("r3"), 12);
    assert_false(same(a, b, ""));
    put(b, "t", "r1", "x", 12);
    assert_true(same(a, b, "") && same(a, b, "t"));
    struct at_digest digest = digest_of(a, "t", 1, &steps);
    assert_int_equal(digest.rows, 2);
    assert_int_equal(digest.cells, 2);
    assert_true(steps > 4);
    fake_store_close(&a);
    fake_store_close(&b);
}

static void every_difference_shows(void **state)
{
    struct at_store *a;
    struct at_store *b;

    (void)state;
    open_two(&a, &b);
    put(a, "t", "ab", "c", 5);
    put(b, "t", "a", "bc", 5);
    assert_false(same(a, b, "t"));
    assert_true(same(a, b, "u"));
    put(b, "t", "ab", "c", 5);
    put(a, "t", "a", "bc", 5);
    assert_true(same(a, b, ""));
    put(a, "u", "a", "", 5);
    assert_false(same(a, b, ""));
    put(b, "u", "a", "", 5);
    fake_family(a, "u", "empty", at_slice_make(NULL, 0));
    assert_false(same(a, b, "u"));
    assert_true(same(a, b, "t"));
    fake_family(b, "u", "empty", AT_LIT(FAKE_SUM));
    assert_false(same(a, b, "u"));
    fake_store_close(&a);
    fake_store_close(&b);
}

/* Each differs from the first in one thing. */
static void every_part_of_a_cell_counts(void **state)
{
    static const struct fake_cell cells[] = {
        {"f", AT_LIT_INIT("r"), AT_LIT_INIT("q"), 1, 5, AT_LIT_INIT("v"), false},
        {"g", AT_LIT_INIT("r"), AT_LIT_INIT("q"), 1, 5, AT_LIT_INIT("v"), false},
        {"f", AT_LIT_INIT("s"), AT_LIT_INIT("q"), 1, 5, AT_LIT_INIT("v"), false},
        {"f", AT_LIT_INIT("r"), AT_LIT_INIT("p"), 1, 5, AT_LIT_INIT("v"), false},
        {"f", AT_LIT_INIT("r"), AT_LIT_INIT("q"), 2, 5, AT_LIT_INIT("v"), false},
        {"f", AT_LIT_INIT("r"), AT_LIT_INIT("q"), 1, 5, AT_LIT_INIT("w"), false},
    };
    struct at_digest digests[6];

    (void)state;
    for (int i = 0; i < 6; i++) {
        struct at_store *store = fake_store_open();
        size_t steps;
        fake_table(store, "t");
        fake_family(store, "t", "f", at_slice_make(NULL, 0));
        fake_family(store, "t", "g", at_slice_make(NULL, 0));
        fake_put_cell(store, "t", &cells[i]);
        fake_commit(store);
        digests[i] = digest_of(store, "t", SIZE_MAX, &steps);
        for (int k = 0; k < i; k++)
            assert_memory_not_equal(digests[i].bytes, digests[k].bytes, 16);
        fake_store_close(&store);
    }
}

static void long_values_and_many_rows_are_digested_in_pieces(void **state)
{
    struct at_store *a;
    struct at_store *b;
    char row[16];
    char *value = at_alloc(200001);

    (void)state;
    memset(value, 'v', 200000);
    open_two(&a, &b);
    for (int i = 0; i < 500; i++) {
        snprintf(row, sizeof(row), "r%d", i);
        value[199999] = (char)('a' + i % 26);
        put(a, "t", row, value + (i % 10 ? 199000 : 0), 5);
        put(b, "t", row, value + (i % 10 ? 199000 : 0), 7);
    }
    assert_true(same(a, b, ""));
    value[199999] = 'A';
    put(b, "t", "r490", value, 8);
    assert_false(same(a, b, ""));
    at_free(value);
    fake_store_close(&a);
    fake_store_close(&b);
}

static void an_unknown_table_is_not_found(void **state)
{
    struct at_store *store = fake_store_open();
    struct at_digest_run *run = NULL;

    (void)state;
    assert_int_equal(at_digest_open(store, AT_LIT("t"), 1, &run, NULL), AT_NOT_FOUND);
    assert_null(run);
    at_digest_close(&run);
    fake_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_data_has_an_equal_digest_however_it_came),
        cmocka_unit_test(every_difference_shows),
        cmocka_unit_test(every_part_of_a_cell_counts),
        cmocka_unit_test(long_values_and_many_rows_are_digested_in_pieces),
        cmocka_unit_test(an_unknown_table_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
