#include "base/assert.h"
#include "base/bytes.h"
#include "sim/world.h"

#include <stdio.h>

/* All faults end, all that can run runs, operators finish what they began. Then nothing may be left
 * over, and all clusters must be the same and what the oracle says. */

#define ROUNDS_MAX 160

static void heal(struct sim_world *w);
static void start_set_back(struct sim_world *w, uint32_t node);
static void settle(struct sim_world *w);
static void describe(struct sim_world *w, uint32_t node);
static void round_of(struct sim_world *w, uint32_t node);
static void operators(struct sim_world *w, uint32_t side);
static uint32_t to_remove(const struct sim_world *w, uint32_t node, uint32_t fenced);
static uint32_t dead_missing(struct sim_world *w, uint32_t node);
static bool at_rest(struct sim_world *w, uint32_t side, char *ret_why, size_t size);
static bool
node_at_rest(struct sim_world *w, uint32_t node, uint32_t members, char *why, size_t size);
static uint32_t count_log(const struct sim_world *w, uint32_t node);
static void check_losses(struct sim_world *w, uint32_t side);
static void check_forgotten(struct sim_world *w);
static uint32_t first_up(const struct sim_world *w, uint32_t side);

void sim_rest(struct sim_world *w)
{
    heal(w);
    settle(w);
    check_losses(w, 0);
    if (w->fork_side != 0)
        check_losses(w, 1);
    sim_fork_check(w);
    for (uint32_t i = 0; i < w->node_count && !w->failed; i++)
        if (sim_up(w, i))
            sim_rows_check(w, i, true);
    check_forgotten(w);
    /* All go on. */
    for (uint32_t i = 0; i < w->node_count && !w->failed; i++) {
        struct sim_op op = {.kind = SIM_OP_DROP, .ticks = 1, .row = 2, .row_end = SIM_ROWS};
        if (sim_up(w, i) && !sim_write(w, i, &op, false))
            sim_fail(w, "rest: writes", "cluster %u refuses writes", i);
    }
    settle(w);
    for (uint32_t i = 0; i < SIM_TOKENS_MAX && !w->failed; i++)
        if (w->tokens[i].held && !sim_token_try(w, first_up(w, 0), i) && !w->failed)
            sim_fail(w, "rest: token", "token %u stays false", i);
}

static uint32_t first_up(const struct sim_world *w, uint32_t side)
{
    uint32_t i = 0;
    while (i < w->node_count - 1 && (!sim_up(w, i) || sim_side(w, i) != side))
        i++;
    return i;
}

static void heal(struct sim_world *w)
{
    w->faithful = true;
    w->entries_max = 0;
    w->start_after = 0;
    w->chunk_max = 0;
    sim_let_go(w);
    memset(w->cut, 0, sizeof(w->cut));
    memset(w->clogged_ns, 0, sizeof(w->clogged_ns));
    for (uint32_t i = 0; i < w->node_count && !w->failed; i++) {
        w->nodes[i].offset_ns = 0;
        w->nodes[i].drift_ppm = 0;
        if (w->nodes[i].state == SIM_DOWN)
            sim_node_start(w, i, w->nodes[i].tail_lost || sim_below(w, 2) == 0);
        if (sim_up(w, i) && w->nodes[i].round_open)
            sim_commit(w, i, false);
    }
    for (uint32_t i = 0; i < 100; i++) { /* all that was on its way arrives */
        w->now_ns += 20 * SIM_MS;
        sim_deliver_due(w);
    }
    w->now_ns += 3000 * SIM_MS;
    for (uint32_t i = 0; i < w->node_count && !w->failed; i++)
        start_set_back(w, i);
}

/* The clock is beyond all that it said now; who set it back starts it until its epoch is new. */
static void start_set_back(struct sim_world *w, uint32_t node)
{
    if (w->nodes[node].state == SIM_DOWN)
        sim_node_start(w, node, true);
    while (sim_set_back_unsure(w, node) && !w->failed) {
        sim_node_crash(w, node, false);
        sim_node_start(w, node, true);
    }
}

static void settle(struct sim_world *w)
{
    char why[200] = "";

    for (uint32_t round = 0; round < ROUNDS_MAX && !w->failed; round++) {
        w->now_ns += 50 * SIM_MS;
        if (round % 10 == 2)
            operators(w, 0);
        if (round % 10 == 2 && w->fork_side != 0)
            operators(w, 1);
        for (uint32_t i = 0; i < w->node_count && !w->failed; i++)
            if (sim_up(w, i))
                round_of(w, i);
        if (round > 2 && at_rest(w, 0, why, sizeof(why)) &&
            (w->fork_side == 0 || at_rest(w, 1, why, sizeof(why))) && sim_fork_settled(w))
            return;
    }
    for (uint32_t i = 0; i < w->node_count && w->tracing; i++)
        if (sim_up(w, i))
            describe(w, i);
    if (!w->failed)
        sim_fail(w, "rest", "%s%s", why, sim_fork_settled(w) ? "" : ", or of one instance still");
}

/* What is left over, for people. */
static void describe(struct sim_world *w, uint32_t node)
{
    const struct sim_records *all = &w->nodes[node].engine.now;
    const struct at_replica_view *v = &w->nodes[node].view;

    sim_trace(w, "cluster %u: mode %d, joined %d, caught up %d, closing %d, epoch %u", node,
              (int)v->mode, v->joined, v->caught_up, v->closing, v->epoch);
    for (uint32_t i = sim_records_seek(all, AT_LIT("l"));
         i < all->count && all->items[i]->bytes[0] == 'l'; i++) {
        const uint8_t *key = all->items[i]->bytes;
        struct at_member_id origin = {at_get_be32(key + 1)};
        uint32_t epoch = at_get_be32(key + 5);
        sim_trace(w, "  log (%u, %u, %llu), base %llu, first open %u", origin.v - 1, epoch,
                  (unsigned long long)at_get_be64(key + 9),
                  (unsigned long long)at_vector_get(&v->base, origin, epoch),
                  at_positions_facts_first_open(&v->facts, origin));
    }
    for (uint32_t i = 0; i < v->member_count; i++)
        sim_trace(w, "  member %u: state %u, fenced %d, parked %d, gap %d, acked %llu",
                  v->members[i].id.v - 1, v->members[i].state, v->members[i].fenced,
                  v->members[i].parked, v->members[i].gap,
                  (unsigned long long)v->members[i].acked_seq);
    for (uint32_t i = 0; i < v->durable.count; i++)
        sim_trace(w, "  durable (%u, %u): %llu of %llu", v->durable.items[i].origin.v - 1,
                  v->durable.items[i].epoch, (unsigned long long)v->durable.items[i].seq,
                  (unsigned long long)at_vector_get(&v->applied, v->durable.items[i].origin,
                                                    v->durable.items[i].epoch));
}

static void round_of(struct sim_world *w, uint32_t node)
{
    w->stats.events++;
    sim_idle(w, node);
    sim_ask_close(w, node);
    sim_deliver_due(w);
    for (uint32_t i = 0; i < w->node_count && sim_up(w, node) && !w->failed; i++) {
        sim_ask_pull(w, node, i);
        sim_deliver_due(w);
    }
    if (!sim_up(w, node) || w->failed)
        return;
    sim_copy_step(w, node);
    sim_deliver_due(w);
    if (!sim_up(w, node) || w->failed)
        return;
    sim_member_step(w, node);
    sim_deliver_due(w);
    if (sim_up(w, node) && !w->failed)
        sim_trim(w, node);
}

/* Removes whom somebody began to remove, and the dead; several may do so at once. A living one
 * that is only fenced is removed all the same: that can't be taken back. */
static void operators(struct sim_world *w, uint32_t side)
{
    uint32_t fenced = 0; /* by anyone */

    for (uint32_t i = 0; i < w->node_count; i++)
        for (uint32_t k = 0;
             sim_up(w, i) && sim_side(w, i) == side && k < w->nodes[i].view.member_count; k++)
            if (w->nodes[i].view.members[k].fenced)
                fenced |= 1u << (w->nodes[i].view.members[k].id.v - 1);
    for (uint32_t i = 0; i < w->node_count && !w->failed; i++) {
        struct sim_node *n = &w->nodes[i];
        bool full = n->view.mode == AT_MODE_READY || n->view.mode == AT_MODE_NEEDS_COPY;
        if (!sim_up(w, i) || sim_side(w, i) != side || !full || !n->view.joined ||
            (fenced >> i & 1) != 0)
            continue;
        uint32_t members = to_remove(w, i, fenced) | dead_missing(w, i);
        if (members == 0)
            continue;
        sim_remove_surviving(w, i, members, w->fork_side != 0);
        sim_deliver_due(w);
        return;
    }
}

/* Whom `node` fences, and who has ended. Of those that only others fence one at a time: two may
 * have fenced each other, and the one that stays is then fenced by nobody. */
static uint32_t to_remove(const struct sim_world *w, uint32_t node, uint32_t fenced)
{
    const struct at_replica_view *v = &w->nodes[node].view;
    uint32_t members = 0;
    uint32_t by_others = 0;

    for (uint32_t k = 0; k < v->member_count; k++) {
        const struct at_member_view *m = &v->members[k];
        uint32_t at = m->id.v - 1;
        bool ended = w->nodes[at].state == SIM_DEAD || w->nodes[at].state == SIM_GONE ||
                     sim_side(w, at) != sim_side(w, node);
        if (m->active && (m->fenced || ended))
            members |= 1u << at;
        if (m->active && (fenced >> at & 1) != 0 && by_others == 0)
            by_others = 1u << at;
    }
    return members != 0 ? members : by_others;
}

/* Those that others told the coordinator of, and that can't answer any more. */
static uint32_t dead_missing(struct sim_world *w, uint32_t node)
{
    struct at_member_id missing[AT_MEMBERS_MAX];
    struct at_fence fence;
    uint32_t count = 0;
    uint32_t members = 0;

    if (!at_replica_fencing(w->nodes[node].replica, &fence, missing, &count))
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        enum sim_node_state state = w->nodes[missing[i].v - 1].state;
        if (state == SIM_DEAD || state == SIM_GONE)
            members |= 1u << (missing[i].v - 1);
    }
    return members;
}

static bool at_rest(struct sim_world *w, uint32_t side, char *ret_why, size_t size)
{
    uint32_t members = 0;

    for (uint32_t i = 0; i < w->node_count; i++)
        if (sim_up(w, i) && sim_side(w, i) == side)
            members |= 1u << i;
    if (members == 0) {
        sim_fail(w, "rest", "nobody is left");
        return false;
    }
    for (uint32_t i = 0; i < w->node_count; i++)
        if ((members >> i & 1) && !node_at_rest(w, i, members, ret_why, size))
            return false;
    return true;
}

static bool
node_at_rest(struct sim_world *w, uint32_t node, uint32_t members, char *why, size_t size)
{
    const struct sim_node *n = &w->nodes[node];
    const struct at_replica_view *v = &n->view;
    uint32_t active = 0;

    for (uint32_t i = 0; i < v->member_count; i++) {
        if (v->members[i].active)
            active |= 1u << (v->members[i].id.v - 1);
        if (v->members[i].parked || v->members[i].gap) {
            (void)snprintf(why, size, "cluster %u: parked or gap of %u", node,
                           v->members[i].id.v - 1);
            return false;
        }
    }
    (void)snprintf(why, size,
                   "cluster %u: mode %d, closing %d, joined %d, caught up %d, healthy %d, members "
                   "%x of %x, horizon %lld ms, log %u",
                   node, (int)v->mode, v->closing, v->joined, v->caught_up, v->healthy, active,
                   members, ((long long)v->horizon - (long long)w->oracle.stamp_max) / 1000000,
                   count_log(w, node));
    if (v->mode != AT_MODE_READY || v->closing || !v->joined || !v->caught_up || !v->healthy ||
        active != members || v->horizon <= w->oracle.stamp_max || count_log(w, node) != 0)
        return false;
    for (uint32_t o = 0; o < w->node_count; o++)
        for (uint32_t e = 0; e < SIM_EPOCHS_MAX; e++) {
            uint32_t first = first_up(w, sim_side(w, node));
            uint32_t other = w->nodes[first].coverage[o][e];
            if (n->coverage[o][e] == other)
                continue;
            (void)snprintf(why, size, "clusters %u and %u: %u and %u of (%u, %u)", node, first,
                           n->coverage[o][e], other, o, e + 1);
            return false;
        }
    return true;
}

static uint32_t count_log(const struct sim_world *w, uint32_t node)
{
    const struct sim_records *all = &w->nodes[node].engine.now;
    return sim_records_seek(all, AT_LIT("m")) - sim_records_seek(all, AT_LIT("l"));
}

/* What nobody has was lost by its origin in a crash, or by force. */
static void check_losses(struct sim_world *w, uint32_t side)
{
    const struct sim_node *n = &w->nodes[first_up(w, side)];

    for (uint32_t o = 0; o < w->node_count && !w->failed; o++)
        for (uint32_t e = 0; e < SIM_EPOCHS_MAX; e++)
            for (uint32_t s = n->coverage[o][e]; s < w->oracle.truth[o][e].count; s++)
                if (!w->oracle.truth[o][e].ops[s]->lost && sim_side(w, o) == side &&
                    (w->removed_by_force >> o & 1) == 0)
                    sim_fail(w, "lost write", "(%u, %u, %u) is nowhere", o, e + 1, s + 1);
}

/* Everything is below the horizon: no marker stays, and of each sum one partial. */
static void check_forgotten(struct sim_world *w)
{
    for (uint32_t i = 0; i < w->node_count && !w->failed; i++) {
        struct at_key last = {0};
        if (!sim_up(w, i))
            continue;
        for (uint32_t k = 0; k < 12; k++)
            sim_forget(w, i);
        sim_rows_check(w, i, true);
        const struct sim_records *all = &w->nodes[i].engine.now;
        for (uint32_t k = 0; k < all->count && !w->failed; k++) {
            struct at_key key;
            if (all->items[k]->bytes[0] == 'x')
                sim_fail(w, "rest: markers", "cluster %u keeps a dropped range", i);
            if (all->items[k]->bytes[0] != 'd')
                continue;
            enum at_code code =
                at_key_decode(at_slice_from(sim_record_key(all->items[k]), 1), &w->scratch, &key);
            AT_ASSERT(code == AT_OK);
            if (key.kind != AT_KEY_CELL && key.kind != AT_KEY_PARTIAL)
                sim_fail(w, "rest: markers", "cluster %u keeps a marker", i);
            if (key.kind == AT_KEY_PARTIAL &&
                !sim_rows_fits(sim_rows_fold_type(w, i, &key), sim_record_value(all->items[k])))
                continue;
            if (key.kind == AT_KEY_PARTIAL && last.kind == AT_KEY_PARTIAL &&
                key.table == last.table && key.family == last.family &&
                key.timestamp_micros == last.timestamp_micros && at_slice_eq(key.row, last.row) &&
                at_slice_eq(key.qualifier, last.qualifier))
                sim_fail(w, "rest: folds", "cluster %u keeps two partials of one cell", i);
            last = key;
        }
    }
}
