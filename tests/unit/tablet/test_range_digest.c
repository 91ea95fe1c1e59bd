#include "cluster/tablet/range_digest.h"

#include "support/fake_store.h"
#include "support/test.h"

#define ROWS 5000
#define STEP_BYTES 2000

static void
put(struct at_store *store, const char *row, int64_t micros, const char *value, uint64_t hlc)
{
    struct fake_cell cell = {.family = "f",
                             .row = at_slice_cstr(row),
                             .qualifier = AT_LIT("q"),
                             .timestamp_micros = micros,
                             .hlc = hlc,
                             .value = at_slice_cstr(value)};

    fake_put_cell(store, "t", &cell);
}

static struct at_store *new_store(const char *first_table)
{
    struct at_store *store = fake_store_open();

    fake_table(store, first_table);
    if (strcmp(first_table, "t") != 0)
        fake_table(store, "t");
    fake_family(store, "t", "f", at_slice_make(NULL, 0));
    return store;
}

/* The same rows in both, written in other orders, with other stamps and ids. */
static void open_two(struct at_store **a, struct at_store **b)
{
    char row[16];

    *a = new_store("t");
    *b = new_store("other");
    for (int i = 0; i < ROWS; i++) {
        snprintf(row, sizeof(row), "r%05d", i);
        put(*a, row, 1000, "value", 10);
        snprintf(row, sizeof(row), "r%05d", ROWS - 1 - i);
        put(*b, row, 1000, "older", 20);
        put(*b, row, 1000, "value", 21);
    }
    fake_commit(*a);
    fake_commit(*b);
}

static void close_two(struct at_store **a, struct at_store **b)
{
    fake_store_close(a);
    fake_store_close(b);
}

static struct at_range_run *digest(struct at_store *store, const struct at_range_digest_spec *spec)
{
    struct at_range_run *run = NULL;
    bool done = false;

    assert_int_equal(at_range_digest_open(store, spec, &run, NULL), AT_OK);
    while (!done)
        assert_int_equal(at_range_digest_step(run, STEP_BYTES, &done, NULL), AT_OK);
    return run;
}

static struct at_range_digest_spec
spec_of(struct at_slice start, struct at_slice end, uint64_t rows)
{
    return (struct at_range_digest_spec){.table = AT_LIT("t"),
                                         .range = {.start = start, .end = end},
                                         .piece_rows = rows,
                                         .pieces_max = AT_RANGE_PIECES_MAX,
                                         .bytes_max = UINT64_MAX,
                                         .now_micros = 5000000};
}

/* What a comparison found, and what it cost. */
struct hunt {
    char found[8][16]; /* first rows of the pieces that differ and can't be cut further */
    uint32_t count;
    uint64_t rows_read;
};

static uint64_t sum_rows(const struct at_range_digest *d)
{
    uint64_t rows = 0;

    for (uint32_t i = 0; i < d->count; i++)
        rows += d->pieces[i].rows;
    return rows;
}

/* Cuts by `a`, unless b has more; then goes into what differs. */
static void hunt_in(struct hunt *h,
                    struct at_store *a,
                    struct at_store *b,
                    struct at_row_range range,
                    uint64_t piece_rows)
{
    struct at_range_digest_spec spec = spec_of(range.start, range.end, piece_rows);
    struct at_range_run *left = digest(a, &spec);
    const struct at_range_digest *l = at_range_digest_result(left);
    struct at_slice cuts[AT_RANGE_PIECES_MAX];

    for (uint32_t i = 0; i + 1 < l->count; i++)
        cuts[i] = l->pieces[i].end;
    spec.cuts = cuts;
    spec.cut_count = l->count - 1;
    if (l->count == 1)
        spec.piece_rows = UINT64_MAX;
    struct at_range_run *right = digest(b, &spec);
    const struct at_range_digest *r = at_range_digest_result(right);
    assert_int_equal(l->count, r->count);
    assert_memory_equal(l->schema_sum, r->schema_sum, AT_DIGEST_BYTES);
    h->rows_read += sum_rows(l) + sum_rows(r);

    struct at_slice start = range.start;
    for (uint32_t i = 0; i < l->count; i++) {
        const struct at_range_piece *x = &l->pieces[i];
        const struct at_range_piece *y = &r->pieces[i];
        struct at_row_range part = {.start = start, .end = x->end};
        assert_true(at_slice_eq(x->end, y->end));
        start = x->end;
        if (memcmp(x->sum, y->sum, AT_DIGEST_BYTES) == 0)
            continue;
        if (x->rows <= 1 && y->rows <= 1) {
            assert_true(h->count < 8);
            snprintf(h->found[h->count++], 16, "%.*s", AT_SLICE_ARG(part.start));
        } else {
            uint64_t finer = piece_rows > 32 ? piece_rows / 32 : 1;
            if (x->rows >= y->rows)
                hunt_in(h, a, b, part, finer);
            else
                hunt_in(h, b, a, part, finer);
        }
    }
    at_range_digest_close(&left);
    at_range_digest_close(&right);
}

static struct hunt hunt_all(struct at_store *a, struct at_store *b)
{
    struct hunt h = {0};

    hunt_in(&h, a, b, (struct at_row_range){0}, 1024);
    return h;
}

static void equal_tables_cost_one_reading(void **state)
{
    struct at_store *a;
    struct at_store *b;

    (void)state;
    open_two(&a, &b);
    struct hunt h = hunt_all(a, b);
    assert_int_equal(h.count, 0);
    assert_int_equal(h.rows_read, 2 * ROWS);
    close_two(&a, &b);
}

static void one_cell_that_differs_is_found_by_reading_little_more(void **state)
{
    struct at_store *a;
    struct at_store *b;

    (void)state;
    open_two(&a, &b);
    put(b, "r03210", 1000, "wrong", 30);
    fake_commit(b);
    struct hunt h = hunt_all(a, b);
    assert_int_equal(h.count, 1);
    assert_string_equal(h.found[0], "r03210");
    assert_true(h.rows_read < 2 * (ROWS + 1024 + 32 + 1));
    close_two(&a, &b);
}

static void rows_that_only_one_has_are_found_whichever_it_is(void **state)
{
    struct at_store *a;
    struct at_store *b;

    (void)state;
    open_two(&a, &b);
    put(a, "a-first", 1000, "x", 30);
    put(b, "r00100x", 1000, "x", 30);
    put(b, "r00100y", 1000, "x", 30);
    put(b, "z-last", 1000, "x", 30);
    fake_put_marker(b, "t", NULL, AT_LIT("r04000"), 40);
    fake_commit(a);
    fake_commit(b);
    struct hunt h = hunt_all(a, b);
    assert_true(h.count >= 5 && h.count <= 8);
    close_two(&a, &b);
}

static void what_a_rule_condemns_is_no_difference(void **state)
{
    struct at_store *stores[2];
    uint8_t sums[2][AT_DIGEST_BYTES];

    (void)state;
    for (int i = 0; i < 2; i++) {
        stores[i] = fake_store_open();
        fake_table(stores[i], "t");
        fake_family(stores[i], "t", "f", AT_LIT("\x0a\x02\x08\x01")); /* one version */
        put(stores[i], "r", 2000, "new", 5);
        if (i == 0)
            put(stores[i], "r", 1000, "old", 4);
        fake_commit(stores[i]);
        struct at_range_digest_spec spec = spec_of((struct at_slice){0}, (struct at_slice){0}, 10);
        struct at_range_run *run = digest(stores[i], &spec);
        const struct at_range_digest *d = at_range_digest_result(run);
        assert_int_equal(d->count, 1);
        assert_int_equal(d->pieces[0].cells, 1);
        memcpy(sums[i], d->pieces[0].sum, AT_DIGEST_BYTES);
        at_range_digest_close(&run);
    }
    assert_memory_equal(sums[0], sums[1], AT_DIGEST_BYTES);
    close_two(&stores[0], &stores[1]);
}

/* A run that ends early is taken up where it ended; together they say what one run says. */
static void a_run_ends_early_and_is_taken_up(void **state)
{
    struct at_store *a = new_store("t");
    char row[16];

    (void)state;
    for (int i = 0; i < 95; i++) {
        snprintf(row, sizeof(row), "r%02d", i);
        put(a, row, 1000, "value", 10);
    }
    fake_commit(a);
    for (int way = 0; way < 2; way++) {
        struct at_slice start = {0};
        uint64_t rows = 0;
        int runs = 0;
        for (bool more = true; more; runs++) {
            struct at_range_digest_spec spec = spec_of(start, (struct at_slice){0}, 10);
            if (way == 0)
                spec.pieces_max = 3;
            else
                spec.bytes_max = STEP_BYTES;
            struct at_range_run *run = digest(a, &spec);
            const struct at_range_digest *d = at_range_digest_result(run);
            assert_true(d->count >= 1 && d->count <= spec.pieces_max);
            rows += sum_rows(d);
            const struct at_range_piece *last = &d->pieces[d->count - 1];
            more = last->end.len > 0;
            snprintf(row, sizeof(row), "%.*s", AT_SLICE_ARG(last->end));
            start = at_slice_cstr(row);
            at_range_digest_close(&run);
        }
        assert_int_equal(rows, 95);
        assert_true(runs > 1);
    }
    fake_store_close(&a);
}

static void a_given_cut_makes_a_piece_even_without_rows(void **state)
{
    struct at_store *a = new_store("t");
    const struct at_slice cuts[] = {AT_LIT("b"), AT_LIT("c"), AT_LIT("d")};
    static const uint64_t rows[] = {1, 0, 2, 0};

    (void)state;
    put(a, "a", 1000, "v", 1);
    put(a, "c", 1000, "v", 1);
    put(a, "c1", 1000, "v", 1);
    put(a, "e", 1000, "v", 1);
    fake_commit(a);
    struct at_range_digest_spec spec = spec_of(AT_LIT("a"), AT_LIT("e"), 0);
    spec.cuts = cuts;
    spec.cut_count = 3;
    struct at_range_run *run = digest(a, &spec);
    const struct at_range_digest *d = at_range_digest_result(run);
    assert_int_equal(d->count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(d->pieces[i].rows, rows[i]);
    assert_true(at_slice_eq(d->pieces[3].end, AT_LIT("e")));
    at_range_digest_close(&run);
    fake_store_close(&a);
}

static void cuts_and_tables_that_are_wrong_are_refused(void **state)
{
    struct at_store *a = new_store("t");
    const struct at_slice cuts[] = {AT_LIT("c"), AT_LIT("b")};
    struct at_range_run *run = NULL;

    (void)state;
    struct at_range_digest_spec spec = spec_of(AT_LIT("a"), AT_LIT("e"), 0);
    assert_int_equal(at_range_digest_open(a, &spec, &run, NULL), AT_INVALID_ARGUMENT);
    spec.cuts = cuts;
    spec.cut_count = 2;
    assert_int_equal(at_range_digest_open(a, &spec, &run, NULL), AT_INVALID_ARGUMENT);
    spec.cut_count = 1;
    spec.range.end = AT_LIT("c");
    assert_int_equal(at_range_digest_open(a, &spec, &run, NULL), AT_INVALID_ARGUMENT);
    spec.range.start = AT_LIT("c");
    assert_int_equal(at_range_digest_open(a, &spec, &run, NULL), AT_INVALID_ARGUMENT);
    spec = spec_of(AT_LIT("a"), AT_LIT("e"), 1);
    spec.table = AT_LIT("nosuch");
    assert_int_equal(at_range_digest_open(a, &spec, &run, NULL), AT_NOT_FOUND);
    assert_null(run);
    fake_store_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_tables_cost_one_reading),
        cmocka_unit_test(one_cell_that_differs_is_found_by_reading_little_more),
        cmocka_unit_test(rows_that_only_one_has_are_found_whichever_it_is),
        cmocka_unit_test(what_a_rule_condemns_is_no_difference),
        cmocka_unit_test(a_run_ends_early_and_is_taken_up),
        cmocka_unit_test(a_given_cut_makes_a_piece_even_without_rows),
        cmocka_unit_test(cuts_and_tables_that_are_wrong_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
