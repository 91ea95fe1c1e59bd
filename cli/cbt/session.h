/* session.h: one endpoint, project and instance for the commands of `atoll cbt` and `atoll
 * bench`, calls with retries, and messages as cbt prints them. ADAPTER (gRPC, stdio). */
#ifndef ATOLL_CLI_CBT_SESSION_H
#define ATOLL_CLI_CBT_SESSION_H

#include "cli/cbt/proto.h"
#include "wire/grpc_client.h"

#define AT_CBT_ATTEMPTS_MAX 5

struct at_cbt {
    struct at_arena arena; /* of the whole command */
    const char *project;
    const char *instance;
    const char *instance_name; /* projects/P/instances/I */
    char *host;
    uint16_t port;
    uint64_t timeout_ns; /* of the command; UINT64_MAX: none */
    struct at_loop *loop;
    struct at_grpc_channel *channel;
    uint64_t deadline_ns;
};

/* at_cbt_init prepares one without endpoint: project "atoll", instance "lab". */
void at_cbt_init(struct at_cbt *cbt);

/* at_cbt_connect opens the channel to HOST:PORT. INVALID_ARGUMENT for an endpoint that is not one;
 * else as at_grpc_channel_open. */
AT_MUST_USE enum at_code at_cbt_connect(struct at_cbt *cbt,
                                        const char *endpoint,
                                        uint32_t connections,
                                        struct at_error *reterr);
void at_cbt_deinit(struct at_cbt *cbt);

/* at_cbt_name returns PARENT/KIND/ID, in the arena. */
const char *at_cbt_name(struct at_cbt *cbt, const char *parent, const char *kind, const char *id);
/* at_cbt_table returns the name of a table of the instance. */
const char *at_cbt_table(struct at_cbt *cbt, const char *table);

struct at_cbt_method {
    const char *path;
    const ProtobufCMessageDescriptor *answer;
    bool idempotent; /* may be sent again after UNAVAILABLE; else only when it was not processed */
};

/* at_cbt_call makes a unary call and unpacks the answer into the arena. The peer's code and
 * message; UNAVAILABLE after several attempts; INTERNAL for an answer that is malformed. Blocks. */
AT_MUST_USE enum at_code at_cbt_call(struct at_cbt *cbt,
                                     const struct at_cbt_method *method,
                                     const void *request,
                                     void **ret_answer,
                                     struct at_error *reterr);

/* at_cbt_pause waits before attempt number `attempt` (from 1): 50 ms, doubling. Blocks. */
void at_cbt_pause(uint32_t attempt);

/* at_cbt_features is the metadata that tells the server what this client understands. */
const struct at_grpc_metadata *at_cbt_features(void);

/* at_cbt_log prints the date and a line to stderr, as Go's log does; at_cbt_fatal returns 1. */
void at_cbt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
int at_cbt_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* at_cbt_failed prints "WHAT: rpc error: code = NotFound desc = ..." and returns 1. */
int at_cbt_failed(const char *what, const struct at_error *error);

/* at_cbt_code_name returns e.g. "NotFound", as Go spells a code. Static. */
const char *at_cbt_code_name(enum at_code code);

#endif
