/* control_methods.h: what Atoll's own processes and commands ask of a cluster (atoll.v1.Cluster),
 * and its health service. ADAPTER. */
#ifndef ATOLL_CLUSTER_CONTROL_CONTROL_METHODS_H
#define ATOLL_CLUSTER_CONTROL_CONTROL_METHODS_H

#include "cluster/service/service.h"

/* Each fills `methods` from its own table; returns how many. */
size_t at_control_methods(struct at_service *service, struct at_grpc_method *methods, size_t max);
size_t at_health_methods(struct at_service *service, struct at_grpc_method *methods, size_t max);

#endif
