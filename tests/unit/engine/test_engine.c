/* The engine over a real folder: atomic batches, reopening, snapshots, bounds, refusals. */
#include "base/alloc.h"
#include "cluster/engine/engine.h"
#include "support/test.h"
#include "support/test_path.h"

#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether this process has mounts of its own. It must, before RocksDB starts threads. */
static bool may_mount;

struct fixture {
    char dir[64];
    char path[80];
    struct at_engine *engine;
    struct at_batch *batch;
};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static enum at_code open_at(const char *path, struct at_engine **ret_engine, struct at_error *err)
{
    const struct at_engine_options options = {.dir = path,
                                              .block_cache_bytes = 1 << 20,
                                              .memtable_bytes = 1 << 20,
                                              .background_threads = 2};

    return at_engine_open(&options, ret_engine, err);
}

static int setup(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    *state = f;
    (void)test_path(f->dir, sizeof(f->dir), "atoll-engine");
    if (mkdtemp(f->dir) == NULL)
        return -1;
    snprintf(f->path, sizeof(f->path), "%s/data", f->dir);
    f->batch = at_batch_new();
    return open_at(f->path, &f->engine, NULL) == AT_OK ? 0 : -1;
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

static void put(struct fixture *f, enum at_space space, const char *key, const char *value)
{
    at_batch_put(f->batch, space, at_slice_cstr(key), at_slice_cstr(value));
}

static void commit(struct fixture *f, bool sync)
{
    struct at_error err;

    assert_int_equal(at_engine_commit(f->engine, f->batch, sync, &err), AT_OK);
    at_batch_clear(f->batch);
}

static void expect(struct fixture *f,
                   const struct at_snapshot *snapshot,
                   enum at_space space,
                   const char *key,
                   const char *want) /* NULL: absent */
{
    struct at_buf b;

    at_buf_init(&b, 1 << 20);
    enum at_code code = at_engine_get(f->engine, snapshot, space, at_slice_cstr(key), &b, NULL);
    assert_int_equal(code, want ? AT_OK : AT_NOT_FOUND);
    if (want != NULL)
        assert_string_equal(at_buf_cstr(&b), want);
    at_buf_deinit(&b);
}

static void reopen(struct fixture *f)
{
    struct at_error err;

    at_engine_close(&f->engine);
    if (open_at(f->path, &f->engine, &err) != AT_OK)
        fail_msg("reopening: %s", err.msg);
}

static void a_batch_moves_all_spaces_and_keeps_them_apart(void **state)
{
    struct fixture *f = *state;

    assert_true(at_batch_empty(f->batch));
    size_t empty_bytes = at_batch_bytes(f->batch);
    put(f, AT_SPACE_CELLS, "k", "cell");
    put(f, AT_SPACE_LOG, "k", "log");
    put(f, AT_SPACE_META, "k", "");
    assert_false(at_batch_empty(f->batch));
    assert_true(at_batch_bytes(f->batch) > empty_bytes);
    expect(f, NULL, AT_SPACE_CELLS, "k", NULL);
    commit(f, false);
    assert_true(at_batch_empty(f->batch));
    assert_int_equal(at_batch_bytes(f->batch), empty_bytes);
    expect(f, NULL, AT_SPACE_CELLS, "k", "cell");
    expect(f, NULL, AT_SPACE_LOG, "k", "log");
    expect(f, NULL, AT_SPACE_META, "k", "");

    at_batch_delete(f->batch, AT_SPACE_LOG, AT_LIT("k"));
    commit(f, true);
    expect(f, NULL, AT_SPACE_CELLS, "k", "cell");
    expect(f, NULL, AT_SPACE_LOG, "k", NULL);
}

/* More cells than a batch keeps in the order of the puts, in any order, between other records. */
static void a_large_batch_loses_and_reorders_nothing_that_matters(void **state)
{
    struct fixture *f = *state;
    char key[32];
    char value[16];

    for (int deleting = 0; deleting <= 1; deleting++) {
        for (uint32_t i = 0; i < 1000; i++) {
            snprintf(key, sizeof(key), "%.*s%u", (int)(i % 20), "abcdefghijklmnopqrst", i * 7919u);
            snprintf(value, sizeof(value), "%u", i + (uint32_t)deleting);
            put(f, AT_SPACE_CELLS, key, value);
            put(f, AT_SPACE_META, "same", value);
            if (i == 500 && deleting)
                at_batch_delete_range(f->batch, AT_SPACE_CELLS, AT_LIT(""), AT_LIT("~"));
        }
        commit(f, false);
        expect(f, NULL, AT_SPACE_META, "same", deleting ? "1000" : "999");
        for (uint32_t i = 0; i < 1000; i++) {
            snprintf(key, sizeof(key), "%.*s%u", (int)(i % 20), "abcdefghijklmnopqrst", i * 7919u);
            snprintf(value, sizeof(value), "%u", i + (uint32_t)deleting);
            expect(f, NULL, AT_SPACE_CELLS, key, deleting && i <= 500 ? NULL : value);
        }
    }
}

static void delete_range_removes_start_and_keeps_end(void **state)
{
    struct fixture *f = *state;

    put(f, AT_SPACE_CELLS, "a", "1");
    put(f, AT_SPACE_CELLS, "b", "2");
    put(f, AT_SPACE_CELLS, "c", "3");
    put(f, AT_SPACE_META, "a", "4");
    commit(f, false);
    at_batch_delete_range(f->batch, AT_SPACE_CELLS, AT_LIT("a"), AT_LIT("c"));
    commit(f, false);
    reopen(f);
    expect(f, NULL, AT_SPACE_CELLS, "a", NULL);
    expect(f, NULL, AT_SPACE_CELLS, "b", NULL);
    expect(f, NULL, AT_SPACE_CELLS, "c", "3");
    expect(f, NULL, AT_SPACE_META, "a", "4");
}

/* Lengths around the steps of the record's varints, and bytes of any kind. */
static void keys_and_values_of_any_length_come_back(void **state)
{
    static const size_t lengths[] = {0, 1, 127, 128, 16383, 16384, 70000, 3000000};
    struct fixture *f = *state;
    uint8_t *data = at_alloc(3000000);
    struct at_buf b;

    for (size_t i = 0; i < 3000000; i++)
        data[i] = (uint8_t)(i * 31);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
        at_batch_put(f->batch, AT_SPACE_CELLS, at_slice_make(data, 1 + lengths[i] % 65536),
                     at_slice_make(data, lengths[i]));
    commit(f, true);
    reopen(f);
    at_buf_init(&b, 3000000);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        at_buf_clear(&b);
        assert_int_equal(at_engine_get(f->engine, NULL, AT_SPACE_CELLS,
                                       at_slice_make(data, 1 + lengths[i] % 65536), &b, NULL),
                         AT_OK);
        assert_true(at_slice_eq(at_buf_slice(&b), at_slice_make(data, lengths[i])));
    }
    at_buf_deinit(&b);
    at_free(data);
}

static void a_committed_batch_survives_kill_9_whole(void **state)
{
    struct fixture *f = *state;
    int status = 0;

    at_engine_close(&f->engine);
    pid_t pid = fork();
    if (pid == 0) {
        if (open_at(f->path, &f->engine, NULL) != AT_OK)
            _exit(1);
        for (int i = 0; i < 1000; i++) {
            char key[16];
            snprintf(key, sizeof(key), "%d", i);
            at_batch_clear(f->batch);
            put(f, AT_SPACE_CELLS, key, "cell");
            put(f, AT_SPACE_LOG, key, "log");
            if (at_engine_commit(f->engine, f->batch, false, NULL) != AT_OK)
                _exit(1);
        }
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    at_batch_clear(f->batch);
    assert_int_equal(open_at(f->path, &f->engine, NULL), AT_OK);
    for (int i = 0; i < 1000; i++) {
        char key[16];
        snprintf(key, sizeof(key), "%d", i);
        expect(f, NULL, AT_SPACE_CELLS, key, "cell");
        expect(f, NULL, AT_SPACE_LOG, key, "log");
    }
}

static void a_snapshot_shows_its_moment(void **state)
{
    struct fixture *f = *state;

    put(f, AT_SPACE_CELLS, "a", "old");
    commit(f, false);
    struct at_snapshot *s = at_snapshot_open(f->engine);
    put(f, AT_SPACE_CELLS, "a", "new");
    put(f, AT_SPACE_CELLS, "b", "new");
    commit(f, false);
    expect(f, s, AT_SPACE_CELLS, "a", "old");
    expect(f, s, AT_SPACE_CELLS, "b", NULL);
    expect(f, NULL, AT_SPACE_CELLS, "a", "new");

    const struct at_iter_options options = {.snapshot = s};
    struct at_iter *i = at_iter_open(f->engine, AT_SPACE_CELLS, &options);
    at_iter_seek(i, AT_LIT("a"));
    assert_true(at_iter_valid(i));
    assert_true(at_slice_eq_cstr(at_iter_value(i), "old"));
    at_iter_next(i);
    assert_false(at_iter_valid(i));
    assert_int_equal(at_iter_status(i, NULL), AT_OK);
    at_iter_close(&i);
    at_snapshot_close(&s);
    assert_null(s);
}

static void an_iterator_moves_both_ways_within_its_bounds(void **state)
{
    struct fixture *f = *state;
    char lower[] = "b";
    char upper[] = "e";

    for (const char *k = "a\0b\0c\0d\0e\0"; *k; k += 2)
        put(f, AT_SPACE_META, k, k);
    commit(f, false);
    struct at_iter_options options = {
        .lower = at_slice_cstr(lower), .upper = at_slice_cstr(upper), .scan = true};
    struct at_iter *i = at_iter_open(f->engine, AT_SPACE_META, &options);
    lower[0] = upper[0] = 'x'; /* bounds were copied */

    at_iter_seek(i, AT_LIT("a"));
    assert_true(at_slice_eq_cstr(at_iter_key(i), "b"));
    at_iter_next(i);
    assert_true(at_slice_eq_cstr(at_iter_key(i), "c"));
    at_iter_next(i);
    at_iter_next(i);
    assert_false(at_iter_valid(i));
    at_iter_seek_last(i);
    assert_true(at_slice_eq_cstr(at_iter_key(i), "d"));
    at_iter_seek_back(i, AT_LIT("cc"));
    assert_true(at_slice_eq_cstr(at_iter_key(i), "c"));
    at_iter_seek_back(i, AT_LIT("b"));
    assert_true(at_slice_eq_cstr(at_iter_key(i), "b"));
    at_iter_prev(i);
    assert_false(at_iter_valid(i));
    assert_int_equal(at_iter_status(i, NULL), AT_OK);
    at_iter_close(&i);
}

static void a_second_process_is_refused_as_unavailable(void **state)
{
    struct fixture *f = *state;
    struct at_engine *other = NULL;
    struct at_error err;
    int status = 0;

    pid_t pid = fork();
    if (pid == 0) {
        enum at_code code = open_at(f->path, &other, &err);
        _exit(code == AT_UNAVAILABLE && strstr(err.msg, "in use by another process") ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(open_at(f->path, &other, &err), AT_UNAVAILABLE);
}

static void damaged_files_are_data_loss_and_never_a_fresh_start(void **state)
{
    struct fixture *f = *state;
    struct at_error err;
    char path[128];

    put(f, AT_SPACE_CELLS, "a", "1");
    commit(f, true);
    reopen(f); /* flushes what the log held */
    at_engine_close(&f->engine);
    snprintf(path, sizeof(path), "%s/CURRENT", f->path);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(open_at(f->path, &f->engine, &err), AT_DATA_LOSS);
    assert_int_equal(remove(path), 0);
    assert_int_equal(open_at(f->path, &f->engine, &err), AT_DATA_LOSS);
    assert_non_null(strstr(err.msg, "CURRENT"));
}

static void a_folder_that_cannot_be_made_is_unavailable(void **state)
{
    struct at_engine *other = NULL;
    struct at_error err;

    (void)state;
    assert_int_equal(open_at("/proc/no/such/place", &other, &err), AT_UNAVAILABLE);
}

static void sizes_count_memtables_and_files(void **state)
{
    struct fixture *f = *state;
    char value[1000];

    memset(value, 'v', sizeof(value));
    for (int i = 0; i < 100; i++) {
        char key[16];
        int n = snprintf(key, sizeof(key), "%03d", i);
        at_batch_put(f->batch, AT_SPACE_CELLS, at_slice_make(key, (size_t)n),
                     at_slice_make(value, sizeof(value)));
    }
    commit(f, false);
    uint64_t half = at_engine_range_bytes(f->engine, AT_SPACE_CELLS, AT_LIT("000"), AT_LIT("050"));
    assert_in_range(half, 50 * 1003, 50 * 1003);
    assert_true(at_engine_space_bytes(f->engine, AT_SPACE_CELLS) >= 100000);
    assert_int_equal(at_engine_range_bytes(f->engine, AT_SPACE_CELLS, AT_LIT("5"), AT_LIT("1")), 0);
    reopen(f); /* now in a file */
    half = at_engine_range_bytes(f->engine, AT_SPACE_CELLS, AT_LIT("000"), AT_LIT("050"));
    assert_in_range(half, 20000, 80000);
}

static void sync_and_resume_succeed_on_a_healthy_disk(void **state)
{
    struct fixture *f = *state;

    put(f, AT_SPACE_META, "a", "1");
    commit(f, false);
    assert_int_equal(at_engine_sync(f->engine, NULL), AT_OK);
    assert_int_equal(at_engine_resume(f->engine, NULL), AT_OK);
    expect(f, NULL, AT_SPACE_META, "a", "1");
}

/* Writes into a file system of 160 MiB, part of which a file takes up; then removes that file.
 * Needs to mount, which an ordinary user may not. */
static void a_full_disk_refuses_whole_batches_until_there_is_room_again(void **state)
{
    struct fixture *f = *state;
    static uint8_t value[100000];
    char ballast[96];
    struct at_error err;
    char key[16] = "";
    int i = 0;

    at_engine_close(&f->engine);
    if (!may_mount || mount("none", f->dir, "tmpfs", 0, "size=160m") != 0)
        skip();
    snprintf(ballast, sizeof(ballast), "%s/ballast", f->dir);
    FILE *file = fopen(ballast, "w");
    assert_non_null(file);
    for (int j = 0; j < 400; j++)
        assert_int_equal(fwrite(value, 1, sizeof(value), file), sizeof(value));
    fclose(file);
    assert_int_equal(open_at(f->path, &f->engine, &err), AT_OK);

    enum at_code code = AT_OK;
    for (; code == AT_OK && i < 1000; i++) {
        for (size_t j = 0; j < sizeof(value); j += 16)
            value[j] = (uint8_t)((size_t)i * 7 + j * 13);
        at_batch_clear(f->batch);
        snprintf(key, sizeof(key), "%d", i);
        at_batch_put(f->batch, AT_SPACE_CELLS, at_slice_cstr(key),
                     at_slice_make(value, sizeof(value)));
        put(f, AT_SPACE_LOG, key, "log");
        code = at_engine_commit(f->engine, f->batch, false, &err);
    }
    assert_int_equal(code, AT_RESOURCE_EXHAUSTED);
    expect(f, NULL, AT_SPACE_LOG, key, NULL);
    expect(f, NULL, AT_SPACE_LOG, "0", "log");
    assert_int_equal(at_engine_resume(f->engine, &err), AT_RESOURCE_EXHAUSTED);

    assert_int_equal(remove(ballast), 0);
    assert_int_equal(at_engine_resume(f->engine, &err), AT_OK);
    commit(f, true);
    reopen(f);
    expect(f, NULL, AT_SPACE_LOG, key, "log");
    expect(f, NULL, AT_SPACE_LOG, "0", "log");
    at_engine_close(&f->engine);
    assert_int_equal(umount(f->dir), 0);
}

static void a_value_beyond_the_buffer_is_refused(void **state)
{
    struct fixture *f = *state;
    struct at_buf b;

    put(f, AT_SPACE_META, "a", "12345");
    commit(f, false);
    at_buf_init(&b, 4);
    assert_int_equal(at_engine_get(f->engine, NULL, AT_SPACE_META, AT_LIT("a"), &b, NULL),
                     AT_RESOURCE_EXHAUSTED);
    at_buf_deinit(&b);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_batch_moves_all_spaces_and_keeps_them_apart),
        CASE(a_large_batch_loses_and_reorders_nothing_that_matters),
        CASE(delete_range_removes_start_and_keeps_end),
        CASE(keys_and_values_of_any_length_come_back),
        CASE(a_committed_batch_survives_kill_9_whole),
        CASE(a_snapshot_shows_its_moment),
        CASE(an_iterator_moves_both_ways_within_its_bounds),
        CASE(a_second_process_is_refused_as_unavailable),
        CASE(damaged_files_are_data_loss_and_never_a_fresh_start),
        CASE(a_folder_that_cannot_be_made_is_unavailable),
        CASE(sizes_count_memtables_and_files),
        CASE(sync_and_resume_succeed_on_a_healthy_disk),
        CASE(a_value_beyond_the_buffer_is_refused),
        CASE(a_full_disk_refuses_whole_batches_until_there_is_room_again),
    };

    may_mount =
        unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
