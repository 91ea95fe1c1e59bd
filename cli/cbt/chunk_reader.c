/* chunk_reader.c: presence, not emptiness, of family and qualifier decides what a chunk starts. All
 * bytes of a row are copied into the row's arena, since a row may span messages. */
#include "cli/cbt/chunk_reader.h"

#include "base/assert.h"
#include "base/limits.h"

#define ARENA_BYTES (16 * AT_KIB)

typedef Google__Bigtable__V2__ReadRowsResponse__CellChunk cell_chunk;

static void drop_row(struct at_chunk_reader *r);

void at_chunk_reader_init(struct at_chunk_reader *r,
                          bool reversed,
                          void (*on_row)(void *ctx, const struct at_client_row *row),
                          void *ctx)
{
    *r = (struct at_chunk_reader){.on_row = on_row, .ctx = ctx, .reversed = reversed};
    at_buf_init(&r->last_key, AT_ROW_READ_BYTES_MAX);
    at_buf_init(&r->value, AT_ROW_READ_BYTES_MAX);
    at_arena_init(&r->arena, ARENA_BYTES);
}

void at_chunk_reader_deinit(struct at_chunk_reader *r)
{
    at_buf_deinit(&r->last_key);
    at_buf_deinit(&r->value);
    at_arena_deinit(&r->arena);
}

static enum at_code bad(const char *what, struct at_error *reterr)
{
    return at_fail(reterr, AT_INTERNAL, "the answer breaks the chunk protocol: %s", what);
}

/* Checks that `key` lies behind the last one. */
static enum at_code
check_order(const struct at_chunk_reader *r, struct at_slice key, struct at_error *reterr)
{
    int order = r->has_last_key ? at_slice_cmp(key, at_buf_slice(&r->last_key)) : 1;
    if (r->has_last_key && r->reversed)
        order = -order;
    return order > 0 ? AT_OK : bad("row keys are out of order", reterr);
}

static enum at_code
remember_key(struct at_chunk_reader *r, struct at_slice key, struct at_error *reterr)
{
    at_buf_clear(&r->last_key);
    r->has_last_key = true;
    if (at_buf_append(&r->last_key, key) == AT_OK)
        return AT_OK;
    return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "a row key is too large");
}

static enum at_code count_bytes(struct at_chunk_reader *r, size_t bytes, struct at_error *reterr)
{
    if (bytes > AT_ROW_READ_BYTES_MAX - r->row_bytes)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "a row has more than 256 MiB");
    r->row_bytes += bytes;
    return AT_OK;
}

/* Takes row key, family, qualifier and timestamp of a chunk that begins a cell. */
static enum at_code
begin_cell(struct at_chunk_reader *r, const cell_chunk *c, struct at_error *reterr)
{
    struct at_slice key = at_slice_make(c->row_key.data, c->row_key.len);
    if (!r->in_row) {
        if (key.len == 0)
            return bad("a row begins without its key", reterr);
        if (!c->family_name || !c->qualifier)
            return bad("a row begins without family or qualifier", reterr);
        AT_TRY(check_order(r, key, reterr));
        AT_TRY(count_bytes(r, key.len, reterr));
        r->row.key = at_arena_copy(&r->arena, key);
        r->in_row = true;
    } else if (key.len > 0 && !at_slice_eq(key, r->row.key)) {
        return bad("a row begins before the last one was committed", reterr);
    }
    if (c->family_name) {
        if (!c->qualifier)
            return bad("a family comes without a qualifier", reterr);
        struct at_slice family = at_slice_cstr(c->family_name->value);
        if (!at_slice_eq(family, r->cell.family) || !r->cell.family.data) {
            AT_TRY(count_bytes(r, family.len, reterr));
            r->cell.family = at_arena_copy(&r->arena, family);
        }
    }
    if (c->qualifier) {
        AT_TRY(count_bytes(r, c->qualifier->value.len, reterr));
        r->cell.qualifier = at_arena_copy(
            &r->arena, at_slice_make(c->qualifier->value.data, c->qualifier->value.len));
    }
    r->cell.timestamp_micros = c->timestamp_micros;
    return count_bytes(r, sizeof(r->cell), reterr);
}

static void end_cell(struct at_chunk_reader *r, struct at_slice value)
{
    if (r->row.cell_count == r->cell_cap) {
        size_t cap = r->cell_cap ? r->cell_cap * 2 : 16;
        struct at_row_cell *cells = AT_ARENA_ARRAY(&r->arena, struct at_row_cell, cap);
        if (r->row.cell_count > 0)
            memcpy(cells, r->row.cells, r->row.cell_count * sizeof(*cells));
        r->row.cells = cells;
        r->cell_cap = cap;
    }
    r->cell.value = at_arena_copy(&r->arena, value);
    r->row.cells[r->row.cell_count++] = r->cell;
    r->in_cell = false;
}

/* Takes the value of a chunk: all of it, or one part. */
static enum at_code
take_value(struct at_chunk_reader *r, const cell_chunk *c, struct at_error *reterr)
{
    struct at_slice part = at_slice_make(c->value.data, c->value.len);
    AT_TRY(count_bytes(r, part.len, reterr));
    if (!r->in_cell && c->value_size == 0) {
        end_cell(r, part);
        return AT_OK;
    }
    if (c->value_size > 0 &&
        c->row_status_case ==
            GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_COMMIT_ROW &&
        c->commit_row)
        return bad("a row is committed within a value", reterr);
    if (!r->in_cell) {
        r->in_cell = true;
        r->value_bytes = (size_t)c->value_size;
        at_buf_clear(&r->value);
    } else if (c->value_size > 0 && (size_t)c->value_size != r->value_bytes) {
        return bad("the size of a value changes between its parts", reterr);
    }
    if (part.len == 0)
        return bad("a part of a value is empty", reterr);
    if (part.len > r->value_bytes - r->value.len)
        return bad("a value is larger than announced", reterr);
    if (at_buf_append(&r->value, part) != AT_OK)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "a value is too large");
    if (c->value_size > 0)
        return r->value.len < r->value_bytes ? AT_OK
                                             : bad("the last part of a value has a size", reterr);
    if (r->value.len != r->value_bytes)
        return bad("a value is smaller than announced", reterr);
    end_cell(r, at_buf_slice(&r->value));
    return AT_OK;
}

static enum at_code
take_reset(struct at_chunk_reader *r, const cell_chunk *c, struct at_error *reterr)
{
    if (!r->in_row)
        return bad("a row is reset before it began", reterr);
    if (c->row_key.len > 0 || c->family_name || c->qualifier || c->timestamp_micros != 0 ||
        c->n_labels > 0 || c->value.len > 0 || c->value_size != 0)
        return bad("a reset comes with other fields", reterr);
    drop_row(r);
    return AT_OK;
}

static enum at_code
take_chunk(struct at_chunk_reader *r, const cell_chunk *c, struct at_error *reterr)
{
    bool reset = c->row_status_case ==
                     GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_RESET_ROW &&
                 c->reset_row;
    bool commit = c->row_status_case ==
                      GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_COMMIT_ROW &&
                  c->commit_row;
    if (reset)
        return take_reset(r, c, reterr);
    if (c->value_size < 0)
        return bad("the size of a value is negative", reterr);
    if (!r->in_cell)
        AT_TRY(begin_cell(r, c, reterr));
    else if (c->row_key.len > 0 || c->family_name || c->qualifier || c->timestamp_micros != 0 ||
             c->n_labels > 0)
        return bad("a further part of a value comes with other fields", reterr);
    AT_TRY(take_value(r, c, reterr));
    if (!commit)
        return AT_OK;
    AT_ASSERT(!r->in_cell);
    AT_TRY(remember_key(r, r->row.key, reterr));
    r->on_row(r->ctx, &r->row);
    drop_row(r);
    return AT_OK;
}

static void drop_row(struct at_chunk_reader *r)
{
    r->in_row = false;
    r->in_cell = false;
    r->row = (struct at_client_row){0};
    r->cell = (struct at_row_cell){0};
    r->cell_cap = 0;
    r->row_bytes = 0;
    at_arena_reset(&r->arena);
}

enum at_code at_chunk_reader_take(struct at_chunk_reader *r,
                                  const Google__Bigtable__V2__ReadRowsResponse *response,
                                  struct at_error *reterr)
{
    for (size_t i = 0; i < response->n_chunks; i++)
        AT_TRY(take_chunk(r, response->chunks[i], reterr));
    struct at_slice scanned =
        at_slice_make(response->last_scanned_row_key.data, response->last_scanned_row_key.len);
    if (scanned.len == 0)
        return AT_OK;
    if (r->in_row)
        return bad("a scanned row is told within a row", reterr);
    AT_TRY(check_order(r, scanned, reterr));
    return remember_key(r, scanned, reterr);
}

enum at_code at_chunk_reader_end(const struct at_chunk_reader *r, struct at_error *reterr)
{
    return r->in_row ? bad("the answer ends within a row", reterr) : AT_OK;
}

void at_chunk_reader_restart(struct at_chunk_reader *r)
{
    drop_row(r);
}
