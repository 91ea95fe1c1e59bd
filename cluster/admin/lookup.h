/* lookup.h: a request that only asks, answered at once from the newest catalog. ADAPTER.
 *
 * A handler is a descriptor and an at_lookup_fn: what stands between the request's bytes and the
 * answer's is the same for all of them. */
#ifndef ATOLL_CLUSTER_ADMIN_LOOKUP_H
#define ATOLL_CLUSTER_ADMIN_LOOKUP_H

#include "cluster/service/service.h"

struct at_lookup {
    struct at_service *service;
    struct at_arena *arena;           /* the call's: where answers are made */
    const struct at_catalog *catalog; /* stays as it is until the call is answered */
};

/* Finds the answer to `request`, a message of the descriptor's type; it may borrow the arena, the
 * request and the catalog. Any code is the answer then. Loop thread; does not block. */
typedef enum at_code (*at_lookup_fn)(const struct at_lookup *lookup,
                                     const void *request,
                                     const ProtobufCMessage **ret_answer,
                                     struct at_error *reterr);

/* at_lookup_answer unpacks the call's request, answers with what `find` says of it, and finishes
 * the call. INVALID_ARGUMENT is answered when it is no such message. Loop thread. */
void at_lookup_answer(struct at_service *service,
                      struct at_grpc_call *call,
                      const ProtobufCMessageDescriptor *request,
                      at_lookup_fn find);

#endif
