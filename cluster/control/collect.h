/* collect.h: atoll.v1.Cluster/Collect: garbage collection now. ADAPTER. */
#ifndef ATOLL_CLUSTER_CONTROL_COLLECT_H
#define ATOLL_CLUSTER_CONTROL_COLLECT_H

#include "cluster/service/service.h"

/* Answers when the collector is done with it. `ctx` is the at_service. */
void at_on_collect(struct at_grpc_call *call, void *ctx);

#endif
