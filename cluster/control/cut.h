/* cut.h: atoll.v1.Cluster/SetCut: links that are cut for drills. ADAPTER. */
#ifndef ATOLL_CLUSTER_CONTROL_CUT_H
#define ATOLL_CLUSTER_CONTROL_CUT_H

#include "cluster/service/service.h"

void at_on_set_cut(struct at_grpc_call *call, void *ctx);

#endif
