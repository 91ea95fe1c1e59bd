#include "base/assert.h"
#include "cluster/tablet/writer.h"
#include "replication/origin.h"
#include "sim/real_world.h"

#include <stdio.h>

/* Leaving, forced removals, and consistency tokens. */

bool real_member_active(const struct real_world *w, uint32_t viewer, uint32_t node)
{
    const struct at_replica_view *v = &w->nodes[viewer].view;

    for (uint32_t i = 0; i < v->member_count; i++)
        if (v->members[i].id.v == node + 1)
            return v->members[i].active;
    return false;
}

void real_describe(struct real_world *w, uint32_t node)
{
    const struct at_replica_view *v = &w->nodes[node].view;

    (void)printf("cluster %u: mode %d, joined %d, caught up %d, closing %d, left %d, epoch %u\n",
                 node, (int)v->mode, v->joined, v->caught_up, v->closing, v->left, v->epoch);
    for (uint32_t i = 0; i < v->member_count; i++) {
        const struct at_member_view *m = &v->members[i];
        (void)printf("  member %u: state %u, active %d, fenced %d, parked %d, gap %d, acked %llu, "
                     "first open %u\n",
                     m->id.v - 1, m->state, m->active, m->fenced, m->parked, m->gap,
                     (unsigned long long)m->acked_seq,
                     at_positions_facts_first_open(&v->facts, m->id));
    }
    for (uint32_t i = 0; i < v->applied.count; i++) {
        struct at_position p = v->applied.items[i];
        (void)printf("  (%u, %u): %llu, durable %llu, base %llu, ever %u\n", p.origin.v - 1,
                     p.epoch, (unsigned long long)p.seq,
                     (unsigned long long)at_vector_get(&v->durable, p.origin, p.epoch),
                     (unsigned long long)at_vector_get(&v->base, p.origin, p.epoch),
                     w->oracle.truth[p.origin.v - 1][p.epoch - 1].count);
    }
    for (uint32_t i = 0; i < v->facts.end_count; i++)
        (void)printf("  end (%u, %u): %llu\n", v->facts.ends[i].origin.v - 1,
                     v->facts.ends[i].epoch, (unsigned long long)v->facts.ends[i].end);
}

/* Members that may be asked and will answer, beside `node`, and all that may be counted as members:
 * a newcomer is one as soon as it may have been registered. */
static uint32_t count_living(const struct real_world *w, uint32_t node, uint32_t *ret_all)
{
    uint32_t living = 0;

    *ret_all = 0;
    for (uint32_t i = 0; i < w->node_count; i++) {
        const struct real_node *n = &w->nodes[i];
        bool full = n->state == REAL_UP || n->state == REAL_DOWN;
        *ret_all += n->state != REAL_GONE;
        living += full && !n->condemned && i != node && n->view.joined && !n->leaving;
    }
    return living;
}

bool real_may_lose(const struct real_world *w, uint32_t node)
{
    uint32_t all = 0;
    uint32_t living = count_living(w, node, &all);

    return living * 2 > all && living >= 2;
}

bool real_may_gain(const struct real_world *w)
{
    uint32_t all = 0;
    uint32_t living = count_living(w, SIM_NODES_MAX, &all);

    return living * 2 > all + 1;
}

/* --- leaving --- */

static void on_left(struct at_leave *leave)
{
    ((struct real_node *)leave->ctx)->leave_out = false;
}

void real_leave(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];

    if (n->leave_out)
        return;
    real_trace(w, "cluster %u is to leave", node);
    w->stats.leaves++;
    n->leave = (struct at_leave){.done = on_left, .ctx = n};
    n->leave_out = true;
    n->leaving = true;
    at_peering_leave(n->peering, &n->leave);
}

/* --- removing --- */

static void on_removed(struct at_remove *remove)
{
    ((struct real_node *)remove->ctx)->remove_out = false;
}

void real_remove(struct real_world *w, uint32_t coordinator, uint32_t members)
{
    struct real_node *n = &w->nodes[coordinator];

    if (n->remove_out)
        return;
    real_trace(w, "cluster %u is to remove %x", coordinator, members);
    w->stats.removals++;
    n->remove = (struct at_remove){.done = on_removed, .ctx = n, .timeout_ms = 3000};
    for (uint32_t i = 0; i < w->node_count; i++)
        if (members >> i & 1) {
            n->remove.members[n->remove.member_count++] = real_id(i);
            w->nodes[i].condemned = true;
        }
    n->remove_out = true;
    at_peering_remove(n->peering, &n->remove);
}

void real_members_take(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];

    if (!n->leave_out && n->leaving) {
        n->leaving = n->view.mode == AT_MODE_LEAVING || n->view.left;
        real_hash(w, n->leave.code);
    }
}

/* --- tokens --- */

static void on_surveyed(struct at_survey *survey)
{
    ((struct real_token *)survey->ctx)->done = true;
}

static void ask(struct real_world *w, struct real_token *t, uint32_t node)
{
    t->node = node;
    t->done = false;
    t->survey = (struct at_survey){.timeout_ms = 1000, .done = on_surveyed, .ctx = t};
    at_peering_survey(w->nodes[node].peering, &t->survey);
}

void real_token_make(struct real_world *w, uint32_t node)
{
    struct real_token *t = &w->tokens[real_below(w, REAL_TOKENS_MAX)];

    if (t->step == REAL_TOKEN_HELD && real_percent(w, 20)) {
        at_token_deinit(&t->token);
        t->step = REAL_TOKEN_FREE;
    }
    if (t->step != REAL_TOKEN_FREE || w->nodes[node].view.mode == AT_MODE_INIT)
        return;
    t->step = REAL_TOKEN_MAKING;
    memcpy(t->acked, w->acked, sizeof(t->acked));
    ask(w, t, node);
}

void real_token_check(struct real_world *w, uint32_t node)
{
    struct real_token *t = &w->tokens[real_below(w, REAL_TOKENS_MAX)];

    if (t->step != REAL_TOKEN_HELD || w->nodes[node].view.mode == AT_MODE_INIT)
        return;
    t->step = REAL_TOKEN_CHECKING;
    ask(w, t, node);
}

/* True: all that was acknowledged before is at every member that is active for the asker, except
 * what was lost, or is of one that was removed by force. */
static void check_true(struct real_world *w, const struct real_token *t)
{
    for (uint32_t i = 0; i < t->survey.count; i++) {
        uint32_t m = t->survey.members[i].v - 1;
        sim_coverage coverage;
        if (!real_up(w, m) || w->nodes[m].view.mode == AT_MODE_REMOVED)
            continue; /* it has gone since */
        at_store_view(w->nodes[m].disk.store, &w->nodes[m].view);
        real_coverage(w, m, &coverage);
        for (uint32_t o = 0; o < w->node_count; o++)
            for (uint32_t e = 0; e < SIM_EPOCHS_MAX; e++)
                for (uint32_t s = coverage[o][e]; s < t->acked[o][e]; s++) {
                    bool declared = w->oracle.truth[o][e].ops[s]->lost || w->nodes[o].condemned;
                    if (!declared)
                        real_fail(w, "token", "true at %u while %u lacks (%u, %u, %u)", t->node, m,
                                  o, e + 1, s + 1);
                }
    }
}

static void take(struct real_world *w, struct real_token *t)
{
    struct at_survey *s = &t->survey;

    t->done = false;
    if (t->step == REAL_TOKEN_MAKING) {
        at_token_init(&t->token);
        t->token.instance_id = REAL_INSTANCE;
        for (uint32_t i = 0; i < s->count; i++)
            at_token_note(&t->token, s->members[i], s->answers[i]);
        t->step = s->count > 0 ? REAL_TOKEN_HELD : REAL_TOKEN_FREE;
        if (t->step == REAL_TOKEN_FREE)
            at_token_deinit(&t->token);
    } else {
        bool is = s->count > 0 && at_token_check(&t->token, s->members, s->answers, s->count);
        real_trace(w, "token of cluster %u: %s", t->node, is ? "true" : "false");
        real_hash(w, is);
        w->stats.tokens_true += is;
        w->stats.tokens_false += !is;
        if (is)
            check_true(w, t);
        t->step = is ? REAL_TOKEN_FREE : REAL_TOKEN_HELD;
        if (is)
            at_token_deinit(&t->token);
    }
    at_survey_free(s);
}

void real_tokens_take(struct real_world *w)
{
    for (uint32_t i = 0; i < REAL_TOKENS_MAX; i++)
        if (w->tokens[i].done)
            take(w, &w->tokens[i]);
}
