/* operation.h: the operation that makes an instance, as messages. ADAPTER (arena). */
#ifndef ATOLL_ROUTING_PROXY_OPERATION_H
#define ATOLL_ROUTING_PROXY_OPERATION_H

#include "base/arena.h"
#include "base/status.h"
#include "google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h"

struct at_operation_facts {
    struct at_slice name; /* of the operation */
    const Google__Bigtable__Admin__V2__CreateInstanceRequest *request;
    uint64_t begin_ns;            /* wall */
    uint64_t end_ns;              /* wall; 0: it is under way */
    const struct at_error *error; /* how it failed; NULL: it did not */
};

/* at_operation_pack serializes the google.longrunning.Operation. */
struct at_slice at_operation_pack(const struct at_operation_facts *facts, struct at_arena *arena);

/* at_operation_instance makes the Instance of the request, READY or CREATING. */
Google__Bigtable__Admin__V2__Instance *
at_operation_instance(const Google__Bigtable__Admin__V2__CreateInstanceRequest *request,
                      bool ready,
                      uint64_t created_ns,
                      struct at_arena *arena);

/* at_operation_check: is this a request that can be done? INVALID_ARGUMENT, FAILED_PRECONDITION. */
AT_MUST_USE enum at_code
at_operation_check(const Google__Bigtable__Admin__V2__CreateInstanceRequest *request,
                   struct at_error *reterr);

#endif
