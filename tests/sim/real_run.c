#include "base/assert.h"
#include "cluster/tablet/writer.h"
#include "sim/real_world.h"

/* What happens, by chance. */

struct action {
    uint32_t weight;
    void (*run)(struct real_world *w, uint32_t node);
};

static void write_rows_of(struct real_world *w, uint32_t node)
{
    uint32_t count = 1 + (real_percent(w, 10) ? real_below(w, REAL_WRITES_MAX) : 0);

    for (uint32_t i = 0; i < count; i++)
        real_client_rows(w, node);
    w->nodes[node].wake_ns = g_fake_net.now_ns;
}

static void drop(struct real_world *w, uint32_t node)
{
    real_client_drop(w, node);
}

static void schema(struct real_world *w, uint32_t node)
{
    real_client_schema(w, node);
}

static void collect(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];

    g_fake_net.here = node;
    for (uint32_t i = 0; i < 1 + real_below(w, 4); i++)
        (void)at_store_collect_turn(n->disk.store, 1 + real_below(w, 2000));
    real_truth_read(w, node);
}

/* Rather one that is filled, or that fills one. */
static uint32_t victim(struct real_world *w, uint32_t node)
{
    for (uint32_t i = 0; i < w->node_count; i++)
        if (real_up(w, i) && w->nodes[i].view.mode == AT_MODE_COPYING && real_percent(w, 50))
            return i;
    return node;
}

static void kill_one(struct real_world *w, uint32_t node)
{
    real_node_end(w, victim(w, node), REAL_END_KILLED, REAL_DOWN);
}

static void power_cut(struct real_world *w, uint32_t node)
{
    real_node_end(w, victim(w, node), REAL_END_POWER, REAL_DOWN);
}

static void stop(struct real_world *w, uint32_t node)
{
    real_node_end(w, node, REAL_END_ORDERLY, REAL_DOWN);
}

static void start(struct real_world *w, uint32_t node)
{
    (void)node;
    for (uint32_t i = 0; i < w->node_count; i++)
        if (w->nodes[i].state == REAL_DOWN && real_percent(w, 60)) {
            real_node_start(w, i);
            return;
        }
}

static void cut(struct real_world *w, uint32_t node)
{
    uint32_t other = real_below(w, w->node_count);

    if (other == node)
        return;
    real_trace(w, "link %u to %u is cut", node, other);
    g_fake_net.cut[node] |= 1U << other;
    if (real_percent(w, 60))
        g_fake_net.cut[other] |= 1U << node;
}

static void isolate(struct real_world *w, uint32_t node)
{
    real_trace(w, "cluster %u is cut off", node);
    g_fake_net.cut[node] = UINT32_MAX;
    for (uint32_t i = 0; i < w->node_count; i++)
        g_fake_net.cut[i] |= 1U << node;
}

static void heal(struct real_world *w, uint32_t node)
{
    bool all = real_percent(w, 40);

    real_trace(w, all ? "all links heal" : "links of %u heal", node);
    for (uint32_t i = 0; i < FAKE_MACHINES_MAX; i++) {
        if (all || i == node)
            g_fake_net.cut[i] = 0;
        g_fake_net.cut[i] &= ~(1U << node);
    }
}

static void clog_link(struct real_world *w, uint32_t node)
{
    g_fake_net.clogged_ns[node][real_below(w, w->node_count)] =
        g_fake_net.now_ns + real_below(w, 4000) * AT_MS_NS;
}

static void step_clock(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];

    if (real_percent(w, 30))
        n->drift_ppm = (int64_t)real_below(w, 2000) - 1000;
    else
        n->wall_offset_ns = ((int64_t)real_below(w, 700) - 350) * (int64_t)AT_MS_NS;
    real_trace(w, "clock of %u: offset %lld ms", node, (long long)n->wall_offset_ns / 1000000);
}

static void laze(struct real_world *w, uint32_t node)
{
    w->nodes[node].lazy_until_ns = g_fake_net.now_ns + real_below(w, 1500) * AT_MS_NS;
}

static uint32_t count_members(const struct real_world *w)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < w->node_count; i++)
        count += w->nodes[i].state == REAL_UP || w->nodes[i].state == REAL_DOWN ||
                 w->nodes[i].state == REAL_DEAD;
    return count;
}

static void join(struct real_world *w, uint32_t node)
{
    if (count_members(w) < 6 && real_may_gain(w))
        real_client_join(w, node);
}

static void leave(struct real_world *w, uint32_t node)
{
    if (real_may_lose(w, node))
        real_leave(w, node);
}

static void die(struct real_world *w, uint32_t node)
{
    if (!real_may_lose(w, node))
        return;
    w->nodes[node].condemned = true;
    real_node_end(w, node, REAL_END_POWER, REAL_DEAD);
}

/* The dead, or one that only seems to be. */
static void remove_some(struct real_world *w, uint32_t node)
{
    uint32_t members = 0;

    for (uint32_t i = 0; i < w->node_count; i++)
        if (w->nodes[i].state == REAL_DEAD && real_member_active(w, node, i))
            members |= 1U << i;
    uint32_t other = real_below(w, w->node_count);
    if (members == 0 && other != node && real_percent(w, 30) && real_may_lose(w, other) &&
        (w->nodes[other].state == REAL_UP || w->nodes[other].state == REAL_DOWN))
        members |= 1U << other;
    if (members != 0 && !w->nodes[node].condemned)
        real_remove(w, node, members);
}

static void wait_long(struct real_world *w, uint32_t node)
{
    (void)node;
    real_advance(w, real_below(w, 5000) * AT_MS_NS);
}

static const struct action actions[] = {
    {46, write_rows_of},
    {3, drop},
    {3, schema},
    {8, collect},
    {2, kill_one},
    {2, power_cut},
    {1, stop},
    {8, start},
    {4, cut},
    {1, isolate},
    {7, heal},
    {2, clog_link},
    {2, step_clock},
    {2, laze},
    {1, join},
    {1, leave},
    {1, die},
    {1, remove_some},
    {3, real_token_make},
    {6, real_token_check},
    {3, wait_long},
};

static void act(struct real_world *w)
{
    uint32_t total = 0;
    uint32_t i = 0;

    for (uint32_t k = 0; k < sizeof(actions) / sizeof(actions[0]); k++)
        total += actions[k].weight;
    uint32_t dice = real_below(w, total);
    for (; dice >= actions[i].weight; i++)
        dice -= actions[i].weight;
    uint32_t node = real_some_up(w);
    if (node == SIM_NODES_MAX)
        start(w, 0);
    else if (w->nodes[node].view.mode != AT_MODE_REMOVED)
        actions[i].run(w, node);
}

void real_run(struct real_world *w, uint32_t events)
{
    for (uint32_t i = 0; i < SIM_TABLES * 3 && !w->failed; i++) {
        real_client_schema(w, i % w->node_count);
        real_advance(w, 20 * AT_MS_NS);
    }
    for (uint32_t i = 0; i < events && !w->failed; i++) {
        w->stats.events++;
        act(w);
        if (!w->failed)
            real_advance(w, real_below(w, real_percent(w, 20) ? 60000 : 6000) * 1000);
        uint32_t node = real_some_up(w);
        if (!w->failed && node != SIM_NODES_MAX)
            real_check_rows(w, node, real_percent(w, 5));
    }
    if (!w->failed)
        real_rest(w);
    w->stats.virtual_ms += g_fake_net.now_ns / AT_MS_NS;
    real_hash(w, g_fake_net.hash);
}
