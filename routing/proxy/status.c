/* status.c: the boards of all instances as a message and as JSON. */
#include "routing/proxy/status.h"

#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "atoll/v1/control.pb-c.h"
#include "base/alloc.h"
#include "wire/proto_alloc.h"

static void on_status(struct at_grpc_call *call, void *ctx);

void at_status_method(struct at_fleet *fleet, struct at_grpc_method *ret_method)
{
    *ret_method = (struct at_grpc_method){
        .path = "/atoll.v1.Router/Status", .on_request = on_status, .ctx = fleet};
}

static Atoll__V1__RouterClusterStatus *
fill_cluster(struct at_arena *arena, const struct at_realm *realm, const struct at_board_view *v)
{
    Atoll__V1__RouterClusterStatus *out = AT_ARENA_NEW(arena, Atoll__V1__RouterClusterStatus);
    atoll__v1__router_cluster_status__init(out);
    out->instance = at_arena_printf(arena, "%.*s", AT_SLICE_ARG(realm->name));
    out->cluster_id = at_arena_printf(arena, "%s", v->id);
    out->zone = at_arena_printf(arena, "%s", v->zone);
    out->healthy = v->up;
    out->reason = at_arena_printf(arena, "%s", v->reason);
    out->rtt_us = v->rtt_us;
    out->rank = v->rank;
    out->served = v->served;
    out->failed = v->failed;
    return out;
}

static void
fill_realm(struct at_arena *arena, struct at_realm *realm, Atoll__V1__RouterStatus *status)
{
    struct at_board_view views[AT_BOARD_TARGETS_MAX];
    char lines[AT_BOARD_SWITCHES][AT_BOARD_LINE_BYTES];
    uint32_t count = at_board_views(&realm->board, views);
    for (uint32_t i = 0; i < count; i++)
        status->clusters[status->n_clusters++] = fill_cluster(arena, realm, &views[i]);
    status->failovers += atomic_load(&realm->board.failovers);
    count = at_board_switches(&realm->board, lines);
    for (uint32_t i = 0; i < count; i++)
        status->switches[status->n_switches++] = at_arena_printf(arena, "%s", lines[i]);
}

static void fill(struct at_arena *arena, struct at_fleet *fleet, Atoll__V1__RouterStatus *status)
{
    status->pid = (uint64_t)getpid();
    status->grpc_port = fleet->grpc_port;
    status->http_port = fleet->http_port;
    (void)pthread_mutex_lock(&fleet->lock);
    size_t realms = fleet->realm_count;
    status->clusters =
        AT_ARENA_ARRAY(arena, Atoll__V1__RouterClusterStatus *, realms * AT_BOARD_TARGETS_MAX + 1);
    status->switches = AT_ARENA_ARRAY(arena, char *, realms *AT_BOARD_SWITCHES + 1);
    for (struct at_realm *realm = fleet->realms; realm; realm = realm->next)
        fill_realm(arena, realm, status);
    (void)pthread_mutex_unlock(&fleet->lock);
}

static void on_status(struct at_grpc_call *call, void *ctx)
{
    Atoll__V1__RouterStatus status = ATOLL__V1__ROUTER_STATUS__INIT;
    fill(at_grpc_call_arena(call), ctx, &status);
    enum at_code code = at_proto_pack(at_grpc_call_begin(call), &status.base);
    if (code == AT_OK)
        at_grpc_call_commit(call);
    else
        at_grpc_call_abandon(call);
    at_grpc_call_finish(call, code, (struct at_slice){0}, (struct at_slice){0});
}

static json_t *cluster_json(const Atoll__V1__RouterClusterStatus *c)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:s, s:I, s:I, s:I}", "instance", c->instance, "id",
                     c->cluster_id, "zone", c->zone, "healthy", (int)c->healthy, "reason",
                     c->reason, "rtt_us", (json_int_t)c->rtt_us, "served", (json_int_t)c->served,
                     "failed", (json_int_t)c->failed);
}

enum at_code at_status_json(struct at_fleet *fleet, struct at_buf *out)
{
    struct at_arena arena;
    Atoll__V1__RouterStatus status = ATOLL__V1__ROUTER_STATUS__INIT;
    at_arena_init(&arena, 4 * AT_KIB);
    fill(&arena, fleet, &status);
    json_t *clusters = json_array();
    for (size_t i = 0; i < status.n_clusters; i++)
        (void)json_array_append_new(clusters, cluster_json(status.clusters[i]));
    json_t *switches = json_array();
    for (size_t i = 0; i < status.n_switches; i++)
        (void)json_array_append_new(switches, json_string(status.switches[i]));
    json_t *root = json_pack(
        "{s:i, s:i, s:i, s:b, s:I, s:o, s:o}", "pid", (int)getpid(), "grpc", (int)fleet->grpc_port,
        "http", (int)fleet->http_port, "serving", (int)atomic_load(&fleet->serving), "failovers",
        (json_int_t)status.failovers, "clusters", clusters, "switches", switches);
    char *text = json_dumps(root, JSON_INDENT(2));
    enum at_code code = text ? at_buf_append(out, at_slice_cstr(text)) : AT_INTERNAL;
    free(text);
    json_decref(root);
    at_arena_deinit(&arena);
    return code;
}
