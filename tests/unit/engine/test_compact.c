/* Compactions and the sieve: what it says goes, nothing else, and it is asked until the close. */
#include "base/alloc.h"
#include "cluster/engine/engine.h"
#include "support/test.h"
#include "support/test_path.h"

#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct fixture {
    char dir[64];
    struct at_engine *engine;
    struct at_batch *batch;
    atomic_bool drop; /* keys that begin with x */
    atomic_uint open_passes;
    atomic_uint passes;
};

static void *begin(void *ctx)
{
    struct fixture *f = ctx;

    f->passes++;
    if (!f->drop)
        return NULL;
    f->open_passes++;
    return f;
}

static bool drops(void *pass, struct at_slice key)
{
    (void)pass;
    return key.data[0] == 'x';
}

static void end(void *pass)
{
    ((struct fixture *)pass)->open_passes--;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void open_engine(struct fixture *f)
{
    const struct at_engine_options options = {.dir = f->dir,
                                              .block_cache_bytes = 1 << 20,
                                              .memtable_bytes = 1 << 20,
                                              .background_threads = 2,
                                              .sieve = {f, begin, drops, end}};

    assert_int_equal(at_engine_open(&options, &f->engine, NULL), AT_OK);
}

static int setup(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    *state = f;
    (void)test_path(f->dir, sizeof(f->dir), "atoll-engine");
    assert_non_null(mkdtemp(f->dir));
    f->batch = at_batch_new();
    open_engine(f);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    at_engine_close(&f->engine);
    assert_int_equal(f->open_passes, 0);
    at_batch_free(&f->batch);
    nftw(f->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    at_free(f);
    return 0;
}

static void put(struct fixture *f, enum at_space space, const char *key, const char *value)
{
    at_batch_put(f->batch, space, at_slice_cstr(key), at_slice_cstr(value));
    assert_int_equal(at_engine_commit(f->engine, f->batch, false, NULL), AT_OK);
    at_batch_clear(f->batch);
}

static bool has(struct fixture *f, enum at_space space, const char *key)
{
    struct at_buf out;

    at_buf_init(&out, 64);
    enum at_code code = at_engine_get(f->engine, NULL, space, at_slice_cstr(key), &out, NULL);
    at_buf_deinit(&out);
    return code == AT_OK;
}

static void compact(struct fixture *f)
{
    at_engine_compact(f->engine, AT_LIT("a"), AT_LIT("zz"));
}

static void a_compaction_drops_what_the_sieve_says(void **state)
{
    struct fixture *f = *state;

    put(f, AT_SPACE_CELLS, "a", "1");
    put(f, AT_SPACE_CELLS, "x1", "1");
    put(f, AT_SPACE_CELLS, "x2", "1");
    put(f, AT_SPACE_LOG, "x", "1");
    put(f, AT_SPACE_META, "x", "1");
    compact(f);
    assert_true(has(f, AT_SPACE_CELLS, "x1"));
    assert_int_equal(at_engine_sieved_count(f->engine), 0);
    f->drop = true;
    compact(f); /* also what is on the last level already */
    assert_true(has(f, AT_SPACE_CELLS, "a"));
    assert_false(has(f, AT_SPACE_CELLS, "x1"));
    assert_false(has(f, AT_SPACE_CELLS, "x2"));
    assert_true(has(f, AT_SPACE_LOG, "x"));
    assert_true(has(f, AT_SPACE_META, "x"));
    assert_int_equal(at_engine_sieved_count(f->engine), 2);
}

static void an_open_iterator_keeps_what_is_dropped(void **state)
{
    struct fixture *f = *state;
    struct at_iter_options options = {0};

    put(f, AT_SPACE_CELLS, "x1", "1");
    struct at_iter *i = at_iter_open(f->engine, AT_SPACE_CELLS, &options);
    f->drop = true;
    compact(f);
    at_iter_seek(i, AT_LIT("x"));
    assert_true(at_iter_valid(i));
    at_iter_close(&i);
    assert_false(has(f, AT_SPACE_CELLS, "x1"));
}

static void a_range_outside_is_not_touched(void **state)
{
    struct fixture *f = *state;

    put(f, AT_SPACE_CELLS, "x1", "1");
    compact(f);
    f->drop = true;
    at_engine_compact(f->engine, AT_LIT("a"), AT_LIT("b"));
    assert_true(has(f, AT_SPACE_CELLS, "x1"));
}

static void nothing_is_compacted_once_stopped(void **state)
{
    struct fixture *f = *state;

    put(f, AT_SPACE_CELLS, "x1", "1");
    f->drop = true;
    at_engine_compact_stop(f->engine);
    compact(f);
    assert_true(has(f, AT_SPACE_CELLS, "x1"));
    at_engine_close(&f->engine);
    open_engine(f);
    compact(f);
    assert_false(has(f, AT_SPACE_CELLS, "x1"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_compaction_drops_what_the_sieve_says),
        CASE(an_open_iterator_keeps_what_is_dropped),
        CASE(a_range_outside_is_not_touched),
        CASE(nothing_is_compacted_once_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
