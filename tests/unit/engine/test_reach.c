/* A database that ends before a write it once had is told from one that was never written so far.
 */
#include "cluster/engine/reach.h"

#include "base/alloc.h"
#include "cluster/engine/engine.h"
#include "support/test.h"
#include "support/test_path.h"
#include "support/wal_damage.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOOT "boot-1"

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static int setup(void **state)
{
    *state = test_path(at_alloc(TEST_PATH_BYTES), TEST_PATH_BYTES, "atoll-reach");
    return mkdtemp(*state) == NULL;
}

static int teardown(void **state)
{
    int failed = nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);

    at_free(*state);
    return failed;
}

/* Opens, and closes at once: what is told of a database that ends at `last`. */
static uint64_t look(const char *dir, const char *boot, uint64_t last)
{
    struct engine_reach r;

    uint64_t reached = engine_reach_open(&r, dir, at_slice_cstr(boot), last);
    engine_reach_close(&r);
    return reached;
}

static void a_process_that_dies_takes_nothing_and_a_machine_what_was_not_synced(void **state)
{
    static const struct {
        const char *boot;
        uint64_t last;
        uint64_t reached;
    } cases[] = {
        {BOOT, 9, 0},      {BOOT, 8, 0},     {BOOT, 7, 8},     {BOOT, 0, 8},
        {"boot-2", 7, 0},  {"boot-2", 5, 0}, {"boot-2", 4, 5}, {"boot-2", 0, 5},
        {"boot-10", 5, 0}, {"", 5, 0},       {"", 4, 5},
    };
    struct engine_reach r;

    assert_int_equal(engine_reach_open(&r, *state, AT_LIT(BOOT), 3), 0);
    engine_reach_written(&r, 5, false);
    uint64_t asked = engine_reach_asked(&r);
    engine_reach_written(&r, 8, false);
    engine_reach_synced(&r, asked);
    engine_reach_close(&r);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (look(*state, cases[i].boot, cases[i].last) != cases[i].reached)
            fail_msg("case %zu", i);
}

static void two_machines_that_are_not_known_are_not_the_same(void **state)
{
    struct engine_reach r;

    assert_int_equal(engine_reach_open(&r, *state, AT_LIT(""), 0), 0);
    engine_reach_written(&r, 5, false);
    engine_reach_close(&r);
    assert_int_equal(look(*state, "", 0), 0);
}

static void what_was_synced_once_stays_known(void **state)
{
    struct engine_reach r;

    assert_int_equal(engine_reach_open(&r, *state, AT_LIT(BOOT), 0), 0);
    engine_reach_written(&r, 8, true);
    engine_reach_synced(&r, 3); /* one that was asked for before ends later */
    engine_reach_close(&r);
    assert_int_equal(engine_reach_open(&r, *state, AT_LIT("boot-2"), 8), 0);
    engine_reach_written(&r, 9, false);
    engine_reach_close(&r);
    assert_int_equal(look(*state, "boot-3", 8), 0);
    assert_int_equal(look(*state, "boot-3", 7), 8);
}

static void a_loss_is_told_until_something_is_written(void **state)
{
    struct engine_reach r;

    assert_int_equal(engine_reach_open(&r, *state, AT_LIT(BOOT), 0), 0);
    engine_reach_written(&r, 8, true);
    engine_reach_close(&r);
    for (int i = 0; i < 2; i++)
        assert_int_equal(look(*state, BOOT, 4), 8);
    assert_int_equal(engine_reach_open(&r, *state, AT_LIT(BOOT), 4), 8);
    engine_reach_written(&r, 5, false);
    engine_reach_close(&r);
    assert_int_equal(look(*state, BOOT, 5), 0);
    assert_int_equal(look(*state, BOOT, 4), 5);
    assert_int_equal(look(*state, "boot-2", 0), 0);
}

static void a_damaged_note_tells_nothing_and_is_replaced(void **state)
{
    char path[400];
    struct engine_reach r;
    struct stat st;

    snprintf(path, sizeof(path), "%s/REACH", (const char *)*state);
    assert_int_equal(engine_reach_open(&r, *state, AT_LIT(BOOT), 0), 0);
    engine_reach_written(&r, 8, true);
    engine_reach_close(&r);
    assert_int_equal(stat(path, &st), 0);
    for (off_t at = 0; at <= st.st_size; at++) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        uint8_t byte = 0;
        assert_true(fd >= 0);
        if (at < st.st_size)
            assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1); /* the last one makes it longer */
        assert_int_equal(look(*state, BOOT, 0), 0);
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_int_equal(ftruncate(fd, st.st_size), 0);
        close(fd);
        assert_int_equal(look(*state, BOOT, 0), 8);
    }
    assert_int_equal(truncate(path, st.st_size / 2), 0);
    assert_int_equal(engine_reach_open(&r, *state, AT_LIT(BOOT), 0), 0);
    engine_reach_written(&r, 2, true);
    engine_reach_close(&r);
    assert_int_equal(look(*state, BOOT, 0), 2);
}

static void where_no_note_can_be_kept_nothing_is_told(void **state)
{
    char path[400];

    snprintf(path, sizeof(path), "%s/absent", (const char *)*state);
    assert_int_equal(look(path, BOOT, 0), 0);
    snprintf(path, sizeof(path), "%s/REACH", (const char *)*state);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(look(*state, BOOT, 0), 0);
}

/* --- of a database --- */

static struct at_engine *open_at(const char *dir, const char *boot)
{
    struct at_engine *engine = NULL;
    const struct at_engine_options options = {.dir = dir,
                                              .block_cache_bytes = 1 << 20,
                                              .memtable_bytes = 1 << 20,
                                              .boot_id = at_slice_cstr(boot)};

    assert_int_equal(at_engine_open(&options, &engine, NULL), AT_OK);
    return engine;
}

static void put(struct at_engine *engine, const char *key, uint32_t count, bool sync)
{
    struct at_batch *batch = at_batch_new();

    for (uint32_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s%u", key, i);
        at_batch_put(batch, AT_SPACE_META, at_slice_cstr(name), AT_LIT("value"));
    }
    assert_int_equal(at_engine_commit(engine, batch, sync, NULL), AT_OK);
    at_batch_free(&batch);
}

static bool lost(const char *dir, const char *boot, uint64_t *ret_last, uint64_t *ret_reached)
{
    struct at_engine *engine = open_at(dir, boot);

    bool is = at_engine_lost(engine, ret_last, ret_reached);
    at_engine_abandon(&engine);
    return is;
}

static void a_log_that_was_cut_after_a_kill_is_a_loss(void **state)
{
    struct at_engine *engine = open_at(*state, BOOT);
    uint64_t last = 0;
    uint64_t reached = 0;

    put(engine, "a", 3, true);
    put(engine, "b", 2, false);
    at_engine_abandon(&engine);
    assert_false(lost(*state, BOOT, &last, &reached));
    engine = open_at(*state, BOOT);
    put(engine, "c", 4, false);
    at_engine_abandon(&engine);
    assert_int_equal(wal_damage(*state, 1), 1);
    assert_true(lost(*state, BOOT, &last, &reached));
    assert_int_equal(last, 5);
    assert_int_equal(reached, 9);
    assert_true(lost(*state, BOOT, &last, &reached)); /* until something is committed */
    engine = open_at(*state, BOOT);
    put(engine, "d", 1, false);
    at_engine_abandon(&engine);
    assert_false(lost(*state, BOOT, &last, &reached));
    assert_int_equal(last, 6);
}

static void of_another_boot_only_what_was_synced_must_be_there(void **state)
{
    struct at_engine *engine = open_at(*state, BOOT);
    uint64_t last = 0;
    uint64_t reached = 0;

    put(engine, "a", 3, false);
    assert_int_equal(at_engine_sync(engine, NULL), AT_OK);
    put(engine, "b", 2, false);
    at_engine_abandon(&engine);
    assert_int_equal(wal_damage(*state, 1), 1); /* b */
    assert_false(lost(*state, "boot-2", &last, &reached));
    assert_int_equal(last, 3);
}

static void what_was_synced_must_be_there_after_another_boot(void **state)
{
    struct at_engine *engine = open_at(*state, BOOT);
    uint64_t last = 0;
    uint64_t reached = 0;

    put(engine, "a", 3, true);
    put(engine, "b", 2, false);
    assert_int_equal(at_engine_sync(engine, NULL), AT_OK);
    at_engine_abandon(&engine);
    assert_int_equal(wal_damage(*state, 1), 1);
    assert_true(lost(*state, "boot-2", &last, &reached));
    assert_int_equal(last, 3);
    assert_int_equal(reached, 5);
}

/* Files that are taken in get numbers of their own, which no log has. */
static void what_was_filled_aside_is_no_loss(void **state)
{
    struct at_engine *engine = open_at(*state, BOOT);
    struct at_snapshot *snapshot = at_snapshot_open(engine);
    struct at_aside *aside = NULL;
    struct at_batch *batch = at_batch_new();
    uint64_t last = 0;
    uint64_t reached = 0;

    put(engine, "a", 1, false);
    assert_int_equal(at_aside_new(engine, &aside, NULL), AT_OK);
    for (char key = 'a'; key <= 'e'; key++) {
        assert_int_equal(at_aside_put(aside, at_slice_make(&key, 1), AT_LIT("v"), NULL), AT_OK);
        assert_int_equal(at_aside_cut(aside, NULL), AT_OK);
        put(engine, "b", 1, key == 'c');
    }
    assert_int_equal(at_engine_sync(engine, NULL), AT_OK);
    at_batch_put(batch, AT_SPACE_META, AT_LIT("z"), AT_LIT("v"));
    assert_int_equal(at_engine_switch(engine, batch, &aside, NULL), AT_OK);
    at_snapshot_close(&snapshot);
    at_engine_abandon(&engine);
    at_batch_free(&batch);
    assert_false(lost(*state, BOOT, &last, &reached));
    assert_false(lost(*state, "boot-2", &last, &reached));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(a_process_that_dies_takes_nothing_and_a_machine_what_was_not_synced),
        TEST(two_machines_that_are_not_known_are_not_the_same),
        TEST(what_was_synced_once_stays_known),
        TEST(a_loss_is_told_until_something_is_written),
        TEST(a_damaged_note_tells_nothing_and_is_replaced),
        TEST(where_no_note_can_be_kept_nothing_is_told),
        TEST(a_log_that_was_cut_after_a_kill_is_a_loss),
        TEST(of_another_boot_only_what_was_synced_must_be_there),
        TEST(what_was_synced_must_be_there_after_another_boot),
        TEST(what_was_filled_aside_is_no_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
