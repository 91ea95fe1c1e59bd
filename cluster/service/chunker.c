#include "cluster/service/chunker.h"

#include "base/assert.h"
#include "base/pbwire.h"

/* google.bigtable.v2.ReadRowsResponse, written by hand: the size of a chunk is computed first, then
 * its bytes are put one after the other into room that was reserved once. Chunk lengths are patched
 * when commit_row is added, which moves the chunk by a byte when its length then takes one more. */

enum {
    RESPONSE_CHUNKS = 1,
    RESPONSE_LAST_SCANNED_ROW_KEY = 2,
};

enum {
    CHUNK_ROW_KEY = 1,
    CHUNK_FAMILY_NAME = 2,
    CHUNK_QUALIFIER = 3,
    CHUNK_TIMESTAMP_MICROS = 4,
    CHUNK_LABELS = 5,
    CHUNK_VALUE = 6,
    CHUNK_VALUE_SIZE = 7,
    CHUNK_COMMIT_ROW = 9,
};

#define WRAPPER_VALUE 1
#define HEAD_BYTES_MAX 11 /* tag and length of a chunk */
#define COMMIT_BYTES 3    /* commit_row, and a byte more of length */
#define TAG(field, type) ((uint8_t)((field) << 3 | (type)))

/* What one chunk says. */
struct chunk {
    bool has_row;
    bool has_family;
    bool has_qualifier;
    bool has_cell; /* timestamp and labels: the first chunk of a cell */
    const struct at_cell *cell;
    struct at_slice part;
    size_t value_size;
};

static void put_chunk(struct at_chunker *c, const struct chunk *k);

static void kept_init(struct at_kept_bytes *k)
{
    at_buf_init(&k->large, AT_QUALIFIER_BYTES_MAX);
    k->len = 0;
}

static struct at_slice kept_get(const struct at_kept_bytes *k)
{
    return at_slice_make(k->len <= sizeof(k->small) ? k->small : k->large.data, k->len);
}

static enum at_code kept_set(struct at_kept_bytes *k, struct at_slice bytes)
{
    k->len = 0;
    if (bytes.len > sizeof(k->small)) {
        at_buf_clear(&k->large);
        AT_TRY(at_buf_append(&k->large, bytes));
    } else if (bytes.len > 0) {
        memcpy(k->small, bytes.data, bytes.len);
    }
    k->len = bytes.len;
    return AT_OK;
}

void at_chunker_init(struct at_chunker *c, struct at_chunker_port port)
{
    c->port = port;
    c->state = AT_CHUNKER_BETWEEN;
    c->out = NULL;
    c->message_start = 0;
    c->chunk_len_at = 0;
    c->chunk_at = 0;
    c->row_count = 0;
    c->code = AT_OK;
    kept_init(&c->row);
    kept_init(&c->family);
    kept_init(&c->qualifier);
}

void at_chunker_deinit(struct at_chunker *c)
{
    at_buf_deinit(&c->row.large);
    at_buf_deinit(&c->family.large);
    at_buf_deinit(&c->qualifier.large);
}

static void note(struct at_chunker *c, enum at_code code)
{
    if (c->code == AT_OK)
        c->code = code;
}

static void close_message(struct at_chunker *c)
{
    if (!c->out)
        return;
    c->out = NULL;
    c->port.commit(c->port.ctx);
}

void at_chunker_row(struct at_chunker *c, struct at_slice row)
{
    AT_ASSERT(c->state == AT_CHUNKER_BETWEEN);
    note(c, kept_set(&c->row, row));
    c->state = AT_CHUNKER_ROW;
}

void at_chunker_cell(struct at_chunker *c, const struct at_cell *cell)
{
    struct chunk k = {.cell = cell, .has_cell = true};
    struct at_slice rest = cell->value;

    AT_ASSERT(c->state != AT_CHUNKER_BETWEEN);
    k.has_row = c->state == AT_CHUNKER_ROW;
    k.has_family = k.has_row || !at_slice_eq(kept_get(&c->family), cell->family);
    k.has_qualifier = k.has_family || !at_slice_eq(kept_get(&c->qualifier), cell->qualifier);
    if (k.has_family)
        note(c, kept_set(&c->family, cell->family));
    if (k.has_qualifier)
        note(c, kept_set(&c->qualifier, cell->qualifier));
    c->state = AT_CHUNKER_CELLS;
    while (rest.len > AT_CHUNK_VALUE_BYTES_MAX) {
        k.part = at_slice_make(rest.data, AT_CHUNK_VALUE_BYTES_MAX);
        k.value_size = cell->value.len;
        put_chunk(c, &k);
        k = (struct chunk){.cell = cell};
        rest = at_slice_from(rest, AT_CHUNK_VALUE_BYTES_MAX);
    }
    k.part = rest;
    k.value_size = 0;
    put_chunk(c, &k);
}

void at_chunker_row_end(struct at_chunker *c)
{
    AT_ASSERT(c->state != AT_CHUNKER_BETWEEN);
    enum at_chunker_state state = c->state;
    c->state = AT_CHUNKER_BETWEEN;
    if (state == AT_CHUNKER_ROW || c->code != AT_OK)
        return;
    AT_ASSERT(c->out != NULL);
    size_t len = c->out->len - c->chunk_at;
    size_t shift = at_pb_varint_size(len + 2) - at_pb_varint_size(len);
    /* put_chunk has reserved the room */
    if (shift > 0)
        memmove(c->out->data + c->chunk_at + shift, c->out->data + c->chunk_at, len);
    c->chunk_at += shift;
    uint8_t *end = c->out->data + c->chunk_at + len;
    end[0] = TAG(CHUNK_COMMIT_ROW, AT_PB_VARINT);
    end[1] = 1;
    c->out->len += shift + 2;
    at_pb_write_varint(c->out->data + c->chunk_len_at, len + 2);
    c->row_count++;
}

void at_chunker_flush(struct at_chunker *c)
{
    if (c->state == AT_CHUNKER_BETWEEN)
        close_message(c);
}

void at_chunker_end(struct at_chunker *c)
{
    close_message(c);
}

void at_chunker_last_scanned(struct at_chunker *c, struct at_slice row)
{
    AT_ASSERT(c->state == AT_CHUNKER_BETWEEN);
    if (c->code != AT_OK)
        return;
    close_message(c);
    c->out = c->port.begin(c->port.ctx);
    note(c, at_pb_put_bytes(c->out, RESPONSE_LAST_SCANNED_ROW_KEY, row));
    close_message(c);
}

static size_t bytes_size(size_t len)
{
    return 1 + at_pb_varint_size(len) + len;
}

/* A StringValue or BytesValue holding `len` bytes: the presence of the wrapper is what counts. */
static size_t wrapped_size(size_t len)
{
    return bytes_size(len > 0 ? bytes_size(len) : 0);
}

static uint8_t *write_head(uint8_t *p, uint32_t field, size_t len)
{
    *p++ = TAG(field, AT_PB_BYTES);
    return at_pb_write_varint(p, len);
}

static uint8_t *write_bytes(uint8_t *p, uint32_t field, struct at_slice s)
{
    p = write_head(p, field, s.len);
    if (s.len > 0)
        memcpy(p, s.data, s.len);
    return p + s.len;
}

static uint8_t *write_wrapped(uint8_t *p, uint32_t field, struct at_slice s)
{
    p = write_head(p, field, s.len > 0 ? bytes_size(s.len) : 0);
    return s.len > 0 ? write_bytes(p, WRAPPER_VALUE, s) : p;
}

static size_t chunk_size(const struct at_chunker *c, const struct chunk *k)
{
    size_t size = 0;

    if (k->has_row)
        size += bytes_size(c->row.len);
    if (k->has_family)
        size += wrapped_size(k->cell->family.len);
    if (k->has_qualifier)
        size += wrapped_size(k->cell->qualifier.len);
    if (k->has_cell && k->cell->timestamp_micros != 0)
        size += 1 + at_pb_varint_size((uint64_t)k->cell->timestamp_micros);
    if (k->has_cell && k->cell->label.data)
        size += bytes_size(k->cell->label.len);
    if (k->part.len > 0)
        size += bytes_size(k->part.len);
    if (k->value_size > 0)
        size += 1 + at_pb_varint_size(k->value_size);
    return size;
}

static uint8_t *write_chunk(uint8_t *p, const struct at_chunker *c, const struct chunk *k)
{
    if (k->has_row)
        p = write_bytes(p, CHUNK_ROW_KEY, kept_get(&c->row));
    if (k->has_family)
        p = write_wrapped(p, CHUNK_FAMILY_NAME, k->cell->family);
    if (k->has_qualifier)
        p = write_wrapped(p, CHUNK_QUALIFIER, k->cell->qualifier);
    if (k->has_cell && k->cell->timestamp_micros != 0) {
        *p++ = TAG(CHUNK_TIMESTAMP_MICROS, AT_PB_VARINT);
        p = at_pb_write_varint(p, (uint64_t)k->cell->timestamp_micros);
    }
    if (k->has_cell && k->cell->label.data)
        p = write_bytes(p, CHUNK_LABELS, k->cell->label);
    if (k->part.len > 0)
        p = write_bytes(p, CHUNK_VALUE, k->part);
    if (k->value_size > 0) {
        *p++ = TAG(CHUNK_VALUE_SIZE, AT_PB_VARINT);
        p = at_pb_write_varint(p, k->value_size);
    }
    return p;
}

static void put_chunk(struct at_chunker *c, const struct chunk *k)
{
    if (c->code != AT_OK)
        return;
    if (c->out && c->out->len - c->message_start >= AT_CHUNKER_MESSAGE_BYTES)
        close_message(c);
    if (!c->out) {
        c->out = c->port.begin(c->port.ctx);
        c->message_start = c->out->len;
    }
    size_t size = chunk_size(c, k);
    note(c, at_buf_reserve(c->out, HEAD_BYTES_MAX + size + COMMIT_BYTES));
    if (c->code != AT_OK)
        return;
    uint8_t *start = c->out->data + c->out->len;
    uint8_t *p = write_head(start, RESPONSE_CHUNKS, size);
    c->chunk_len_at = c->out->len + 1;
    c->chunk_at = c->out->len + (size_t)(p - start);
    uint8_t *end = write_chunk(p, c, k);
    AT_ASSERT(end == p + size);
    c->out->len += (size_t)(end - start);
}
