/* forward.h: one forwarded request, from the client's call to a cluster and back. ADAPTER. */
#ifndef ATOLL_ROUTING_PROXY_FORWARD_H
#define ATOLL_ROUTING_PROXY_FORWARD_H

#include "routing/method.h"
#include "routing/proxy/front.h"
#include "wire/grpc_server.h"

/* Handler context of one method: the same for all loops; the front is found by the call's loop. */
struct at_forward_method {
    const struct at_route_method *method;
    struct at_front *const *fronts;
    uint32_t front_count;
    struct at_board *board;
};

/* at_forward_request is an at_grpc_method handler; ctx is an at_forward_method. */
void at_forward_request(struct at_grpc_call *call, void *ctx);

#endif
