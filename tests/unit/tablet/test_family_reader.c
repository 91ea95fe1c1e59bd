#include "cluster/tablet/family_reader.h"

#include "support/fake_store.h"
#include "support/test.h"

struct fixture {
    struct at_store *store;
    struct at_schema *schema;
    struct at_row_source source;
    struct at_family_reader reader;
    uint64_t passed_bytes;
};

static int setup(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    f->store = fake_store_open();
    fake_table(f->store, "t");
    fake_family(f->store, "t", "f", at_slice_make(NULL, 0));
    fake_family(f->store, "t", "sum", AT_LIT(FAKE_SUM));
    f->schema = at_store_schema(f->store);
    at_family_reader_init(&f->reader);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    at_iter_close(&f->source.iter);
    at_family_reader_deinit(&f->reader);
    at_schema_unref(&f->schema);
    fake_store_close(&f->store);
    at_free(f);
    return 0;
}

static void put(struct fixture *f, const char *family, const char *q, int64_t ts, const char *v)
{
    struct fake_cell cell = {
        .family = family,
        .row = AT_LIT("r"),
        .qualifier = at_slice_cstr(q),
        .timestamp_micros = ts,
        .hlc = 5,
        .value = at_slice_make(v, 8),
        .partial = strcmp(family, "sum") == 0,
    };

    fake_put_cell(f->store, "t", &cell);
}

/* Starts reading row r of the family. */
static void begin(struct fixture *f, const char *family, uint64_t hidden_hlc)
{
    const struct at_table *t = at_catalog_table(f->schema->catalog, AT_LIT("t"));
    struct at_iter_options options = {.lower = {NULL, 0}};
    struct at_buf key;

    fake_commit(f->store);
    at_buf_init(&key, AT_KEY_BYTES_MAX);
    assert_int_equal(
        at_key_seek_family_end(&key, t->id, at_table_family(t, at_slice_cstr(family))->id), AT_OK);
    options.upper = at_buf_slice(&key);
    f->source = (struct at_row_source){
        .iter = at_iter_open(f->store->engine, AT_SPACE_CELLS, &options),
        .family = at_table_family(t, at_slice_cstr(family)),
        .table_id = t->id,
        .passed_bytes = &f->passed_bytes,
    };
    f->source.family_id = f->source.family->id;
    at_buf_clear(&key);
    assert_int_equal(at_key_seek_row(&key, t->id, f->source.family_id, AT_LIT("r")), AT_OK);
    assert_int_equal(at_row_source_seek(&f->source, at_buf_slice(&key), NULL), AT_OK);
    at_buf_deinit(&key);
    at_family_reader_begin_row(&f->reader, AT_LIT("r"), AT_LIT("r"),
                               (struct at_stamp){hidden_hlc, {1}});
}

/* The next cell as "q@ts", or "end". */
static const char *next(struct fixture *f)
{
    static char text[64];
    enum at_family_event event = AT_FAMILY_MOVED;

    while (event == AT_FAMILY_MOVED)
        assert_int_equal(at_family_reader_step(&f->reader, &f->source, &event, NULL), AT_OK);
    if (event == AT_FAMILY_END)
        return "end";
    const struct at_cell *cell = &f->reader.cell;
    snprintf(text, sizeof(text), "%.*s@%lld", AT_SLICE_ARG(cell->qualifier),
             (long long)cell->timestamp_micros);
    return text;
}

static void shows_the_cells_of_the_row_only(void **state)
{
    struct fixture *f = *state;

    put(f, "f", "a", 1, "12345678");
    put(f, "f", "a", 2, "12345678");
    put(f, "f", "b", 1, "12345678");
    put(f, "sum", "a", 1, "12345678");
    begin(f, "f", 0);
    assert_string_equal(next(f), "a@2");
    assert_true(at_slice_eq(f->reader.cell.value, AT_LIT("12345678")));
    assert_string_equal(next(f), "a@1");
    assert_string_equal(next(f), "b@1");
    assert_string_equal(next(f), "end");
    assert_string_equal(next(f), "end");
}

static void hides_a_row_below_its_stamp(void **state)
{
    struct fixture *f = *state;

    put(f, "f", "a", 1, "12345678");
    begin(f, "f", 6);
    assert_string_equal(next(f), "end");
}

static void skipping_a_column_goes_to_the_next(void **state)
{
    struct fixture *f = *state;

    for (int64_t ts = 0; ts < 50; ts++)
        put(f, "f", "a", ts, "12345678");
    put(f, "f", "b", 1, "12345678");
    begin(f, "f", 0);
    assert_string_equal(next(f), "a@49");
    f->reader.skip_column = true;
    assert_string_equal(next(f), "b@1");
    f->reader.skip_column = true;
    assert_string_equal(next(f), "end");
}

/* The fold is shown at the key behind it, which may be of the next column already. */
static void skipping_a_folded_column_keeps_the_next(void **state)
{
    struct fixture *f = *state;

    put(f, "sum", "a", 2, "\0\0\0\0\0\0\0\1");
    put(f, "sum", "b", 2, "\0\0\0\0\0\0\0\1");
    put(f, "sum", "b", 1, "\0\0\0\0\0\0\0\1");
    begin(f, "sum", 0);
    assert_string_equal(next(f), "a@2");
    f->reader.skip_column = true;
    assert_string_equal(next(f), "b@2");
    f->reader.skip_column = true;
    assert_string_equal(next(f), "end");
}

/* What a peer put there that took the family for one of the other type. */
static void hides_what_is_of_the_other_kind(void **state)
{
    struct fixture *f = *state;
    struct fake_cell foreign = {
        .family = "f",
        .row = AT_LIT("r"),
        .qualifier = AT_LIT("a"),
        .timestamp_micros = 1,
        .hlc = 6,
        .value = AT_LIT("\0\0\0\0\0\0\0\1"),
        .partial = true,
    };

    put(f, "f", "a", 1, "12345678");
    put(f, "f", "b", 1, "12345678");
    fake_put_cell(f->store, "t", &foreign);
    foreign.timestamp_micros = 9; /* only an add, and only a set */
    fake_put_cell(f->store, "t", &foreign);
    foreign.family = "sum";
    foreign.partial = false;
    fake_put_cell(f->store, "t", &foreign);
    foreign.timestamp_micros = 2;
    fake_put_cell(f->store, "t", &foreign);
    put(f, "sum", "a", 2, "\0\0\0\0\0\0\0\1");
    begin(f, "f", 0);
    assert_string_equal(next(f), "a@1");
    assert_true(at_slice_eq(f->reader.cell.value, AT_LIT("12345678")));
    assert_string_equal(next(f), "b@1");
    assert_string_equal(next(f), "end");
    at_iter_close(&f->source.iter);
    begin(f, "sum", 0);
    assert_string_equal(next(f), "a@2");
    assert_true(at_slice_eq(f->reader.cell.value, AT_LIT("\0\0\0\0\0\0\0\1")));
    assert_string_equal(next(f), "end");
}

/* A sketch among sums, say: the rest still adds up. */
static void hides_what_does_not_fit_the_type(void **state)
{
    struct fixture *f = *state;
    struct fake_cell foreign = {
        .family = "sum",
        .row = AT_LIT("r"),
        .qualifier = AT_LIT("a"),
        .timestamp_micros = 2,
        .hlc = 6,
        .value = AT_LIT("HLL\x01\x0e\x01"),
        .partial = true,
    };

    put(f, "sum", "a", 2, "\0\0\0\0\0\0\0\1");
    fake_put_cell(f->store, "t", &foreign);
    foreign.timestamp_micros = 1;
    fake_put_cell(f->store, "t", &foreign);
    begin(f, "sum", 0);
    assert_string_equal(next(f), "a@2");
    assert_true(at_slice_eq(f->reader.cell.value, AT_LIT("\0\0\0\0\0\0\0\1")));
    assert_string_equal(next(f), "end");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(shows_the_cells_of_the_row_only),    TEST(hides_a_row_below_its_stamp),
        TEST(skipping_a_column_goes_to_the_next), TEST(skipping_a_folded_column_keeps_the_next),
        TEST(hides_what_is_of_the_other_kind),    TEST(hides_what_does_not_fit_the_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
