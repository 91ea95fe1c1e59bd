/* grpc_request.h: what comes in on a stream: header fields, then the message. Internal to wire/. */
#ifndef ATOLL_WIRE_GRPC_REQUEST_H
#define ATOLL_WIRE_GRPC_REQUEST_H

#include "wire/grpc_server_impl.h"

/* at_grpc_request_field takes one header field. */
void at_grpc_request_field(struct at_grpc_call *call, struct at_slice name, struct at_slice value);

/* at_grpc_request_headers_done checks the header block; answers what is refused. */
void at_grpc_request_headers_done(struct at_grpc_call *call);

/* at_grpc_request_data takes message bytes and gives flow-control credit back as the connection's
 * budget allows. */
void at_grpc_request_data(struct at_grpc_call *call, struct at_slice bytes);

/* at_grpc_request_end: the client has sent all; runs the handler. */
void at_grpc_request_end(struct at_grpc_call *call);

/* at_grpc_request_credit returns withheld credit after request bytes were released. */
void at_grpc_request_credit(struct at_grpc_conn *conn);

#endif
