#include "base/assert.h"
#include "cluster/tablet/read.h"
#include "cluster/tablet/writer.h"
#include "replication/origin.h"
#include "sim/real_world.h"

#include <stdio.h>

/* All faults end, all that can run runs, operators finish what they began. Then nothing may be left
 * over, and all clusters must be the same and what the oracle says. */

#define PATIENCE_S 240

static void heal(struct real_world *w)
{
    w->resting = true;
    g_fake_net.loss_percent = g_fake_net.break_percent = g_fake_net.repeat_percent = 0;
    g_fake_net.delay_max_us = 2000;
    for (uint32_t i = 0; i < FAKE_MACHINES_MAX; i++) {
        g_fake_net.cut[i] = 0;
        for (uint32_t k = 0; k < FAKE_MACHINES_MAX; k++)
            g_fake_net.clogged_ns[i][k] = 0;
    }
    for (uint32_t i = 0; i < w->node_count && !w->failed; i++) {
        struct real_node *n = &w->nodes[i];
        n->drift_ppm = 0;
        n->wall_offset_ns = 0;
        n->lazy_until_ns = 0;
        if (n->state == REAL_DOWN)
            real_node_start(w, i);
    }
}

static bool is_fenced(const struct real_world *w, uint32_t node)
{
    for (uint32_t i = 0; i < w->node_count; i++)
        for (uint32_t k = 0; real_up(w, i) && k < w->nodes[i].view.member_count; k++)
            if (w->nodes[i].view.members[k].fenced && w->nodes[i].view.members[k].id.v == node + 1)
                return true;
    return false;
}

/* Removes the dead, and those that somebody began to remove: that can't be taken back. */
static void operate(struct real_world *w)
{
    for (uint32_t i = 0; i < w->node_count; i++) {
        const struct at_replica_view *v = &w->nodes[i].view;
        uint32_t members = 0;
        bool full = v->mode == AT_MODE_READY || v->mode == AT_MODE_NEEDS_COPY;
        if (!real_up(w, i) || !full || !v->joined || is_fenced(w, i))
            continue;
        for (uint32_t k = 0; k < v->member_count; k++) {
            uint32_t m = v->members[k].id.v - 1;
            enum real_state state = w->nodes[m].state;
            bool ended = state == REAL_DEAD || state == REAL_GONE || state == REAL_ABSENT;
            if (v->members[k].active && (ended || v->members[k].fenced))
                members |= 1U << m;
        }
        if (members != 0) {
            real_remove(w, i, members);
            return;
        }
    }
}

static bool node_rests(const struct real_world *w, uint32_t node, char *why, size_t size)
{
    const struct at_replica_view *v = &w->nodes[node].view;
    uint32_t open_log = 0;
    uint32_t active = 0;
    uint32_t must = 0;
    bool odd = false;

    for (uint32_t i = 0; i < v->member_count; i++) {
        active |= v->members[i].active ? 1U << (v->members[i].id.v - 1) : 0;
        odd = odd || v->members[i].parked || v->members[i].gap || v->members[i].fenced;
    }
    for (uint32_t i = 0; i < w->node_count; i++)
        must |= real_up(w, i) ? 1U << i : 0;
    for (uint32_t i = 0; i < v->applied.count; i++) {
        struct at_position p = v->applied.items[i];
        open_log += at_vector_get(&v->base, p.origin, p.epoch) < p.seq;
    }
    (void)snprintf(why, size,
                   "cluster %u: mode %d, closing %d, joined %d, caught up %d, healthy %d, members "
                   "%x of %x, odd %d, horizon %lld ms, logs %u, may write %d",
                   node, (int)v->mode, v->closing, v->joined, v->caught_up, v->healthy, active,
                   must, odd, ((long long)v->horizon - (long long)w->oracle.stamp_max) / 1000000,
                   open_log, v->may_write);
    return v->mode == AT_MODE_READY && !v->closing && v->joined && v->caught_up && v->healthy &&
           active == must && !odd && v->horizon > w->oracle.stamp_max && open_log == 0;
}

static bool rests(const struct real_world *w, char *why, size_t size)
{
    sim_coverage first;
    sim_coverage other;
    bool any = false;

    for (uint32_t i = 0; i < w->node_count; i++) {
        if (!real_up(w, i))
            continue;
        if (!node_rests(w, i, why, size))
            return false;
        real_coverage(w, i, any ? &other : &first);
        (void)snprintf(why, size, "cluster %u has applied other entries", i);
        if (any && memcmp(&first, &other, sizeof(first)) != 0)
            return false;
        any = true;
    }
    return any;
}

static void settle(struct real_world *w)
{
    char why[300] = "nobody is left";
    uint64_t end_ns = g_fake_net.now_ns + PATIENCE_S * AT_S_NS;

    for (uint32_t i = 0; !w->failed && g_fake_net.now_ns < end_ns; i++) {
        real_advance(w, 250 * AT_MS_NS);
        if (i % 16 == 8)
            operate(w);
        if (i > 4 && rests(w, why, sizeof(why)))
            return;
    }
    real_fail(w, "rest", "%s", why);
}

static struct at_digest digest_of(struct real_world *w, uint32_t node)
{
    struct at_digest_run *run = NULL;
    struct at_digest d = {0};
    bool done = false;

    enum at_code code =
        at_digest_open(w->nodes[node].disk.store, at_slice_make(NULL, 0), 1, &run, NULL);
    while (code == AT_OK && !done)
        code = at_digest_step(run, 1 << 20, &done, &d, NULL);
    at_digest_close(&run);
    if (code != AT_OK)
        real_fail(w, "rest: digest", "cluster %u: %s", node, at_code_name(code));
    return d;
}

static void check_same(struct real_world *w)
{
    struct at_digest first = {0};
    bool any = false;

    for (uint32_t i = 0; i < w->node_count && !w->failed; i++) {
        if (!real_up(w, i))
            continue;
        real_check_rows(w, i, true);
        struct at_digest d = digest_of(w, i);
        if (any && (d.rows != first.rows || d.cells != first.cells ||
                    memcmp(d.bytes, first.bytes, sizeof(d.bytes)) != 0))
            real_fail(w, "rest: digest", "cluster %u differs", i);
        first = any ? first : d;
        any = true;
    }
}

/* What nobody has was lost by its origin in a power cut, or by force. */
static void check_losses(struct real_world *w)
{
    sim_coverage coverage;
    uint32_t node = real_some_up(w);

    real_coverage(w, node, &coverage);
    for (uint32_t o = 0; o < w->node_count; o++)
        for (uint32_t e = 0; e < SIM_EPOCHS_MAX; e++)
            for (uint32_t s = coverage[o][e]; s < w->oracle.truth[o][e].count; s++)
                if (!w->oracle.truth[o][e].ops[s]->lost && !w->nodes[o].condemned)
                    real_fail(w, "rest: lost write", "(%u, %u, %u) is nowhere", o, e + 1, s + 1);
}

/* All of it is below the horizon: collectors leave no marker. */
static void collect_all(struct real_world *w)
{
    for (uint32_t i = 0; i < w->node_count && !w->failed; i++) {
        struct real_node *n = &w->nodes[i];
        struct at_store_stats stats;
        if (!real_up(w, i))
            continue;
        g_fake_net.here = i;
        for (uint32_t k = 0; k < 300; k++)
            if (!at_store_collect_turn(n->disk.store, 1 << 20) && k > 3)
                break;
        at_store_stats(n->disk.store, &stats);
        w->stats.collected += stats.collected_count;
        w->stats.forgotten += stats.forgotten_count;
    }
}

/* All go on, and every token comes true. */
static void go_on(struct real_world *w)
{
    for (uint32_t i = 0; i < w->node_count && !w->failed; i++) {
        uint64_t acked = w->stats.acked;
        if (!real_up(w, i))
            continue;
        real_client_drop(w, i);
        real_client_schema(w, i);
        real_client_rows(w, i);
        real_advance(w, 300 * AT_MS_NS);
        if (w->stats.acked == acked && !w->failed)
            real_fail(w, "rest: writes", "cluster %u refuses writes", i);
    }
    settle(w);
    for (uint32_t k = 0; k < 40 && !w->failed; k++) {
        uint32_t node = real_some_up(w);
        real_token_check(w, node);
        real_advance(w, 200 * AT_MS_NS);
    }
    real_advance(w, 1500 * AT_MS_NS);
    for (uint32_t i = 0; i < REAL_TOKENS_MAX && !w->failed; i++)
        if (w->tokens[i].step != REAL_TOKEN_FREE)
            real_fail(w, "rest: token", "token %u stays false", i);
}

void real_rest(struct real_world *w)
{
    heal(w);
    settle(w);
    if (w->failed)
        return;
    check_losses(w);
    check_same(w);
    collect_all(w);
    real_advance(w, 3000 * AT_MS_NS);
    check_same(w);
    if (!w->failed)
        go_on(w);
    if (!w->failed)
        check_same(w);
}
