#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/tablet/digest_stream.h"
#include "cluster/tablet/read.h"
#include "cluster/tablet/store.h"

/* One table after the other is read into one stream. */

struct at_digest_run {
    struct at_store *store;
    int64_t now_micros;
    struct at_schema *schema; /* names the tables; the rows are of newer ones */
    uint32_t next;            /* table index */
    uint32_t end;
    struct at_read *read; /* of table next - 1 */
    struct at_row_set rows;
    struct at_row_range all;
    struct at_digest digest;
    struct at_digest_stream stream;
};

static enum at_code begin_table(struct at_digest_run *run, struct at_error *reterr);
static void on_row(void *ctx, struct at_slice row);
static void on_cell(void *ctx, const struct at_cell *cell);
static void on_row_end(void *ctx);

enum at_code at_digest_open(struct at_store *store,
                            struct at_slice table,
                            int64_t now_micros,
                            struct at_digest_run **ret_run,
                            struct at_error *reterr)
{
    struct at_schema *schema = at_store_schema(store);
    uint32_t count = at_catalog_table_count(schema->catalog);
    uint32_t first = 0;

    *ret_run = NULL;
    if (table.len > 0) {
        while (first < count &&
               !at_slice_eq(at_catalog_table_at(schema->catalog, first)->name, table))
            first++;
        if (first == count) {
            at_schema_unref(&schema);
            return at_fail(reterr, AT_NOT_FOUND, "Table not found: %.*s", AT_SLICE_ARG(table));
        }
        count = first + 1;
    }
    struct at_digest_run *run = AT_NEW(struct at_digest_run);
    run->store = store;
    run->now_micros = now_micros;
    run->schema = schema;
    run->next = first;
    run->end = count;
    run->rows = (struct at_row_set){.ranges = &run->all, .count = 1, .cap = 1};
    at_digest_stream_init(&run->stream);
    *ret_run = run;
    return AT_OK;
}

enum at_code at_digest_step(struct at_digest_run *run,
                            size_t bytes_max,
                            bool *ret_done,
                            struct at_digest *ret_digest,
                            struct at_error *reterr)
{
    const struct at_read_sink sink = {
        .ctx = run, .row = on_row, .cell = on_cell, .row_end = on_row_end};
    bool table_done = false;

    *ret_done = false;
    if (run->read == NULL && run->next < run->end)
        AT_TRY(begin_table(run, reterr));
    if (run->read != NULL) {
        AT_TRY(at_read_step(run->read, &sink, bytes_max, &table_done, reterr));
        if (table_done)
            at_read_close(&run->read);
    }
    if (run->read == NULL && run->next == run->end) {
        AT_TRY(at_digest_stream_end(&run->stream, run->digest.bytes, reterr));
        *ret_digest = run->digest;
        *ret_done = true;
    }
    return AT_OK;
}

void at_digest_close(struct at_digest_run **run)
{
    struct at_digest_run *r = *run;

    *run = NULL;
    if (r == NULL)
        return;
    at_read_close(&r->read);
    at_schema_unref(&r->schema);
    at_digest_stream_deinit(&r->stream);
    at_free(r);
}

/* The table's own records first. */
static enum at_code begin_table(struct at_digest_run *run, struct at_error *reterr)
{
    const struct at_table *table = at_catalog_table_at(run->schema->catalog, run->next++);
    struct at_read_spec spec = {
        .table = table->name,
        .rows = &run->rows,
        .gc_micros = run->now_micros,
        .large_rows = true,
    };

    at_digest_stream_table(&run->stream, table);
    /* Deleted since the run began: then it has no rows. */
    enum at_code code = at_read_open(run->store, &spec, &run->read, reterr);
    return code == AT_NOT_FOUND ? AT_OK : code;
}

static void on_row(void *ctx, struct at_slice row)
{
    struct at_digest_run *run = ctx;

    run->digest.rows++;
    at_digest_stream_row(&run->stream, row);
}

static void on_cell(void *ctx, const struct at_cell *cell)
{
    struct at_digest_run *run = ctx;

    run->digest.cells++;
    at_digest_stream_cell(&run->stream, cell);
}

static void on_row_end(void *ctx)
{
    struct at_digest_run *run = ctx;

    at_digest_stream_row_end(&run->stream);
}
