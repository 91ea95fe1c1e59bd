#include "base/assert.h"
#include "base/bytes.h"
#include "replication/donation.h"
#include "replication/origin.h"
#include "replication/record.h"
#include "sim/world.h"

/* Letters are lost, repeated and late as their step's dice say. What the product encodes travels as
 * bytes. A question to a cluster whose commit is under way is answered from the last committed
 * state; all else waits for the writer. */

#define RUNS_MAX (SIM_NODES_MAX * 8)

struct reply_parts {
    struct at_record_builder builders[RUNS_MAX];
    struct at_run runs[RUNS_MAX];
    uint32_t count;
};

static bool delay(struct sim_world *w, struct sim_letter *l);
static void arrive(struct sim_world *w, struct sim_letter *l);
static void take(struct sim_world *w, struct sim_letter *l);
static void answer_pull(struct sim_world *w, const struct sim_letter *l, struct at_pull *pull);
static void go_on(struct sim_sent *sent, struct at_pull *pull);
static void
note_sent(struct sim_sent *sent, const struct at_pull *pull, const struct reply_parts *parts);
static void
answer_close(struct sim_world *w, const struct sim_letter *l, const struct at_close *close);
static void add_runs(struct sim_world *w,
                     uint32_t node,
                     const struct at_donation *plan,
                     uint32_t max,
                     struct reply_parts *parts);
static void take_reply(struct sim_world *w, const struct sim_letter *l, struct at_reply *reply);
static void take_run(struct sim_world *w, uint32_t node, const struct at_run *run);
static void check_lag(struct sim_world *w, uint32_t node, uint32_t peer);
static bool lost_by_force(const struct sim_world *w, uint32_t origin, uint32_t epoch, uint32_t seq);
static void repeat(struct sim_world *w, const struct sim_letter *l);

struct sim_letter *sim_send(struct sim_world *w, uint32_t from, uint32_t to, bool question)
{
    struct sim_letter l = {.from = from, .to = to, .question = question};

    if (w->flight_count == SIM_FLIGHTS_MAX || to >= w->node_count || from == to)
        return NULL;
    if (!delay(w, &l))
        return NULL;
    l.from_boot = w->nodes[from].boot;
    at_buf_init(&l.bytes, SIM_MESSAGE_BYTES_MAX);
    w->flights[w->flight_count] = l;
    return &w->flights[w->flight_count++];
}

struct sim_letter *sim_answer(struct sim_world *w, const struct sim_letter *question)
{
    struct sim_letter *l = sim_send(w, question->to, question->from, false);

    if (l != NULL)
        l->to_boot = question->from_boot;
    if (l != NULL && w->hold_answers)
        l->due_ns = UINT64_MAX;
    return l;
}

/* False: it is lost. */
static bool delay(struct sim_world *w, struct sim_letter *l)
{
    l->due_ns = w->now_ns;
    if (!sim_linked(w, l->from, l->to))
        return false;
    if (w->faithful)
        return true;
    if (sim_below(w, 100) < w->loss_percent)
        return false;
    uint32_t dice = sim_below(w, 64);
    uint32_t most_ms = dice == 0 ? 2500 : dice < 8 ? 500 : 10;
    l->due_ns += sim_below(w, most_ms) * SIM_MS;
    if (l->due_ns < w->clogged_ns[l->from][l->to])
        l->due_ns = w->clogged_ns[l->from][l->to];
    return true;
}

void sim_letter_deinit(struct sim_letter *l)
{
    at_buf_deinit(&l->bytes);
}

void sim_drop_flights(struct sim_world *w)
{
    for (uint32_t i = 0; i < w->flight_count; i++)
        sim_letter_deinit(&w->flights[i]);
    w->flight_count = 0;
}

void sim_deliver_due(struct sim_world *w)
{
    uint32_t delivered = 0;

    for (uint32_t i = 0; i < w->flight_count && !w->failed;) {
        struct sim_letter l = w->flights[i];
        if (l.due_ns > w->now_ns) {
            i++;
            continue;
        }
        if (sim_up(w, l.to) && w->nodes[l.to].round_open && !l.question) {
            w->flights[i].due_ns += SIM_MS;
            i++;
            continue;
        }
        w->flights[i] = w->flights[--w->flight_count];
        if (!w->faithful)
            repeat(w, &l);
        w->stats.events++;
        arrive(w, &l);
        sim_letter_deinit(&l);
        if (w->deliver_max != 0 && ++delivered == w->deliver_max)
            return;
        if (w->faithful)
            i = 0;
    }
}

void sim_let_go(struct sim_world *w)
{
    w->hold_answers = false;
    for (uint32_t i = 0; i < w->flight_count; i++)
        if (w->flights[i].due_ns == UINT64_MAX)
            w->flights[i].due_ns = w->now_ns;
    sim_deliver_due(w);
}

/* Once more, later. */
static void repeat(struct sim_world *w, const struct sim_letter *l)
{
    if (sim_below(w, 100) >= w->repeat_percent || w->flight_count == SIM_FLIGHTS_MAX)
        return;
    struct sim_letter again = *l;
    at_buf_init(&again.bytes, SIM_MESSAGE_BYTES_MAX);
    enum at_code code = at_buf_append(&again.bytes, at_buf_slice(&l->bytes));
    AT_ASSERT(code == AT_OK);
    again.due_ns = w->now_ns + sim_below(w, 100) * SIM_MS + SIM_MS;
    w->flights[w->flight_count++] = again;
}

static void arrive(struct sim_world *w, struct sim_letter *l)
{
    if (!sim_up(w, l->to) || (!w->faithful && !sim_linked(w, l->from, l->to)))
        return;
    sim_hash(w, l->from + l->to * 64 + l->bytes.len * 4096);
    if (l->bytes.len > 0 && (l->question || l->to_boot == w->nodes[l->to].boot))
        take(w, l);
}

void sim_ask_pull(struct sim_world *w, uint32_t node, uint32_t donor)
{
    struct sim_node *n = &w->nodes[node];

    if (n->view.mode == AT_MODE_INIT || n->view.mode == AT_MODE_COPYING ||
        n->view.mode == AT_MODE_REMOVED || sim_state_of(w, node, donor) != AT_ORIGIN_ACTIVE ||
        (n->lazy && !w->faithful))
        return;
    struct sim_letter *l = sim_send(w, node, donor, true);
    if (l == NULL)
        return;
    struct at_pull pull = {.request_id = w->next_request++,
                           .instance_id = n->view.instance_id,
                           .from = sim_id(node),
                           .incarnation = n->view.epoch,
                           .applied = n->view.applied,
                           .durable = n->view.durable,
                           .facts = n->view.facts,
                           .max_bytes = 1000000,
                           .hlc = sim_clock(w, node)};
    if (!w->faithful && sim_below(w, 3) == 0)
        pull.continues = n->asked[donor];
    n->asked[donor] = pull.request_id;
    enum at_code code = at_pull_encode(&pull, &l->bytes);
    AT_ASSERT(code == AT_OK);
}

void sim_ask_close(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    struct at_member_id missing[AT_MEMBERS_MAX];
    struct at_close close;
    uint32_t count = 0;

    if (!at_replica_closing(n->replica, missing, &count) || count == 0)
        return;
    uint32_t first = sim_below(w, count);
    for (uint32_t i = 0; i < (w->faithful || sim_below(w, 2) == 0 ? count : 1); i++) {
        struct sim_letter *l = sim_send(w, node, missing[(first + i) % count].v - 1, true);
        if (l == NULL)
            continue;
        at_replica_close_ask(n->replica, &close);
        enum at_code code = at_close_encode(&close, &l->bytes);
        AT_ASSERT(code == AT_OK);
    }
}

static void take(struct sim_world *w, struct sim_letter *l)
{
    struct sim_node *n = &w->nodes[l->to];
    struct at_message m;
    bool was = false;

    at_arena_reset(&w->arena);
    if (at_message_decode(at_buf_slice(&l->bytes), &w->arena, &m) != AT_OK) {
        sim_fail(w, "codec", "a message does not decode");
        return;
    }
    switch ((int)m.kind) {
    case AT_MESSAGE_PULL:
        answer_pull(w, l, &m.u.pull);
        break;
    case AT_MESSAGE_REPLY:
        take_reply(w, l, &m.u.reply);
        break;
    case AT_MESSAGE_CLOSE:
        if (!n->round_open)
            answer_close(w, l, &m.u.close);
        break;
    case AT_MESSAGE_CLOSE_ANSWER:
        was = n->view.closing;
        at_replica_on_close_answer(n->replica, m.u.close_answer);
        sim_commit(w, l->to, false);
        w->stats.closed += was && !n->view.closing;
        break;
    case AT_MESSAGE_REFUSED:
        at_replica_told_removed(n->replica, sim_id(l->from));
        sim_commit(w, l->to, false);
        break;
    case AT_MESSAGE_JOIN:
    case AT_MESSAGE_JOIN_ANSWER:
    case AT_MESSAGE_FENCE:
    case AT_MESSAGE_FENCE_ANSWER:
        if (!n->round_open)
            sim_member_message(w, l, &m);
        break;
    default:
        if (!n->round_open)
            sim_copy_message(w, l, &m);
        break;
    }
    at_message_deinit(&m);
}

static void
answer_close(struct sim_world *w, const struct sim_letter *l, const struct at_close *close)
{
    struct sim_node *n = &w->nodes[l->to];
    struct at_close_answer *answer = AT_ARENA_NEW(&w->arena, struct at_close_answer);

    if (n->view.mode == AT_MODE_COPYING)
        sim_copy_drop(w, l->to);
    if (at_replica_on_close(n->replica, close, answer) != AT_OK)
        return;
    sim_commit(w, l->to, true);
    struct sim_letter *back = sim_answer(w, l);
    if (back == NULL)
        return;
    enum at_code code = at_close_answer_encode(answer, &back->bytes);
    AT_ASSERT(code == AT_OK);
}

static void answer_pull(struct sim_world *w, const struct sim_letter *l, struct at_pull *pull)
{
    static const uint32_t cuts[] = {0, 1, 2, 3, 50};
    struct sim_node *n = &w->nodes[l->to];
    struct reply_parts *parts = AT_ARENA_NEW(&w->arena, struct reply_parts);
    struct at_donation *plan = AT_ARENA_NEW(&w->arena, struct at_donation);

    if (!at_replica_view_is_instance(&n->view, pull->instance_id))
        return;
    if (!sim_is_member(w, l->to, pull->from)) {
        sim_refuse(w, l, pull->from);
        return;
    }
    if (!n->round_open) {
        at_replica_on_pull(n->replica, pull, w->now_ns);
        sim_after(w, l->to);
    }
    struct sim_letter *back = sim_answer(w, l);
    if (back == NULL)
        return;
    uint32_t max = !w->faithful          ? cuts[sim_below(w, 5)]
                   : w->entries_max != 0 ? w->entries_max
                                         : 1000;
    uint32_t after = w->start_after != 0 ? w->start_after : sim_below(w, SIM_NODES_MAX);
    go_on(&n->sent[l->from], pull);
    at_donation_plan(&n->view, pull, (struct at_member_id){after}, plan);
    add_runs(w, l->to, plan, max, parts);
    note_sent(&n->sent[l->from], pull, parts);
    for (uint32_t e = 0; e < SIM_EPOCHS_MAX; e++)
        back->told[e] = e + 1 == n->view.epoch ? (uint32_t)n->view.seq : n->coverage[l->to][e];
    w->stats.gaps += plan->gap_count;
    struct at_reply reply = {.to_request = pull->request_id,
                             .instance_id = n->view.instance_id,
                             .from = sim_id(l->to),
                             .incarnation = n->view.epoch,
                             .hlc = sim_clock(w, l->to),
                             .runs = parts->runs,
                             .run_count = parts->count,
                             .gaps = plan->gaps,
                             .gap_count = plan->gap_count,
                             .ends_known = n->view.applied,
                             .facts = n->view.facts};
    for (uint32_t i = 0; i < n->view.member_count; i++)
        if (n->view.members[i].active)
            reply.members[reply.member_count++] = n->view.members[i].id;
    enum at_code code = at_reply_encode(&reply, &back->bytes);
    AT_ASSERT(code == AT_OK);
    for (uint32_t i = 0; i < parts->count; i++)
        at_record_builder_deinit(&parts->builders[i]);
}

static void go_on(struct sim_sent *sent, struct at_pull *pull)
{
    if (pull->continues != 0 && pull->continues == sent->request)
        at_vector_merge(&pull->applied, &sent->upto);
}

static void
note_sent(struct sim_sent *sent, const struct at_pull *pull, const struct reply_parts *parts)
{
    sent->request = pull->request_id;
    at_vector_copy(&sent->upto, &pull->applied);
    for (uint32_t i = 0; i < parts->count; i++) {
        struct at_position p = {parts->runs[i].origin, parts->runs[i].epoch,
                                at_record_last_seq(&parts->builders[i])};
        (void)at_vector_raise(&sent->upto, p);
    }
}

/* One that was removed here is told so, not one that is only fenced; others are not known yet. */
void sim_refuse(struct sim_world *w, const struct sim_letter *l, struct at_member_id from)
{
    const struct at_replica_view *v = &w->nodes[l->to].view;
    if (!at_replica_view_is_gone(v, from) || v->other_id != 0)
        return; /* whom a minority removed goes on */
    struct sim_letter *back = sim_answer(w, l);
    if (back == NULL)
        return;
    enum at_code code = at_refused_encode(AT_LIT("removed"), &back->bytes);
    AT_ASSERT(code == AT_OK);
}

/* The parts of the plan, in its order, at most `max` entries in all. */
static void add_runs(struct sim_world *w,
                     uint32_t node,
                     const struct at_donation *plan,
                     uint32_t max,
                     struct reply_parts *parts)
{
    const struct sim_records *all = &w->nodes[node].engine.now;

    for (uint32_t i = 0; i < plan->part_count && max > 0 && parts->count < RUNS_MAX; i++) {
        const struct at_donation_part *part = &plan->parts[i];
        struct at_record_builder *b = &parts->builders[parts->count];
        at_record_builder_init(b, SIM_MESSAGE_BYTES_MAX);
        at_record_begin(b, part->first.seq);
        for (uint64_t s = part->first.seq; s <= part->last_seq && max > 0; s++, max--) {
            uint8_t key[17];
            sim_log_key(key, (struct at_position){part->first.origin, part->first.epoch, s});
            const struct sim_record *r = sim_records_find(all, at_slice_make(key, 17));
            if (r == NULL) {
                sim_fail(w, "log hole", "cluster %u lacks (%u, %u, %llu) of its log", node,
                         part->first.origin.v - 1, part->first.epoch, (unsigned long long)s);
                at_record_builder_deinit(b);
                return;
            }
            struct at_slice value = sim_record_value(r);
            struct at_entry e = {s, at_get_be64(value.data), at_get_be32(value.data + 8),
                                 at_slice_from(value, 12)};
            enum at_code code = at_record_add(b, &e);
            AT_ASSERT(code == AT_OK);
        }
        parts->runs[parts->count++] = (struct at_run){.origin = part->first.origin,
                                                      .epoch = part->first.epoch,
                                                      .record = at_record_finish(b)};
    }
}

static void take_reply(struct sim_world *w, const struct sim_letter *l, struct at_reply *reply)
{
    struct sim_node *n = &w->nodes[l->to];
    struct sim_peer_evidence *peer = &n->peers[l->from];
    const char *why = NULL;

    if (!at_replica_admit_reply(n->replica, reply, &why))
        return;
    for (uint32_t i = 0; i < reply->run_count && !w->failed; i++)
        take_run(w, l->to, &reply->runs[i]);
    if (w->failed)
        return;
    (void)at_replica_merge_reply(n->replica, reply, sim_wall(w, l->to), w->now_ns);
    if (!peer->in_use) {
        at_lag_evidence_deinit(&peer->lag);
        at_lag_evidence_init(&peer->lag, w->now_ns);
        peer->in_use = true;
    }
    at_lag_evidence_note(&peer->lag, reply, w->now_ns);
    memcpy(peer->told, l->told, sizeof(peer->told));
    sim_commit(w, l->to, false);
    check_lag(w, l->to, l->from);
}

static void take_run(struct sim_world *w, uint32_t node, const struct at_run *run)
{
    struct sim_node *n = &w->nodes[node];
    struct at_record_reader r;
    struct at_entry e;

    if (at_record_open(&r, run->record) != AT_OK) {
        sim_fail(w, "codec", "a run does not open");
        return;
    }
    while (!w->failed && at_record_next(&r, &e) == AT_OK) {
        struct at_position p = {run->origin, run->epoch, e.seq};
        switch (at_replica_admit(n->replica, p, &e, sim_wall(w, node))) {
        case AT_ADMIT_APPLY:
            sim_apply_entry(w, node, p, &e);
            break;
        case AT_ADMIT_SKIP:
            break;
        case AT_ADMIT_PARK:
            w->stats.parked++;
            sim_trace(w, "cluster %u parks (%u, %u, %llu)", node, p.origin.v - 1, p.epoch,
                      (unsigned long long)p.seq);
            return;
        case AT_ADMIT_STOP:
            return;
        }
    }
}

void sim_check_lags(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    for (uint32_t i = 0; i < w->node_count; i++) {
        if (i == node || sim_state_of(w, node, i) != AT_ORIGIN_ACTIVE)
            continue;
        if (!n->peers[i].in_use) {
            at_lag_evidence_deinit(&n->peers[i].lag);
            at_lag_evidence_init(&n->peers[i].lag, w->now_ns);
            memset(n->peers[i].told, 0xff, sizeof(n->peers[i].told)); /* not known: anything */
        }
        check_lag(w, node, i);
    }
}

/* The end of a removed one's epoch may be told before its removal comes: nobody else has what is
 * beyond. */
static bool lost_by_force(const struct sim_world *w, uint32_t origin, uint32_t epoch, uint32_t seq)
{
    bool held = (w->removed_by_force >> origin & 1) == 0;

    for (uint32_t i = 0; i < w->node_count; i++) {
        bool is_there = w->nodes[i].state == SIM_UP || w->nodes[i].state == SIM_DOWN;
        held = held || (is_there && i != origin && w->nodes[i].coverage[origin][epoch] > seq);
    }
    return !held;
}

/* 0 entries, 0 ms and known: then all that the peer had of its own at its last reply is here, and
 * there was one in this process. */
static void check_lag(struct sim_world *w, uint32_t node, uint32_t peer)
{
    static const struct at_lag_windows windows = {1000 * SIM_MS, 5000 * SIM_MS};
    struct sim_node *n = &w->nodes[node];
    const struct sim_peer_evidence *e = &n->peers[peer];
    struct at_lag lag = at_lag_of(&e->lag, &n->view, sim_id(peer), windows, w->now_ns);

    if (!lag.known || lag.entries != 0 || lag.ms != 0)
        return;
    for (uint32_t k = 0; k < SIM_EPOCHS_MAX; k++) {
        const struct sim_history *h = &w->oracle.truth[peer][k];
        uint32_t told = e->told[k] < h->count ? e->told[k] : h->count;
        bool complete = k + 1 < at_positions_facts_first_open(&n->view.facts, sim_id(peer));
        for (uint32_t s = n->coverage[peer][k]; s < told; s++)
            if (!h->ops[s]->lost && !(complete && lost_by_force(w, peer, k, s)))
                sim_fail(w, "lag", "cluster %u shows no lag behind %u and lacks (%u, %u)", node,
                         peer, k + 1, s + 1);
    }
}
