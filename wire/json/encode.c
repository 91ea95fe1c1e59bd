/* encode.c: recursion follows the nesting of messages, which AT_JSON_DEPTH_MAX bounds. */
#include "wire/json/encode.h"

#include <inttypes.h>
#include <math.h>

#include "base/escape.h"
#include "google/protobuf/any.pb-c.h"
#include "google/protobuf/duration.pb-c.h"
#include "google/protobuf/field_mask.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"
#include "wire/json/text.h"
#include "wire/proto_alloc.h"

struct writer {
    const struct at_json_pool *pool;
    struct at_arena *arena;
    struct at_buf *out;
    uint32_t depth;
};

static enum at_code write_message(struct writer *w, const ProtobufCMessage *message);
static enum at_code write_fields(struct writer *w, const ProtobufCMessage *message, bool first);
static enum at_code write_field(struct writer *w,
                                const ProtobufCMessage *message,
                                const ProtobufCFieldDescriptor *field);
static enum at_code
write_item(struct writer *w, const ProtobufCFieldDescriptor *field, const void *item);
static enum at_code
write_number(struct writer *w, const ProtobufCFieldDescriptor *field, const void *item);
static enum at_code write_any(struct writer *w, const Google__Protobuf__Any *any);
static enum at_code write_mask(struct writer *w, const Google__Protobuf__FieldMask *mask);

/* NOLINTBEGIN(misc-no-recursion): see above */

enum at_code at_json_encode(const struct at_json_pool *pool,
                            const ProtobufCMessage *message,
                            struct at_arena *arena,
                            struct at_buf *out)
{
    struct writer w = {.pool = pool, .arena = arena, .out = out};
    return write_message(&w, message);
}

enum at_code at_json_encode_text(struct at_buf *out, struct at_slice text)
{
    AT_TRY(at_buf_append(out, AT_LIT("\"")));
    size_t from = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        AT_TRY(at_buf_append(out, at_slice_make(text.data + from, i - from)));
        if (c < 0x20)
            AT_TRY(at_buf_printf(out, "\\u%04x", c));
        else
            AT_TRY(at_buf_printf(out, "\\%c", c));
        from = i + 1;
    }
    if (from < text.len)
        AT_TRY(at_buf_append(out, at_slice_from(text, from)));
    return at_buf_append(out, AT_LIT("\""));
}

static const void *place_of(const ProtobufCMessage *message, unsigned offset)
{
    return (const char *)message + offset;
}

static enum at_code as_internal(enum at_code code)
{
    return code == AT_INVALID_ARGUMENT ? AT_INTERNAL : code;
}

static enum at_code write_time(struct writer *w, const ProtobufCMessage *message, bool duration)
{
    struct at_json_time t;
    if (duration) {
        const Google__Protobuf__Duration *d = (const void *)message;
        t = (struct at_json_time){d->seconds, d->nanos};
    } else {
        const Google__Protobuf__Timestamp *s = (const void *)message;
        t = (struct at_json_time){s->seconds, s->nanos};
    }
    AT_TRY(at_buf_append(w->out, AT_LIT("\"")));
    AT_TRY(as_internal(duration ? at_json_duration_write(w->out, t)
                                : at_json_timestamp_write(w->out, t)));
    return at_buf_append(w->out, AT_LIT("\""));
}

static enum at_code write_kind(struct writer *w, const ProtobufCMessage *message)
{
    const ProtobufCFieldDescriptor *first = message->descriptor->fields;
    switch (at_json_kind(message->descriptor)) {
    case AT_JSON_TIMESTAMP:
        return write_time(w, message, false);
    case AT_JSON_DURATION:
        return write_time(w, message, true);
    case AT_JSON_MASK:
        return write_mask(w, (const void *)message);
    case AT_JSON_WRAPPER:
        return write_item(w, first, place_of(message, first->offset));
    case AT_JSON_ANY:
        return write_any(w, (const void *)message);
    case AT_JSON_PLAIN:
        break;
    }
    AT_TRY(at_buf_append(w->out, AT_LIT("{")));
    AT_TRY(write_fields(w, message, true));
    return at_buf_append(w->out, AT_LIT("}"));
}

static enum at_code write_message(struct writer *w, const ProtobufCMessage *message)
{
    if (w->depth == AT_JSON_DEPTH_MAX)
        return AT_RESOURCE_EXHAUSTED;
    w->depth++;
    AT_TRY(write_kind(w, message));
    w->depth--;
    return AT_OK;
}

static bool is_zero(ProtobufCType type, const void *item)
{
    static const uint8_t ZEROES[16] = {0};
    if (type == PROTOBUF_C_TYPE_STRING) {
        const char *text = *(char *const *)item;
        return !text || *text == '\0';
    }
    if (type == PROTOBUF_C_TYPE_BYTES)
        return ((const ProtobufCBinaryData *)item)->len == 0;
    return memcmp(item, ZEROES, at_json_item_size(type)) == 0;
}

static bool is_present(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    const void *count_or_case = place_of(message, field->quantifier_offset);
    if (at_json_is_oneof(field))
        return *(const uint32_t *)count_or_case == field->id;
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return *(const size_t *)count_or_case > 0;
    return !is_zero(field->type, place_of(message, field->offset));
}

static enum at_code write_fields(struct writer *w, const ProtobufCMessage *message, bool first)
{
    const ProtobufCMessageDescriptor *d = message->descriptor;
    char name[AT_JSON_NAME_BYTES];
    for (unsigned i = 0; i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &d->fields[i];
        if (!is_present(message, field))
            continue;
        (void)at_json_name(field->name, name, sizeof(name));
        AT_TRY(at_buf_printf(w->out, "%s\"%s\":", first ? "" : ",", name));
        first = false;
        AT_TRY(write_field(w, message, field));
    }
    return AT_OK;
}

/* A key of a map is a string in JSON, whatever it is in protobuf. */
static enum at_code write_entry(struct writer *w, const ProtobufCMessage *entry)
{
    const ProtobufCFieldDescriptor *key = &entry->descriptor->fields[0];
    const ProtobufCFieldDescriptor *value = &entry->descriptor->fields[1];
    const void *key_at = place_of(entry, key->offset);
    const void *value_at = place_of(entry, value->offset);
    size_t begin = w->out->len;
    AT_TRY(write_item(w, key, key_at));
    if (w->out->data[begin] != '"') {
        AT_TRY(at_buf_append(w->out, AT_LIT("\"\"")));
        memmove(w->out->data + begin + 1, w->out->data + begin, w->out->len - begin - 2);
        w->out->data[begin] = '"';
    }
    AT_TRY(at_buf_append(w->out, AT_LIT(":")));
    if (value->type == PROTOBUF_C_TYPE_MESSAGE && is_zero(value->type, value_at))
        return at_buf_append(w->out, AT_LIT("{}")); /* on the wire, an entry without its value */
    return write_item(w, value, value_at);
}

static enum at_code write_field(struct writer *w,
                                const ProtobufCMessage *message,
                                const ProtobufCFieldDescriptor *field)
{
    const void *at = place_of(message, field->offset);
    if (field->label != PROTOBUF_C_LABEL_REPEATED)
        return write_item(w, field, at);
    bool map = at_json_is_map(message->descriptor, field);
    size_t count = *(const size_t *)place_of(message, field->quantifier_offset);
    const char *items = *(const char *const *)at;
    size_t size = at_json_item_size(field->type);
    AT_TRY(at_buf_append(w->out, map ? AT_LIT("{") : AT_LIT("[")));
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            AT_TRY(at_buf_append(w->out, AT_LIT(",")));
        const void *item = items + i * size;
        AT_TRY(map ? write_entry(w, *(ProtobufCMessage *const *)item) : write_item(w, field, item));
    }
    return at_buf_append(w->out, map ? AT_LIT("}") : AT_LIT("]"));
}

static enum at_code
write_item(struct writer *w, const ProtobufCFieldDescriptor *field, const void *item)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessage *message = *(ProtobufCMessage *const *)item;
        return message ? write_message(w, message) : at_buf_append(w->out, AT_LIT("{}"));
    }
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return at_json_encode_text(w->out, at_slice_cstr(*(char *const *)item));
    if (field->type == PROTOBUF_C_TYPE_BYTES) {
        const ProtobufCBinaryData *bytes = item;
        AT_TRY(at_buf_append(w->out, AT_LIT("\"")));
        AT_TRY(at_escape_base64(w->out, at_proto_bytes(*bytes), false, true));
        return at_buf_append(w->out, AT_LIT("\""));
    }
    return write_number(w, field, item);
}

static enum at_code write_real(struct writer *w, double v, int digits)
{
    if (isnan(v))
        return at_buf_append(w->out, AT_LIT("\"NaN\""));
    if (isinf(v))
        return at_buf_append(w->out, v > 0 ? AT_LIT("\"Infinity\"") : AT_LIT("\"-Infinity\""));
    return at_buf_printf(w->out, "%.*g", digits, v);
}

static enum at_code write_enum(struct writer *w, const ProtobufCEnumDescriptor *d, int32_t number)
{
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(d, number);
    if (value)
        return at_json_encode_text(w->out, at_slice_cstr(value->name));
    return at_buf_printf(w->out, "%" PRId32, number);
}

static enum at_code
write_number(struct writer *w, const ProtobufCFieldDescriptor *field, const void *item)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return at_buf_printf(w->out, "%" PRId32, *(const int32_t *)item);
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        return at_buf_printf(w->out, "%" PRIu32, *(const uint32_t *)item);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return at_buf_printf(w->out, "\"%" PRId64 "\"", *(const int64_t *)item);
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return at_buf_printf(w->out, "\"%" PRIu64 "\"", *(const uint64_t *)item);
    case PROTOBUF_C_TYPE_FLOAT:
        return write_real(w, (double)*(const float *)item, 9);
    case PROTOBUF_C_TYPE_DOUBLE:
        return write_real(w, *(const double *)item, 17);
    case PROTOBUF_C_TYPE_BOOL:
        return at_buf_append(w->out,
                             *(const protobuf_c_boolean *)item ? AT_LIT("true") : AT_LIT("false"));
    case PROTOBUF_C_TYPE_ENUM:
        return write_enum(w, field->descriptor, *(const int32_t *)item);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        break;
    }
    return AT_INTERNAL;
}

static enum at_code write_any(struct writer *w, const Google__Protobuf__Any *any)
{
    const char *slash = strrchr(any->type_url, '/');
    struct at_slice name = at_slice_cstr(slash ? slash + 1 : any->type_url);
    if (name.len == 0 && any->value.len == 0)
        return at_buf_append(w->out, AT_LIT("{}"));
    const ProtobufCMessageDescriptor *d = at_json_pool_find(w->pool, name);
    const ProtobufCMessage *inner =
        d ? at_proto_unpack(w->arena, d, at_proto_bytes(any->value)) : NULL;
    if (!inner)
        return AT_INTERNAL;
    AT_TRY(at_buf_append(w->out, AT_LIT("{\"@type\":")));
    AT_TRY(at_json_encode_text(w->out, at_slice_cstr(any->type_url)));
    if (at_json_kind(d) == AT_JSON_PLAIN) {
        AT_TRY(write_fields(w, inner, false));
    } else {
        AT_TRY(at_buf_append(w->out, AT_LIT(",\"value\":")));
        AT_TRY(write_message(w, inner));
    }
    return at_buf_append(w->out, AT_LIT("}"));
}

static enum at_code write_mask(struct writer *w, const Google__Protobuf__FieldMask *mask)
{
    size_t size = 1;
    for (size_t i = 0; i < mask->n_paths; i++)
        size += strlen(mask->paths[i]) + 1;
    char *text = at_arena_alloc_raw(w->arena, size);
    size_t len = 0;
    for (size_t i = 0; i < mask->n_paths; i++) {
        if (i > 0)
            text[len++] = ',';
        len += at_json_name(mask->paths[i], text + len, size - len);
    }
    return at_json_encode_text(w->out, at_slice_make(text, len));
}

/* NOLINTEND(misc-no-recursion) */
