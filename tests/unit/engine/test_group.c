/* Filters of rows: what they spare is never a row that is there. Rows begin each other, hold
 * escapes and lie in tables written with and without filters, and in memtables. */
#include "base/alloc.h"
#include "base/limits.h"
#include "base/prng.h"
#include "cluster/engine/engine.h"
#include "cluster/model/key.h"
#include "support/test.h"
#include "support/test_path.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#define ROW_BYTES_MAX 4
#define BATCHES 40
#define BATCH_KEYS 200
#define VALUE_BYTES 300 /* so that all batches fill several memtables */
#define LOOK_UPS 4000

static const uint8_t alphabet[] = {0x00, 0x01, 0x02, 0x04, 0xff, 'a'};

struct fixture {
    char dir[64];
    struct at_engine *engine;
    struct at_batch *batch;
    struct at_prng prng;
    uint64_t hlc;
};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void open_with(struct fixture *f, size_t (*group)(struct at_slice key))
{
    const struct at_engine_options options = {.dir = f->dir,
                                              .block_cache_bytes = AT_MIB,
                                              .memtable_bytes = 512 * AT_KIB,
                                              .background_threads = 2,
                                              .group = group};

    at_engine_close(&f->engine);
    assert_int_equal(at_engine_open(&options, &f->engine, NULL), AT_OK);
}

static int setup(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    *state = f;
    (void)test_path(f->dir, sizeof(f->dir), "atoll-group");
    at_prng_init(&f->prng, 11);
    f->batch = at_batch_new();
    return mkdtemp(f->dir) == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    at_batch_free(&f->batch);
    at_engine_close(&f->engine);
    nftw(f->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    at_free(f);
    return 0;
}

static struct at_slice random_row(struct fixture *f, uint8_t row[ROW_BYTES_MAX])
{
    size_t len = 1 + at_prng_below(&f->prng, ROW_BYTES_MAX);

    for (size_t i = 0; i < len; i++)
        row[i] = alphabet[at_prng_below(&f->prng, sizeof(alphabet))];
    return at_slice_make(row, len);
}

/* Only some rows, so that others are absent. */
static bool is_written(struct at_slice row)
{
    unsigned sum = 0;

    for (size_t i = 0; i < row.len; i++)
        sum = sum * 31 + row.data[i];
    return sum % 3 != 0;
}

static void write_some(struct fixture *f)
{
    static const uint8_t value[VALUE_BYTES];
    struct at_buf key AT_CLEANUP(at_buf_deinit) = {0};
    uint8_t row[ROW_BYTES_MAX];

    at_buf_init(&key, AT_KEY_BYTES_MAX);
    for (int i = 0; i < BATCHES * BATCH_KEYS; i++) {
        struct at_key k = {.table = 1, .row = random_row(f, row), .stamp = {++f->hlc, {1}}};
        if (!is_written(k.row))
            continue;
        k.family = (uint32_t)at_prng_below(&f->prng, 3);
        k.kind = k.family == 0                     ? AT_KEY_ROW_MARKER
                 : at_prng_below(&f->prng, 4) == 0 ? AT_KEY_FAMILY_MARKER
                                                   : AT_KEY_CELL;
        k.qualifier = at_slice_make(row, at_prng_below(&f->prng, k.row.len + 1));
        at_buf_clear(&key);
        assert_int_equal(at_key_encode(&k, &key), AT_OK);
        at_batch_put(f->batch, AT_SPACE_CELLS, at_buf_slice(&key),
                     at_slice_make(value, sizeof(value)));
        if (i % BATCH_KEYS == 0) {
            assert_int_equal(at_engine_commit(f->engine, f->batch, false, NULL), AT_OK);
            at_batch_clear(f->batch);
        }
    }
    assert_int_equal(at_engine_commit(f->engine, f->batch, false, NULL), AT_OK);
    at_batch_clear(f->batch);
}

static struct at_iter *
open_row(struct fixture *f, uint32_t family, struct at_slice row, bool one_group)
{
    struct at_buf lower AT_CLEANUP(at_buf_deinit) = {0};
    struct at_buf upper AT_CLEANUP(at_buf_deinit) = {0};

    at_buf_init(&lower, AT_KEY_BYTES_MAX);
    at_buf_init(&upper, AT_KEY_BYTES_MAX);
    assert_int_equal(at_key_seek_row(&lower, 1, family, row), AT_OK);
    assert_int_equal(at_key_seek_row_after(&upper, 1, family, row), AT_OK);
    const struct at_iter_options options = {
        .lower = at_buf_slice(&lower), .upper = at_buf_slice(&upper), .one_group = one_group};
    struct at_iter *i = at_iter_open(f->engine, AT_SPACE_CELLS, &options);
    at_iter_seek(i, at_buf_slice(&lower));
    return i;
}

/* The keys of a row are the same with and without the filters. */
static uint64_t check_row(struct fixture *f, uint32_t family, struct at_slice row)
{
    struct at_iter *all = open_row(f, family, row, false);
    struct at_iter *group = open_row(f, family, row, true);
    uint64_t count = 0;

    for (; at_iter_valid(all); at_iter_next(all), at_iter_next(group), count++) {
        assert_true(at_iter_valid(group));
        assert_true(at_slice_eq(at_iter_key(all), at_iter_key(group)));
    }
    assert_false(at_iter_valid(group));
    assert_int_equal(at_iter_status(group, NULL), AT_OK);
    at_iter_close(&all);
    at_iter_close(&group);
    return count;
}

static void check(struct fixture *f)
{
    uint8_t row[ROW_BYTES_MAX];
    uint64_t found = 0;

    for (int i = 0; i < LOOK_UPS; i++) {
        struct at_slice r = random_row(f, row);
        uint64_t count = check_row(f, (uint32_t)at_prng_below(&f->prng, 3), r);
        assert_true(is_written(r) || count == 0);
        found += count;
    }
    assert_true(found > LOOK_UPS);
}

static void a_look_up_finds_every_row_in_memtables_and_tables(void **state)
{
    struct fixture *f = *state;

    open_with(f, at_key_row_group);
    write_some(f);
    check(f);
    open_with(f, at_key_row_group);
    check(f);
    write_some(f);
    at_engine_close(&f->engine);
    open_with(f, at_key_row_group);
    check(f);
}

static void tables_written_without_filters_stay_readable(void **state)
{
    struct fixture *f = *state;

    open_with(f, NULL);
    write_some(f);
    open_with(f, at_key_row_group);
    check(f);
    write_some(f);
    check(f);
    open_with(f, NULL);
    check(f);
}

/* Reads of everything do not depend on the filters. */
static void a_scan_meets_every_group(void **state)
{
    struct fixture *f = *state;
    uint64_t scanned = 0;
    uint64_t looked_up = 0;
    struct at_buf last AT_CLEANUP(at_buf_deinit) = {0};
    struct at_buf scratch AT_CLEANUP(at_buf_deinit) = {0};
    struct at_key key;

    at_buf_init(&last, AT_KEY_BYTES_MAX);
    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    open_with(f, at_key_row_group);
    write_some(f);
    struct at_iter *i = at_iter_open(f->engine, AT_SPACE_CELLS, &(struct at_iter_options){0});
    for (at_iter_seek(i, AT_LIT("")); at_iter_valid(i); at_iter_next(i), scanned++) {
        struct at_slice stored = at_iter_key(i);
        struct at_slice group = at_slice_make(stored.data, at_key_row_group(stored));
        if (at_slice_eq(group, at_buf_slice(&last)))
            continue;
        at_buf_clear(&last);
        assert_int_equal(at_buf_append(&last, group), AT_OK);
        assert_int_equal(at_key_decode(stored, &scratch, &key), AT_OK);
        looked_up += check_row(f, key.family, key.row);
    }
    at_iter_close(&i);
    assert_true(scanned > BATCH_KEYS);
    assert_int_equal(scanned, looked_up);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_look_up_finds_every_row_in_memtables_and_tables),
        CASE(tables_written_without_filters_stay_readable),
        CASE(a_scan_meets_every_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
