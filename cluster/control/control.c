/* control.c: atoll.v1.Cluster: heartbeats for routers, status and digests for people.
 *
 * A heartbeat is cheap enough for many routers at ten a second: profiles are only packed when the
 * asker has not seen this version of them. A digest reads whole tables; it runs in bounded steps
 * and gives other calls their turn between two of them. */
#include <stdatomic.h>
#include <unistd.h>

#include "atoll/v1/control.pb-c.h"
#include "base/assert.h"
#include "base/limits.h"
#include "cluster/admin/instance_view.h"
#include "cluster/control/cluster_add.h"
#include "cluster/control/cluster_join.h"
#include "cluster/control/collect.h"
#include "cluster/control/control_methods.h"
#include "cluster/control/cut.h"
#include "cluster/control/explain.h"
#include "cluster/control/member_end.h"
#include "cluster/control/range_digests.h"
#include "cluster/service/service.h"
#include "cluster/tablet/read.h"
#include "replication/peer/peering.h"

#define DIGEST_STEP_BYTES (256 * AT_KIB)

struct digest_call {
    struct at_task task;
    struct at_service *service;
    struct at_grpc_call *call;
    struct at_digest_run *run;
};

static void on_heartbeat(struct at_grpc_call *call, void *ctx);
static void on_status(struct at_grpc_call *call, void *ctx);
static void on_digest(struct at_grpc_call *call, void *ctx);
static void digest_step(struct at_task *task);
static void fill_clusters(struct at_service *service,
                          struct at_arena *arena,
                          uint64_t known_version,
                          Atoll__V1__HeartbeatResponse *response);
static void fill_profiles(struct at_service *service,
                          struct at_arena *arena,
                          Atoll__V1__HeartbeatResponse *response);
static void fill_state(struct at_service *service,
                       const struct at_replica_view *view,
                       Atoll__V1__ClusterState *ret_state,
                       const char **ret_reason);
static void
fill_links(struct at_service *service, struct at_arena *arena, Atoll__V1__ClusterStatus *status);
static void fill_membership(struct at_service *service,
                            const struct at_replica_view *view,
                            struct at_arena *arena,
                            Atoll__V1__ClusterStatus *status);
static void fill_positions(const struct at_replica_view *view,
                           struct at_arena *arena,
                           Atoll__V1__ClusterStatus *status);

size_t at_control_methods(struct at_service *service, struct at_grpc_method *methods, size_t max)
{
    const struct at_grpc_method table[] = {
        {"/atoll.v1.Cluster/Heartbeat", on_heartbeat, service},
        {"/atoll.v1.Cluster/Status", on_status, service},
        {"/atoll.v1.Cluster/Digest", on_digest, service},
        {"/atoll.v1.Cluster/Collect", at_on_collect, service},
        {"/atoll.v1.Cluster/RangeDigests", at_on_range_digests, service},
        {"/atoll.v1.Cluster/Explain", at_on_explain, service},
        {"/atoll.v1.Cluster/Members", at_on_members, service},
        {"/atoll.v1.Cluster/AddCluster", at_on_add_cluster, service},
        {"/atoll.v1.Cluster/Join", at_on_join, service},
        {"/atoll.v1.Cluster/Leave", at_on_leave, service},
        {"/atoll.v1.Cluster/Remove", at_on_remove, service},
        {"/atoll.v1.Cluster/Release", at_on_release, service},
        {"/atoll.v1.Cluster/SetCut", at_on_set_cut, service},
    };
    size_t count = sizeof(table) / sizeof(table[0]);
    AT_ASSERT(count <= max);
    memcpy(methods, table, sizeof(table));
    return count;
}

static char *mutable_text(struct at_arena *arena, const char *text)
{
    return at_arena_printf(arena, "%s", text);
}

static void on_heartbeat(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    Atoll__V1__HeartbeatRequest *request =
        at_service_unpack(service, call, &atoll__v1__heartbeat_request__descriptor);
    if (!request)
        return;
    struct at_arena *arena = at_grpc_call_arena(call);
    Atoll__V1__HeartbeatResponse response = ATOLL__V1__HEARTBEAT_RESPONSE__INIT;
    struct at_replica_view view;
    const char *reason;
    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    fill_state(service, &view, &response.state, &reason);
    at_replica_view_deinit(&view);
    response.cluster_id = mutable_text(arena, service->cluster_id);
    response.zone = mutable_text(arena, service->zone);
    struct at_service_lag lag = service->port.lag(service->port.ctx);
    response.alone = lag.alone;
    response.lag_known = lag.known;
    response.lag_ms = lag.ms;
    response.catalog_version = at_store_profiles_version(service->store);
    if (request->known_catalog_version != response.catalog_version)
        fill_profiles(service, arena, &response);
    fill_clusters(service, arena, request->known_clusters_version, &response);
    at_service_reply(service, call, &response.base);
}

/* Of a cluster that is being made too: routers must know where it is before it serves. */
static void fill_clusters(struct at_service *service,
                          struct at_arena *arena,
                          uint64_t known_version,
                          Atoll__V1__HeartbeatResponse *response)
{
    struct at_schema *schema = at_store_schema(service->store);

    response->clusters_version = at_catalog_kind_version(schema->catalog, AT_CATALOG_CLUSTER);
    if (response->clusters_version != known_version) {
        struct at_cluster_entries all = at_cluster_entries(service, schema->catalog, arena);
        response->clusters = AT_ARENA_ARRAY(arena, Atoll__V1__ClusterAddress *, all.count + 1);
        for (uint32_t i = 0; i < all.count; i++)
            response->clusters[response->n_clusters++] = all.items[i].record->address;
    }
    at_schema_unref(&schema);
}

static void fill_profiles(struct at_service *service,
                          struct at_arena *arena,
                          Atoll__V1__HeartbeatResponse *response)
{
    struct at_schema *schema = at_store_schema(service->store);
    uint32_t count = at_catalog_named_count(schema->catalog, AT_CATALOG_PROFILE);
    response->catalog_version = at_catalog_kind_version(schema->catalog, AT_CATALOG_PROFILE);
    response->profiles =
        AT_ARENA_ARRAY(arena, Google__Bigtable__Admin__V2__AppProfile *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct at_named_record *record =
            at_catalog_named_at(schema->catalog, AT_CATALOG_PROFILE, i);
        Google__Bigtable__Admin__V2__AppProfile *profile = at_proto_unpack(
            arena, &google__bigtable__admin__v2__app_profile__descriptor, record->fields);
        if (!profile)
            continue; /* damaged: the others are to be had */
        /* Routers know a profile by its id. */
        profile->name = at_arena_printf(arena, "%.*s", AT_SLICE_ARG(record->name));
        response->profiles[response->n_profiles++] = profile;
    }
    at_schema_unref(&schema);
}

static void fill_state(struct at_service *service,
                       const struct at_replica_view *view,
                       Atoll__V1__ClusterState *ret_state,
                       const char **ret_reason)
{
    *ret_reason = "";
    if (atomic_load(&service->draining)) {
        *ret_state = ATOLL__V1__CLUSTER_STATE__DRAINING;
        *ret_reason = "told to stop";
        return;
    }
    switch (view->mode) {
    case AT_MODE_INIT:
        *ret_state = ATOLL__V1__CLUSTER_STATE__INITIALIZING;
        return;
    case AT_MODE_COPYING: /* one that was whole once still lacks what it lacked */
        *ret_state = view->joined ? ATOLL__V1__CLUSTER_STATE__NEEDS_COPY
                                  : ATOLL__V1__CLUSTER_STATE__INITIALIZING;
        *ret_reason = "is being copied to";
        return;
    case AT_MODE_NEEDS_COPY:
        *ret_state = ATOLL__V1__CLUSTER_STATE__NEEDS_COPY;
        *ret_reason = "no member it can reach still holds the entries it lacks";
        return;
    case AT_MODE_LEAVING:
        *ret_state = ATOLL__V1__CLUSTER_STATE__LEAVING;
        *ret_reason = "hands its last writes to the others";
        return;
    case AT_MODE_REMOVED:
        *ret_state =
            view->left ? ATOLL__V1__CLUSTER_STATE__LEAVING : ATOLL__V1__CLUSTER_STATE__DRAINING;
        *ret_reason = view->left ? "has left the instance" : "was removed from the instance";
        return;
    case AT_MODE_READY:
        break;
    }
    if (!view->caught_up || !view->joined) {
        *ret_state = ATOLL__V1__CLUSTER_STATE__INITIALIZING;
        *ret_reason = view->caught_up ? "waits until all others know of it"
                                      : "catches up after it was filled";
        return;
    }
    *ret_state = ATOLL__V1__CLUSTER_STATE__READY;
    if (!view->healthy) {
        *ret_state = ATOLL__V1__CLUSTER_STATE__UNHEALTHY;
        *ret_reason = "its clock is far from the others', or entries are parked";
    }
}

static void on_status(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_arena *arena = at_grpc_call_arena(call);
    Atoll__V1__ClusterStatus status = ATOLL__V1__CLUSTER_STATUS__INIT;
    struct at_replica_view view;
    struct at_store_stats stats;
    const char *reason;
    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    at_store_stats(service->store, &stats);
    fill_state(service, &view, &status.state, &reason);
    status.state_reason = mutable_text(arena, reason);
    status.cluster_id = mutable_text(arena, service->cluster_id);
    status.zone = mutable_text(arena, service->zone);
    status.member_id = service->member;
    status.may_write = view.may_write;
    status.pid = (uint64_t)getpid();
    status.epoch = view.epoch;
    status.seq = view.seq;
    status.hlc = view.hlc;
    status.horizon = view.horizon;
    status.log_bytes = stats.log_bytes;
    status.data_bytes = stats.data_bytes;
    status.discarded_entries = stats.discarded_entries;
    status.collected = stats.collected_count + stats.sieved_count;
    status.forgotten = stats.forgotten_count;
    status.grpc_port = service->grpc_port;
    status.peer_port = service->peer_port;
    fill_links(service, arena, &status);
    fill_membership(service, &view, arena, &status);
    fill_positions(&view, arena, &status);
    at_service_reply(service, call, &status.base);
    at_replica_view_deinit(&view);
}

static void
fill_links(struct at_service *service, struct at_arena *arena, Atoll__V1__ClusterStatus *status)
{
    struct at_link_status links[AT_MEMBERS_MAX];
    uint32_t count = service->port.links(service->port.ctx, links, AT_MEMBERS_MAX);
    status->links = AT_ARENA_ARRAY(arena, Atoll__V1__LinkStatus *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        Atoll__V1__LinkStatus *link = AT_ARENA_NEW(arena, Atoll__V1__LinkStatus);
        atoll__v1__link_status__init(link);
        link->peer_id = mutable_text(arena, at_cluster_of_member(service, links[i].peer.v, arena));
        link->state = mutable_text(arena, at_link_state_name(links[i].state));
        link->lag_known = links[i].lag_known;
        link->lag_entries = links[i].lag_entries;
        link->lag_ms = links[i].lag_ms;
        link->applied_entries = links[i].applied_entries;
        link->lag_bytes = links[i].lag_bytes;
        link->entries_per_second = links[i].entries_per_s;
        link->bytes_per_second = links[i].bytes_per_s;
        link->skew_ms = links[i].skew_ms;
        status->links[status->n_links++] = link;
    }
}

/* The copy that fills this cluster, and which others are being removed. */
static void fill_membership(struct at_service *service,
                            const struct at_replica_view *view,
                            struct at_arena *arena,
                            Atoll__V1__ClusterStatus *status)
{
    struct at_member_progress all[AT_MEMBERS_MAX];
    uint32_t count =
        service->port.progress ? service->port.progress(service->port.ctx, all, AT_MEMBERS_MAX) : 0;

    for (uint32_t i = 0; i < count; i++) {
        if (all[i].member.v != service->member)
            continue;
        status->copied_bytes = all[i].copied_bytes;
        status->copy_bytes = all[i].copy_bytes;
        status->copy_bytes_per_second = all[i].bytes_per_s;
    }
    status->fenced = AT_ARENA_ARRAY(arena, char *, view->member_count + 1);
    for (uint32_t i = 0; i < view->member_count; i++)
        if (view->members[i].fenced)
            status->fenced[status->n_fenced++] =
                mutable_text(arena, at_cluster_of_member(service, view->members[i].id.v, arena));
}

static void fill_positions(const struct at_replica_view *view,
                           struct at_arena *arena,
                           Atoll__V1__ClusterStatus *status)
{
    uint32_t count = view->applied.count;
    status->positions = AT_ARENA_ARRAY(arena, Atoll__V1__PositionStatus *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct at_position *p = &view->applied.items[i];
        Atoll__V1__PositionStatus *out = AT_ARENA_NEW(arena, Atoll__V1__PositionStatus);
        atoll__v1__position_status__init(out);
        out->member_id = p->origin.v;
        out->epoch = p->epoch;
        out->applied = p->seq;
        out->durable = at_vector_get(&view->durable, p->origin, p->epoch);
        status->positions[status->n_positions++] = out;
    }
}

static void on_digest(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    Atoll__V1__DigestRequest *request =
        at_service_unpack(service, call, &atoll__v1__digest_request__descriptor);
    if (!request)
        return;
    struct at_error error;
    struct at_slice table = {0};
    int64_t now_micros = request->now_micros > 0
                             ? request->now_micros
                             : (int64_t)(at_clock_wall_ns(&service->clock) / 1000);
    struct digest_call *digest = AT_ARENA_NEW(at_grpc_call_arena(call), struct digest_call);
    enum at_code code = AT_OK;
    if (request->table_name[0] != '\0')
        code = at_service_table_id(service, at_slice_cstr(request->table_name), &table, &error);
    if (code == AT_OK)
        code = at_digest_open(service->store, table, now_micros, &digest->run, &error);
    if (code != AT_OK) {
        at_service_fail(service, call, &error);
        return;
    }
    digest->service = service;
    digest->call = call;
    digest->task.run = digest_step;
    at_loop_post(at_grpc_call_loop(call), &digest->task);
}

static void digest_step(struct at_task *task)
{
    struct digest_call *d = (struct digest_call *)task; /* task is its first member */
    struct at_error error;
    struct at_digest result;
    bool done = false;
    enum at_code code = at_digest_step(d->run, DIGEST_STEP_BYTES, &done, &result, &error);
    if (code == AT_OK && !done && !at_grpc_call_cancelled(d->call)) {
        at_loop_post(at_grpc_call_loop(d->call), &d->task);
        return;
    }
    at_digest_close(&d->run);
    if (code != AT_OK) {
        at_service_fail(d->service, d->call, &error);
        return;
    }
    Atoll__V1__DigestResponse response = ATOLL__V1__DIGEST_RESPONSE__INIT;
    response.rows = result.rows;
    response.cells = result.cells;
    response.digest = (ProtobufCBinaryData){sizeof(result.bytes), result.bytes};
    at_service_reply(d->service, d->call, &response.base);
}
