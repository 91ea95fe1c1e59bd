#include "cluster/tablet/range_digest.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/tablet/store.h"

/* A piece is ended by the first row behind it, whose key is its end when the run cuts by itself.
 * So the gap between two rows belongs to the piece before: a row that only another cluster has
 * falls into exactly one piece there. */

struct at_range_run {
    struct at_range_digest_spec spec;
    struct at_read *read;
    struct at_row_set rows;
    struct at_row_range range;
    struct at_arena arena;
    struct at_digest_stream stream;
    struct at_range_digest result;
    struct at_range_piece piece; /* under way */
    uint32_t cap;                /* of result.pieces */
    uint64_t used_bytes;
    bool ended;          /* early: what still comes is not counted */
    enum at_code failed; /* what a sink call could not report */
    struct at_error error;
};

static enum at_code check_cuts(const struct at_range_digest_spec *spec, struct at_error *reterr);
static void end_piece(struct at_range_run *run, struct at_slice end);
static void on_row(void *ctx, struct at_slice row);
static void on_cell(void *ctx, const struct at_cell *cell);
static void on_row_end(void *ctx);

enum at_code at_range_digest_open(struct at_store *store,
                                  const struct at_range_digest_spec *spec,
                                  struct at_range_run **ret_run,
                                  struct at_error *reterr)
{
    *ret_run = NULL;
    AT_ASSERT(!spec->range.point);
    AT_TRY(check_cuts(spec, reterr));

    struct at_range_run *run = AT_NEW(struct at_range_run);
    run->spec = *spec;
    run->range = spec->range;
    run->rows = (struct at_row_set){.ranges = &run->range, .count = 1, .cap = 1};
    run->cap = spec->cut_count > 0 ? spec->cut_count + 1 : spec->pieces_max;
    at_arena_init(&run->arena, 4 * AT_KIB);
    at_digest_stream_init(&run->stream);
    run->result.pieces = AT_ARENA_ARRAY(&run->arena, struct at_range_piece, run->cap);

    struct at_read_spec read = {
        .table = spec->table,
        .rows = &run->rows,
        .gc_micros = spec->now_micros,
        .large_rows = true,
    };
    enum at_code code = at_read_open(store, &read, &run->read, reterr);
    if (code == AT_OK) {
        struct at_schema *schema = at_store_schema(store);
        const struct at_table *table = at_catalog_table(schema->catalog, spec->table);
        if (table != NULL)
            at_digest_stream_table(&run->stream, table);
        at_schema_unref(&schema);
        code = at_digest_stream_end(&run->stream, run->result.schema_sum, reterr);
    }
    *ret_run = run;
    if (code != AT_OK)
        at_range_digest_close(ret_run);
    return code;
}

void at_range_digest_close(struct at_range_run **run)
{
    struct at_range_run *r = *run;

    *run = NULL;
    if (r == NULL)
        return;
    at_read_close(&r->read);
    at_digest_stream_deinit(&r->stream);
    at_arena_deinit(&r->arena);
    at_free(r);
}

enum at_code at_range_digest_step(struct at_range_run *run,
                                  size_t bytes_max,
                                  bool *ret_done,
                                  struct at_error *reterr)
{
    const struct at_read_sink sink = {
        .ctx = run, .row = on_row, .cell = on_cell, .row_end = on_row_end};
    bool done = false;

    *ret_done = false;
    AT_ASSERT(run->read != NULL);
    AT_TRY(at_read_step(run->read, &sink, bytes_max, &done, reterr));
    run->used_bytes += bytes_max < UINT64_MAX - run->used_bytes ? bytes_max : 0;
    if (done && !run->ended) {
        while (run->spec.cut_count > run->result.count)
            end_piece(run, run->spec.cuts[run->result.count]);
        end_piece(run, run->range.end);
    }
    if (run->failed != AT_OK) {
        if (reterr != NULL)
            *reterr = run->error;
        return run->failed;
    }
    *ret_done = done || run->ended;
    if (*ret_done)
        at_read_close(&run->read);
    return AT_OK;
}

const struct at_range_digest *at_range_digest_result(const struct at_range_run *run)
{
    AT_ASSERT(run->read == NULL);
    return &run->result;
}

static enum at_code check_cuts(const struct at_range_digest_spec *spec, struct at_error *reterr)
{
    struct at_slice last = spec->range.start;
    struct at_slice end = spec->range.end;

    if (spec->cut_count >= AT_RANGE_PIECES_MAX)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "at most %d cuts", AT_RANGE_PIECES_MAX - 1);
    if (end.len > 0 && at_slice_cmp(last, end) >= 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "the range is empty");
    for (uint32_t i = 0; i < spec->cut_count; i++) {
        if (at_slice_cmp(spec->cuts[i], last) <= 0 ||
            (end.len > 0 && at_slice_cmp(spec->cuts[i], end) >= 0))
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "cuts must ascend and lie inside the range");
        last = spec->cuts[i];
    }
    if (spec->cut_count == 0 &&
        (spec->piece_rows == 0 || spec->pieces_max == 0 || spec->pieces_max > AT_RANGE_PIECES_MAX))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "pieces of at least one row, and from 1 to %d of them", AT_RANGE_PIECES_MAX);
    return AT_OK;
}

static void end_piece(struct at_range_run *run, struct at_slice end)
{
    AT_ASSERT(run->result.count < run->cap);
    run->piece.end = at_arena_copy(&run->arena, end);
    enum at_code code = at_digest_stream_end(&run->stream, run->piece.sum, &run->error);
    if (code != AT_OK)
        run->failed = code;
    run->result.pieces[run->result.count++] = run->piece;
    run->piece = (struct at_range_piece){0};
}

static void on_row(void *ctx, struct at_slice row)
{
    struct at_range_run *run = ctx;
    const struct at_range_digest_spec *spec = &run->spec;

    while (run->result.count < spec->cut_count &&
           at_slice_cmp(spec->cuts[run->result.count], row) <= 0)
        end_piece(run, spec->cuts[run->result.count]);
    bool spent = run->used_bytes >= spec->bytes_max;
    if (!run->ended && spec->cut_count == 0 && run->piece.rows > 0 &&
        (run->piece.rows >= spec->piece_rows || spent)) {
        end_piece(run, row);
        run->ended = spent || run->result.count == spec->pieces_max;
    }
    if (run->ended)
        return;
    run->piece.rows++;
    at_digest_stream_row(&run->stream, row);
}

static void on_cell(void *ctx, const struct at_cell *cell)
{
    struct at_range_run *run = ctx;

    if (run->ended)
        return;
    run->piece.cells++;
    at_digest_stream_cell(&run->stream, cell);
}

static void on_row_end(void *ctx)
{
    struct at_range_run *run = ctx;

    if (!run->ended)
        at_digest_stream_row_end(&run->stream);
}
