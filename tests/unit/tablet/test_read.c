#include "cluster/tablet/read.h"

#include "cluster/model/filter.h"
#include "support/fake_store.h"
#include "support/filter_text.h"
#include "support/read_text.h"
#include "support/test.h"

struct fixture {
    struct at_store *store;
    struct at_buf text;
    struct at_arena arena;
};

static int setup(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    f->store = fake_store_open();
    at_buf_init(&f->text, 64 * AT_MIB);
    at_arena_init(&f->arena, 4096);
    fake_table(f->store, "t");
    fake_family(f->store, "t", "f", at_slice_make(NULL, 0));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    fake_store_close(&f->store);
    at_buf_deinit(&f->text);
    at_arena_deinit(&f->arena);
    at_free(f);
    return 0;
}

static void put(struct fixture *f,
                const char *family,
                struct at_slice row,
                const char *qualifier,
                int64_t timestamp,
                const char *value)
{
    static uint64_t hlc = 1000;
    struct fake_cell cell = {
        .family = family,
        .row = row,
        .qualifier = at_slice_cstr(qualifier),
        .timestamp_micros = timestamp,
        .hlc = ++hlc,
        .value = at_slice_cstr(value),
    };

    fake_put_cell(f->store, "t", &cell);
}

/* Puts with a stamp of the test's choice. */
static void
put_at(struct fixture *f, const char *row, int64_t timestamp, uint64_t hlc, const char *v)
{
    struct fake_cell cell = {
        .family = "f",
        .row = at_slice_cstr(row),
        .qualifier = AT_LIT("q"),
        .timestamp_micros = timestamp,
        .hlc = hlc,
        .value = at_slice_cstr(v),
    };

    fake_put_cell(f->store, "t", &cell);
}

static struct at_row_set every_row(struct fixture *f)
{
    struct at_row_set rows;

    at_row_set_init(&rows);
    at_row_set_finish(&rows, &f->arena);
    return rows;
}

static const char *read_with(struct fixture *f, struct at_read_spec spec)
{
    struct at_row_set rows = every_row(f);

    if (spec.rows == NULL)
        spec.rows = &rows;
    if (spec.table.len == 0)
        spec.table = AT_LIT("t");
    at_buf_clear(&f->text);
    read_text(f->store, &spec, SIZE_MAX, &f->text);
    return at_buf_cstr(&f->text);
}

static const char *read_all(struct fixture *f)
{
    return read_with(f, (struct at_read_spec){0});
}

static const char *read_filtered(struct fixture *f, const char *text)
{
    struct at_filter *filter = NULL;

    assert_int_equal(at_filter_compile(text_filter(text, &f->arena), &filter, NULL), AT_OK);
    const char *out = read_with(f, (struct at_read_spec){.filter = filter});
    at_filter_free(&filter);
    return out;
}

static void an_unknown_table_is_not_found(void **state)
{
    struct fixture *f = *state;
    struct at_row_set rows = every_row(f);
    struct at_read *read = NULL;
    struct at_error error;
    struct at_read_spec spec = {.table = AT_LIT("nope"), .rows = &rows};

    assert_int_equal(at_read_open(f->store, &spec, &read, &error), AT_NOT_FOUND);
    assert_null(read);
    spec.table = at_slice_make(NULL, 0);
    assert_int_equal(at_read_open(f->store, &spec, &read, &error), AT_NOT_FOUND);
}

static void a_table_without_families_has_no_rows(void **state)
{
    struct fixture *f = *state;

    fake_table(f->store, "bare");
    assert_string_equal(read_with(f, (struct at_read_spec){.table = AT_LIT("bare")}), "");
    assert_string_equal(read_all(f), "");
}

static void rows_with_odd_bytes_stay_apart_and_in_byte_order(void **state)
{
    struct fixture *f = *state;
    static const struct at_slice rows[] = {
        AT_LIT_INIT("\x00"),      AT_LIT_INIT("\x00\x00"), AT_LIT_INIT("\x00\x01"),
        AT_LIT_INIT("\x00\xff"),  AT_LIT_INIT("\x01"),     AT_LIT_INIT("#"),
        AT_LIT_INIT("]"),         AT_LIT_INIT("a"),        AT_LIT_INIT("a\x00"),
        AT_LIT_INIT("a\x00\x01"), AT_LIT_INIT("a\x01"),    AT_LIT_INIT("a#"),
        AT_LIT_INIT("a/b"),       AT_LIT_INIT("ab"),       AT_LIT_INIT("a|"),
        AT_LIT_INIT("\xff"),      AT_LIT_INIT("\xff\x00"), AT_LIT_INIT("\xff\xff"),
    };
    static const char *want = "%00: f:@1=v|%00%00: f:@1=v|%00%01: f:@1=v|%00%FF: f:@1=v|%01: f:@1=v"
                              "|#: f:@1=v|]: f:@1=v|a: f:@1=v|a%00: f:@1=v|a%00%01: f:@1=v"
                              "|a%01: f:@1=v|a#: f:@1=v|a/b: f:@1=v|ab: f:@1=v|a|: f:@1=v"
                              "|%FF: f:@1=v|%FF%00: f:@1=v|%FF%FF: f:@1=v|";

    for (size_t i = sizeof(rows) / sizeof(rows[0]); i-- > 0;)
        put(f, "f", rows[i], "", 1, "v");
    fake_commit(f->store);
    assert_string_equal(read_all(f), want);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        at_buf_clear(&f->text);
        struct at_read_sink sink = read_text_sink(&f->text);
        assert_int_equal(at_read_row(f->store, AT_LIT("t"), rows[i], NULL, &sink, NULL), AT_OK);
        struct at_buf one;
        at_buf_init(&one, 256);
        assert_int_equal(at_escape_percent(&one, rows[i]), AT_OK);
        assert_int_equal(at_buf_append(&one, AT_LIT(": f:@1=v|")), AT_OK);
        assert_string_equal(at_buf_cstr(&f->text), at_buf_cstr(&one));
        at_buf_deinit(&one);
    }
}

static void tables_and_families_that_begin_each_other_never_mix(void **state)
{
    struct fixture *f = *state;

    fake_table(f->store, "t|x");
    fake_family(f->store, "t|x", "f", at_slice_make(NULL, 0));
    fake_family(f->store, "t", "ff", at_slice_make(NULL, 0));
    struct fake_cell other = {
        .family = "f", .row = AT_LIT("a"), .hlc = 1, .value = AT_LIT("other")};
    fake_put_cell(f->store, "t|x", &other);
    put(f, "f", AT_LIT("a"), "b/q", 2, "one");
    put(f, "f", AT_LIT("a/b"), "q", 2, "two");
    put(f, "ff", AT_LIT("a"), "q", 2, "three");
    fake_commit(f->store);
    assert_string_equal(read_all(f), "a: f:b/q@2=one ff:q@2=three|a/b: f:q@2=two|");
    assert_string_equal(read_with(f, (struct at_read_spec){.table = AT_LIT("t|x")}),
                        "a: f:@0=other|");
}

static void cells_come_by_family_then_qualifier_newest_first(void **state)
{
    struct fixture *f = *state;

    fake_family(f->store, "t", "b", at_slice_make(NULL, 0));
    fake_family(f->store, "t", "a-z", at_slice_make(NULL, 0));
    put(f, "f", AT_LIT("r"), "y", 999, "1");
    put(f, "f", AT_LIT("r"), "y", 1000, "2");
    put(f, "f", AT_LIT("r"), "x", 5, "3");
    put(f, "b", AT_LIT("r"), "z", 5, "4");
    put(f, "a-z", AT_LIT("r"), "z", 5, "5");
    put(f, "a-z", AT_LIT("s"), "z", 5, "6");
    fake_commit(f->store);
    assert_string_equal(read_all(f),
                        "r: a-z:z@5=5 b:z@5=4 f:x@5=3 f:y@1000=2 f:y@999=1|s: a-z:z@5=6|");
}

static void the_highest_stamp_of_a_timestamp_wins(void **state)
{
    struct fixture *f = *state;

    for (uint64_t i = 1; i <= 40; i++)
        put_at(f, "r", 7, i, i == 40 ? "new" : "old");
    put_at(f, "r", 6, 1, "below");
    fake_commit(f->store);
    assert_string_equal(read_all(f), "r: f:q@7=new f:q@6=below|");
}

static void markers_hide_exactly_what_is_stamped_lower(void **state)
{
    struct fixture *f = *state;
    struct fake_cell range = {.family = "f",
                              .row = AT_LIT("c"),
                              .qualifier = AT_LIT("q"),
                              .timestamp_micros = 2,
                              .hlc = 10};

    for (int64_t ts = 1; ts <= 4; ts++) {
        put_at(f, "c", ts, 9, "x");
        put_at(f, "f", ts, (uint64_t)(8 + ts), "x");
        put_at(f, "r", ts, (uint64_t)(8 + ts), "x");
    }
    put_at(f, "c", 3, 11, "later");
    fake_put_column_marker(f->store, "t", &range, 4);
    fake_put_marker(f->store, "t", "f", AT_LIT("f"), 11);
    fake_put_marker(f->store, "t", NULL, AT_LIT("r"), 12);
    fake_put_marker(f->store, "t", NULL, AT_LIT("only a marker"), 12);
    fake_commit(f->store);
    static const char *want = "c: f:q@4=x f:q@3=later f:q@1=x|f: f:q@4=x f:q@3=x|r: f:q@4=x|";
    assert_string_equal(read_all(f), want);
    static const char *back = "r: f:q@4=x|f: f:q@4=x f:q@3=x|c: f:q@4=x f:q@3=later f:q@1=x|";
    assert_string_equal(read_with(f, (struct at_read_spec){.reversed = true}), back);
}

static void dropped_ranges_hide_their_prefix(void **state)
{
    struct fixture *f = *state;

    put_at(f, "a", 1, 5, "x");
    put_at(f, "ab", 1, 5, "x");
    put_at(f, "ab", 2, 7, "x");
    put_at(f, "abc", 1, 6, "x");
    put_at(f, "b", 1, 3, "x");
    fake_commit(f->store);
    fake_drop_range(f->store, "t", AT_LIT("ab"), 6);
    fake_drop_range(f->store, "t", at_slice_make(NULL, 0), 4);
    assert_string_equal(read_all(f), "a: f:q@1=x|ab: f:q@2=x|abc: f:q@1=x|");
}

static void adds_fold_into_one_cell(void **state)
{
    struct fixture *f = *state;
    uint8_t value[8];
    static const int64_t adds[] = {5, -7, INT64_MAX, 1};

    fake_family(f->store, "t", "max", AT_LIT(FAKE_MAX));
    fake_family(f->store, "t", "min", AT_LIT(FAKE_MIN));
    fake_family(f->store, "t", "sum", AT_LIT(FAKE_SUM));
    static const char *const families[] = {"max", "min", "sum"};
    for (int k = 0; k < 3; k++) {
        struct fake_cell cell = {
            .family = families[k], .row = AT_LIT("r"), .hlc = 1, .partial = true};
        for (int i = 0; i < 4; i++) {
            at_put_be64(value, (uint64_t)adds[i]);
            cell.value = at_slice_make(value, 8);
            cell.hlc++;
            cell.timestamp_micros = 9;
            fake_put_cell(f->store, "t", &cell);
            cell.timestamp_micros = 3;
            if (i == 1)
                fake_put_cell(f->store, "t", &cell);
        }
        /* Hides the first add of each timestamp, which was stamped 2. */
        fake_put_marker(f->store, "t", families[k], AT_LIT("r"), 3);
    }
    fake_commit(f->store);
    assert_string_equal(read_all(f),
                        "r: max:@9=%7F%FF%FF%FF%FF%FF%FF%FF max:@3=%FF%FF%FF%FF%FF%FF%FF%F9"
                        " min:@9=%FF%FF%FF%FF%FF%FF%FF%F9 min:@3=%FF%FF%FF%FF%FF%FF%FF%F9"
                        " sum:@9=%7F%FF%FF%FF%FF%FF%FF%F9 sum:@3=%FF%FF%FF%FF%FF%FF%FF%F9|");
    assert_string_equal(read_filtered(f, "chain(fam:sum,collimit:1)"),
                        "r: sum:@9=%7F%FF%FF%FF%FF%FF%FF%F9|");
}

/* Protocol: an entry of the other kind, or of another type, is kept and hidden. */
static void a_foreign_value_never_makes_a_row_unreadable(void **state)
{
    struct fixture *f = *state;
    struct fake_cell cell = {
        .family = "sum", .row = AT_LIT("r"), .hlc = 1, .value = AT_LIT("short"), .partial = true};

    fake_family(f->store, "t", "sum", AT_LIT(FAKE_SUM));
    put(f, "f", AT_LIT("r"), "q", 1, "v");
    fake_put_cell(f->store, "t", &cell);
    cell.partial = false;
    cell.value = AT_LIT("a set with any value");
    fake_put_cell(f->store, "t", &cell);
    cell.family = "f";
    cell.partial = true;
    fake_put_cell(f->store, "t", &cell);
    fake_commit(f->store);
    assert_string_equal(read_all(f), "r: f:q@1=v|");
}

static void row_sets_limits_and_both_directions(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    struct at_row_set rows;
    struct at_row_bound none = {0};
    struct at_row_bound above_a = {AT_BOUND_OPEN, AT_LIT("a")};
    struct at_row_bound to_c = {AT_BOUND_CLOSED, AT_LIT("c")};
    struct at_row_bound from_f = {AT_BOUND_CLOSED, AT_LIT("f")};

    for (int i = 0; i < 6; i++)
        put(f, "f", at_slice_cstr(names[i]), "", 1, "");
    fake_commit(f->store);
    at_row_set_init(&rows);
    assert_int_equal(at_row_set_add_range(&rows, &f->arena, 0, above_a, to_c, NULL), AT_OK);
    assert_int_equal(at_row_set_add_range(&rows, &f->arena, 1, from_f, none, NULL), AT_OK);
    assert_int_equal(at_row_set_add_key(&rows, &f->arena, AT_LIT("dd"), NULL), AT_OK);
    assert_int_equal(at_row_set_add_key(&rows, &f->arena, AT_LIT("e"), NULL), AT_OK);
    at_row_set_finish(&rows, &f->arena);
    struct at_read_spec spec = {.rows = &rows};
    assert_string_equal(read_with(f, spec), "b: f:@1=|c: f:@1=|e: f:@1=|f: f:@1=|");
    spec.rows_limit = 3;
    assert_string_equal(read_with(f, spec), "b: f:@1=|c: f:@1=|e: f:@1=|");
    spec.reversed = true;
    assert_string_equal(read_with(f, spec), "f: f:@1=|e: f:@1=|c: f:@1=|");
    spec.rows_limit = 0;
    assert_string_equal(read_with(f, spec), "f: f:@1=|e: f:@1=|c: f:@1=|b: f:@1=|");
}

static void the_limit_counts_rows_with_output(void **state)
{
    struct fixture *f = *state;
    struct at_row_set rows = every_row(f);
    struct at_filter *filter = NULL;

    put(f, "f", AT_LIT("r1"), "x", 1, "1");
    put(f, "f", AT_LIT("r2"), "y", 1, "2");
    put(f, "f", AT_LIT("r3"), "x", 1, "3");
    fake_put_marker(f->store, "t", NULL, AT_LIT("r1"), UINT64_MAX);
    put(f, "f", AT_LIT("r4"), "x", 1, "4");
    put(f, "f", AT_LIT("r5"), "x", 1, "5");
    fake_commit(f->store);
    assert_int_equal(at_filter_compile(text_filter("col:x", &f->arena), &filter, NULL), AT_OK);
    struct at_read_spec spec = {
        .table = AT_LIT("t"), .rows = &rows, .filter = filter, .rows_limit = 2};
    struct at_read_sink sink = read_text_sink(&f->text);
    struct at_read *read = NULL;
    bool done = false;
    assert_int_equal(at_read_open(f->store, &spec, &read, NULL), AT_OK);
    assert_int_equal(at_read_last_scanned(read).len, 0);
    while (!done)
        assert_int_equal(at_read_step(read, &sink, 1000, &done, NULL), AT_OK);
    assert_string_equal(at_buf_cstr(&f->text), "r3: f:x@1=3|r4: f:x@1=4|");
    const struct at_read_stats *stats = at_read_stats(read);
    assert_int_equal(stats->rows_seen, 3);
    assert_int_equal(stats->rows_returned, 2);
    assert_int_equal(stats->cells_seen, 3);
    assert_int_equal(stats->cells_returned, 2);
    assert_true(at_slice_eq(at_read_last_scanned(read), AT_LIT("r4")));
    at_read_close(&read);
    at_filter_free(&filter);
}

static void filters_apply(void **state)
{
    struct fixture *f = *state;

    fake_family(f->store, "t", "g", at_slice_make(NULL, 0));
    for (int64_t ts = 1; ts <= 20; ts++) {
        put(f, "f", AT_LIT("a"), "x", ts, "1");
        put(f, "f", AT_LIT("a"), "y", ts, "1");
        put(f, "g", AT_LIT("a"), "z", ts, "1");
        put(f, "g", AT_LIT("b"), "z", ts, "2");
    }
    fake_commit(f->store);
    assert_string_equal(read_filtered(f, "collimit:1"),
                        "a: f:x@20=1 f:y@20=1 g:z@20=1|b: g:z@20=2|");
    assert_string_equal(read_filtered(f, "limit:1"), "a: f:x@20=1|b: g:z@20=2|");
    assert_string_equal(read_filtered(f, "chain(fam:g,limit:1)"), "a: g:z@20=1|b: g:z@20=2|");
    assert_string_equal(read_filtered(f, "chain(row:b,limit:2)"), "b: g:z@20=2 g:z@19=2|");
    assert_string_equal(read_filtered(f, "chain(row:nope,limit:2)"), "");
    assert_string_equal(read_filtered(f, "none"), "");
    /* The predicate's family must be read although its branch never passes it. */
    assert_string_equal(read_filtered(f, "cond(fam:f,chain(fam:g,limit:1),none)"), "a: g:z@20=1|");
}

static void a_row_literal_outside_the_row_set_gives_nothing(void **state)
{
    struct fixture *f = *state;
    struct at_row_set rows;
    struct at_filter *filter = NULL;

    put(f, "f", AT_LIT("a"), "x", 1, "1");
    put(f, "f", AT_LIT("b"), "x", 1, "1");
    fake_commit(f->store);
    at_row_set_init(&rows);
    assert_int_equal(at_row_set_add_key(&rows, &f->arena, AT_LIT("a"), NULL), AT_OK);
    at_row_set_finish(&rows, &f->arena);
    assert_int_equal(at_filter_compile(text_filter("row:b", &f->arena), &filter, NULL), AT_OK);
    struct at_read_spec spec = {.rows = &rows, .filter = filter};
    assert_string_equal(read_with(f, spec), "");
    at_filter_free(&filter);
}

static void a_long_stretch_of_deleted_rows_is_passed_in_bounded_steps(void **state)
{
    struct fixture *f = *state;
    struct at_row_set rows = every_row(f);
    char row[16];

    for (int i = 0; i < 2000; i++) {
        snprintf(row, sizeof(row), "r%05d", i);
        put_at(f, row, 1, 5, "deleted");
        fake_put_marker(f->store, "t", "f", at_slice_cstr(row), 6);
    }
    put_at(f, "s", 1, 5, "last");
    fake_commit(f->store);
    struct at_read_spec spec = {.table = AT_LIT("t"), .rows = &rows};
    assert_true(read_text(f->store, &spec, 1024, &f->text) > 100);
    assert_string_equal(at_buf_cstr(&f->text), "s: f:q@1=last|");
}

static void many_missing_keys_are_looked_up_in_bounded_steps(void **state)
{
    struct fixture *f = *state;
    struct at_row_set rows;
    char row[16];

    for (int i = 0; i < 1000; i++) {
        snprintf(row, sizeof(row), "r%05d", i);
        put_at(f, row, 1, 5, "x");
    }
    fake_commit(f->store);
    at_row_set_init(&rows);
    for (int i = 0; i < 1000; i++) {
        snprintf(row, sizeof(row), "r%05d.", i);
        struct at_slice key = at_arena_copy(&f->arena, at_slice_cstr(row));
        assert_int_equal(at_row_set_add_key(&rows, &f->arena, key, NULL), AT_OK);
    }
    at_row_set_finish(&rows, &f->arena);
    struct at_read_spec spec = {.table = AT_LIT("t"), .rows = &rows};
    assert_true(read_text(f->store, &spec, 4096, &f->text) > 100);
    assert_int_equal(f->text.len, 0);
}

/* Past a mebibyte the read opens its iterators anew, behind the last row. */
static void a_long_read_goes_on_behind_its_last_row(void **state)
{
    struct fixture *f = *state;
    char row[16];
    char *value = at_alloc(10001);
    struct at_row_set rows = every_row(f);

    memset(value, 'v', 10000);
    fake_family(f->store, "t", "g", at_slice_make(NULL, 0));
    for (int i = 0; i < 400; i++) {
        snprintf(row, sizeof(row), "r%05d", i);
        put(f, i % 3 ? "f" : "g", at_slice_cstr(row), "q", 1, value);
    }
    fake_commit(f->store);
    for (int reversed = 0; reversed < 2; reversed++) {
        struct at_buf whole;
        struct at_read_spec spec = {.table = AT_LIT("t"), .rows = &rows, .reversed = reversed};
        at_buf_init(&whole, 64 * AT_MIB);
        read_text(f->store, &spec, SIZE_MAX, &whole); /* one step: never opened anew */
        at_buf_clear(&f->text);
        assert_true(read_text(f->store, &spec, 3000, &f->text) > 300);
        assert_true(whole.len > 4000000);
        assert_true(at_slice_eq(at_buf_slice(&whole), at_buf_slice(&f->text)));
        at_buf_deinit(&whole);
    }
    at_free(value);
}

static void a_table_deleted_under_a_long_read_is_not_found(void **state)
{
    struct fixture *f = *state;
    char row[16];
    char *value = at_alloc(10001);
    struct at_row_set rows = every_row(f);
    struct at_read_spec spec = {.table = AT_LIT("t"), .rows = &rows};
    struct at_read_sink sink = read_text_sink(&f->text);
    struct at_read *read = NULL;
    enum at_code code = AT_OK;
    bool done = false;

    memset(value, 'v', 10000);
    for (int i = 0; i < 400; i++) {
        snprintf(row, sizeof(row), "r%05d", i);
        put(f, "f", at_slice_cstr(row), "q", 1, value);
    }
    fake_commit(f->store);
    at_free(value);
    assert_int_equal(at_read_open(f->store, &spec, &read, NULL), AT_OK);
    assert_int_equal(at_read_step(read, &sink, 1, &done, NULL), AT_OK);
    fake_drop_table(f->store, "t");
    while (code == AT_OK && !done)
        code = at_read_step(read, &sink, 100000, &done, NULL);
    assert_int_equal(code, AT_NOT_FOUND);
    at_read_close(&read);
}

static void a_row_beyond_the_limit_is_refused(void **state)
{
    struct fixture *f = *state;
    size_t len = 40 * AT_MIB;
    uint8_t *value = at_alloc(len);
    struct at_error error;

    for (int i = 0; i < 7; i++) {
        struct fake_cell cell = {.family = "f",
                                 .row = AT_LIT("big"),
                                 .timestamp_micros = i,
                                 .hlc = 1,
                                 .value = at_slice_make(value, len)};
        fake_put_cell(f->store, "t", &cell);
        fake_commit(f->store);
    }
    at_free(value);
    at_buf_deinit(&f->text);
    at_buf_init(&f->text, 1024 * AT_MIB);
    struct at_read_sink sink = read_text_sink(&f->text);
    assert_int_equal(at_read_row(f->store, AT_LIT("t"), AT_LIT("big"), NULL, &sink, &error),
                     AT_FAILED_PRECONDITION);
    assert_non_null(strstr(error.msg, "'big' which exceeds the limit"));
    struct at_filter *filter = NULL;
    assert_int_equal(at_filter_compile(text_filter("strip", &f->arena), &filter, NULL), AT_OK);
    at_buf_clear(&f->text);
    assert_int_equal(at_read_row(f->store, AT_LIT("t"), AT_LIT("big"), filter, &sink, &error),
                     AT_OK);
    at_filter_free(&filter);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_unknown_table_is_not_found),
        TEST(a_table_without_families_has_no_rows),
        TEST(rows_with_odd_bytes_stay_apart_and_in_byte_order),
        TEST(tables_and_families_that_begin_each_other_never_mix),
        TEST(cells_come_by_family_then_qualifier_newest_first),
        TEST(the_highest_stamp_of_a_timestamp_wins),
        TEST(markers_hide_exactly_what_is_stamped_lower),
        TEST(dropped_ranges_hide_their_prefix),
        TEST(adds_fold_into_one_cell),
        TEST(a_foreign_value_never_makes_a_row_unreadable),
        TEST(row_sets_limits_and_both_directions),
        TEST(the_limit_counts_rows_with_output),
        TEST(filters_apply),
        TEST(a_row_literal_outside_the_row_set_gives_nothing),
        TEST(a_long_stretch_of_deleted_rows_is_passed_in_bounded_steps),
        TEST(many_missing_keys_are_looked_up_in_bounded_steps),
        TEST(a_long_read_goes_on_behind_its_last_row),
        TEST(a_table_deleted_under_a_long_read_is_not_found),
        TEST(a_row_beyond_the_limit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
