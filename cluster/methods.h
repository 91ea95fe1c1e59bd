/* methods.h: all RPCs of a cluster in one array. ADAPTER. */
#ifndef ATOLL_CLUSTER_METHODS_H
#define ATOLL_CLUSTER_METHODS_H

#include "cluster/service/service.h"

/* All methods this cluster serves, to be given to the gRPC server. The array lives as long as the
 * service. */
const struct at_grpc_method *at_service_methods(struct at_service *service, size_t *ret_count);
void at_service_methods_free(const struct at_grpc_method **methods);

#endif
