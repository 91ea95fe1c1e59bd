/* call.h: the REST side of a router: HTTP requests become calls of its own gRPC port, so that all
 * rules of forwarding hold for them. ADAPTER (a loop and a thread of its own).
 *
 * Nothing waits: the caller is told when the answer is there. */
#ifndef ATOLL_ROUTING_REST_CALL_H
#define ATOLL_ROUTING_REST_CALL_H

#include "base/arena.h"
#include "base/buf.h"
#include "routing/rest/request.h"
#include "wire/loop.h"

#define AT_REST_ANSWER_BYTES_MAX (32 * AT_MIB)

struct at_rest;

/* at_rest_start calls 127.0.0.1:grpc_port. INTERNAL when no thread can be made. */
AT_MUST_USE enum at_code
at_rest_start(uint16_t grpc_port, struct at_rest **ret_rest, struct at_error *reterr);

/* at_rest_stop ends calls that are under way with an error; they have all been told when it
 * returns. Calls started later are told at once. NULL inside is legal; free with at_rest_free. */
void at_rest_stop(struct at_rest *rest);
void at_rest_free(struct at_rest **rest);

/* One request. From at_rest_call_start until on_done it belongs to the REST side. */
struct at_rest_call {
    struct at_rest *rest;
    void (*on_done)(struct at_rest_call *call); /* any thread, once */
    uint32_t http_status;                       /* set when done */
    struct at_buf answer;                       /* JSON, when done */
    /* Internal. */
    struct at_task task;
    struct at_arena arena;
    struct at_rest_match match;
    struct at_slice message;
    bool answered;
};

void at_rest_call_init(struct at_rest_call *call,
                       struct at_rest *rest,
                       void (*on_done)(struct at_rest_call *call));
void at_rest_call_deinit(struct at_rest_call *call);

/* at_rest_call_prepare finds the route and makes the message; `input` may go afterwards. False when
 * the answer (an error) is there already: then the call must not be started. */
bool at_rest_call_prepare(struct at_rest_call *call, const struct at_rest_input *input);

/* at_rest_call_start sends a prepared call; on_done may come before it returns. Any thread. */
void at_rest_call_start(struct at_rest_call *call);

/* at_rest_call_refuse makes the answer an error. */
void at_rest_call_refuse(struct at_rest_call *call, const struct at_error *error);

#endif
