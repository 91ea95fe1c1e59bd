/* cluster.h: a cluster process: store, peering, Bigtable services. ADAPTER. */
#ifndef ATOLL_CLUSTER_CLUSTER_H
#define ATOLL_CLUSTER_CLUSTER_H

#include "configs/instance.h"

struct at_cluster_options {
    const struct at_instance_config *instance; /* resolved. Borrowed */
    const char *cluster_id;
    const char *data_dir;
    uint32_t loop_count;
    const char *grpc_host; /* where to listen for gRPC; NULL: the cluster's host */
    /* Runs once the cluster serves; may be NULL. */
    void (*on_serving)(void *ctx, uint16_t grpc_port);
    void *ctx;
    const char *name; /* how a message on stderr begins; NULL: "atoll cluster ID" and the code */
    const char *run_file; /* where to write {"pid","grpc","peer"} once serving; may be NULL */
};

/* at_cluster_main runs a cluster until SIGTERM or SIGINT, draining for up to 5 s. Returns an exit
 * code: 0 after a clean stop, 1 with a message on stderr otherwise. */
int at_cluster_main(const struct at_cluster_options *options);

#endif
