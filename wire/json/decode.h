/* decode.h: JSON as a protobuf-c message, by its descriptor. PURE but for jansson's heap.
 *
 * Takes what the JSON mapping of proto3 lets senders write: both spellings of names, integers as
 * numbers or strings, both alphabets of base64, enum values by name or number, masks in either
 * spelling, null for what is not there. Beyond it, booleans may be strings in any case ("False"),
 * as command line tools send them. What is unknown, of the wrong type, out of range or there twice
 * is refused. */
#ifndef ATOLL_WIRE_JSON_DECODE_H
#define ATOLL_WIRE_JSON_DECODE_H

#include "base/arena.h"
#include "base/status.h"
#include "wire/json/field.h"

struct json_t;

/* at_json_parse reads a text into a value that the caller gives back with json_decref. The text's
 * size is the caller's to bound. INVALID_ARGUMENT, with line and column. */
AT_MUST_USE enum at_code
at_json_parse(struct at_slice text, struct json_t **ret_value, struct at_error *reterr);

/* at_json_decode makes a message in the arena, which keeps nothing of `value`. INVALID_ARGUMENT,
 * with the path of the field. */
AT_MUST_USE enum at_code at_json_decode(const struct at_json_pool *pool,
                                        const ProtobufCMessageDescriptor *descriptor,
                                        const struct json_t *value,
                                        struct at_arena *arena,
                                        ProtobufCMessage **ret_message,
                                        struct at_error *reterr);

#endif
