/* bench_request.h: requests that are packed once and then only get other keys and times. PURE.
 *
 * Keys are "user" and 12 digits; the row holds f:q with a value of a fixed size. */
#ifndef ATOLL_CLI_BENCH_REQUEST_H
#define ATOLL_CLI_BENCH_REQUEST_H

#include "base/buf.h"
#include "base/prng.h"

#define AT_BENCH_BULK_ROWS 100
#define AT_BENCH_SCAN_ROWS 1000

enum at_bench_work {
    AT_BENCH_MUTATE, /* MutateRow */
    AT_BENCH_READ,   /* ReadRows of one key */
    AT_BENCH_BULK,   /* MutateRows of AT_BENCH_BULK_ROWS */
    AT_BENCH_SCAN,   /* ReadRows of AT_BENCH_SCAN_ROWS from a key on */
    AT_BENCH_MIXED,  /* MUTATE and READ, half each: no request of its own */
    AT_BENCH_WORK_COUNT
};

/* at_bench_work_name: "mutate", "read", ... Static. */
const char *at_bench_work_name(enum at_bench_work work);

struct at_bench_request {
    const char *path;
    struct at_buf bytes;
    size_t key_offsets[AT_BENCH_BULK_ROWS];
    size_t key_count;
    size_t time_offsets[AT_BENCH_BULK_ROWS];
    size_t time_count;
};

/* at_bench_request_init packs one. `work` is not MIXED. RESOURCE_EXHAUSTED when it is too large. */
AT_MUST_USE enum at_code at_bench_request_init(struct at_bench_request *r,
                                               enum at_bench_work work,
                                               const char *table,
                                               const char *profile,
                                               uint32_t value_bytes);
void at_bench_request_deinit(struct at_bench_request *r);

/* at_bench_request_set_key makes row number `row` the key at `index` (< key_count). */
void at_bench_request_set_key(struct at_bench_request *r, size_t index, uint64_t row);

/* at_bench_request_set_time sets all timestamps; from 2^49 to 2^56 microseconds (1987 to 4253). */
void at_bench_request_set_time(struct at_bench_request *r, uint64_t micros);

#endif
