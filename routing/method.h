/* method.h: the RPCs a router forwards, and what may be done with each. PURE. */
#ifndef ATOLL_ROUTING_METHOD_H
#define ATOLL_ROUTING_METHOD_H

#include "base/pbwire.h"
#include "base/status.h"

enum at_method_route {
    AT_ROUTE_PROFILE, /* by the request's app profile */
    AT_ROUTE_ADMIN,   /* to any live cluster of the instance, nearest first */
    AT_ROUTE_CLUSTER, /* to the cluster that the request names, and to no other */
    AT_ROUTE_DESK,    /* the router answers it itself */
};

/* What is gathered over all instances of a project when the request names it or "instances/-". */
enum at_gather {
    AT_GATHER_NO,
    AT_GATHER_CLUSTERS,
    AT_GATHER_PROFILES,
    AT_GATHER_OPERATIONS,
    AT_GATHER_BACKUPS
};

/* Where the one row key of a request sits, for row affinity. */
enum at_row_place {
    AT_ROW_NONE,
    AT_ROW_PLAIN,      /* a bytes field of the request */
    AT_ROW_IN_SET,     /* in its RowSet: only if that has exactly one key and no range */
    AT_ROW_IN_ENTRIES, /* in its entries: only if there is exactly one */
};

struct at_route_method {
    const char *path;
    enum at_method_route route;
    uint32_t table_field;    /* field number of the name of what it is about; 0: none */
    bool nested;             /* that field is a message, and its first field is the name */
    uint32_t view_fields[2]; /* names that may stand instead; 0: none */
    uint32_t cluster_field;  /* AT_ROUTE_CLUSTER: of a name below the cluster; 0: table_field */
    enum at_gather gather;
    uint32_t profile_field; /* of app_profile_id; 0: none */
    enum at_row_place row_place;
    uint32_t row_field;       /* of the key, set or entries */
    uint32_t mutations_field; /* PLAIN: of the request's mutations; IN_ENTRIES: of an entry's */
    bool idempotent;          /* may be sent again when it is not known whether it ran */
    bool transaction;         /* never sent twice, refused by most profiles */
    bool changes_profiles;    /* the router's view must follow before the answer leaves */
};

/* The whole table, for registering handlers. */
const struct at_route_method *at_route_methods(uint32_t *ret_count);

/* What the router reads of a request. Slices borrow the message. */
struct at_request_head {
    struct at_slice table_name;     /* of the table, instance or whatever it is about */
    struct at_slice cluster_name;   /* AT_ROUTE_CLUSTER: a name below the cluster */
    struct at_slice app_profile_id; /* empty: "default" */
    struct at_slice row_key;        /* empty unless the request is about exactly one row */
    bool adds; /* some mutation adds to or merges into an aggregate: sent twice, it
                  could count twice */
};

/* at_request_peek reads the head of a message without decoding the rest. INVALID_ARGUMENT when the
 * bytes are not protobuf. A field that stands twice counts as its last. */
AT_MUST_USE enum at_code at_request_peek(const struct at_route_method *method,
                                         struct at_slice message,
                                         struct at_request_head *ret_head,
                                         struct at_error *reterr);

#endif
