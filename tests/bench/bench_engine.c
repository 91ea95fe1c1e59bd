/* bench_engine: what one key, one put, one point read and one scan cost.
 *
 *   bench_engine DIR [rows]
 *
 * DIR is made and must not hold a database yet. Rows (100000 unless said otherwise) have keys as
 * real ones do and one cell of 100 bytes, committed 100 to a batch without sync; reads are at
 * random rows, by one thread, first from the memtable, then from files. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/prng.h"
#include "cluster/engine/engine.h"
#include "cluster/model/key.h"

#define READS 300000
#define BATCH_ROWS 100

static uint64_t now_ns(void)
{
    struct at_clock c = at_clock_system();

    return at_clock_mono_ns(&c);
}

static void report(const char *what, uint64_t start_ns, uint64_t count)
{
    double ns = (double)(now_ns() - start_ns);

    printf("%-44s %9.0f ns each  %10.0f /s\n", what, ns / (double)count, (double)count * 1e9 / ns);
}

static void need(enum at_code code)
{
    if (code != AT_OK) {
        fprintf(stderr, "bench_engine: %s\n", at_code_name(code));
        exit(1);
    }
}

static struct at_slice row_name(char *to, size_t size, uint64_t row)
{
    int n = snprintf(to, size, "device#%08u#%010u", (unsigned)(row % 997), (unsigned)row);

    return at_slice_make(to, (size_t)n);
}

static void put_row(struct at_batch *batch, struct at_buf *key, uint64_t row, uint64_t hlc)
{
    static const uint8_t value[100];
    char name[40];

    at_buf_clear(key);
    need(at_key_encode(&(struct at_key){.kind = AT_KEY_CELL,
                                        .table = 1,
                                        .family = 2,
                                        .row = row_name(name, sizeof(name), row),
                                        .qualifier = AT_LIT("q"),
                                        .timestamp_micros = 1000,
                                        .stamp = {hlc, {1}}},
                       key));
    at_batch_put(batch, AT_SPACE_CELLS, at_buf_slice(key), at_slice_make(value, sizeof(value)));
}

static void write_all(struct at_engine *e, uint64_t rows)
{
    struct at_batch *batch = at_batch_new();
    struct at_buf key;
    uint64_t build_ns = 0;

    at_buf_init(&key, AT_KEY_BYTES_MAX);
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < rows; i += BATCH_ROWS) {
        uint64_t build = now_ns();
        at_batch_clear(batch);
        for (uint64_t j = i; j < i + BATCH_ROWS; j++)
            put_row(batch, &key, j * 7919 % rows, j + 1);
        build_ns += now_ns() - build;
        need(at_engine_commit(e, batch, false, NULL));
    }
    report("encode key, put, commit (100 a batch)", start, rows);
    printf("%-44s %9.0f ns each\n", "  of it: name, encode key, put",
           (double)build_ns / (double)rows);
    at_buf_deinit(&key);
    at_batch_free(&batch);
}

/* One point read: open with both bounds, seek, look, close. */
static void read_random(struct at_engine *e, uint64_t rows, bool snapshots, const char *what)
{
    struct at_prng p;
    struct at_buf lower;
    struct at_buf upper;
    char name[40];
    uint64_t found = 0;

    at_prng_init(&p, 1);
    at_buf_init(&lower, AT_KEY_BYTES_MAX);
    at_buf_init(&upper, AT_KEY_BYTES_MAX);
    uint64_t start = now_ns();
    for (int i = 0; i < READS; i++) {
        struct at_slice row = row_name(name, sizeof(name), at_prng_below(&p, rows));
        struct at_snapshot *s = snapshots ? at_snapshot_open(e) : NULL;
        at_buf_clear(&lower);
        at_buf_clear(&upper);
        need(at_key_seek_row(&lower, 1, 2, row));
        need(at_key_seek_row_after(&upper, 1, 2, row));
        struct at_iter *it = at_iter_open(e, AT_SPACE_CELLS,
                                          &(struct at_iter_options){.snapshot = s,
                                                                    .lower = at_buf_slice(&lower),
                                                                    .upper = at_buf_slice(&upper),
                                                                    .one_group = true});
        at_iter_seek(it, at_buf_slice(&lower));
        found += at_iter_valid(it) && at_iter_value(it).len == 100;
        at_iter_close(&it);
        at_snapshot_close(&s);
    }
    report(what, start, READS);
    if (found != READS)
        printf("only %llu of %d rows were found\n", (unsigned long long)found, READS);
    at_buf_deinit(&lower);
    at_buf_deinit(&upper);
}

static void open_close(struct at_engine *e)
{
    uint64_t start = now_ns();

    for (int i = 0; i < READS; i++) {
        struct at_iter *it = at_iter_open(e, AT_SPACE_CELLS, &(struct at_iter_options){0});
        at_iter_close(&it);
    }
    report("open, close an iterator", start, READS);
}

static void scan_all(struct at_engine *e, bool scan, const char *what)
{
    struct at_buf scratch;
    uint64_t count = 0;
    uint64_t bytes = 0;

    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    struct at_iter *it = at_iter_open(e, AT_SPACE_CELLS, &(struct at_iter_options){.scan = scan});
    uint64_t start = now_ns();
    for (at_iter_seek(it, AT_LIT("")); at_iter_valid(it); at_iter_next(it)) {
        struct at_key key;
        need(at_key_decode(at_iter_key(it), &scratch, &key));
        bytes += at_iter_value(it).len + key.row.len;
        count++;
    }
    report(what, start, count);
    need(at_iter_status(it, NULL));
    if (bytes == 0)
        printf("nothing to scan\n");
    at_iter_close(&it);
    at_buf_deinit(&scratch);
}

int main(int argc, char **argv)
{
    uint64_t rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000;
    struct at_engine *e = NULL;
    struct at_error err;

    if (argc < 2 || rows < BATCH_ROWS || rows % BATCH_ROWS != 0) {
        fprintf(stderr, "usage: bench_engine DIR [rows, a multiple of 100]\n");
        return 2;
    }
    const struct at_engine_options options = {.dir = argv[1],
                                              .block_cache_bytes = 64 * AT_MIB,
                                              .memtable_bytes = 64 * AT_MIB,
                                              .background_threads = 2,
                                              .group = at_key_row_group};
    if (at_engine_open(&options, &e, &err) != AT_OK) {
        fprintf(stderr, "bench_engine: %s\n", err.msg);
        return 1;
    }
    write_all(e, rows);
    open_close(e);
    read_random(e, rows, false, "point read, memtable");
    read_random(e, rows, true, "point read under a snapshot, memtable");
    scan_all(e, false, "scan and decode a cell, memtable");
    at_engine_close(&e);
    if (at_engine_open(&options, &e, &err) != AT_OK)
        return 1;
    read_random(e, rows, false, "point read, files");
    scan_all(e, false, "scan and decode a cell, files");
    scan_all(e, true, "the same, read ahead");
    at_engine_close(&e);
    return 0;
}
