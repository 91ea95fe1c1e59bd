/* cluster_update.h: UpdateCluster and PartialUpdateCluster. ADAPTER. `ctx` is the at_service. */
#ifndef ATOLL_CLUSTER_ADMIN_CLUSTER_UPDATE_H
#define ATOLL_CLUSTER_ADMIN_CLUSTER_UPDATE_H

#include "cluster/service/service.h"

void at_on_update_cluster(struct at_grpc_call *call, void *ctx);
void at_on_partial_update_cluster(struct at_grpc_call *call, void *ctx);

#endif
