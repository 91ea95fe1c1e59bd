/* status.c: the board as a message and as JSON. */
#include "routing/proxy/status.h"

#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "atoll/v1/control.pb-c.h"
#include "wire/proto_alloc.h"

static void on_status(struct at_grpc_call *call, void *ctx);

void at_status_method(struct at_board *board, struct at_grpc_method *ret_method)
{
    *ret_method = (struct at_grpc_method){
        .path = "/atoll.v1.Router/Status", .on_request = on_status, .ctx = board};
}

static void
fill_cluster(struct at_arena *arena, struct at_board_target *t, Atoll__V1__RouterClusterStatus *out)
{
    atoll__v1__router_cluster_status__init(out);
    out->cluster_id = at_arena_printf(arena, "%s", t->id);
    out->zone = at_arena_printf(arena, "%s", t->zone);
    out->healthy = atomic_load(&t->up);
    out->reason = at_arena_printf(arena, "%s", atomic_load(&t->reason));
    out->rtt_us = atomic_load(&t->rtt_us);
    out->rank = atomic_load(&t->rank);
    out->served = atomic_load(&t->served);
    out->failed = atomic_load(&t->failed);
}

static void on_status(struct at_grpc_call *call, void *ctx)
{
    struct at_board *board = ctx;
    struct at_arena *arena = at_grpc_call_arena(call);
    Atoll__V1__RouterStatus status = ATOLL__V1__ROUTER_STATUS__INIT;
    status.pid = (uint64_t)getpid();
    status.grpc_port = board->grpc_port;
    status.http_port = board->http_port;
    status.failovers = atomic_load(&board->failovers);
    Atoll__V1__RouterClusterStatus *clusters[AT_MEMBERS_MAX];
    status.clusters = clusters;
    for (uint32_t i = 0; i < board->target_count; i++) {
        clusters[i] = AT_ARENA_NEW(arena, Atoll__V1__RouterClusterStatus);
        fill_cluster(arena, &board->targets[i], clusters[i]);
    }
    status.n_clusters = board->target_count;
    char lines[AT_BOARD_SWITCHES][AT_BOARD_LINE_BYTES];
    char *switches[AT_BOARD_SWITCHES];
    status.switches = switches;
    status.n_switches = at_board_switches(board, lines);
    for (size_t i = 0; i < status.n_switches; i++)
        switches[i] = lines[i];
    enum at_code code = at_proto_pack(at_grpc_call_begin(call), &status.base);
    if (code == AT_OK)
        at_grpc_call_commit(call);
    else
        at_grpc_call_abandon(call);
    at_grpc_call_finish(call, code, (struct at_slice){0}, (struct at_slice){0});
}

static json_t *cluster_json(struct at_board_target *t)
{
    return json_pack("{s:s, s:s, s:b, s:s, s:I, s:I, s:I}", "id", t->id, "zone", t->zone, "healthy",
                     (int)atomic_load(&t->up), "reason", atomic_load(&t->reason), "rtt_us",
                     (json_int_t)atomic_load(&t->rtt_us), "served",
                     (json_int_t)atomic_load(&t->served), "failed",
                     (json_int_t)atomic_load(&t->failed));
}

enum at_code at_status_json(struct at_board *board, struct at_buf *out)
{
    json_t *clusters = json_array();
    for (uint32_t i = 0; i < board->target_count; i++)
        (void)json_array_append_new(clusters, cluster_json(&board->targets[i]));
    json_t *switches = json_array();
    char lines[AT_BOARD_SWITCHES][AT_BOARD_LINE_BYTES];
    uint32_t count = at_board_switches(board, lines);
    for (uint32_t i = 0; i < count; i++)
        (void)json_array_append_new(switches, json_string(lines[i]));
    json_t *root = json_pack(
        "{s:i, s:i, s:i, s:b, s:I, s:o, s:o}", "pid", (int)getpid(), "grpc", (int)board->grpc_port,
        "http", (int)board->http_port, "serving", (int)atomic_load(&board->serving), "failovers",
        (json_int_t)atomic_load(&board->failovers), "clusters", clusters, "switches", switches);
    char *text = json_dumps(root, JSON_INDENT(2));
    enum at_code code = text ? at_buf_append(out, at_slice_cstr(text)) : AT_INTERNAL;
    free(text);
    json_decref(root);
    return code;
}
