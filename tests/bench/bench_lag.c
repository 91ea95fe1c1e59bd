/* bench_lag: how long until a write is seen at the other clusters, under a steady load.
 *
 *   bench_lag TABLE PROFILE RATE SECONDS ROUTER WRITER READER...
 *
 * Four threads write RATE new rows a second, by MutateRows of 100, through the port ROUTER. After
 * two seconds of that a marker is written at the port WRITER every 50 ms, and read at each READER
 * until it is there, with 0.2 ms between two reads: the time from the answer to the write until the
 * answer that has it. Prints rows a second, how many times it saw a marker, and the 50th, 90th and
 * 99th percentile and the longest of these times, in milliseconds; with a name before each. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/bench_request.h"
#include "cli/histogram.h"
#include "wire/grpc_client.h"

enum { WRITERS = 4, READERS_MAX = 16, VALUE_BYTES = 100 };
#define CALL_NS (10 * AT_S_NS)
#define LOAD_AHEAD_NS (2 * AT_S_NS)
#define BETWEEN_NS (50 * AT_MS_NS)
#define POLL_NS (AT_MS_NS / 5)
#define ROWS_APART UINT64_C(10000000000) /* of two writers, and of the markers */

struct end {
    struct at_loop *loop;
    struct at_grpc_channel *channel;
    struct at_bench_request request;
    pthread_t thread;
    uint32_t index;
    uint64_t rows;
    struct at_histogram seen_ns;
};

static const char *table;
static const char *profile;
static uint64_t rate;
static atomic_bool over;
static atomic_uint_fast64_t marker;     /* the row that the readers wait for; 0: none yet */
static atomic_uint_fast64_t written_ns; /* when the answer to it came */
static atomic_uint waiting;             /* readers that have not seen it */

static uint64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * AT_S_NS + (uint64_t)t.tv_nsec;
}

static void rest(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / AT_S_NS), (long)(ns % AT_S_NS)};
    (void)nanosleep(&t, NULL);
}

static void fail(const char *what)
{
    (void)fprintf(stderr, "%s\n", what);
    exit(1);
}

static void end_open(struct end *e, const char *port, enum at_bench_work work, const char *by)
{
    struct at_grpc_channel_config config = {.host = "127.0.0.1",
                                            .port = (uint16_t)strtoul(port, NULL, 10),
                                            .connection_count = 1,
                                            .connect_timeout_ms = 1000};
    struct at_error error;

    e->loop = at_loop_new(at_clock_system());
    if (at_grpc_channel_open(e->loop, &config, &e->channel, &error) != AT_OK)
        fail(error.msg);
    if (at_bench_request_init(&e->request, work, table, by, VALUE_BYTES) != AT_OK)
        fail("the request is too large");
}

static bool note_message(void *ctx, struct at_slice message)
{
    *(bool *)ctx = message.len > 0;
    return true;
}

/* True when the answer held anything: of a read, the row. */
static bool end_call(struct end *e)
{
    bool some = false;
    struct at_error error = {0};
    struct at_grpc_client_request request = {.path = e->request.path,
                                             .message = at_buf_slice(&e->request.bytes),
                                             .deadline_ns = now_ns() + CALL_NS};

    if (e->request.time_count > 0)
        at_bench_request_set_time(&e->request, (uint64_t)time(NULL) * 1000000);
    if (at_grpc_stream(e->channel, &request, note_message, &some, &error) != AT_OK)
        fail(error.msg);
    return some;
}

static void *write_rows(void *arg)
{
    struct end *e = arg;
    uint64_t begin_ns = now_ns() + e->index * AT_MS_NS;

    while (!atomic_load(&over)) {
        uint64_t due_ns = begin_ns + e->rows * AT_S_NS * WRITERS / rate;
        if (due_ns > now_ns())
            rest(due_ns - now_ns());
        for (size_t i = 0; i < AT_BENCH_BULK_ROWS; i++)
            at_bench_request_set_key(&e->request, i, e->index * ROWS_APART + e->rows + i);
        (void)end_call(e);
        e->rows += AT_BENCH_BULK_ROWS;
    }
    return NULL;
}

static void *read_markers(void *arg)
{
    struct end *e = arg;
    uint64_t last = 0;

    while (!atomic_load(&over)) {
        uint64_t row = atomic_load(&marker);
        if (row == last) {
            rest(POLL_NS);
            continue;
        }
        last = row;
        at_bench_request_set_key(&e->request, 0, row);
        while (!end_call(e))
            rest(POLL_NS);
        at_histogram_add(&e->seen_ns, now_ns() - atomic_load(&written_ns));
        (void)atomic_fetch_sub(&waiting, 1);
    }
    return NULL;
}

static void write_markers(struct end *e, uint64_t seconds, uint32_t readers)
{
    uint64_t end_ns = now_ns() + seconds * AT_S_NS;

    for (uint64_t row = WRITERS * ROWS_APART; now_ns() < end_ns; row++) {
        at_bench_request_set_key(&e->request, 0, row);
        (void)end_call(e);
        atomic_store(&written_ns, now_ns());
        atomic_store(&waiting, readers);
        atomic_store(&marker, row);
        while (atomic_load(&waiting) > 0)
            rest(POLL_NS);
        rest(BETWEEN_NS);
    }
}

int main(int argc, char **argv)
{
    static struct end writers[WRITERS];
    static struct end readers[READERS_MAX];
    static struct end at_one;
    static struct at_histogram all;
    enum { FIRST_READER = 7 };
    uint32_t reader_count = argc > FIRST_READER ? (uint32_t)(argc - FIRST_READER) : 0;
    uint64_t rows = 0;

    if (reader_count == 0 || reader_count > READERS_MAX)
        fail("usage: bench_lag TABLE PROFILE RATE SECONDS ROUTER WRITER READER...");
    table = argv[1];
    profile = argv[2];
    rate = strtoull(argv[3], NULL, 10);
    uint64_t seconds = strtoull(argv[4], NULL, 10);
    uint64_t begin_ns = now_ns();
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i].index = i;
        end_open(&writers[i], argv[5], AT_BENCH_BULK, profile);
        if (rate > 0)
            (void)pthread_create(&writers[i].thread, NULL, write_rows, &writers[i]);
    }
    rest(LOAD_AHEAD_NS);
    end_open(&at_one, argv[6], AT_BENCH_MUTATE, "");
    for (uint32_t i = 0; i < reader_count; i++) {
        end_open(&readers[i], argv[FIRST_READER + i], AT_BENCH_READ, "");
        (void)pthread_create(&readers[i].thread, NULL, read_markers, &readers[i]);
    }
    write_markers(&at_one, seconds, reader_count);
    atomic_store(&over, true);
    double took_s = (double)(now_ns() - begin_ns) / (double)AT_S_NS;
    for (uint32_t i = 0; i < WRITERS && rate > 0; i++) {
        (void)pthread_join(writers[i].thread, NULL);
        rows += writers[i].rows;
    }
    for (uint32_t i = 0; i < reader_count; i++) {
        (void)pthread_join(readers[i].thread, NULL);
        at_histogram_merge(&all, &readers[i].seen_ns);
    }
    (void)printf("rate %.0f count %llu p50 %.2f p90 %.2f p99 %.2f max %.2f\n",
                 (double)rows / took_s, (unsigned long long)all.total,
                 (double)at_histogram_quantile(&all, 0.5) / AT_MS_NS,
                 (double)at_histogram_quantile(&all, 0.9) / AT_MS_NS,
                 (double)at_histogram_quantile(&all, 0.99) / AT_MS_NS, (double)all.max / AT_MS_NS);
    return 0;
}
