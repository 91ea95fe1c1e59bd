/* bench_load.c: each thread has a loop, a channel and its share of slots; a slot is one call in
 * flight with requests of its own. All of a thread's state is touched by its loop only, until the
 * thread was joined. A thread ends when the last of its calls did. */
#include "cli/bench_load.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/pbwire.h"
#include "wire/grpc_client.h"

#define CALL_NS (30 * AT_S_NS)
#define CONNECT_MS 5000
#define FIELD_CHUNKS 1     /* of ReadRowsResponse */
#define FIELD_COMMIT_ROW 9 /* of CellChunk */
#define FIELD_ENTRIES 1    /* of MutateRowsResponse */
#define FIELD_STATUS 2     /* of Entry */
#define FIELD_CODE 1       /* of Status */

struct bench_thread;

struct slot {
    struct bench_thread *thread;
    struct at_bench_request requests[2]; /* MIXED: MUTATE and READ; else the first */
    size_t request_index;                /* in flight */
    uint64_t start_ns;
    uint64_t rows;           /* of this call */
    enum at_code entry_code; /* the first failure within the answer */
};

struct bench_thread {
    const struct at_bench_config *config;
    struct at_loop *loop;
    struct at_grpc_channel *channel;
    struct at_task begin;
    struct slot *slots;
    uint32_t slot_count;
    uint32_t open_count;
    uint32_t connections;
    struct at_prng prng;
    uint64_t next_row; /* load: rows [next_row, row_end) are to be written */
    uint64_t row_end;
    uint64_t start_ns;
    uint64_t end_ns;
    struct at_bench_result result;
    enum at_code code; /* of opening the channel */
    struct at_error error;
};

static uint64_t real_now(const struct bench_thread *t)
{
    return at_clock_mono_ns(at_loop_clock(t->loop));
}

static bool finished(const struct bench_thread *t, uint64_t now_ns)
{
    return t->config->load ? t->next_row >= t->row_end : now_ns >= t->end_ns;
}

static enum at_bench_work work_of(const struct slot *s)
{
    if (s->thread->config->work != AT_BENCH_MIXED)
        return s->thread->config->work;
    return s->request_index == 0 ? AT_BENCH_MUTATE : AT_BENCH_READ;
}

/* --- answers --- */

static void take_chunks(struct slot *s, struct at_slice message)
{
    struct at_pb_field field;
    bool bad = false;
    while (at_pb_next(&message, &field, &bad)) {
        if (field.number != FIELD_CHUNKS || field.type != AT_PB_BYTES)
            continue;
        struct at_slice chunk = field.bytes;
        while (at_pb_next(&chunk, &field, &bad))
            s->rows += field.number == FIELD_COMMIT_ROW && field.varint != 0;
    }
    if (bad)
        s->entry_code = AT_DATA_LOSS;
}

static enum at_code entry_status(struct at_slice entry, bool *bad)
{
    struct at_pb_field field;
    enum at_code code = AT_OK;
    while (at_pb_next(&entry, &field, bad)) {
        if (field.number != FIELD_STATUS || field.type != AT_PB_BYTES)
            continue;
        struct at_slice status = field.bytes;
        while (at_pb_next(&status, &field, bad))
            if (field.number == FIELD_CODE && field.type == AT_PB_VARINT)
                code = at_code_from_number((uint32_t)field.varint);
    }
    return code;
}

static void take_entries(struct slot *s, struct at_slice message)
{
    struct at_pb_field field;
    bool bad = false;
    while (at_pb_next(&message, &field, &bad)) {
        if (field.number != FIELD_ENTRIES || field.type != AT_PB_BYTES)
            continue;
        enum at_code code = entry_status(field.bytes, &bad);
        s->rows += code == AT_OK;
        if (code != AT_OK && s->entry_code == AT_OK)
            s->entry_code = code;
    }
    if (bad)
        s->entry_code = AT_DATA_LOSS;
}

static void on_message(void *ctx, struct at_slice message)
{
    struct slot *s = ctx;
    enum at_bench_work work = work_of(s);
    if (work == AT_BENCH_MUTATE)
        s->rows++;
    else if (work == AT_BENCH_BULK)
        take_entries(s, message);
    else
        take_chunks(s, message);
}

/* --- calls --- */

static void begin_call(struct slot *s);

static void on_done(void *ctx, const struct at_grpc_result *result)
{
    struct slot *s = ctx;
    struct bench_thread *t = s->thread;
    uint64_t now = real_now(t);
    enum at_code code = result->code != AT_OK ? result->code : s->entry_code;
    if (code == AT_OK) {
        t->result.calls++;
        t->result.rows += s->rows;
        at_histogram_add(&t->result.latency_ns, now - s->start_ns);
    } else {
        t->result.errors[code]++;
        if (t->result.first_error.code == AT_OK)
            (void)at_fail(&t->result.first_error, code, "%.*s",
                          result->code != AT_OK ? (int)result->message.len : 16,
                          result->code != AT_OK ? (const char *)result->message.data
                                                : "an entry failed ");
    }
    if (!finished(t, now)) {
        begin_call(s);
        return;
    }
    t->end_ns = now;
    if (--t->open_count == 0)
        at_loop_stop(t->loop);
}

static uint64_t next_key(struct bench_thread *t)
{
    if (!t->config->load)
        return at_prng_below(&t->prng, t->config->rows);
    return t->next_row < t->row_end ? t->next_row++ : t->row_end - 1;
}

static void begin_call(struct slot *s)
{
    static const struct at_grpc_client_handler HANDLER = {.on_message = on_message,
                                                          .on_done = on_done};
    struct bench_thread *t = s->thread;
    if (t->config->work == AT_BENCH_MIXED)
        s->request_index ^= 1;
    struct at_bench_request *r = &s->requests[s->request_index];
    for (size_t i = 0; i < r->key_count; i++)
        at_bench_request_set_key(r, i, next_key(t));
    if (r->time_count > 0)
        at_bench_request_set_time(r, at_clock_wall_ns(at_loop_clock(t->loop)) / AT_MS_NS *
                                         UINT64_C(1000));
    s->rows = 0;
    s->entry_code = AT_OK;
    s->start_ns = real_now(t);
    struct at_grpc_client_request call = {.path = r->path,
                                          .message = at_buf_slice(&r->bytes),
                                          .deadline_ns = s->start_ns + CALL_NS,
                                          .handler = &HANDLER,
                                          .ctx = s};
    (void)at_grpc_client_start(t->channel, &call);
}

/* --- threads --- */

static void begin_thread(struct at_task *task)
{
    struct bench_thread *t =
        (struct bench_thread *)(void *)((char *)task - offsetof(struct bench_thread, begin));
    struct at_grpc_channel_config config = {.host = t->config->host,
                                            .port = t->config->port,
                                            .connection_count = t->connections,
                                            .connect_timeout_ms = CONNECT_MS};
    t->code = at_grpc_channel_open(t->loop, &config, &t->channel, &t->error);
    t->start_ns = real_now(t);
    t->end_ns = t->start_ns + t->config->seconds * AT_S_NS;
    if (t->code != AT_OK || finished(t, t->start_ns)) {
        at_loop_stop(t->loop);
        return;
    }
    t->open_count = t->slot_count;
    for (uint32_t i = 0; i < t->slot_count; i++)
        begin_call(&t->slots[i]);
}

/* Share number `index` of `total` among `count`, not less than 1. */
static uint32_t share(uint32_t total, uint32_t index, uint32_t count)
{
    uint32_t mine = total / count + (index < total % count);
    return mine ? mine : 1;
}

static enum at_code init_thread(struct bench_thread *t,
                                const struct at_bench_config *config,
                                uint32_t index,
                                struct at_error *reterr)
{
    bool mixed = config->work == AT_BENCH_MIXED;
    t->config = config;
    t->loop = at_loop_new(at_clock_system());
    t->begin.run = begin_thread;
    t->connections = share(config->connections, index, config->threads);
    t->slot_count = share(config->in_flight, index, config->threads);
    t->slots = at_alloc(t->slot_count * sizeof(*t->slots));
    t->next_row = config->rows * index / config->threads;
    t->row_end = config->rows * (index + 1) / config->threads;
    at_prng_init(&t->prng, at_clock_mono_ns(at_loop_clock(t->loop)) + index);
    for (uint32_t i = 0; i < t->slot_count; i++) {
        struct slot *s = &t->slots[i];
        s->thread = t;
        s->request_index = mixed ? i % 2 : 0;
        enum at_code code =
            at_bench_request_init(&s->requests[0], mixed ? AT_BENCH_MUTATE : config->work,
                                  config->table, config->profile, config->value_bytes);
        if (code == AT_OK && mixed)
            code = at_bench_request_init(&s->requests[1], AT_BENCH_READ, config->table,
                                         config->profile, config->value_bytes);
        if (code != AT_OK)
            return at_fail(reterr, code, "the request is too large");
    }
    return AT_OK;
}

static void deinit_thread(struct bench_thread *t)
{
    if (t->channel)
        at_grpc_channel_close(&t->channel);
    at_loop_settle(t->loop);
    at_loop_free(&t->loop);
    for (uint32_t i = 0; i < t->slot_count; i++) {
        at_bench_request_deinit(&t->slots[i].requests[0]);
        at_bench_request_deinit(&t->slots[i].requests[1]);
    }
    at_free(t->slots);
}

static void add_result(struct at_bench_result *sum, const struct bench_thread *t)
{
    double seconds = (double)(t->end_ns - t->start_ns) / (double)AT_S_NS;
    sum->calls += t->result.calls;
    sum->rows += t->result.rows;
    for (size_t i = 0; i < AT_CODE_COUNT; i++)
        sum->errors[i] += t->result.errors[i];
    if (sum->first_error.code == AT_OK)
        sum->first_error = t->result.first_error;
    if (seconds > sum->seconds)
        sum->seconds = seconds;
    at_histogram_merge(&sum->latency_ns, &t->result.latency_ns);
}

enum at_code at_bench_load(const struct at_bench_config *config,
                           struct at_bench_result *ret_result,
                           struct at_error *reterr)
{
    struct bench_thread *threads = at_alloc(config->threads * sizeof(*threads));
    uint32_t made = 0;
    uint32_t started = 0;
    enum at_code code = AT_OK;
    memset(ret_result, 0, sizeof(*ret_result));
    while (code == AT_OK && made < config->threads) {
        code = init_thread(&threads[made], config, made, reterr);
        made++;
    }
    for (; code == AT_OK && started < made; started += code == AT_OK) {
        at_loop_post(threads[started].loop, &threads[started].begin);
        code = at_loop_start(threads[started].loop, "bench", reterr);
    }
    for (uint32_t i = 0; i < started; i++) {
        at_loop_join(threads[i].loop);
        add_result(ret_result, &threads[i]);
        if (code == AT_OK && threads[i].code != AT_OK)
            code = at_fail(reterr, threads[i].code, "%s", threads[i].error.msg);
    }
    for (uint32_t i = 0; i < made; i++)
        deinit_thread(&threads[i]);
    at_free(threads);
    return code;
}
