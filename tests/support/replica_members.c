#include "replication/replica_state.h"
#include "support/replica_model.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static struct model_act *new_act(struct model *m, enum model_act_kind kind);
static void log_copy(struct model_log *to, const struct model_log *from);

bool model_knows(const struct model *m, uint32_t node, uint32_t other)
{
    const struct at_replica_view *v = &m->nodes[node].view;

    for (uint32_t i = 0; i < v->member_count; i++)
        if (v->members[i].id.v == other + 1)
            return v->members[i].active && !v->members[i].fenced;
    return false;
}

static struct model_act *new_act(struct model *m, enum model_act_kind kind)
{
    assert_in_range(m->act_count, 0, MODEL_ACTS_MAX - 1);
    struct model_act *act = &m->acts[m->act_count++];
    *act = (struct model_act){.id = m->next_id++, .kind = kind};
    return act;
}

void model_act_applied(struct model *m, uint32_t node, struct at_position p, uint64_t id)
{
    struct at_replica *r = m->nodes[node].replica;

    for (uint32_t i = 0; i < m->act_count; i++) {
        const struct model_act *act = &m->acts[i];
        if (act->id != id)
            continue;
        const struct model_log *log = &m->truth[p.origin.v - 1][p.epoch - 1];
        struct at_member_seed seed = {.id = act->member, .info = AT_LIT("where it is")};
        switch (act->kind) {
        case MODEL_JOIN:
            at_replica_member_joined(r, &seed, p, log->entries[p.seq - 1].hlc);
            return;
        case MODEL_LEAVE:
            at_replica_member_left(r, p);
            return;
        case MODEL_REMOVE:
            at_replica_members_removed(r, &act->removal);
            return;
        }
    }
}

uint32_t model_register(struct model *m, uint32_t registrar)
{
    struct model_node *a = &m->nodes[registrar];
    uint32_t node = m->node_count;

    if (node == MODEL_NODES_MAX || m->act_count == MODEL_ACTS_MAX ||
        at_replica_may_register(a->replica, NULL) != AT_OK)
        return MODEL_NODES_MAX;
    struct model_act *act = new_act(m, MODEL_JOIN);
    act->member.v = node + 1;
    struct at_position p = model_append(m, registrar, 1, act->id);
    model_act_applied(m, registrar, p, act->id);
    model_commit(m, registrar, false);

    struct model_node *n = &m->nodes[node];
    m->node_count++;
    n->newcomer = true;
    n->registered = p;
    n->join_hlc = m->truth[registrar][p.epoch - 1].entries[p.seq - 1].hlc;
    for (uint32_t i = 0; i < a->view.member_count; i++)
        if (a->view.members[i].active)
            n->members[n->member_count++] = a->view.members[i].id;
    model_birth(m, node);
    assert_int_equal(at_replica_start(n->replica, false, model_wall(m, node), NULL), AT_OK);
    n->first_request = m->next_request;
    at_replica_view_init(&n->view);
    model_commit(m, node, true);
    return node;
}

bool model_join(struct model *m, uint32_t node)
{
    struct model_node *n = &m->nodes[node];
    struct at_member_id missing[AT_MEMBERS_MAX];
    uint32_t count = 0;

    if (!at_replica_joining(n->replica, missing, &count))
        return n->view.joined;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t of = missing[i].v - 1;
        struct at_join join = {.instance_id = n->view.instance_id,
                               .from = {node + 1},
                               .incarnation = n->view.epoch,
                               .registered = n->registered};
        struct at_join_answer answer;
        if (of >= m->node_count || m->nodes[of].replica == NULL ||
            at_replica_on_join(m->nodes[of].replica, &join, &answer) != AT_OK)
            continue;
        model_commit(m, of, false);
        at_replica_on_join_answer(n->replica, &answer);
        model_commit(m, node, false);
    }
    m->joined_count += n->view.joined;
    return n->view.joined;
}

bool model_copy_begin(struct model *m, uint32_t node, uint32_t donor)
{
    struct model_node *n = &m->nodes[node];
    struct at_vector needs;

    at_vector_init(&needs);
    for (uint32_t i = 0; i < n->replica->gap_count; i++) {
        struct at_position p = n->replica->gaps[i].at;
        p.seq++;
        (void)at_vector_raise(&needs, p);
    }
    bool may = model_knows(m, node, donor) &&
               at_replica_may_donate(m->nodes[donor].replica, (struct at_member_id){node + 1},
                                     &needs, NULL) == AT_OK;
    at_vector_deinit(&needs);
    if (!may || at_replica_copy_begin(n->replica, NULL) != AT_OK)
        return false;
    model_commit(m, node, false);
    at_arena_init(&n->copy_arena, 4096);
    at_replica_copy_state(m->nodes[donor].replica, &n->copy_arena, &n->copy);
    n->copy_donor = donor;
    n->copying = true;
    return true;
}

static void copy_forget(struct model_node *n)
{
    n->copying = false;
    at_vector_deinit(&n->copy.applied);
    at_arena_deinit(&n->copy_arena);
}

void model_copy_drop(struct model *m, uint32_t node)
{
    struct model_node *n = &m->nodes[node];

    if (!n->copying)
        return;
    copy_forget(n);
    if (n->replica == NULL)
        return;
    at_replica_copy_drop(n->replica);
    model_commit(m, node, false);
}

/* The donor may have gone on since it began: what the rows are is what its state covers. */
void model_copy_end(struct model *m, uint32_t node)
{
    struct model_node *n = &m->nodes[node];
    uint32_t donor = n->copy_donor;
    struct at_vector grown;

    at_vector_init(&grown);
    at_replica_copy_end(n->replica, &n->copy, &grown);
    for (uint32_t i = 0; i < grown.count; i++) {
        struct at_position p = grown.items[i];
        struct model_log cut = m->nodes[donor].logs[p.origin.v - 1][p.epoch - 1];
        assert_true(cut.count >= p.seq);
        cut.count = p.seq;
        log_copy(&n->logs[p.origin.v - 1][p.epoch - 1], &cut);
    }
    at_vector_deinit(&grown);
    copy_forget(n);
    m->copied_count++;
    model_commit(m, node, true);
    for (uint32_t i = 0; i < n->view.applied.count; i++) {
        struct at_position p = n->view.applied.items[i];
        assert_int_equal(p.seq, n->logs[p.origin.v - 1][p.epoch - 1].count);
    }
}

bool model_copy(struct model *m, uint32_t node, uint32_t donor)
{
    if (!model_copy_begin(m, node, donor))
        return false;
    model_copy_end(m, node);
    return true;
}

bool model_leave(struct model *m, uint32_t node)
{
    struct model_node *n = &m->nodes[node];

    if (at_replica_leave_ready(n->replica) && m->act_count < MODEL_ACTS_MAX) {
        struct model_act *act = new_act(m, MODEL_LEAVE);
        struct at_position p = model_append(m, node, 1, act->id);
        model_act_applied(m, node, p, act->id);
        model_commit(m, node, false);
        m->left_count++;
    }
    for (uint32_t i = 0; n->view.left && i < n->view.member_count; i++) {
        uint32_t of = n->view.members[i].id.v - 1;
        struct at_join join = {.instance_id = n->view.instance_id, .from = {node + 1}};
        struct at_join_answer answer;
        if (!n->view.members[i].active || of == node || m->nodes[of].replica == NULL ||
            at_replica_on_join(m->nodes[of].replica, &join, &answer) != AT_OK)
            continue;
        model_commit(m, of, false);
        at_replica_on_join_answer(n->replica, &answer);
        model_commit(m, node, false);
    }
    return n->view.mode == AT_MODE_REMOVED;
}

bool model_fence(struct model *m, uint32_t coordinator, uint32_t of)
{
    struct model_node *c = &m->nodes[coordinator];
    struct at_member_id missing[AT_MEMBERS_MAX];
    struct at_fence fence;
    struct at_fence_answer answer;
    uint32_t count = 0;

    if (m->nodes[of].replica == NULL || !at_replica_fencing(c->replica, &fence, missing, &count))
        return false;
    model_copy_drop(m, of);
    if (at_replica_on_fence(m->nodes[of].replica, &fence, &answer) != AT_OK)
        return false;
    model_commit(m, of, false);
    at_replica_on_fence_answer(c->replica, &answer);
    at_vector_deinit(&answer.applied);
    at_positions_facts_deinit(&answer.facts);
    model_commit(m, coordinator, false);
    return true;
}

bool model_remove(struct model *m, uint32_t coordinator)
{
    struct model_node *c = &m->nodes[coordinator];
    struct at_member_id missing[AT_MEMBERS_MAX];
    struct at_fence fence;
    struct at_removal removal;
    uint32_t count = 0;

    if (!at_replica_fencing(c->replica, &fence, missing, &count))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (m->nodes[missing[i].v - 1].replica != NULL)
            (void)model_fence(m, coordinator, missing[i].v - 1);
    if (m->act_count == MODEL_ACTS_MAX || !at_replica_removal(c->replica, &removal))
        return false;
    struct model_act *act = new_act(m, MODEL_REMOVE);
    act->removal = removal;
    act->removal.vouches = malloc((removal.vouch_count + 1) * sizeof(*removal.vouches));
    assert_non_null(act->removal.vouches);
    for (uint32_t i = 0; i < removal.vouch_count; i++)
        act->removal.vouches[i] = removal.vouches[i];
    struct at_position p = model_append(m, coordinator, 1, act->id);
    model_act_applied(m, coordinator, p, act->id);
    model_commit(m, coordinator, false);
    m->removed_count++;
    return true;
}

static void log_copy(struct model_log *to, const struct model_log *from)
{
    if (to->cap < from->count) {
        to->cap = from->count;
        to->entries = realloc(to->entries, to->cap * sizeof(*to->entries));
        assert_non_null(to->entries);
    }
    if (from->count > 0)
        memcpy(to->entries, from->entries, from->count * sizeof(*from->entries));
    to->count = from->count;
}
