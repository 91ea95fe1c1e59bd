/* The walk over one family: it may stop anywhere, and judges what the newest schema says. */
#include "cluster/tablet/garbage_walk.h"

#include "support/fake_store.h"
#include "support/garbage_text.h"
#include "support/test.h"

#define RULE_V1 "\x0a\x02\x08\x01" /* ColumnFamily { gc_rule { max_num_versions: 1 } } */

struct fixture {
    struct at_store *store;
    struct at_garbage_walk walk;
    struct at_garbage_batch batch;
    uint64_t horizon;
};

static int setup(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    f->store = fake_store_open();
    fake_table(f->store, "t");
    fake_family(f->store, "t", "f", AT_LIT(RULE_V1));
    fake_family(f->store, "t", "g", at_slice_make(NULL, 0));
    at_garbage_walk_init(&f->walk, f->store);
    at_garbage_batch_init(&f->batch);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    at_garbage_walk_deinit(&f->walk);
    at_garbage_batch_deinit(&f->batch);
    fake_store_close(&f->store);
    at_free(f);
    return 0;
}

static void put(struct fixture *f, const char *family, const char *row, int64_t ts, uint64_t hlc)
{
    struct fake_cell cell = {
        .family = family,
        .row = at_slice_cstr(row),
        .qualifier = AT_LIT("q"),
        .timestamp_micros = ts,
        .hlc = hlc,
        .value = AT_LIT("v"),
    };

    fake_put_cell(f->store, "t", &cell);
}

static void begin(struct fixture *f, const char *family)
{
    struct at_garbage_aim aim = {
        .table_id = fake_id(f->store, "t"),
        .family_id = fake_family_of(f->store, "t", family),
        .now_micros = 1,
        .horizon = f->horizon,
    };

    fake_commit(f->store);
    at_garbage_walk_begin(&f->walk, aim);
}

/* One step; names what it found. */
static bool step(struct fixture *f, uint64_t bytes_max, uint64_t now_ns, struct at_buf *out)
{
    bool done = false;

    at_garbage_batch_clear(&f->batch);
    assert_int_equal(at_garbage_walk_step(&f->walk, &f->batch, bytes_max, now_ns, &done, NULL),
                     AT_OK);
    garbage_text(&f->batch, out);
    return done;
}

static void expect(struct fixture *f, uint64_t bytes_max, const char *expected)
{
    struct at_buf out;
    int steps = 0;

    at_buf_init(&out, AT_MIB);
    while (!step(f, bytes_max, 0, &out))
        assert_true(++steps < 1000);
    assert_string_equal(at_buf_cstr(&out), expected);
    at_buf_deinit(&out);
}

static void names_garbage_wherever_it_stops(void **state)
{
    struct fixture *f = *state;

    put(f, "f", "a", 3, 5);
    put(f, "f", "a", 3, 4);
    put(f, "f", "a", 2, 5);
    put(f, "f", "b", 1, 9);
    put(f, "f", "b", 0, 9);
    put(f, "g", "a", 3, 5);
    put(f, "g", "a", 3, 4);
    put(f, "g", "a", 2, 5);
    for (uint64_t bytes_max = 1; bytes_max < 200; bytes_max += 13) {
        begin(f, "f");
        expect(f, bytes_max, "a@3.4 a@2.5 b@0.9 ");
        begin(f, "g");
        expect(f, bytes_max, "a@3.4 ");
    }
    assert_int_equal(f->batch.schema_version, f->store->schema->version);
}

static void what_hides_rows_is_asked_once_per_row(void **state)
{
    struct fixture *f = *state;

    put(f, "g", "a", 3, 5);
    put(f, "g", "b", 3, 5);
    put(f, "g", "c", 3, 5);
    put(f, "g", "c", 2, 9);
    put(f, "g", "d", 3, 5);
    fake_put_marker(f->store, "t", NULL, AT_LIT("b"), 6);
    fake_put_marker(f->store, "t", NULL, AT_LIT("b"), 4);
    fake_put_marker(f->store, "t", NULL, AT_LIT("d"), 5);
    fake_drop_range(f->store, "t", AT_LIT("c"), 7);
    begin(f, "g");
    expect(f, 1, "b@3.5 c@3.5 ");
}

static void a_floor_makes_garbage(void **state)
{
    struct fixture *f = *state;

    put(f, "g", "a", 9, 5);
    put(f, "g", "a", 3, 8);
    put(f, "g", "a", 2, 5);
    fake_floor(f->store, "t", fake_family_of(f->store, "t", "g"), 5, 7);
    begin(f, "g");
    expect(f, 1000, "a@2.5 ");
}

static void a_full_batch_is_given_and_the_walk_goes_on(void **state)
{
    struct fixture *f = *state;
    struct at_buf out;
    uint32_t count = 0;
    bool done = false;

    at_buf_init(&out, AT_MIB);
    for (int i = 0; i < 3 * AT_GARBAGE_KEYS_MAX; i++)
        put(f, "f", "a", i, 5);
    begin(f, "f");
    while (!done) {
        done = step(f, UINT32_MAX, 0, &out);
        assert_in_range(f->batch.count, done ? 0 : 1, AT_GARBAGE_KEYS_MAX);
        assert_int_equal(f->batch.forgotten, 0);
        count += f->batch.count;
    }
    assert_int_equal(count, 3 * AT_GARBAGE_KEYS_MAX - 1);
    at_buf_deinit(&out);
}

/* After a second it looks anew, but only between rows: inside one it would count from the start. */
static void the_snapshot_is_renewed_between_rows(void **state)
{
    struct fixture *f = *state;
    struct at_buf out;

    at_buf_init(&out, AT_MIB);
    for (int64_t ts = 1; ts < 6; ts++)
        put(f, "f", "a", ts, 5);
    put(f, "f", "b", 1, 5);
    begin(f, "f");
    assert_false(step(f, 1, 0, &out));
    put(f, "f", "a", 9, 6);
    put(f, "f", "b", 2, 6);
    fake_commit(f->store);
    while (!step(f, 1, 2 * AT_S_NS, &out))
        continue;
    assert_string_equal(at_buf_cstr(&out), "a@4.5 a@3.5 a@2.5 a@1.5 b@1.5 ");
    at_buf_deinit(&out);
}

static void a_family_that_is_gone_ends_the_walk(void **state)
{
    struct fixture *f = *state;

    put(f, "f", "a", 1, 5);
    begin(f, "f");
    fake_drop_table(f->store, "t");
    expect(f, 1, "");
}

static void a_damaged_marker_is_data_loss(void **state)
{
    struct fixture *f = *state;
    struct at_key key = {
        .kind = AT_KEY_COLUMN_MARKER,
        .table = fake_id(f->store, "t"),
        .family = fake_family_of(f->store, "t", "f"),
        .row = AT_LIT("a"),
        .qualifier = AT_LIT("q"),
        .stamp = {5, {1}},
    };
    bool done;

    fake_put(f->store, &key, AT_LIT("short"));
    begin(f, "f");
    assert_int_equal(at_garbage_walk_step(&f->walk, &f->batch, 1000, 0, &done, NULL), AT_DATA_LOSS);
}

/* --- at or below the horizon --- */

static void put_add(struct fixture *f, const char *row, int64_t ts, uint64_t hlc, int64_t n)
{
    uint8_t value[8];
    struct fake_cell cell = {
        .family = "s",
        .row = at_slice_cstr(row),
        .qualifier = AT_LIT("q"),
        .timestamp_micros = ts,
        .hlc = hlc,
        .value = at_slice_make(value, sizeof(value)),
        .partial = true,
    };

    at_put_be64(value, (uint64_t)n);
    fake_put_cell(f->store, "t", &cell);
}

static void put_column_marker(struct fixture *f, const char *row, int64_t ts, uint64_t hlc)
{
    struct fake_cell cell = {.family = "g",
                             .row = at_slice_cstr(row),
                             .qualifier = AT_LIT("q"),
                             .timestamp_micros = ts,
                             .hlc = hlc};

    fake_put_column_marker(f->store, "t", &cell, ts + 1);
}

static void markers_go_after_what_they_cover(void **state)
{
    struct fixture *f = *state;

    fake_put_marker(f->store, "t", "g", AT_LIT("a"), 10);
    fake_put_marker(f->store, "t", "g", AT_LIT("a"), 8);
    put_column_marker(f, "a", 1, 12);
    put_column_marker(f, "a", 2, 11);
    put(f, "g", "a", 3, 9);
    put(f, "g", "a", 2, 10);
    put(f, "g", "a", 1, 12);
    put(f, "g", "b", 1, 5);
    f->horizon = 12;
    for (uint64_t bytes_max = 1; bytes_max < 400; bytes_max += 13) {
        begin(f, "g");
        expect(f, bytes_max, "a@3.9 a@2.10 a!12 a!11 a!!10 a!!8 ");
    }
    assert_int_equal(f->walk.left_hlc, UINT64_MAX);
    f->horizon = 10;
    begin(f, "g");
    expect(f, 1, "a@3.9 a@2.10 a!!10 a!!8 ");
    assert_int_equal(f->walk.left_hlc, 11);
    f->horizon = 0;
    begin(f, "g");
    expect(f, 1, "a@3.9 a@2.10 ");
    assert_int_equal(f->walk.left_hlc, 8);
}

static void covered_cells_of_the_other_kind_go_before_their_marker(void **state)
{
    struct fixture *f = *state;
    struct fake_cell add = {.family = "g",
                            .row = AT_LIT("a"),
                            .qualifier = AT_LIT("q"),
                            .timestamp_micros = 7,
                            .hlc = 5,
                            .partial = true};

    fake_put_cell(f->store, "t", &add);
    add.hlc = 11;
    fake_put_cell(f->store, "t", &add);
    fake_put_marker(f->store, "t", "g", AT_LIT("a"), 10);
    f->horizon = 20;
    begin(f, "g");
    expect(f, 1, "a@7.5 a!!10 ");
}

static void adds_become_one_at_the_highest_stamp(void **state)
{
    struct fixture *f = *state;

    fake_family(f->store, "t", "s", AT_LIT(FAKE_SUM));
    put_add(f, "a", 2, 30, 1000);
    put_add(f, "a", 2, 20, 100);
    put_add(f, "a", 2, 19, 10);
    put_add(f, "a", 2, 18, 1);
    put_add(f, "a", 1, 7, 5);
    put_add(f, "b", 1, 20, -5);
    put_add(f, "b", 1, 9, 7);
    fake_put_marker(f->store, "t", NULL, AT_LIT("b"), 10);
    f->horizon = 20;
    for (uint64_t bytes_max = 1; bytes_max < 400; bytes_max += 399) {
        begin(f, "s");
        expect(f, bytes_max,
               bytes_max == 1 ? "a@2.19 a@2.18 a@2.20=111 b@1.9 "
                              : "a@2.19 a@2.18 b@1.9 a@2.20=111 ");
    }
    assert_int_equal(f->walk.left_hlc, 30);
    f->horizon = 17;
    begin(f, "s");
    expect(f, 1, "b@1.9 ");
}

static void an_add_of_another_kind_stays_as_it_is(void **state)
{
    struct fixture *f = *state;
    struct fake_cell other = {.family = "s",
                              .row = AT_LIT("a"),
                              .qualifier = AT_LIT("q"),
                              .timestamp_micros = 2,
                              .hlc = 19,
                              .value = AT_LIT("not eight bytes"),
                              .partial = true};

    fake_family(f->store, "t", "s", AT_LIT(FAKE_SUM));
    put_add(f, "a", 2, 20, 100);
    fake_put_cell(f->store, "t", &other);
    put_add(f, "a", 2, 18, 1);
    f->horizon = 20;
    begin(f, "s");
    expect(f, 1, "a@2.18 a@2.20=101 ");
}

/* Each fold and what it takes the place of are in one batch, whatever their number. */
static void many_adds_are_folded_group_by_group(void **state)
{
    struct fixture *f = *state;
    uint32_t went = 0;
    uint32_t folds = 0;
    int64_t sum = 0;
    bool done = false;

    fake_family(f->store, "t", "s", AT_LIT(FAKE_SUM));
    for (uint32_t i = 1; i <= 3 * AT_KEY_LIST_MAX + 7; i++)
        put_add(f, "a", 1, i, 1);
    f->horizon = 100000;
    begin(f, "s");
    while (!done) {
        at_garbage_batch_clear(&f->batch);
        assert_int_equal(at_garbage_walk_step(&f->walk, &f->batch, 5000, 0, &done, NULL), AT_OK);
        int64_t batch_sum = 0;
        for (uint32_t i = 0; i < f->batch.fold_count; i++)
            batch_sum += (int64_t)at_get_be64(f->batch.folds[i].value.data);
        assert_int_equal(batch_sum, f->batch.count + f->batch.fold_count);
        went += f->batch.forgotten;
        folds += f->batch.fold_count;
        sum += batch_sum;
    }
    assert_int_equal(folds, 4);
    assert_int_equal(went, 3 * AT_KEY_LIST_MAX + 3);
    assert_int_equal(sum, 3 * AT_KEY_LIST_MAX + 7);
    assert_int_equal(f->walk.left_hlc, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(names_garbage_wherever_it_stops),
        CASE(what_hides_rows_is_asked_once_per_row),
        CASE(a_floor_makes_garbage),
        CASE(a_full_batch_is_given_and_the_walk_goes_on),
        CASE(the_snapshot_is_renewed_between_rows),
        CASE(a_family_that_is_gone_ends_the_walk),
        CASE(a_damaged_marker_is_data_loss),
        CASE(markers_go_after_what_they_cover),
        CASE(covered_cells_of_the_other_kind_go_before_their_marker),
        CASE(adds_become_one_at_the_highest_stamp),
        CASE(an_add_of_another_kind_stays_as_it_is),
        CASE(many_adds_are_folded_group_by_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
