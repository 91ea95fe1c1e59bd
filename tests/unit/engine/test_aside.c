/* A keyspace that is filled aside and becomes CELLS at once: who reads sees one or the other. */
#include "base/alloc.h"
#include "cluster/engine/engine.h"
#include "support/test.h"
#include "support/test_path.h"

#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
/* RocksDB is not built for it, so its locks are not seen. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:librocksdb.so\n";
}
#endif

struct fixture {
    char dir[64];
    char path[80];
    struct at_engine *engine;
    struct at_batch *batch;
};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static size_t group_of(struct at_slice key)
{
    return key.len > 0 ? 1 : 0;
}

static void *sieve_begin(void *ctx)
{
    return ctx;
}

static bool sieve_drops(void *pass, struct at_slice key)
{
    (void)pass;
    return key.len > 0 && key.data[0] == 'x';
}

static void sieve_end(void *pass)
{
    (void)pass;
}

static void open_it(struct fixture *f)
{
    const struct at_engine_options options = {.dir = f->path,
                                              .block_cache_bytes = 1 << 20,
                                              .memtable_bytes = 1 << 20,
                                              .background_threads = 2,
                                              .sieve = {f, sieve_begin, sieve_drops, sieve_end},
                                              .group = group_of};

    assert_int_equal(at_engine_open(&options, &f->engine, NULL), AT_OK);
}

static void prepare(struct fixture *f)
{
    *f = (struct fixture){0};
    (void)test_path(f->dir, sizeof(f->dir), "atoll-aside");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->path, sizeof(f->path), "%s/data", f->dir);
    f->batch = at_batch_new();
}

static int setup(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    *state = f;
    prepare(f);
    open_it(f);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    at_batch_free(&f->batch);
    at_engine_close(&f->engine);
    int rc = nftw(f->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    at_free(f);
    return rc;
}

static void put(struct fixture *f, const char *key, const char *value)
{
    at_batch_put(f->batch, AT_SPACE_CELLS, at_slice_cstr(key), at_slice_cstr(value));
}

static void commit(struct fixture *f)
{
    assert_int_equal(at_engine_commit(f->engine, f->batch, false, NULL), AT_OK);
    at_batch_clear(f->batch);
}

static void aside_put(struct at_aside *a, const char *key, const char *value)
{
    assert_int_equal(at_aside_put(a, at_slice_cstr(key), at_slice_cstr(value), NULL), AT_OK);
}

static void change(struct fixture *f, struct at_aside **a)
{
    assert_int_equal(at_engine_switch(f->engine, f->batch, a, NULL), AT_OK);
    assert_null(*a);
    at_batch_clear(f->batch);
}

/* All of CELLS as "key=value|...". */
static char *cells(struct fixture *f, const struct at_snapshot *snapshot)
{
    struct at_iter_options options = {.snapshot = snapshot};
    struct at_iter *i = at_iter_open(f->engine, AT_SPACE_CELLS, &options);
    struct at_buf out;

    at_buf_init(&out, 1 << 20);
    for (at_iter_seek(i, at_slice_make(NULL, 0)); at_iter_valid(i); at_iter_next(i))
        assert_int_equal(at_buf_printf(&out, "%.*s=%.*s|", AT_SLICE_ARG(at_iter_key(i)),
                                       AT_SLICE_ARG(at_iter_value(i))),
                         AT_OK);
    assert_int_equal(at_iter_status(i, NULL), AT_OK);
    at_iter_close(&i);
    char *text = at_dup(at_buf_cstr(&out), out.len);
    at_buf_deinit(&out);
    return text;
}

static void expect(struct fixture *f, const struct at_snapshot *snapshot, const char *expected)
{
    char *text = cells(f, snapshot);

    assert_string_equal(text, expected);
    at_free(text);
}

static void expect_meta(struct fixture *f, const char *key, const char *value)
{
    struct at_buf out AT_CLEANUP(at_buf_deinit);

    at_buf_init(&out, 1024);
    assert_int_equal(at_engine_get(f->engine, NULL, AT_SPACE_META, at_slice_cstr(key), &out, NULL),
                     AT_OK);
    assert_true(at_slice_eq(at_buf_slice(&out), at_slice_cstr(value)));
}

static void the_aside_becomes_the_cells_with_its_batch(void **state)
{
    struct fixture *f = *state;
    struct at_aside *a = NULL;

    put(f, "a", "old");
    put(f, "b", "old");
    commit(f);
    assert_int_equal(at_aside_new(f->engine, &a, NULL), AT_OK);
    aside_put(a, "m", "new");
    aside_put(a, "n", "new");
    assert_true(at_aside_cut_bytes(a) > 0);
    assert_int_equal(at_aside_cut(a, NULL), AT_OK);
    assert_int_equal(at_aside_cut_bytes(a), 0);
    aside_put(a, "b", "new");
    assert_int_equal(at_aside_cut(a, NULL), AT_OK);
    assert_int_equal(at_aside_cut(a, NULL), AT_OK);
    expect(f, NULL, "a=old|b=old|");
    at_batch_put(f->batch, AT_SPACE_META, AT_LIT("k"), AT_LIT("v"));
    put(f, "z", "new"); /* of the new one */
    at_batch_delete(f->batch, AT_SPACE_CELLS, AT_LIT("n"));
    change(f, &a);
    expect(f, NULL, "b=new|m=new|z=new|");
    expect_meta(f, "k", "v");
    put(f, "c", "later");
    at_batch_put(f->batch, AT_SPACE_META, AT_LIT("k"), AT_LIT("w"));
    commit(f);
    expect(f, NULL, "b=new|c=later|m=new|z=new|");
    expect_meta(f, "k", "w");
    assert_true(at_engine_range_bytes(f->engine, AT_SPACE_CELLS, AT_LIT("a"), AT_LIT("zz")) > 0);
    at_engine_close(&f->engine);
    open_it(f);
    expect(f, NULL, "b=new|c=later|m=new|z=new|");
    expect_meta(f, "k", "w");
}

static void a_snapshot_of_before_keeps_what_it_had(void **state)
{
    struct fixture *f = *state;
    struct at_aside *a = NULL;

    put(f, "a", "1");
    commit(f);
    struct at_snapshot *first = at_snapshot_open(f->engine);
    for (int round = 0; round < 3; round++) {
        char value[16];
        snprintf(value, sizeof(value), "%d", round + 2);
        assert_int_equal(at_aside_new(f->engine, &a, NULL), AT_OK);
        aside_put(a, "a", value);
        assert_int_equal(at_aside_cut(a, NULL), AT_OK);
        change(f, &a);
        expect(f, first, "a=1|");
    }
    struct at_snapshot *last = at_snapshot_open(f->engine);
    put(f, "b", "x");
    commit(f);
    expect(f, last, "a=4|");
    expect(f, NULL, "a=4|b=x|");
    expect(f, first, "a=1|");
    at_snapshot_close(&first);
    at_snapshot_close(&last);
    expect(f, NULL, "a=4|b=x|");
}

static void large_batches_are_sorted_after_a_switch_too(void **state)
{
    struct fixture *f = *state;
    struct at_aside *a = NULL;
    char key[16];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 500; i++) {
            snprintf(key, sizeof(key), "k%03d", (i * 7) % 500);
            put(f, key, round == 0 ? "0" : "1");
            if (i % 50 == 0)
                at_batch_put(f->batch, AT_SPACE_LOG, at_slice_cstr(key), AT_LIT("l"));
        }
        if (round == 0) {
            assert_int_equal(at_aside_new(f->engine, &a, NULL), AT_OK);
            change(f, &a); /* the batch was begun for the old one */
        } else {
            commit(f);
        }
        char *text = cells(f, NULL);
        assert_int_equal(strlen(text), 500 * strlen("k000=0|"));
        assert_memory_equal(text + strlen(text) - 7, round == 0 ? "k499=0|" : "k499=1|", 7);
        at_free(text);
    }
}

static void a_dropped_aside_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    struct at_aside *a = NULL;

    put(f, "a", "1");
    commit(f);
    assert_int_equal(at_aside_new(f->engine, &a, NULL), AT_OK);
    aside_put(a, "b", "2");
    assert_int_equal(at_aside_cut(a, NULL), AT_OK);
    aside_put(a, "c", "3");
    at_aside_drop(&a);
    expect(f, NULL, "a=1|");
    assert_int_equal(at_aside_new(f->engine, &a, NULL), AT_OK);
    aside_put(a, "d", "4");
    assert_int_equal(at_aside_cut(a, NULL), AT_OK);
    change(f, &a);
    expect(f, NULL, "d=4|");
}

static void keys_that_do_not_ascend_are_refused(void **state)
{
    struct fixture *f = *state;
    struct at_aside *a = NULL;

    assert_int_equal(at_aside_new(f->engine, &a, NULL), AT_OK);
    aside_put(a, "b", "1");
    assert_int_not_equal(at_aside_put(a, AT_LIT("a"), AT_LIT("2"), NULL), AT_OK);
    at_aside_drop(&a);
    put(f, "a", "1");
    commit(f); /* and nothing else is hurt */
}

static void filters_and_the_sieve_work_for_the_new_one(void **state)
{
    struct fixture *f = *state;
    struct at_aside *a = NULL;

    assert_int_equal(at_aside_new(f->engine, &a, NULL), AT_OK);
    aside_put(a, "a1", "1");
    aside_put(a, "x1", "garbage");
    assert_int_equal(at_aside_cut(a, NULL), AT_OK);
    change(f, &a);
    put(f, "b1", "2");
    put(f, "x2", "garbage");
    commit(f);
    at_engine_compact(f->engine, AT_LIT("a"), AT_LIT("z"));
    expect(f, NULL, "a1=1|b1=2|");
    assert_int_equal(at_engine_sieved_count(f->engine), 2);
    struct at_iter_options options = {
        .lower = AT_LIT("a"), .upper = AT_LIT("b"), .one_group = true};
    struct at_iter *i = at_iter_open(f->engine, AT_SPACE_CELLS, &options);
    at_iter_seek(i, AT_LIT("a1"));
    assert_true(at_iter_valid(i));
    at_iter_close(&i);
}

/* Each crash leaves the old picture or, once the switch was told, the new one, and no remains. */
enum crash { CRASH_EMPTY, CRASH_FILLED, CRASH_IN_A_FILE, CRASH_SWITCHED };

static void crash_at(struct fixture *f, enum crash at)
{
    struct at_aside *a = NULL;

    open_it(f);
    put(f, "a", "old");
    commit(f);
    if (at_aside_new(f->engine, &a, NULL) != AT_OK)
        _exit(1);
    if (at >= CRASH_FILLED) {
        aside_put(a, "b", "new");
        if (at_aside_cut(a, NULL) != AT_OK)
            _exit(2);
    }
    if (at == CRASH_IN_A_FILE)
        aside_put(a, "c", "new");
    if (at == CRASH_SWITCHED && at_engine_switch(f->engine, f->batch, &a, NULL) != AT_OK)
        _exit(3);
    _exit(0);
}

static void a_crash_leaves_one_picture_and_no_remains(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it does not follow threads of a child that was forked beside threads */
#endif
    for (enum crash at = CRASH_EMPTY; at <= CRASH_SWITCHED; at++) {
        struct fixture *f = AT_NEW(struct fixture);
        char path[128];
        int status = 0;
        prepare(f);
        pid_t pid = fork();
        if (pid == 0)
            crash_at(f, at);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        open_it(f);
        expect(f, NULL, at == CRASH_SWITCHED ? "b=new|" : "a=old|");
        snprintf(path, sizeof(path), "%s/aside", f->path);
        assert_int_not_equal(access(path, F_OK), 0);
        at_engine_close(&f->engine);
        open_it(f);
        expect(f, NULL, at == CRASH_SWITCHED ? "b=new|" : "a=old|");
        void *done = f;
        assert_int_equal(teardown(&done), 0);
    }
}

/* --- readers while it switches --- */

struct readers {
    struct fixture *f;
    atomic_bool stop;
    atomic_int wrong;
    atomic_int reads;
};

/* Both keys have the number of their keyspace; META has it too. */
static void *reader(void *ctx)
{
    struct readers *r = ctx;

    while (!r->stop) {
        struct at_snapshot *s = at_snapshot_open(r->f->engine);
        struct at_buf all[3];
        for (int i = 0; i < 3; i++) {
            at_buf_init(&all[i], 64);
            if (at_engine_get(r->f->engine, s, i == 2 ? AT_SPACE_META : AT_SPACE_CELLS,
                              i == 0 ? AT_LIT("a") : AT_LIT("b"), &all[i], NULL) != AT_OK)
                r->wrong++;
        }
        if (!at_slice_eq(at_buf_slice(&all[0]), at_buf_slice(&all[1])) ||
            !at_slice_eq(at_buf_slice(&all[0]), at_buf_slice(&all[2])))
            r->wrong++;
        char *text = cells(r->f, s);
        if (strncmp(text + 2, (const char *)all[0].data, all[0].len) != 0)
            r->wrong++;
        at_free(text);
        for (int i = 0; i < 3; i++)
            at_buf_deinit(&all[i]);
        at_snapshot_close(&s);
        r->reads++;
    }
    return NULL;
}

static void readers_see_one_keyspace_whole(void **state)
{
    struct fixture *f = *state;
    struct readers r = {.f = f};
    struct at_aside *a = NULL;
    pthread_t threads[2];
    char value[16] = "0000";

    put(f, "a", value);
    put(f, "b", value);
    at_batch_put(f->batch, AT_SPACE_META, AT_LIT("b"), at_slice_cstr(value));
    commit(f);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, reader, &r), 0);
    for (int round = 1; round <= 20; round++) {
        snprintf(value, sizeof(value), "%04d", round);
        assert_int_equal(at_aside_new(f->engine, &a, NULL), AT_OK);
        aside_put(a, "a", value);
        aside_put(a, "b", value);
        assert_int_equal(at_aside_cut(a, NULL), AT_OK);
        at_batch_put(f->batch, AT_SPACE_META, AT_LIT("b"), at_slice_cstr(value));
        change(f, &a);
        for (int seen = r.reads; r.reads < seen + 3;)
            usleep(200);
    }
    r.stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(r.wrong, 0);
}

int main(void)
{
#define ASIDE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_leaves_one_picture_and_no_remains),
        ASIDE_TEST(the_aside_becomes_the_cells_with_its_batch),
        ASIDE_TEST(a_snapshot_of_before_keeps_what_it_had),
        ASIDE_TEST(large_batches_are_sorted_after_a_switch_too),
        ASIDE_TEST(a_dropped_aside_leaves_nothing),
        ASIDE_TEST(keys_that_do_not_ascend_are_refused),
        ASIDE_TEST(filters_and_the_sieve_work_for_the_new_one),
        ASIDE_TEST(readers_see_one_keyspace_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
