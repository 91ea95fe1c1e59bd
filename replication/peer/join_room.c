#include "base/alloc.h"
#include "base/log.h"
#include "replication/peer/rooms.h"

/* JOIN: asked of all that are missing until each knows this cluster; of all, a few times a second,
 * while this cluster is filled, so that every member can show how far it is; and once of each, so
 * that it knows where this cluster is now. After LEAVE it asks who has it.
 *
 * A cluster that was filled has caught up when it has, but for a few entries, all that those in
 * touch had at their last reply. */

enum { QUESTION_TIMEOUT_MS = 2000, CAUGHT_UP_ENTRIES_MAX = 100 };
#define LOOK_NS (300 * AT_MS_NS)
#define GREET_AGAIN_NS (60 * AT_S_NS) /* what was told in between may have been wrong */

/* A JOIN of another, on its way through the writer. */
struct join_asked {
    struct at_room_call call; /* first */
    struct at_peer_request *request;
    struct at_join join;
    struct at_buf answer; /* encoded on the writer thread: it borrows from the replica */
    enum at_code code;
};

struct told_removed {
    struct at_room_call call; /* first */
    struct at_member_id by;
};

static void run_removed(struct at_replica_call *call, struct at_replica *replica);
static void on_removed(struct at_room_call *call);
static void note_progress(struct at_peering *p, const struct at_join *join);
static void run_answer(struct at_replica_call *call, struct at_replica *replica);
static void on_answer_ready(struct at_room_call *call);
static void run_missing(struct at_replica_call *call, struct at_replica *replica);
static void on_missing(struct at_room_call *call);
static bool is_filling(const struct at_replica_view *view);
static bool has_left(const struct at_replica_view *view);
static bool is_missing(const struct at_join_room *room, struct at_member_id id);
static void ask(struct at_neighbor *peer);
static void on_end(struct at_ask *ask);
static void deliver(struct at_neighbor *peer, struct at_ask *ask);
static void run_deliver(struct at_replica_call *call, struct at_replica *replica);
static void look_whether_caught_up(struct at_peering *p);
static void run_caught_up(struct at_replica_call *call, struct at_replica *replica);
static void on_caught_up(struct at_room_call *call);

/* --- answering --- */

void at_join_room_on_ask(struct at_peering *p,
                         struct at_peer_request *request,
                         const struct at_join *join)
{
    if (!at_replica_view_is_instance(&p->view, join->instance_id)) {
        at_peering_refuse(p, request, "this is a member of another instance");
        return;
    }
    /* One that has left asks whoever asks it: perhaps there is nobody else left, see greet_room. */
    if (at_neighbor_find(p, join->from) != NULL || has_left(&p->view)) {
        (void)at_neighbor_told(p, join->from, join->info);
        note_progress(p, join);
    }
    struct join_asked *asked = AT_NEW(struct join_asked);
    asked->request = request;
    asked->join = *join;
    asked->join.info = at_slice_make(NULL, 0);
    at_buf_init(&asked->answer, AT_PEER_QUESTION_BYTES_MAX);
    asked->call.call.run = run_answer;
    asked->call.on_end = on_answer_ready;
    if (at_peering_call(p, &asked->call))
        return;
    at_peer_request_drop(request);
    at_buf_deinit(&asked->answer);
    at_free(asked);
}

static void note_progress(struct at_peering *p, const struct at_join *join)
{
    struct at_neighbor *peer = at_neighbor_find(p, join->from);

    if (peer == NULL)
        return;
    atomic_store(&peer->heard_ns, p->now_ns);
    pthread_mutex_lock(&p->status_lock);
    if (join->copied_bytes > peer->progress.copied_bytes)
        at_rate_add(&peer->progress_rate, join->copied_bytes - peer->progress.copied_bytes,
                    p->now_ns);
    peer->progress = (struct at_member_progress){
        .member = join->from,
        .mode = join->mode <= AT_MODE_REMOVED ? join->mode : (uint8_t)AT_MODE_INIT,
        .caught_up = join->caught_up,
        .copied_bytes = join->copied_bytes,
        .copy_bytes = join->copy_bytes};
    pthread_mutex_unlock(&p->status_lock);
}

/* Writer thread. */
static void run_answer(struct at_replica_call *call, struct at_replica *replica)
{
    struct join_asked *asked = (struct join_asked *)call;
    struct at_join_answer answer;

    at_buf_clear(&asked->answer);
    asked->code = at_replica_on_join(replica, &asked->join, &answer);
    if (asked->code == AT_OK)
        asked->code = at_join_answer_encode(&answer, &asked->answer);
}

static void on_answer_ready(struct at_room_call *call)
{
    struct join_asked *asked = (struct join_asked *)call;

    if (call->call.failed)
        at_peer_request_drop(asked->request); /* asked again, when it may be synced */
    else if (asked->code == AT_OK)
        at_peer_request_reply(asked->request, at_buf_slice(&asked->answer));
    else
        at_peering_refuse(call->peering, asked->request, "joining is not answered here now");
    at_buf_deinit(&asked->answer);
    at_free(asked);
}

/* --- asking --- */

void at_join_room_greet(struct at_neighbor *peer)
{
    peer->greeted = false;
}

void at_join_room_told_removed(struct at_neighbor *peer)
{
    struct told_removed *told = AT_NEW(struct told_removed);

    told->by = peer->id;
    told->call.call.run = run_removed;
    told->call.on_end = on_removed;
    if (!at_peering_call(peer->peering, &told->call))
        at_free(told);
}

/* Writer thread. */
static void run_removed(struct at_replica_call *call, struct at_replica *replica)
{
    at_replica_told_removed(replica, ((struct told_removed *)call)->by);
}

static void on_removed(struct at_room_call *call)
{
    at_free(call);
}

void at_join_room_step(struct at_peering *p)
{
    struct at_join_room *room = &p->join;
    bool filling = is_filling(&p->view);

    if (room->first_hlc == 0)
        room->first_hlc = p->view.hlc;
    look_whether_caught_up(p);
    if (!room->out && p->now_ns >= room->due_ns && !p->view.joined) {
        room->due_ns = p->now_ns + LOOK_NS;
        room->call.call.run = run_missing;
        room->call.on_end = on_missing;
        room->out = at_peering_call(p, &room->call);
    }
    if (p->view.joined && !room->out)
        room->missing_count = 0;
    for (uint32_t i = 0; i < p->peer_count; i++) {
        struct at_neighbor *peer = p->peers[i];
        if (peer->join_open || p->now_ns < peer->join_due_ns)
            continue;
        bool greeted = peer->greeted && p->now_ns < peer->greeted_ns + GREET_AGAIN_NS;
        if (filling || peer->told_filling || !greeted || has_left(&p->view) ||
            (!room->out && is_missing(room, peer->id)))
            ask(peer);
    }
    at_peering_wake_at(p, p->now_ns + LOOK_NS);
}

void at_join_room_describe(struct at_peering *p, struct at_join *ret_join)
{
    const struct at_replica_view *view = &p->view;

    *ret_join = (struct at_join){.instance_id = view->instance_id,
                                 .from = view->self,
                                 .incarnation = view->epoch,
                                 .mode = (uint8_t)view->mode,
                                 .caught_up = view->caught_up};
    for (uint32_t i = 0; i < view->member_count; i++)
        if (at_member_eq(view->members[i].id, view->self)) {
            ret_join->info = view->members[i].info;
            ret_join->registered = view->members[i].registered;
        }
    /* The clock began beyond the registration's stamp. */
    ret_join->hlc = view->joined ? 0 : p->join.first_hlc;
    pthread_mutex_lock(&p->status_lock);
    ret_join->copied_bytes = p->copied_bytes;
    ret_join->copy_bytes = p->copy_bytes;
    pthread_mutex_unlock(&p->status_lock);
}

/* Writer thread. */
static void run_missing(struct at_replica_call *call, struct at_replica *replica)
{
    struct at_join_room *room = (struct at_join_room *)call;

    if (!at_replica_joining(replica, room->missing, &room->missing_count))
        room->missing_count = 0;
}

static void on_missing(struct at_room_call *call)
{
    ((struct at_join_room *)call)->out = false;
}

static bool is_filling(const struct at_replica_view *view)
{
    return view->mode == AT_MODE_INIT || view->mode == AT_MODE_COPYING ||
           view->mode == AT_MODE_NEEDS_COPY || (view->mode == AT_MODE_READY && !view->caught_up);
}

static bool has_left(const struct at_replica_view *view)
{
    for (uint32_t i = 0; i < view->member_count; i++)
        if (at_member_eq(view->members[i].id, view->self))
            return view->mode == AT_MODE_LEAVING && view->members[i].state == AT_ORIGIN_LEFT;
    return false;
}

static bool is_missing(const struct at_join_room *room, struct at_member_id id)
{
    for (uint32_t i = 0; i < room->missing_count; i++)
        if (at_member_eq(room->missing[i], id))
            return true;
    return false;
}

static void ask(struct at_neighbor *peer)
{
    struct at_peering *p = peer->peering;
    struct at_join join;

    at_join_room_describe(p, &join);
    at_buf_clear(&p->out);
    peer->join_due_ns = p->now_ns + LOOK_NS;
    peer->told_filling = is_filling(&p->view);
    peer->join_ask.on_end = on_end;
    peer->join_open = at_join_encode(&join, &p->out) == AT_OK &&
                      at_peering_ask(peer, &peer->join_ask, QUESTION_TIMEOUT_MS);
}

static void on_end(struct at_ask *ask)
{
    struct at_neighbor *peer = ask->peer;

    peer->join_open = false;
    if (ask->question.code == AT_OK)
        deliver(peer, ask);
    else
        at_peer_question_done(&ask->question);
}

/* Also tells where those are that only the answer names. */
static void deliver(struct at_neighbor *peer, struct at_ask *ask)
{
    struct at_peering *p = peer->peering;
    struct at_room_answer *answered = at_room_answer_take(ask, run_deliver);
    const struct at_join_answer *answer = &answered->message.u.join_answer;

    bool answers = answered->message.kind == AT_MESSAGE_JOIN_ANSWER;
    if (answers && !at_member_eq(answer->from, peer->id))
        at_neighbor_mistaken(peer);
    if (answers && at_member_eq(answer->from, peer->id) &&
        at_replica_view_is_instance(&p->view, answer->instance_id)) {
        peer->greeted = true;
        peer->greeted_ns = p->now_ns;
        atomic_store(&peer->heard_ns, p->now_ns);
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
    at_replica_on_join_answer(replica, &((struct at_room_answer *)call)->message.u.join_answer);
}

/* --- caught up --- */

static void look_whether_caught_up(struct at_peering *p)
{
    struct at_join_room *room = &p->join;
    uint64_t left = CAUGHT_UP_ENTRIES_MAX;
    uint64_t missing = 0;
    bool somebody = false;

    if (p->view.mode != AT_MODE_READY || p->view.caught_up) {
        room->ready_ns = 0;
        return;
    }
    if (room->ready_ns == 0)
        room->ready_ns = p->now_ns;
    if (room->caught_up_out)
        return;
    for (uint32_t i = 0; i < p->peer_count; i++) {
        const struct at_neighbor *peer = p->peers[i];
        const struct at_vector *told = &peer->link.told;
        if (!peer->member || !at_neighbor_in_touch(peer))
            continue;
        if (peer->link.asking.good_ns <= room->ready_ns)
            return; /* what it has now is not known yet */
        somebody = true;
        for (uint32_t k = 0; k < told->count; k++) {
            struct at_position end = told->items[k];
            uint64_t has = at_vector_get(&p->view.applied, end.origin, end.epoch);
            bool open = end.epoch >= at_positions_facts_first_open(&p->view.facts, end.origin);
            missing = open && end.seq > has ? end.seq - has : 0;
            if (missing > left)
                return;
            left -= missing;
        }
    }
    if (!somebody)
        return;
    room->caught_up.call.run = run_caught_up;
    room->caught_up.on_end = on_caught_up;
    room->caught_up_out = at_peering_call(p, &room->caught_up);
}

/* Writer thread. */
static void run_caught_up(struct at_replica_call *call, struct at_replica *replica)
{
    (void)call;
    at_replica_set_caught_up(replica);
}

static void on_caught_up(struct at_room_call *call)
{
    call->peering->join.caught_up_out = false;
}
