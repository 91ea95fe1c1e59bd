/* operation.h: long-running operations, kept as records of the catalog: every member knows them,
 * and they outlive restarts. ADAPTER.
 *
 * Most are done when they are answered; the change they stand for is committed first, the record
 * after it. Only the newest ones are kept (AT_OPERATIONS_MAX). */
#ifndef ATOLL_CLUSTER_SERVICE_OPERATION_H
#define ATOLL_CLUSTER_SERVICE_OPERATION_H

#include "cluster/service/service.h"
#include "google/longrunning/operations.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"

struct at_operation_answer {
    const char *resource; /* full name */
    uint64_t number;      /* the stamp of the change: what makes the name unique */
    const ProtobufCMessage *response;
    const ProtobufCMessage *metadata;
};
/* at_operation_reply records an operation that is done and answers the call with it. */
void at_operation_reply(struct at_service *service,
                        struct at_grpc_call *call,
                        const struct at_operation_answer *answer);

/* at_operation_name: "operations/<resource>/operations/<number>". */
char *at_operation_name(struct at_arena *arena, const char *resource, uint64_t number);

/* at_admin_any packs a message with its type. */
Google__Protobuf__Any *at_admin_any(struct at_arena *arena, const ProtobufCMessage *message);
/* at_admin_time: wall clock nanoseconds as a message. */
Google__Protobuf__Timestamp *at_admin_time(struct at_arena *arena, uint64_t wall_ns);

/* at_operation_find returns the operation of this name, with progress filled in; NULL: there is
 * none. */
Google__Longrunning__Operation *
at_operation_find(struct at_service *service, struct at_arena *arena, const char *name);

/* --- handlers; `ctx` is the at_service --- */
void at_on_get_operation(struct at_grpc_call *call, void *ctx);
void at_on_list_operations(struct at_grpc_call *call, void *ctx);
void at_on_wait_operation(struct at_grpc_call *call, void *ctx);
void at_on_cancel_operation(struct at_grpc_call *call, void *ctx);
void at_on_delete_operation(struct at_grpc_call *call, void *ctx);

#endif
