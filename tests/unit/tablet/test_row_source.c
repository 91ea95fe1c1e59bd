#include "cluster/tablet/row_source.h"

#include "support/fake_store.h"
#include "support/test.h"

struct fixture {
    struct at_store *store;
    struct at_row_source source;
    struct at_buf scratch;
    uint64_t passed_bytes;
};

/* Rows a, b and c; b has a hundred cells. */
static int setup(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);
    struct fake_cell cell = {.family = "f", .hlc = 1};
    struct at_iter_options options = {.lower = {NULL, 0}};

    f->store = fake_store_open();
    fake_table(f->store, "t");
    fake_family(f->store, "t", "f", at_slice_make(NULL, 0));
    cell.row = AT_LIT("a");
    fake_put_cell(f->store, "t", &cell);
    cell.row = AT_LIT("c");
    fake_put_cell(f->store, "t", &cell);
    cell.row = AT_LIT("b");
    for (cell.timestamp_micros = 0; cell.timestamp_micros < 100; cell.timestamp_micros++)
        fake_put_cell(f->store, "t", &cell);
    fake_commit(f->store);
    f->source = (struct at_row_source){
        .iter = at_iter_open(f->store->engine, AT_SPACE_CELLS, &options),
        .table_id = fake_id(f->store, "t"),
        .family_id = fake_id(f->store, "t/f"),
        .passed_bytes = &f->passed_bytes,
    };
    at_buf_init(&f->scratch, AT_KEY_BYTES_MAX);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    at_iter_close(&f->source.iter);
    at_buf_deinit(&f->scratch);
    fake_store_close(&f->store);
    at_free(f);
    return 0;
}

static void moves_show_rows_and_count_what_they_pass(void **state)
{
    struct fixture *f = *state;
    struct at_key key;

    assert_int_equal(at_row_source_seek(&f->source, AT_LIT("\0"), NULL), AT_OK);
    assert_true(at_row_source_at(&f->source, AT_LIT("a")));
    uint64_t passed = f->passed_bytes;
    size_t len = f->source.key.len;
    assert_int_equal(at_row_source_next(&f->source, NULL), AT_OK);
    assert_int_equal(f->passed_bytes, passed + len);
    assert_true(at_row_source_at(&f->source, AT_LIT("b")));
    assert_int_equal(at_row_source_decode(&f->source, &f->scratch, &key, NULL), AT_OK);
    assert_int_equal(key.timestamp_micros, 99);
    assert_int_equal(at_row_source_seek_last(&f->source, NULL), AT_OK);
    assert_true(at_row_source_at(&f->source, AT_LIT("c")));
    assert_int_equal(at_row_source_next(&f->source, NULL), AT_OK);
    assert_false(f->source.valid);
    assert_false(at_row_source_at(&f->source, AT_LIT("c")));
}

static void a_long_row_is_passed_by_a_seek(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(at_row_source_seek(&f->source, AT_LIT("\0"), NULL), AT_OK);
    assert_int_equal(at_row_source_pass_row(&f->source, AT_LIT("a"), &f->scratch, NULL), AT_OK);
    assert_true(at_row_source_at(&f->source, AT_LIT("b")));
    f->passed_bytes = 0;
    assert_int_equal(at_row_source_pass_row(&f->source, AT_LIT("b"), &f->scratch, NULL), AT_OK);
    assert_true(at_row_source_at(&f->source, AT_LIT("c")));
    assert_true(f->passed_bytes < 30 * 40);
}

static void reaching_goes_to_the_row_or_behind_it(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(at_row_source_seek(&f->source, AT_LIT("\0"), NULL), AT_OK);
    assert_int_equal(at_row_source_reach(&f->source, AT_LIT("a"), &f->scratch, NULL), AT_OK);
    assert_true(at_row_source_at(&f->source, AT_LIT("a")));
    assert_int_equal(at_row_source_reach(&f->source, AT_LIT("bb"), &f->scratch, NULL), AT_OK);
    assert_true(at_row_source_at(&f->source, AT_LIT("c")));
    assert_int_equal(at_row_source_reach(&f->source, AT_LIT("d"), &f->scratch, NULL), AT_OK);
    assert_false(f->source.valid);
}

static void what_is_not_a_key_is_data_loss(void **state)
{
    struct fixture *f = *state;
    struct at_iter_options options = {.lower = {NULL, 0}};

    at_batch_put(f->store->batch, AT_SPACE_CELLS, AT_LIT("zzz"), AT_LIT(""));
    fake_commit(f->store);
    at_iter_close(&f->source.iter);
    f->source.iter = at_iter_open(f->store->engine, AT_SPACE_CELLS, &options);
    assert_int_equal(at_row_source_seek(&f->source, AT_LIT("zz"), NULL), AT_DATA_LOSS);
    assert_false(f->source.valid);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(moves_show_rows_and_count_what_they_pass),
        TEST(a_long_row_is_passed_by_a_seek),
        TEST(reaching_goes_to_the_row_or_behind_it),
        TEST(what_is_not_a_key_is_data_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
