#include "replication/origin.h"
#include "sim/world.h"

/* Consistency tokens: made and checked at once, with those that can be reached. The answers are
 * synced first. True must mean: every write that was acknowledged when the token was made, and
 * that any asked disk still has, is durable on every active member. */

static void ask_all(struct sim_world *w,
                    uint32_t node,
                    struct at_vector_answer *answers,
                    const struct at_vector_answer **ret_pointers);
static bool reaches(struct sim_world *w, uint32_t node, uint32_t other);
static uint32_t
known_members(struct sim_world *w, uint32_t node, const struct at_vector_answer *const *pointers);
static void check_true(struct sim_world *w, const struct sim_token *t, uint32_t members);

struct survey {
    struct at_vector_answer answers[SIM_NODES_MAX];
    const struct at_vector_answer *pointers[SIM_NODES_MAX];
};

void sim_token_make(struct sim_world *w, uint32_t node)
{
    struct sim_token *t = NULL;

    for (uint32_t i = 0; i < SIM_TOKENS_MAX && t == NULL; i++)
        if (!w->tokens[i].held)
            t = &w->tokens[i];
    if (t == NULL || w->nodes[node].view.mode == AT_MODE_INIT)
        return;
    at_arena_reset(&w->arena);
    struct survey *s = AT_ARENA_NEW(&w->arena, struct survey);
    t->held = true;
    for (uint32_t o = 0; o < SIM_NODES_MAX; o++)
        for (uint32_t e = 0; e < SIM_EPOCHS_MAX; e++)
            t->acked[o][e] = w->nodes[o].round_open && e + 1 == w->nodes[o].view.epoch
                                 ? (uint32_t)w->nodes[o].view.seq
                                 : w->oracle.truth[o][e].count;
    ask_all(w, node, s->answers, s->pointers);
    uint32_t members = known_members(w, node, s->pointers);
    if (__builtin_popcount(members) > AT_MEMBERS_MAX) { /* some of them are on their way out */
        t->held = false;
        return;
    }
    at_token_deinit(&t->token);
    at_token_init(&t->token);
    t->token.instance_id = SIM_INSTANCE;
    for (uint32_t i = 0; i < w->node_count; i++)
        if (members >> i & 1)
            at_token_note(&t->token, sim_id(i), s->pointers[i]);
}

bool sim_token_try(struct sim_world *w, uint32_t node, uint32_t which)
{
    struct sim_token *t = &w->tokens[which % SIM_TOKENS_MAX];
    const struct at_vector_answer *pointers[AT_MEMBERS_MAX];
    struct at_member_id members[AT_MEMBERS_MAX];
    uint32_t count = 0;

    if (!t->held || w->nodes[node].view.mode == AT_MODE_INIT)
        return false;
    at_arena_reset(&w->arena);
    struct survey *s = AT_ARENA_NEW(&w->arena, struct survey);
    ask_all(w, node, s->answers, s->pointers);
    uint32_t bits = known_members(w, node, s->pointers);
    for (uint32_t i = 0; i < w->node_count && count < AT_MEMBERS_MAX; i++)
        if (bits >> i & 1) {
            members[count] = sim_id(i);
            pointers[count++] = s->pointers[i];
        }
    if (!at_token_check(&t->token, members, pointers, count)) {
        w->stats.tokens_false++;
        return false;
    }
    w->stats.tokens_true++;
    sim_trace(w, "token %u is true at cluster %u", which, node);
    check_true(w, t, bits);
    t->held = false;
    return true;
}

static void ask_all(struct sim_world *w,
                    uint32_t node,
                    struct at_vector_answer *answers,
                    const struct at_vector_answer **ret_pointers)
{
    for (uint32_t i = 0; i < w->node_count; i++) {
        ret_pointers[i] = NULL;
        if (!sim_ready(w, i) || !reaches(w, node, i) || w->failed)
            continue;
        if (i != node && !sim_is_member(w, i, sim_id(node)))
            continue; /* it would be refused */
        sim_commit(w, i, true);
        const struct at_replica_view *v = &w->nodes[i].view;
        answers[i] = (struct at_vector_answer){
            .instance_id = v->instance_id,
            .from = sim_id(i),
            .ready = v->mode == AT_MODE_READY && !v->closing && v->healthy && v->caught_up,
            .durable = v->durable,
            .facts = v->facts,
        };
        for (uint32_t k = 0; k < v->member_count; k++)
            if (v->members[k].active)
                answers[i].members[answers[i].member_count++] = v->members[k].id;
        ret_pointers[i] = &answers[i];
    }
}

static bool reaches(struct sim_world *w, uint32_t node, uint32_t other)
{
    return node == other || (sim_linked(w, node, other) && sim_linked(w, other, node) &&
                             (w->faithful || sim_below(w, 8) != 0));
}

/* Those that the asker has as active, and those that their answers name. */
static uint32_t
known_members(struct sim_world *w, uint32_t node, const struct at_vector_answer *const *pointers)
{
    const struct at_replica_view *v = &w->nodes[node].view;
    uint32_t members = 0;
    uint32_t before = 1;

    for (uint32_t i = 0; i < v->member_count; i++)
        if (v->members[i].active)
            members |= 1u << (v->members[i].id.v - 1);
    while (members != before) {
        before = members;
        for (uint32_t i = 0; i < w->node_count; i++) {
            if ((members >> i & 1) == 0 || pointers[i] == NULL)
                continue;
            for (uint32_t k = 0; k < pointers[i]->member_count; k++) {
                uint8_t state = sim_state_of(w, node, pointers[i]->members[k].v - 1);
                if (state != AT_ORIGIN_LEFT && state != AT_ORIGIN_REMOVED)
                    members |= 1u << (pointers[i]->members[k].v - 1);
            }
        }
    }
    return members;
}

static void check_true(struct sim_world *w, const struct sim_token *t, uint32_t members)
{
    for (uint32_t o = 0; o < w->node_count; o++)
        for (uint32_t e = 0; e < SIM_EPOCHS_MAX; e++) {
            uint32_t had = 0;
            if (t->acked[o][e] == 0)
                continue;
            for (uint32_t i = 0; i < w->node_count; i++)
                if ((members >> i & 1) && w->nodes[i].coverage[o][e] > had)
                    had = w->nodes[i].coverage[o][e];
            uint32_t need = had < t->acked[o][e] ? had : t->acked[o][e];
            for (uint32_t i = 0; i < w->node_count; i++)
                if ((members >> i & 1) && w->nodes[i].coverage[o][e] < need)
                    sim_fail(w, "token", "true while cluster %u lacks (%u, %u, %u)", i, o, e + 1,
                             need);
            /* What no asked disk has must be lost, and said to be. */
            for (uint32_t s = had + 1; s <= t->acked[o][e]; s++) {
                const struct sim_op *op =
                    sim_oracle_op(&w->oracle, (struct at_position){sim_id(o), e + 1, s});
                bool gone = (members >> o & 1) == 0;
                if (op != NULL && !op->lost && !gone)
                    sim_fail(w, "token", "true while nobody has (%u, %u, %u)", o, e + 1, s);
            }
        }
}
