/* decode.c: messages, maps, oneofs, and messages with a form of their own.
 *
 * Recursion follows the nesting of messages, which AT_JSON_DEPTH_MAX bounds. Memory is bounded by
 * the text: each value of it makes one item of at most some hundred bytes. */
#include "wire/json/decode.h"

#include "base/assert.h"
#include "google/protobuf/any.pb-c.h"
#include "google/protobuf/duration.pb-c.h"
#include "google/protobuf/field_mask.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"
#include "wire/json/decode_impl.h"
#include "wire/json/text.h"

#define PATH_BYTES_MAX 160

static enum at_code read_message(const struct at_json_reader *r,
                                 const struct at_json_place *at,
                                 const ProtobufCMessageDescriptor *d,
                                 const json_t *value,
                                 ProtobufCMessage **ret);
static enum at_code read_fields(const struct at_json_reader *r,
                                const struct at_json_place *at,
                                const json_t *value,
                                bool in_any,
                                ProtobufCMessage *message);
static enum at_code read_field(const struct at_json_reader *r,
                               const struct at_json_place *at,
                               const ProtobufCFieldDescriptor *field,
                               const json_t *value,
                               ProtobufCMessage *message);
static enum at_code read_any(const struct at_json_reader *r,
                             const struct at_json_place *at,
                             const json_t *value,
                             Google__Protobuf__Any *any);
static enum at_code read_mask(const struct at_json_reader *r,
                              const struct at_json_place *at,
                              const json_t *value,
                              Google__Protobuf__FieldMask *mask);

enum at_code at_json_parse(struct at_slice text, json_t **ret_value, struct at_error *reterr)
{
    json_error_t error;
    *ret_value = json_loadb((const char *)text.data, text.len,
                            JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (*ret_value)
        return AT_OK;
    return at_fail(reterr, AT_INVALID_ARGUMENT,
                   "Invalid JSON payload received. Line %d, column %d: %.120s", error.line,
                   error.column, error.text);
}

enum at_code at_json_decode(const struct at_json_pool *pool,
                            const ProtobufCMessageDescriptor *descriptor,
                            const json_t *value,
                            struct at_arena *arena,
                            ProtobufCMessage **ret_message,
                            struct at_error *reterr)
{
    const struct at_json_reader reader = {.pool = pool, .arena = arena, .reterr = reterr};
    const struct at_json_place top = {.name = ""};
    return read_message(&reader, &top, descriptor, value, ret_message);
}

static size_t path_write(const struct at_json_place *at, char path[PATH_BYTES_MAX])
{
    const struct at_json_place *chain[AT_JSON_DEPTH_MAX + 2];
    size_t count = 0;
    size_t len = 0;
    for (; at->up; at = at->up)
        chain[count++] = at;
    while (count > 0) {
        const char *name = chain[--count]->name;
        size_t n = strlen(name);
        if (len + n + 2 > PATH_BYTES_MAX)
            break;
        if (len > 0)
            path[len++] = '.';
        memcpy(path + len, name, n);
        len += n;
    }
    path[len] = '\0';
    return len;
}

enum at_code at_json_refuse(const struct at_json_reader *r,
                            const struct at_json_place *at,
                            const char *what,
                            const char *subject)
{
    char path[PATH_BYTES_MAX];
    size_t len = path_write(at, path);
    return at_fail(r->reterr, AT_INVALID_ARGUMENT,
                   "Invalid JSON payload received. %s%s%.80s%s%s%s%s", what, subject ? " \"" : "",
                   subject ? subject : "", subject ? "\"" : "", len ? " at '" : "", path,
                   len ? "'" : "");
}

/* NOLINTBEGIN(misc-no-recursion): see above */

static enum at_code read_time(const struct at_json_reader *r,
                              const struct at_json_place *at,
                              const json_t *value,
                              ProtobufCMessage *message)
{
    struct at_json_time t;
    struct at_slice text = at_slice_cstr(json_string_value(value));
    bool duration = at_json_kind(message->descriptor) == AT_JSON_DURATION;
    enum at_code code =
        duration ? at_json_duration_read(text, &t) : at_json_timestamp_read(text, &t);
    if (code != AT_OK)
        return at_json_refuse(r, at, duration ? "Invalid duration" : "Invalid timestamp", NULL);
    if (duration) {
        ((Google__Protobuf__Duration *)message)->seconds = t.s;
        ((Google__Protobuf__Duration *)message)->nanos = t.ns;
    } else {
        ((Google__Protobuf__Timestamp *)message)->seconds = t.s;
        ((Google__Protobuf__Timestamp *)message)->nanos = t.ns;
    }
    return AT_OK;
}

static enum at_code read_message(const struct at_json_reader *r,
                                 const struct at_json_place *at,
                                 const ProtobufCMessageDescriptor *d,
                                 const json_t *value,
                                 ProtobufCMessage **ret)
{
    if (at->depth > AT_JSON_DEPTH_MAX)
        return at_json_refuse(r, at, "Nested too deep", NULL);
    ProtobufCMessage *message = at_arena_alloc(r->arena, d->sizeof_message);
    d->message_init(message);
    *ret = message;
    switch (at_json_kind(d)) {
    case AT_JSON_TIMESTAMP:
    case AT_JSON_DURATION:
        return read_time(r, at, value, message);
    case AT_JSON_MASK:
        return read_mask(r, at, value, (Google__Protobuf__FieldMask *)message);
    case AT_JSON_WRAPPER:
        return read_field(r, at, &d->fields[0], value, message);
    case AT_JSON_ANY:
        return read_any(r, at, value, (Google__Protobuf__Any *)message);
    case AT_JSON_PLAIN:
        break;
    }
    return read_fields(r, at, value, false, message);
}

static enum at_code read_fields(const struct at_json_reader *r,
                                const struct at_json_place *at,
                                const json_t *value,
                                bool in_any,
                                ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *d = message->descriptor;
    if (!json_is_object(value))
        return at_json_refuse(r, at, "Not an object", NULL);
    bool *seen = AT_ARENA_ARRAY(r->arena, bool, d->n_fields);
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        if (in_any && strcmp(key, "@type") == 0)
            continue;
        const ProtobufCFieldDescriptor *field = at_json_field(d, at_slice_cstr(key));
        if (!field)
            return at_json_refuse(r, at, "Unknown name", key);
        if (seen[field - d->fields])
            return at_json_refuse(r, at, "Given twice:", key);
        seen[field - d->fields] = true;
        if (json_is_null(item))
            continue;
        struct at_json_place here = {.up = at, .name = key, .depth = at->depth + 1};
        AT_TRY(read_field(r, &here, field, item, message));
    }
    return AT_OK;
}

static void *place_in(ProtobufCMessage *message, unsigned offset)
{
    return (char *)message + offset;
}

static enum at_code read_item(const struct at_json_reader *r,
                              const struct at_json_place *at,
                              const ProtobufCFieldDescriptor *field,
                              const json_t *value,
                              void *item)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return read_message(r, at, field->descriptor, value, (ProtobufCMessage **)item);
    return at_json_read_scalar(r, at, field, value, item);
}

static enum at_code read_array(const struct at_json_reader *r,
                               const struct at_json_place *at,
                               const ProtobufCFieldDescriptor *field,
                               const json_t *value,
                               ProtobufCMessage *message)
{
    if (!json_is_array(value))
        return at_json_refuse(r, at, "Not a list", NULL);
    size_t count = json_array_size(value);
    size_t size = at_json_item_size(field->type);
    char *items = at_arena_alloc(r->arena, count * size);
    for (size_t i = 0; i < count; i++)
        AT_TRY(read_item(r, at, field, json_array_get(value, i), items + i * size));
    *(size_t *)place_in(message, field->quantifier_offset) = count;
    *(void **)place_in(message, field->offset) = items;
    return AT_OK;
}

static enum at_code read_map(const struct at_json_reader *r,
                             const struct at_json_place *at,
                             const ProtobufCFieldDescriptor *field,
                             const json_t *value,
                             ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *d = field->descriptor;
    if (!json_is_object(value))
        return at_json_refuse(r, at, "Not an object", NULL);
    size_t count = json_object_size(value);
    ProtobufCMessage **entries = AT_ARENA_ARRAY(r->arena, ProtobufCMessage *, count);
    size_t i = 0;
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        struct at_json_place here = {.up = at, .name = key, .depth = at->depth + 1};
        entries[i] = at_arena_alloc(r->arena, d->sizeof_message);
        d->message_init(entries[i]);
        json_t *text = json_string(key);
        enum at_code code = at_json_read_scalar(r, &here, &d->fields[0], text,
                                                place_in(entries[i], d->fields[0].offset));
        json_decref(text);
        AT_TRY(code);
        AT_TRY(read_item(r, &here, &d->fields[1], item, place_in(entries[i], d->fields[1].offset)));
        i++;
    }
    AT_ASSERT(i == count);
    *(size_t *)place_in(message, field->quantifier_offset) = count;
    *(void **)place_in(message, field->offset) = (void *)entries;
    return AT_OK;
}

static enum at_code read_field(const struct at_json_reader *r,
                               const struct at_json_place *at,
                               const ProtobufCFieldDescriptor *field,
                               const json_t *value,
                               ProtobufCMessage *message)
{
    if (at_json_is_map(message->descriptor, field))
        return read_map(r, at, field, value, message);
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return read_array(r, at, field, value, message);
    if (at_json_is_oneof(field)) {
        uint32_t *which = place_in(message, field->quantifier_offset);
        if (*which != 0)
            return at_json_refuse(r, at, "Another one of the same oneof is set", NULL);
        *which = field->id;
    }
    return read_item(r, at, field, value, place_in(message, field->offset));
}

static enum at_code read_any(const struct at_json_reader *r,
                             const struct at_json_place *at,
                             const json_t *value,
                             Google__Protobuf__Any *any)
{
    const char *url = json_string_value(json_object_get(value, "@type"));
    if (!url && json_is_object(value) && json_object_size(value) == 0)
        return AT_OK;
    const char *slash = url ? strrchr(url, '/') : NULL;
    const ProtobufCMessageDescriptor *d =
        slash ? at_json_pool_find(r->pool, at_slice_cstr(slash + 1)) : NULL;
    if (!d)
        return at_json_refuse(r, at, "Not a known @type", url);
    ProtobufCMessage *inner;
    if (at_json_kind(d) == AT_JSON_PLAIN) {
        inner = at_arena_alloc(r->arena, d->sizeof_message);
        d->message_init(inner);
        if (at->depth == AT_JSON_DEPTH_MAX)
            return at_json_refuse(r, at, "Nested too deep", NULL);
        AT_TRY(read_fields(r, at, value, true, inner));
    } else {
        struct at_json_place here = {.up = at, .name = "value", .depth = at->depth + 1};
        AT_TRY(read_message(r, &here, d, json_object_get(value, "value"), &inner));
    }
    any->type_url = (char *)(uintptr_t)at_arena_copy(r->arena, at_slice_cstr(url)).data;
    any->value.len = protobuf_c_message_get_packed_size(inner);
    any->value.data = at_arena_alloc_raw(r->arena, any->value.len);
    (void)protobuf_c_message_pack(inner, any->value.data);
    return AT_OK;
}

static enum at_code read_mask(const struct at_json_reader *r,
                              const struct at_json_place *at,
                              const json_t *value,
                              Google__Protobuf__FieldMask *mask)
{
    const char *text = json_string_value(value);
    if (!text)
        return at_json_refuse(r, at, "Not a mask", NULL);
    struct at_slice rest = at_slice_cstr(text);
    size_t count = 1;
    for (size_t i = 0; i < rest.len; i++)
        count += rest.data[i] == ',';
    mask->paths = AT_ARENA_ARRAY(r->arena, char *, count);
    while (rest.len > 0) {
        const uint8_t *comma = memchr(rest.data, ',', rest.len);
        struct at_slice path =
            at_slice_make(rest.data, comma ? (size_t)(comma - rest.data) : rest.len);
        rest = at_slice_from(rest, path.len + (comma != NULL));
        if (path.len > 0)
            mask->paths[mask->n_paths++] = at_json_mask_path(r->arena, path);
    }
    return AT_OK;
}

/* NOLINTEND(misc-no-recursion) */
