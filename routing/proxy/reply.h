/* reply.h: what a router puts around the answers it passes on or makes itself. ADAPTER.
 *
 * Every answer carries server-timing with the time the router took; the cluster's own metadata
 * (who served) goes through. Loop thread of the call. */
#ifndef ATOLL_ROUTING_PROXY_REPLY_H
#define ATOLL_ROUTING_PROXY_REPLY_H

#include "wire/grpc_client.h"
#include "wire/grpc_server.h"

#define AT_REPLY_DECIMAL_BYTES 20

/* at_reply_headers passes initial metadata of a cluster on (count 0: there is none). Once per call
 * that a cluster answered, before any bytes and before at_reply_result. */
void at_reply_headers(struct at_grpc_call *call,
                      const struct at_grpc_metadata *metadata,
                      size_t count);

/* at_reply_result finishes the call as the cluster did. What the router's own side made of a broken
 * connection becomes UNAVAILABLE, the code that clients retry. */
void at_reply_result(struct at_grpc_call *call, const struct at_grpc_result *result);

/* at_reply_error finishes with an error of the router's own. */
void at_reply_error(struct at_grpc_call *call, const struct at_error *error);

/* at_reply_decimal writes the digits of `v`, without a NUL, and returns how many. */
size_t at_reply_decimal(uint64_t v, char ret_text[AT_REPLY_DECIMAL_BYTES]);

#endif
