/* method.h: the RPCs a router forwards, and what may be done with each. PURE. */
#ifndef ATOLL_ROUTING_METHOD_H
#define ATOLL_ROUTING_METHOD_H

#include "base/pbwire.h"
#include "base/status.h"

enum at_method_route {
    AT_ROUTE_PROFILE, /* by the request's app profile */
    AT_ROUTE_ADMIN,   /* to any live cluster, nearest first */
};

struct at_route_method {
    const char *path;
    enum at_method_route route;
    uint32_t table_field;   /* field number of the table or instance name; 0: none */
    uint32_t profile_field; /* of app_profile_id; 0: none */
    uint32_t row_field;     /* of the one row key, for row affinity; 0: none */
    bool idempotent;        /* may be sent again when it is not known whether it ran */
    bool transaction;       /* single-row transaction: never sent twice, refused by most profiles */
    bool changes_profiles;  /* the router's view must follow before the answer leaves */
};

/* The whole table, for registering handlers. */
const struct at_route_method *at_route_methods(uint32_t *ret_count);

/* What the router reads of a request. Slices borrow the message. */
struct at_request_head {
    struct at_slice table_name;
    struct at_slice app_profile_id; /* empty: "default" */
    struct at_slice row_key;
    /* Filled for writes: whether any cell asks for the server's time, which the router then
     * supplies, so that sending the request twice writes the same cells. Cheap: stops at the first.
     */
};

/* at_request_peek reads the head of a message without decoding the rest. INVALID_ARGUMENT when the
 * bytes are not protobuf. A field that stands twice counts as its last. */
AT_MUST_USE enum at_code at_request_peek(const struct at_route_method *method,
                                         struct at_slice message,
                                         struct at_request_head *ret_head,
                                         struct at_error *reterr);

#endif
