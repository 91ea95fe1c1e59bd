/* pack.h: msgpack, the codec of mutation logs and peer messages. PURE.
 *
 * Writing goes through msgpack-c. Reading is a cursor over the bytes that
 * allocates nothing and borrows strings from the input: a hostile length can
 * cost no memory. Each read function fails with INVALID_ARGUMENT when the next
 * item is of another kind, cut off or out of range; after a failure the cursor
 * stays failed, so a decoder may check once at its end. */
#ifndef ATOLL_BASE_PACK_H
#define ATOLL_BASE_PACK_H

#include "base/buf.h"

/* The writers return RESOURCE_EXHAUSTED when the buffer's maximum is reached; then unchanged. */
AT_MUST_USE enum at_code at_pack_array(struct at_buf *b, uint32_t count);
AT_MUST_USE enum at_code at_pack_map(struct at_buf *b, uint32_t count);
AT_MUST_USE enum at_code at_pack_u64(struct at_buf *b, uint64_t v);
AT_MUST_USE enum at_code at_pack_i64(struct at_buf *b, int64_t v);
AT_MUST_USE enum at_code at_pack_bool(struct at_buf *b, bool v);
AT_MUST_USE enum at_code at_pack_nil(struct at_buf *b);
AT_MUST_USE enum at_code at_pack_bin(struct at_buf *b, struct at_slice s);
AT_MUST_USE enum at_code at_pack_str(struct at_buf *b, struct at_slice s);

/* Invariant: a failed cursor has next == end. */
struct at_unpack {
    const uint8_t *next;
    const uint8_t *end;
    bool failed;
};

void at_unpack_init(struct at_unpack *u, struct at_slice s);

/* at_unpack_array and _map also check `count` <= count_max and that the bytes left could hold
 * that many items. */
AT_MUST_USE enum at_code
at_unpack_array(struct at_unpack *u, uint32_t count_max, uint32_t *ret_count);
AT_MUST_USE enum at_code
at_unpack_map(struct at_unpack *u, uint32_t count_max, uint32_t *ret_count);
/* at_unpack_u64_wide reads any integer; at_unpack_u64 first tries the one-byte form. */
AT_MUST_USE enum at_code at_unpack_u64_wide(struct at_unpack *u, uint64_t *ret_v);
AT_MUST_USE static inline enum at_code at_unpack_u64(struct at_unpack *u, uint64_t *ret_v)
{
    if (u->next == u->end || *u->next > 0x7f)
        return at_unpack_u64_wide(u, ret_v);
    *ret_v = *u->next++;
    return AT_OK;
}
AT_MUST_USE enum at_code at_unpack_u32(struct at_unpack *u, uint32_t *ret_v);
AT_MUST_USE enum at_code at_unpack_i64(struct at_unpack *u, int64_t *ret_v);
AT_MUST_USE enum at_code at_unpack_bool(struct at_unpack *u, bool *ret_v);
/* bin and str are both taken by either; the slice borrows the input. */
AT_MUST_USE enum at_code at_unpack_bin(struct at_unpack *u, struct at_slice *ret_s);
/* at_unpack_is_nil consumes a nil and returns true, or leaves the cursor where it is. */
bool at_unpack_is_nil(struct at_unpack *u);
/* at_unpack_skip passes over one item of any kind, nested at most 32 deep. */
AT_MUST_USE enum at_code at_unpack_skip(struct at_unpack *u);
/* at_unpack_done: true when all bytes were read and nothing failed. */
bool at_unpack_done(const struct at_unpack *u);

#endif
