#include "cluster/tablet/explain.h"

#include "base/prng.h"
#include "support/fake_store.h"
#include "support/read_text.h"
#include "support/test.h"

#define ROW AT_LIT("r")

struct fixture {
    struct at_store *store;
    struct at_arena arena;
};

static int setup(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    f->store = fake_store_open();
    at_arena_init(&f->arena, 4096);
    fake_table(f->store, "t");
    fake_family(f->store, "t", "f", at_slice_make(NULL, 0));
    fake_family(f->store, "t", "s", AT_LIT(FAKE_SUM));
    fake_family(f->store, "t", "v", AT_LIT("\x0a\x02\x08\x01")); /* one version */
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    fake_store_close(&f->store);
    at_arena_deinit(&f->arena);
    at_free(f);
    return 0;
}

static void put(struct fixture *f, const char *family, int64_t micros, uint64_t hlc, bool partial)
{
    struct fake_cell cell = {.family = family,
                             .row = ROW,
                             .qualifier = AT_LIT("q"),
                             .timestamp_micros = micros,
                             .hlc = hlc,
                             .value = AT_LIT("\0\0\0\0\0\0\0\1"),
                             .partial = partial};

    fake_put_cell(f->store, "t", &cell);
}

static void
delete_column(struct fixture *f, const char *family, int64_t from, int64_t to, uint64_t hlc)
{
    struct fake_cell range = {.family = family,
                              .row = ROW,
                              .qualifier = AT_LIT("q"),
                              .timestamp_micros = from,
                              .hlc = hlc};

    fake_put_column_marker(f->store, "t", &range, to);
}

/* "KIND@TIME^HLC=REASON(by HLC) ..." of all items, in their order. */
static const char *explain(struct fixture *f)
{
    static const char *const KINDS[] = {"cell", "partial", "column", "family", "row", "drop"};
    static const char *const REASONS[] = {"shows",     "deleted", "overwritten",
                                          "collected", "other",   "condemned"};
    struct at_explanation x;
    struct at_buf text;

    fake_commit(f->store);
    assert_int_equal(at_explain_row(f->store, (struct at_explain_query){AT_LIT("t"), ROW, 9000},
                                    &f->arena, &x, NULL),
                     AT_OK);
    at_buf_init(&text, AT_MIB);
    for (uint32_t i = 0; i < x.count; i++) {
        const struct at_explain_item *item = &x.items[i];
        bool version = item->kind <= AT_EXPLAIN_PARTIAL;
        assert_int_equal(at_buf_printf(&text, "%s%s", i ? " " : "", KINDS[item->kind]), AT_OK);
        if (version)
            assert_int_equal(at_buf_printf(&text, "@%d", (int)item->timestamp_micros), AT_OK);
        assert_int_equal(at_buf_printf(&text, "^%d", (int)item->stamp.hlc), AT_OK);
        if (version)
            assert_int_equal(at_buf_printf(&text, "=%s", REASONS[item->reason]), AT_OK);
        else
            assert_int_equal(at_buf_printf(&text, "x%d", (int)item->hides_count), AT_OK);
        if (item->by != AT_EXPLAIN_NONE)
            assert_int_equal(at_buf_printf(&text, "(%d)", (int)x.items[item->by].stamp.hlc), AT_OK);
    }
    const char *copy = at_arena_printf(&f->arena, "%s", at_buf_cstr(&text));
    at_buf_deinit(&text);
    return copy;
}

static void an_empty_row_has_nothing(void **state)
{
    struct fixture *f = *state;
    struct at_explanation x;

    assert_string_equal(explain(f), "");
    assert_int_equal(at_explain_row(f->store, (struct at_explain_query){AT_LIT("nosuch"), ROW, 1},
                                    &f->arena, &x, NULL),
                     AT_NOT_FOUND);
}

static void of_one_timestamp_the_highest_stamp_shows(void **state)
{
    struct fixture *f = *state;

    put(f, "f", 1000, 5, false);
    put(f, "f", 1000, 7, false);
    put(f, "f", 2000, 6, false);
    assert_string_equal(explain(f),
                        "cell@2000^6=shows cell@1000^7=shows cell@1000^5=overwritten(7)");
}

static void each_kind_of_delete_is_named(void **state)
{
    struct fixture *f = *state;

    put(f, "f", 1000, 5, false);
    assert_string_equal(explain(f), "cell@1000^5=shows");
    delete_column(f, "f", 1000, 2000, 6);
    delete_column(f, "f", 3000, 0, 60);
    assert_string_equal(explain(f), "column^60x0 column^6x1 cell@1000^5=deleted(6)");
    fake_put_marker(f->store, "t", "f", ROW, 7);
    assert_string_equal(explain(f), "family^7x1 column^60x0 column^6x0 cell@1000^5=deleted(7)");
    fake_put_marker(f->store, "t", NULL, ROW, 8);
    assert_string_equal(explain(f),
                        "row^8x1 family^7x0 column^60x0 column^6x0 cell@1000^5=deleted(8)");
    fake_drop_range(f->store, "t", AT_LIT(""), 9);
    fake_drop_range(f->store, "t", AT_LIT("other"), 90);
    assert_string_equal(
        explain(f), "drop^9x1 row^8x0 family^7x0 column^60x0 column^6x0 cell@1000^5=deleted(9)");
    put(f, "f", 1000, 10, false);
    assert_string_equal(explain(f), "drop^9x1 row^8x0 family^7x0 column^60x0 column^6x0 "
                                    "cell@1000^10=shows cell@1000^5=deleted(9)");
}

static void adds_count_each_unless_deleted(void **state)
{
    struct fixture *f = *state;

    put(f, "s", 1000, 5, true);
    put(f, "s", 1000, 7, true);
    delete_column(f, "s", 0, 0, 6);
    put(f, "s", 1000, 8, false);
    put(f, "f", 1000, 9, true);
    assert_string_equal(explain(f), "partial@1000^9=other column^6x1 cell@1000^8=other "
                                    "partial@1000^7=shows partial@1000^5=deleted(6)");
}

static void rules_and_floors_are_named(void **state)
{
    struct fixture *f = *state;

    put(f, "v", 3000, 5, false);
    put(f, "v", 2000, 5, false);
    put(f, "f", 1000, 5, false);
    put(f, "f", 500, 50, false);
    fake_floor(f->store, "t", fake_id(f->store, "t/f"), 1001, 6);
    assert_string_equal(explain(f), "cell@1000^5=collected cell@500^50=shows "
                                    "cell@3000^5=shows cell@2000^5=condemned");
}

static void a_row_beyond_the_limit_is_cut(void **state)
{
    struct fixture *f = *state;
    struct at_explanation x;

    for (int i = 0; i <= AT_EXPLAIN_ITEMS_MAX; i++)
        put(f, "f", 1000 + i, 5, false);
    fake_commit(f->store);
    assert_int_equal(at_explain_row(f->store, (struct at_explain_query){AT_LIT("t"), ROW, 9},
                                    &f->arena, &x, NULL),
                     AT_OK);
    assert_int_equal(x.count, AT_EXPLAIN_ITEMS_MAX);
    assert_true(x.truncated);
}

struct shown {
    uint64_t cells;
    uint64_t sum;
};

static void take_cell(void *ctx, const struct at_cell *cell)
{
    struct shown *s = ctx;

    s->cells += at_slice_eq(cell->family, AT_LIT("f"));
    if (at_slice_eq(cell->family, AT_LIT("s")))
        s->sum += at_get_be64(cell->value.data);
}

static void take_edge(void *ctx, struct at_slice row)
{
    (void)ctx, (void)row;
}

static void take_end(void *ctx)
{
    (void)ctx;
}

/* What it says agrees with what a read shows, on whatever is stored. */
static void it_agrees_with_reads_on_random_rows(void **state)
{
    struct fixture *f = *state;
    struct at_prng prng;

    at_prng_init(&prng, 7);
    for (int round = 0; round < 300; round++) {
        struct shown read = {0};
        struct shown said = {0};
        struct at_explanation x;
        const struct at_read_sink sink = {&read, take_edge, take_cell, take_end};
        uint64_t hlc = 1 + at_prng_below(&prng, 500);
        int64_t micros = 1000 * (int64_t)at_prng_below(&prng, 4);
        const char *family = at_prng_below(&prng, 2) ? "f" : "s";
        switch (at_prng_below(&prng, 12)) {
        case 0:
            fake_put_marker(f->store, "t", NULL, ROW, hlc / 8 + 1);
            break;
        case 1:
            fake_put_marker(f->store, "t", family, ROW, hlc / 4 + 1);
            break;
        case 2:
        case 3:
            delete_column(f, family, micros, micros + 2000, hlc);
            break;
        default:
            put(f, family, micros, hlc, at_prng_below(&prng, 8) ? family[0] == 's' : true);
        }
        fake_commit(f->store);
        assert_int_equal(at_read_row(f->store, AT_LIT("t"), ROW, NULL, &sink, NULL), AT_OK);
        assert_int_equal(at_explain_row(f->store, (struct at_explain_query){AT_LIT("t"), ROW, 1},
                                        &f->arena, &x, NULL),
                         AT_OK);
        for (uint32_t i = 0; i < x.count; i++) {
            bool shows = x.items[i].reason == AT_EXPLAIN_SHOWS;
            said.cells += shows && x.items[i].kind == AT_EXPLAIN_CELL;
            said.sum += shows && x.items[i].kind == AT_EXPLAIN_PARTIAL;
        }
        assert_int_equal(read.cells, said.cells);
        assert_int_equal(read.sum, said.sum);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_empty_row_has_nothing),
        CASE(of_one_timestamp_the_highest_stamp_shows),
        CASE(each_kind_of_delete_is_named),
        CASE(adds_count_each_unless_deleted),
        CASE(rules_and_floors_are_named),
        CASE(a_row_beyond_the_limit_is_cut),
        CASE(it_agrees_with_reads_on_random_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
