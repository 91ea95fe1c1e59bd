#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "replication/peer/rooms.h"

#include <stddef.h>

/* The asking side of one link. Questions are asked in turn, and replies are applied in that order:
 * on a long link several lanes are under way. A reply's bytes stay in the socket's message, its
 * decoded form in the lane's arena, until the writer has applied it and gave it back.
 *
 * Origins that are heard first hand are skipped at the other donors, so that entries cross each
 * wire once. They are wanted from everybody as soon as the direct link is out of touch, or cannot
 * go on (gap, parked, stalled). The own ones are wanted only while some of them may be missing
 * here: a question that waits at its donor tells an older position than what comes back by then. */

#define REOPEN_NS (500 * AT_MS_NS)
#define UNPACKED_BYTES_MAX AT_PEER_MESSAGE_BYTES_MAX
#define SKEW_MS_MAX UINT64_C(1000000000000)

static bool may_ask(const struct at_neighbor *peer);
static void ask(struct at_neighbor *peer);
static struct at_lane *lane_at(struct at_pull_link *link, uint32_t index);
static enum at_code encode_pull(struct at_neighbor *peer, struct at_lane *lane);
static bool has_all_own(const struct at_replica_view *view);
static bool hears_first_hand(struct at_neighbor *peer);
static void on_end(struct at_ask *ask);
static void take_in_order(struct at_neighbor *peer);
static void fail(struct at_neighbor *peer, struct at_lane *lane, enum at_code code);
static bool take_reply(struct at_neighbor *peer, struct at_lane *lane);
static bool unpack(struct at_lane *lane);
static bool is_good(struct at_neighbor *peer, const struct at_lane *lane);
static void note_reply(struct at_neighbor *peer, const struct at_lane *lane);
static int64_t skew_ms(const struct at_peering *p, uint64_t hlc, uint64_t rtt_ns);
static void release(struct at_pull_link *link, struct at_lane *lane);
static enum at_asking_result result_of(const struct at_lane *lane,
                                       const struct at_replica_view *view);
static void note_applied(struct at_neighbor *peer, const struct at_lane *lane);

void at_pull_link_init(struct at_neighbor *peer)
{
    struct at_pull_link *link = &peer->link;

    link->peer = peer;
    at_asking_init(&link->asking, peer->peering->now_ns);
    at_lag_evidence_init(&link->evidence, peer->peering->now_ns);
    at_vector_init(&link->told);
    at_vector_init(&link->gaps);
    for (uint32_t i = 0; i < AT_ASKING_DEPTH_MAX; i++) {
        struct at_lane *lane = &link->lanes[i];
        at_vector_init(&lane->asked_applied);
        at_arena_init(&lane->arena, 16 * AT_KIB);
        at_buf_init(&lane->unpacked, UNPACKED_BYTES_MAX);
        lane->link = link;
        lane->ask.on_end = on_end;
        lane->apply.peering = peer->peering;
    }
}

void at_pull_link_open(struct at_neighbor *peer)
{
    struct at_peering *p = peer->peering;
    struct at_peer_client_config config = {.host = peer->host,
                                           .port = peer->port,
                                           .in_flight_max = AT_PEER_QUESTIONS_MAX,
                                           .on_reply = at_peering_on_reply,
                                           .ctx = p};

    if (p->draining || peer->host == NULL || peer->link.client != NULL)
        return;
    if (p->now_ns < peer->reopen_ns) {
        at_peering_wake_at(p, peer->reopen_ns);
        return;
    }
    peer->reopen_ns = p->now_ns + REOPEN_NS;
    if (at_peer_client_open(&config, &peer->link.client, NULL) != AT_OK)
        at_log(AT_LOG_ERROR, "cannot open a peer socket, retrying", AT_KV_STR("peer", peer->name));
}

void at_pull_link_step(struct at_neighbor *peer)
{
    struct at_peering *p = peer->peering;
    struct at_asking *asking = &peer->link.asking;

    at_pull_link_open(peer);
    if (!may_ask(peer) || at_leave_room_holds(p))
        return;
    while (at_asking_due(asking, p->now_ns) && peer->link.lane_count < AT_ASKING_DEPTH_MAX)
        ask(peer);
    if (at_asking_wants(asking))
        at_peering_wake_at(p, asking->due_ns);
}

void at_pull_link_on_applied(struct at_apply *apply)
{
    struct at_lane *lane = (struct at_lane *)((char *)apply - offsetof(struct at_lane, apply));
    struct at_neighbor *peer = lane->link->peer;
    struct at_peering *p = peer->peering;

    note_applied(peer, lane);
    at_asking_applied(&peer->link.asking, result_of(lane, &p->view), p->now_ns);
    if (apply->dropped)
        at_log(AT_LOG_WARN, "a peer's reply was dropped, asking again later",
               AT_KV_STR("peer", peer->name));
    release(&peer->link, lane);
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
    at_vector_deinit(&link->told);
    at_vector_deinit(&link->gaps);
    for (uint32_t i = 0; i < AT_ASKING_DEPTH_MAX; i++) {
        at_vector_deinit(&link->lanes[i].asked_applied);
        at_arena_deinit(&link->lanes[i].arena);
        at_buf_deinit(&link->lanes[i].unpacked);
    }
}

/* --- asking --- */

/* After its LEAVE a cluster takes nothing more: what it took only it would have. */
static bool may_ask(const struct at_neighbor *peer)
{
    const struct at_replica_view *view = &peer->peering->view;

    if (!peer->member || peer->host == NULL)
        return false;
    if (view->mode == AT_MODE_READY || view->mode == AT_MODE_NEEDS_COPY)
        return true;
    for (uint32_t i = 0; i < view->member_count; i++)
        if (at_member_eq(view->members[i].id, view->self))
            return view->mode == AT_MODE_LEAVING && view->members[i].active;
    return false;
}

static void ask(struct at_neighbor *peer)
{
    struct at_peering *p = peer->peering;
    struct at_pull_link *link = &peer->link;
    uint32_t timeout_ms = at_asking_timeout_ms(&link->asking, p->wait_ms);
    struct at_lane *lane = lane_at(link, link->lane_count);

    AT_ASSERT(lane->step == AT_LANE_FREE);
    lane->probe = at_asking_begin(&link->asking, p->now_ns);
    enum at_code code = encode_pull(peer, lane);
    lane->step = AT_LANE_OPEN;
    lane->asked_ns = p->now_ns;
    lane->void_reply = false;
    link->lane_count++;
    if (code != AT_OK || !at_peering_ask(peer, &lane->ask, timeout_ms))
        fail(peer, lane, AT_UNAVAILABLE);
}

static struct at_lane *lane_at(struct at_pull_link *link, uint32_t index)
{
    return &link->lanes[(link->first + index) % AT_ASKING_DEPTH_MAX];
}

/* Vectors and facts are borrowed from the view; only what was told to be known may be told to be
 * applied, so both are of the same commit. */
static enum at_code encode_pull(struct at_neighbor *peer, struct at_lane *lane)
{
    struct at_peering *p = peer->peering;
    struct at_pull_link *link = &peer->link;
    const struct at_replica_view *view = &p->view;
    struct at_pull pull = {
        .request_id = ++p->request_id,
        .instance_id = view->instance_id,
        .from = view->self,
        .incarnation = view->epoch,
        .applied = view->applied,
        .durable = view->durable,
        .facts = view->facts,
        .max_bytes = lane->probe ? 0 : (uint32_t)AT_PULL_BYTES_MAX,
        .wait_ms = lane->probe ? 0 : p->wait_ms,
        .hlc = at_peering_clock(p),
        .unpacks = at_asking_slow(&link->asking),
    };

    if (link->lane_count > 0)
        pull.continues = lane_at(link, link->lane_count - 1)->request_id;
    pull.facts.promise_count = 0;
    pull.facts.vouch_count = 0;
    for (uint32_t i = 0; i < view->member_count; i++)
        if (view->members[i].active)
            pull.members[pull.member_count++] = view->members[i].id;
    if (has_all_own(view))
        pull.skip[pull.skip_count++] = view->self;
    for (uint32_t i = 0; i < p->peer_count && pull.skip_count < AT_MEMBERS_MAX; i++)
        if (p->peers[i] != peer && hears_first_hand(p->peers[i]))
            pull.skip[pull.skip_count++] = p->peers[i]->id;
    at_vector_copy(&lane->asked_applied, &view->applied);
    lane->request_id = pull.request_id;
    at_buf_clear(&p->out);
    return at_pull_encode(&pull, &p->out);
}

/* Whoever has more of the present epoch than there is here makes it an old one (the ends that a
 * reply tells are never skipped), and of the old ones all members have said what they have. */
static bool has_all_own(const struct at_replica_view *view)
{
    const struct at_positions_facts *facts = &view->facts;

    if (view->closing)
        return false;
    for (uint32_t i = 0; i < facts->vouch_count; i++) {
        struct at_position p = facts->vouches[i].position;
        if (at_member_eq(p.origin, view->self) &&
            at_vector_get(&view->applied, p.origin, p.epoch) < p.seq)
            return false;
    }
    return true;
}

static bool hears_first_hand(struct at_neighbor *peer)
{
    struct at_peering *p = peer->peering;

    if (!peer->member || !at_asking_in_touch(&peer->link.asking, p->now_ns, at_peering_touch_ns(p)))
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

static void on_end(struct at_ask *ask)
{
    struct at_lane *lane = (struct at_lane *)ask;
    struct at_neighbor *peer = lane->link->peer;

    if (ask->question.code != AT_OK) {
        fail(peer, lane, ask->question.code);
    } else {
        uint64_t took_ns = peer->peering->now_ns - lane->asked_ns;
        lane->step = AT_LANE_CAME;
        if (lane->probe)
            at_asking_probed(&peer->link.asking, took_ns);
        else
            at_asking_took(&peer->link.asking, took_ns);
    }
    take_in_order(peer);
}

/* The writer keeps the order in which replies are given to it. */
static void take_in_order(struct at_neighbor *peer)
{
    struct at_pull_link *link = &peer->link;

    for (uint32_t i = 0; i < link->lane_count; i++) {
        struct at_lane *lane = lane_at(link, i);
        if (lane->step == AT_LANE_OPEN)
            return;
        if (lane->step != AT_LANE_CAME || take_reply(peer, lane))
            continue;
        fail(peer, lane, AT_INVALID_ARGUMENT);
        i = UINT32_MAX; /* lanes were let go: look again from the first */
    }
}

static void fail(struct at_neighbor *peer, struct at_lane *lane, enum at_code code)
{
    struct at_peering *p = peer->peering;
    struct at_pull_link *link = &peer->link;
    bool later = false;

    for (uint32_t i = 0; i < link->lane_count; i++) {
        lane_at(link, i)->void_reply = lane_at(link, i)->void_reply || later;
        later = later || lane_at(link, i) == lane;
    }
    release(link, lane);
    bool renew = at_asking_failed(&link->asking, code, p->now_ns);
    at_peering_wake_at(p, link->asking.due_ns);
    if (p->draining || !renew)
        return;
    /* A connection whose other end vanished silently would be retried by TCP ever more rarely. */
    at_pull_link_close(peer);
    at_pull_link_open(peer);
}

static bool take_reply(struct at_neighbor *peer, struct at_lane *lane)
{
    struct at_peering *p = peer->peering;
    struct at_apply *apply = &lane->apply;

    if (lane->void_reply)
        return false;
    apply->message = (struct at_message){0};
    if (at_message_decode(lane->ask.question.reply, &lane->arena, &apply->message) != AT_OK) {
        apply->message = (struct at_message){0};
        at_log(AT_LOG_WARN, "a peer's reply is malformed, asking again later",
               AT_KV_STR("peer", peer->name));
        return false;
    }
    if (!is_good(peer, lane) || !unpack(lane))
        return false;

    const struct at_reply *reply = &apply->message.u.reply;
    at_peering_heard(peer, &reply->ends_known);
    note_reply(peer, lane);
    apply->dropped = false;
    apply->applied_count = 0;
    apply->discarded_count = 0;
    if (p->draining || !peer->member || !p->port.apply(p->port.ctx, apply))
        return false;
    p->applies_out++;
    lane->step = AT_LANE_APPLYING;
    at_asking_replied(&peer->link.asking, reply->more, p->now_ns);
    return true;
}

/* All of a reply's packed records go into one buffer, whose size is known before it is filled, so
 * that nothing moves. */
static bool unpack(struct at_lane *lane)
{
    struct at_reply *reply = &lane->apply.message.u.reply;
    size_t bytes = 0;

    at_buf_clear(&lane->unpacked);
    for (uint32_t i = 0; i < reply->run_count; i++) {
        bytes += reply->runs[i].packed_from;
        if (reply->runs[i].packed_from > AT_ENTRY_BYTES_MAX || bytes > UNPACKED_BYTES_MAX)
            return false;
    }
    if (bytes > 0 && at_buf_reserve(&lane->unpacked, bytes) != AT_OK)
        return false;
    for (uint32_t i = 0; i < reply->run_count; i++) {
        struct at_run *run = &reply->runs[i];
        size_t at = lane->unpacked.len;
        if (run->packed_from == 0)
            continue;
        if (at_unpack_into(run->record, run->packed_from, &lane->unpacked) != AT_OK)
            return false;
        run->record = at_slice_make(lane->unpacked.data + at, run->packed_from);
        run->packed_from = 0;
    }
    return true;
}

static bool is_good(struct at_neighbor *peer, const struct at_lane *lane)
{
    const struct at_message *m = &lane->apply.message;
    const struct at_reply *reply = &m->u.reply;

    if (m->kind == AT_MESSAGE_REFUSED) {
        at_log(AT_LOG_WARN, "a peer refuses us, asking again later", AT_KV_STR("peer", peer->name),
               AT_KV_SLICE("why", m->u.refused));
        at_join_room_greet(peer); /* it may not know of us yet */
        if (at_slice_eq_cstr(m->u.refused, AT_REFUSED_REMOVED))
            at_join_room_told_removed(peer);
        return false;
    }
    if (m->kind != AT_MESSAGE_REPLY || reply->to_request != lane->request_id ||
        !at_member_eq(reply->from, peer->id) ||
        !at_replica_view_is_instance(&peer->peering->view, reply->instance_id)) {
        at_log(AT_LOG_WARN, "a peer's reply is not to our question, asking again later",
               AT_KV_STR("peer", peer->name));
        if (m->kind == AT_MESSAGE_REPLY && !at_member_eq(reply->from, peer->id))
            at_neighbor_mistaken(peer);
        return false;
    }
    return true;
}

static void note_reply(struct at_neighbor *peer, const struct at_lane *lane)
{
    struct at_peering *p = peer->peering;
    struct at_pull_link *link = &peer->link;
    const struct at_reply *reply = &lane->apply.message.u.reply;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < reply->run_count; i++)
        bytes += reply->runs[i].record.len;
    link->gaps.count = 0;
    for (uint32_t i = 0; i < reply->gap_count; i++)
        (void)at_vector_raise(&link->gaps, reply->gaps[i].base);
    pthread_mutex_lock(&p->status_lock);
    link->more = reply->more;
    link->skew_ms = skew_ms(p, reply->hlc, link->asking.rtt_ns);
    link->applied_bytes += bytes;
    at_rate_add(&link->byte_rate, bytes, p->now_ns);
    at_lag_evidence_note(&link->evidence, reply, p->now_ns);
    at_vector_copy(&link->told, &reply->ends_known);
    pthread_mutex_unlock(&p->status_lock);
}

/* Whatever it says, what is shown is a number of at most SKEW_MS_MAX. */
static int64_t skew_ms(const struct at_peering *p, uint64_t hlc, uint64_t rtt_ns)
{
    uint64_t here_ns = at_clock_wall_ns(&p->clock);
    uint64_t there_ns = hlc < UINT64_MAX - rtt_ns / 2 ? hlc + rtt_ns / 2 : UINT64_MAX;
    bool ahead = there_ns >= here_ns;
    uint64_t off_ms = (ahead ? there_ns - here_ns : here_ns - there_ns) / AT_MS_NS;

    off_ms = off_ms < SKEW_MS_MAX ? off_ms : SKEW_MS_MAX;
    return ahead ? (int64_t)off_ms : -(int64_t)off_ms;
}

static void release(struct at_pull_link *link, struct at_lane *lane)
{
    if (lane->apply.message.kind != 0)
        at_message_deinit(&lane->apply.message);
    lane->apply.message = (struct at_message){0};
    at_arena_reset(&lane->arena);
    if (lane->unpacked.cap > 2 * AT_PULL_BYTES_MAX) { /* a huge entry; not to be held for ever */
        at_buf_deinit(&lane->unpacked);
        at_buf_init(&lane->unpacked, UNPACKED_BYTES_MAX);
    }
    at_peer_question_done(&lane->ask.question);
    lane->step = AT_LANE_FREE;
    while (link->lane_count > 0 && link->lanes[link->first].step == AT_LANE_FREE) {
        link->first = (link->first + 1) % AT_ASKING_DEPTH_MAX;
        link->lane_count--;
    }
}

/* --- applied --- */

static enum at_asking_result result_of(const struct at_lane *lane,
                                       const struct at_replica_view *view)
{
    if (lane->apply.dropped)
        return AT_ASKING_STALLED;
    if (lane->apply.message.u.reply.run_count == 0)
        return lane->probe ? AT_ASKING_MOVED : AT_ASKING_EMPTY;
    bool moved = lane->apply.applied_count + lane->apply.discarded_count > 0 ||
                 !at_vector_covers(&lane->asked_applied, &view->applied);
    return moved ? AT_ASKING_MOVED : AT_ASKING_STALLED;
}

static void note_applied(struct at_neighbor *peer, const struct at_lane *lane)
{
    struct at_peering *p = peer->peering;
    struct at_pull_link *link = &peer->link;
    struct at_lag_windows any = {UINT64_MAX, UINT64_MAX};

    pthread_mutex_lock(&p->status_lock);
    link->applied_entries += lane->apply.applied_count;
    at_rate_add(&link->entry_rate, lane->apply.applied_count, p->now_ns);
    if (at_lag_of(&link->evidence, &p->view, peer->id, any, p->now_ns).entries == 0)
        link->evidence.all_ns = p->now_ns;
    pthread_mutex_unlock(&p->status_lock);
}
