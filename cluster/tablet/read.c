#include "cluster/tablet/read.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/escape.h"
#include "cluster/tablet/row_cursor.h"
#include "cluster/tablet/store.h"

/* A read is a row cursor whose cells go through the filter into the sink.
 *
 * One iterator is consistent by itself, so a read that needs only one does without a snapshot. It
 * must then find the same schema after opening the iterator as before (snapshot first, schema
 * second: see schema.h); when it does not, it opens again, with a snapshot. The same holds for
 * floors with any number of iterators: compactions go by the newest ones and do not look at
 * snapshots, so the floors must still be the same once all iterators are open. What an open
 * iterator sees stays on disk.
 *
 * Between rows the cursor may be made anew behind the last row: after SNAPSHOT_NS_MAX, so that no
 * snapshot holds back compaction for the length of a slow scan, and once when the read turns out
 * to be a long one, as iterators that prefetch are dear to open. A table that was deleted meanwhile
 * is NOT_FOUND then; one made anew is read on from the same row, as a client that resumes would.
 *
 * rows_seen counts rows with a visible cell: the filter does not hear of others. */

#define SNAPSHOT_NS_MAX (5 * AT_S_NS)
#define LONG_READ_BYTES (1 * AT_MIB)
/* What an output cell counts for beyond its bytes. */
#define CELL_PRICE_BYTES 16

struct at_read {
    struct at_store *store;
    struct at_read_spec spec;
    struct at_row_cursor *cursor;
    struct at_snapshot *snapshot; /* NULL when one iterator does */
    struct at_schema *schema;
    struct at_filter_run *run;       /* NULL: no filter */
    const struct at_read_sink *sink; /* during a step */
    struct at_read_stats stats;
    struct at_buf last_scanned;
    struct at_row_range only; /* the one row that the filter can pass */
    struct at_row_set only_rows;
    uint64_t opened_ns;
    uint64_t output_bytes; /* of this step */
    uint64_t row_bytes;    /* output of the current row */
    bool in_row;
    bool row_seen;  /* a visible cell came */
    bool row_open;  /* the sink heard of the row */
    bool row_large; /* its output passed AT_ROW_READ_BYTES_MAX */
    bool long_read; /* the cursor was opened as one */
    bool done;
    char table[AT_KEPT_NAME_BYTES_MAX];
};

static void narrow_to_row(struct at_read *read);
static enum at_code open_cursor(struct at_read *read, struct at_error *reterr);
static enum at_code
open_cursor_at(struct at_read *read, bool with_snapshot, bool *ret_stale, struct at_error *reterr);
static void close_cursor(struct at_read *read);
static enum at_code
find_table(struct at_read *read, const struct at_table **ret_table, struct at_error *reterr);
static enum at_code renew_when_due(struct at_read *read, struct at_error *reterr);
static void take_cell(struct at_read *read);
static void emit(void *ctx, const struct at_cell *cell);
static enum at_code end_row(struct at_read *read, struct at_error *reterr);
static enum at_code fail_large(const struct at_read *read, struct at_error *reterr);
static enum at_code no_table(const struct at_read_spec *spec, struct at_error *reterr);

enum at_code at_read_open(struct at_store *store,
                          const struct at_read_spec *spec,
                          struct at_read **ret_read,
                          struct at_error *reterr)
{
    *ret_read = NULL;
    if (spec->table.len == 0 || spec->table.len > AT_KEPT_NAME_BYTES_MAX)
        return no_table(spec, reterr);

    struct at_read *read = AT_NEW(struct at_read);
    read->store = store;
    read->spec = *spec;
    memcpy(read->table, spec->table.data, spec->table.len);
    read->spec.table.data = (const uint8_t *)read->table;
    at_buf_init(&read->last_scanned, AT_ROW_KEY_BYTES_MAX);
    narrow_to_row(read);
    if (spec->gc_micros == 0)
        read->spec.gc_micros = at_store_strict_micros(store);
    enum at_code code = open_cursor(read, reterr);
    if (code != AT_OK) {
        at_read_close(&read);
        return code;
    }
    if (spec->filter != NULL)
        read->run = at_filter_run_new(spec->filter, spec->seed);
    *ret_read = read;
    return AT_OK;
}

void at_read_close(struct at_read **read)
{
    struct at_read *r = *read;

    *read = NULL;
    if (r == NULL)
        return;
    close_cursor(r);
    at_filter_run_free(&r->run);
    at_buf_deinit(&r->last_scanned);
    at_free(r);
}

enum at_code at_read_step(struct at_read *read,
                          const struct at_read_sink *sink,
                          size_t bytes_max,
                          bool *ret_done,
                          struct at_error *reterr)
{
    enum at_cursor_event event = AT_CURSOR_END;

    AT_ASSERT(read != NULL);
    AT_ASSERT(sink != NULL);
    *ret_done = read->done;
    if (read->done)
        return AT_OK;
    AT_TRY(renew_when_due(read, reterr));
    AT_ASSERT(read->cursor != NULL);
    read->sink = sink;
    read->output_bytes = 0;
    at_row_cursor_allow(read->cursor, bytes_max);
    do {
        AT_TRY(at_row_cursor_step(read->cursor, &event, reterr));
        switch (event) {
        case AT_CURSOR_ROW:
            read->in_row = true;
            break;
        case AT_CURSOR_CELL:
            take_cell(read);
            break;
        case AT_CURSOR_ROW_END:
            AT_TRY(end_row(read, reterr));
            break;
        case AT_CURSOR_END:
            read->done = true;
            break;
        case AT_CURSOR_PAUSE:
            break;
        }
        if (read->row_large)
            return fail_large(read, reterr);
    } while (!read->done && event != AT_CURSOR_PAUSE && read->output_bytes < bytes_max &&
             !at_row_cursor_exhausted(read->cursor));
    if (read->done)
        close_cursor(read);
    *ret_done = read->done;
    return AT_OK;
}

struct at_slice at_read_large_row(const struct at_read *read)
{
    return read->row_large ? at_row_cursor_row(read->cursor) : at_slice_make(NULL, 0);
}

struct at_slice at_read_last_scanned(const struct at_read *read)
{
    return at_buf_slice(&read->last_scanned);
}

const struct at_read_stats *at_read_stats(const struct at_read *read)
{
    return &read->stats;
}

enum at_code at_read_row(struct at_store *store,
                         struct at_slice table,
                         struct at_slice row,
                         const struct at_filter *filter,
                         const struct at_read_sink *sink,
                         struct at_error *reterr)
{
    struct at_row_range range = {.start = row, .end = row, .point = true};
    struct at_row_set rows = {.ranges = &range, .count = 1, .cap = 1};
    struct at_read_spec spec = {.table = table, .rows = &rows, .filter = filter};
    struct at_read *read = NULL;
    bool done = false;

    AT_TRY(at_read_open(store, &spec, &read, reterr));
    enum at_code code = AT_OK;
    while (code == AT_OK && !done)
        code = at_read_step(read, sink, SIZE_MAX, &done, reterr);
    at_read_close(&read);
    return code;
}

/* A filter that asks for one row by its key makes a scan a look-up. */
static void narrow_to_row(struct at_read *read)
{
    struct at_slice row;

    if (read->spec.filter == NULL || !at_filter_row_literal(read->spec.filter, &row))
        return;
    read->only = (struct at_row_range){.start = row, .end = row, .point = true};
    read->only_rows.ranges = &read->only;
    read->only_rows.count = at_row_set_contains(read->spec.rows, row) ? 1 : 0;
    read->spec.rows = &read->only_rows;
}

/* --- the cursor --- */

static enum at_code open_cursor(struct at_read *read, struct at_error *reterr)
{
    bool stale = false;

    read->opened_ns = 0;
    AT_TRY(open_cursor_at(read, false, &stale, reterr));
    while (stale) {
        close_cursor(read);
        AT_TRY(open_cursor_at(read, true, &stale, reterr));
    }
    return AT_OK;
}

/* *ret_stale tells that the schema changed too much while the iterators were opened. */
static enum at_code
open_cursor_at(struct at_read *read, bool with_snapshot, bool *ret_stale, struct at_error *reterr)
{
    const struct at_table *table = NULL;
    struct at_engine *engine = at_store_engine(read->store);
    const struct at_filter *filter = read->spec.filter;

    *ret_stale = false;
    AT_TRY(find_table(read, &table, reterr));
    if (with_snapshot || at_row_cursor_sources(read->schema, table, filter) > 1) {
        uint64_t before = read->schema->floors_version;
        read->snapshot = at_snapshot_open(engine);
        AT_TRY(find_table(read, &table, reterr));
        *ret_stale = read->schema->floors_version != before; /* as at_store_look */
    }
    struct at_row_cursor_spec spec = {
        .engine = engine,
        .snapshot = read->snapshot,
        .schema = read->schema,
        .table = table,
        .rows = read->spec.rows,
        .filter = filter,
        .after = at_buf_slice(&read->last_scanned),
        .gc_micros = read->spec.gc_micros,
        .reversed = read->spec.reversed,
        .scan = read->long_read,
    };
    AT_TRY(at_row_cursor_open(&spec, &read->cursor, reterr));
    struct at_schema *newest = at_store_schema(read->store);
    *ret_stale = *ret_stale || newest->floors_version != read->schema->floors_version ||
                 (read->snapshot == NULL && newest->version != read->schema->version);
    at_schema_unref(&newest);
    return AT_OK;
}

static void close_cursor(struct at_read *read)
{
    at_row_cursor_close(&read->cursor);
    if (read->snapshot != NULL)
        at_snapshot_close(&read->snapshot);
    at_schema_unref(&read->schema);
}

/* Takes the newest schema, and the table in it. */
static enum at_code
find_table(struct at_read *read, const struct at_table **ret_table, struct at_error *reterr)
{
    at_schema_unref(&read->schema);
    read->schema = at_store_schema(read->store);
    *ret_table = at_catalog_table(read->schema->catalog, read->spec.table);
    if (*ret_table != NULL)
        return AT_OK;
    return no_table(&read->spec, reterr);
}

static struct at_slice name_of(const struct at_read_spec *spec)
{
    return spec->full_name.len > 0 ? spec->full_name : spec->table;
}

static enum at_code no_table(const struct at_read_spec *spec, struct at_error *reterr)
{
    return at_fail(reterr, AT_NOT_FOUND, "Table not found: %.*s", AT_SLICE_ARG(name_of(spec)));
}

/* The clock is read once per step; the first step starts the count. */
static enum at_code renew_when_due(struct at_read *read, struct at_error *reterr)
{
    struct at_clock clock = at_clock_system();
    uint64_t now_ns = at_clock_mono_ns(&clock);

    if (read->opened_ns == 0)
        read->opened_ns = now_ns;
    if (read->in_row)
        return AT_OK;
    bool turned_long =
        !read->long_read && at_row_cursor_passed_bytes(read->cursor) >= LONG_READ_BYTES;
    if (!turned_long && now_ns - read->opened_ns < SNAPSHOT_NS_MAX)
        return AT_OK;
    if (turned_long)
        read->long_read = true;
    close_cursor(read);
    return open_cursor(read, reterr);
}

/* --- output --- */

static void take_cell(struct at_read *read)
{
    const struct at_cell *cell = at_row_cursor_cell(read->cursor);
    enum at_filter_next next = AT_FILTER_NEXT_CELL;

    if (!read->row_seen) {
        read->row_seen = true;
        read->stats.rows_seen++;
        if (read->run != NULL)
            next = at_filter_run_begin(read->run, at_row_cursor_row(read->cursor));
    }
    if (next == AT_FILTER_NEXT_CELL) {
        read->stats.cells_seen++;
        if (read->run != NULL)
            next = at_filter_run_push(read->run, cell, emit, read);
        else
            emit(read, cell);
    }
    if (next == AT_FILTER_SKIP_ROW)
        at_row_cursor_skip_row(read->cursor);
    else if (next == AT_FILTER_SKIP_COLUMN)
        at_row_cursor_skip_column(read->cursor);
}

static void emit(void *ctx, const struct at_cell *cell)
{
    struct at_read *read = ctx;
    uint64_t bytes = cell->qualifier.len + cell->value.len + CELL_PRICE_BYTES;

    read->row_bytes += bytes;
    if (read->row_bytes > AT_ROW_READ_BYTES_MAX && !read->spec.large_rows)
        read->row_large = true;
    if (read->row_large)
        return;
    read->output_bytes += bytes;
    read->stats.cells_returned++;
    if (!read->row_open) {
        read->row_open = true;
        read->sink->row(read->sink->ctx, at_row_cursor_row(read->cursor));
    }
    read->sink->cell(read->sink->ctx, cell);
}

static enum at_code end_row(struct at_read *read, struct at_error *reterr)
{
    if (read->row_seen && read->run != NULL) {
        at_filter_run_end(read->run, emit, read);
        AT_TRY(at_filter_run_code(read->run, reterr));
    }
    if (read->row_large)
        return AT_OK;
    if (read->row_open) {
        read->sink->row_end(read->sink->ctx);
        read->stats.rows_returned++;
    }
    read->in_row = read->row_seen = read->row_open = false;
    read->row_bytes = 0;
    if (read->spec.rows_limit > 0 && read->stats.rows_returned >= read->spec.rows_limit)
        read->done = true;
    at_buf_clear(&read->last_scanned);
    return at_buf_append(&read->last_scanned, at_row_cursor_row(read->cursor));
}

static enum at_code fail_large(const struct at_read *read, struct at_error *reterr)
{
    struct at_buf name AT_CLEANUP(at_buf_deinit) = {0};

    /* A key too long for the message is left out of it. */
    at_buf_init(&name, 64);
    if (at_escape_percent(&name, at_row_cursor_row(read->cursor)) != AT_OK)
        at_buf_clear(&name);
    return at_fail(reterr, AT_FAILED_PRECONDITION,
                   "Error while reading table '%.*s' : Read returned more than %zuMB from row "
                   "'%s' which exceeds the limit. Make use of filters to reduce the row size.",
                   AT_SLICE_ARG(name_of(&read->spec)), AT_ROW_READ_BYTES_MAX / AT_MIB,
                   at_buf_cstr(&name));
}
