#include "base/pbwire.h"

#include "base/assert.h"

#define FIELD_NUMBER_MAX ((1U << 29) - 1)

static bool read_varint(struct at_slice *rest, uint64_t *ret_v);
static bool read_fixed(struct at_slice *rest, size_t size, uint64_t *ret_v);
static bool read_value(struct at_slice *rest, struct at_pb_field *f);
static uint64_t tag_of(uint32_t field, enum at_pb_type type);

enum at_code at_pb_put_varint(struct at_buf *b, uint32_t field, uint64_t v)
{
    uint64_t tag = tag_of(field, AT_PB_VARINT);
    size_t size = at_pb_varint_size(tag) + at_pb_varint_size(v);

    AT_TRY(at_buf_reserve(b, size));
    at_pb_write_varint(at_pb_write_varint(b->data + b->len, tag), v);
    b->len += size;
    return AT_OK;
}

enum at_code at_pb_put_bytes(struct at_buf *b, uint32_t field, struct at_slice s)
{
    uint64_t tag = tag_of(field, AT_PB_BYTES);
    size_t head = at_pb_varint_size(tag) + at_pb_varint_size(s.len);

    if (s.len > b->max)
        return AT_RESOURCE_EXHAUSTED;
    AT_TRY(at_buf_reserve(b, head + s.len));
    uint8_t *p = at_pb_write_varint(at_pb_write_varint(b->data + b->len, tag), s.len);
    if (s.len > 0)
        memcpy(p, s.data, s.len);
    b->len += head + s.len;
    return AT_OK;
}

enum at_code at_pb_put_head(struct at_buf *b, uint32_t field, size_t len)
{
    uint64_t tag = tag_of(field, AT_PB_BYTES);
    size_t size = at_pb_varint_size(tag) + at_pb_varint_size(len);

    AT_TRY(at_buf_reserve(b, size));
    at_pb_write_varint(at_pb_write_varint(b->data + b->len, tag), len);
    b->len += size;
    return AT_OK;
}

bool at_pb_next(struct at_slice *rest, struct at_pb_field *ret_field, bool *ret_bad)
{
    uint64_t tag = 0;

    if (rest->len == 0)
        return false;
    *ret_field = (struct at_pb_field){0};
    if (!read_varint(rest, &tag) || tag >> 3 == 0 || tag >> 3 > FIELD_NUMBER_MAX) {
        *ret_bad = true;
        return false;
    }
    ret_field->number = (uint32_t)(tag >> 3);
    ret_field->type = (enum at_pb_type)(tag & 7);
    if (!read_value(rest, ret_field)) {
        *ret_bad = true;
        return false;
    }
    return true;
}

static bool read_value(struct at_slice *rest, struct at_pb_field *f)
{
    uint64_t len = 0;

    switch (f->type) {
    case AT_PB_VARINT:
        return read_varint(rest, &f->varint);
    case AT_PB_FIXED64:
        return read_fixed(rest, 8, &f->varint);
    case AT_PB_FIXED32:
        return read_fixed(rest, 4, &f->varint);
    case AT_PB_BYTES:
        if (!read_varint(rest, &len) || len > rest->len)
            return false;
        f->bytes = at_slice_make(rest->data, (size_t)len);
        *rest = at_slice_from(*rest, (size_t)len);
        return true;
    }
    return false;
}

static bool read_varint(struct at_slice *rest, uint64_t *ret_v)
{
    uint64_t v = 0;
    size_t count = rest->len < 10 ? rest->len : 10;

    for (size_t i = 0; i < count; i++) {
        uint64_t byte = rest->data[i];
        v |= (byte & 0x7f) << (7 * i);
        if (byte >= 0x80)
            continue;
        /* The tenth byte holds bit 63 alone. */
        if (i == 9 && byte > 1)
            return false;
        *rest = at_slice_from(*rest, i + 1);
        *ret_v = v;
        return true;
    }
    return false;
}

/* Little-endian, as all of protobuf. */
static bool read_fixed(struct at_slice *rest, size_t size, uint64_t *ret_v)
{
    uint64_t v = 0;

    if (rest->len < size)
        return false;
    for (size_t i = 0; i < size; i++)
        v |= (uint64_t)rest->data[i] << (8 * i);
    *rest = at_slice_from(*rest, size);
    *ret_v = v;
    return true;
}

static uint64_t tag_of(uint32_t field, enum at_pb_type type)
{
    AT_ASSERT(field > 0 && field <= FIELD_NUMBER_MAX);
    return (uint64_t)field << 3 | (uint64_t)type;
}
