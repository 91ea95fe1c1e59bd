/* field.h: how protobuf-c's descriptors read in JSON: names, maps, messages with a form of their
 * own. PURE. */
#ifndef ATOLL_WIRE_JSON_FIELD_H
#define ATOLL_WIRE_JSON_FIELD_H

#include <protobuf-c/protobuf-c.h>

#include "base/slice.h"

#define AT_JSON_NAME_BYTES 96 /* of a JSON name with its NUL */
#define AT_JSON_DEPTH_MAX 64  /* messages within messages, both ways */

/* The messages that an Any may hold. Borrowed; usually static. */
struct at_json_pool {
    const ProtobufCMessageDescriptor *const *messages;
    size_t count;
};

/* at_json_pool_find finds by full name ("google.rpc.Status"); NULL when it is not there. */
const ProtobufCMessageDescriptor *at_json_pool_find(const struct at_json_pool *pool,
                                                    struct at_slice name);

/* Messages that JSON writes in a form of their own. */
enum at_json_kind {
    AT_JSON_PLAIN,
    AT_JSON_TIMESTAMP,
    AT_JSON_DURATION,
    AT_JSON_MASK,
    AT_JSON_WRAPPER, /* Int32Value and the like: their `value` alone */
    AT_JSON_ANY,
};

enum at_json_kind at_json_kind(const ProtobufCMessageDescriptor *descriptor);

/* at_json_name writes the lowerCamelCase of a field's name (or path of names), cut to what fits
 * with a NUL into `size` bytes. Returns its length. */
size_t at_json_name(const char *snake, char *ret_name, size_t size);

/* at_json_field finds by either spelling; NULL when the message has no such field. */
const ProtobufCFieldDescriptor *at_json_field(const ProtobufCMessageDescriptor *descriptor,
                                              struct at_slice name);

/* at_json_is_map: protobuf-c shows a map as repeated entries of `key` and `value`; what gives it
 * away is the entry's name, which protoc makes from the field's. */
bool at_json_is_map(const ProtobufCMessageDescriptor *owner, const ProtobufCFieldDescriptor *field);

static inline bool at_json_is_oneof(const ProtobufCFieldDescriptor *field)
{
    return (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
}

/* at_json_item_size: bytes of one value of this type in a message or an array of them. */
size_t at_json_item_size(ProtobufCType type);

#endif
