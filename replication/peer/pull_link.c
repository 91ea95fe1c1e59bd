#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "replication/peer/rooms.h"

#include <stddef.h>

/* The asking side of one link. One reply is under way at a time: its bytes stay in the socket's
 * message, its decoded form in link->arena, until the writer has applied it and gave it back.
 *
 * Origins that are heard first hand are skipped at the other donors, so that entries cross each
 * wire once. They are wanted from everybody as soon as the direct link is out of touch, or cannot
 * go on (gap, parked, stalled). */

static bool may_ask(const struct at_peering *p);
static enum at_code encode_pull(struct at_neighbor *peer);
static bool hears_first_hand(struct at_neighbor *peer);
static void on_end(struct at_ask *ask);
static void fail(struct at_neighbor *peer, enum at_code code);
static bool take_reply(struct at_neighbor *peer);
static bool is_good(struct at_neighbor *peer, const struct at_message *m);
static void release_reply(struct at_pull_link *link);
static enum at_asking_result result_of(const struct at_pull_link *link,
                                       const struct at_replica_view *view);
static void note_applied(struct at_neighbor *peer);
static void on_reply(void *ctx, struct at_peer_question *question);

void at_pull_link_init(struct at_neighbor *peer)
{
    struct at_pull_link *link = &peer->link;

    at_asking_init(&link->asking, peer->peering->now_ns);
    at_lag_evidence_init(&link->evidence, peer->peering->now_ns);
    at_vector_init(&link->asked_applied);
    at_arena_init(&link->arena, 16 * AT_KIB);
    link->ask.peer = peer;
    link->ask.on_end = on_end;
    link->apply.peering = peer->peering;
}

enum at_code at_pull_link_open(struct at_neighbor *peer, struct at_error *reterr)
{
    struct at_peer_client_config config = {.host = peer->host,
                                           .port = peer->port,
                                           .in_flight_max = AT_PEER_QUESTIONS_MAX,
                                           .on_reply = on_reply,
                                           .ctx = peer->peering};

    return at_peer_client_open(&config, &peer->link.client, reterr);
}

void at_pull_link_step(struct at_neighbor *peer)
{
    struct at_peering *p = peer->peering;
    struct at_pull_link *link = &peer->link;

    if (link->asking.step != AT_ASKING_IDLE || !may_ask(p))
        return;
    if (!at_asking_due(&link->asking, p->now_ns)) {
        at_peering_wake_at(p, link->asking.due_ns);
        return;
    }
    at_asking_begin(&link->asking, p->now_ns);
    uint32_t timeout_ms = at_asking_timeout_ms(&link->asking, p->wait_ms);
    if (encode_pull(peer) != AT_OK || !at_peering_ask(peer, &link->ask, timeout_ms))
        fail(peer, AT_UNAVAILABLE);
}

void at_pull_link_on_applied(struct at_apply *apply)
{
    struct at_pull_link *link =
        (struct at_pull_link *)((char *)apply - offsetof(struct at_pull_link, apply));
    struct at_neighbor *peer = link->ask.peer;
    struct at_peering *p = peer->peering;

    note_applied(peer);
    at_asking_applied(&link->asking, result_of(link, &p->view), p->now_ns);
    if (apply->dropped)
        at_log(AT_LOG_WARN, "a peer's reply was dropped, asking again later",
               AT_KV_STR("peer", peer->name));
    release_reply(link);
}

void at_pull_link_close(struct at_neighbor *peer)
{
    at_peer_client_close(&peer->link.client);
}

void at_pull_link_deinit(struct at_neighbor *peer)
{
    struct at_pull_link *link = &peer->link;

    at_peer_client_close(&link->client);
    at_lag_evidence_deinit(&link->evidence);
    at_vector_deinit(&link->asked_applied);
    at_arena_deinit(&link->arena);
}

/* --- asking --- */

static bool may_ask(const struct at_peering *p)
{
    return p->view.mode == AT_MODE_READY || p->view.mode == AT_MODE_NEEDS_COPY ||
           p->view.mode == AT_MODE_LEAVING;
}

/* Vectors and facts are borrowed from the view; only what was told to be known may be told to be
 * applied, so both are of the same commit. */
static enum at_code encode_pull(struct at_neighbor *peer)
{
    struct at_peering *p = peer->peering;
    const struct at_replica_view *view = &p->view;
    struct at_pull pull = {
        .request_id = ++p->request_id,
        .instance_id = view->instance_id,
        .from = view->self,
        .incarnation = view->epoch,
        .applied = view->applied,
        .durable = view->durable,
        .facts = view->facts,
        .max_bytes = (uint32_t)AT_PULL_BYTES_MAX,
        .wait_ms = p->wait_ms,
        .hlc = at_peering_clock(p),
    };

    pull.facts.promise_count = 0;
    pull.facts.vouch_count = 0;
    for (uint32_t i = 0; i < view->member_count; i++)
        if (view->members[i].active)
            pull.members[pull.member_count++] = view->members[i].id;
    for (uint32_t i = 0; i < p->peer_count; i++)
        if (&p->peers[i] != peer && hears_first_hand(&p->peers[i]))
            pull.skip[pull.skip_count++] = p->peers[i].id;
    at_vector_copy(&peer->link.asked_applied, &view->applied);
    peer->link.request_id = pull.request_id;
    at_buf_clear(&p->out);
    return at_pull_encode(&pull, &p->out);
}

static bool hears_first_hand(struct at_neighbor *peer)
{
    struct at_peering *p = peer->peering;

    if (!at_asking_in_touch(&peer->link.asking, p->now_ns, at_peering_touch_ns(p)))
        return false;
    if (peer->link.asking.stalled)
        return false;
    for (uint32_t i = 0; i < p->view.member_count; i++) {
        const struct at_member_view *member = &p->view.members[i];
        if (at_member_eq(member->id, peer->id))
            return !member->gap && !member->parked;
    }
    return false;
}

/* --- the reply --- */

/* nng thread. */
static void on_reply(void *ctx, struct at_peer_question *question)
{
    struct at_peering *p = ctx;

    at_mailbox_push(&p->answers, &question->mail, NULL);
    at_peering_ring(p);
}

static void on_end(struct at_ask *ask)
{
    struct at_neighbor *peer = ask->peer;

    if (ask->question.code != AT_OK)
        fail(peer, ask->question.code);
    else if (!take_reply(peer))
        fail(peer, AT_INVALID_ARGUMENT);
}

static void fail(struct at_neighbor *peer, enum at_code code)
{
    struct at_peering *p = peer->peering;

    release_reply(&peer->link);
    bool renew = at_asking_failed(&peer->link.asking, code, p->now_ns);
    at_peering_wake_at(p, peer->link.asking.due_ns);
    if (p->draining || (!renew && peer->link.client != NULL))
        return;
    /* A connection whose other end vanished silently would be retried by TCP ever more rarely. */
    at_peer_client_close(&peer->link.client);
    if (at_pull_link_open(peer, NULL) != AT_OK)
        at_log(AT_LOG_ERROR, "cannot open a peer socket, retrying", AT_KV_STR("peer", peer->name));
}

static bool take_reply(struct at_neighbor *peer)
{
    struct at_pull_link *link = &peer->link;
    struct at_peering *p = peer->peering;
    struct at_apply *apply = &link->apply;

    apply->message = (struct at_message){0};
    if (at_message_decode(link->ask.question.reply, &link->arena, &apply->message) != AT_OK) {
        apply->message = (struct at_message){0};
        at_log(AT_LOG_WARN, "a peer's reply is malformed, asking again later",
               AT_KV_STR("peer", peer->name));
        return false;
    }
    if (!is_good(peer, &apply->message))
        return false;

    const struct at_reply *reply = &apply->message.u.reply;
    at_peering_heard(peer, &reply->ends_known);
    pthread_mutex_lock(&p->status_lock);
    link->more = reply->more;
    at_lag_evidence_note(&link->evidence, reply, p->now_ns);
    pthread_mutex_unlock(&p->status_lock);
    apply->dropped = false;
    apply->applied_count = 0;
    apply->discarded_count = 0;
    if (p->draining || !p->port.apply(p->port.ctx, apply))
        return false;
    p->applies_out++;
    at_asking_replied(&link->asking, p->now_ns);
    return true;
}

static bool is_good(struct at_neighbor *peer, const struct at_message *m)
{
    const struct at_reply *reply = &m->u.reply;

    if (m->kind == AT_MESSAGE_REFUSED) {
        at_log(AT_LOG_WARN, "a peer refuses us, asking again later", AT_KV_STR("peer", peer->name),
               AT_KV_SLICE("why", m->u.refused));
        return false;
    }
    if (m->kind != AT_MESSAGE_REPLY || reply->to_request != peer->link.request_id ||
        !at_member_eq(reply->from, peer->id) ||
        reply->instance_id != peer->peering->view.instance_id) {
        at_log(AT_LOG_WARN, "a peer's reply is not to our question, asking again later",
               AT_KV_STR("peer", peer->name));
        return false;
    }
    return true;
}

static void release_reply(struct at_pull_link *link)
{
    if (link->apply.message.kind != 0)
        at_message_deinit(&link->apply.message);
    link->apply.message = (struct at_message){0};
    at_arena_reset(&link->arena);
    at_peer_question_done(&link->ask.question);
}

/* --- applied --- */

static enum at_asking_result result_of(const struct at_pull_link *link,
                                       const struct at_replica_view *view)
{
    if (link->apply.dropped)
        return AT_ASKING_STALLED;
    if (link->apply.message.u.reply.run_count == 0)
        return AT_ASKING_EMPTY;
    bool moved = link->apply.applied_count + link->apply.discarded_count > 0 ||
                 !at_vector_covers(&link->asked_applied, &view->applied);
    return moved ? AT_ASKING_MOVED : AT_ASKING_STALLED;
}

static void note_applied(struct at_neighbor *peer)
{
    struct at_peering *p = peer->peering;
    struct at_pull_link *link = &peer->link;
    struct at_lag_windows any = {UINT64_MAX, UINT64_MAX};

    pthread_mutex_lock(&p->status_lock);
    link->applied_entries += link->apply.applied_count;
    if (at_lag_of(&link->evidence, &p->view, peer->id, any, p->now_ns).entries == 0)
        link->evidence.all_ns = p->now_ns;
    pthread_mutex_unlock(&p->status_lock);
}
