/* error.h: errors as Google's JSON APIs answer them. PURE. */
#ifndef ATOLL_ROUTING_REST_ERROR_H
#define ATOLL_ROUTING_REST_ERROR_H

#include "base/arena.h"
#include "base/buf.h"

/* at_rest_http_status: the HTTP status for a code (google/rpc/code.proto). */
uint32_t at_rest_http_status(enum at_code code);

/* at_rest_error_write appends {"error":{"code","message","status","details"}}. `status` is a
 * serialized google.rpc.Status, or empty; its details that can't be shown are left out.
 * RESOURCE_EXHAUSTED from `out`. */
AT_MUST_USE enum at_code at_rest_error_write(enum at_code code,
                                             struct at_slice message,
                                             struct at_slice status,
                                             struct at_arena *arena,
                                             struct at_buf *out);

#endif
