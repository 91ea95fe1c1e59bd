/* encode.h: a protobuf-c message as JSON, by its descriptor. PURE.
 *
 * The JSON mapping of proto3: lowerCamelCase names, 64-bit integers as strings, base64, names of
 * enum values, RFC 3339, "3.5s", masks joined by commas, Any with "@type"; default values are left
 * out, members of a oneof never. */
#ifndef ATOLL_WIRE_JSON_ENCODE_H
#define ATOLL_WIRE_JSON_ENCODE_H

#include "base/arena.h"
#include "base/buf.h"
#include "wire/json/field.h"

/* at_json_encode appends the message. The arena holds what Anys unpack to. RESOURCE_EXHAUSTED when
 * `out` is full or messages are nested too deep; INTERNAL when an Any is malformed or of a type
 * that the pool does not have, or a time is out of range. */
AT_MUST_USE enum at_code at_json_encode(const struct at_json_pool *pool,
                                        const ProtobufCMessage *message,
                                        struct at_arena *arena,
                                        struct at_buf *out);

/* at_json_encode_text appends a quoted string (UTF-8 in, UTF-8 out). */
AT_MUST_USE enum at_code at_json_encode_text(struct at_buf *out, struct at_slice text);

#endif
