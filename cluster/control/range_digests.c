#include "cluster/control/range_digests.h"

#include "atoll/v1/control.pb-c.h"
#include "base/limits.h"
#include "cluster/tablet/range_digest.h"

/* Like a digest of a whole table, it gives other calls their turn between two steps. A range that
 * is cut here ends the answer after CALL_BYTES_MAX of work; one that is cut by the asker has been
 * bounded by the cluster that made the cuts. */

#define STEP_BYTES (256 * AT_KIB)
#define CALL_BYTES_MAX (256 * AT_MIB)

struct range_call {
    struct at_task task;
    struct at_service *service;
    struct at_grpc_call *call;
    struct at_range_run *run;
};

static enum at_code fill_spec(struct at_service *service,
                              struct at_arena *arena,
                              const Atoll__V1__RangeDigestsRequest *request,
                              struct at_range_digest_spec *ret_spec,
                              struct at_error *reterr);
static void step(struct at_task *task);
static void answer(struct range_call *c);

static struct at_slice slice_of(ProtobufCBinaryData bytes)
{
    return at_slice_make(bytes.data, bytes.len);
}

static ProtobufCBinaryData borrow(const void *data, size_t len)
{
    return (ProtobufCBinaryData){.len = len, .data = (uint8_t *)(uintptr_t)data};
}

void at_on_range_digests(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_arena *arena = at_grpc_call_arena(call);
    struct at_range_digest_spec spec = {0};
    struct at_error error = {0};
    Atoll__V1__RangeDigestsRequest *request =
        at_service_unpack(service, call, &atoll__v1__range_digests_request__descriptor);
    if (!request)
        return;

    struct range_call *c = AT_ARENA_NEW(arena, struct range_call);
    c->service = service;
    c->call = call;
    c->task.run = step;
    enum at_code code = fill_spec(service, arena, request, &spec, &error);
    if (code == AT_OK)
        code = at_range_digest_open(service->store, &spec, &c->run, &error);
    if (code != AT_OK) {
        at_service_fail(service, call, &error);
        return;
    }
    at_loop_post(at_grpc_call_loop(call), &c->task);
}

/* What it borrows is in the call's arena. */
static enum at_code fill_spec(struct at_service *service,
                              struct at_arena *arena,
                              const Atoll__V1__RangeDigestsRequest *request,
                              struct at_range_digest_spec *ret_spec,
                              struct at_error *reterr)
{
    bool whole = request->n_cuts == 0 && request->piece_rows == 0;

    AT_TRY(
        at_service_table_id(service, at_slice_cstr(request->table_name), &ret_spec->table, reterr));
    ret_spec->range.start = slice_of(request->start_key);
    ret_spec->range.end = slice_of(request->end_key);
    if (ret_spec->range.start.len > AT_ROW_KEY_BYTES_MAX ||
        ret_spec->range.end.len > AT_ROW_KEY_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "a key is longer than %zu bytes",
                       AT_ROW_KEY_BYTES_MAX);
    if (request->n_cuts >= AT_RANGE_PIECES_MAX)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "at most %d cuts", AT_RANGE_PIECES_MAX - 1);
    struct at_slice *cuts = AT_ARENA_ARRAY(arena, struct at_slice, request->n_cuts + 1);
    for (size_t i = 0; i < request->n_cuts; i++)
        cuts[i] = slice_of(request->cuts[i]);
    ret_spec->cuts = cuts;
    ret_spec->cut_count = (uint32_t)request->n_cuts;
    ret_spec->piece_rows = whole ? UINT64_MAX : request->piece_rows;
    ret_spec->pieces_max = request->pieces_max > 0 ? request->pieces_max : AT_RANGE_PIECES_MAX;
    ret_spec->bytes_max = whole ? UINT64_MAX : CALL_BYTES_MAX;
    ret_spec->now_micros = request->now_micros > 0
                               ? request->now_micros
                               : (int64_t)(at_clock_wall_ns(&service->clock) / 1000);
    return AT_OK;
}

static void step(struct at_task *task)
{
    struct range_call *c = (struct range_call *)task; /* task is its first member */
    struct at_error error = {0};
    bool done = false;
    enum at_code code = at_range_digest_step(c->run, STEP_BYTES, &done, &error);

    if (code == AT_OK && !done && !at_grpc_call_cancelled(c->call)) {
        at_loop_post(at_grpc_call_loop(c->call), &c->task);
        return;
    }
    if (code == AT_OK && !done)
        code = at_fail(&error, AT_CANCELLED, "cancelled");
    if (code == AT_OK)
        answer(c);
    else
        at_service_fail(c->service, c->call, &error);
    at_range_digest_close(&c->run);
}

static void answer(struct range_call *c)
{
    struct at_arena *arena = at_grpc_call_arena(c->call);
    const struct at_range_digest *result = at_range_digest_result(c->run);
    Atoll__V1__RangeDigestsResponse response = ATOLL__V1__RANGE_DIGESTS_RESPONSE__INIT;

    response.pieces = AT_ARENA_ARRAY(arena, Atoll__V1__RangeDigest *, result->count);
    for (uint32_t i = 0; i < result->count; i++) {
        const struct at_range_piece *piece = &result->pieces[i];
        Atoll__V1__RangeDigest *out = AT_ARENA_NEW(arena, Atoll__V1__RangeDigest);
        atoll__v1__range_digest__init(out);
        out->end_key = borrow(piece->end.data, piece->end.len);
        out->rows = piece->rows;
        out->cells = piece->cells;
        out->digest = borrow(piece->sum, sizeof(piece->sum));
        response.pieces[response.n_pieces++] = out;
    }
    response.schema_digest = borrow(result->schema_sum, sizeof(result->schema_sum));
    at_service_reply(c->service, c->call, &response.base);
}
