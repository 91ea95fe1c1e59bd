/* grpc_reflection.h: grpc.reflection.v1 and v1alpha for any server of this project. ADAPTER.
 *
 * Tells which services the server has, and the descriptors of all protos it was built with, so that
 * tools can call it without having the protos. A stream's questions are answered one by one, as
 * they come. There are no extensions. */
#ifndef ATOLL_WIRE_GRPC_REFLECTION_H
#define ATOLL_WIRE_GRPC_REFLECTION_H

#include "wire/grpc_server.h"

#define AT_GRPC_REFLECTION_METHODS 2

/* Outlives the server. */
struct at_grpc_reflection {
    const struct at_grpc_method *methods; /* of the server; their paths tell the services */
    size_t method_count;
};

/* at_grpc_reflection_methods fills AT_GRPC_REFLECTION_METHODS methods. `reflection` is borrowed. */
void at_grpc_reflection_methods(const struct at_grpc_reflection *reflection,
                                struct at_grpc_method *ret_methods);

/* at_grpc_reflection_streams: as many streams, for the server's configuration. */
const struct at_grpc_stream *at_grpc_reflection_streams(void);

/* at_grpc_reflection_answer appends the serialized ServerReflectionResponse to one serialized
 * ServerReflectionRequest. INVALID_ARGUMENT when that is malformed; RESOURCE_EXHAUSTED from the
 * buffer. PURE. */
AT_MUST_USE enum at_code at_grpc_reflection_answer(const struct at_grpc_reflection *reflection,
                                                   struct at_slice request,
                                                   struct at_buf *out);

#endif
