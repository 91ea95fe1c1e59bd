#include "support/test.h"
#include "support/test_path.h"

#include <ftw.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "cluster/tablet/log_store.h"
#include "replication/record.h"

/* Records of 10 entries each: 1-10, 11-20, ... of (origin 2, epoch 1), and one of epoch 3. */

#define RECORDS 20u
#define ENTRIES 10u
#define LONG_RECORDS 40000u /* more than some memtables hold */
/* An index and a data block of each file that may hold a key, and some. */
#define SEEK_WORK_MAX 40

struct world {
    char dir[64];
    struct at_engine *engine;
    struct at_batch *batch;
    struct at_buf out;
};

static int remove_path(const char *path, const struct stat *s, int kind, struct FTW *ftw)
{
    (void)s, (void)kind, (void)ftw;
    return remove(path);
}

static void put(struct world *w, uint32_t epoch, uint64_t first)
{
    struct at_record_builder b;

    at_record_builder_init(&b, AT_MIB);
    at_record_begin(&b, first);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        struct at_entry e = {first + i, 1000 + first + i, 1, AT_LIT("payload")};
        assert_int_equal(at_record_add(&b, &e), AT_OK);
    }
    struct at_position last = {{2}, epoch, at_record_last_seq(&b)};
    at_log_put(w->batch, last, at_record_finish(&b));
    at_record_builder_deinit(&b);
}

static void commit(struct world *w)
{
    assert_int_equal(at_engine_commit(w->engine, w->batch, false, NULL), AT_OK);
    at_batch_clear(w->batch);
}

static int setup(void **state)
{
    struct world *w = at_alloc(sizeof(*w));

    (void)test_path(w->dir, sizeof(w->dir), "atoll-test");
    AT_ASSERT(mkdtemp(w->dir) != NULL);
    struct at_engine_options options = {.dir = w->dir,
                                        .block_cache_bytes = AT_MIB,
                                        .memtable_bytes = 4 * AT_MIB,
                                        .background_threads = 1};
    assert_int_equal(at_engine_open(&options, &w->engine, NULL), AT_OK);
    w->batch = at_batch_new();
    at_buf_init(&w->out, AT_MIB);
    for (uint32_t i = 0; i < RECORDS; i++)
        put(w, 1, i * ENTRIES + 1);
    put(w, 3, 1);
    commit(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    at_buf_deinit(&w->out);
    at_batch_free(&w->batch);
    at_engine_close(&w->engine);
    nftw(w->dir, remove_path, 8, FTW_DEPTH | FTW_PHYS);
    at_free(w);
    return 0;
}

static enum at_code
read_from(struct world *w, uint64_t first, uint64_t last, size_t max_bytes, uint32_t *count)
{
    static uint32_t sizes[64];
    struct at_log_read what = {{{2}, 1, first}, last, max_bytes, 64};

    at_buf_clear(&w->out);
    return at_log_read(w->engine, &what, &w->out, sizes, count, NULL);
}

static void a_read_begins_with_the_record_that_holds_the_first_entry(void **state)
{
    struct world *w = *state;
    struct at_record_reader r;
    uint32_t count = 0;

    assert_int_equal(read_from(w, 15, 40, AT_MIB, &count), AT_OK);
    assert_int_equal(count, 3); /* 11-20, 21-30, 31-40 */
    assert_int_equal(at_record_open(&r, at_slice_make(w->out.data, w->out.len / 3)), AT_OK);
    assert_int_equal(r.next_seq, 11);
    assert_int_equal(read_from(w, 200, 200, AT_MIB, &count), AT_OK);
    assert_int_equal(count, 1);
    assert_int_equal(read_from(w, 201, 201, AT_MIB, &count), AT_NOT_FOUND);
}

static void a_read_stops_at_its_size_and_never_in_a_record(void **state)
{
    struct world *w = *state;
    uint32_t count = 0;

    assert_int_equal(read_from(w, 1, 200, 1, &count), AT_OK);
    assert_int_equal(count, 1);
    assert_int_equal(read_from(w, 1, 200, AT_MIB, &count), AT_OK);
    assert_int_equal(count, RECORDS);
}

static void trimming_never_cuts_a_record(void **state)
{
    struct world *w = *state;
    struct at_log_parts parts = {0};
    uint32_t count = 0;

    assert_int_equal(at_log_parts_load(&parts, w->engine, NULL), AT_OK);
    assert_int_equal(parts.count, 2);
    struct at_log_part *part = &parts.items[0];
    assert_int_equal(part->epoch, 1);
    assert_int_equal(part->trimmed, 0);
    assert_int_equal(at_log_part_trim(part, w->engine, 9, w->batch, NULL), AT_OK);
    assert_int_equal(part->trimmed, 0);
    assert_int_equal(at_log_part_trim(part, w->engine, 35, w->batch, NULL), AT_OK);
    assert_int_equal(part->trimmed, 30);
    commit(w);
    assert_int_equal(read_from(w, 30, 200, AT_MIB, &count), AT_NOT_FOUND);
    assert_int_equal(read_from(w, 31, 200, AT_MIB, &count), AT_OK);
    assert_int_equal(count, RECORDS - 3);
    assert_int_equal(at_log_part_trim(part, w->engine, UINT64_MAX, w->batch, NULL), AT_OK);
    assert_int_equal(part->trimmed, 200);
    commit(w);
    assert_int_equal(read_from(w, 31, 200, AT_MIB, &count), AT_NOT_FOUND);
    assert_int_equal(at_log_parts_load(&parts, w->engine, NULL), AT_OK);
    assert_int_equal(parts.count, 1);
    assert_int_equal(parts.items[0].epoch, 3);
    at_log_parts_deinit(&parts);
}

static void a_size_gives_a_bound_to_trim_by(void **state)
{
    struct world *w = *state;
    struct at_log_part part = {.origin = {2}, .epoch = 1};

    assert_int_equal(at_log_part_seq_at(&part, w->engine, 1), 10);
    assert_int_equal(at_log_part_seq_at(&part, w->engine, AT_MIB), 200);
    part.epoch = 2;
    assert_int_equal(at_log_part_seq_at(&part, w->engine, 1), 0);
}

/* What the engine looked at: blocks, and keys passed over. */
static uint64_t work_of_read(struct world *w, uint64_t first, uint64_t last)
{
    rocksdb_perfcontext_t *context = rocksdb_perfcontext_create();
    uint32_t count = 0;

    rocksdb_set_perf_level(rocksdb_enable_count);
    rocksdb_perfcontext_reset(context);
    assert_int_equal(read_from(w, first, last, AT_MIB, &count), AT_OK);
    uint64_t work = rocksdb_perfcontext_metric(context, rocksdb_block_read_count) +
                    rocksdb_perfcontext_metric(context, rocksdb_block_cache_hit_count) +
                    rocksdb_perfcontext_metric(context, rocksdb_internal_key_skipped_count) +
                    rocksdb_perfcontext_metric(context, rocksdb_internal_delete_skipped_count);
    rocksdb_set_perf_level(rocksdb_disable);
    rocksdb_perfcontext_destroy(context);
    assert_true(count > 0);
    return work;
}

/* Each peer reads the tail by a seek of its own, so how much lies before it must not matter: be it
 * still there, or trimmed in many steps. */
static void the_tail_of_a_long_log_costs_what_that_of_a_short_one_does(void **state)
{
    struct world *w = *state;
    struct at_log_parts parts = {0};

    uint64_t of_short = work_of_read(w, 191, 200);
    for (uint64_t i = RECORDS; i < LONG_RECORDS; i++) {
        put(w, 1, i * ENTRIES + 1);
        if (i % 100 == 0)
            commit(w);
    }
    commit(w);
    const uint64_t end = LONG_RECORDS * ENTRIES;
    uint64_t of_long = work_of_read(w, end - 9, end);
    assert_int_equal(at_log_parts_load(&parts, w->engine, NULL), AT_OK);
    for (uint64_t bound = end / 100; bound < end; bound += end / 100) {
        assert_int_equal(at_log_part_trim(&parts.items[0], w->engine, bound, w->batch, NULL),
                         AT_OK);
        commit(w);
    }
    uint64_t of_trimmed = work_of_read(w, end - 9, end);
    assert_in_range(of_long, 0, of_short + SEEK_WORK_MAX);
    assert_in_range(of_trimmed, 0, of_short + SEEK_WORK_MAX);
    at_log_parts_deinit(&parts);
}

int main(void)
{
#define LOG_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        LOG_TEST(a_read_begins_with_the_record_that_holds_the_first_entry),
        LOG_TEST(a_read_stops_at_its_size_and_never_in_a_record),
        LOG_TEST(trimming_never_cuts_a_record),
        LOG_TEST(a_size_gives_a_bound_to_trim_by),
        LOG_TEST(the_tail_of_a_long_log_costs_what_that_of_a_short_one_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
