#include "base/prng.h"
#include "support/fake_store.h"
#include "support/read_text.h"
#include "support/test.h"

struct fixture {
    struct at_store *store;
    struct at_arena arena;
    struct at_sample *samples;
    uint32_t count;
};

static int setup(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    f->store = fake_store_open();
    at_arena_init(&f->arena, 4096);
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

/* Samples the table, and checks what holds always. */
static void sample(struct fixture *f)
{
    assert_int_equal(
        at_read_samples(f->store, AT_LIT("t"), &f->arena, &f->samples, &f->count, NULL), AT_OK);
    assert_true(f->count >= 1);
    assert_int_equal(f->samples[f->count - 1].row.len, 0);
    for (uint32_t i = 0; i < f->count; i++) {
        assert_true(f->samples[i].offset_bytes > (i ? f->samples[i - 1].offset_bytes : 0));
        if (i > 0 && i < f->count - 1)
            assert_true(at_slice_cmp(f->samples[i - 1].row, f->samples[i].row) < 0);
    }
}

static void an_unknown_table_is_not_found(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(
        at_read_samples(f->store, AT_LIT("t"), &f->arena, &f->samples, &f->count, NULL),
        AT_NOT_FOUND);
}

static void a_small_table_has_one_end_marker(void **state)
{
    struct fixture *f = *state;

    fake_table(f->store, "t");
    sample(f);
    assert_int_equal(f->count, 1);
    fake_family(f->store, "t", "f", at_slice_make(NULL, 0));
    struct fake_cell cell = {.family = "f", .row = AT_LIT("r"), .hlc = 1};
    fake_put_cell(f->store, "t", &cell);
    fake_commit(f->store);
    sample(f);
    assert_int_equal(f->count, 1);
}

static void split_keys_are_given_in_order(void **state)
{
    struct fixture *f = *state;
    struct at_slice splits[] = {AT_LIT("a"), AT_LIT("m"), AT_LIT("z")};
    struct at_table_fields fields = {
        .granularity_micros = 1000, .splits = splits, .split_count = 3};

    fake_table_with(f->store, "t", &fields);
    sample(f);
    assert_int_equal(f->count, 4);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(at_slice_eq(f->samples[i].row, splits[i]));
}

/* Rows user000000... of 64 KiB each, random bytes so that they do not compress. */
static void fill(struct fixture *f, int rows, int skip_from, int skip_to)
{
    struct at_prng prng;
    uint64_t value[8192];
    char row[32];

    at_prng_init(&prng, 7);
    for (int i = 0; i < rows; i++) {
        for (int k = 0; k < 8192; k++)
            value[k] = at_prng_u64(&prng);
        int number = i < skip_from ? i : i - skip_from + skip_to;
        snprintf(row, sizeof(row), "user%012d", number);
        struct fake_cell cell = {.family = i % 8 ? "g" : "f",
                                 .row = at_slice_cstr(row),
                                 .hlc = 1,
                                 .value = at_slice_make(value, sizeof(value))};
        fake_put_cell(f->store, "t", &cell);
        if (i % 64 == 0)
            fake_commit(f->store);
    }
    fake_commit(f->store);
}

static void boundaries_follow_the_sizes(void **state)
{
    struct fixture *f = *state;
    struct at_slice splits[] = {AT_LIT("user0000000003")};
    struct at_table_fields fields = {
        .granularity_micros = 1000, .splits = splits, .split_count = 1};

    fake_table_with(f->store, "t", &fields);
    fake_family(f->store, "t", "f", at_slice_make(NULL, 0));
    fake_family(f->store, "t", "g", at_slice_make(NULL, 0));
    /* 320 MiB, with a wide gap in the keys. */
    fill(f, 5120, 2000, 900000000);
    sample(f);
    uint64_t total = f->samples[f->count - 1].offset_bytes;
    assert_in_range(total, 200 * AT_MIB, 500 * AT_MIB);
    assert_in_range(f->count, 3, 8);
    bool split = false;
    uint64_t before = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        split = split || at_slice_eq(f->samples[i].row, splits[0]);
        assert_true(f->samples[i].offset_bytes - before < 220 * AT_MIB);
        before = f->samples[i].offset_bytes;
    }
    assert_true(split);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_unknown_table_is_not_found),
        TEST(a_small_table_has_one_end_marker),
        TEST(split_keys_are_given_in_order),
        TEST(boundaries_follow_the_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
