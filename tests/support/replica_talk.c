#include "base/alloc.h"
#include "base/bytes.h"
#include "replication/replica_state.h"
#include "support/replica_model.h"
#include "support/test.h"

#define ENCODED_MAX (1 << 20)

static void close_once(struct model *m, uint32_t node);
static uint32_t take_run(struct model *m, uint32_t node, const struct at_run *run);
static void apply(struct model *m, uint32_t node, struct at_position p, const struct at_entry *e);
static uint32_t add_runs(struct model_node *n,
                         const struct at_pull *pull,
                         uint32_t max,
                         uint32_t first,
                         struct at_reply *reply,
                         struct at_record_builder *builders);

void model_pull(struct model *m, uint32_t node, struct at_buf *out)
{
    struct model_node *n = &m->nodes[node];
    struct at_pull pull = {.request_id = m->next_request++,
                           .instance_id = 77,
                           .from = {node + 1},
                           .incarnation = n->view.epoch,
                           .applied = n->view.applied,
                           .durable = n->view.durable,
                           .facts = n->view.facts,
                           .max_bytes = 1000000,
                           .hlc = model_wall(m, node)};
    assert_int_equal(at_pull_encode(&pull, out), AT_OK);
}

void model_answer(struct model *m,
                  uint32_t donor,
                  struct at_slice question,
                  uint32_t entries_max,
                  uint32_t first_origin,
                  struct at_buf *out)
{
    struct model_node *n = &m->nodes[donor];
    struct at_record_builder builders[MODEL_NODES_MAX * MODEL_EPOCHS_MAX] = {0};
    struct at_run runs[MODEL_NODES_MAX * MODEL_EPOCHS_MAX];
    struct at_gap gaps[MODEL_NODES_MAX * MODEL_EPOCHS_MAX];
    struct at_arena arena;
    struct at_message q;

    at_arena_init(&arena, 4096);
    assert_int_equal(at_message_decode(question, &arena, &q), AT_OK);
    if (q.kind == AT_MESSAGE_CLOSE) {
        model_copy_drop(m, donor); /* V must not jump after it was vouched for */
        struct at_close_answer *answer = AT_NEW(struct at_close_answer);
        if (at_replica_on_close(n->replica, &q.u.close, answer) == AT_OK) {
            model_commit(m, donor, true);
            assert_int_equal(at_close_answer_encode(answer, out), AT_OK);
        }
        at_free(answer);
    } else if (model_knows(m, donor, model_index(q.u.pull.from))) {
        at_replica_on_pull(n->replica, &q.u.pull, m->now_ns);
        model_after(m, donor);
        struct at_reply reply = {.to_request = q.u.pull.request_id,
                                 .instance_id = 77,
                                 .from = {donor + 1},
                                 .incarnation = n->view.epoch,
                                 .hlc = model_wall(m, donor),
                                 .runs = runs,
                                 .gaps = gaps,
                                 .ends_known = n->view.applied,
                                 .facts = n->view.facts,
                                 .member_count = 0};
        uint32_t built = add_runs(n, &q.u.pull, entries_max, first_origin, &reply, builders);
        assert_int_equal(at_reply_encode(&reply, out), AT_OK);
        for (uint32_t i = 0; i < built; i++)
            at_record_builder_deinit(&builders[i]);
    }
    at_message_deinit(&q);
    at_arena_deinit(&arena);
}

/* Runs of what the asker lacks, origins in turn, at most `max` entries in all. */
static uint32_t add_runs(struct model_node *n,
                         const struct at_pull *pull,
                         uint32_t max,
                         uint32_t first,
                         struct at_reply *reply,
                         struct at_record_builder *builders)
{
    uint32_t built = 0;
    uint32_t count = n->view.applied.count;

    if (n->view.mode == AT_MODE_INIT || n->view.mode == AT_MODE_COPYING)
        return 0;
    for (uint32_t k = 0; k < count; k++) {
        struct at_position p = n->view.applied.items[(k + first) % count];
        uint64_t base = at_vector_get(&n->view.base, p.origin, p.epoch);
        uint64_t has = at_vector_get(&pull->applied, p.origin, p.epoch);
        if (has >= p.seq || p.epoch < at_positions_facts_first_open(&pull->facts, p.origin))
            continue;
        if (has < base) {
            p.seq = base;
            reply->gaps[reply->gap_count++] = (struct at_gap){p};
            continue;
        }
        const struct model_log *log = &n->logs[model_index(p.origin)][p.epoch - 1];
        struct at_record_builder *b = &builders[built];
        if (max == 0)
            continue;
        at_record_builder_init(b, ENCODED_MAX);
        at_record_begin(b, has + 1);
        for (uint64_t s = has + 1; s <= p.seq && max > 0; s++, max--) {
            uint8_t id[8];
            const struct model_entry *e = &log->entries[s - 1];
            at_put_be64(id, e->id);
            struct at_entry entry = {s, e->hlc, e->ticks, at_slice_make(id, 8)};
            assert_int_equal(at_record_add(b, &entry), AT_OK);
        }
        reply->runs[reply->run_count++] =
            (struct at_run){p.origin, p.epoch, at_record_finish(b), 0};
        built++;
    }
    return built;
}

int model_take(struct model *m, uint32_t node, struct at_slice answer)
{
    struct model_node *n = &m->nodes[node];
    struct at_arena arena;
    struct at_message a;
    int applied = -1;
    const char *why = NULL;

    at_arena_init(&arena, 4096);
    if (answer.len == 0) { /* refused */
        at_arena_deinit(&arena);
        return -1;
    }
    assert_int_equal(at_message_decode(answer, &arena, &a), AT_OK);
    if (a.kind == AT_MESSAGE_CLOSE_ANSWER) {
        bool was = n->view.closing;
        at_replica_on_close_answer(n->replica, a.u.close_answer);
        model_commit(m, node, false);
        m->closed_count += was && !n->view.closing;
        applied = 0;
    } else if (a.u.reply.to_request >= n->first_request &&
               at_replica_admit_reply(n->replica, &a.u.reply, &why)) {
        applied = 0;
        for (uint32_t i = 0; i < a.u.reply.run_count; i++)
            applied += (int)take_run(m, node, &a.u.reply.runs[i]);
        at_replica_merge_reply(n->replica, &a.u.reply, model_wall(m, node), m->now_ns);
        model_commit(m, node, false);
    }
    at_message_deinit(&a);
    at_arena_deinit(&arena);
    return applied;
}

static uint32_t take_run(struct model *m, uint32_t node, const struct at_run *run)
{
    struct model_node *n = &m->nodes[node];
    struct at_record_reader r;
    struct at_entry e;
    uint32_t applied = 0;

    assert_int_equal(at_record_open(&r, run->record), AT_OK);
    while (at_record_next(&r, &e) == AT_OK) {
        struct at_position p = {run->origin, run->epoch, e.seq};
        switch (at_replica_admit(n->replica, p, &e, model_wall(m, node))) {
        case AT_ADMIT_APPLY:
            apply(m, node, p, &e);
            applied++;
            break;
        case AT_ADMIT_SKIP:
            break;
        case AT_ADMIT_PARK:
            m->parked_count++;
            return applied;
        case AT_ADMIT_STOP:
            return applied;
        }
    }
    return applied;
}

static void apply(struct model *m, uint32_t node, struct at_position p, const struct at_entry *e)
{
    struct model_node *n = &m->nodes[node];
    struct model_log *log = &n->logs[model_index(p.origin)][p.epoch - 1];
    const struct model_log *truth = &m->truth[model_index(p.origin)][p.epoch - 1];
    struct model_entry entry = {at_get_be64(e->payload.data), e->hlc, e->ticks};

    assert_int_equal(p.seq, log->count + 1); /* in order, once, no gap */
    assert_true(p.seq <= truth->count);
    assert_int_equal(entry.id, truth->entries[p.seq - 1].id);
    assert_true(e->hlc > n->replica->horizon); /* nothing at or below the horizon */
    model_log_push(log, entry);
    at_replica_apply(n->replica, p, e);
    model_act_applied(m, node, p, entry.id);
    m->applied_count++;
}

int model_exchange(struct model *m, uint32_t node, uint32_t donor, uint32_t entries_max)
{
    struct at_buf question;
    struct at_buf answer;

    at_buf_init(&question, ENCODED_MAX);
    at_buf_init(&answer, ENCODED_MAX);
    model_pull(m, node, &question);
    model_answer(m, donor, at_buf_slice(&question), entries_max, 0, &answer);
    int applied = model_take(m, node, at_buf_slice(&answer));
    at_buf_deinit(&question);
    at_buf_deinit(&answer);
    return applied;
}

void model_close(struct model *m, uint32_t node)
{
    for (int round = 0; round < MODEL_NODES_MAX; round++)
        close_once(m, node);
}

static void close_once(struct model *m, uint32_t node)
{
    struct at_member_id missing[AT_MEMBERS_MAX];
    uint32_t count = 0;

    if (!at_replica_closing(m->nodes[node].replica, missing, &count))
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct at_close close;
        struct at_buf question;
        struct at_buf answer;
        if (m->nodes[model_index(missing[i])].replica == NULL)
            continue;
        at_replica_close_ask(m->nodes[node].replica, &close);
        at_buf_init(&question, ENCODED_MAX);
        at_buf_init(&answer, ENCODED_MAX);
        assert_int_equal(at_close_encode(&close, &question), AT_OK);
        model_answer(m, model_index(missing[i]), at_buf_slice(&question), 0, 0, &answer);
        if (answer.len > 0)
            (void)model_take(m, node, at_buf_slice(&answer));
        at_buf_deinit(&question);
        at_buf_deinit(&answer);
    }
}

/* One survey of `asker`: the members it knows, itself, and those that answers name. */
struct survey {
    struct at_member_id members[MODEL_NODES_MAX];
    const struct at_vector_answer *answers[MODEL_NODES_MAX];
    uint32_t count;
};

static struct at_vector_answer answer_of_node[MODEL_NODES_MAX];

static void add_to_survey(struct model *m, uint32_t reached, uint32_t node, struct survey *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->members[i].v == node + 1)
            return;
    s->members[s->count].v = node + 1;
    s->answers[s->count++] = NULL;
    if ((reached >> node & 1) == 0 || m->nodes[node].replica == NULL)
        return;
    model_commit(m, node, true); /* positions are synced before they are told */
    const struct at_replica_view *v = &m->nodes[node].view;
    struct at_vector_answer *answer = &answer_of_node[node];
    *answer = (struct at_vector_answer){
        .instance_id = 77,
        .from = {node + 1},
        .ready = v->mode == AT_MODE_READY && v->caught_up && !v->closing && v->healthy,
        .durable = v->durable,
        .facts = v->facts,
    };
    for (uint32_t k = 0; k < v->member_count; k++)
        if (v->members[k].active)
            answer->members[answer->member_count++] = v->members[k].id;
    s->answers[s->count - 1] = answer;
}

static void survey(struct model *m, uint32_t reached, struct survey *s)
{
    uint32_t asker = (uint32_t)__builtin_ctz(reached);

    s->count = 0;
    add_to_survey(m, reached, asker, s);
    const struct at_replica_view *v = &m->nodes[asker].view;
    for (uint32_t i = 0; i < v->member_count; i++)
        if (v->members[i].active)
            add_to_survey(m, reached, v->members[i].id.v - 1, s);
    for (uint32_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; s->answers[i] != NULL && k < s->answers[i]->member_count; k++)
            add_to_survey(m, reached, s->answers[i]->members[k].v - 1, s);
}

void model_token(struct model *m, uint32_t reached, struct at_token *ret_token)
{
    struct survey s;

    survey(m, reached, &s);
    at_token_init(ret_token);
    ret_token->instance_id = 77;
    for (uint32_t i = 0; i < s.count; i++)
        at_token_note(ret_token, s.members[i], s.answers[i]);
}

bool model_check(struct model *m, uint32_t reached, const struct at_token *token)
{
    struct survey s;

    survey(m, reached, &s);
    return at_token_check(token, s.members, s.answers, s.count);
}

void model_settle_once(struct model *m)
{
    m->now_ns += 50 * MODEL_MS;
    for (uint32_t i = 0; i < m->node_count; i++) {
        if (m->nodes[i].replica == NULL)
            continue;
        (void)model_idle(m, i);
        model_close(m, i);
        for (uint32_t d = 0; d < m->node_count; d++)
            if (d != i && m->nodes[d].replica != NULL)
                (void)model_exchange(m, i, d, 1000);
        model_trim(m, i);
    }
}

void model_settle(struct model *m)
{
    for (int round = 0; round < 40; round++) {
        uint64_t before = m->applied_count;
        model_settle_once(m);
        if (m->applied_count == before && round > 25)
            return;
    }
}
