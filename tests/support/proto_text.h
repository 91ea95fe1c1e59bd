/* proto_text.h: a protobuf message as one line of text: name:value and name{...} of all fields that
 * are not empty, in the order of their numbers. An Any shows what is in it. */
#ifndef ATOLL_TESTS_SUPPORT_PROTO_TEXT_H
#define ATOLL_TESTS_SUPPORT_PROTO_TEXT_H

#include <inttypes.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "wire/proto_alloc.h"

struct proto_text_type {
    const char *name;
    const ProtobufCMessageDescriptor *descriptor;
};

/* What an Any may hold; ends with a NULL name. The test sets it. */
static const struct proto_text_type *proto_text_types;

static void proto_text_message(const ProtobufCMessage *m, struct at_buf *out);

static inline void proto_text_must(enum at_code code)
{
    AT_ASSERT(code == AT_OK);
}

static inline void proto_text_bytes(struct at_slice s, struct at_buf *out)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] >= 0x20 && s.data[i] < 0x7f)
            proto_text_must(at_buf_append(out, at_slice_make(s.data + i, 1)));
        else
            proto_text_must(at_buf_printf(out, "\\x%02x", s.data[i]));
}

/* Returns false for a value that is the default one. */
static inline bool
proto_text_value(const ProtobufCFieldDescriptor *f, const void *at, struct at_buf *out)
{
    switch ((int)f->type) {
    case PROTOBUF_C_TYPE_STRING: {
        const char *s = *(char *const *)at;
        proto_text_must(at_buf_printf(out, ":%s", s ? s : ""));
        return s && s[0] != '\0';
    }
    case PROTOBUF_C_TYPE_BYTES: {
        const ProtobufCBinaryData *b = at;
        proto_text_must(at_buf_printf(out, ":"));
        proto_text_bytes(at_slice_make(b->data, b->len), out);
        return b->len > 0;
    }
    case PROTOBUF_C_TYPE_BOOL:
        proto_text_must(at_buf_printf(out, ":true"));
        return *(const protobuf_c_boolean *)at != 0;
    case PROTOBUF_C_TYPE_ENUM: {
        int number = *(const int *)at;
        const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(
            (const ProtobufCEnumDescriptor *)f->descriptor, number);
        proto_text_must(v ? at_buf_printf(out, ":%s", v->name) : at_buf_printf(out, ":%d", number));
        return number != 0;
    }
    case PROTOBUF_C_TYPE_INT32:
        proto_text_must(at_buf_printf(out, ":%" PRId32, *(const int32_t *)at));
        return *(const int32_t *)at != 0;
    case PROTOBUF_C_TYPE_UINT32:
        proto_text_must(at_buf_printf(out, ":%" PRIu32, *(const uint32_t *)at));
        return *(const uint32_t *)at != 0;
    case PROTOBUF_C_TYPE_UINT64:
        proto_text_must(at_buf_printf(out, ":%" PRIu64, *(const uint64_t *)at));
        return *(const uint64_t *)at != 0;
    case PROTOBUF_C_TYPE_INT64:
        proto_text_must(at_buf_printf(out, ":%" PRId64, *(const int64_t *)at));
        return *(const int64_t *)at != 0;
    case PROTOBUF_C_TYPE_MESSAGE: {
        const ProtobufCMessage *m = *(ProtobufCMessage *const *)at;
        proto_text_must(at_buf_printf(out, "{"));
        if (m)
            proto_text_message(m, out);
        proto_text_must(at_buf_printf(out, "}"));
        return m != NULL;
    }
    default:
        AT_ASSERT(!"a type that the tests know");
        return false;
    }
}

static inline void
proto_text_field(const ProtobufCFieldDescriptor *f, const void *at, bool always, struct at_buf *out)
{
    size_t len = out->len;

    proto_text_must(
        at_buf_printf(out, "%s%s", len && out->data[len - 1] != '{' ? " " : "", f->name));
    if (!proto_text_value(f, at, out) && !always)
        out->len = len;
}

static inline void proto_text_any(const ProtobufCMessage *any, struct at_buf *out)
{
    const char *url = *(char *const *)((const char *)any + any->descriptor->fields[0].offset);
    const ProtobufCBinaryData *value =
        (const void *)((const char *)any + any->descriptor->fields[1].offset);
    const char *name = strrchr(url, '/');
    const struct proto_text_type *type = proto_text_types;

    AT_ASSERT(name && type);
    while (type->name && strcmp(type->name, name + 1) != 0)
        type++;
    AT_ASSERT(type->name);
    ProtobufCMessage *m =
        protobuf_c_message_unpack(type->descriptor, NULL, value->len, value->data);
    AT_ASSERT(m);
    proto_text_must(at_buf_printf(out, "%s ", url));
    proto_text_message(m, out);
    protobuf_c_message_free_unpacked(m, NULL);
}

static void proto_text_message(const ProtobufCMessage *m, struct at_buf *out)
{
    const ProtobufCMessageDescriptor *d = m->descriptor;

    if (strcmp(d->name, "google.protobuf.Any") == 0) {
        proto_text_any(m, out);
        return;
    }
    for (unsigned i = 0; i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &d->fields[i];
        const char *base = (const char *)m;
        if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
            if (*(const uint32_t *)(const void *)(base + f->quantifier_offset) == f->id)
                proto_text_field(f, base + f->offset, true, out);
        } else if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t count = *(const size_t *)(const void *)(base + f->quantifier_offset);
            size_t size = f->type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData)
                          : f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_MESSAGE
                              ? sizeof(void *)
                              : 4;
            const char *items = *(char *const *)(const void *)(base + f->offset);
            for (size_t k = 0; k < count; k++)
                proto_text_field(f, items + k * size, true, out);
        } else {
            proto_text_field(f, base + f->offset, false, out);
        }
    }
}

/* proto_text appends the text of serialized bytes. */
static inline void
proto_text(const ProtobufCMessageDescriptor *descriptor, struct at_slice bytes, struct at_buf *out)
{
    ProtobufCMessage *m = protobuf_c_message_unpack(descriptor, NULL, bytes.len, bytes.data);

    AT_ASSERT(m);
    proto_text_message(m, out);
    protobuf_c_message_free_unpacked(m, NULL);
}

#endif
