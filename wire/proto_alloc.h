/* proto_alloc.h: protobuf-c messages in an arena. PURE.
 *
 * Messages unpacked here are freed with the arena and never one by one. */
#ifndef ATOLL_WIRE_PROTO_ALLOC_H
#define ATOLL_WIRE_PROTO_ALLOC_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/buf.h"

/* at_proto_unpack returns the message in the arena, or NULL when the bytes are malformed or a
 * proto3 `string` anywhere in it is not UTF-8 (protobuf-c does not check that itself). */
void *at_proto_unpack(struct at_arena *arena,
                      const ProtobufCMessageDescriptor *descriptor,
                      struct at_slice bytes);

/* at_proto_pack appends the serialized message. RESOURCE_EXHAUSTED from the buffer. */
AT_MUST_USE enum at_code at_proto_pack(struct at_buf *out, const ProtobufCMessage *message);

static inline struct at_slice at_proto_bytes(ProtobufCBinaryData b)
{
    return at_slice_make(b.data, b.len);
}

#endif
