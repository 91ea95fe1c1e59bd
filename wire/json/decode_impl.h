/* decode_impl.h: what the files of the decoder share. Internal to wire/json. */
#ifndef ATOLL_WIRE_JSON_DECODE_IMPL_H
#define ATOLL_WIRE_JSON_DECODE_IMPL_H

#include <jansson.h>

#include "base/arena.h"
#include "base/status.h"
#include "wire/json/field.h"

struct at_json_reader {
    const struct at_json_pool *pool;
    struct at_arena *arena;
    struct at_error *reterr;
};

/* Where in the value the reader is; lives on the stack. */
struct at_json_place {
    const struct at_json_place *up; /* NULL: the whole value */
    const char *name;
    uint32_t depth;
};

/* at_json_refuse says what is wrong and where. Returns INVALID_ARGUMENT. */
enum at_code at_json_refuse(const struct at_json_reader *r,
                            const struct at_json_place *at,
                            const char *what,
                            const char *subject);

/* at_json_read_scalar reads a value of any type but message into `item`. */
AT_MUST_USE enum at_code at_json_read_scalar(const struct at_json_reader *r,
                                             const struct at_json_place *at,
                                             const ProtobufCFieldDescriptor *field,
                                             const json_t *value,
                                             void *item);

#endif
