/* import.c: import: rows of a CSV file in MutateRows calls.
 *
 * A worker is one call in flight. When the answer says that some entries failed in a way that may
 * pass, its batch is narrowed to those and sent again; a batch that failed for good ends the
 * import once all calls in flight are done. The file is read only as fast as workers take rows. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "cli/cbt/args.h"
#include "cli/cbt/command.h"
#include "cli/cbt/import_batch.h"
#include "google/bigtable/v2/bigtable.pb-c.h"

#define BATCH_ROWS 500
#define BATCH_ROWS_MAX 100000
#define WORKERS_MAX 256

struct import;

struct worker {
    struct import *import;
    struct at_import_batch batch;
    uint32_t attempt;
    enum at_code code; /* the first failure of an entry in this attempt */
    size_t failed_count;
    bool may_pass; /* all failures of this attempt may pass */
    struct at_error error;
    uv_timer_t pause;
};

struct import {
    struct at_cbt *cbt;
    struct at_import_source source;
    const char *profile;
    int64_t batch_rows;
    int64_t worker_count;
    struct worker *workers;
    size_t open_count; /* workers with a call or a pause */
    uint64_t row_count;
    bool ended;
    int status;
};

static void worker_go(struct worker *w);

static bool passing(enum at_code code)
{
    return code == AT_UNAVAILABLE || code == AT_DEADLINE_EXCEEDED || code == AT_ABORTED;
}

static void on_message(void *ctx, struct at_slice message)
{
    struct worker *w = ctx;
    struct at_arena arena;
    at_arena_init(&arena, 64 * AT_KIB);
    Google__Bigtable__V2__MutateRowsResponse *response =
        at_proto_unpack(&arena, &google__bigtable__v2__mutate_rows_response__descriptor, message);
    for (size_t i = 0; response && i < response->n_entries; i++) {
        Google__Bigtable__V2__MutateRowsResponse__Entry *entry = response->entries[i];
        if (entry->index < 0 || (uint64_t)entry->index >= w->batch.entry_count)
            continue;
        enum at_code code =
            entry->status ? at_code_from_number((uint32_t)entry->status->code) : AT_OK;
        w->batch.pending[entry->index] = code != AT_OK;
        if (code == AT_OK)
            continue;
        w->may_pass = w->may_pass && passing(code);
        if (w->failed_count++ == 0)
            w->code = at_fail(&w->error, code, "%s", entry->status->message);
    }
    at_arena_deinit(&arena);
}

static void end_worker(struct worker *w)
{
    struct import *m = w->import;
    m->open_count--;
    if (m->open_count > 0)
        return;
    for (int64_t i = 0; i < m->worker_count; i++)
        uv_close((uv_handle_t *)&m->workers[i].pause, NULL);
    at_loop_stop(m->cbt->loop);
}

static void fail_import(struct worker *w)
{
    struct import *m = w->import;
    m->ended = true;
    if (m->status == 0)
        m->status = 1;
    else
        return;
    if (w->failed_count > 0)
        (void)at_cbt_fatal("error: applying bulk mutations had %zu errors, first:rpc error: code = "
                           "%s desc = %s",
                           w->failed_count, at_cbt_code_name(w->error.code), w->error.msg);
    else
        (void)at_cbt_failed("error: applying bulk mutations process error", &w->error);
}

static void send_batch(struct worker *w);

static void on_pause_over(uv_timer_t *timer)
{
    send_batch(timer->data);
}

static void on_done(void *ctx, const struct at_grpc_result *result)
{
    struct worker *w = ctx;
    size_t open = 0;
    size_t sent = w->batch.entry_count;
    for (size_t i = 0; i < sent; i++)
        open += w->batch.pending[i];
    w->import->row_count += sent - open;
    if (open == 0) {
        worker_go(w);
        return;
    }
    if (result->code != AT_OK && w->failed_count == 0) {
        w->code = at_fail(&w->error, result->code, "%.*s", AT_SLICE_ARG(result->message));
        w->may_pass = passing(result->code);
    } else if (w->failed_count == 0) {
        w->code = at_fail(&w->error, AT_INTERNAL, "%zu entries were not answered", open);
        w->may_pass = false;
    }
    if (!w->may_pass || w->attempt >= AT_CBT_ATTEMPTS_MAX ||
        at_import_batch_narrow(&w->batch) != AT_OK) {
        fail_import(w);
        end_worker(w);
        return;
    }
    (void)uv_timer_start(&w->pause, on_pause_over, UINT64_C(50) << w->attempt, 0);
}

static void send_batch(struct worker *w)
{
    static const struct at_grpc_client_handler HANDLER = {.on_message = on_message,
                                                          .on_done = on_done};
    w->attempt++;
    w->failed_count = 0;
    w->may_pass = true;
    w->code = AT_OK;
    for (size_t i = 0; i < w->batch.entry_count; i++)
        w->batch.pending[i] = true;
    struct at_grpc_client_request call = {
        .path = "/google.bigtable.v2.Bigtable/MutateRows",
        .message = at_buf_slice(&w->batch.message),
        .deadline_ns = w->import->cbt->deadline_ns,
        .metadata = at_cbt_features(),
        .metadata_count = 1,
        .handler = &HANDLER,
        .ctx = w,
    };
    (void)at_grpc_client_start(w->import->cbt->channel, &call);
}

/* Takes the next batch, or ends. */
static void worker_go(struct worker *w)
{
    struct import *m = w->import;
    w->attempt = 0;
    if (!m->ended && at_import_batch_fill(&w->batch, &m->source, &w->error) != AT_OK) {
        (void)at_cbt_fatal("%s", w->error.msg);
        m->ended = true;
        m->status = 1;
    }
    if (m->ended || w->batch.entry_count == 0) {
        m->ended = true;
        end_worker(w);
        return;
    }
    at_cbt_log("[%zu] Writing batch:: size: %zu, firstRowKey: %s, lastRowKey: %s", w->batch.worker,
               w->batch.entry_count, w->batch.first_key, w->batch.last_key);
    send_batch(w);
}

static void run_workers(struct import *m, const char *table)
{
    m->workers = at_alloc((size_t)m->worker_count * sizeof(*m->workers));
    m->open_count = (size_t)m->worker_count;
    for (int64_t i = 0; i < m->worker_count; i++) {
        struct worker *w = &m->workers[i];
        w->import = m;
        (void)uv_timer_init(at_loop_uv(m->cbt->loop), &w->pause);
        w->pause.data = w;
        if (at_import_batch_init(&w->batch, at_cbt_table(m->cbt, table), m->profile,
                                 (size_t)m->batch_rows) != AT_OK) {
            m->ended = true;
            m->status = at_cbt_fatal("the names are too long");
        }
        w->batch.worker = (size_t)i;
    }
    for (int64_t i = 0; i < m->worker_count; i++)
        worker_go(&m->workers[i]);
    at_loop_run(m->cbt->loop);
    at_loop_settle(m->cbt->loop);
    for (int64_t i = 0; i < m->worker_count; i++)
        at_import_batch_deinit(&m->workers[i].batch);
    at_free(m->workers);
}

/* Reads one option; returns what is wrong with it, or NULL. */
static const char *read_option(struct import *m, const char *arg)
{
    const char *equals = strchr(arg, '=');
    const char *value = equals ? equals + 1 : "";
    struct at_slice key = at_slice_make(arg, equals ? (size_t)(equals - arg) : 0);
    if (at_slice_eq_cstr(key, "app-profile"))
        m->profile = value;
    if (at_slice_eq_cstr(key, "column-family")) {
        m->source.family = value;
        return *value != '\0' ? NULL : "column-family cannot be ''";
    }
    if (at_slice_eq_cstr(key, "batch-size") &&
        (!at_cbt_int(at_slice_cstr(value), &m->batch_rows) || m->batch_rows <= 0 ||
         m->batch_rows > BATCH_ROWS_MAX))
        return "batch-size must be > 0 and <= 100000";
    if (at_slice_eq_cstr(key, "workers") &&
        (!at_cbt_int(at_slice_cstr(value), &m->worker_count) || m->worker_count <= 0))
        return "workers must be > 0";
    if (at_slice_eq_cstr(key, "timestamp")) {
        m->source.encoded_timestamps = strcmp(value, "value-encoded") == 0;
        if (!m->source.encoded_timestamps && strcmp(value, "now") != 0)
            return "timestamp must be one of 'now' or 'value-encoded'";
    }
    if (m->worker_count > WORKERS_MAX)
        m->worker_count = WORKERS_MAX;
    return NULL;
}

int at_cbt_import(struct at_cbt *cbt, int argc, char **argv)
{
    struct import m = {.cbt = cbt, .batch_rows = BATCH_ROWS, .worker_count = 1};
    struct at_error error;
    if (argc < 2)
        return at_cbt_fatal("error parsing importer args: usage: cbt import <table-id> "
                            "<input-file> [app-profile=<app-profile-id>] "
                            "[column-family=<family-name>] [batch-size=<500>] [workers=<1>] "
                            "[timestamp=<now|value-encoded>]");
    for (int i = 2; i < argc; i++) {
        const char *wrong = read_option(&m, argv[i]);
        if (wrong)
            return at_cbt_fatal("error parsing importer args: %s", wrong);
    }
    FILE *in = fopen(argv[1], "r");
    if (!in)
        return at_cbt_fatal("couldn't open the csv file: open %s: %s", argv[1],
                            errno == ENOENT ? "no such file or directory" : "cannot be read");
    m.source.arena = &cbt->arena;
    m.source.now_micros = (int64_t)(at_clock_wall_ns(at_loop_clock(cbt->loop)) / AT_MS_NS) * 1000;
    at_csv_init(&m.source.csv, in);
    if (at_import_source_begin(&m.source, &error) != AT_OK)
        m.status = at_cbt_fatal("error parsing headers: %s", error.msg);
    else
        run_workers(&m, argv[0]);
    at_csv_deinit(&m.source.csv);
    (void)fclose(in);
    if (m.status == 0)
        at_cbt_log("Done importing %" PRIu64 " rows.", m.row_count);
    return m.status;
}
