/* explain.h: atoll.v1.Cluster/Explain: all that is stored of a row, and why it shows. ADAPTER. */
#ifndef ATOLL_CLUSTER_CONTROL_EXPLAIN_H
#define ATOLL_CLUSTER_CONTROL_EXPLAIN_H

#include "cluster/service/service.h"

/* `ctx` is the at_service. */
void at_on_explain(struct at_grpc_call *call, void *ctx);

#endif
