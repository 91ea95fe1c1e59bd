#include "cluster/engine/engine_internal.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/pbwire.h"

/* A batch is kept in the form that RocksDB writes to its WAL, which is on disk everywhere and so
 * does not change:
 *     sequence(8, filled in by RocksDB) count(4, little-endian) record...
 *     record: type(1) family-id(varint) length(varint) key [length(varint) value]
 * A put is then a few stores and two copies, with no call into RocksDB. The family ids are those
 * that at_engine_open checked.
 *
 * Callers bound a round (AT_WRITER_ROUND_BYTES_MAX plus one operation), so running into the
 * maximum here is a programmer's error. */

#define BATCH_BYTES_MAX (1024 * AT_MIB)
#define BATCH_BYTES_KEPT (32 * AT_MIB) /* a larger buffer is given back when cleared */
#define HEADER_BYTES 12
#define COUNT_OFFSET 8
#define RECORD_HEAD_BYTES_MAX (1 + 5 + 5 + 5)

enum record_type {
    RECORD_DELETE = 0x04,
    RECORD_PUT = 0x05,
    RECORD_DELETE_RANGE = 0x0e,
};

struct at_batch {
    struct at_buf bytes;
    uint32_t count;
};

static void append(struct at_batch *b,
                   enum record_type type,
                   enum at_space space,
                   struct at_slice key,
                   struct at_slice value);
static uint8_t *put_slice(uint8_t *p, struct at_slice s);
static void start(struct at_batch *b);

struct at_batch *at_batch_new(void)
{
    struct at_batch *b = AT_NEW(struct at_batch);

    start(b);
    return b;
}

void at_batch_free(struct at_batch **batch)
{
    struct at_batch *b = AT_TAKE(*batch);

    if (b == NULL)
        return;
    at_buf_deinit(&b->bytes);
    at_free(b);
}

void at_batch_clear(struct at_batch *batch)
{
    if (batch->bytes.cap > BATCH_BYTES_KEPT) {
        at_buf_deinit(&batch->bytes);
        start(batch);
    }
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
    append(batch, RECORD_PUT, space, key, value);
}

void at_batch_delete(struct at_batch *batch, enum at_space space, struct at_slice key)
{
    append(batch, RECORD_DELETE, space, key, at_slice_make(NULL, 0));
}

void at_batch_delete_range(struct at_batch *batch,
                           enum at_space space,
                           struct at_slice start_key,
                           struct at_slice end_key)
{
    append(batch, RECORD_DELETE_RANGE, space, start_key, end_key);
}

struct at_slice engine_batch_seal(struct at_batch *batch)
{
    uint32_t count = batch->count;

    for (int i = 0; i < 4; i++, count >>= 8)
        batch->bytes.data[COUNT_OFFSET + i] = (uint8_t)count;
    return at_buf_slice(&batch->bytes);
}

static void append(struct at_batch *b,
                   enum record_type type,
                   enum at_space space,
                   struct at_slice key,
                   struct at_slice value)
{
    AT_ASSERT(key.len <= UINT32_MAX && value.len <= UINT32_MAX);
    enum at_code code = at_buf_reserve(&b->bytes, RECORD_HEAD_BYTES_MAX + key.len + value.len);
    AT_ASSERT(code == AT_OK);
    uint8_t *p = b->bytes.data + b->bytes.len;
    *p++ = (uint8_t)type;
    *p++ = (uint8_t)engine_family_id(space); /* a varint below 128 */
    p = put_slice(p, key);
    if (type != RECORD_DELETE)
        p = put_slice(p, value);
    b->bytes.len = (size_t)(p - b->bytes.data);
    b->count++;
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
