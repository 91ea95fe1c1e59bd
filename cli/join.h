/* join.h: a cluster that no launcher starts becomes a member: `atoll cluster --join`. ADAPTER.
 *
 * It was created before (CreateCluster, at a router without a launcher). The first time it asks any
 * member for its number and for the others; that is kept in DATA/instance.yaml, and later starts
 * need nobody. */
#ifndef ATOLL_CLI_JOIN_H
#define ATOLL_CLI_JOIN_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

struct at_join_options {
    const char *member; /* "HOST:PORT" of any member's gRPC */
    const char *cluster;
    const char *zone; /* NULL: whatever it was created in */
    const char *data;
    const char *host;   /* where the others find this one; NULL: 127.0.0.1 */
    uint16_t grpc_port; /* 0: a free one */
    uint16_t peer_port;
};

/* at_join returns the path of the instance file (arena). INVALID_ARGUMENT; NOT_FOUND when the
 * cluster was not created; ALREADY_EXISTS when it has joined from another place; UNAVAILABLE when
 * the member can't be reached or files can't be written. Blocks. */
AT_MUST_USE enum at_code at_join(const struct at_join_options *options,
                                 struct at_arena *arena,
                                 const char **ret_file,
                                 struct at_error *reterr);

#endif
