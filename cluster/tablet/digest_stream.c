#include "cluster/tablet/digest_stream.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/limits.h"

/* A piece ends behind the first item with which it reaches PIECE_BYTES. */

#define PIECE_BYTES (64 * AT_KIB)
#define VALUE_BYTES_INLINE 4096
#define PIECE_BYTES_MAX (PIECE_BYTES + AT_ROW_KEY_BYTES_MAX + AT_MIB)
#define HASH_SEED 0x61746f6c6c /* "atoll" */

enum item { ITEM_TABLE = 1, ITEM_FAMILY, ITEM_ROW, ITEM_CELL, ITEM_ROW_END };

static void put_number(struct at_digest_stream *s, uint64_t v);
static void put_bytes(struct at_digest_stream *s, struct at_slice bytes);
static void end_item(struct at_digest_stream *s);
static void hash_piece(struct at_digest_stream *s);

void at_digest_stream_init(struct at_digest_stream *s)
{
    *s = (struct at_digest_stream){0};
    at_buf_init(&s->piece, PIECE_BYTES_MAX);
}

void at_digest_stream_deinit(struct at_digest_stream *s)
{
    at_buf_deinit(&s->piece);
}

/* The table's generation is left out: how often a name was made anew does not show. */
void at_digest_stream_table(struct at_digest_stream *s, const struct at_table *table)
{
    struct at_buf fields AT_CLEANUP(at_buf_deinit) = {0};

    at_buf_init(&fields, AT_MIB);
    if (at_table_fields_encode(&table->fields, &fields) != AT_OK)
        s->full = true;
    struct at_hash128 hash = at_hash128(at_buf_slice(&fields), HASH_SEED);
    put_number(s, ITEM_TABLE);
    put_bytes(s, table->name);
    put_number(s, hash.high);
    put_number(s, hash.low);
    end_item(s);
    for (uint32_t i = 0; i < table->family_count; i++) {
        put_number(s, ITEM_FAMILY);
        put_bytes(s, table->families[i].name);
        put_bytes(s, table->families[i].fields);
        end_item(s);
    }
}

void at_digest_stream_row(struct at_digest_stream *s, struct at_slice row)
{
    put_number(s, ITEM_ROW);
    put_bytes(s, row);
    end_item(s);
}

void at_digest_stream_cell(struct at_digest_stream *s, const struct at_cell *cell)
{
    put_number(s, ITEM_CELL);
    put_bytes(s, cell->family);
    put_bytes(s, cell->qualifier);
    put_number(s, (uint64_t)cell->timestamp_micros);
    put_bytes(s, cell->value);
    end_item(s);
}

void at_digest_stream_row_end(struct at_digest_stream *s)
{
    put_number(s, ITEM_ROW_END);
    end_item(s);
}

enum at_code at_digest_stream_end(struct at_digest_stream *s,
                                  uint8_t ret_sum[AT_DIGEST_BYTES],
                                  struct at_error *reterr)
{
    bool full = s->full;

    hash_piece(s);
    memcpy(ret_sum, s->sum, AT_DIGEST_BYTES);
    at_buf_clear(&s->piece);
    s->full = false;
    return full ? at_fail(reterr, AT_RESOURCE_EXHAUSTED, "a digest's buffer is full") : AT_OK;
}

static void put_number(struct at_digest_stream *s, uint64_t v)
{
    uint8_t bytes[8];

    at_put_be64(bytes, v);
    if (at_buf_append(&s->piece, at_slice_make(bytes, sizeof(bytes))) != AT_OK)
        s->full = true;
}

static void put_bytes(struct at_digest_stream *s, struct at_slice bytes)
{
    put_number(s, bytes.len);
    if (bytes.len <= VALUE_BYTES_INLINE) {
        if (at_buf_append(&s->piece, bytes) != AT_OK)
            s->full = true;
        return;
    }
    struct at_hash128 hash = at_hash128(bytes, HASH_SEED);
    put_number(s, hash.high);
    put_number(s, hash.low);
}

static void end_item(struct at_digest_stream *s)
{
    if (s->piece.len >= PIECE_BYTES)
        hash_piece(s);
}

/* Ends the piece; the next one begins with its hash. */
static void hash_piece(struct at_digest_stream *s)
{
    struct at_hash128 hash = at_hash128(at_buf_slice(&s->piece), HASH_SEED);

    at_put_be64(s->sum, hash.high);
    at_put_be64(s->sum + 8, hash.low);
    at_buf_clear(&s->piece);
    if (at_buf_append(&s->piece, at_slice_make(s->sum, sizeof(s->sum))) != AT_OK)
        s->full = true;
}
