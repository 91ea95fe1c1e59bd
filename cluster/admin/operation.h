/* operation.h: long-running operations, kept as records of the catalog: every member knows them,
 * and they outlive restarts. ADAPTER.
 *
 * The record is committed together with the change that it stands for: most operations are done
 * with it, others begin. Only the newest ones are kept (AT_OPERATIONS_MAX). */
#ifndef ATOLL_CLUSTER_ADMIN_OPERATION_H
#define ATOLL_CLUSTER_ADMIN_OPERATION_H

#include "cluster/service/service.h"
#include "google/longrunning/operations.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"

struct at_change; /* admin.h */

/* What an operation that is done says; borrows the call's arena. */
struct at_operation_answer {
    const char *resource; /* full name */
    const ProtobufCMessage *response;
    const ProtobufCMessage *metadata;
};
/* On the writer thread: `after` is the catalog as the change makes it, but for its stamps. A code
 * refuses the change. */
typedef enum at_code (*at_operation_answer_fn)(const struct at_change *change,
                                               const struct at_catalog *after,
                                               struct at_operation_answer *ret_answer,
                                               struct at_error *reterr);
/* at_operation_submit is at_change_submit (whose `reply` it sets) for a change that is answered
 * with an operation, whose record is committed with it. */
void at_operation_submit(struct at_change *change, at_operation_answer_fn answer);

/* at_operation_begin puts the record of an operation that begins with the change, behind those that
 * `decide` has put; `number` as below. On the writer thread, by a `decide` of at_change_submit,
 * with at_operation_reply for `reply`. */
void at_operation_begin(struct at_change *change,
                        const char *resource,
                        uint64_t number,
                        const ProtobufCMessage *metadata);
/* at_operation_reply answers the change with its operation. */
void at_operation_reply(struct at_change *change);

/* at_operation_name: "operations/<resource>/operations/<number>". Of operations on one resource the
 * number, e.g. when it began, tells them apart. */
char *at_operation_name(struct at_arena *arena, const char *resource, uint64_t number);

/* at_admin_any packs a message with its type. */
Google__Protobuf__Any *at_admin_any(struct at_arena *arena, const ProtobufCMessage *message);
/* at_admin_time: wall clock nanoseconds as a message. */
Google__Protobuf__Timestamp *at_admin_time(struct at_arena *arena, uint64_t wall_ns);

/* at_operation_ended: the record's fields when the operation ends with an error now; empty when it
 * can't be read. */
struct at_slice at_operation_ended(const struct at_named_record *record,
                                   struct at_arena *arena,
                                   enum at_code code,
                                   const char *message);

/* at_operation_find returns the operation of this name, with progress filled in; NULL: there is
 * none. */
Google__Longrunning__Operation *
at_operation_find(struct at_service *service, struct at_arena *arena, const char *name);

/* at_operation_fail_unknown answers that there is none of this name. */
void at_operation_fail_unknown(struct at_service *service,
                               struct at_grpc_call *call,
                               const char *name);

/* --- handlers; `ctx` is the at_service --- */
void at_on_get_operation(struct at_grpc_call *call, void *ctx);
void at_on_list_operations(struct at_grpc_call *call, void *ctx);
void at_on_wait_operation(struct at_grpc_call *call, void *ctx);
void at_on_cancel_operation(struct at_grpc_call *call, void *ctx);
void at_on_delete_operation(struct at_grpc_call *call, void *ctx);

#endif
