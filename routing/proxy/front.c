/* front.c: heartbeats, and the view they keep.
 *
 * One timer sends a heartbeat to every target that has none on its way. An answer carries the
 * cluster's state and lag for the health machine, and its app profiles when they differ from what
 * this front knows: versions are digests, the same on all clusters. Profile sets of different
 * clusters differ for the moment that replication takes; the nearest healthy cluster's set is the
 * one in force, so that a router agrees with the cluster it uses. Only a cluster that is READY is
 * believed: one that is still being filled knows no profiles yet. */
#include "routing/proxy/front.h"

#include <string.h>

#include "atoll/v1/control.pb-c.h"
#include "base/log.h"
#include "base/pbwire.h"
#include "base/prng.h"
#include "wire/proto_alloc.h"

enum {
    CONNECTIONS_PER_TARGET = 2,
    CONNECT_TIMEOUT_MS = 1000,
    KEEPALIVE_MS = 2000,
    HEARTBEATS_MISSED = 3, /* intervals without an answer that count as one lost */
    ANSWER_BYTES_MAX = 4 * 1024 * 1024,
};

static enum at_code open_target(struct at_front *front, uint32_t index, struct at_error *reterr);
static int64_t configured_latency_us(const struct at_instance_config *instance, const char *zone);
static void on_timer(uv_timer_t *timer);
static void send_beat(struct at_front_target *t);
static void on_answer(void *ctx, struct at_slice message);
static void on_beat_done(void *ctx, const struct at_grpc_result *result);
static void take_answer(struct at_front_target *t, const Atoll__V1__HeartbeatResponse *beat);
static void take_profiles(struct at_front_target *t, const Atoll__V1__HeartbeatResponse *beat);
static void finish_refreshes(struct at_front *front, const struct at_front_target *t);
static void step(struct at_front_target *t, const struct at_health_event *event);
static void show_ranks(struct at_front *front);

static const struct at_grpc_client_handler BEAT_HANDLER = {.on_message = on_answer,
                                                           .on_done = on_beat_done};

enum at_code at_front_open(struct at_front *front, struct at_error *reterr)
{
    at_profile_table_init(&front->profiles);
    at_alarms_init(&front->alarms, front->loop);
    (void)uv_timer_init(at_loop_uv(front->loop), &front->timer);
    front->timer.data = front;
    front->target_count = front->instance->cluster_count;
    for (uint32_t i = 0; i < front->target_count; i++)
        AT_TRY(open_target(front, i, reterr));
    (void)uv_timer_start(&front->timer, on_timer, 0, front->instance->heartbeat_ms);
    return AT_OK;
}

static enum at_code open_target(struct at_front *front, uint32_t index, struct at_error *reterr)
{
    const struct at_cluster_config *cluster = &front->instance->clusters[index];
    struct at_front_target *t = &front->targets[index];
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
    uint64_t seed;
    at_random_bytes(&seed, sizeof(seed));
    *t = (struct at_front_target){
        .front = front,
        .index = index,
        .id = at_slice_cstr(cluster->id),
        .zone = at_slice_cstr(cluster->zone),
        .latency_us = configured_latency_us(front->instance, cluster->zone),
    };
    at_health_init(&t->health, &health, seed);
    at_buf_init(&t->answer, ANSWER_BYTES_MAX);
    struct at_grpc_channel_config channel = {
        .host = cluster->host,
        .port = cluster->grpc_port,
        .connection_count = CONNECTIONS_PER_TARGET,
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        .keepalive_ms = KEEPALIVE_MS,
    };
    AT_TRY(at_grpc_channel_open(front->loop, &channel, &t->channel, reterr));
    channel.connection_count = 1;
    return at_grpc_channel_open(front->loop, &channel, &t->pulse, reterr);
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

void at_front_close(struct at_front *front)
{
    front->closed = true;
    while (front->refreshes) {
        struct at_refresh *refresh = front->refreshes;
        front->refreshes = refresh->next;
        refresh->done(refresh);
    }
    uv_close((uv_handle_t *)&front->timer, NULL);
    for (uint32_t i = 0; i < front->target_count; i++) {
        struct at_front_target *t = &front->targets[i];
        if (t->beat)
            at_grpc_client_cancel(t->beat);
        t->beat = NULL;
        at_grpc_channel_close(&t->channel);
        at_grpc_channel_close(&t->pulse);
        at_buf_deinit(&t->answer);
    }
    at_alarms_close(&front->alarms, at_alarms_deinit);
    at_profile_table_deinit(&front->profiles);
}

static void on_timer(uv_timer_t *timer)
{
    struct at_front *front = timer->data;
    static const struct at_health_event TICK = {.kind = AT_HEALTH_TICK};
    for (uint32_t i = 0; i < front->target_count; i++) {
        struct at_front_target *t = &front->targets[i];
        step(t, &TICK);
        if (!t->beat)
            send_beat(t);
    }
}

static void send_beat(struct at_front_target *t)
{
    struct at_front *front = t->front;
    struct at_slice message = {0};
    t->beat_version = front->profiles.known ? front->profiles.version : 0;
    if (t->beat_version != 0) {
        /* HeartbeatRequest{known_catalog_version = 1} */
        t->beat_bytes[0] = 0x08;
        uint8_t *end = at_pb_write_varint(t->beat_bytes + 1, t->beat_version);
        message = at_slice_make(t->beat_bytes, (size_t)(end - t->beat_bytes));
    }
    at_buf_clear(&t->answer);
    t->beat_again = false;
    t->beat_count++;
    t->beat_sent_ns = at_clock_mono_ns(at_loop_clock(front->loop));
    struct at_grpc_client_request request = {
        .path = "/atoll.v1.Cluster/Heartbeat",
        .message = message,
        .deadline_ns = t->beat_sent_ns + t->health.config.heartbeat_timeout_ms * AT_MS_NS,
        .handler = &BEAT_HANDLER,
        .ctx = t,
    };
    t->beat = at_grpc_client_start(t->pulse, &request);
}

static void on_answer(void *ctx, struct at_slice message)
{
    struct at_front_target *t = ctx;
    at_buf_clear(&t->answer);
    if (at_buf_append(&t->answer, message) != AT_OK)
        at_log(AT_LOG_WARN, "heartbeat too large", AT_KV_SLICE("cluster", t->id));
}

static void on_beat_done(void *ctx, const struct at_grpc_result *result)
{
    struct at_front_target *t = ctx;
    t->beat = NULL;
    struct at_arena arena;
    at_arena_init(&arena, 4 * AT_KIB);
    Atoll__V1__HeartbeatResponse *beat = NULL;
    if (result->code == AT_OK && t->answer.len > 0)
        beat = at_proto_unpack(&arena, &atoll__v1__heartbeat_response__descriptor,
                               at_buf_slice(&t->answer));
    if (beat) {
        take_answer(t, beat);
    } else {
        if (t->health.up)
            at_log(AT_LOG_WARN, "heartbeat lost", AT_KV_SLICE("cluster", t->id),
                   AT_KV_STR("code", at_code_name(result->code)),
                   AT_KV_SLICE("message", result->message));
        struct at_health_event lost = {.kind = AT_HEALTH_HEARTBEAT_LOST};
        step(t, &lost);
    }
    at_arena_deinit(&arena);
    finish_refreshes(t->front, t);
    if (t->beat_again)
        send_beat(t);
}

static void take_answer(struct at_front_target *t, const Atoll__V1__HeartbeatResponse *beat)
{
    uint64_t now_ns = at_clock_mono_ns(at_loop_clock(t->front->loop));
    struct at_health_event event = {
        .kind = AT_HEALTH_HEARTBEAT_OK,
        .ready = beat->state == ATOLL__V1__CLUSTER_STATE__READY,
        .lag_known = beat->lag_known,
        .alone = beat->alone,
        .lag_ms = beat->lag_ms,
        .rtt_us = (now_ns - t->beat_sent_ns) / 1000,
    };
    step(t, &event);
    take_profiles(t, beat);
}

/* Is t's set the one in force? A refresh asks the cluster that made a change, which need not be
 * the nearest. */
static bool is_believed(const struct at_front_target *t)
{
    const struct at_front *front = t->front;
    if (!front->profiles.known)
        return true;
    for (const struct at_refresh *r = front->refreshes; r; r = r->next)
        if (r->target == t->index && t->beat_count >= r->beat)
            return true;
    uint32_t order[AT_MEMBERS_MAX];
    uint32_t count = at_front_order(front, NULL, (struct at_slice){0}, order);
    return count > 0 && order[0] == t->index;
}

static void take_profiles(struct at_front_target *t, const Atoll__V1__HeartbeatResponse *beat)
{
    struct at_profile_table *table = &t->front->profiles;
    if (beat->state != ATOLL__V1__CLUSTER_STATE__READY || !is_believed(t))
        return;
    if (table->known && table->version == beat->catalog_version)
        return;
    if (t->beat_version != 0 && t->beat_version == beat->catalog_version)
        return; /* it left them out; the next heartbeat asks anew */
    struct at_error error;
    bool first = !table->known;
    if (at_profile_table_load(table, at_buf_slice(&t->answer), &error) != AT_OK)
        at_log(AT_LOG_ERROR, "profiles refused", AT_KV_SLICE("cluster", t->id),
               AT_KV_STR("error", error.msg));
    else if (first)
        atomic_fetch_add(&t->front->board->informed, 1);
}

static void step(struct at_front_target *t, const struct at_health_event *event)
{
    struct at_front *front = t->front;
    bool changed = at_health_step(&t->health, event, at_loop_now_ns(front->loop));
    if (!front->leader)
        return;
    struct at_board_target *shown = &front->board->targets[t->index];
    atomic_store_explicit(&shown->up, t->health.up, memory_order_relaxed);
    atomic_store_explicit(&shown->reason, t->health.reason, memory_order_relaxed);
    atomic_store_explicit(&shown->rtt_us, t->health.rtt_us, memory_order_relaxed);
    show_ranks(front);
    if (changed)
        at_board_switch(front->board, t->index, t->health.up, t->health.reason,
                        at_clock_wall_ns(at_loop_clock(front->loop)));
}

static void show_ranks(struct at_front *front)
{
    uint32_t order[AT_MEMBERS_MAX];
    uint32_t count = at_front_order(front, NULL, (struct at_slice){0}, order);
    for (uint32_t i = 0; i < count; i++)
        atomic_store_explicit(&front->board->targets[order[i]].rank, i + 1, memory_order_relaxed);
}

uint32_t at_front_order(const struct at_front *front,
                        const struct at_profile *profile,
                        struct at_slice row,
                        uint32_t ret_order[AT_MEMBERS_MAX])
{
    struct at_target targets[AT_MEMBERS_MAX];
    for (uint32_t i = 0; i < front->target_count; i++) {
        const struct at_front_target *t = &front->targets[i];
        targets[i] = (struct at_target){.id = t->id,
                                        .zone = t->zone,
                                        .up = t->health.up,
                                        .rtt_us = t->health.rtt_us,
                                        .latency_us = t->latency_us};
    }
    struct at_choice_rule rule = {.router_zone = at_slice_cstr(front->instance->router_zone)};
    if (profile && profile->routing == AT_ROUTING_SINGLE) {
        rule.single = true;
        rule.group = &profile->cluster_id;
        rule.group_count = 1;
    } else if (profile) {
        rule.group = profile->cluster_ids;
        rule.group_count = profile->cluster_id_count;
        rule.affinity_row = profile->row_affinity ? row : (struct at_slice){0};
    }
    return at_choice_order(&rule, targets, front->target_count, ret_order);
}

void at_front_outcome(struct at_front *front, uint32_t target, const struct at_grpc_result *result)
{
    struct at_front_target *t = &front->targets[target];
    struct at_health_event event = {.kind = AT_HEALTH_REQUEST_OK};
    if (result->code == AT_UNAVAILABLE)
        event.kind = result->from_peer ? AT_HEALTH_REQUEST_ERROR : AT_HEALTH_CONNECTION_LOST;
    if (event.kind != AT_HEALTH_REQUEST_OK)
        step(t, &event);
}

void at_front_refresh(struct at_front *front, struct at_refresh *refresh)
{
    struct at_front_target *t = &front->targets[refresh->target];
    if (front->closed) {
        refresh->done(refresh);
        return;
    }
    refresh->beat = t->beat_count + 1;
    refresh->next = front->refreshes;
    front->refreshes = refresh;
    if (t->beat)
        t->beat_again = true; /* the one on its way may have been answered before the change */
    else
        send_beat(t);
}

/* The answer of a heartbeat sent after a refresh began shows what the refresh waits for. */
static void finish_refreshes(struct at_front *front, const struct at_front_target *t)
{
    struct at_refresh **at = &front->refreshes;
    while (*at) {
        struct at_refresh *refresh = *at;
        if (refresh->target != t->index || t->beat_count < refresh->beat) {
            at = &refresh->next;
            continue;
        }
        *at = refresh->next;
        refresh->done(refresh);
    }
}
