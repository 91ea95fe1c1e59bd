#include "replication/peer/peering.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/log.h"
#include "replication/peer/rooms.h"

#include <stddef.h>

/* One thread does everything. Each turn takes all mail, then copies the committed view (so that it
 * is at least as new as whatever the mail speaks of), then lets each room do what is due.
 *
 * Others wake it through the bell. The flag `rung` is cleared before the mailboxes are emptied, so
 * mail that comes later rings again; however much comes within one turn, the thread wakes once.
 * The same holds for commits, which matter only while somebody waits for them (wants_commits).
 *
 * Stopping: nothing new is asked; questions that are open may end for a moment, the rest ends when
 * the sockets are closed. The thread goes on turning until the writer gave back all it holds. A
 * last call, which does nothing, comes back when the writer has left any at_peering_committed that
 * had begun. */

enum { TURN_MAX_MS = 500, TOUCH_MIN_MS = 2000, QUIET_EXTRA_MS = 200 };
#define REQUESTS_MAX (AT_MEMBERS_MAX * AT_PEER_QUESTIONS_MAX * 2)

static bool give_call(struct at_peering *p, struct at_room_call *call);
static void *thread_main(void *arg);
static void turn(struct at_peering *p);
static void step_rooms(struct at_peering *p);
static void begin_draining(struct at_peering *p);
static void close_links_when_quiet(struct at_peering *p);
static void run_nothing(struct at_replica_call *call, struct at_replica *replica);
static void end_nothing(struct at_room_call *call);
static bool drained(const struct at_peering *p);
static void watch_commits(struct at_peering *p);
static uint32_t ms_until(const struct at_peering *p, uint64_t at_ns);
static void on_request(void *ctx, struct at_peer_request *request);
static void on_call_done(struct at_replica_call *call);
static void take_request(struct at_peering *p, struct at_peer_request *request);
static const char *why_not(struct at_peering *p, uint64_t instance_id, struct at_member_id from);
static void peer_init(struct at_peering *p, const struct at_peer_address *address);
static void peer_deinit(struct at_neighbor *peer);

enum at_code at_peering_start(const struct at_peering_config *config,
                              struct at_peering **ret_peering,
                              struct at_error *reterr)
{
    AT_ASSERT(config->peer_count < AT_MEMBERS_MAX);
    AT_ASSERT(config->port.view != NULL && config->port.apply != NULL);

    struct at_peering *p = AT_NEW(struct at_peering);
    p->clock = config->clock;
    p->port = config->port;
    p->wait_ms = config->wait_ms;
    p->now_ns = at_clock_mono_ns(&p->clock);
    p->request_id = at_clock_wall_ns(&p->clock); /* replies to an earlier process do not match */
    pthread_mutex_init(&p->status_lock, NULL);
    at_mailbox_init(&p->bell, 1);
    at_mailbox_init(&p->requests, REQUESTS_MAX);
    at_mailbox_init(&p->answers, UINT32_MAX); /* as many as were asked */
    at_mailbox_init(&p->applied, UINT32_MAX);
    at_mailbox_init(&p->calls, UINT32_MAX);
    at_mailbox_init(&p->surveys, UINT32_MAX); /* as many as there are requests being served */
    at_mailbox_init(&p->spreads, UINT32_MAX);
    at_arena_init(&p->scratch, 16 * AT_KIB);
    at_buf_init(&p->out, AT_PEER_MESSAGE_BYTES_MAX);
    at_replica_view_init(&p->view);
    at_donor_init(p);
    for (uint32_t i = 0; i < config->peer_count; i++)
        peer_init(p, &config->peers[i]);

    struct at_peer_server_config server = {.host = config->listen_host,
                                           .port = config->listen_port,
                                           .in_flight_max = REQUESTS_MAX,
                                           .on_request = on_request,
                                           .ctx = p};
    enum at_code code = at_peer_server_open(&server, &p->server, reterr);
    for (uint32_t i = 0; i < p->peer_count && code == AT_OK; i++)
        code = at_pull_link_open(&p->peers[i], reterr);
    if (code == AT_OK) {
        p->thread_started = pthread_create(&p->thread, NULL, thread_main, p) == 0;
        if (!p->thread_started)
            code = at_fail(reterr, AT_RESOURCE_EXHAUSTED, "cannot start the peering thread");
    }
    if (code != AT_OK) {
        at_peering_stop(&p);
        return code;
    }
    *ret_peering = p;
    return AT_OK;
}

uint16_t at_peering_port(const struct at_peering *p)
{
    return at_peer_server_port(p->server);
}

void at_peering_stop(struct at_peering **peering)
{
    struct at_peering *p = AT_TAKE(*peering);

    if (p == NULL)
        return;
    atomic_store(&p->stopping, true);
    at_peering_ring(p);
    if (p->thread_started)
        pthread_join(p->thread, NULL);
    at_peer_server_close(&p->server); /* with it go the requests that nobody took */
    for (uint32_t i = 0; i < p->peer_count; i++)
        peer_deinit(&p->peers[i]);
    at_donor_deinit(p);
    at_replica_view_deinit(&p->view);
    at_buf_deinit(&p->out);
    at_arena_deinit(&p->scratch);
    at_mailbox_deinit(&p->bell);
    at_mailbox_deinit(&p->requests);
    at_mailbox_deinit(&p->answers);
    at_mailbox_deinit(&p->applied);
    at_mailbox_deinit(&p->calls);
    at_mailbox_deinit(&p->surveys);
    at_mailbox_deinit(&p->spreads);
    pthread_mutex_destroy(&p->status_lock);
    at_free(p);
}

void at_peering_committed(struct at_peering *p)
{
    if (atomic_load(&p->wants_commits))
        at_peering_ring(p);
}

void at_peering_applied(struct at_apply *apply)
{
    struct at_peering *p = apply->peering;

    at_mailbox_push(&p->applied, &apply->mail, NULL);
    at_peering_ring(p);
}

void at_peering_survey(struct at_peering *p, struct at_survey *survey)
{
    survey->impl = NULL;
    survey->count = 0;
    at_mailbox_push(&p->surveys, &survey->mail, NULL);
    at_peering_ring(p);
}

void at_peering_wait_spread(struct at_peering *p, struct at_spread_wait *wait)
{
    wait->deadline_ns = at_clock_mono_ns(&p->clock) + wait->timeout_ms * AT_MS_NS;
    at_mailbox_push(&p->spreads, &wait->mail, NULL);
    at_peering_ring(p);
}

/* --- for the rooms --- */

void at_peering_ring(struct at_peering *p)
{
    if (!atomic_exchange(&p->rung, true))
        at_mailbox_push(&p->bell, &p->bell_mail, NULL);
}

void at_peering_wake_at(struct at_peering *p, uint64_t at_ns)
{
    if (at_ns < p->wake_ns)
        p->wake_ns = at_ns;
}

struct at_neighbor *at_peering_find(struct at_peering *p, struct at_member_id id)
{
    for (uint32_t i = 0; i < p->peer_count; i++)
        if (at_member_eq(p->peers[i].id, id))
            return &p->peers[i];
    return NULL;
}

bool at_peering_ask(struct at_neighbor *peer, struct at_ask *ask, uint32_t timeout_ms)
{
    struct at_peering *p = peer->peering;

    if (p->draining || peer->link.client == NULL)
        return false;
    ask->peer = peer;
    if (at_peer_client_ask(peer->link.client, &ask->question, at_buf_slice(&p->out), timeout_ms) !=
        AT_OK)
        return false;
    p->asks_out++;
    return true;
}

bool at_peering_call(struct at_peering *p, struct at_room_call *call)
{
    return !p->draining && give_call(p, call);
}

void at_peering_answer(struct at_peering *p, struct at_peer_request *request, enum at_code code)
{
    if (code == AT_OK) {
        at_peer_request_reply(request, at_buf_slice(&p->out));
        return;
    }
    at_log(AT_LOG_ERROR, "answer to a peer is too large, dropping it",
           AT_KV_STR("code", at_code_name(code)));
    at_peer_request_drop(request);
}

void at_peering_refuse(struct at_peering *p, struct at_peer_request *request, const char *why)
{
    at_log(AT_LOG_WARN, "refusing a peer's request", AT_KV_STR("why", why));
    at_buf_clear(&p->out);
    at_peering_answer(p, request, at_refused_encode(at_slice_cstr(why), &p->out));
}

uint64_t at_peering_clock(const struct at_peering *p)
{
    uint64_t wall_ns = at_clock_wall_ns(&p->clock);
    return wall_ns > p->view.hlc ? wall_ns : p->view.hlc;
}

uint64_t at_peering_touch_ns(const struct at_peering *p)
{
    uint32_t ms = p->wait_ms > TOUCH_MIN_MS / 2 ? 2 * p->wait_ms : TOUCH_MIN_MS;
    return ms * AT_MS_NS;
}

void at_peering_heard(struct at_neighbor *peer, const struct at_vector *applied)
{
    const struct at_replica_view *view = &peer->peering->view;
    struct at_position own = {view->self, view->epoch, 0};

    own.seq = at_vector_get(applied, own.origin, own.epoch);
    peer->heard_ns = peer->peering->now_ns;
    if (peer->acked.epoch != own.epoch || peer->acked.seq < own.seq)
        peer->acked = own;
}

static bool give_call(struct at_peering *p, struct at_room_call *call)
{
    call->peering = p;
    call->call.done = on_call_done;
    call->call.failed = false;
    if (!p->port.call(p->port.ctx, &call->call))
        return false;
    p->calls_out++;
    return true;
}

/* --- the thread --- */

static void *thread_main(void *arg)
{
    struct at_peering *p = arg;

    pthread_setname_np(pthread_self(), "at-peering");
    p->wake_ns = 0;
    for (;;) {
        at_mailbox_wait(&p->bell, ms_until(p, p->wake_ns));
        atomic_store(&p->rung, false);
        if (atomic_load(&p->stopping) && !p->draining)
            begin_draining(p);
        turn(p);
        if (p->draining && drained(p))
            break;
        if (p->draining)
            close_links_when_quiet(p);
    }
    at_spread_drop(p);
    at_survey_round_drop(p);
    return NULL;
}

static void turn(struct at_peering *p)
{
    struct at_mail *applied = at_mailbox_take(&p->applied);
    struct at_mail *calls = at_mailbox_take(&p->calls);
    struct at_mail *answers = at_mailbox_take(&p->answers);
    struct at_mail *requests = at_mailbox_take(&p->requests);
    struct at_mail *surveys = at_mailbox_take(&p->surveys);
    struct at_mail *spreads = at_mailbox_take(&p->spreads);
    struct at_mail *next = NULL;

    p->now_ns = at_clock_mono_ns(&p->clock);
    p->port.view(p->port.ctx, &p->view);
    for (struct at_mail *m = applied; m != NULL; m = next) {
        next = m->next;
        p->applies_out--;
        at_pull_link_on_applied((struct at_apply *)m);
    }
    for (struct at_mail *m = calls; m != NULL; m = next) {
        next = m->next;
        struct at_room_call *call =
            (struct at_room_call *)((char *)m - offsetof(struct at_room_call, back));
        p->calls_out--;
        call->on_end(call);
    }
    for (struct at_mail *m = answers; m != NULL; m = next) {
        next = m->next;
        p->asks_out--;
        ((struct at_ask *)m)->on_end((struct at_ask *)m);
    }
    for (struct at_mail *m = requests; m != NULL; m = next) {
        next = m->next;
        take_request(p, (struct at_peer_request *)m);
    }
    for (struct at_mail *m = surveys; m != NULL; m = next) {
        next = m->next;
        at_survey_round_add(p, (struct at_survey *)m);
    }
    for (struct at_mail *m = spreads; m != NULL; m = next) {
        next = m->next;
        at_spread_add(p, (struct at_spread_wait *)m);
    }
    step_rooms(p);
}

static void step_rooms(struct at_peering *p)
{
    p->wake_ns = p->now_ns + TURN_MAX_MS * AT_MS_NS;
    if (p->draining)
        return;
    for (uint32_t i = 0; i < p->peer_count; i++) {
        at_pull_link_step(&p->peers[i]);
        at_donor_step(&p->peers[i]);
        at_ack_note_step(&p->peers[i]);
    }
    at_epoch_close_step(p);
    at_survey_round_step(p);
    at_position_desk_step(p);
    at_spread_step(p);
    watch_commits(p);
}

static void begin_draining(struct at_peering *p)
{
    p->draining = true;
    p->quiet_ns = at_clock_mono_ns(&p->clock) + (p->wait_ms + QUIET_EXTRA_MS) * AT_MS_NS;
    for (uint32_t i = 0; i < p->peer_count; i++)
        at_donor_drop(&p->peers[i]);
    at_position_desk_drop(p);
    p->farewell.call.run = run_nothing;
    p->farewell.on_end = end_nothing;
    (void)give_call(p, &p->farewell);
}

/* Replies that are on their way may still come: a connection without traffic closes best. */
static void close_links_when_quiet(struct at_peering *p)
{
    if (p->asks_out > 0 && p->now_ns < p->quiet_ns) {
        at_peering_wake_at(p, p->quiet_ns);
        return;
    }
    for (uint32_t i = 0; i < p->peer_count; i++)
        at_pull_link_close(&p->peers[i]);
}

/* Writer thread. */
static void run_nothing(struct at_replica_call *call, struct at_replica *replica)
{
    (void)call;
    (void)replica;
}

static void end_nothing(struct at_room_call *call)
{
    (void)call;
}

static bool drained(const struct at_peering *p)
{
    return p->asks_out == 0 && p->calls_out == 0 && p->applies_out == 0;
}

/* A commit between this turn's view and the flag would ring no bell, so the turn in which the flag
 * is raised is followed by another. */
static void watch_commits(struct at_peering *p)
{
    bool wants = false;

    for (uint32_t i = 0; i < p->peer_count; i++)
        wants = wants || at_donor_wants_commits(&p->peers[i]);
    bool wanted = atomic_exchange(&p->wants_commits, wants);
    if (wants && !wanted)
        at_peering_ring(p);
}

static uint32_t ms_until(const struct at_peering *p, uint64_t at_ns)
{
    uint64_t now_ns = at_clock_mono_ns(&p->clock);

    if (at_ns <= now_ns)
        return 0;
    uint64_t ms = (at_ns - now_ns + AT_MS_NS - 1) / AT_MS_NS;
    return ms < TURN_MAX_MS ? (uint32_t)ms : TURN_MAX_MS;
}

/* --- from other threads --- */

/* nng thread. The mailbox holds as many requests as the server hands out, so it is never full. */
static void on_request(void *ctx, struct at_peer_request *request)
{
    struct at_peering *p = ctx;
    bool taken = at_mailbox_push(&p->requests, &request->mail, NULL);

    AT_ASSERT(taken);
    at_peering_ring(p);
}

/* Writer thread. */
static void on_call_done(struct at_replica_call *call)
{
    struct at_room_call *room_call = (struct at_room_call *)call;
    struct at_peering *p = room_call->peering;

    at_mailbox_push(&p->calls, &room_call->back, NULL);
    at_peering_ring(p);
}

/* --- requests --- */

static void take_request(struct at_peering *p, struct at_peer_request *request)
{
    struct at_message m = {0};
    const char *why = NULL;

    if (p->draining) {
        at_peer_request_drop(request);
        return;
    }
    if (at_message_decode(request->body, &p->scratch, &m) != AT_OK) {
        at_arena_reset(&p->scratch);
        at_peering_refuse(p, request, "malformed message");
        return;
    }
    if (m.kind == AT_MESSAGE_PULL) {
        why = why_not(p, m.u.pull.instance_id, m.u.pull.from);
        if (why == NULL)
            at_donor_on_pull(at_peering_find(p, m.u.pull.from), request, &m.u.pull);
    } else if (m.kind == AT_MESSAGE_CLOSE) {
        why = why_not(p, m.u.close.instance_id, m.u.close.origin);
        if (why == NULL)
            at_epoch_close_on_ask(p, request, &m.u.close);
    } else if (m.kind == AT_MESSAGE_VECTOR) {
        why = why_not(p, m.u.vector_ask.instance_id, m.u.vector_ask.from);
        if (why == NULL)
            at_position_desk_hold(p, request);
    } else {
        why = "not a question";
    }
    at_message_deinit(&m);
    at_arena_reset(&p->scratch);
    if (why != NULL)
        at_peering_refuse(p, request, why);
}

static const char *why_not(struct at_peering *p, uint64_t instance_id, struct at_member_id from)
{
    if (instance_id != p->view.instance_id)
        return "this is a member of another instance";
    for (uint32_t i = 0; i < p->view.member_count; i++) {
        const struct at_member_view *member = &p->view.members[i];
        if (!at_member_eq(member->id, from))
            continue;
        if (!member->active)
            return "you are removed from this instance";
        return at_peering_find(p, from) == NULL ? "no address of you is configured here" : NULL;
    }
    return "you are not a member of this instance";
}

static void peer_init(struct at_peering *p, const struct at_peer_address *address)
{
    struct at_neighbor *peer = &p->peers[p->peer_count++];

    peer->peering = p;
    peer->id = address->member;
    peer->name = at_dup(address->name, strlen(address->name));
    peer->host = at_dup(address->host, strlen(address->host));
    peer->port = address->port;
    peer->heard_ns = p->now_ns; /* in touch until it has had the time to speak */
    at_pull_link_init(peer);
}

static void peer_deinit(struct at_neighbor *peer)
{
    at_pull_link_deinit(peer);
    at_pull_release(&peer->seat.pull);
    at_pull_release(&peer->note.pull);
    at_free(peer->name);
    at_free(peer->host);
}
