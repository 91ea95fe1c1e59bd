#include "sim/world.h"
#include "replication/origin.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>

void sim_world_init(struct sim_world *w, uint32_t node_count, uint32_t sync_bits)
{
    struct at_member_id members[AT_MEMBERS_MAX];

    memset(w, 0, sizeof(*w));
    w->now_ns = UINT64_C(1700000000) * 1000 * SIM_MS;
    w->grain_ns = SIM_MS;
    w->next_request = 1;
    w->next_boot = 1;
    w->next_offer = 1;
    w->next_value = 1;
    at_arena_init(&w->arena, 64 * AT_KIB);
    at_arena_init(&w->op_arena, 16 * AT_KIB);
    at_buf_init(&w->scratch, SIM_MESSAGE_BYTES_MAX);
    at_buf_init(&w->key, AT_KEY_BYTES_MAX + 1);
    at_buf_init(&w->payload, SIM_MESSAGE_BYTES_MAX);
    w->node_count = node_count;
    for (uint32_t i = 0; i < node_count; i++)
        members[i] = sim_id(i);
    for (uint32_t i = 0; i < node_count; i++) {
        struct at_replica_config config = {.instance_id = SIM_INSTANCE,
                                           .self = sim_id(i),
                                           .members = members,
                                           .member_count = node_count,
                                           .max_skew_ns = SIM_SKEW_MS * SIM_MS,
                                           .reserve_step_ns = SIM_SKEW_MS * SIM_MS / 4,
                                           .sync_commits = (sync_bits >> i & 1) != 0};
        sim_node_create(w, i, &config);
    }
}

void sim_world_deinit(struct sim_world *w)
{
    for (uint32_t i = 0; i < w->flight_count; i++)
        sim_letter_deinit(&w->flights[i]);
    for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
        struct sim_node *n = &w->nodes[i];
        sim_node_stop(w, i, SIM_ABSENT);
        sim_engine_deinit(&n->engine);
        at_replica_view_deinit(&n->view);
        at_vector_deinit(&n->before);
        at_vector_deinit(&n->synced);
        sim_engine_deinit(&n->copy.aside);
        at_buf_deinit(&n->copy.opened);
        sim_records_clear(&n->past);
        at_free(n->past.items);
        for (uint32_t k = 0; k < SIM_OFFERS_MAX; k++)
            at_free(n->offers[k].records.items);
        for (uint32_t p = 0; p < SIM_NODES_MAX; p++) {
            at_lag_evidence_deinit(&n->peers[p].lag);
            at_vector_deinit(&n->sent[p].upto);
        }
    }
    for (uint32_t i = 0; i < SIM_TOKENS_MAX; i++)
        at_token_deinit(&w->tokens[i].token);
    sim_oracle_deinit(&w->oracle);
    at_arena_deinit(&w->arena);
    at_arena_deinit(&w->op_arena);
    at_buf_deinit(&w->scratch);
    at_buf_deinit(&w->key);
    at_buf_deinit(&w->payload);
    at_hll_deinit(&w->hll);
}

void sim_fail(struct sim_world *w, const char *check, const char *format, ...)
{
    va_list args;

    if (w->failed)
        return;
    w->failed = true;
    (void)snprintf(w->check, sizeof(w->check), "%s", check);
    va_start(args, format);
    (void)vsnprintf(w->detail, sizeof(w->detail), format, args);
    va_end(args);
    sim_trace(w, "VIOLATION %s: %s", check, w->detail);
}

void sim_trace(struct sim_world *w, const char *format, ...)
{
    va_list args;

    if (!w->tracing)
        return;
    (void)printf("  %8.3f ms  ", (double)(w->now_ns % (100000 * SIM_MS)) / 1e6);
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)putchar('\n');
}

void sim_hash(struct sim_world *w, uint64_t v)
{
    uint64_t h = w->trace_hash ^ v;

    h *= UINT64_C(0x9e3779b97f4a7c15);
    w->trace_hash = h ^ (h >> 29);
}

uint32_t sim_below(struct sim_world *w, uint32_t n)
{
    return (uint32_t)at_prng_below(&w->rng, n);
}

uint64_t sim_wall(const struct sim_world *w, uint32_t node)
{
    const struct sim_node *n = &w->nodes[node];
    int64_t since_ms = (int64_t)((w->now_ns - UINT64_C(1700000000) * 1000 * SIM_MS) / SIM_MS);

    uint64_t wall_ns = w->now_ns + (uint64_t)(n->offset_ns + since_ms * n->drift_ppm);
    return wall_ns - wall_ns % w->grain_ns;
}

uint64_t sim_clock(const struct sim_world *w, uint32_t node)
{
    uint64_t wall = sim_wall(w, node);
    uint64_t hlc = w->nodes[node].view.hlc;
    return wall > hlc ? wall : hlc;
}

bool sim_is_member(const struct sim_world *w, uint32_t viewer, struct at_member_id id)
{
    const struct at_replica_view *v = &w->nodes[viewer].view;

    for (uint32_t i = 0; i < v->member_count; i++)
        if (at_member_eq(v->members[i].id, id))
            return v->members[i].active && !v->members[i].fenced;
    return false;
}

uint8_t sim_state_of(const struct sim_world *w, uint32_t viewer, uint32_t node)
{
    const struct at_replica_view *v = &w->nodes[viewer].view;

    for (uint32_t i = 0; i < v->member_count; i++)
        if (at_member_eq(v->members[i].id, sim_id(node)))
            return v->members[i].state;
    return AT_ORIGIN_KNOWN;
}
