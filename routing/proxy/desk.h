/* desk.h: what a router does itself: making and removing instances and clusters, and lists over
 * several instances. ADAPTER.
 *
 * Acts are done on the loop of their call, except the making of an instance: that goes on on the
 * leader after its call was answered with an operation. A client that gives up ends no act. */
#ifndef ATOLL_ROUTING_PROXY_DESK_H
#define ATOLL_ROUTING_PROXY_DESK_H

#include "routing/proxy/forward.h"
#include "routing/proxy/launcher.h"
#include "routing/proxy/ledger.h"
#include "wire/proto_alloc.h"

struct at_desk_busy;
struct at_desk_poll;

struct at_desk {
    struct at_fleet *fleet;
    struct at_launcher launcher;
    struct at_ledger ledger;
    pthread_mutex_t lock;
    struct at_desk_poll *polls; /* instances that are waited for; leader */
    struct at_desk_busy *busy;  /* names of instances and clusters that an act is about */
};

/* Handler context of one method. */
struct at_desk_method {
    struct at_forward_method forward;
    struct at_desk *desk;
};

/* at_desk_init: without `program` or `state_dir` there is no launcher. */
void at_desk_init(struct at_desk *desk,
                  struct at_fleet *fleet,
                  const char *program,
                  const char *state_dir);

/* at_desk_resume serves the instances that are below the state directory, and goes on making those
 * that are half made. Before the loops run. */
void at_desk_resume(struct at_desk *desk);

/* at_desk_close ends what waits for the launcher; at_desk_deinit follows when the loops were
 * settled. After the loops have stopped. */
void at_desk_close(struct at_desk *desk);
void at_desk_deinit(struct at_desk *desk);

/* at_desk_handler returns what answers a method; its ctx is an at_desk_method. */
void (*at_desk_handler(const struct at_route_method *method))(struct at_grpc_call *call, void *ctx);

/* --- for the files of the desk --- */

void at_desk_create_instance(struct at_grpc_call *call, void *ctx);
void at_desk_delete_instance(struct at_grpc_call *call, void *ctx);
void at_desk_create_cluster(struct at_grpc_call *call, void *ctx);
void at_desk_delete_cluster(struct at_grpc_call *call, void *ctx);
void at_desk_cancel_operation(struct at_grpc_call *call, void *ctx);

/* at_desk_make begins to make an instance of what the launcher is told (taken over). Leader, or
 * before the loops run. `operation` and `request` are copied. */
void at_desk_make(struct at_desk *desk,
                  json_t *spec,
                  struct at_slice operation,
                  struct at_slice request);

/* at_desk_stop_polls ends waiting for instances to serve. After the loops have stopped. */
void at_desk_stop_polls(struct at_desk *desk);

/* at_desk_begin marks a name as being worked on; FAILED_PRECONDITION when it is already.
 * at_desk_end takes the mark off. Any thread. */
AT_MUST_USE enum at_code
at_desk_begin(struct at_desk *desk, struct at_slice name, struct at_error *reterr);
void at_desk_end(struct at_desk *desk, struct at_slice name);

/* at_desk_reply finishes the call with one message. */
void at_desk_reply(struct at_grpc_call *call, const ProtobufCMessage *message);

#endif
