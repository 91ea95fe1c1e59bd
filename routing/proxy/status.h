/* status.h: what a router tells about itself, by gRPC and by HTTP. ADAPTER. */
#ifndef ATOLL_ROUTING_PROXY_STATUS_H
#define ATOLL_ROUTING_PROXY_STATUS_H

#include "routing/proxy/fleet.h"
#include "wire/grpc_server.h"

/* at_status_method fills the method atoll.v1.Router/Status; its ctx is the fleet. */
void at_status_method(struct at_fleet *fleet, struct at_grpc_method *ret_method);

/* at_status_json appends the same as JSON. Any thread. RESOURCE_EXHAUSTED from the buffer. */
AT_MUST_USE enum at_code at_status_json(struct at_fleet *fleet, struct at_buf *out);

#endif
