/* route.h: which RPC an HTTP request of the administration API stands for. PURE.
 *
 * The table is that of the public protos' HTTP annotations, whole: what this system does not serve
 * is forwarded as well, and refused where all RPCs are. */
#ifndef ATOLL_ROUTING_REST_ROUTE_H
#define ATOLL_ROUTING_REST_ROUTE_H

#include <protobuf-c/protobuf-c.h>

#include "base/slice.h"

struct at_rest_route {
    const char *verb;    /* "GET" */
    const char *pattern; /* behind "/v2/": text with one {variable=segments}, where '*' is a segment
                            and a '**' at the end is one or more */
    const char *body;    /* NULL: none; "*": the whole request; else the field it fills */
    const char *rpc;     /* the path of gRPC */
    const ProtobufCMessageDescriptor *request;
    const ProtobufCMessageDescriptor *response;
};

struct at_rest_match {
    const struct at_rest_route *route;
    struct at_slice variable; /* the field that `value` fills, like "table.name"; static */
    struct at_slice value;    /* borrows the path */
};

/* at_rest_is_path tells whether the administration API is meant at all. */
bool at_rest_is_path(struct at_slice path);

/* at_rest_route_find looks up verb and (percent-decoded) path; false when there is none. */
bool at_rest_route_find(const char *verb, struct at_slice path, struct at_rest_match *ret_match);

/* The whole table, for tests. */
const struct at_rest_route *at_rest_routes(size_t *ret_count);

#endif
