/* ask.h: one unary call to one process, from a command. ADAPTER (gRPC). */
#ifndef ATOLL_CLI_ASK_H
#define ATOLL_CLI_ASK_H

#include "wire/grpc_client.h"
#include "wire/proto_alloc.h"

struct at_ask {
    const char *host;
    uint16_t port;
    const char *path;
    uint32_t timeout_ms;
};

/* at_ask_unary sends `request` and unpacks the answer into the arena. The peer's code with its
 * message, UNAVAILABLE, DEADLINE_EXCEEDED, or DATA_LOSS for an answer that is malformed. Blocks. */
AT_MUST_USE enum at_code at_ask_unary(const struct at_ask *ask,
                                      const ProtobufCMessage *request,
                                      const ProtobufCMessageDescriptor *answer,
                                      struct at_arena *arena,
                                      void **ret_answer,
                                      struct at_error *reterr);

/* at_ask_alive: OK when a cluster answers at all; asked before what may take it minutes, to tell
 * one that hangs from one that works. AT_ASK_ALIVE_MS is long enough for one that is busy. */
#define AT_ASK_ALIVE_MS 20000
AT_MUST_USE enum at_code at_ask_alive(const char *host,
                                      uint16_t port,
                                      uint32_t timeout_ms,
                                      struct at_arena *arena,
                                      struct at_error *reterr);

#endif
