#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "replication/peer/rooms.h"

/* Surveys: the synced positions of all members. Surveys that come while AT_SURVEY_ROUNDS_MAX rounds
 * run wait, and then share the next one; a round asks only after all its surveys were there, so an
 * answer is never older than the survey it serves.
 *
 * A round is shared by its surveys' owners, who read the answers from their own threads and let go
 * of it with at_survey_free; after `done` nobody writes to it. */

enum self_step { SELF_WAITS, SELF_SYNCING, SELF_ENDED };

struct round_ask {
    struct at_ask ask; /* first */
    struct at_survey_round *round;
    struct at_member_id id;
    struct at_message message; /* kind 0: no answer */
};

struct at_survey_round {
    struct at_survey_round *next;
    struct at_peering *peering;
    atomic_uint refs;
    struct at_mail *surveys;
    struct at_arena arena;
    struct round_ask asks[AT_NEIGHBORS_MAX];
    uint32_t ask_count;
    uint32_t open_count;
    enum self_step self_step;
    bool self_ok;
    struct at_vector_answer self; /* owns its vector and facts */
};

static void begin_round(struct at_peering *p);
static void ask_peers(struct at_survey_round *round, uint32_t timeout_ms);
static void on_end(struct at_ask *ask);
static bool is_answer_of(const struct at_message *m, const struct at_neighbor *peer);
static void end_if_complete(struct at_survey_round *round);
static void tell(struct at_survey_round *round, struct at_survey *survey);
static void
add_member(struct at_survey *survey, struct at_member_id id, const struct at_vector_answer *answer);
static void add_learnt(struct at_survey *survey);
static const struct at_vector_answer *answer_of(struct at_survey_round *round,
                                                struct at_member_id id);
static void unlink_round(struct at_survey_round *round);
static void unref(struct at_survey_round *round);

void at_survey_free(struct at_survey *survey)
{
    struct at_survey_round *round = AT_TAKE(survey->impl);

    survey->count = 0;
    if (round != NULL)
        unref(round);
}

void at_survey_round_add(struct at_peering *p, struct at_survey *survey)
{
    survey->mail.next = p->desk.queue;
    p->desk.queue = &survey->mail;
}

void at_survey_round_step(struct at_peering *p)
{
    if (p->desk.queue != NULL && p->desk.round_count < AT_SURVEY_ROUNDS_MAX)
        begin_round(p);
}

void at_survey_round_drop(struct at_peering *p)
{
    struct at_mail *next = NULL;

    for (struct at_mail *m = p->desk.queue; m != NULL; m = next) {
        next = m->next;
        struct at_survey *survey = (struct at_survey *)m;
        for (uint32_t i = 0; i < p->view.member_count; i++)
            if (p->view.members[i].active)
                add_member(survey, p->view.members[i].id, NULL);
        survey->done(survey);
    }
    p->desk.queue = NULL;
    while (p->desk.rounds != NULL) {
        struct at_survey_round *round = p->desk.rounds;
        AT_ASSERT(round->open_count == 0);
        round->self_step = SELF_ENDED;
        end_if_complete(round);
    }
}

/* --- the cluster's own part --- */

bool at_survey_round_wants_sync(const struct at_peering *p)
{
    for (const struct at_survey_round *r = p->desk.rounds; r != NULL; r = r->next)
        if (r->self_step == SELF_WAITS)
            return true;
    return false;
}

void at_survey_round_sync_began(struct at_peering *p)
{
    for (struct at_survey_round *r = p->desk.rounds; r != NULL; r = r->next)
        if (r->self_step == SELF_WAITS)
            r->self_step = SELF_SYNCING;
}

void at_survey_round_sync_ended(struct at_peering *p, bool ok)
{
    struct at_vector_answer now;
    struct at_survey_round *next = NULL;

    at_position_desk_fill(p, &now);
    for (struct at_survey_round *r = p->desk.rounds; r != NULL; r = next) {
        next = r->next;
        if (r->self_step != SELF_SYNCING)
            continue;
        r->self_step = SELF_ENDED;
        r->self_ok = ok;
        r->self = now;
        at_vector_init(&r->self.durable);
        at_vector_copy(&r->self.durable, &now.durable);
        at_positions_facts_init(&r->self.facts);
        at_positions_facts_copy(&r->self.facts, &now.facts);
        end_if_complete(r);
    }
}

/* --- the others --- */

static void begin_round(struct at_peering *p)
{
    struct at_survey_round *round = AT_NEW(struct at_survey_round);
    uint32_t timeout_ms = 0;

    round->peering = p;
    atomic_init(&round->refs, 1);
    at_arena_init(&round->arena, 4 * AT_KIB);
    round->surveys = p->desk.queue;
    p->desk.queue = NULL;
    for (struct at_mail *m = round->surveys; m != NULL; m = m->next)
        if (((struct at_survey *)m)->timeout_ms > timeout_ms)
            timeout_ms = ((struct at_survey *)m)->timeout_ms;
    round->next = p->desk.rounds;
    p->desk.rounds = round;
    p->desk.round_count++;
    ask_peers(round, timeout_ms);
}

static void ask_peers(struct at_survey_round *round, uint32_t timeout_ms)
{
    struct at_peering *p = round->peering;
    struct at_vector_ask question = {.instance_id = p->view.instance_id, .from = p->view.self};

    at_buf_clear(&p->out);
    enum at_code code = at_vector_ask_encode(&question, &p->out);
    for (uint32_t i = 0; i < p->peer_count && code == AT_OK; i++) {
        struct round_ask *ask = &round->asks[round->ask_count];
        if (!p->peers[i]->member)
            continue;
        ask->round = round;
        ask->id = p->peers[i]->id;
        ask->ask.on_end = on_end;
        if (!at_peering_ask(p->peers[i], &ask->ask, timeout_ms))
            continue;
        round->ask_count++;
        round->open_count++;
    }
}

static void on_end(struct at_ask *ask)
{
    struct round_ask *round_ask = (struct round_ask *)ask;
    struct at_survey_round *round = round_ask->round;
    struct at_message m = {0};

    if (ask->question.code == AT_OK &&
        at_message_decode(ask->question.reply, &round->arena, &m) == AT_OK) {
        if (is_answer_of(&m, ask->peer))
            round_ask->message = m;
        else
            at_message_deinit(&m);
    }
    at_peer_question_done(&ask->question);
    round->open_count--;
    end_if_complete(round);
}

static bool is_answer_of(const struct at_message *m, const struct at_neighbor *peer)
{
    if (m->kind == AT_MESSAGE_REFUSED) {
        at_log(AT_LOG_WARN, "a peer does not tell its positions", AT_KV_STR("peer", peer->name),
               AT_KV_SLICE("why", m->u.refused));
        return false;
    }
    return m->kind == AT_MESSAGE_VECTOR_ANSWER && at_member_eq(m->u.vector_answer.from, peer->id) &&
           at_replica_view_is_instance(&peer->peering->view, m->u.vector_answer.instance_id);
}

/* --- the end of a round --- */

static void end_if_complete(struct at_survey_round *round)
{
    struct at_mail *next = NULL;

    if (round->open_count > 0 || round->self_step != SELF_ENDED)
        return;
    unlink_round(round);
    for (struct at_mail *m = AT_TAKE(round->surveys); m != NULL; m = next) {
        next = m->next;
        tell(round, (struct at_survey *)m);
    }
    unref(round);
}

static void tell(struct at_survey_round *round, struct at_survey *survey)
{
    const struct at_replica_view *view = &round->peering->view;

    atomic_fetch_add(&round->refs, 1);
    survey->impl = round;
    survey->count = 0;
    for (uint32_t i = 0; i < view->member_count; i++)
        if (view->members[i].active)
            add_member(survey, view->members[i].id, answer_of(round, view->members[i].id));
    add_learnt(survey);
    survey->done(survey);
}

/* Members that only an answer names were not asked: they count as not reached. */
static void add_learnt(struct at_survey *survey)
{
    uint32_t asked_count = survey->count;

    for (uint32_t i = 0; i < asked_count; i++) {
        const struct at_vector_answer *answer = survey->answers[i];
        for (uint32_t j = 0; answer != NULL && j < answer->member_count; j++)
            add_member(survey, answer->members[j], NULL);
    }
}

static void
add_member(struct at_survey *survey, struct at_member_id id, const struct at_vector_answer *answer)
{
    for (uint32_t i = 0; i < survey->count; i++)
        if (at_member_eq(survey->members[i], id))
            return;
    if (survey->count == AT_MEMBERS_MAX)
        return;
    survey->members[survey->count] = id;
    survey->answers[survey->count++] = answer;
}

static const struct at_vector_answer *answer_of(struct at_survey_round *round,
                                                struct at_member_id id)
{
    struct at_peering *p = round->peering;

    if (at_member_eq(id, p->view.self))
        return round->self_ok ? &round->self : NULL;
    for (uint32_t i = 0; i < round->ask_count; i++)
        if (at_member_eq(round->asks[i].id, id) && round->asks[i].message.kind != 0)
            return &round->asks[i].message.u.vector_answer;
    return NULL;
}

static void unlink_round(struct at_survey_round *round)
{
    struct at_position_desk *desk = &round->peering->desk;

    for (struct at_survey_round **r = &desk->rounds; *r != NULL; r = &(*r)->next)
        if (*r == round) {
            *r = round->next;
            desk->round_count--;
            return;
        }
}

static void unref(struct at_survey_round *round)
{
    if (atomic_fetch_sub(&round->refs, 1) > 1)
        return;
    for (uint32_t i = 0; i < round->ask_count; i++)
        if (round->asks[i].message.kind != 0)
            at_message_deinit(&round->asks[i].message);
    at_vector_deinit(&round->self.durable);
    at_positions_facts_deinit(&round->self.facts);
    at_arena_deinit(&round->arena);
    at_free(round);
}
