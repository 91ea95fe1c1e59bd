#include "cluster/engine/engine_internal.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/pbwire.h"

#include <stdlib.h>

/* A batch is kept in the form that RocksDB writes to its WAL, which is on disk everywhere and so
 * does not change:
 *     sequence(8, filled in by RocksDB) count(4, little-endian) record...
 *     record: type(1) family-id(varint) length(varint) key [length(varint) value]
 * A put is then a few stores and two copies, with no call into RocksDB. The family ids are those
 * that at_engine_open checked. That of CELLS changes when another keyspace becomes CELLS: it is
 * written with two bytes, whatever it is, and put right when a batch is sealed.
 *
 * A sealed batch has its cells in key order: RocksDB puts them into a skip list, and finds the
 * place of a key from that of the one before it. The keys of cells carry a stamp, so no two of a
 * batch are the same, and their order does not matter, unless something of CELLS is deleted by the
 * batch; then it stays as it is.
 *
 * Callers bound a round (AT_WRITER_ROUND_BYTES_MAX plus one operation), so running into the
 * maximum here is a programmer's error. */

#define BATCH_BYTES_MAX (1024 * AT_MIB)
#define BATCH_BYTES_KEPT (32 * AT_MIB) /* a larger buffer is given back when cleared */
#define HEADER_BYTES 12
#define COUNT_OFFSET 8
#define RECORD_HEAD_BYTES_MAX (1 + 5 + 5 + 5)
#define FAMILY_CELLS UINT32_MAX /* whichever it is */
#define CELLS_ID_BYTES 2
#define SORTED_MIN 128 /* cells: below it sorting costs more than it saves */

enum record_type {
    RECORD_DELETE = 0x04,
    RECORD_PUT = 0x05,
    RECORD_DELETE_RANGE = 0x0e,
};

/* Where a put of CELLS stands in the batch, and how its key begins. */
struct piece {
    uint64_t head[2]; /* the first 16 bytes of the key, as numbers */
    uint32_t at;
    uint32_t size;
    uint32_t key_at;
    uint32_t key_size;
};

struct at_batch {
    struct at_buf bytes;
    uint32_t count;
    uint32_t cells_id; /* as it stands in the records, also those to come */
    bool unsortable;
    struct piece *pieces; /* in the order of the puts */
    uint32_t piece_count;
    uint32_t piece_cap;
    struct at_buf sorted; /* what was sealed */
};

static void append(struct at_batch *b,
                   enum record_type type,
                   uint32_t family_id,
                   struct at_slice key,
                   struct at_slice value);
static uint32_t family_of(enum at_space space);
static void put_cells_id(uint8_t *p, uint32_t id);
static void relabel(struct at_batch *b, uint32_t cells_id);
static size_t skip_slice(const struct at_batch *b, size_t at);
static uint8_t *put_slice(uint8_t *p, struct at_slice s);
static void note_piece(struct at_batch *b, size_t at, struct at_slice key, size_t value_len);
static struct at_slice sort(struct at_batch *b);
static void copy(struct at_batch *b, size_t from, size_t to);
static int piece_cmp(const void *a, const void *b, void *bytes);
static void start(struct at_batch *b);

struct at_batch *at_batch_new(void)
{
    struct at_batch *b = AT_NEW(struct at_batch);

    start(b);
    b->cells_id = engine_family_id(AT_SPACE_CELLS);
    at_buf_init(&b->sorted, BATCH_BYTES_MAX);
    return b;
}

void at_batch_free(struct at_batch **batch)
{
    struct at_batch *b = AT_TAKE(*batch);

    if (b == NULL)
        return;
    at_buf_deinit(&b->bytes);
    at_buf_deinit(&b->sorted);
    at_free(b->pieces);
    at_free(b);
}

void at_batch_clear(struct at_batch *batch)
{
    if (batch->bytes.cap > BATCH_BYTES_KEPT) {
        at_buf_deinit(&batch->bytes);
        start(batch);
    }
    batch->piece_count = 0;
    batch->unsortable = false;
    batch->bytes.len = HEADER_BYTES;
    batch->count = 0;
}

size_t at_batch_bytes(const struct at_batch *batch)
{
    return batch->bytes.len;
}

bool at_batch_empty(const struct at_batch *batch)
{
    return batch->count == 0;
}

void at_batch_put(struct at_batch *batch,
                  enum at_space space,
                  struct at_slice key,
                  struct at_slice value)
{
    size_t at = batch->bytes.len;

    append(batch, RECORD_PUT, family_of(space), key, value);
    if (space == AT_SPACE_CELLS && !batch->unsortable)
        note_piece(batch, at, key, value.len);
}

void at_batch_delete(struct at_batch *batch, enum at_space space, struct at_slice key)
{
    batch->unsortable = batch->unsortable || space == AT_SPACE_CELLS;
    append(batch, RECORD_DELETE, family_of(space), key, at_slice_make(NULL, 0));
}

void at_batch_delete_range(struct at_batch *batch,
                           enum at_space space,
                           struct at_slice start_key,
                           struct at_slice end_key)
{
    batch->unsortable = batch->unsortable || space == AT_SPACE_CELLS;
    append(batch, RECORD_DELETE_RANGE, family_of(space), start_key, end_key);
}

void engine_batch_put_root(struct at_batch *batch, struct at_slice key, struct at_slice value)
{
    append(batch, RECORD_PUT, FAMILY_DEFAULT, key, value);
}

struct at_slice engine_batch_seal(struct at_batch *batch, uint32_t cells_id)
{
    uint32_t count = batch->count;

    if (batch->cells_id != cells_id)
        relabel(batch, cells_id);

    for (int i = 0; i < 4; i++, count >>= 8)
        batch->bytes.data[COUNT_OFFSET + i] = (uint8_t)count;
    if (batch->unsortable || batch->piece_count < SORTED_MIN || batch->bytes.len > BATCH_BYTES_KEPT)
        return at_buf_slice(&batch->bytes);
    return sort(batch);
}

uint64_t engine_batch_last(struct at_slice written)
{
    uint64_t first = 0;
    uint32_t count = 0;

    if (written.len < HEADER_BYTES)
        return 0;
    for (int i = 7; i >= 0; i--)
        first = first << 8 | written.data[i];
    for (int i = 3; i >= 0; i--)
        count = count << 8 | written.data[COUNT_OFFSET + i];
    return first == 0 || count == 0 ? 0 : first + count - 1;
}

static void note_piece(struct at_batch *b, size_t at, struct at_slice key, size_t value_len)
{
    uint8_t head[16] = {0};

    if (b->bytes.len > BATCH_BYTES_KEPT)
        return; /* it will not be sorted */
    if (b->piece_count == b->piece_cap) {
        b->piece_cap = b->piece_cap == 0 ? 256 : b->piece_cap * 2;
        b->pieces = at_realloc(b->pieces, b->piece_cap * sizeof(*b->pieces));
    }
    memcpy(head, key.data, key.len < sizeof(head) ? key.len : sizeof(head));
    size_t value_at = b->bytes.len - value_len;
    size_t key_at = value_at - at_pb_varint_size(value_len) - key.len;
    b->pieces[b->piece_count++] = (struct piece){
        .head = {at_get_be64(head), at_get_be64(head + 8)},
        .at = (uint32_t)at,
        .size = (uint32_t)(b->bytes.len - at),
        .key_at = (uint32_t)key_at,
        .key_size = (uint32_t)key.len,
    };
}

/* All else in its order, then the cells in theirs. */
static struct at_slice sort(struct at_batch *b)
{
    at_buf_clear(&b->sorted);
    enum at_code code = at_buf_reserve(&b->sorted, b->bytes.len);
    AT_ASSERT(code == AT_OK);
    size_t from = 0;
    for (uint32_t i = 0; i < b->piece_count; i++) {
        copy(b, from, b->pieces[i].at);
        from = b->pieces[i].at + b->pieces[i].size;
    }
    copy(b, from, b->bytes.len);
    qsort_r(b->pieces, b->piece_count, sizeof(*b->pieces), piece_cmp, b->bytes.data);
    for (uint32_t i = 0; i < b->piece_count; i++)
        copy(b, b->pieces[i].at, b->pieces[i].at + b->pieces[i].size);
    AT_ASSERT(b->sorted.len == b->bytes.len);
    b->unsortable = true; /* the pieces no longer are in the order of the puts */
    return at_buf_slice(&b->sorted);
}

static void copy(struct at_batch *b, size_t from, size_t to)
{
    memcpy(b->sorted.data + b->sorted.len, b->bytes.data + from, to - from);
    b->sorted.len += to - from;
}

static int piece_cmp(const void *a, const void *b, void *bytes)
{
    const struct piece *x = a;
    const struct piece *y = b;
    const uint8_t *data = bytes;

    for (int i = 0; i < 2; i++)
        if (x->head[i] != y->head[i])
            return x->head[i] < y->head[i] ? -1 : 1;
    return at_slice_cmp(at_slice_make(data + x->key_at, x->key_size),
                        at_slice_make(data + y->key_at, y->key_size));
}

static void append(struct at_batch *b,
                   enum record_type type,
                   uint32_t family_id,
                   struct at_slice key,
                   struct at_slice value)
{
    AT_ASSERT(key.len <= UINT32_MAX && value.len <= UINT32_MAX);
    enum at_code code = at_buf_reserve(&b->bytes, RECORD_HEAD_BYTES_MAX + key.len + value.len);
    AT_ASSERT(code == AT_OK);
    uint8_t *p = b->bytes.data + b->bytes.len;
    *p++ = (uint8_t)type;
    if (family_id == FAMILY_CELLS) {
        put_cells_id(p, b->cells_id);
        p += CELLS_ID_BYTES;
    } else {
        *p++ = (uint8_t)family_id; /* a varint below 128 */
    }
    p = put_slice(p, key);
    if (type != RECORD_DELETE)
        p = put_slice(p, value);
    b->bytes.len = (size_t)(p - b->bytes.data);
    b->count++;
}

static uint32_t family_of(enum at_space space)
{
    return space == AT_SPACE_CELLS ? FAMILY_CELLS : engine_family_id(space);
}

/* The longer form of a varint, also where the short one would do: it tells cells from the rest. */
static void put_cells_id(uint8_t *p, uint32_t id)
{
    AT_ASSERT(id <= FAMILY_ID_MAX);
    p[0] = (uint8_t)(0x80 | (id & 0x7f));
    p[1] = (uint8_t)(id >> 7);
}

static void relabel(struct at_batch *b, uint32_t cells_id)
{
    size_t at = HEADER_BYTES;

    b->cells_id = cells_id;
    while (at < b->bytes.len) {
        enum record_type type = (enum record_type)b->bytes.data[at++];
        if (b->bytes.data[at] & 0x80) {
            put_cells_id(b->bytes.data + at, cells_id);
            at += CELLS_ID_BYTES;
        } else {
            at++;
        }
        at = skip_slice(b, at);
        if (type != RECORD_DELETE)
            at = skip_slice(b, at);
    }
    AT_ASSERT(at == b->bytes.len);
}

static size_t skip_slice(const struct at_batch *b, size_t at)
{
    uint32_t len = 0;

    for (uint32_t shift = 0;; shift += 7) {
        uint8_t byte = b->bytes.data[at++];
        len |= (uint32_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            break;
    }
    return at + len;
}

static uint8_t *put_slice(uint8_t *p, struct at_slice s)
{
    p = at_pb_write_varint(p, s.len);
    if (s.len > 0)
        memcpy(p, s.data, s.len);
    return p + s.len;
}

static void start(struct at_batch *b)
{
    static const uint8_t header[HEADER_BYTES] = {0};

    at_buf_init(&b->bytes, BATCH_BYTES_MAX);
    enum at_code code = at_buf_append(&b->bytes, at_slice_make(header, sizeof(header)));
    AT_ASSERT(code == AT_OK);
}
