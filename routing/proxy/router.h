/* router.h: the router process: serves the Bigtable API, forwards to clusters. ADAPTER.
 *
 * Keeps nothing that cannot be had again from any live cluster. */
#ifndef ATOLL_ROUTING_PROXY_ROUTER_H
#define ATOLL_ROUTING_PROXY_ROUTER_H

#include "base/status.h"
#include "configs/instance.h"

struct at_router;

struct at_router_config {
    const struct at_instance_config *instance; /* resolved: every port is known. Borrowed */
    uint32_t loop_count;
    const char *run_file; /* where to write {"pid","grpc","http"} once serving; may be NULL */
    /* Where the launcher keeps instances, and the program that is it; NULL: there is no launcher,
     * and no process can be started. */
    const char *state_dir;
    const char *program;
};

/* at_router_main runs a router until SIGTERM or SIGINT, draining for up to 5 s. Returns an exit
 * code. */
int at_router_main(const struct at_router_config *config);

#endif
