/* bench_router: how many unary calls a second a router forwards.
 *
 *   bench_router [loops]
 *   h2load -c 4 -m 32 -n 1000000 -d message.bin -H 'content-type: application/grpc' \
 *          -H 'te: trailers' http://127.0.0.1:PORT/google.bigtable.v2.Bigtable/MutateRow
 *
 * message.bin is one framed MutateRowRequest. In front of it stands one cluster, a thread of its
 * own, that answers MutateRow with an empty message at once; both ports are printed, so that the
 * cluster can be measured alone. Ends on SIGINT or SIGTERM. */
#include <stdio.h>
#include <stdlib.h>

#include "atoll/v1/control.pb-c.h"
#include "routing/proxy/router.h"
#include "wire/grpc_server.h"
#include "wire/proto_alloc.h"

static const struct at_slice NONE = {NULL, 0};

static void on_mutate_row(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    at_grpc_call_header(call, "x-goog-ext-425905942-bin",
                        AT_LIT("\x0a\x02z1\x12\x02"
                               "c1"));
    enum at_code code = at_grpc_call_send(call, NONE);
    at_grpc_call_finish(call, code, NONE, NONE);
}

static void on_heartbeat(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    char name[] = "default";
    Google__Bigtable__Admin__V2__AppProfile__MultiClusterRoutingUseAny any =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__MULTI_CLUSTER_ROUTING_USE_ANY__INIT;
    Google__Bigtable__Admin__V2__AppProfile profile =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__INIT;
    Google__Bigtable__Admin__V2__AppProfile *profiles[] = {&profile};
    Atoll__V1__HeartbeatResponse beat = ATOLL__V1__HEARTBEAT_RESPONSE__INIT;
    profile.name = name;
    profile.routing_policy_case =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_MULTI_CLUSTER_ROUTING_USE_ANY;
    profile.multi_cluster_routing_use_any = &any;
    beat.state = ATOLL__V1__CLUSTER_STATE__READY;
    beat.catalog_version = 1;
    beat.profiles = profiles;
    beat.n_profiles = 1;
    enum at_code code = at_proto_pack(at_grpc_call_begin(call), &beat.base);
    at_grpc_call_commit(call);
    at_grpc_call_finish(call, code, NONE, NONE);
}

static const struct at_grpc_method METHODS[] = {
    {"/google.bigtable.v2.Bigtable/MutateRow", on_mutate_row, NULL},
    {"/atoll.v1.Cluster/Heartbeat", on_heartbeat, NULL},
};

int main(int argc, char **argv)
{
    struct at_loop *loop = at_loop_new(at_clock_system());
    struct at_grpc_server *server = NULL;
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .loops = &loop,
                                           .loop_count = 1,
                                           .methods = METHODS,
                                           .method_count = sizeof(METHODS) / sizeof(METHODS[0])};
    struct at_error error = {0};
    if (at_grpc_server_open(&config, &server, &error) != AT_OK ||
        at_loop_start(loop, "cluster", &error) != AT_OK) {
        (void)fprintf(stderr, "bench_router: %s\n", error.msg);
        return 1;
    }
    (void)printf("cluster on port %u; the router says its port when it serves\n",
                 at_grpc_server_port(server));
    (void)fflush(stdout);
    struct at_cluster_config cluster = {
        .id = "c1", .zone = "z1", .host = "127.0.0.1", .grpc_port = at_grpc_server_port(server)};
    struct at_instance_config instance = {.project = "p",
                                          .instance = "bench",
                                          .clusters = &cluster,
                                          .cluster_count = 1,
                                          .router_zone = "z1",
                                          .heartbeat_ms = 100,
                                          .return_lag_ms_max = 1000};
    struct at_router_config router = {
        .instance = &instance, .loop_count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1};
    int rc = at_router_main(&router);
    at_loop_stop(loop);
    at_loop_join(loop);
    at_grpc_server_close(&server);
    at_loop_free(&loop);
    return rc;
}
