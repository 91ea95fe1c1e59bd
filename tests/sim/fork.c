#include "sim/world.h"

/* A minority that goes on as another instance, rule 36: an operator removes all others, who live
 * on. From then on there are two instances; at rest each is looked at alone. The others remove the
 * minority as one that is gone, at the latest then. Members change no more in such a history. */

static bool all_agree(const struct sim_world *w, uint32_t *ret_members);
static bool has_all_fenced(const struct sim_world *w, uint32_t node);

void sim_fork(struct sim_world *w, uint32_t node)
{
    uint32_t members = 0;

    if (w->fork_side != 0 || w->nodes[node].view.mode != AT_MODE_READY || !all_agree(w, &members))
        return;
    uint32_t side = (1u << node) | (sim_below(w, 1u << w->node_count) & members);
    if (side == members || __builtin_popcount(side) * 2 > __builtin_popcount(members))
        side = 1u << node;
    if (__builtin_popcount(members) < 2)
        return;
    w->fork_side = side;
    w->stats.forks++;
    for (uint32_t i = 0; i < w->node_count; i++)
        sim_fork_note(w, i);
    for (uint32_t i = 0; i < SIM_TOKENS_MAX; i++)
        w->tokens[i].held = false;
    sim_trace(w, "clusters %x go on without %x", side, members & ~side);
    sim_remove_surviving(w, node, members & ~side, true);
}

uint32_t sim_side(const struct sim_world *w, uint32_t node)
{
    return w->fork_side >> node & 1;
}

/* All are full members, and know the same; nobody is being removed. */
static bool all_agree(const struct sim_world *w, uint32_t *ret_members)
{
    for (uint32_t i = 0; i < w->node_count; i++) {
        const struct at_replica_view *v = &w->nodes[i].view;
        uint32_t members = 0;
        if (w->nodes[i].state == SIM_GONE || w->nodes[i].state == SIM_DEAD)
            continue;
        if (w->nodes[i].state == SIM_DOWN || !v->joined || v->mode == AT_MODE_LEAVING ||
            v->mode == AT_MODE_REMOVED || v->left)
            return false;
        for (uint32_t k = 0; k < v->member_count; k++) {
            uint32_t bit = 1u << (v->members[k].id.v - 1);
            if (v->members[k].active)
                members |= bit;
            if (v->members[k].fenced)
                return false;
        }
        if (*ret_members != 0 && members != *ret_members)
            return false;
        *ret_members = members;
    }
    return true;
}

static bool has_all_fenced(const struct sim_world *w, uint32_t node)
{
    const struct at_replica_view *v = &w->nodes[node].view;

    for (uint32_t k = 0; k < v->member_count; k++)
        if (v->members[k].active && !v->members[k].fenced &&
            sim_side(w, v->members[k].id.v - 1) != sim_side(w, node))
            return false;
    return true;
}

void sim_fork_note(struct sim_world *w, uint32_t node)
{
    if (w->fork_side == 0 || has_all_fenced(w, node))
        return;
    for (uint32_t o = 0; o < w->node_count; o++)
        for (uint32_t e = 0; e < SIM_EPOCHS_MAX; e++) {
            uint32_t *upto = &w->fork_upto[sim_side(w, node)][o][e];
            if (w->nodes[node].coverage[o][e] > *upto)
                *upto = w->nodes[node].coverage[o][e];
        }
}

void sim_fork_check(struct sim_world *w)
{
    for (uint32_t i = 0; i < w->node_count && w->fork_side != 0; i++) {
        const struct sim_node *n = &w->nodes[i];
        uint32_t side = sim_side(w, i);
        if (n->state != SIM_UP)
            continue;
        for (uint32_t o = 0; o < w->node_count; o++)
            for (uint32_t e = 0; e < SIM_EPOCHS_MAX; e++)
                if (sim_side(w, o) != side && n->coverage[o][e] > w->fork_upto[side][o][e])
                    sim_fail(w, "fork", "cluster %u has (%u, %u, %u) of the other instance", i, o,
                             e + 1, n->coverage[o][e]);
    }
}

bool sim_fork_settled(const struct sim_world *w)
{
    for (uint32_t i = 0; i < w->node_count && w->fork_side != 0; i++)
        for (uint32_t k = 0; k < i; k++) {
            bool same = w->nodes[k].view.instance_id == w->nodes[i].view.instance_id;
            if (sim_up(w, i) && sim_up(w, k) && same != (sim_side(w, i) == sim_side(w, k)))
                return false;
        }
    return true;
}
