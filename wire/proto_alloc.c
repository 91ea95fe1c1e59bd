/* proto_alloc.c: hostile bytes are looked at before protobuf-c sees them.
 *
 * protobuf-c recurses once per level of nesting, allocates for each element, and does not check
 * UTF-8. A walk over the raw bytes, guided by the descriptors and with a stack of fixed size,
 * therefore goes first: it refuses what is nested too deep, has too many elements (a two-byte empty
 * message costs a hundred bytes unpacked), or has a bad string: one that is no UTF-8, or that holds
 * a NUL, behind which a C string would hide the rest. What is malformed in other ways is left to
 * protobuf-c to refuse. */
#include "wire/proto_alloc.h"

#include "base/escape.h"
#include "base/pbwire.h"

#define DEPTH_MAX 100 /* as in Google's own protobuf libraries */
#define ELEMENTS_MAX 4000000

struct level {
    const ProtobufCMessageDescriptor *descriptor;
    struct at_slice rest;
};

struct walk {
    struct level levels[DEPTH_MAX];
    size_t depth;
    uint32_t elements;
};

static bool looks_sane(const ProtobufCMessageDescriptor *descriptor, struct at_slice bytes);

static void *alloc_in_arena(void *arena, size_t size)
{
    return at_arena_alloc_raw(arena, size);
}

static void free_in_arena(void *arena, void *p)
{
    (void)arena;
    (void)p;
}

void *at_proto_unpack(struct at_arena *arena,
                      const ProtobufCMessageDescriptor *descriptor,
                      struct at_slice bytes)
{
    if (!looks_sane(descriptor, bytes))
        return NULL;
    ProtobufCAllocator allocator = {alloc_in_arena, free_in_arena, arena};
    return protobuf_c_message_unpack(descriptor, &allocator, bytes.len, bytes.data);
}

static bool push(struct walk *w, const ProtobufCMessageDescriptor *d, struct at_slice bytes)
{
    if (w->depth == DEPTH_MAX)
        return false;
    w->levels[w->depth++] = (struct level){d, bytes};
    return true;
}

static bool has_nul(struct at_slice s)
{
    return s.len > 0 && memchr(s.data, 0, s.len) != NULL;
}

/* Looks at one field of the innermost level; enters it when it is a message. */
static bool take_field(struct walk *w, const struct at_pb_field *field)
{
    if (++w->elements > ELEMENTS_MAX)
        return false;
    if (field->type != AT_PB_BYTES)
        return true;
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field(w->levels[w->depth - 1].descriptor, field->number);
    if (!f)
        return true;
    if (f->type == PROTOBUF_C_TYPE_STRING)
        return at_utf8_valid(field->bytes) && !has_nul(field->bytes);
    if (f->type == PROTOBUF_C_TYPE_MESSAGE)
        return push(w, f->descriptor, field->bytes);
    return true;
}

static bool looks_sane(const ProtobufCMessageDescriptor *descriptor, struct at_slice bytes)
{
    struct walk w;
    w.depth = 0;
    w.elements = 0;
    bool good = push(&w, descriptor, bytes);
    while (good && w.depth > 0) {
        struct at_pb_field field;
        bool bad = false;
        if (at_pb_next(&w.levels[w.depth - 1].rest, &field, &bad))
            good = take_field(&w, &field);
        else if (bad)
            good = false;
        else
            w.depth--;
    }
    return good;
}

enum at_code at_proto_pack(struct at_buf *out, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    if (size == 0)
        return AT_OK;
    AT_TRY(at_buf_reserve(out, size));
    out->len += protobuf_c_message_pack(message, out->data + out->len);
    return AT_OK;
}
