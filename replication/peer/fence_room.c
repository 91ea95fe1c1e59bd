#include "base/alloc.h"
#include "base/log.h"
#include "replication/peer/rooms.h"

/* Forced removal. As coordinator: the replica is asked again and again who has not answered; those
 * get a FENCE; when all have, REMOVE is written. It goes on for as long as this process runs; after
 * that anyone may complete it by asking for the removal again.
 *
 * As a member: the writer fences, synced, before the answer leaves. */

enum { QUESTION_TIMEOUT_MS = 2000 };
#define RETRY_NS (300 * AT_MS_NS)

/* A FENCE of a coordinator, on its way through the writer. */
struct fence_asked {
    struct at_room_call call; /* first */
    struct at_peer_request *request;
    struct at_fence fence;
    struct at_buf answer; /* encoded on the writer thread: it borrows from the replica */
    enum at_code code;
};

static void run_answer(struct at_replica_call *call, struct at_replica *replica);
static void on_answer_ready(struct at_room_call *call);
static void run_look(struct at_replica_call *call, struct at_replica *replica);
static void on_looked(struct at_room_call *call);
static void begin_next(struct at_peering *p);
static void ask(struct at_neighbor *peer);
static void on_end(struct at_ask *ask);
static void deliver(struct at_neighbor *peer, struct at_ask *ask);
static void run_deliver(struct at_replica_call *call, struct at_replica *replica);
static void on_written(struct at_room_act *act);
static uint64_t lost_of(const struct at_peering *p, struct at_member_id id);
static bool is_removed(const struct at_peering *p, const struct at_remove *remove);
static void end_what_is_over(struct at_peering *p);
static void end_one(struct at_remove *remove, enum at_code code, const struct at_error *error);

/* --- answering --- */

void at_fence_room_on_ask(struct at_peering *p,
                          struct at_peer_request *request,
                          const struct at_fence *fence)
{
    struct fence_asked *asked = AT_NEW(struct fence_asked);

    asked->request = request;
    asked->fence = *fence;
    at_buf_init(&asked->answer, AT_PEER_QUESTION_BYTES_MAX);
    asked->call.call.sync = true;
    asked->call.call.run = run_answer;
    asked->call.on_end = on_answer_ready;
    if (at_peering_call(p, &asked->call))
        return;
    at_peer_request_drop(request);
    at_buf_deinit(&asked->answer);
    at_free(asked);
}

/* Writer thread. */
static void run_answer(struct at_replica_call *call, struct at_replica *replica)
{
    struct fence_asked *asked = (struct fence_asked *)call;
    struct at_fence_answer answer;

    at_buf_clear(&asked->answer);
    asked->code = at_replica_on_fence(replica, &asked->fence, &answer);
    if (asked->code != AT_OK)
        return;
    asked->code = at_fence_answer_encode(&answer, &asked->answer);
    at_vector_deinit(&answer.applied);
    at_positions_facts_deinit(&answer.facts);
}

static void on_answer_ready(struct at_room_call *call)
{
    struct fence_asked *asked = (struct fence_asked *)call;

    if (call->call.failed)
        at_peer_request_drop(asked->request); /* asked again, when it may be synced */
    else if (asked->code == AT_OK)
        at_peer_request_reply(asked->request, at_buf_slice(&asked->answer));
    else
        at_peering_refuse(call->peering, asked->request, "this cluster does not fence those now");
    at_buf_deinit(&asked->answer);
    at_free(asked);
}

/* --- coordinating --- */

void at_fence_room_add(struct at_peering *p, struct at_remove *remove)
{
    remove->mail.next = p->fence.waiting;
    p->fence.waiting = &remove->mail;
    remove->begun = false;
    p->fence.due_ns = 0;
}

void at_fence_room_step(struct at_peering *p)
{
    struct at_fence_room *room = &p->fence;

    if (room->waiting == NULL && (room->out || !room->fencing)) /* `out`: the writer has it */
        return;
    end_what_is_over(p);
    at_peering_wake_at(p, p->now_ns + RETRY_NS / 3);
    if (room->out || room->act_out)
        return;
    if (p->now_ns < room->due_ns) {
        at_peering_wake_at(p, room->due_ns);
        return;
    }
    room->due_ns = p->now_ns + RETRY_NS;
    begin_next(p);
    room->call.call.run = run_look;
    room->call.on_end = on_looked;
    room->out = at_peering_call(p, &room->call);
}

void at_fence_room_drop(struct at_peering *p)
{
    struct at_error error = {0};
    struct at_mail *next = NULL;

    (void)at_fail(&error, AT_CANCELLED, "the cluster stops; ask again to complete the removal");
    for (struct at_mail *m = AT_TAKE(p->fence.waiting); m != NULL; m = next) {
        next = m->next;
        end_one((struct at_remove *)m, AT_CANCELLED, &error);
    }
}

void at_fence_room_deinit(struct at_peering *p)
{
    at_free(p->fence.vouches);
}

static void begin_next(struct at_peering *p)
{
    p->fence.beginning = NULL;
    for (struct at_mail *m = p->fence.waiting; m != NULL; m = m->next)
        if (!((struct at_remove *)m)->begun)
            p->fence.beginning = (struct at_remove *)m;
}

/* Writer thread. What the removal holds is copied: it lives only until the next call. */
static void run_look(struct at_replica_call *call, struct at_replica *replica)
{
    struct at_fence_room *room = (struct at_fence_room *)call;
    const struct at_remove *begin = room->beginning;

    room->code = AT_OK;
    room->error = (struct at_error){0};
    if (begin != NULL)
        room->code = at_replica_fence_begin(replica, begin->members, begin->member_count,
                                            begin->minority_survives, &room->error);
    room->fencing = at_replica_fencing(replica, &room->fence, room->missing, &room->missing_count);
    room->ready = room->fencing && at_replica_removal(replica, &room->removal);
    if (!room->ready)
        return;
    at_free(room->vouches);
    room->vouches = at_alloc(sizeof(*room->vouches) * (room->removal.vouch_count + 1));
    for (uint32_t i = 0; i < room->removal.vouch_count; i++)
        room->vouches[i] = room->removal.vouches[i];
    room->removal.vouches = room->vouches;
}

static void on_looked(struct at_room_call *call)
{
    struct at_fence_room *room = (struct at_fence_room *)call;
    struct at_peering *p = call->peering;
    struct at_remove *begun = AT_TAKE(room->beginning);

    room->out = false;
    if (call->call.failed)
        return;
    if (begun != NULL) {
        begun->begun = true;
        begun->code = room->code; /* told by end_what_is_over */
        begun->error = room->error;
    }
    for (uint32_t i = 0; i < room->missing_count && room->fencing; i++) {
        struct at_neighbor *peer = at_neighbor_find(p, room->missing[i]);
        if (peer != NULL && !peer->fence_open)
            ask(peer);
    }
    if (!room->ready)
        return;
    room->act.write.act = AT_ACT_REMOVE;
    room->act.write.removal = room->removal;
    room->act.on_end = on_written;
    room->act_out = at_peering_act(p, &room->act);
}

static void ask(struct at_neighbor *peer)
{
    struct at_peering *p = peer->peering;

    at_buf_clear(&p->out);
    peer->fence_ask.on_end = on_end;
    peer->fence_open = at_fence_encode(&p->fence.fence, &p->out) == AT_OK &&
                       at_peering_ask(peer, &peer->fence_ask, QUESTION_TIMEOUT_MS);
}

static void on_end(struct at_ask *ask)
{
    struct at_neighbor *peer = ask->peer;

    peer->fence_open = false;
    if (ask->question.code == AT_OK)
        deliver(peer, ask);
    else
        at_peer_question_done(&ask->question);
}

static void deliver(struct at_neighbor *peer, struct at_ask *ask)
{
    struct at_peering *p = peer->peering;
    struct at_room_answer *answered = at_room_answer_take(ask, run_deliver);

    if (answered->message.kind == AT_MESSAGE_REFUSED)
        at_log(AT_LOG_WARN, "a member does not fence, asking again", AT_KV_STR("peer", peer->name),
               AT_KV_SLICE("why", answered->message.u.refused));
    if (answered->message.kind == AT_MESSAGE_FENCE_ANSWER &&
        at_member_eq(answered->message.u.fence_answer->from, peer->id)) {
        const struct at_fence_answer *answer = answered->message.u.fence_answer;
        p->fence.due_ns = 0;
        for (uint32_t i = 0; i < answer->member_count; i++)
            if (at_neighbor_find(p, answer->members[i].id) == NULL)
                (void)at_neighbor_told(p, answer->members[i].id, answer->members[i].info);
        if (at_peering_call(p, &answered->call))
            return;
    }
    at_room_answer_free(&answered->call);
}

/* Writer thread. */
static void run_deliver(struct at_replica_call *call, struct at_replica *replica)
{
    at_replica_on_fence_answer(replica, ((struct at_room_answer *)call)->message.u.fence_answer);
}

static void on_written(struct at_room_act *act)
{
    struct at_peering *p = act->peering;
    struct at_fence_room *room = &p->fence;

    room->act_out = false;
    room->due_ns = 0;
    if (act->write.code != AT_OK && act->write.code != AT_FAILED_PRECONDITION)
        at_log(AT_LOG_WARN, "REMOVE could not be written, trying again",
               AT_KV_STR("code", at_code_name(act->write.code)));
}

/* What anyone told of its last entry, and nobody who is left has: those vouched for its end,
 * whoever wrote the removal. */
static uint64_t lost_of(const struct at_peering *p, struct at_member_id id)
{
    const struct at_positions_facts *facts = &p->view.facts;
    struct at_position known = {0};
    uint64_t kept = 0;

    for (uint32_t i = 0; i < p->view.member_count; i++)
        if (at_member_eq(p->view.members[i].id, id))
            known = p->view.members[i].known;
    for (uint32_t i = 0; i < facts->vouch_count; i++) {
        const struct at_position *v = &facts->vouches[i].position;
        if (at_member_eq(v->origin, id) && v->epoch == known.epoch && v->seq > kept)
            kept = v->seq;
    }
    for (uint32_t i = 0; i < facts->end_count; i++)
        if (at_member_eq(facts->ends[i].origin, id) && facts->ends[i].epoch == known.epoch &&
            facts->ends[i].end > kept)
            kept = facts->ends[i].end;
    return known.seq > kept ? known.seq - kept : 0;
}

static bool is_removed(const struct at_peering *p, const struct at_remove *remove)
{
    for (uint32_t i = 0; i < remove->member_count; i++)
        if (!at_replica_view_is_gone(&p->view, remove->members[i]))
            return false;
    return true;
}

static void end_what_is_over(struct at_peering *p)
{
    struct at_fence_room *room = &p->fence;
    struct at_mail **link = &room->waiting;
    struct at_error late = {0};

    (void)at_fail(&late, AT_DEADLINE_EXCEEDED,
                  "fenced, and not all other clusters have answered yet; it goes on");
    while (*link != NULL) {
        struct at_remove *remove = (struct at_remove *)*link;
        bool refused = remove->begun && remove->code != AT_OK;
        bool over = remove->begun && is_removed(p, remove) && !room->act_out;
        bool is_late = p->now_ns >= remove->deadline_ns;
        if (remove == room->beginning || !(refused || over || is_late)) {
            link = &remove->mail.next;
            continue;
        }
        *link = remove->mail.next;
        for (uint32_t i = 0; i < remove->member_count && over; i++)
            remove->lost_count_min += lost_of(p, remove->members[i]);
        if (over)
            end_one(remove, AT_OK, NULL);
        else if (refused)
            end_one(remove, remove->code, &remove->error);
        else
            end_one(remove, AT_DEADLINE_EXCEEDED, &late);
    }
}

static void end_one(struct at_remove *remove, enum at_code code, const struct at_error *error)
{
    remove->code = code;
    if (error == NULL)
        remove->error = (struct at_error){0};
    else if (error != &remove->error)
        remove->error = *error;
    remove->done(remove);
}
