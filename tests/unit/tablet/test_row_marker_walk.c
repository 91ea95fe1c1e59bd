/* Row markers are named after all that they cover, in whatever family. */
#include "cluster/tablet/row_marker_walk.h"

#include "support/fake_store.h"
#include "support/garbage_text.h"
#include "support/test.h"

struct fixture {
    struct at_store *store;
    struct at_row_marker_walk walk;
    struct at_garbage_batch batch;
};

static int setup(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    f->store = fake_store_open();
    fake_table(f->store, "t");
    fake_family(f->store, "t", "f", at_slice_make(NULL, 0));
    at_row_marker_walk_init(&f->walk, f->store);
    at_garbage_batch_init(&f->batch);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    at_row_marker_walk_deinit(&f->walk);
    at_garbage_batch_deinit(&f->batch);
    fake_store_close(&f->store);
    at_free(f);
    return 0;
}

static void
put(struct fixture *f, const char *table, const char *family, const char *row, uint64_t hlc)
{
    struct fake_cell cell = {
        .family = family,
        .row = at_slice_cstr(row),
        .qualifier = AT_LIT("q"),
        .timestamp_micros = 1,
        .hlc = hlc,
    };

    fake_put_cell(f->store, table, &cell);
}

static void
expect(struct fixture *f, uint64_t horizon, uint64_t bytes_max, bool remove, const char *expected)
{
    struct at_buf out;
    bool done = false;
    int steps = 0;

    fake_commit(f->store);
    at_buf_init(&out, AT_MIB);
    at_row_marker_walk_begin(&f->walk, fake_id(f->store, "t"), horizon);
    while (!done) {
        assert_true(++steps < 1000);
        at_garbage_batch_clear(&f->batch);
        assert_int_equal(at_row_marker_walk_step(&f->walk, &f->batch, bytes_max, 0, &done, NULL),
                         AT_OK);
        garbage_text(&f->batch, &out);
        if (remove)
            garbage_remove(f->store, &f->batch);
    }
    assert_string_equal(at_buf_cstr(&out), expected);
    at_buf_deinit(&out);
}

static void fill(struct fixture *f)
{
    fake_put_marker(f->store, "t", NULL, AT_LIT("a"), 10);
    fake_put_marker(f->store, "t", NULL, AT_LIT("b"), 30);
    fake_put_marker(f->store, "t", NULL, AT_LIT("b"), 20);
    fake_put_marker(f->store, "t", NULL, AT_LIT("b"), 10);
    fake_put_marker(f->store, "t", NULL, AT_LIT("c"), 15);
    put(f, "t", "f", "b", 9);
    put(f, "t", "f", "b", 20);
    put(f, "t", "f", "b1", 9);
    fake_put_marker(f->store, "t", "f", AT_LIT("c"), 3);
    put(f, "t", "not-known", "b", 19);
    put(f, "t", "not-known", "c", 16);
    put(f, "u", "f", "a", 1);
}

static void goes_after_what_it_covers_in_every_family(void **state)
{
    struct fixture *f = *state;

    fill(f);
    expect(f, 20, 100000, false, "a!!!10 b@1.9 b@1.19 b!!!20 b!!!10 c!!3 c!!!15 ");
    assert_int_equal(f->walk.left_hlc, 30);
    expect(f, 20, 1, true, "a!!!10 b@1.9 b@1.19 b!!!20 b!!!10 c!!3 c!!!15 ");
    expect(f, 20, 1, true, "");
    expect(f, 30, 1, true, "b@1.20 b!!!30 ");
    assert_int_equal(f->walk.left_hlc, UINT64_MAX);
}

static void nothing_goes_above_the_horizon(void **state)
{
    struct fixture *f = *state;

    fill(f);
    expect(f, 9, 100000, false, "");
    assert_int_equal(f->walk.left_hlc, 10);
}

/* More than a batch holds: the marker comes with the last of it. */
static void a_long_row_goes_first(void **state)
{
    struct fixture *f = *state;
    uint32_t keys = 0;
    bool done = false;

    fake_put_marker(f->store, "t", NULL, AT_LIT("a"), 10);
    fake_put_marker(f->store, "t", NULL, AT_LIT("b"), 10);
    for (int i = 0; i < 2 * AT_GARBAGE_KEYS_MAX + 5; i++) {
        struct fake_cell cell = {.family = i % 2 ? "f" : "g",
                                 .row = AT_LIT("a"),
                                 .qualifier = AT_LIT("q"),
                                 .timestamp_micros = i,
                                 .hlc = 5};
        fake_put_cell(f->store, "t", &cell);
    }
    fake_commit(f->store);
    at_row_marker_walk_begin(&f->walk, fake_id(f->store, "t"), 10);
    for (int steps = 0; !done; steps++) {
        assert_true(steps < 10);
        at_garbage_batch_clear(&f->batch);
        assert_int_equal(at_row_marker_walk_step(&f->walk, &f->batch, UINT32_MAX, 0, &done, NULL),
                         AT_OK);
        keys += f->batch.count - f->batch.forgotten;
        if (f->batch.forgotten > 0)
            assert_int_equal(keys, 2 * AT_GARBAGE_KEYS_MAX + 5);
        garbage_remove(f->store, &f->batch);
    }
    expect(f, 10, 1, false, "");
}

/* Every look is under a snapshot of its own, and still each row is dealt with once. */
static void the_snapshot_is_renewed_between_rows(void **state)
{
    struct fixture *f = *state;
    struct at_buf out;
    uint64_t now_ns = 0;
    bool done = false;

    fill(f);
    fake_commit(f->store);
    at_buf_init(&out, AT_MIB);
    at_row_marker_walk_begin(&f->walk, fake_id(f->store, "t"), 20);
    for (int steps = 0; !done; steps++) {
        assert_true(steps < 100);
        now_ns += 3 * AT_S_NS;
        at_garbage_batch_clear(&f->batch);
        assert_int_equal(at_row_marker_walk_step(&f->walk, &f->batch, 1, now_ns, &done, NULL),
                         AT_OK);
        garbage_text(&f->batch, &out);
    }
    assert_string_equal(at_buf_cstr(&out), "a!!!10 b@1.9 b@1.19 b!!!20 b!!!10 c!!3 c!!!15 ");
    assert_int_equal(f->walk.left_hlc, 30);
    at_buf_deinit(&out);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(goes_after_what_it_covers_in_every_family),
        CASE(nothing_goes_above_the_horizon),
        CASE(a_long_row_goes_first),
        CASE(the_snapshot_is_renewed_between_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
