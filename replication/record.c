#include "replication/record.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/limits.h"

/* The head has a fixed size (an array of 32 bit length, an integer of 64, one of 32), so that the
 * count can be patched in when it is known. An entry's head is written by hand rather than
 * through pack.h: this is done for each write of a client. */

#define HEAD_BYTES ((size_t)(5 + 9 + 5))
#define ENTRY_HEAD_BYTES_MAX ((size_t)(9 + 5 + 5))

#define MP_U32 0xce
#define MP_U64 0xcf
#define MP_BIN8 0xc4
#define MP_BIN16 0xc5
#define MP_BIN32 0xc6
#define MP_ARRAY32 0xdd

static uint8_t *put_head(uint8_t *p, uint64_t hlc, uint32_t ticks);
static uint8_t *put_length(uint8_t *p, uint8_t kind, size_t len);
static uint8_t length_kind(size_t len);
static size_t length_bytes(uint8_t kind);

void at_record_builder_init(struct at_record_builder *b, size_t max_bytes)
{
    *b = (struct at_record_builder){0};
    at_buf_init(&b->bytes, max_bytes < HEAD_BYTES ? HEAD_BYTES : max_bytes);
}

void at_record_builder_deinit(struct at_record_builder *b)
{
    at_buf_deinit(&b->bytes);
}

void at_record_begin(struct at_record_builder *b, uint64_t first_seq)
{
    AT_ASSERT(first_seq > 0);
    AT_ASSERT(b->bytes.max >= HEAD_BYTES);
    at_buf_clear(&b->bytes);
    enum at_code rc = at_buf_reserve(&b->bytes, HEAD_BYTES);
    AT_ASSERT(rc == AT_OK);

    b->first_seq = first_seq;
    b->count = 0;
    b->entry_at = 0;
    b->bytes.data[0] = MP_ARRAY32;
    b->bytes.data[5] = MP_U64;
    at_put_be64(b->bytes.data + 6, first_seq);
    b->bytes.data[14] = MP_U32;
    b->bytes.len = HEAD_BYTES;
}

enum at_code at_record_add(struct at_record_builder *b, const struct at_entry *entry)
{
    AT_ASSERT(entry->seq == b->first_seq + b->count);
    AT_TRY(at_record_add_begin(b, entry->hlc, entry->ticks, entry->payload.len));
    enum at_code rc = at_buf_append(&b->bytes, entry->payload);
    AT_ASSERT(rc == AT_OK); /* begin made room */
    at_record_add_commit(b);
    return AT_OK;
}

enum at_code
at_record_add_begin(struct at_record_builder *b, uint64_t hlc, uint32_t ticks, size_t payload_max)
{
    AT_ASSERT(b->bytes.len >= HEAD_BYTES && b->entry_at == 0);
    AT_ASSERT(ticks > 0 && hlc <= UINT64_MAX - (ticks - 1));
    /* array length = 2 + 3 * count must fit into 32 bits */
    if (payload_max > AT_ENTRY_BYTES_MAX || b->count >= (UINT32_MAX - 2) / 3)
        return AT_RESOURCE_EXHAUSTED;
    AT_TRY(at_buf_reserve(&b->bytes, ENTRY_HEAD_BYTES_MAX + payload_max));

    uint8_t *start = b->bytes.data + b->bytes.len;
    uint8_t *p = put_head(start, hlc, ticks);
    p = put_length(p, length_kind(payload_max), 0);
    b->entry_at = b->bytes.len;
    b->bytes.len += (size_t)(p - start);
    b->payload_at = b->bytes.len;
    return AT_OK;
}

void at_record_add_commit(struct at_record_builder *b)
{
    AT_ASSERT(b->entry_at != 0);
    size_t len = b->bytes.len - b->payload_at;

    /* In front of the length: hlc with 9 bytes, ticks with 5 or 1. */
    uint8_t *p = b->bytes.data + b->entry_at + 9;
    p += *p == MP_U32 ? 5 : 1;
    AT_ASSERT(length_bytes(*p) >= length_bytes(length_kind(len)));
    (void)put_length(p, *p, len);
    b->entry_at = 0;
    b->count++;
}

struct at_slice at_record_finish(struct at_record_builder *b)
{
    AT_ASSERT(b->entry_at == 0);
    at_put_be32(b->bytes.data + 1, 2 + 3 * b->count);
    at_put_be32(b->bytes.data + 15, b->count);
    return at_buf_slice(&b->bytes);
}

enum at_code at_record_open(struct at_record_reader *r, struct at_slice record)
{
    uint32_t items = 0;
    uint32_t count = 0;
    uint64_t first_seq = 0;

    *r = (struct at_record_reader){0};
    at_unpack_init(&r->in, record);
    AT_TRY(at_unpack_array(&r->in, UINT32_MAX, &items));
    AT_TRY(at_unpack_u64(&r->in, &first_seq));
    AT_TRY(at_unpack_u32(&r->in, &count));
    if (count == 0 || items != 2 + 3 * (uint64_t)count)
        return AT_INVALID_ARGUMENT;
    if (first_seq == 0 || first_seq > UINT64_MAX - (count - 1))
        return AT_INVALID_ARGUMENT;
    r->next_seq = first_seq;
    r->left = count;
    return AT_OK;
}

enum at_code at_record_next(struct at_record_reader *r, struct at_entry *ret_entry)
{
    struct at_entry e = {0};

    if (r->left == 0)
        return r->in.failed ? AT_INVALID_ARGUMENT : AT_OUT_OF_RANGE;
    AT_TRY(at_unpack_u64(&r->in, &e.hlc));
    AT_TRY(at_unpack_u32(&r->in, &e.ticks));
    AT_TRY(at_unpack_bin(&r->in, &e.payload));
    bool valid =
        e.ticks > 0 && e.hlc <= UINT64_MAX - (e.ticks - 1) && e.payload.len <= AT_ENTRY_BYTES_MAX;
    if (!valid || (r->left == 1 && !at_unpack_done(&r->in))) {
        r->in.failed = true;
        r->in.next = r->in.end;
        return AT_INVALID_ARGUMENT;
    }
    e.seq = r->next_seq;
    r->next_seq++; /* may wrap behind the very last one; never used then */
    r->left--;
    *ret_entry = e;
    return AT_OK;
}

static uint8_t *put_head(uint8_t *p, uint64_t hlc, uint32_t ticks)
{
    *p = MP_U64;
    at_put_be64(p + 1, hlc);
    p += 9;
    if (ticks <= 0x7f) {
        *p = (uint8_t)ticks;
        return p + 1;
    }
    *p = MP_U32;
    at_put_be32(p + 1, ticks);
    return p + 5;
}

static uint8_t *put_length(uint8_t *p, uint8_t kind, size_t len)
{
    p[0] = kind;
    if (kind == MP_BIN8) {
        p[1] = (uint8_t)len;
    } else if (kind == MP_BIN16) {
        p[1] = (uint8_t)(len >> 8);
        p[2] = (uint8_t)len;
    } else {
        at_put_be32(p + 1, (uint32_t)len);
    }
    return p + 1 + length_bytes(kind);
}

static uint8_t length_kind(size_t len)
{
    if (len <= UINT8_MAX)
        return MP_BIN8;
    return len <= UINT16_MAX ? MP_BIN16 : MP_BIN32;
}

static size_t length_bytes(uint8_t kind)
{
    if (kind == MP_BIN8)
        return 1;
    return kind == MP_BIN16 ? 2 : 4;
}
