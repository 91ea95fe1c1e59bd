/* What is left below a dropped range, wherever it is and wherever the walk stops. */
#include "cluster/tablet/drop_walk.h"

#include "support/fake_store.h"
#include "support/garbage_text.h"
#include "support/test.h"

struct fixture {
    struct at_store *store;
    struct at_drop_walk walk;
    struct at_garbage_batch batch;
};

static int setup(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    f->store = fake_store_open();
    fake_table(f->store, "t");
    fake_family(f->store, "t", "f", at_slice_make(NULL, 0));
    at_drop_walk_init(&f->walk, f->store);
    at_garbage_batch_init(&f->batch);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    at_drop_walk_deinit(&f->walk);
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

/* `remove`: as the pass does between steps. */
static void expect(struct fixture *f,
                   struct at_slice prefix,
                   uint64_t bytes_max,
                   bool remove,
                   const char *expected)
{
    struct at_buf out;
    bool done = false;
    int steps = 0;

    at_buf_init(&out, AT_MIB);
    at_drop_walk_begin(&f->walk, fake_id(f->store, "t"),
                       (struct at_dropped_range){prefix, {100, {1}}});
    while (!done) {
        assert_true(++steps < 1000);
        at_garbage_batch_clear(&f->batch);
        assert_int_equal(at_drop_walk_step(&f->walk, &f->batch, bytes_max, &done, NULL), AT_OK);
        garbage_text(&f->batch, &out);
        if (remove)
            garbage_remove(f->store, &f->batch);
    }
    assert_string_equal(at_buf_cstr(&out), expected);
    at_buf_deinit(&out);
}

static void fill(struct fixture *f)
{
    put(f, "t", "f", "a", 5);
    put(f, "t", "f", "b", 5);
    put(f, "t", "f", "b1", 99);
    put(f, "t", "f", "b1", 100);
    put(f, "t", "f", "b2", 200);
    put(f, "t", "f", "c", 5);
    fake_put_marker(f->store, "t", NULL, AT_LIT("b1"), 7);
    fake_put_marker(f->store, "t", NULL, AT_LIT("b1"), 107);
    fake_put_marker(f->store, "t", NULL, AT_LIT("a"), 7);
    fake_put_marker(f->store, "t", "f", AT_LIT("b3"), 8);
    put(f, "t", "not-known", "b", 5);
    put(f, "t", "not-known", "d", 5);
    put(f, "t", "neither", "a", 5);
    put(f, "u", "f", "b", 5);
    fake_commit(f->store);
}

static void names_what_is_below_it_in_every_family(void **state)
{
    struct fixture *f = *state;

    fill(f);
    for (uint64_t bytes_max = 1; bytes_max < 400; bytes_max += 37)
        expect(f, AT_LIT("b"), bytes_max, false, "b1!!!7 b@1.5 b1@1.99 b3!!8 b@1.5 ");
}

static void of_all_rows_it_stays_in_its_table(void **state)
{
    struct fixture *f = *state;

    fill(f);
    expect(f, at_slice_make(NULL, 0), 1, true,
           "a!!!7 b1!!!7 a@1.5 b@1.5 b1@1.99 b3!!8 c@1.5 b@1.5 d@1.5 a@1.5 ");
    expect(f, at_slice_make(NULL, 0), 1000, false, "");
}

static void a_prefix_of_high_bytes_ends(void **state)
{
    struct fixture *f = *state;

    put(f, "t", "f", "\xff\xff", 5);
    put(f, "t", "f", "\xfe", 5);
    put(f, "t", "g", "\xff", 5);
    fake_commit(f->store);
    expect(f, AT_LIT("\xff"), 1, false, "\xff\xff@1.5 \xff@1.5 ");
}

static void a_full_batch_is_given_and_it_goes_on(void **state)
{
    struct fixture *f = *state;
    uint32_t count = 0;
    bool done = false;

    for (int i = 0; i < 3 * AT_GARBAGE_KEYS_MAX; i++) {
        char row[16];
        snprintf(row, sizeof(row), "r%05d", i);
        put(f, "t", "f", row, 5);
    }
    fake_commit(f->store);
    at_drop_walk_begin(&f->walk, fake_id(f->store, "t"),
                       (struct at_dropped_range){AT_LIT("r"), {100, {1}}});
    while (!done) {
        at_garbage_batch_clear(&f->batch);
        assert_int_equal(at_drop_walk_step(&f->walk, &f->batch, UINT64_MAX, &done, NULL), AT_OK);
        assert_in_range(f->batch.count, 0, AT_GARBAGE_KEYS_MAX);
        count += f->batch.count;
    }
    assert_int_equal(count, 3 * AT_GARBAGE_KEYS_MAX);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(names_what_is_below_it_in_every_family),
        CASE(of_all_rows_it_stays_in_its_table),
        CASE(a_prefix_of_high_bytes_ends),
        CASE(a_full_batch_is_given_and_it_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
