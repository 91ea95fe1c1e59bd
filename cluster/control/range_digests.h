/* range_digests.h: atoll.v1.Cluster/RangeDigests: digests of stretches of a table. ADAPTER. */
#ifndef ATOLL_CLUSTER_CONTROL_RANGE_DIGESTS_H
#define ATOLL_CLUSTER_CONTROL_RANGE_DIGESTS_H

#include "cluster/service/service.h"

/* Reads in bounded steps on the call's loop. `ctx` is the at_service. */
void at_on_range_digests(struct at_grpc_call *call, void *ctx);

#endif
