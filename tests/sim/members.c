#include "base/assert.h"
#include "replication/origin.h"
#include "sim/world.h"

/* Joins, leaves and forced removals, rules 35-39. The acts of operators are sim_join, sim_leave and
 * sim_remove; all else a cluster does by itself, a step at a time. */

static const struct at_member_view *own_view(const struct sim_world *w, uint32_t node);
static void ask_join(struct sim_world *w, uint32_t node, uint32_t member);
static void leave_on(struct sim_world *w, uint32_t node);
static void fence_on(struct sim_world *w, uint32_t node);
static void catch_up(struct sim_world *w, uint32_t node);
static void
answer_join(struct sim_world *w, const struct sim_letter *l, const struct at_join *join);
static void
answer_fence(struct sim_world *w, const struct sim_letter *l, const struct at_fence *fence);
static uint32_t active_count(const struct sim_world *w, uint32_t node);
static uint32_t others_stay(const struct sim_world *w, uint32_t node);
static void ask_some(struct sim_world *w, uint32_t node, uint32_t members);
static uint32_t in_state(const struct sim_world *w, uint32_t node, enum at_origin_state state);

void sim_join(struct sim_world *w, uint32_t registrar)
{
    struct sim_node *n = &w->nodes[registrar];
    struct at_member_id members[AT_MEMBERS_MAX];
    struct at_error error;
    uint32_t joiner = w->node_count;

    if (joiner == SIM_NODES_MAX)
        return;
    if (at_replica_may_register(n->replica, &error) != AT_OK ||
        at_replica_may_write(n->replica, sim_wall(w, registrar), w->now_ns, &error) != AT_OK) {
        sim_trace(w, "cluster %u registers nobody: %s", registrar, error.msg);
        return;
    }
    struct sim_op op = {.kind = SIM_OP_MEMBER, .ticks = 1, .members = 1u << joiner};
    sim_append(w, registrar, &op, NULL);
    sim_commit(w, registrar, true);
    struct at_replica_config config = {.instance_id = n->view.instance_id,
                                       .self = sim_id(joiner),
                                       .members = members,
                                       .newcomer = true,
                                       .join_hlc = op.hlc,
                                       .registered = op.at,
                                       .max_skew_ns = SIM_SKEW_MS * SIM_MS,
                                       .reserve_step_ns = SIM_SKEW_MS * SIM_MS / 4,
                                       .sync_commits = sim_below(w, 2) == 0};
    for (uint32_t i = 0; i < n->view.member_count; i++)
        if (n->view.members[i].active)
            members[config.member_count++] = n->view.members[i].id;
    w->node_count++;
    w->stats.joins++;
    sim_trace(w, "cluster %u registers %u", registrar, joiner);
    sim_node_create(w, joiner, &config);
}

void sim_leave(struct sim_world *w, uint32_t node)
{
    struct at_error error;

    uint32_t lost = (uint32_t)__builtin_popcount(w->removed_by_force);
    if (others_stay(w, node) <= lost)
        return;
    if (at_replica_leave_begin(w->nodes[node].replica, &error) != AT_OK) {
        sim_trace(w, "cluster %u does not leave: %s", node, error.msg);
        return;
    }
    sim_trace(w, "cluster %u is leaving", node);
    sim_commit(w, node, false);
}

void sim_remove(struct sim_world *w, uint32_t coordinator, uint32_t members)
{
    sim_remove_surviving(w, coordinator, members, false);
}

void sim_remove_surviving(struct sim_world *w,
                          uint32_t coordinator,
                          uint32_t members,
                          bool minority)
{
    struct at_member_id ids[AT_MEMBERS_MAX];
    struct at_error error;
    uint32_t count = 0;

    for (uint32_t i = 0; i < w->node_count && count < AT_MEMBERS_MAX; i++)
        if (members >> i & 1)
            ids[count++] = sim_id(i);
    if (at_replica_fence_begin(w->nodes[coordinator].replica, ids, count, minority, &error) !=
        AT_OK) {
        sim_trace(w, "cluster %u removes nobody: %s", coordinator, error.msg);
        return;
    }
    sim_trace(w, "cluster %u begins to remove %x", coordinator, members);
    sim_commit(w, coordinator, false);
}

void sim_member_step(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    struct at_member_id missing[AT_MEMBERS_MAX];
    uint32_t count = 0;

    if (n->view.mode == AT_MODE_REMOVED) {
        w->stats.leaves += own_view(w, node)->state == AT_ORIGIN_LEFT;
        sim_trace(w, "cluster %u ends", node);
        sim_node_stop(w, node, SIM_GONE);
        return;
    }
    if (at_replica_joining(n->replica, missing, &count)) {
        uint32_t first = count > 0 ? sim_below(w, count) : 0;
        for (uint32_t i = 0; i < count && (i == 0 || w->faithful); i++)
            ask_join(w, node, missing[(first + i) % count].v - 1);
    }
    if (n->view.mode == AT_MODE_LEAVING)
        leave_on(w, node);
    else if (n->view.mode == AT_MODE_READY && !n->view.caught_up)
        catch_up(w, node);
    else if (n->view.mode == AT_MODE_READY)
        ask_some(w, node, in_state(w, node, AT_ORIGIN_LEFT)); /* greets them: they ask back */
    if (n->state == SIM_UP)
        fence_on(w, node);
}

static const struct at_member_view *own_view(const struct sim_world *w, uint32_t node)
{
    const struct at_replica_view *v = &w->nodes[node].view;
    uint32_t i = 0;

    while (i < v->member_count - 1 && !at_member_eq(v->members[i].id, v->self))
        i++;
    return &v->members[i];
}

static void ask_join(struct sim_world *w, uint32_t node, uint32_t member)
{
    struct sim_node *n = &w->nodes[node];
    struct sim_letter *l = sim_send(w, node, member, true);

    if (l == NULL)
        return;
    struct at_join join = {.instance_id = n->view.instance_id,
                           .from = sim_id(node),
                           .incarnation = n->view.epoch,
                           .mode = (uint8_t)n->view.mode,
                           .caught_up = n->view.caught_up,
                           .registered = own_view(w, node)->registered};
    enum at_code code = at_join_encode(&join, &l->bytes);
    AT_ASSERT(code == AT_OK);
}

static void leave_on(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    if (at_replica_leave_ready(n->replica)) {
        struct sim_op op = {.kind = SIM_OP_LEAVE, .ticks = 1};
        sim_append(w, node, &op, NULL);
        sim_commit(w, node, true);
        sim_trace(w, "cluster %u has written LEAVE", node);
    }
    if (at_replica_leave_done(n->replica)) {
        w->stats.leaves++;
        sim_trace(w, "cluster %u has left and ends", node);
        sim_node_stop(w, node, SIM_GONE);
        return;
    }
    if (n->view.left)
        ask_some(w, node, in_state(w, node, AT_ORIGIN_ACTIVE) | n->greeters);
}

/* Of all when the network is faithful, else of one. */
static void ask_some(struct sim_world *w, uint32_t node, uint32_t members)
{
    uint32_t first = members != 0 ? sim_below(w, w->node_count) : 0;

    for (uint32_t i = 0; i < w->node_count; i++) {
        uint32_t member = (first + i) % w->node_count;
        if (member == node || (members >> member & 1) == 0)
            continue;
        ask_join(w, node, member);
        if (!w->faithful)
            return;
    }
}

static uint32_t in_state(const struct sim_world *w, uint32_t node, enum at_origin_state state)
{
    const struct at_replica_view *v = &w->nodes[node].view;
    uint32_t members = 0;

    for (uint32_t i = 0; i < v->member_count; i++)
        if (v->members[i].state == (uint8_t)state)
            members |= 1u << (v->members[i].id.v - 1);
    return members;
}

static void fence_on(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    struct at_member_id missing[AT_MEMBERS_MAX];
    struct at_removal removal;
    struct at_fence fence;
    uint32_t count = 0;

    if (!at_replica_fencing(n->replica, &fence, missing, &count))
        return;
    if (at_replica_removal(n->replica, &removal)) {
        struct sim_op op = {.kind = SIM_OP_REMOVE, .ticks = 1};
        for (uint32_t i = 0; i < removal.member_count; i++)
            op.members |= 1u << (removal.members[i].v - 1);
        sim_append(w, node, &op, &removal);
        sim_commit(w, node, true);
        w->stats.removals++;
        sim_trace(w, "cluster %u removes %x", node, op.members);
        return;
    }
    uint32_t first = count > 0 ? sim_below(w, count) : 0;
    for (uint32_t i = 0; i < count && (i == 0 || w->faithful); i++) {
        struct sim_letter *l = sim_send(w, node, missing[(first + i) % count].v - 1, true);
        if (l == NULL)
            continue;
        enum at_code code = at_fence_encode(&fence, &l->bytes);
        AT_ASSERT(code == AT_OK);
    }
}

/* READY for reads: nothing is missing behind anyone that was heard. */
static void catch_up(struct sim_world *w, uint32_t node)
{
    static const struct at_lag_windows windows = {1000 * SIM_MS, 5000 * SIM_MS};
    struct sim_node *n = &w->nodes[node];
    uint32_t heard = 0;

    for (uint32_t i = 0; i < w->node_count; i++) {
        if (i == node || !n->peers[i].in_use || !sim_is_member(w, node, sim_id(i)))
            continue;
        struct at_lag lag = at_lag_of(&n->peers[i].lag, &n->view, sim_id(i), windows, w->now_ns);
        if (!lag.known || lag.entries > 0)
            return;
        heard++;
    }
    if (heard == 0 && active_count(w, node) > 1)
        return;
    at_replica_set_caught_up(n->replica);
    sim_commit(w, node, false);
}

void sim_member_message(struct sim_world *w, const struct sim_letter *l, struct at_message *m)
{
    struct sim_node *n = &w->nodes[l->to];
    bool was = n->view.joined;

    switch ((int)m->kind) {
    case AT_MESSAGE_JOIN:
        answer_join(w, l, &m->u.join);
        break;
    case AT_MESSAGE_JOIN_ANSWER:
        sim_trace(w, "cluster %u hears of %u: verdict %u", l->to, l->from,
                  m->u.join_answer.verdict);
        at_replica_on_join_answer(n->replica, &m->u.join_answer);
        sim_commit(w, l->to, false);
        w->stats.joined += !was && n->view.joined;
        break;
    case AT_MESSAGE_FENCE:
        answer_fence(w, l, &m->u.fence);
        break;
    case AT_MESSAGE_FENCE_ANSWER:
        at_replica_on_fence_answer(n->replica, m->u.fence_answer);
        sim_commit(w, l->to, false);
        break;
    default:
        break;
    }
}

static void answer_join(struct sim_world *w, const struct sim_letter *l, const struct at_join *join)
{
    struct sim_node *n = &w->nodes[l->to];
    struct at_join_answer answer = {0};

    if (n->view.left)
        n->greeters |= 1u << l->from;
    if (at_replica_on_join(n->replica, join, &answer) != AT_OK)
        return;
    at_buf_clear(&w->scratch);
    enum at_code code = at_join_answer_encode(&answer, &w->scratch);
    AT_ASSERT(code == AT_OK);
    struct sim_letter *back = sim_answer(w, l);
    if (back != NULL) {
        code = at_buf_append(&back->bytes, at_buf_slice(&w->scratch));
        AT_ASSERT(code == AT_OK);
    }
    sim_commit(w, l->to, false);
}

static void
answer_fence(struct sim_world *w, const struct sim_letter *l, const struct at_fence *fence)
{
    struct sim_node *n = &w->nodes[l->to];
    struct at_fence_answer answer = {0};

    if (n->view.mode == AT_MODE_COPYING)
        sim_copy_drop(w, l->to);
    if (at_replica_on_fence(n->replica, fence, &answer) != AT_OK)
        return;
    struct sim_letter *back = sim_answer(w, l);
    if (back != NULL) {
        enum at_code code = at_fence_answer_encode(&answer, &back->bytes);
        AT_ASSERT(code == AT_OK);
    }
    at_vector_deinit(&answer.applied);
    at_positions_facts_deinit(&answer.facts);
    sim_commit(w, l->to, false);
}

bool sim_may_lose(const struct sim_world *w, uint32_t members)
{
    uint32_t gone = members | w->removed_by_force;
    uint32_t left = 0;

    for (uint32_t i = 0; i < w->node_count; i++) {
        bool is_there = w->nodes[i].state == SIM_UP || w->nodes[i].state == SIM_DOWN;
        left += is_there && (gone >> i & 1) == 0 && w->nodes[i].view.joined &&
                w->nodes[i].view.mode != AT_MODE_LEAVING &&
                w->nodes[i].view.mode != AT_MODE_REMOVED;
    }
    return left > (uint32_t)__builtin_popcount(gone);
}

static uint32_t active_count(const struct sim_world *w, uint32_t node)
{
    const struct at_replica_view *v = &w->nodes[node].view;
    uint32_t count = 0;

    for (uint32_t i = 0; i < v->member_count; i++)
        count += v->members[i].active;
    return count;
}

/* Full members that run, do not leave and are not being removed: an instance is not emptied. */
static uint32_t others_stay(const struct sim_world *w, uint32_t node)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < w->node_count; i++)
        count += i != node && sim_up(w, i) && w->nodes[i].view.joined &&
                 w->nodes[i].view.mode == AT_MODE_READY && (w->removed_by_force >> i & 1) == 0;
    return count;
}
