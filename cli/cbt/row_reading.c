/* row_reading.c: what is left after a break is the part of the range behind the last key that was
 * committed or scanned, and the row limit less the rows that came. */
#include "cli/cbt/row_reading.h"

#include "base/alloc.h"
#include "base/limits.h"

#define ARENA_BYTES (64 * AT_KIB)

struct run {
    struct at_row_reading *reading;
    struct at_chunk_reader reader;
    struct at_arena arena; /* of one message */
    struct at_error *reterr;
    enum at_code code; /* of what was read */
    int64_t row_count;
    bool moved; /* since the last attempt began */
};

static void on_row(void *ctx, const struct at_client_row *row)
{
    struct run *r = ctx;
    r->row_count++;
    r->reading->on_row(r->reading->ctx, row);
}

static void take_stats(struct at_row_reading *reading,
                       const Google__Bigtable__V2__RequestStats *stats)
{
    if (!stats || stats->stats_view_case !=
                      GOOGLE__BIGTABLE__V2__REQUEST_STATS__STATS_VIEW_FULL_READ_STATS_VIEW)
        return;
    const Google__Bigtable__V2__FullReadStatsView *full = stats->full_read_stats_view;
    reading->has_stats = true;
    if (full->read_iteration_stats) {
        reading->rows_seen = full->read_iteration_stats->rows_seen_count;
        reading->rows_returned = full->read_iteration_stats->rows_returned_count;
        reading->cells_seen = full->read_iteration_stats->cells_seen_count;
        reading->cells_returned = full->read_iteration_stats->cells_returned_count;
    }
    if (full->request_latency_stats && full->request_latency_stats->frontend_server_latency) {
        const Google__Protobuf__Duration *d = full->request_latency_stats->frontend_server_latency;
        reading->latency_ms = d->seconds * 1000 + d->nanos / 1000000;
    }
}

static bool on_message(void *ctx, struct at_slice message)
{
    struct run *r = ctx;
    at_arena_reset(&r->arena);
    Google__Bigtable__V2__ReadRowsResponse *response =
        at_proto_unpack(&r->arena, &google__bigtable__v2__read_rows_response__descriptor, message);
    if (!response) {
        r->code = at_fail(r->reterr, AT_INTERNAL, "a message of the answer is malformed");
        return false;
    }
    r->moved = true;
    r->code = at_chunk_reader_take(&r->reader, response, r->reterr);
    take_stats(r->reading, response->request_stats);
    return r->code == AT_OK;
}

/* Narrows the request to the rows that are missing; false when none is. */
static bool narrow(struct run *r, struct at_arena *arena)
{
    Google__Bigtable__V2__ReadRowsRequest *request = r->reading->request;
    struct at_slice last = at_arena_copy(arena, at_buf_slice(&r->reader.last_key));
    if (request->rows_limit > 0) {
        request->rows_limit -= r->row_count;
        if (request->rows_limit <= 0)
            return false;
    }
    r->row_count = 0;
    if (!r->reader.has_last_key)
        return true;
    if (request->rows->n_row_ranges == 0)
        return false; /* its one key has been read */
    Google__Bigtable__V2__RowRange *range = request->rows->row_ranges[0];
    if (r->reader.reversed) {
        range->end_key_case = GOOGLE__BIGTABLE__V2__ROW_RANGE__END_KEY_END_KEY_OPEN;
        range->end_key_open = at_proto_borrow(last);
        return true;
    }
    range->start_key_case = GOOGLE__BIGTABLE__V2__ROW_RANGE__START_KEY_START_KEY_OPEN;
    range->start_key_open = at_proto_borrow(last);
    return range->end_key_case != GOOGLE__BIGTABLE__V2__ROW_RANGE__END_KEY_END_KEY_OPEN ||
           at_slice_cmp(last, at_proto_bytes(range->end_key_open)) < 0;
}

static enum at_code attempt(struct at_cbt *cbt, struct run *r)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    at_buf_init(&bytes, AT_GRPC_MESSAGE_BYTES_MAX);
    if (at_proto_pack(&bytes, &r->reading->request->base) != AT_OK)
        return at_fail(r->reterr, AT_RESOURCE_EXHAUSTED, "the request is too large");
    struct at_grpc_client_request call = {
        .path = "/google.bigtable.v2.Bigtable/ReadRows",
        .message = at_buf_slice(&bytes),
        .deadline_ns = cbt->deadline_ns,
        .metadata = at_cbt_features(),
        .metadata_count = 1,
    };
    r->moved = false;
    r->code = AT_OK;
    AT_TRY(at_grpc_stream(cbt->channel, &call, on_message, r, r->reterr));
    AT_TRY(r->code);
    return at_chunk_reader_end(&r->reader, r->reterr);
}

static bool retryable(const struct run *r, enum at_code code)
{
    return r->code == AT_OK &&
           (code == AT_UNAVAILABLE || code == AT_ABORTED || code == AT_DEADLINE_EXCEEDED);
}

enum at_code
at_row_reading_run(struct at_cbt *cbt, struct at_row_reading *reading, struct at_error *reterr)
{
    struct run r = {.reading = reading, .reterr = reterr};
    enum at_code code = AT_OK;
    at_arena_init(&r.arena, ARENA_BYTES);
    at_chunk_reader_init(&r.reader, reading->request->reversed, on_row, &r);
    for (uint32_t failures = 0;;) {
        code = attempt(cbt, &r);
        if (code == AT_OK || !retryable(&r, code))
            break;
        failures = r.moved ? 1 : failures + 1;
        bool expired = at_clock_mono_ns(at_loop_clock(cbt->loop)) >= cbt->deadline_ns;
        if (failures >= AT_CBT_ATTEMPTS_MAX || expired)
            break;
        at_chunk_reader_restart(&r.reader);
        if (!narrow(&r, &cbt->arena)) {
            code = AT_OK;
            break;
        }
        at_cbt_pause(failures);
    }
    at_chunk_reader_deinit(&r.reader);
    at_arena_deinit(&r.arena);
    return code;
}
