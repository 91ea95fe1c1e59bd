/* A database that has less than when it was closed is not opened. */
#include "base/alloc.h"
#include "cluster/engine/engine.h"
#include "support/test.h"
#include "support/test_path.h"
#include "support/wal_damage.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static enum at_code open_at(const char *dir, struct at_engine **ret_engine, struct at_error *error)
{
    const struct at_engine_options options = {
        .dir = dir, .block_cache_bytes = 1 << 20, .memtable_bytes = 1 << 20};

    return at_engine_open(&options, ret_engine, error);
}

static void put(struct at_engine *engine, const char *key, bool sync)
{
    struct at_batch *batch = at_batch_new();

    at_batch_put(batch, AT_SPACE_META, at_slice_cstr(key), AT_LIT("value"));
    assert_int_equal(at_engine_commit(engine, batch, sync, NULL), AT_OK);
    at_batch_free(&batch);
}

static int setup(void **state)
{
    char *dir = test_path(at_alloc(TEST_PATH_BYTES), TEST_PATH_BYTES, "atoll-mark");
    struct at_engine *engine = NULL;

    *state = dir;
    if (mkdtemp(dir) == NULL || open_at(dir, &engine, NULL) != AT_OK)
        return -1;
    put(engine, "a", true);
    put(engine, "b", false);
    at_engine_close(&engine);
    return 0;
}

static int teardown(void **state)
{
    int failed = nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);

    at_free(*state);
    return failed;
}

static void what_was_closed_opens_again(void **state)
{
    struct at_engine *engine = NULL;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(open_at(*state, &engine, NULL), AT_OK);
        if (i == 1)
            put(engine, "c", true);
        at_engine_close(&engine);
    }
}

static void a_log_that_is_cut_is_data_loss(void **state)
{
    struct at_engine *engine = NULL;

    assert_true(wal_damage(*state, 1) > 0);
    for (int i = 0; i < 2; i++) { /* it stays so */
        struct at_error error = {0};
        assert_int_equal(open_at(*state, &engine, &error), AT_DATA_LOSS);
        assert_null(engine);
        assert_non_null(strstr(error.msg, "when it was closed"));
    }
}

static void a_missing_log_is_data_loss(void **state)
{
    struct at_engine *engine = NULL;

    assert_true(wal_damage(*state, 0) > 0);
    assert_int_equal(open_at(*state, &engine, NULL), AT_DATA_LOSS);
}

static void a_damaged_note_is_data_loss(void **state)
{
    static const char *const notes[] = {"", "x\n", "12", "99999999999999999999\n"};
    struct at_engine *engine = NULL;
    char path[400];

    snprintf(path, sizeof(path), "%s/CLOSED", (const char *)*state);
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        (void)fputs(notes[i], file);
        (void)fclose(file);
        if (open_at(*state, &engine, NULL) != AT_DATA_LOSS)
            fail_msg("accepted: '%s'", notes[i]);
    }
}

static void a_missing_manifest_is_data_loss(void **state)
{
    struct at_engine *engine = NULL;
    DIR *d = opendir(*state);
    char path[400];

    assert_non_null(d);
    for (const struct dirent *entry = readdir(d); entry != NULL; entry = readdir(d)) {
        if (strncmp(entry->d_name, "MANIFEST", 8) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", (const char *)*state, entry->d_name);
        assert_int_equal(unlink(path), 0);
    }
    closedir(d);
    assert_int_equal(open_at(*state, &engine, NULL), AT_DATA_LOSS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(what_was_closed_opens_again),     TEST(a_log_that_is_cut_is_data_loss),
        TEST(a_missing_log_is_data_loss),      TEST(a_damaged_note_is_data_loss),
        TEST(a_missing_manifest_is_data_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
