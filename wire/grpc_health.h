/* grpc_health.h: grpc.health.v1 for any server of this project. ADAPTER.
 *
 * Check answers at once. Watch sends the present status and then every change, seen at most
 * AT_HEALTH_POLL_MS later, until the client ends the call. */
#ifndef ATOLL_WIRE_GRPC_HEALTH_H
#define ATOLL_WIRE_GRPC_HEALTH_H

#include "wire/grpc_server.h"

#define AT_HEALTH_POLL_MS 100
#define AT_GRPC_HEALTH_METHODS 2

/* What is asked; both outlive the server. */
struct at_grpc_health {
    /* True while the process serves. Any loop thread. */
    bool (*serving)(void *ctx);
    void *ctx;
    /* Names answered besides the empty one; others are SERVICE_UNKNOWN (NOT_FOUND for Check). */
    const char *const *services;
    size_t service_count;
};

/* at_grpc_health_methods fills AT_GRPC_HEALTH_METHODS methods. `health` is borrowed. */
void at_grpc_health_methods(struct at_grpc_health *health, struct at_grpc_method *ret_methods);

#endif
