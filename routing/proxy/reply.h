/* reply.h: what a router puts around the answers it passes on or makes itself. ADAPTER.
 *
 * Every answer carries server-timing with the time the router took; the cluster's own metadata
 * (who served) goes through. Loop thread of the call. */
#ifndef ATOLL_ROUTING_PROXY_REPLY_H
#define ATOLL_ROUTING_PROXY_REPLY_H

#include "wire/grpc_client.h"
#include "wire/grpc_server.h"

/* at_reply_headers passes initial metadata of a cluster on. Once per call, before any bytes. */
void at_reply_headers(struct at_grpc_call *call,
                      const struct at_grpc_metadata *metadata,
                      size_t count);

/* at_reply_result finishes the call as the cluster (or the broken connection to it) did.
 * `have_headers`: at_reply_headers was called. */
void at_reply_result(struct at_grpc_call *call,
                     const struct at_grpc_result *result,
                     bool have_headers);

/* at_reply_error finishes with an error of the router's own. */
void at_reply_error(struct at_grpc_call *call, const struct at_error *error);

#endif
