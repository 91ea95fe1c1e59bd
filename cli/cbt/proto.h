/* proto.h: making protobuf messages in an arena. PURE. */
#ifndef ATOLL_CLI_CBT_PROTO_H
#define ATOLL_CLI_CBT_PROTO_H

#include "base/arena.h"
#include "wire/proto_alloc.h"

/* AT_PROTO_NEW(arena, google__protobuf__duration) makes an initialised message. */
#define AT_PROTO_NEW(arena, lower_name) ((void *)at_proto_new((arena), &lower_name##__descriptor))

static inline void *at_proto_new(struct at_arena *arena, const ProtobufCMessageDescriptor *d)
{
    void *message = at_arena_alloc(arena, d->sizeof_message);
    d->message_init(message);
    return message;
}

/* at_proto_borrow makes a bytes field of a slice. protobuf-c has no const, but only reads it. */
static inline ProtobufCBinaryData at_proto_borrow(struct at_slice s)
{
    union {
        const uint8_t *from;
        uint8_t *to;
    } data = {.from = s.data};
    return (ProtobufCBinaryData){.len = s.len, .data = data.to};
}

/* at_proto_text is the same for string fields. */
static inline char *at_proto_text(const char *s)
{
    union {
        const char *from;
        char *to;
    } text = {.from = s};
    return text.to;
}

#endif
