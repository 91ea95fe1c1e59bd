/* bench_load.h: keeps a number of calls in flight for a time and measures them. ADAPTER (gRPC,
 * threads). */
#ifndef ATOLL_CLI_BENCH_LOAD_H
#define ATOLL_CLI_BENCH_LOAD_H

#include "cli/bench_request.h"
#include "cli/histogram.h"

struct at_bench_config {
    const char *host;
    uint16_t port;
    const char *table;   /* full name */
    const char *profile; /* "" for the default one */
    enum at_bench_work work;
    uint32_t connections; /* of all threads together */
    uint32_t in_flight;   /* likewise */
    uint32_t threads;
    uint32_t seconds;
    uint64_t rows; /* keys are below */
    uint32_t value_bytes;
    bool load; /* write each row once, in order, instead of random ones for a time */
};

struct at_bench_result {
    uint64_t calls; /* that were answered OK */
    uint64_t rows;  /* written or read by them */
    uint64_t errors[AT_CODE_COUNT];
    double seconds;
    struct at_error first_error;
    struct at_histogram latency_ns; /* of all calls */
};

/* at_bench_load runs it. INTERNAL when it cannot be started; failed calls are only counted.
 * Blocks. */
AT_MUST_USE enum at_code at_bench_load(const struct at_bench_config *config,
                                       struct at_bench_result *ret_result,
                                       struct at_error *reterr);

#endif
