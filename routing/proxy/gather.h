/* gather.h: one question to every instance of a project, answered as one list. ADAPTER.
 *
 * Each instance is asked at its nearest live cluster, and at the next one when that does not
 * answer. One of which none answers is named among the locations that failed. A request that one
 * finds INVALID_ARGUMENT is refused as a whole. */
#ifndef ATOLL_ROUTING_PROXY_GATHER_H
#define ATOLL_ROUTING_PROXY_GATHER_H

#include "routing/method.h"
#include "routing/proxy/fleet.h"
#include "wire/grpc_server.h"

struct at_gather_plan {
    const struct at_fleet *fleet;
    struct at_slice project;
    const char *path;            /* the RPC that each is asked */
    struct at_slice request;     /* in front of the name; fields that stand later count */
    struct at_slice name_prefix; /* around "projects/P/instances/I" */
    struct at_slice name_suffix;
    uint32_t name_field;
    uint32_t page_size_field;  /* 0: it has none; else it and the client's token are taken out */
    uint32_t page_token_field; /* 0: it has none; else each instance is asked for all its pages */
    uint32_t failed_field;     /* of the answer: locations; 0: none */
    bool whole;                /* each answer is one item, not a list of them */
    struct at_slice more;      /* fields that the answer begins with. Copied */
};

/* at_gather_method fills the plan's fields for a request to list over a project; false when the
 * request is about one instance. Slices borrow the request and static text. */
bool at_gather_method(const struct at_route_method *method,
                      struct at_slice request,
                      struct at_gather_plan *ret_plan);

/* at_gather answers the call. Loop thread of the call. */
void at_gather(struct at_grpc_call *call, const struct at_gather_plan *plan);

#endif
