/* front_beat.c: heartbeats, and the view they keep.
 *
 * One timer sends a heartbeat to every target that has none on its way. An answer carries the
 * cluster's state and lag for the health machine, and its app profiles and member list when they
 * differ from what this front knows: versions are digests, the same on all clusters. What different
 * clusters know differs for the moment that replication takes; the nearest healthy cluster's is
 * what is in force, so that a router agrees with the cluster it uses. Only a cluster that is READY
 * is believed: one that is still being filled knows no profiles yet. */
#include "base/log.h"
#include "base/pbwire.h"
#include "routing/proxy/front_impl.h"
#include "wire/proto_alloc.h"

static void on_answer(void *ctx, struct at_slice message);
static void on_beat_done(void *ctx, const struct at_grpc_result *result);
static void take_answer(struct at_front_target *t, const Atoll__V1__HeartbeatResponse *beat);
static void take_view(struct at_front_target *t, const Atoll__V1__HeartbeatResponse *beat);
static void take_profiles(struct at_front_target *t, const Atoll__V1__HeartbeatResponse *beat);

static const struct at_grpc_client_handler BEAT_HANDLER = {.on_message = on_answer,
                                                           .on_done = on_beat_done};

/* HeartbeatRequest{known_catalog_version = 1, known_clusters_version = 2}, without zeros. */
static struct at_slice write_request(struct at_front_target *t)
{
    uint8_t *end = t->beat_bytes;
    if (t->beat_version != 0) {
        *end++ = 0x08;
        end = at_pb_write_varint(end, t->beat_version);
    }
    if (t->beat_clusters != 0) {
        *end++ = 0x10;
        end = at_pb_write_varint(end, t->beat_clusters);
    }
    return at_slice_make(t->beat_bytes, (size_t)(end - t->beat_bytes));
}

void at_front_beat(struct at_front_target *t)
{
    struct at_front *front = t->front;
    t->beat_version = front->profiles.known ? front->profiles.version : 0;
    t->beat_clusters = front->clusters_version;
    at_buf_clear(&t->answer);
    t->beat_again = false;
    t->beat_count++;
    t->beat_sent_ns = at_clock_mono_ns(at_loop_clock(front->loop));
    struct at_grpc_client_request request = {
        .path = "/atoll.v1.Cluster/Heartbeat",
        .message = write_request(t),
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

/* A target that leaves has no heartbeat on its way, so `t` is a member when this begins; what it
 * says may be that it is none any more. */
static void on_beat_done(void *ctx, const struct at_grpc_result *result)
{
    struct at_front_target *t = ctx;
    uint32_t generation = t->generation;
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
        at_front_step(t, &lost);
    }
    at_arena_deinit(&arena);
    if (t->state != AT_FRONT_MEMBER || t->generation != generation)
        return;
    at_front_finish_refreshes(t->front, t, false);
    if (t->beat_again && t->state == AT_FRONT_MEMBER)
        at_front_beat(t);
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
    if (!t->health.up)
        at_grpc_channel_wake(t->channel); /* requests are about to come */
    at_front_step(t, &event);
    take_view(t, beat);
}

/* Is what t tells in force? A refresh asks the cluster that made a change, which need not be the
 * nearest. */
static bool is_believed(const struct at_front_target *t)
{
    const struct at_front *front = t->front;
    if (!front->profiles.known)
        return true;
    for (const struct at_refresh *r = front->refreshes; r; r = r->next)
        if (r->target.index == t->index && t->beat_count >= r->beat)
            return true;
    struct at_front_pick order[AT_MEMBERS_MAX];
    uint32_t count = at_front_order(front, NULL, (struct at_slice){0}, order);
    return count > 0 && order[0].index == t->index;
}

static void take_view(struct at_front_target *t, const Atoll__V1__HeartbeatResponse *beat)
{
    if (beat->state != ATOLL__V1__CLUSTER_STATE__READY || !is_believed(t))
        return;
    take_profiles(t, beat);
    if (beat->n_clusters > 0 && beat->clusters_version != t->front->clusters_version)
        at_front_take_members(t->front, beat);
}

static void take_profiles(struct at_front_target *t, const Atoll__V1__HeartbeatResponse *beat)
{
    struct at_profile_table *table = &t->front->profiles;
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

void at_front_refresh(struct at_front *front, struct at_refresh *refresh)
{
    struct at_front_target *t = &front->targets[refresh->target.index];
    if (front->closed || t->state != AT_FRONT_MEMBER) {
        refresh->done(refresh);
        return;
    }
    refresh->beat = t->beat_count + 1;
    refresh->next = front->refreshes;
    front->refreshes = refresh;
    if (t->beat)
        t->beat_again = true; /* the one on its way may have been answered before the change */
    else
        at_front_beat(t);
}

/* The answer of a heartbeat sent after a refresh began shows what the refresh waits for. */
void at_front_finish_refreshes(struct at_front *front, const struct at_front_target *t, bool all)
{
    struct at_refresh **at = &front->refreshes;
    while (*at) {
        struct at_refresh *refresh = *at;
        if (refresh->target.index != t->index || (!all && t->beat_count < refresh->beat)) {
            at = &refresh->next;
            continue;
        }
        *at = refresh->next;
        refresh->done(refresh);
    }
}
