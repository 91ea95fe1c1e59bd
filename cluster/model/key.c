#include "cluster/model/key.h"

#include "base/assert.h"
#include "base/bytes.h"

/* A byte 00 inside a row or qualifier is written as 00 FF; 00 followed by anything else ends it.
 * Nearly no key holds a 00, so both directions look for one with memchr first: without one,
 * encoding is one memcpy and decoding borrows. at_key_encode measures, reserves once and then
 * writes without checks.
 *
 * What follows 00 is the kind: 01 sorts a marker before the 02 and 03 of what it covers, 04 is a
 * seek target behind them, FF is an escape and so a longer row (or qualifier). */

#define END_MARKER 0x01
#define END_CELL 0x02
#define END_PARTIAL 0x03
#define END_AFTER 0x04
#define ESCAPED 0xff
#define END_BYTES 2

#define MARKER_TAIL_BYTES (END_BYTES + AT_KEY_STAMP_BYTES)
#define CELL_TAIL_BYTES (END_BYTES + 8 + AT_KEY_STAMP_BYTES)

static size_t escaped_len(struct at_slice s);
static uint8_t *put_prefix(uint8_t *p, uint32_t table, uint32_t family);
static uint8_t *put_escaped(uint8_t *p, struct at_slice s, size_t len);
static uint8_t *put_end(uint8_t *p, uint8_t kind);
static uint8_t *put_stamp(uint8_t *p, struct at_stamp stamp);
static enum at_code
put_version_end(struct at_buf *out, uint8_t kind, int64_t timestamp_micros, struct at_stamp stamp);
static const uint8_t *find_end(const uint8_t *p, const uint8_t *end, bool *ret_escaped);
static struct at_slice unescape(const uint8_t *p, const uint8_t *end, struct at_buf *scratch);
static enum at_code unescaped(const uint8_t *p,
                              const uint8_t *end,
                              struct at_slice stored,
                              struct at_buf *scratch,
                              struct at_slice *ret_s);
static struct at_stamp get_stamp(const uint8_t *p);

enum at_code at_key_encode(const struct at_key *key, struct at_buf *out)
{
    bool version = key->kind == AT_KEY_CELL || key->kind == AT_KEY_PARTIAL;
    bool column = version || key->kind == AT_KEY_COLUMN_MARKER;
    size_t row_len = escaped_len(key->row);
    size_t qualifier_len = column ? escaped_len(key->qualifier) : 0;

    AT_ASSERT((key->kind == AT_KEY_ROW_MARKER) == (key->family == 0));
    AT_ASSERT(!version || key->timestamp_micros >= 0);
    AT_TRY(at_buf_reserve(out, AT_KEY_PREFIX_BYTES + row_len + END_BYTES + qualifier_len +
                                   CELL_TAIL_BYTES));
    uint8_t *p = out->data + out->len;
    p = put_prefix(p, key->table, key->family);
    p = put_escaped(p, key->row, row_len);
    if (column) {
        p = put_end(p, END_CELL);
        p = put_escaped(p, key->qualifier, qualifier_len);
    }
    if (version) {
        p = put_end(p, key->kind == AT_KEY_CELL ? END_CELL : END_PARTIAL);
        at_put_be64(p, ~(uint64_t)key->timestamp_micros);
        p += 8;
    } else {
        p = put_end(p, END_MARKER);
    }
    p = put_stamp(p, key->stamp);
    out->len = (size_t)(p - out->data);
    return AT_OK;
}

enum at_code
at_key_put_row(struct at_buf *out, uint32_t table, uint32_t family, struct at_slice row)
{
    size_t len = escaped_len(row);

    AT_TRY(at_buf_reserve(out, AT_KEY_PREFIX_BYTES + len));
    put_escaped(put_prefix(out->data + out->len, table, family), row, len);
    out->len += AT_KEY_PREFIX_BYTES + len;
    return AT_OK;
}

enum at_code at_key_put_marker_end(struct at_buf *out, struct at_stamp stamp)
{
    AT_TRY(at_buf_reserve(out, MARKER_TAIL_BYTES));
    put_stamp(put_end(out->data + out->len, END_MARKER), stamp);
    out->len += MARKER_TAIL_BYTES;
    return AT_OK;
}

enum at_code at_key_put_qualifier(struct at_buf *out, struct at_slice qualifier)
{
    size_t len = escaped_len(qualifier);

    AT_TRY(at_buf_reserve(out, END_BYTES + len));
    put_escaped(put_end(out->data + out->len, END_CELL), qualifier, len);
    out->len += END_BYTES + len;
    return AT_OK;
}

enum at_code
at_key_put_cell_end(struct at_buf *out, int64_t timestamp_micros, struct at_stamp stamp)
{
    return put_version_end(out, END_CELL, timestamp_micros, stamp);
}

enum at_code
at_key_put_partial_end(struct at_buf *out, int64_t timestamp_micros, struct at_stamp stamp)
{
    return put_version_end(out, END_PARTIAL, timestamp_micros, stamp);
}

static enum at_code
put_version_end(struct at_buf *out, uint8_t kind, int64_t timestamp_micros, struct at_stamp stamp)
{
    AT_ASSERT(timestamp_micros >= 0);
    AT_TRY(at_buf_reserve(out, CELL_TAIL_BYTES));
    uint8_t *p = put_end(out->data + out->len, kind);
    at_put_be64(p, ~(uint64_t)timestamp_micros);
    put_stamp(p + 8, stamp);
    out->len += CELL_TAIL_BYTES;
    return AT_OK;
}

enum at_code at_key_decode(struct at_slice stored, struct at_buf *scratch, struct at_key *ret_key)
{
    bool escaped = false;

    at_buf_clear(scratch);
    if (stored.len < AT_KEY_PREFIX_BYTES + MARKER_TAIL_BYTES || stored.len > AT_KEY_BYTES_MAX)
        return AT_DATA_LOSS;
    const uint8_t *end = stored.data + stored.len;
    const uint8_t *p = stored.data + AT_KEY_PREFIX_BYTES;
    ret_key->table = at_get_be32(stored.data);
    ret_key->family = at_get_be32(stored.data + 4);

    const uint8_t *row_end = find_end(p, end, &escaped);
    if (row_end == NULL)
        return AT_DATA_LOSS;
    ret_key->row = at_slice_make(p, (size_t)(row_end - p));
    if (escaped)
        AT_TRY(unescaped(p, row_end, stored, scratch, &ret_key->row));

    p = row_end + END_BYTES;
    if (row_end[1] == END_MARKER) {
        if ((size_t)(end - p) != AT_KEY_STAMP_BYTES)
            return AT_DATA_LOSS;
        ret_key->kind = ret_key->family == 0 ? AT_KEY_ROW_MARKER : AT_KEY_FAMILY_MARKER;
        ret_key->qualifier = at_slice_make(NULL, 0);
        ret_key->timestamp_micros = 0;
        ret_key->stamp = get_stamp(p);
        return AT_OK;
    }
    if (row_end[1] != END_CELL || ret_key->family == 0)
        return AT_DATA_LOSS;

    escaped = false;
    const uint8_t *qualifier_end = find_end(p, end, &escaped);
    if (qualifier_end == NULL)
        return AT_DATA_LOSS;
    ret_key->qualifier = at_slice_make(p, (size_t)(qualifier_end - p));
    if (escaped)
        AT_TRY(unescaped(p, qualifier_end, stored, scratch, &ret_key->qualifier));

    size_t tail = (size_t)(end - qualifier_end);
    uint8_t kind = qualifier_end[1];
    if ((kind == END_CELL || kind == END_PARTIAL) && tail == CELL_TAIL_BYTES) {
        ret_key->kind = kind == END_CELL ? AT_KEY_CELL : AT_KEY_PARTIAL;
        ret_key->timestamp_micros = (int64_t)~at_get_be64(qualifier_end + END_BYTES);
        ret_key->stamp = get_stamp(qualifier_end + END_BYTES + 8);
        return ret_key->timestamp_micros >= 0 ? AT_OK : AT_DATA_LOSS;
    }
    if (kind != END_MARKER || tail != MARKER_TAIL_BYTES)
        return AT_DATA_LOSS;
    ret_key->kind = AT_KEY_COLUMN_MARKER;
    ret_key->timestamp_micros = 0;
    ret_key->stamp = get_stamp(qualifier_end + END_BYTES);
    return AT_OK;
}

size_t at_key_row_end(struct at_slice stored)
{
    bool escaped = false;

    if (stored.len < AT_KEY_PREFIX_BYTES + MARKER_TAIL_BYTES)
        return 0;
    const uint8_t *end =
        find_end(stored.data + AT_KEY_PREFIX_BYTES, stored.data + stored.len, &escaped);
    if (end == NULL || (end[1] != END_MARKER && end[1] != END_CELL))
        return 0;
    return (size_t)(end - stored.data);
}

size_t at_key_row_group(struct at_slice key)
{
    if (key.len <= AT_KEY_PREFIX_BYTES)
        return 0;
    const uint8_t *end = key.data + key.len;
    const uint8_t *p = key.data + AT_KEY_PREFIX_BYTES;
    while (p < end) {
        const uint8_t *zero = memchr(p, 0, (size_t)(end - p));
        if (zero == NULL)
            return 0;
        if (zero + 1 == end || zero[1] != ESCAPED)
            return (size_t)(zero - key.data) + 1;
        p = zero + END_BYTES;
    }
    return 0;
}

enum at_code
at_key_seek_row(struct at_buf *out, uint32_t table, uint32_t family, struct at_slice row)
{
    AT_TRY(at_buf_reserve(out, AT_KEY_PREFIX_BYTES + escaped_len(row) + END_BYTES));
    AT_TRY(at_key_put_row(out, table, family, row));
    if (row.len > 0) {
        put_end(out->data + out->len, END_MARKER);
        out->len += END_BYTES;
    }
    return AT_OK;
}

enum at_code
at_key_seek_row_after(struct at_buf *out, uint32_t table, uint32_t family, struct at_slice row)
{
    AT_TRY(at_buf_reserve(out, AT_KEY_PREFIX_BYTES + escaped_len(row) + END_BYTES));
    AT_TRY(at_key_put_row(out, table, family, row));
    put_end(out->data + out->len, END_AFTER);
    out->len += END_BYTES;
    return AT_OK;
}

enum at_code at_key_seek_family_end(struct at_buf *out, uint32_t table, uint32_t family)
{
    uint64_t next = ((uint64_t)table << 32 | family) + 1;

    AT_ASSERT(next != 0);
    AT_TRY(at_buf_reserve(out, AT_KEY_PREFIX_BYTES));
    at_put_be64(out->data + out->len, next);
    out->len += AT_KEY_PREFIX_BYTES;
    return AT_OK;
}

enum at_code at_key_seek_column_after(struct at_buf *out,
                                      uint32_t table,
                                      uint32_t family,
                                      struct at_slice row,
                                      struct at_slice qualifier)
{
    size_t row_len = escaped_len(row);
    size_t qualifier_len = escaped_len(qualifier);
    size_t len = AT_KEY_PREFIX_BYTES + row_len + END_BYTES + qualifier_len + END_BYTES;

    AT_TRY(at_buf_reserve(out, len));
    uint8_t *p = put_prefix(out->data + out->len, table, family);
    p = put_end(put_escaped(p, row, row_len), END_CELL);
    put_end(put_escaped(p, qualifier, qualifier_len), END_AFTER);
    out->len += len;
    return AT_OK;
}

static size_t escaped_len(struct at_slice s)
{
    size_t len = s.len;
    const uint8_t *p = s.data;
    const uint8_t *end = s.len ? s.data + s.len : s.data;

    while (p != end && (p = memchr(p, 0, (size_t)(end - p))) != NULL) {
        len++;
        p++;
    }
    return len;
}

static uint8_t *put_prefix(uint8_t *p, uint32_t table, uint32_t family)
{
    at_put_be32(p, table);
    at_put_be32(p + 4, family);
    return p + AT_KEY_PREFIX_BYTES;
}

/* `len` is escaped_len(s): equal to s.len when there is nothing to escape. */
static uint8_t *put_escaped(uint8_t *p, struct at_slice s, size_t len)
{
    if (len == s.len) {
        if (len > 0)
            memcpy(p, s.data, len);
        return p + len;
    }
    for (size_t i = 0; i < s.len; i++) {
        *p++ = s.data[i];
        if (s.data[i] == 0)
            *p++ = ESCAPED;
    }
    return p;
}

static uint8_t *put_end(uint8_t *p, uint8_t kind)
{
    p[0] = 0;
    p[1] = kind;
    return p + END_BYTES;
}

static uint8_t *put_stamp(uint8_t *p, struct at_stamp stamp)
{
    at_put_be64(p, ~stamp.hlc);
    at_put_be32(p + 8, ~stamp.origin.v);
    return p + AT_KEY_STAMP_BYTES;
}

static struct at_stamp get_stamp(const uint8_t *p)
{
    return (struct at_stamp){.hlc = ~at_get_be64(p), .origin = {~at_get_be32(p + 8)}};
}

/* The 00 that ends what starts at `p`; the byte behind it is within bounds too. */
static const uint8_t *find_end(const uint8_t *p, const uint8_t *end, bool *ret_escaped)
{
    while (p < end) {
        const uint8_t *zero = memchr(p, 0, (size_t)(end - p));
        if (zero == NULL || zero + 1 == end)
            return NULL;
        if (zero[1] != ESCAPED)
            return zero;
        *ret_escaped = true;
        p = zero + END_BYTES;
    }
    return NULL;
}

/* Reserving for the whole key at once keeps the row's bytes in place when the qualifier follows. */
static enum at_code unescaped(const uint8_t *p,
                              const uint8_t *end,
                              struct at_slice stored,
                              struct at_buf *scratch,
                              struct at_slice *ret_s)
{
    if (scratch->len == 0)
        AT_TRY(at_buf_reserve(scratch, stored.len));
    *ret_s = unescape(p, end, scratch);
    return AT_OK;
}

static struct at_slice unescape(const uint8_t *p, const uint8_t *end, struct at_buf *scratch)
{
    uint8_t *start = scratch->data + scratch->len;
    uint8_t *to = start;

    while (p < end) {
        const uint8_t *zero = memchr(p, 0, (size_t)(end - p));
        size_t n = zero ? (size_t)(zero - p) + 1 : (size_t)(end - p);
        memcpy(to, p, n);
        to += n;
        p += zero ? n + 1 : n;
    }
    scratch->len += (size_t)(to - start);
    AT_ASSERT(scratch->len <= scratch->cap);
    return at_slice_make(start, (size_t)(to - start));
}
