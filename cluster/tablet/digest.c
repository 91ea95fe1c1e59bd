#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "cluster/tablet/read.h"
#include "cluster/tablet/store.h"

/* Everything visible is written out as one unambiguous stream of items, each with its lengths, in
 * an order that every cluster shares: tables by name, then families by name, then rows, then cells.
 * The stream is hashed in pieces; each piece begins with the hash of all before it. A piece ends
 * behind the first item with which it reaches PIECE_BYTES, so where pieces end depends on the
 * content alone. A long value enters by its own hash, so that memory stays small. */

#define PIECE_BYTES (64 * AT_KIB)
#define VALUE_BYTES_INLINE 4096
#define PIECE_BYTES_MAX (PIECE_BYTES + AT_ROW_KEY_BYTES_MAX + AT_MIB)
#define HASH_SEED 0x61746f6c6c /* "atoll" */

enum item { ITEM_TABLE = 1, ITEM_FAMILY, ITEM_ROW, ITEM_CELL, ITEM_ROW_END };

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
    struct at_buf piece;
    enum at_code failed; /* what a sink call could not report */
};

static enum at_code begin_table(struct at_digest_run *run, struct at_error *reterr);
static enum at_code put_number(struct at_digest_run *run, uint64_t v);
static enum at_code put_bytes(struct at_digest_run *run, struct at_slice s);
static void end_item(struct at_digest_run *run);
static void hash_piece(struct at_digest_run *run);
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
    at_buf_init(&run->piece, PIECE_BYTES_MAX);
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
        if (run->failed != AT_OK)
            return at_fail(reterr, run->failed, "a digest's buffer is full");
        if (table_done)
            at_read_close(&run->read);
    }
    if (run->read == NULL && run->next == run->end) {
        hash_piece(run);
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
    at_buf_deinit(&r->piece);
    at_free(r);
}

/* The table's own records first. Its generation is left out: how often a name was made anew does
 * not show. */
static enum at_code begin_table(struct at_digest_run *run, struct at_error *reterr)
{
    const struct at_table *table = at_catalog_table_at(run->schema->catalog, run->next++);
    struct at_read_spec spec = {
        .table = table->name,
        .rows = &run->rows,
        .gc_micros = run->now_micros,
        .large_rows = true,
    };
    struct at_buf fields AT_CLEANUP(at_buf_deinit) = {0};

    at_buf_init(&fields, AT_MIB);
    if (at_table_fields_encode(&table->fields, &fields) != AT_OK)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "the fields of a table are too long");
    struct at_hash128 fields_hash = at_hash128(at_buf_slice(&fields), HASH_SEED);
    AT_TRY(put_number(run, ITEM_TABLE));
    AT_TRY(put_bytes(run, table->name));
    AT_TRY(put_number(run, fields_hash.high));
    AT_TRY(put_number(run, fields_hash.low));
    end_item(run);
    for (uint32_t i = 0; i < table->family_count; i++) {
        AT_TRY(put_number(run, ITEM_FAMILY));
        AT_TRY(put_bytes(run, table->families[i].name));
        AT_TRY(put_bytes(run, table->families[i].fields));
        end_item(run);
    }
    /* Deleted since the run began: then it has no rows. */
    enum at_code code = at_read_open(run->store, &spec, &run->read, reterr);
    return code == AT_NOT_FOUND ? AT_OK : code;
}

static void on_row(void *ctx, struct at_slice row)
{
    struct at_digest_run *run = ctx;

    run->digest.rows++;
    if (put_number(run, ITEM_ROW) != AT_OK || put_bytes(run, row) != AT_OK)
        run->failed = AT_RESOURCE_EXHAUSTED;
    end_item(run);
}

static void on_cell(void *ctx, const struct at_cell *cell)
{
    struct at_digest_run *run = ctx;

    run->digest.cells++;
    if (put_number(run, ITEM_CELL) != AT_OK || put_bytes(run, cell->family) != AT_OK ||
        put_bytes(run, cell->qualifier) != AT_OK ||
        put_number(run, (uint64_t)cell->timestamp_micros) != AT_OK ||
        put_bytes(run, cell->value) != AT_OK)
        run->failed = AT_RESOURCE_EXHAUSTED;
    end_item(run);
}

static void on_row_end(void *ctx)
{
    struct at_digest_run *run = ctx;

    if (put_number(run, ITEM_ROW_END) != AT_OK)
        run->failed = AT_RESOURCE_EXHAUSTED;
    end_item(run);
}

/* --- the stream --- */

static enum at_code put_number(struct at_digest_run *run, uint64_t v)
{
    uint8_t bytes[8];

    at_put_be64(bytes, v);
    return at_buf_append(&run->piece, at_slice_make(bytes, sizeof(bytes)));
}

static enum at_code put_bytes(struct at_digest_run *run, struct at_slice s)
{
    AT_TRY(put_number(run, s.len));
    if (s.len <= VALUE_BYTES_INLINE)
        return at_buf_append(&run->piece, s);
    struct at_hash128 hash = at_hash128(s, HASH_SEED);
    AT_TRY(put_number(run, hash.high));
    return put_number(run, hash.low);
}

static void end_item(struct at_digest_run *run)
{
    if (run->piece.len >= PIECE_BYTES)
        hash_piece(run);
}

/* Ends the piece; the next one begins with its hash. */
static void hash_piece(struct at_digest_run *run)
{
    struct at_hash128 hash = at_hash128(at_buf_slice(&run->piece), HASH_SEED);
    struct at_slice sum = at_slice_make(run->digest.bytes, sizeof(run->digest.bytes));

    at_put_be64(run->digest.bytes, hash.high);
    at_put_be64(run->digest.bytes + 8, hash.low);
    at_buf_clear(&run->piece);
    if (at_buf_append(&run->piece, sum) != AT_OK)
        run->failed = AT_RESOURCE_EXHAUSTED;
}
