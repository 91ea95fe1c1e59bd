#include "base/alloc.h"
#include "base/log.h"
#include "replication/peer/rooms.h"

/* Closing old epochs (protocol rule 23). While the replica says that old own epochs wait, it is
 * asked every RETRY which members are missing, and each of those gets a CLOSE. The answering side
 * lets the writer note the new incarnation, synced, before the answer leaves. */

enum { QUESTION_TIMEOUT_MS = 2000 };
#define RETRY_NS (500 * AT_MS_NS)

/* A CLOSE of a peer, on its way through the writer. */
struct close_asked {
    struct at_room_call call; /* first */
    struct at_peer_request *request;
    struct at_close close;
    struct at_close_answer answer;
    enum at_code code;
};

/* An answer to our CLOSE, on its way to the replica. */
struct close_answered {
    struct at_room_call call; /* first */
    struct at_close_answer answer;
};

static void run_answer(struct at_replica_call *call, struct at_replica *replica);
static void on_answer_ready(struct at_room_call *call);
static void run_missing(struct at_replica_call *call, struct at_replica *replica);
static void on_missing(struct at_room_call *call);
static void ask(struct at_neighbor *peer);
static void on_close_answer(struct at_ask *ask);
static void deliver(struct at_neighbor *peer, const struct at_close_answer *answer);
static void run_deliver(struct at_replica_call *call, struct at_replica *replica);
static void on_delivered(struct at_room_call *call);

/* --- answering --- */

void at_epoch_close_on_ask(struct at_peering *p,
                           struct at_peer_request *request,
                           const struct at_close *close)
{
    struct close_asked *asked = AT_NEW(struct close_asked);

    asked->request = request;
    asked->close = *close;
    asked->call.call.sync = true;
    asked->call.call.run = run_answer;
    asked->call.on_end = on_answer_ready;
    if (at_peering_call(p, &asked->call))
        return;
    at_peer_request_drop(request);
    at_free(asked);
}

/* Writer thread. */
static void run_answer(struct at_replica_call *call, struct at_replica *replica)
{
    struct close_asked *asked = (struct close_asked *)call;

    asked->code = at_replica_on_close(replica, &asked->close, &asked->answer);
}

static void on_answer_ready(struct at_room_call *call)
{
    struct close_asked *asked = (struct close_asked *)call;
    struct at_peering *p = call->peering;

    if (call->call.failed) {
        at_peer_request_drop(asked->request); /* asked again, when it may be synced */
    } else if (asked->code == AT_OK) {
        at_buf_clear(&p->out);
        at_peering_answer(p, asked->request, at_close_answer_encode(&asked->answer, &p->out));
    } else {
        at_peering_refuse(p, asked->request, "old epochs cannot be closed here");
    }
    at_free(asked);
}

/* --- asking --- */

void at_epoch_close_step(struct at_peering *p)
{
    struct at_epoch_closing *c = &p->closing;

    if (c->out || !p->view.closing)
        return;
    if (p->now_ns < c->due_ns) {
        at_peering_wake_at(p, c->due_ns);
        return;
    }
    c->due_ns = p->now_ns + RETRY_NS;
    at_peering_wake_at(p, c->due_ns);
    c->call.call.run = run_missing;
    c->call.on_end = on_missing;
    c->out = at_peering_call(p, &c->call);
}

/* Writer thread. */
static void run_missing(struct at_replica_call *call, struct at_replica *replica)
{
    struct at_epoch_closing *c = (struct at_epoch_closing *)call;

    if (!at_replica_closing(replica, c->missing, &c->missing_count))
        c->missing_count = 0;
    at_replica_close_ask(replica, &c->close);
}

static void on_missing(struct at_room_call *call)
{
    struct at_epoch_closing *c = (struct at_epoch_closing *)call;

    c->out = false;
    for (uint32_t i = 0; i < c->missing_count && !call->call.failed; i++) {
        struct at_neighbor *peer = at_neighbor_find(call->peering, c->missing[i]);
        if (peer != NULL && !peer->close_open)
            ask(peer);
    }
}

static void ask(struct at_neighbor *peer)
{
    struct at_peering *p = peer->peering;

    at_buf_clear(&p->out);
    peer->close_ask.on_end = on_close_answer;
    peer->close_open = at_close_encode(&p->closing.close, &p->out) == AT_OK &&
                       at_peering_ask(peer, &peer->close_ask, QUESTION_TIMEOUT_MS);
}

static void on_close_answer(struct at_ask *ask)
{
    struct at_neighbor *peer = ask->peer;
    struct at_peering *p = peer->peering;
    struct at_message m = {0};

    peer->close_open = false;
    if (ask->question.code == AT_OK &&
        at_message_decode(ask->question.reply, &p->scratch, &m) == AT_OK) {
        if (m.kind == AT_MESSAGE_CLOSE_ANSWER)
            deliver(peer, m.u.close_answer);
        else if (m.kind == AT_MESSAGE_REFUSED)
            at_log(AT_LOG_WARN, "a peer does not close our old epochs, asking again",
                   AT_KV_STR("peer", peer->name), AT_KV_SLICE("why", m.u.refused));
        at_message_deinit(&m);
    }
    at_arena_reset(&p->scratch);
    at_peer_question_done(&ask->question);
}

static void deliver(struct at_neighbor *peer, const struct at_close_answer *answer)
{
    struct at_peering *p = peer->peering;

    if (!at_replica_view_is_instance(&p->view, answer->instance_id) ||
        !at_member_eq(answer->from, peer->id) || !at_member_eq(answer->origin, p->view.self) ||
        answer->incarnation != p->view.epoch)
        return; /* of an earlier incarnation of ours, or nonsense; asked again anyway */
    struct close_answered *answered = AT_NEW(struct close_answered);
    answered->answer = *answer;
    answered->call.call.run = run_deliver;
    answered->call.on_end = on_delivered;
    if (!at_peering_call(p, &answered->call))
        at_free(answered);
}

/* Writer thread. */
static void run_deliver(struct at_replica_call *call, struct at_replica *replica)
{
    at_replica_on_close_answer(replica, &((struct close_answered *)call)->answer);
}

static void on_delivered(struct at_room_call *call)
{
    at_free((struct close_answered *)call);
}
