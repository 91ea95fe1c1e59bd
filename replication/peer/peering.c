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
 * Stopping: nothing new is asked; open questions end as the sockets are closed, which waits a
 * moment for farewells. The thread goes on turning until the writer gave back all it holds. A last
 * call, which does nothing, comes back when the writer has left any at_peering_committed that had
 * begun. */

enum { TURN_MAX_MS = 500, TOUCH_MIN_MS = 2000, FAREWELL_MS = 500, COPY_MIB_PER_S = 64 };
enum { TURNS_AT_ONCE_MAX = 64 };
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
static void on_act_done(struct at_act_write *write);
static enum at_code start_threads(struct at_peering *p, struct at_error *reterr);
static void init_mailboxes(struct at_peering *p);
static void deinit_mailboxes(struct at_peering *p);
static void take_mail(struct at_peering *p);
static void take_wishes(struct at_peering *p);
static bool run_turn(struct at_peering *p);
static void drop_waits(struct at_peering *p);

enum at_code at_peering_start(const struct at_peering_config *config,
                              struct at_peering **ret_peering,
                              struct at_error *reterr)
{
    AT_ASSERT(config->port.view != NULL && config->port.apply != NULL);

    struct at_peering *p = AT_NEW(struct at_peering);
    uint64_t mib_per_s = config->copy_mib_per_s == 0 ? COPY_MIB_PER_S : config->copy_mib_per_s;
    p->clock = config->clock;
    p->port = config->port;
    p->wait_ms = config->wait_ms;
    p->manual = config->manual;
    p->copy_bytes_per_s = mib_per_s * AT_MIB;
    p->now_ns = at_clock_mono_ns(&p->clock);
    p->request_id = at_clock_wall_ns(&p->clock); /* replies to an earlier process do not match */
    pthread_mutex_init(&p->status_lock, NULL);
    init_mailboxes(p);
    at_arena_init(&p->scratch, 16 * AT_KIB);
    at_buf_init(&p->out, AT_PEER_MESSAGE_BYTES_MAX);
    at_replica_view_init(&p->view);
    at_donor_init(p);
    at_copy_link_init(p);
    at_copy_desk_init(p);

    struct at_peer_server_config server = {.host = config->listen_host,
                                           .port = config->listen_port,
                                           .in_flight_max = REQUESTS_MAX,
                                           .on_request = on_request,
                                           .ctx = p};
    enum at_code code = at_peer_server_open(&server, &p->server, reterr);
    if (code == AT_OK && !p->manual)
        code = start_threads(p, reterr);
    if (code != AT_OK) {
        at_peering_stop(&p);
        return code;
    }
    *ret_peering = p;
    return AT_OK;
}

static enum at_code start_threads(struct at_peering *p, struct at_error *reterr)
{
    AT_TRY(at_copy_worker_start(&p->in_worker, "at-copy-in", reterr));
    AT_TRY(at_copy_worker_start(&p->out_worker, "at-copy-out", reterr));
    p->thread_started = pthread_create(&p->thread, NULL, thread_main, p) == 0;
    if (!p->thread_started)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "cannot start the peering thread");
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
    for (int i = 0; p->manual && p->server != NULL && i < TURNS_AT_ONCE_MAX; i++)
        if (run_turn(p))
            break;
    drop_waits(p);
    at_copy_worker_stop(&p->in_worker);
    at_copy_worker_stop(&p->out_worker);
    at_peer_server_close(&p->server); /* with it go the requests that nobody took */
    at_neighbors_free(p);
    at_greet_room_close(p);
    at_copy_link_deinit(p);
    at_copy_desk_deinit(p);
    at_fence_room_deinit(p);
    at_donor_deinit(p);
    at_replica_view_deinit(&p->view);
    at_buf_deinit(&p->out);
    at_arena_deinit(&p->scratch);
    deinit_mailboxes(p);
    pthread_mutex_destroy(&p->status_lock);
    at_free(p);
}

uint64_t at_peering_turn(struct at_peering *p)
{
    AT_ASSERT(p->manual);
    for (int i = 0; i < TURNS_AT_ONCE_MAX; i++) {
        (void)run_turn(p);
        if (!atomic_load(&p->rung))
            break;
    }
    return p->wake_ns;
}

static void init_mailboxes(struct at_peering *p)
{
    struct at_mailbox *unbounded[] = {/* as many as this or the services have asked for */
                                      &p->answers, &p->applied, &p->calls,  &p->acts,   &p->jobs,
                                      &p->surveys, &p->spreads, &p->leaves, &p->removes};

    at_mailbox_init(&p->bell, 1);
    at_mailbox_init(&p->requests, REQUESTS_MAX);
    for (size_t i = 0; i < sizeof(unbounded) / sizeof(unbounded[0]); i++)
        at_mailbox_init(unbounded[i], UINT32_MAX);
}

static void deinit_mailboxes(struct at_peering *p)
{
    struct at_mailbox *all[] = {&p->bell,    &p->requests, &p->answers, &p->applied,
                                &p->calls,   &p->acts,     &p->jobs,    &p->surveys,
                                &p->spreads, &p->leaves,   &p->removes};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        at_mailbox_deinit(all[i]);
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

void at_peering_leave(struct at_peering *p, struct at_leave *leave)
{
    leave->code = AT_OK;
    at_mailbox_push(&p->leaves, &leave->mail, NULL);
    at_peering_ring(p);
}

void at_peering_remove(struct at_peering *p, struct at_remove *remove)
{
    remove->code = AT_OK;
    remove->lost_count_min = 0;
    remove->deadline_ns = at_clock_mono_ns(&p->clock) + remove->timeout_ms * AT_MS_NS;
    at_mailbox_push(&p->removes, &remove->mail, NULL);
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

/* nng thread. */
void at_peering_on_reply(void *ctx, struct at_peer_question *question)
{
    struct at_peering *p = ctx;

    at_mailbox_push(&p->answers, &question->mail, NULL);
    at_peering_ring(p);
}

bool at_peering_ask(struct at_neighbor *peer, struct at_ask *ask, uint32_t timeout_ms)
{
    ask->peer = peer;
    if (at_cut_of(peer->peering, peer->id).asking)
        return false;
    if (!at_peering_ask_over(peer->peering, peer->link.client, ask, timeout_ms))
        return false;
    peer->busy++;
    return true;
}

bool at_peering_ask_over(struct at_peering *p,
                         struct at_peer_client *client,
                         struct at_ask *ask,
                         uint32_t timeout_ms)
{
    if (p->draining || client == NULL)
        return false;
    if (at_peer_client_ask(client, &ask->question, at_buf_slice(&p->out), timeout_ms) != AT_OK)
        return false;
    p->asks_out++;
    return true;
}

bool at_peering_act(struct at_peering *p, struct at_room_act *act)
{
    if (p->draining || p->port.act == NULL)
        return false;
    act->peering = p;
    act->write.done = on_act_done;
    act->write.code = AT_OK;
    if (!p->port.act(p->port.ctx, &act->write))
        return false;
    p->calls_out++;
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
    atomic_store(&peer->heard_ns, peer->peering->now_ns);
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
    do
        at_mailbox_wait(&p->bell, ms_until(p, p->wake_ns));
    while (!run_turn(p));
    return NULL;
}

/* run_turn returns true when all has come to its end. */
static bool run_turn(struct at_peering *p)
{
    if (p->manual)
        (void)at_mailbox_take(&p->bell);
    atomic_store(&p->rung, false);
    if (atomic_load(&p->stopping) && !p->draining)
        begin_draining(p);
    turn(p);
    if (!p->draining)
        return false;
    if (drained(p))
        return true;
    close_links_when_quiet(p);
    return false;
}

/* What has been asked and can't be answered any more. */
static void drop_waits(struct at_peering *p)
{
    take_wishes(p);
    at_spread_drop(p);
    at_leave_room_drop(p);
    at_fence_room_drop(p);
    at_survey_round_drop(p);
}

static void turn(struct at_peering *p)
{
    struct at_mail *applied = at_mailbox_take(&p->applied);
    struct at_mail *answers = at_mailbox_take(&p->answers);
    struct at_mail *requests = at_mailbox_take(&p->requests);
    struct at_mail *calls = at_mailbox_take(&p->calls);
    struct at_mail *next = NULL;

    p->now_ns = at_clock_mono_ns(&p->clock);
    p->port.view(p->port.ctx, &p->view);
    if (!p->draining)
        at_neighbors_step(p);
    at_cuts_step(p);
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
        struct at_ask *ask = (struct at_ask *)m;
        struct at_neighbor *peer = ask->peer;
        next = m->next;
        p->asks_out--;
        if (peer != NULL && ask->question.code == AT_OK && at_cut_of(p, peer->id).asking)
            ask->question.code = AT_UNAVAILABLE;
        ask->on_end(ask);
        if (peer != NULL)
            peer->busy--;
    }
    take_mail(p);
    for (struct at_mail *m = requests; m != NULL; m = next) {
        next = m->next;
        at_inbox_take(p, (struct at_peer_request *)m);
    }
    take_wishes(p);
    step_rooms(p);
}

static void take_mail(struct at_peering *p)
{
    struct at_mail *acts = at_mailbox_take(&p->acts);
    struct at_mail *jobs = at_mailbox_take(&p->jobs);
    struct at_mail *next = NULL;

    for (struct at_mail *m = acts; m != NULL; m = next) {
        next = m->next;
        p->calls_out--;
        ((struct at_room_act *)m)->on_end((struct at_room_act *)m);
    }
    for (struct at_mail *m = jobs; m != NULL; m = next) {
        next = m->next;
        p->jobs_out--;
        ((struct at_copy_job *)m)->on_end((struct at_copy_job *)m);
    }
}

/* What the services of this cluster ask for. */
static void take_wishes(struct at_peering *p)
{
    struct at_mail *surveys = at_mailbox_take(&p->surveys);
    struct at_mail *spreads = at_mailbox_take(&p->spreads);
    struct at_mail *leaves = at_mailbox_take(&p->leaves);
    struct at_mail *removes = at_mailbox_take(&p->removes);
    struct at_mail *next = NULL;

    for (struct at_mail *m = surveys; m != NULL; m = next) {
        next = m->next;
        at_survey_round_add(p, (struct at_survey *)m);
    }
    for (struct at_mail *m = spreads; m != NULL; m = next) {
        next = m->next;
        at_spread_add(p, (struct at_spread_wait *)m);
    }
    for (struct at_mail *m = leaves; m != NULL; m = next) {
        next = m->next;
        at_leave_room_add(p, (struct at_leave *)m);
    }
    for (struct at_mail *m = removes; m != NULL; m = next) {
        next = m->next;
        at_fence_room_add(p, (struct at_remove *)m);
    }
}

static void step_rooms(struct at_peering *p)
{
    p->wake_ns = p->now_ns + TURN_MAX_MS * AT_MS_NS;
    if (p->draining) {
        at_copy_link_step(p);
        at_copy_desk_step(p);
        return;
    }
    for (uint32_t i = 0; i < p->peer_count; i++) {
        at_pull_link_step(p->peers[i]);
        at_donor_step(p->peers[i]);
        at_ack_note_step(p->peers[i]);
    }
    at_epoch_close_step(p);
    at_survey_round_step(p);
    at_position_desk_step(p);
    at_spread_step(p);
    at_join_room_step(p);
    at_leave_room_step(p);
    at_fence_room_step(p);
    at_greet_room_step(p);
    at_copy_link_step(p);
    at_copy_desk_step(p);
    watch_commits(p);
}

static void begin_draining(struct at_peering *p)
{
    at_inbox_drop(p);
    (void)at_copy_link_stop(p); /* while its donor can still be told */
    p->draining = true;
    p->quiet_ns = at_clock_mono_ns(&p->clock) + FAREWELL_MS * AT_MS_NS;
    for (uint32_t i = 0; i < p->peer_count; i++)
        at_donor_drop(p->peers[i]);
    at_position_desk_drop(p);
    at_copy_desk_drop(p);
    p->farewell.call.run = run_nothing;
    p->farewell.on_end = end_nothing;
    (void)give_call(p, &p->farewell);
}

/* What is only told has to get there, or the donor of a copy waits for a long time. */
static void close_links_when_quiet(struct at_peering *p)
{
    if (p->farewells_out > 0 && p->now_ns < p->quiet_ns) {
        at_peering_wake_at(p, p->quiet_ns);
        return;
    }
    at_neighbors_close(p);
    at_greet_room_close(p);
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
    return p->asks_out == 0 && p->calls_out == 0 && p->applies_out == 0 && p->jobs_out == 0 &&
           at_copy_link_idle(p) && at_copy_desk_idle(p);
}

/* A commit between this turn's view and the flag would ring no bell, so the turn in which the flag
 * is raised is followed by another. */
static void watch_commits(struct at_peering *p)
{
    bool wants = false;

    for (uint32_t i = 0; i < p->peer_count; i++)
        wants = wants || at_donor_wants_commits(p->peers[i]);
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

/* Writer thread. */
static void on_act_done(struct at_act_write *write)
{
    struct at_peering *p = ((struct at_room_act *)write)->peering;

    at_mailbox_push(&p->acts, &write->mail, NULL);
    at_peering_ring(p);
}
