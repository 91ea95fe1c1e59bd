#include <stdatomic.h>

#include "base/assert.h"
#include "cluster/control/control_methods.h"
#include "cluster/service/service.h"
#include "cluster/service/state.h"

/* grpc.health.v1: a cluster serves when its copy is complete and it was not told to stop. */

static const char *const SERVICES[] = {
    "google.bigtable.v2.Bigtable",
    "google.bigtable.admin.v2.BigtableTableAdmin",
    "google.bigtable.admin.v2.BigtableInstanceAdmin",
};

static bool serving(void *ctx)
{
    struct at_service *service = ctx;
    struct at_replica_view view;

    if (atomic_load(&service->draining))
        return false;
    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    bool ready = view.mode == AT_MODE_READY;
    at_replica_view_deinit(&view);
    return ready;
}

size_t at_health_methods(struct at_service *service, struct at_grpc_method *methods, size_t max)
{
    AT_ASSERT(max >= AT_GRPC_HEALTH_METHODS);
    service->state->health =
        (struct at_grpc_health){.serving = serving,
                                .ctx = service,
                                .services = SERVICES,
                                .service_count = sizeof(SERVICES) / sizeof(SERVICES[0])};
    at_grpc_health_methods(&service->state->health, methods);
    return AT_GRPC_HEALTH_METHODS;
}
