/* decode_scalar.c: numbers, booleans, enums, strings, bytes. A number may be a string everywhere.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/escape.h"
#include "wire/json/decode_impl.h"

/* Beyond it, not every integer is a double. */
#define EXACT_MAX 9007199254740992.0

struct integer {
    bool negative;
    uint64_t magnitude;
};

static bool integer_of_text(const char *text, struct integer *ret)
{
    ret->negative = *text == '-';
    text += ret->negative;
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    ret->magnitude = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static bool integer_of(const json_t *value, struct integer *ret)
{
    if (json_is_string(value))
        return integer_of_text(json_string_value(value), ret);
    if (json_is_integer(value)) {
        json_int_t v = json_integer_value(value);
        ret->negative = v < 0;
        ret->magnitude = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
        return true;
    }
    double v = json_is_real(value) ? json_real_value(value) : NAN;
    if (!(fabs(v) <= EXACT_MAX) || floor(v) != v)
        return false;
    ret->negative = v < 0;
    ret->magnitude = (uint64_t)fabs(v);
    return true;
}

static bool read_signed(const json_t *value, uint64_t max, int64_t *ret)
{
    struct integer i;
    if (!integer_of(value, &i) || i.magnitude > max + i.negative)
        return false;
    *ret = (int64_t)(i.negative ? 0 - i.magnitude : i.magnitude);
    return true;
}

static bool read_unsigned(const json_t *value, uint64_t max, uint64_t *ret)
{
    struct integer i;
    if (!integer_of(value, &i) || i.magnitude > max || (i.negative && i.magnitude > 0))
        return false;
    *ret = i.magnitude;
    return true;
}

static bool read_real(const json_t *value, double *ret)
{
    if (json_is_number(value)) {
        *ret = json_number_value(value);
        return true;
    }
    const char *text = json_string_value(value);
    if (!text)
        return false;
    if (strcmp(text, "NaN") == 0)
        *ret = NAN;
    else if (strcmp(text, "Infinity") == 0)
        *ret = INFINITY;
    else if (strcmp(text, "-Infinity") == 0)
        *ret = -INFINITY;
    else {
        char *end;
        if (strspn(text, "+-.eE0123456789") != strlen(text) || strchr("+.eE", *text))
            return false;
        *ret = strtod(text, &end);
        return isfinite(*ret) && *end == '\0';
    }
    return true;
}

static bool read_bool(const json_t *value, protobuf_c_boolean *ret)
{
    const char *text = json_string_value(value);
    bool yes = json_is_true(value) || (text && strcasecmp(text, "true") == 0);
    bool no = json_is_false(value) || (text && strcasecmp(text, "false") == 0);
    *ret = yes;
    return yes || no;
}

static bool read_enum(const ProtobufCEnumDescriptor *d, const json_t *value, int32_t *ret)
{
    const ProtobufCEnumValue *named =
        json_is_string(value)
            ? protobuf_c_enum_descriptor_get_value_by_name(d, json_string_value(value))
            : NULL;
    int64_t number = named ? named->value : 0;
    if (!named && !read_signed(value, INT32_MAX, &number))
        return false;
    *ret = (int32_t)number;
    return true;
}

static bool
read_bytes(const struct at_json_reader *r, const json_t *value, ProtobufCBinaryData *ret)
{
    if (!json_is_string(value))
        return false;
    struct at_slice text = at_slice_make(json_string_value(value), json_string_length(value));
    AT_CLEANUP(at_buf_deinit) struct at_buf raw;
    at_buf_init(&raw, text.len + 1);
    if (at_unescape_base64(&raw, text) != AT_OK)
        return false;
    struct at_slice copy = at_arena_copy(r->arena, at_buf_slice(&raw));
    *ret = (ProtobufCBinaryData){.data = (uint8_t *)(uintptr_t)copy.data, .len = copy.len};
    return true;
}

/* jansson has seen to it that it is UTF-8 without NUL. */
static bool read_string(const struct at_json_reader *r, const json_t *value, char **ret)
{
    if (!json_is_string(value))
        return false;
    struct at_slice text = at_slice_make(json_string_value(value), json_string_length(value));
    *ret = (char *)(uintptr_t)at_arena_copy(r->arena, text).data;
    return true;
}

static bool read_32(const ProtobufCFieldDescriptor *field, const json_t *value, void *item)
{
    int64_t v;
    uint64_t u;
    bool is_signed =
        field->type != PROTOBUF_C_TYPE_UINT32 && field->type != PROTOBUF_C_TYPE_FIXED32;
    if (is_signed && read_signed(value, INT32_MAX, &v)) {
        *(int32_t *)item = (int32_t)v;
        return true;
    }
    if (is_signed || !read_unsigned(value, UINT32_MAX, &u))
        return false;
    *(uint32_t *)item = (uint32_t)u;
    return true;
}

static bool read_number(const ProtobufCFieldDescriptor *field, const json_t *value, void *item)
{
    double real;
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        return read_32(field, value, item);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return read_signed(value, INT64_MAX, item);
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return read_unsigned(value, UINT64_MAX, item);
    case PROTOBUF_C_TYPE_FLOAT:
        if (!read_real(value, &real) || (isfinite(real) && fabs(real) > 3.4028234663852886e38))
            return false;
        *(float *)item = (float)real;
        return true;
    case PROTOBUF_C_TYPE_DOUBLE:
        return read_real(value, item);
    case PROTOBUF_C_TYPE_BOOL:
        return read_bool(value, item);
    case PROTOBUF_C_TYPE_ENUM:
        return read_enum(field->descriptor, value, item);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        break;
    }
    return false;
}

enum at_code at_json_read_scalar(const struct at_json_reader *r,
                                 const struct at_json_place *at,
                                 const ProtobufCFieldDescriptor *field,
                                 const json_t *value,
                                 void *item)
{
    bool good;
    if (field->type == PROTOBUF_C_TYPE_STRING)
        good = read_string(r, value, item);
    else if (field->type == PROTOBUF_C_TYPE_BYTES)
        good = read_bytes(r, value, item);
    else
        good = read_number(field, value, item);
    return good ? AT_OK : at_json_refuse(r, at, "Invalid value", NULL);
}
