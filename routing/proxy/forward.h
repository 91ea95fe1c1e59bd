/* forward.h: one forwarded request, from the client's call to a cluster and back. ADAPTER. */
#ifndef ATOLL_ROUTING_PROXY_FORWARD_H
#define ATOLL_ROUTING_PROXY_FORWARD_H

#include "routing/method.h"
#include "routing/proxy/fleet.h"
#include "wire/grpc_server.h"

/* Handler context of one method: the same for all loops; the front is found by the call's loop and
 * by the instance that the request names. */
struct at_forward_method {
    const struct at_route_method *method;
    const struct at_fleet *fleet;
};

/* at_forward_request is an at_grpc_method handler; ctx is an at_forward_method. */
void at_forward_request(struct at_grpc_call *call, void *ctx);

/* at_forward_front returns the front of the instance that `name` is in. What names no instance at
 * all goes to the router's own: its clusters say what is wrong. NOT_FOUND, INVALID_ARGUMENT. Loop
 * thread. */
AT_MUST_USE enum at_code at_forward_front(const struct at_fleet *fleet,
                                          const struct at_loop *loop,
                                          struct at_slice name,
                                          struct at_front **ret_front,
                                          struct at_error *reterr);

#endif
