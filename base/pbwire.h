/* pbwire.h: protobuf's wire format by hand, for the two places where building a
 * message tree would cost more than the work: ReadRows answers and the router's
 * peek at a request. Everything else goes through protobuf-c. PURE. */
#ifndef ATOLL_BASE_PBWIRE_H
#define ATOLL_BASE_PBWIRE_H

#include "base/buf.h"

enum at_pb_type { AT_PB_VARINT = 0, AT_PB_FIXED64 = 1, AT_PB_BYTES = 2, AT_PB_FIXED32 = 5 };

/* at_pb_varint_size: bytes that `v` takes as a varint (1-10). */
static inline size_t at_pb_varint_size(uint64_t v)
{
    return (size_t)(70 - __builtin_clzll(v | 1)) / 7;
}

/* at_pb_write_varint writes `v` at `p`, which has room for it, and returns the byte behind it. */
static inline uint8_t *at_pb_write_varint(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

/* Writers: RESOURCE_EXHAUSTED when the buffer's maximum is reached; then unchanged. They write the
 * field even if it has its default value. */
AT_MUST_USE enum at_code at_pb_put_varint(struct at_buf *b, uint32_t field, uint64_t v);
AT_MUST_USE enum at_code at_pb_put_bytes(struct at_buf *b, uint32_t field, struct at_slice s);
/* at_pb_put_head writes tag and length of a bytes field whose `len` bytes the caller appends. */
AT_MUST_USE enum at_code at_pb_put_head(struct at_buf *b, uint32_t field, size_t len);

/* at_pb_field: one field as it stands in a message. */
struct at_pb_field {
    uint32_t number;
    enum at_pb_type type;
    uint64_t varint;       /* VARINT, FIXED32, FIXED64 */
    struct at_slice bytes; /* BYTES: borrows the message */
};

/* at_pb_next reads the field at the front of `*rest` and moves `*rest` behind it. Returns false
 * at the end, and on malformed bytes, which set `*ret_bad` (nothing else touches it: start with
 * false). Groups are malformed here. */
bool at_pb_next(struct at_slice *rest, struct at_pb_field *ret_field, bool *ret_bad);

#endif
