#include "cluster/service/data.h"

#include "base/assert.h"
#include "cluster/service/chunker.h"
#include "cluster/service/details.h"
#include "cluster/service/features.h"
#include "cluster/service/filter_decode.h"
#include "cluster/service/row_set_decode.h"
#include "cluster/tablet/read.h"
#include "google/bigtable/v2/bigtable.pb-c.h"
#include "google/bigtable/v2/request_stats.pb-c.h"

/* A read runs on its loop in steps of about STEP_BYTES; the first one within the handler, so that a
 * look-up needs no second turn, and shorter, since many requests may come in one turn. With many
 * reads at a time the steps are shorter, too: all of them take one in each turn, and others wait.
 * Between steps other calls get their turn, and when too much waits for the socket or the client's
 * window the next step waits too:
 *
 *     STEPPING --more to do--> POSTED --task--> STEPPING
 *              --PENDING_BYTES_MAX reached--> WAITING --on_writable--> STEPPING
 *              --end or error--> finished
 *
 * With many reads at a time less may wait of each (see at_grpc_call_share_bytes).
 *
 * A call cancelled in POSTED ends when its task runs, in WAITING at once. */

#define HEAT_RANGES_MAX 1000 /* of a request, that are counted as requests */
#define STEP_BYTES (256 * AT_KIB)
#define STEP_BYTES_MIN (8 * AT_KIB)
#define STEP_SHARE_DIVISOR 32 /* of what may wait of all answers: 8 MiB in a turn */
#define PENDING_BYTES_MAX AT_MIB
#define ROWS_PER_MARK 1000 /* rows without output between two last_scanned_row_key */
#define LITERAL_FAMILIES_MAX 16

typedef Google__Bigtable__V2__ReadRowsRequest read_request;

enum read_state { READ_STEPPING, READ_POSTED, READ_WAITING };

struct read_rows {
    struct at_service *service;
    struct at_grpc_call *call;
    enum read_state state;
    struct at_task task;
    struct at_row_set rows;
    struct at_filter *filter;
    struct at_read *read;
    struct at_chunker chunker;
    bool begun; /* the first step was taken */
    bool full_stats;
    bool marks_known; /* whether `marks` was asked for */
    bool marks;       /* the client takes last_scanned_row_key */
    uint64_t marked_rows_seen;
};

static void run_step(struct read_rows *r);
static void end_read(struct read_rows *r, const struct at_error *error);
static void send_stats(struct read_rows *r);
static void mark_scanned(struct read_rows *r, uint64_t rows_before);

/* --- the request --- */

static struct at_features features_of(const struct at_grpc_call *call, struct at_arena *arena)
{
    return at_features_decode(at_grpc_call_metadata(call, "bigtable-features"), arena);
}

static enum at_code
check_options(const struct read_rows *r, const read_request *in, struct at_error *reterr)
{
    if (in->rows_limit < 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'rows_limit' : argument must be >= 0");
    if (in->reversed && !features_of(r->call, at_grpc_call_arena(r->call)).reverse_scans)
        return at_fail(reterr, AT_UNIMPLEMENTED, "Client doesn't support reverse scans yet");
    return AT_OK;
}

/* A family that the filter asks for by name must be there. */
static enum at_code check_families(const struct read_rows *r,
                                   const struct at_data_target *target,
                                   struct at_error *reterr)
{
    struct at_slice names[LITERAL_FAMILIES_MAX];
    uint32_t count = at_filter_literal_families(r->filter, names, LITERAL_FAMILIES_MAX);
    bool missing = false;

    if (count == 0)
        return AT_OK;
    struct at_schema *schema = at_store_schema(r->service->store);
    const struct at_table *table = at_catalog_table(schema->catalog, target->table);
    for (uint32_t i = 0; table && i < count && i < LITERAL_FAMILIES_MAX; i++)
        missing = missing || !at_table_family(table, names[i]);
    at_schema_unref(&schema);
    if (missing)
        return at_fail(reterr, AT_NOT_FOUND,
                       "Error while reading table '%.*s' : Requested column family not found",
                       AT_SLICE_ARG(target->full_name));
    return AT_OK;
}

static enum at_code
decode_filter(struct read_rows *r, const read_request *in, struct at_error *reterr)
{
    struct at_filter_node *root;

    AT_TRY(at_filter_decode(in->filter, at_grpc_call_arena(r->call), &root, reterr));
    return root ? at_filter_compile(root, &r->filter, reterr) : AT_OK;
}

static enum at_code open_read(struct read_rows *r, const read_request *in, struct at_error *reterr)
{
    const struct at_data_aim aim = {.table_name = in->table_name,
                                    .authorized_view_name = in->authorized_view_name,
                                    .materialized_view_name = in->materialized_view_name,
                                    .app_profile_id = in->app_profile_id,
                                    .use = AT_USE_READ};
    struct at_data_target target;

    AT_TRY(at_data_target_check(r->service, &aim, &target, reterr));
    AT_TRY(check_options(r, in, reterr));
    AT_TRY(at_row_set_decode(in->rows, at_grpc_call_arena(r->call), &r->rows, reterr));
    for (uint32_t i = 0; i < r->rows.count && i < HEAT_RANGES_MAX; i++)
        at_data_heat(r->service, target.table, r->rows.ranges[i].start);
    AT_TRY(decode_filter(r, in, reterr));
    AT_TRY(at_data_serves(r->service, &target, reterr));
    if (r->filter)
        AT_TRY(check_families(r, &target, reterr));
    const struct at_read_spec spec = {.table = target.table,
                                      .full_name = target.full_name,
                                      .rows = &r->rows,
                                      .filter = r->filter,
                                      .rows_limit = (uint64_t)in->rows_limit,
                                      .reversed = in->reversed,
                                      .seed = at_grpc_call_start_ns(r->call)};
    r->full_stats = in->request_stats_view ==
                    GOOGLE__BIGTABLE__V2__READ_ROWS_REQUEST__REQUEST_STATS_VIEW__REQUEST_STATS_FULL;
    return at_read_open(r->service->store, &spec, &r->read, reterr);
}

/* --- running --- */

static struct at_buf *begin_message(void *ctx)
{
    struct read_rows *r = ctx;

    at_service_begin(r->service, r->call);
    return at_grpc_call_begin(r->call);
}

static void commit_message(void *ctx)
{
    struct read_rows *r = ctx;

    at_grpc_call_commit(r->call);
}

static void on_task(struct at_task *task)
{
    struct read_rows *r = (struct read_rows *)((char *)task - offsetof(struct read_rows, task));

    AT_ASSERT(r->state == READ_POSTED);
    r->state = READ_STEPPING;
    run_step(r);
}

static void on_writable(struct at_grpc_call *call, void *ctx)
{
    struct read_rows *r = ctx;

    (void)call;
    if (r->state != READ_WAITING)
        return;
    r->state = READ_STEPPING;
    run_step(r);
}

static void on_cancel(struct at_grpc_call *call, void *ctx)
{
    struct read_rows *r = ctx;

    (void)call;
    if (r->state == READ_WAITING)
        end_read(r, NULL);
}

void at_on_read_rows(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const read_request *in =
        at_service_unpack(service, call, &google__bigtable__v2__read_rows_request__descriptor);

    if (!in)
        return;
    struct read_rows *r = AT_ARENA_NEW(at_grpc_call_arena(call), struct read_rows);
    r->service = service;
    r->call = call;
    r->task.run = on_task;
    at_chunker_init(&r->chunker, (struct at_chunker_port){r, begin_message, commit_message});
    if (open_read(r, in, &error) != AT_OK) {
        end_read(r, &error);
        return;
    }
    at_grpc_call_on_cancel(call, on_cancel, r);
    run_step(r);
}

static void sink_row(void *ctx, struct at_slice row)
{
    at_chunker_row(&((struct read_rows *)ctx)->chunker, row);
}

static void sink_cell(void *ctx, const struct at_cell *cell)
{
    at_chunker_cell(&((struct read_rows *)ctx)->chunker, cell);
}

static void sink_row_end(void *ctx)
{
    at_chunker_row_end(&((struct read_rows *)ctx)->chunker);
}

/* Does a step of the read, and says what came out. */
static enum at_code
step(struct read_rows *r, size_t step_bytes, bool *ret_done, struct at_error *reterr)
{
    const struct at_read_sink sink = {r, sink_row, sink_cell, sink_row_end};
    uint64_t rows_before = r->chunker.row_count;

    AT_TRY(at_read_step(r->read, &sink, step_bytes, ret_done, reterr));
    if (at_chunker_code(&r->chunker) != AT_OK)
        return at_fail(reterr, at_chunker_code(&r->chunker), "a row is too large to be sent");
    at_chunker_flush(&r->chunker);
    if (!*ret_done)
        mark_scanned(r, rows_before);
    return AT_OK;
}

static size_t step_size(struct read_rows *r, size_t share_bytes)
{
    size_t bytes = at_grpc_call_share_bytes(r->call, SIZE_MAX) / STEP_SHARE_DIVISOR;

    if (!r->begun && bytes > STEP_BYTES / 8)
        bytes = STEP_BYTES / 8;
    r->begun = true;
    bytes = bytes < STEP_BYTES_MIN ? STEP_BYTES_MIN : bytes;
    bytes = bytes > STEP_BYTES ? STEP_BYTES : bytes;
    return bytes < share_bytes / 2 ? bytes : share_bytes / 2;
}

static void run_step(struct read_rows *r)
{
    struct at_error error;
    bool done = false;
    size_t share_bytes = at_grpc_call_share_bytes(r->call, PENDING_BYTES_MAX);
    size_t step_bytes = step_size(r, share_bytes);

    if (at_grpc_call_cancelled(r->call)) {
        end_read(r, NULL);
    } else if (step(r, step_bytes, &done, &error) != AT_OK) {
        end_read(r, &error);
    } else if (done) {
        if (r->full_stats)
            send_stats(r);
        end_read(r, NULL);
    } else if (at_grpc_call_pending_bytes(r->call) + step_bytes > share_bytes) {
        r->state = READ_WAITING;
        at_grpc_call_on_writable(r->call, share_bytes / 4, on_writable, r);
    } else {
        r->state = READ_POSTED;
        at_loop_post(at_grpc_call_loop(r->call), &r->task);
    }
}

static void end_read(struct read_rows *r, const struct at_error *error)
{
    struct at_slice nothing = {0};
    struct at_slice details = {0};

    if (error && r->read && at_read_large_row(r->read).len > 0)
        details =
            at_details_large_row(error, at_read_large_row(r->read), at_grpc_call_arena(r->call));
    at_chunker_end(&r->chunker);
    at_chunker_deinit(&r->chunker);
    at_read_close(&r->read);
    at_filter_free(&r->filter);
    if (error) {
        if (details.len > 0)
            at_service_fail_with(r->service, r->call, error, details);
        else
            at_service_fail(r->service, r->call, error);
        return;
    }
    at_service_begin(r->service, r->call);
    at_grpc_call_finish(r->call, AT_OK, nothing, nothing);
}

/* Tells the client how far the read has come when many rows gave no output, so that it need not
 * start anew there after an error. */
static void mark_scanned(struct read_rows *r, uint64_t rows_before)
{
    uint64_t seen = at_read_stats(r->read)->rows_seen;

    if (r->chunker.row_count != rows_before || r->chunker.state != AT_CHUNKER_BETWEEN) {
        r->marked_rows_seen = seen;
        return;
    }
    if (seen - r->marked_rows_seen < ROWS_PER_MARK)
        return;
    r->marked_rows_seen = seen;
    if (!r->marks_known) {
        r->marks_known = true;
        r->marks = features_of(r->call, at_grpc_call_arena(r->call)).last_scanned_row_responses;
    }
    struct at_slice row = at_read_last_scanned(r->read);
    if (r->marks && row.len > 0)
        at_chunker_last_scanned(&r->chunker, row);
}

static void send_stats(struct read_rows *r)
{
    Google__Bigtable__V2__ReadRowsResponse answer = GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__INIT;
    Google__Bigtable__V2__RequestStats stats = GOOGLE__BIGTABLE__V2__REQUEST_STATS__INIT;
    Google__Bigtable__V2__FullReadStatsView view = GOOGLE__BIGTABLE__V2__FULL_READ_STATS_VIEW__INIT;
    Google__Bigtable__V2__ReadIterationStats rows =
        GOOGLE__BIGTABLE__V2__READ_ITERATION_STATS__INIT;
    Google__Bigtable__V2__RequestLatencyStats latency =
        GOOGLE__BIGTABLE__V2__REQUEST_LATENCY_STATS__INIT;
    Google__Protobuf__Duration duration = GOOGLE__PROTOBUF__DURATION__INIT;
    const struct at_read_stats *s = at_read_stats(r->read);
    const struct at_clock *clock = at_loop_clock(at_grpc_call_loop(r->call));
    uint64_t took_ns = at_clock_mono_ns(clock) - at_grpc_call_start_ns(r->call);

    rows.rows_seen_count = (int64_t)s->rows_seen;
    rows.rows_returned_count = (int64_t)s->rows_returned;
    rows.cells_seen_count = (int64_t)s->cells_seen;
    rows.cells_returned_count = (int64_t)s->cells_returned;
    duration.seconds = (int64_t)(took_ns / AT_S_NS);
    duration.nanos = (int32_t)(took_ns % AT_S_NS);
    latency.frontend_server_latency = &duration;
    view.read_iteration_stats = &rows;
    view.request_latency_stats = &latency;
    stats.stats_view_case = GOOGLE__BIGTABLE__V2__REQUEST_STATS__STATS_VIEW_FULL_READ_STATS_VIEW;
    stats.full_read_stats_view = &view;
    answer.request_stats = &stats;
    enum at_code code = at_proto_pack(begin_message(r), &answer.base);
    if (code == AT_OK)
        at_grpc_call_commit(r->call);
    else
        at_grpc_call_abandon(r->call);
}
