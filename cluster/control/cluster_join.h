/* cluster_join.h: atoll.v1.Cluster.Join: a cluster that was created where nobody starts processes
 * is started by hand, and becomes a member. ADAPTER. */
#ifndef ATOLL_CLUSTER_CONTROL_CLUSTER_JOIN_H
#define ATOLL_CLUSTER_CONTROL_CLUSTER_JOIN_H

#include "cluster/admin/admin.h"

void at_on_join(struct at_grpc_call *call, void *ctx);

#endif
