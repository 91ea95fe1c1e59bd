/* grpc_frame.h: messages out of the length-prefixed stream, one at a time, bounded. PURE.
 *
 * Bytes come in any pieces. A message that lies whole in one piece is handed out where it lies,
 * unless `keep` asks for a copy that outlives the piece. */
#ifndef ATOLL_WIRE_GRPC_FRAME_H
#define ATOLL_WIRE_GRPC_FRAME_H

#include "base/buf.h"

#define AT_GRPC_PREFIX_BYTES 5

/* Invariant: prefix_len < 5 means that the length is not known yet and `body` is empty. */
struct at_grpc_frame {
    uint8_t prefix[AT_GRPC_PREFIX_BYTES];
    uint8_t prefix_len;
    bool keep;
    uint32_t need_bytes; /* the message's length, once known */
    struct at_buf body;
};

void at_grpc_frame_init(struct at_grpc_frame *f, size_t max_bytes, bool keep);
void at_grpc_frame_deinit(struct at_grpc_frame *f);

/* at_grpc_frame_reset forgets a message; memory beyond `keep_bytes` is given back. */
void at_grpc_frame_reset(struct at_grpc_frame *f, size_t keep_bytes);

/* at_grpc_frame_next eats from `rest` up to the end of one message. When a message is complete it
 * sets `*ret_message` (valid until the next call on `f`; without `keep` also only as long as the
 * bytes of `rest`) and `*ret_done`. UNIMPLEMENTED for a compressed message, INTERNAL for other
 * flags, RESOURCE_EXHAUSTED for a length beyond the maximum: the stream is lost then. */
AT_MUST_USE enum at_code at_grpc_frame_next(struct at_grpc_frame *f,
                                            struct at_slice *rest,
                                            struct at_slice *ret_message,
                                            bool *ret_done);

/* at_grpc_frame_clean tells whether the stream may end here: no message is half read. */
static inline bool at_grpc_frame_clean(const struct at_grpc_frame *f)
{
    return f->prefix_len == 0;
}

/* at_grpc_frame_prefix writes the prefix of an uncompressed message. */
void at_grpc_frame_prefix(uint8_t out[AT_GRPC_PREFIX_BYTES], size_t len);

#endif
