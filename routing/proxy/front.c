/* front.c: opening and closing, the order of clusters, and their health as requests see it. The
 * heartbeats are front_beat.c, the clusters' coming and going front_members.c. */
#include "routing/proxy/front.h"

#include "base/assert.h"
#include "routing/proxy/front_impl.h"

#define YOUNG_NS (2 * AT_S_NS)
#define YOUNG_PACE_MS 10

static void on_timer(uv_timer_t *timer);
static void on_timer_closed(uv_handle_t *handle);
static void on_alarms_closed(struct at_alarms *alarms);
static void one_closed(struct at_front *front);
static void show_ranks(struct at_front *front);

enum at_code at_front_open(struct at_front *front, struct at_error *reterr)
{
    const struct at_instance_config *instance = front->instance;
    if (instance->cluster_count > AT_MEMBERS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "an instance has %d clusters at most",
                       AT_MEMBERS_MAX);
    at_profile_table_init(&front->profiles);
    at_alarms_init(&front->alarms, front->loop);
    (void)uv_timer_init(at_loop_uv(front->loop), &front->timer);
    front->timer.data = front;
    front->handles = 2;
    for (uint32_t i = 0; i < instance->cluster_count; i++) {
        const struct at_cluster_config *c = &instance->clusters[i];
        at_front_add(front, &(struct at_front_member){.id = c->id,
                                                      .zone = c->zone,
                                                      .host = c->host,
                                                      .port = c->grpc_port,
                                                      .member = c->member});
    }
    front->young_until_ns = at_loop_now_ns(front->loop) + YOUNG_NS;
    (void)uv_timer_start(&front->timer, on_timer, 0, instance->heartbeat_ms);
    return AT_OK;
}

void at_front_close(struct at_front *front)
{
    bool opened = front->handles > 0;
    if (front->closed)
        return;
    front->closed = true;
    if (!opened)
        return;
    while (front->refreshes) {
        struct at_refresh *refresh = front->refreshes;
        front->refreshes = refresh->next;
        refresh->done(refresh);
    }
    uv_close((uv_handle_t *)&front->timer, on_timer_closed);
    for (uint32_t i = 0; i < front->target_count; i++)
        if (front->targets[i].state != AT_FRONT_FREE)
            at_front_drop(&front->targets[i]);
    at_alarms_close(&front->alarms, on_alarms_closed);
    at_profile_table_deinit(&front->profiles);
}

static void on_timer_closed(uv_handle_t *handle)
{
    one_closed(handle->data);
}

static void on_alarms_closed(struct at_alarms *alarms)
{
    at_alarms_deinit(alarms);
    one_closed((struct at_front *)(void *)((char *)alarms - offsetof(struct at_front, alarms)));
}

static void one_closed(struct at_front *front)
{
    AT_ASSERT(front->handles > 0);
    front->handles--;
    if (front->handles == 0 && front->on_closed)
        front->on_closed(front);
}

void at_front_retire(struct at_front *front)
{
    front->retiring = true;
    if (front->requests == 0)
        at_front_close(front);
}

void at_front_begin(struct at_front *front)
{
    front->requests++;
}

void at_front_end(struct at_front *front)
{
    AT_ASSERT(front->requests > 0);
    front->requests--;
    if (front->requests == 0 && front->retiring)
        at_front_close(front);
}

/* Clusters and routers are started together: one that was never heard is asked often at first. */
static void set_pace(struct at_front *front)
{
    uint64_t pace_ms = front->instance->heartbeat_ms;
    bool young = at_loop_now_ns(front->loop) < front->young_until_ns;
    for (uint32_t i = 0; i < front->target_count && young; i++)
        if (front->targets[i].state == AT_FRONT_MEMBER && front->targets[i].health.rtt_us == 0 &&
            pace_ms > YOUNG_PACE_MS)
            pace_ms = YOUNG_PACE_MS;
    uv_timer_set_repeat(&front->timer, pace_ms);
}

static void on_timer(uv_timer_t *timer)
{
    struct at_front *front = timer->data;
    static const struct at_health_event TICK = {.kind = AT_HEALTH_TICK};
    set_pace(front);
    for (uint32_t i = 0; i < front->target_count; i++) {
        struct at_front_target *t = &front->targets[i];
        if (t->state != AT_FRONT_MEMBER)
            continue;
        at_front_step(t, &TICK);
        if (!t->beat)
            at_front_beat(t);
    }
}

void at_front_step(struct at_front_target *t, const struct at_health_event *event)
{
    struct at_front *front = t->front;
    bool changed = at_health_step(&t->health, event, at_loop_now_ns(front->loop));
    if (!front->leader)
        return;
    struct at_board_target *shown = t->shown;
    atomic_store_explicit(&shown->up, t->health.up, memory_order_relaxed);
    atomic_store_explicit(&shown->reason, t->health.reason, memory_order_relaxed);
    atomic_store_explicit(&shown->rtt_us, t->health.rtt_us, memory_order_relaxed);
    show_ranks(front);
    if (changed)
        at_board_switch(front->board, shown, t->health.up, t->health.reason,
                        at_clock_wall_ns(at_loop_clock(front->loop)));
}

static void show_ranks(struct at_front *front)
{
    struct at_front_pick order[AT_MEMBERS_MAX];
    uint32_t count = at_front_order(front, NULL, (struct at_slice){0}, order);
    for (uint32_t i = 0; i < count; i++)
        atomic_store_explicit(&front->targets[order[i].index].shown->rank, i + 1,
                              memory_order_relaxed);
}

uint32_t at_front_order(const struct at_front *front,
                        const struct at_profile *profile,
                        struct at_slice row,
                        struct at_front_pick ret_order[AT_MEMBERS_MAX])
{
    struct at_target targets[AT_MEMBERS_MAX];
    uint32_t slots[AT_MEMBERS_MAX];
    uint32_t order[AT_MEMBERS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < front->target_count && count < AT_MEMBERS_MAX; i++) {
        const struct at_front_target *t = &front->targets[i];
        if (t->state != AT_FRONT_MEMBER)
            continue;
        slots[count] = i;
        targets[count++] = (struct at_target){.id = t->id,
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
    count = at_choice_order(&rule, targets, count, order);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = slots[order[i]];
        ret_order[i] = (struct at_front_pick){slot, front->targets[slot].generation};
    }
    return count;
}

bool at_front_find(const struct at_front *front, struct at_slice id, struct at_front_pick *ret_pick)
{
    for (uint32_t i = 0; i < front->target_count; i++) {
        const struct at_front_target *t = &front->targets[i];
        if (t->state != AT_FRONT_MEMBER || !at_slice_eq(t->id, id))
            continue;
        *ret_pick = (struct at_front_pick){i, t->generation};
        return true;
    }
    return false;
}

struct at_grpc_channel *at_front_use(struct at_front *front, struct at_front_pick pick)
{
    AT_ASSERT(pick.index < front->target_count);
    struct at_front_target *t = &front->targets[pick.index];
    if (t->generation != pick.generation || t->state != AT_FRONT_MEMBER)
        return NULL;
    t->uses++;
    return t->channel;
}

void at_front_unuse(struct at_front *front, uint32_t target)
{
    struct at_front_target *t = &front->targets[target];
    if (t->state == AT_FRONT_FREE)
        return; /* the front was closed under it */
    AT_ASSERT(t->uses > 0);
    t->uses--;
    if (t->uses == 0 && t->state == AT_FRONT_LEAVING)
        at_front_drop(t);
}

void at_front_outcome(struct at_front *front, uint32_t target, const struct at_grpc_result *result)
{
    struct at_front_target *t = &front->targets[target];
    if (result->code != AT_UNAVAILABLE || t->state != AT_FRONT_MEMBER)
        return;
    struct at_health_event event = {.kind = result->from_peer ? AT_HEALTH_REQUEST_ERROR
                                                              : AT_HEALTH_CONNECTION_LOST};
    at_front_step(t, &event);
}
