/* front_members.c: clusters that come and go.
 *
 *   FREE --add--> MEMBER --not in the list--> LEAVING --last request ended--> FREE
 *                    \------ no request is under way ------------------------/
 *
 * The first list is the instance file's; after that it is what the cluster that is believed tells.
 * A cluster is the same while its id and its member number are: one that was removed and made again
 * under its old id is another one. Where a known one listens is not changed by what others say of
 * it: the file that its launcher wrote knows better than a record from before. */
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/prng.h"
#include "routing/proxy/front_impl.h"

enum {
    CONNECTIONS_PER_TARGET = 2,
    CONNECT_TIMEOUT_MS = 1000,
    KEEPALIVE_MS = 2000,
    HEARTBEATS_MISSED = 3, /* intervals without an answer that count as one lost */
    ANSWER_BYTES_MAX = 4 * 1024 * 1024,
};

static struct at_front_target *free_slot(struct at_front *front);
static bool open_channels(struct at_front_target *t, const struct at_front_member *member);
static int64_t configured_latency_us(const struct at_instance_config *instance, const char *zone);

void at_front_add(struct at_front *front, const struct at_front_member *member)
{
    uint32_t interval_ms = front->instance->heartbeat_ms;
    struct at_health_config health = {
        .heartbeat_ms = interval_ms,
        .heartbeat_timeout_ms = HEARTBEATS_MISSED * interval_ms,
        .probes_good = 3,
        .lag_ms_max = front->instance->return_lag_ms_max,
        .return_jitter_ms = 2 * interval_ms,
        .switches_per_minute_max = 6,
        .error_burst = 5,
        .error_window_ms = 1000,
    };
    struct at_front_target *t = free_slot(front);
    struct at_board_target *shown = NULL;
    if (t && strlen(member->id) < AT_BOARD_NAME_BYTES)
        shown = at_board_take(front->board, at_slice_cstr(member->id), at_slice_cstr(member->zone));
    if (!shown) {
        at_log(AT_LOG_WARN, "no room for a cluster", AT_KV_STR("cluster", member->id));
        return;
    }
    uint64_t seed;
    at_random_bytes(&seed, sizeof(seed));
    *t = (struct at_front_target){
        .front = front,
        .index = (uint32_t)(t - front->targets),
        .generation = t->generation + 1,
        .shown = shown,
        .id = at_slice_cstr(shown->id),
        .zone = at_slice_cstr(shown->zone),
        .member = member->member,
        .latency_us = configured_latency_us(front->instance, shown->zone),
    };
    at_health_init(&t->health, &health, seed);
    at_buf_init(&t->answer, ANSWER_BYTES_MAX);
    if (open_channels(t, member))
        t->state = AT_FRONT_MEMBER;
    else
        at_board_release(front->board, shown);
}

static struct at_front_target *free_slot(struct at_front *front)
{
    for (uint32_t i = 0; i < front->target_count; i++)
        if (front->targets[i].state == AT_FRONT_FREE)
            return &front->targets[i];
    return front->target_count < AT_FRONT_SLOTS ? &front->targets[front->target_count++] : NULL;
}

static bool open_channels(struct at_front_target *t, const struct at_front_member *member)
{
    struct at_error error;
    struct at_grpc_channel_config channel = {
        .host = member->host,
        .port = member->port,
        .connection_count = CONNECTIONS_PER_TARGET,
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        .keepalive_ms = KEEPALIVE_MS,
    };
    enum at_code code = at_grpc_channel_open(t->front->loop, &channel, &t->channel, &error);
    channel.connection_count = 1;
    if (code == AT_OK)
        code = at_grpc_channel_open(t->front->loop, &channel, &t->pulse, &error);
    if (code == AT_OK)
        return true;
    at_log(AT_LOG_ERROR, "no channel to a cluster", AT_KV_STR("cluster", member->id),
           AT_KV_STR("error", error.msg));
    at_grpc_channel_close(&t->channel);
    return false;
}

static int64_t configured_latency_us(const struct at_instance_config *instance, const char *zone)
{
    for (uint32_t i = 0; i < instance->latency_count; i++) {
        const struct at_latency_config *l = &instance->latencies[i];
        bool there = strcmp(l->from, instance->router_zone) == 0 && strcmp(l->to, zone) == 0;
        bool back = strcmp(l->to, instance->router_zone) == 0 && strcmp(l->from, zone) == 0;
        if (there || back)
            return (int64_t)l->ms * 1000;
    }
    return -1;
}

void at_front_drop(struct at_front_target *t)
{
    AT_ASSERT(t->state != AT_FRONT_FREE);
    t->state = AT_FRONT_FREE;
    if (t->beat)
        at_grpc_client_cancel(t->beat);
    t->beat = NULL;
    at_grpc_channel_close(&t->channel);
    at_grpc_channel_close(&t->pulse);
    at_buf_deinit(&t->answer);
    at_board_release(t->front->board, t->shown);
    t->shown = NULL;
    t->id = t->zone = (struct at_slice){0};
}

static void retire(struct at_front_target *t)
{
    at_log(AT_LOG_INFO, "a cluster is no member any more", AT_KV_SLICE("cluster", t->id));
    if (t->front->leader)
        at_board_leave(t->front->board, t->shown);
    t->state = AT_FRONT_LEAVING;
    if (t->beat)
        at_grpc_client_cancel(t->beat);
    t->beat = NULL;
    at_front_finish_refreshes(t->front, t, true);
    if (t->uses == 0)
        at_front_drop(t);
}

static bool is_target(const struct at_front_target *t, const Atoll__V1__ClusterAddress *address)
{
    return t->state == AT_FRONT_MEMBER && at_slice_eq_cstr(t->id, address->cluster_id) &&
           (t->member == 0 || address->member_id == 0 || t->member == address->member_id);
}

static bool is_listed(const struct at_front_target *t, const Atoll__V1__HeartbeatResponse *beat)
{
    for (size_t i = 0; i < beat->n_clusters; i++)
        if (is_target(t, beat->clusters[i]))
            return true;
    return false;
}

static bool is_known(const struct at_front *front, const Atoll__V1__ClusterAddress *address)
{
    for (uint32_t i = 0; i < front->target_count; i++)
        if (is_target(&front->targets[i], address))
            return true;
    return false;
}

void at_front_take_members(struct at_front *front, const Atoll__V1__HeartbeatResponse *beat)
{
    AT_ASSERT(beat->n_clusters > 0);
    for (uint32_t i = 0; i < front->target_count; i++) {
        struct at_front_target *t = &front->targets[i];
        if (t->state == AT_FRONT_MEMBER && !is_listed(t, beat))
            retire(t);
    }
    for (size_t i = 0; i < beat->n_clusters; i++) {
        const Atoll__V1__ClusterAddress *c = beat->clusters[i];
        /* without a port: registered, and not started anywhere yet */
        if (is_known(front, c) || c->grpc_port == 0 || c->grpc_port > UINT16_MAX)
            continue;
        at_log(AT_LOG_INFO, "a cluster is a member", AT_KV_STR("cluster", c->cluster_id));
        at_front_add(front, &(struct at_front_member){.id = c->cluster_id,
                                                      .zone = c->zone,
                                                      .host = c->host[0] ? c->host : "127.0.0.1",
                                                      .port = (uint16_t)c->grpc_port,
                                                      .member = c->member_id});
    }
    front->clusters_version = beat->clusters_version;
}
