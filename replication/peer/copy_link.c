#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "replication/peer/rooms.h"

#include <stddef.h>

/* The receiver of a copy.
 *
 *     IDLE --(INIT or NEEDS_COPY)--> ASKING --granted--> OPENING --sink--> FILLING --all-->
 * FINISHING ^                              |                    |                 | |
 *       '---- back-off ---- ABORTING <-'--------------------'-----------------'----------------'
 *
 * It asks one peer after the other, the nearest first, over a connection of its own. Part 0 comes
 * first and alone; then up to LANES parts are under way, each chunk asked when the one before it
 * has been merged, so that chunks of a part are in order. Whatever goes wrong drops all of it and
 * begins again with any donor: nothing has been changed.
 *
 * Two that fill each other at the same time would each copy what the other is about to replace.
 * That is correct, but of no use: the one with the higher id gives way. */

enum link_step {
    LINK_IDLE,
    LINK_ASKING,
    LINK_OPENING,
    LINK_FILLING,
    LINK_FINISHING,
    LINK_ABORTING
};
enum { LANES = 3, ASK_TIMEOUT_MS = 15000, CLOSE_TIMEOUT_MS = 500 };
enum { BACK_OFF_MIN_MS = 200, BACK_OFF_MAX_MS = 5000 };
#define CHUNK_BYTES (512 * AT_KIB)
#define CURSOR_BYTES_MAX (64 * AT_KIB)
#define PARTS_MAX 1000000

struct copy_lane {
    struct at_copy_job job; /* first */
    struct at_ask ask;
    struct at_copy_link *link;
    bool open; /* asked */
    bool busy; /* its chunk is with the worker */
    bool active;
    uint32_t part;
    struct at_buf cursor; /* where the part has come to */
    struct at_arena arena;
    struct at_message message;
    struct at_buf raw; /* the chunk unpacked */
    enum at_code code;
    struct at_error error;
};

struct at_copy_link {
    struct at_peering *peering;
    enum link_step step;
    struct at_member_id donor;
    struct at_member_id tried[AT_NEIGHBORS_MAX]; /* and refused, in this round */
    uint32_t tried_count;
    uint64_t due_ns;
    uint32_t back_off_ms;
    struct at_vector needs;
    struct at_peer_client *client;
    struct at_ask open_ask;
    bool open_out;
    struct at_copy_job job; /* opens, finishes, aborts */
    bool job_out;
    struct at_arena arena; /* what the donor said of itself */
    struct at_message opened;
    void *sink;
    uint32_t next_part;
    uint32_t parts_left;
    struct at_copy_bound bound;
    bool told_closed;
    struct copy_lane lanes[LANES];
    enum at_code code;
    struct at_error error;
};

static void give_up_the_silent(struct at_peering *p);
static bool needs_copy(const struct at_peering *p);
static void try_next_donor(struct at_peering *p);
static void on_open_answer(struct at_ask *ask);
static void begin_sink(struct at_peering *p);
static void run_open(struct at_copy_job *job);
static void on_sink_open(struct at_copy_job *job);
static void fill(struct at_peering *p);
static void ask_chunk(struct at_peering *p, struct copy_lane *lane);
static void on_chunk(struct at_ask *ask);
static bool is_good_chunk(const struct copy_lane *lane);
static void run_take(struct at_copy_job *job);
static void on_taken(struct at_copy_job *job);
static void run_finish(struct at_copy_job *job);
static void on_finished(struct at_copy_job *job);
static void abort_copy(struct at_peering *p, const char *why);
static void tell_closed(struct at_peering *p);
static void on_closed(struct at_ask *ask);
static void end_when_quiet(struct at_peering *p);
static void run_abort(struct at_copy_job *job);
static void on_aborted(struct at_copy_job *job);
static void reset(struct at_peering *p);
static void back_off(struct at_copy_link *link);
static void show(struct at_peering *p, struct at_member_id donor, uint64_t bytes);

static struct at_copy_link *link_of(struct at_copy_job *job)
{
    return job->peering->copy_in;
}

void at_copy_link_init(struct at_peering *p)
{
    struct at_copy_link *link = AT_NEW(struct at_copy_link);

    p->copy_in = link;
    link->peering = p;
    at_vector_init(&link->needs);
    at_arena_init(&link->arena, 4 * AT_KIB);
    for (int i = 0; i < LANES; i++) {
        link->lanes[i].link = link;
        at_buf_init(&link->lanes[i].cursor, CURSOR_BYTES_MAX);
        at_buf_init(&link->lanes[i].raw, AT_PEER_MESSAGE_BYTES_MAX);
        at_arena_init(&link->lanes[i].arena, AT_KIB);
    }
}

void at_copy_link_deinit(struct at_peering *p)
{
    struct at_copy_link *link = p->copy_in;

    if (link->opened.kind != 0)
        at_message_deinit(&link->opened);
    at_peer_client_close(&link->client);
    at_vector_deinit(&link->needs);
    at_arena_deinit(&link->arena);
    for (int i = 0; i < LANES; i++) {
        at_buf_deinit(&link->lanes[i].cursor);
        at_buf_deinit(&link->lanes[i].raw);
        at_arena_deinit(&link->lanes[i].arena);
    }
    at_free(link);
}

bool at_copy_link_idle(const struct at_peering *p)
{
    return p->copy_in->step == LINK_IDLE;
}

bool at_copy_link_stop(struct at_peering *p)
{
    struct at_copy_link *link = p->copy_in;

    if (link->step == LINK_IDLE)
        return true;
    if (link->step != LINK_FINISHING && link->step != LINK_ABORTING)
        abort_copy(p, "it is stopped");
    return link->step == LINK_IDLE;
}

void at_copy_link_step(struct at_peering *p)
{
    struct at_copy_link *link = p->copy_in;

    if (link->step == LINK_FILLING && !at_copy_may_ask(p, at_neighbor_find(p, link->donor)))
        abort_copy(p, "the donor is a member no more, or the link to it is cut");
    if (link->step == LINK_ASKING && link->open_out)
        give_up_the_silent(p);
    if (link->step == LINK_ASKING && !link->open_out)
        try_next_donor(p);
    else if (link->step == LINK_FILLING)
        fill(p);
    else if (link->step == LINK_ABORTING)
        end_when_quiet(p);
    if (link->step != LINK_IDLE || !needs_copy(p))
        return;
    if (p->now_ns < link->due_ns) {
        at_peering_wake_at(p, link->due_ns);
        return;
    }
    link->tried_count = 0;
    link->step = LINK_ASKING;
    try_next_donor(p);
}

/* Opening may take long; that a donor is there at all is heard all the while. */
static void give_up_the_silent(struct at_peering *p)
{
    const struct at_neighbor *donor = at_neighbor_find(p, p->copy_in->donor);

    if (donor == NULL || !at_neighbor_in_touch(donor))
        at_peer_client_close(&p->copy_in->client); /* the question comes back as CANCELLED */
}

static bool needs_copy(const struct at_peering *p)
{
    return !p->draining && p->port.copy.sink_open != NULL &&
           (p->view.mode == AT_MODE_INIT || p->view.mode == AT_MODE_NEEDS_COPY);
}

/* --- a donor --- */

static void try_next_donor(struct at_peering *p)
{
    struct at_copy_link *link = p->copy_in;
    struct at_neighbor *peer = needs_copy(p) && !at_copy_desk_serves(p)
                                   ? at_copy_nearest(p, link->tried, link->tried_count)
                                   : NULL;

    at_copy_needs(p, &link->needs);
    struct at_copy_open open = {.instance_id = p->view.instance_id,
                                .from = p->view.self,
                                .incarnation = p->view.epoch,
                                .needs = link->needs};
    struct at_peer_client_config config = {
        .in_flight_max = LANES + 2, .on_reply = at_peering_on_reply, .ctx = p};

    at_peer_client_close(&link->client);
    if (peer == NULL) {
        back_off(link);
        reset(p);
        return;
    }
    link->told_closed = false;
    link->tried[link->tried_count++] = peer->id;
    link->donor = peer->id;
    config.host = peer->host;
    config.port = peer->port;
    link->open_ask.on_end = on_open_answer;
    at_buf_clear(&p->out);
    link->open_out = at_peer_client_open(&config, &link->client, NULL) == AT_OK &&
                     at_copy_open_encode(&open, &p->out) == AT_OK &&
                     at_peering_ask_over(p, link->client, &link->open_ask, ASK_TIMEOUT_MS);
    if (!link->open_out)
        at_peering_wake_at(p, p->now_ns + BACK_OFF_MIN_MS * AT_MS_NS);
}

static void on_open_answer(struct at_ask *ask)
{
    struct at_copy_link *link =
        (struct at_copy_link *)((char *)ask - offsetof(struct at_copy_link, open_ask));
    struct at_peering *p = link->peering;
    bool good = link->step == LINK_ASKING && ask->question.code == AT_OK &&
                at_message_decode(ask->question.reply, &link->arena, &link->opened) == AT_OK;

    link->open_out = false;
    if (!good)
        link->opened = (struct at_message){0};
    if (good && link->opened.kind == AT_MESSAGE_REFUSED)
        at_log(AT_LOG_INFO, "a peer gives no copy now", AT_KV_U64("member", link->donor.v),
               AT_KV_SLICE("why", link->opened.u.refused));
    const struct at_copy_opened *opened = &link->opened.u.copy_opened;
    good = good && link->opened.kind == AT_MESSAGE_COPY_OPENED &&
           at_replica_view_is_instance(&p->view, opened->instance_id) &&
           at_member_eq(opened->state->from, link->donor) && opened->part_count > 0 &&
           opened->part_count <= PARTS_MAX;
    if (good && at_copy_desk_serves(p) && p->view.self.v > link->donor.v) {
        abort_copy(p, "this cluster gives a copy first");
    } else if (good) {
        begin_sink(p); /* ask->question keeps the bytes that `opened` borrows */
    } else {
        if (link->opened.kind != 0)
            at_message_deinit(&link->opened);
        link->opened = (struct at_message){0};
        if (ask->question.code != AT_OK)
            tell_closed(p); /* it may open it all the same */
        at_arena_reset(&link->arena);
        at_peer_question_done(&ask->question);
    }
}

static void begin_sink(struct at_peering *p)
{
    struct at_copy_link *link = p->copy_in;

    link->step = LINK_OPENING;
    link->parts_left = link->opened.u.copy_opened.part_count;
    link->next_part = 0;
    at_log(AT_LOG_INFO, "a copy begins", AT_KV_U64("donor", link->donor.v),
           AT_KV_U64("bytes", link->opened.u.copy_opened.bytes));
    show(p, link->donor, link->opened.u.copy_opened.bytes);
    at_copy_bound_init(&link->bound, link->opened.u.copy_opened.bytes, link->parts_left);
    link->job.run = run_open;
    link->job.on_end = on_sink_open;
    link->job_out = true;
    at_copy_worker_give(p, &p->in_worker, &link->job);
}

/* Worker. */
static void run_open(struct at_copy_job *job)
{
    struct at_copy_link *link = link_of(job);
    const struct at_copy_port *port = &job->peering->port.copy;
    const struct at_copy_opened *opened = &link->opened.u.copy_opened;

    link->error = (struct at_error){0};
    link->code =
        port->sink_open(port->ctx, opened->state, opened->part_count, &link->sink, &link->error);
    if (link->code != AT_OK)
        link->sink = NULL;
}

static void on_sink_open(struct at_copy_job *job)
{
    struct at_copy_link *link = link_of(job);

    link->job_out = false;
    if (link->step == LINK_ABORTING)
        return; /* the next step ends it */
    if (link->code != AT_OK) {
        abort_copy(job->peering, link->error.msg);
        return;
    }
    link->step = LINK_FILLING;
}

/* --- chunks --- */

static void fill(struct at_peering *p)
{
    struct at_copy_link *link = p->copy_in;
    uint32_t part_count = link->opened.u.copy_opened.part_count;
    bool first_alone = link->next_part == 1 && link->parts_left == part_count;

    for (int i = 0; i < LANES && link->step == LINK_FILLING; i++) {
        struct copy_lane *lane = &link->lanes[i];
        if (!lane->active && link->next_part < part_count && !first_alone) {
            lane->active = true;
            lane->part = link->next_part++;
            at_buf_clear(&lane->cursor);
            first_alone = lane->part == 0;
        }
        if (lane->active && !lane->open && !lane->busy)
            ask_chunk(p, lane);
    }
    if (link->step != LINK_FILLING || link->parts_left > 0)
        return;
    link->step = LINK_FINISHING;
    link->job.run = run_finish;
    link->job.on_end = on_finished;
    link->job_out = true;
    at_copy_worker_give(p, &p->in_worker, &link->job);
}

static void ask_chunk(struct at_peering *p, struct copy_lane *lane)
{
    struct at_copy_link *link = lane->link;
    struct at_copy_ask ask = {.instance_id = p->view.instance_id,
                              .from = p->view.self,
                              .snapshot_id = link->opened.u.copy_opened.snapshot_id,
                              .part = lane->part,
                              .cursor = at_buf_slice(&lane->cursor),
                              .max_bytes = (uint32_t)CHUNK_BYTES};

    lane->ask.on_end = on_chunk;
    at_buf_clear(&p->out);
    lane->open = at_copy_ask_encode(&ask, &p->out) == AT_OK &&
                 at_peering_ask_over(p, link->client, &lane->ask, ASK_TIMEOUT_MS);
    if (!lane->open)
        abort_copy(p, "the donor can't be asked");
}

static void on_chunk(struct at_ask *ask)
{
    struct copy_lane *lane = (struct copy_lane *)((char *)ask - offsetof(struct copy_lane, ask));
    struct at_copy_link *link = lane->link;
    struct at_peering *p = link->peering;

    lane->open = false;
    lane->message = (struct at_message){0};
    bool good = link->step == LINK_FILLING && ask->question.code == AT_OK &&
                at_message_decode(ask->question.reply, &lane->arena, &lane->message) == AT_OK &&
                is_good_chunk(lane);
    if (good) {
        lane->busy = true;
        lane->job.run = run_take;
        lane->job.on_end = on_taken;
        at_copy_worker_give(p, &p->in_worker, &lane->job);
        return;
    }
    at_arena_reset(&lane->arena);
    at_peer_question_done(&ask->question);
    if (link->step == LINK_FILLING)
        abort_copy(p, ask->question.code == AT_OK ? "the donor's answer is of no use"
                                                  : "the donor does not answer");
}

/* A cursor moves forward, so that a part ends. */
static bool is_good_chunk(const struct copy_lane *lane)
{
    const struct at_copy_chunk *chunk = &lane->message.u.copy_chunk;

    return lane->message.kind == AT_MESSAGE_COPY_CHUNK &&
           chunk->snapshot_id == lane->link->opened.u.copy_opened.snapshot_id &&
           chunk->part == lane->part && chunk->cursor.len <= CURSOR_BYTES_MAX &&
           chunk->raw_bytes <= AT_PEER_MESSAGE_BYTES_MAX &&
           (chunk->last || at_slice_cmp(chunk->cursor, at_buf_slice(&lane->cursor)) > 0);
}

/* Worker. */
static void run_take(struct at_copy_job *job)
{
    struct copy_lane *lane = (struct copy_lane *)job;
    const struct at_copy_chunk *chunk = &lane->message.u.copy_chunk;
    struct at_slice items;

    lane->error = (struct at_error){0};
    lane->code = at_copy_chunk_open(chunk, &lane->raw, &items, &lane->error);
    if (lane->code == AT_OK)
        lane->code = job->peering->port.copy.sink_take(lane->link->sink, chunk->part, chunk->cursor,
                                                       chunk->last, items, &lane->error);
}

static void on_taken(struct at_copy_job *job)
{
    struct copy_lane *lane = (struct copy_lane *)job;
    struct at_copy_link *link = lane->link;
    struct at_peering *p = job->peering;
    const struct at_copy_chunk *chunk = &lane->message.u.copy_chunk;
    uint64_t bytes = chunk->raw_bytes;
    bool last = chunk->last;

    lane->busy = false;
    at_buf_clear(&lane->cursor);
    if (lane->code == AT_OK)
        lane->code = at_buf_append(&lane->cursor, chunk->cursor);
    lane->message = (struct at_message){0};
    at_arena_reset(&lane->arena);
    at_peer_question_done(&lane->ask.question);
    if (link->step != LINK_FILLING)
        return;
    if (lane->code != AT_OK) {
        abort_copy(p, lane->error.msg);
        return;
    }
    if (!at_copy_bound_take(&link->bound, bytes, last)) {
        abort_copy(p, "there is much more than the donor told, or no end of it");
        return;
    }
    pthread_mutex_lock(&p->status_lock);
    p->copied_bytes += bytes;
    if (p->copied_bytes > p->copy_bytes)
        p->copy_bytes = p->copied_bytes; /* it was an estimate */
    at_rate_add(&p->copied_rate, bytes, p->now_ns);
    pthread_mutex_unlock(&p->status_lock);
    if (!last)
        return;
    lane->active = false;
    link->parts_left--;
}

/* --- the end --- */

/* Worker. */
static void run_finish(struct at_copy_job *job)
{
    struct at_copy_link *link = link_of(job);

    link->error = (struct at_error){0};
    link->code = job->peering->port.copy.sink_finish(link->sink, &link->error);
    if (link->code == AT_OK)
        link->sink = NULL;
}

static void on_finished(struct at_copy_job *job)
{
    struct at_copy_link *link = link_of(job);
    struct at_peering *p = job->peering;

    link->job_out = false;
    if (link->code != AT_OK) {
        abort_copy(p, link->error.msg);
        return;
    }
    at_log(AT_LOG_INFO, "a copy is complete", AT_KV_U64("donor", link->donor.v));
    link->step = LINK_ABORTING; /* the same end, with nothing to abort */
    link->back_off_ms = 0;
    end_when_quiet(p);
}

/* The donor is told, if it still hears; its snapshot costs it space. */
static void abort_copy(struct at_peering *p, const char *why)
{
    struct at_copy_link *link = p->copy_in;

    if (link->step == LINK_ABORTING || link->step == LINK_IDLE)
        return;
    at_log(AT_LOG_WARN, "a copy is dropped, beginning again later",
           AT_KV_U64("donor", link->donor.v), AT_KV_STR("why", why));
    link->step = LINK_ABORTING;
    tell_closed(p);
    back_off(link);
    end_when_quiet(p);
}

static void tell_closed(struct at_peering *p)
{
    struct at_copy_link *link = p->copy_in;
    struct at_neighbor *donor = at_neighbor_find(p, link->donor);
    struct at_copy_close close = {.instance_id = p->view.instance_id, .from = p->view.self};

    if (donor == NULL || link->told_closed)
        return;
    if (link->opened.kind == AT_MESSAGE_COPY_OPENED)
        close.snapshot_id = link->opened.u.copy_opened.snapshot_id;
    struct at_ask *ask = AT_NEW(struct at_ask);
    ask->on_end = on_closed;
    at_buf_clear(&p->out);
    link->told_closed = at_copy_close_encode(&close, &p->out) == AT_OK &&
                        at_peering_ask(donor, ask, CLOSE_TIMEOUT_MS);
    if (link->told_closed)
        p->farewells_out++;
    else
        at_free(ask);
}

static void on_closed(struct at_ask *ask)
{
    ask->peer->peering->farewells_out--;
    at_peer_question_done(&ask->question);
    at_free(ask);
}

/* end_when_quiet goes on once all questions came back and all jobs have ended. */
static void end_when_quiet(struct at_peering *p)
{
    struct at_copy_link *link = p->copy_in;
    bool quiet = !link->open_out && !link->job_out;

    for (int i = 0; i < LANES; i++)
        quiet = quiet && !link->lanes[i].open && !link->lanes[i].busy;
    at_peer_client_close(&link->client); /* questions come back as CANCELLED */
    if (!quiet)
        return;
    if (link->opened.kind == AT_MESSAGE_COPY_OPENED)
        tell_closed(p);
    if (link->sink == NULL) {
        reset(p);
        return;
    }
    link->job.run = run_abort;
    link->job.on_end = on_aborted;
    link->job_out = true;
    at_copy_worker_give(p, &p->in_worker, &link->job);
}

/* Worker. */
static void run_abort(struct at_copy_job *job)
{
    job->peering->port.copy.sink_abort(link_of(job)->sink);
    link_of(job)->sink = NULL;
}

static void on_aborted(struct at_copy_job *job)
{
    link_of(job)->job_out = false;
    reset(job->peering);
}

static void reset(struct at_peering *p)
{
    struct at_copy_link *link = p->copy_in;

    if (link->opened.kind != 0)
        at_message_deinit(&link->opened);
    link->opened = (struct at_message){0};
    at_arena_reset(&link->arena);
    at_peer_question_done(&link->open_ask.question);
    for (int i = 0; i < LANES; i++)
        link->lanes[i].active = false;
    link->step = LINK_IDLE;
    show(p, (struct at_member_id){0}, 0);
    at_peering_wake_at(p, link->due_ns);
    at_inbox_release(p);
}

/* Members wait differently long, so that two that got in each other's way don't again. */
static void back_off(struct at_copy_link *link)
{
    uint32_t doubled_ms = link->back_off_ms * 2;

    link->back_off_ms = doubled_ms < BACK_OFF_MIN_MS   ? BACK_OFF_MIN_MS
                        : doubled_ms > BACK_OFF_MAX_MS ? BACK_OFF_MAX_MS
                                                       : doubled_ms;
    uint64_t apart_ms = link->peering->view.self.v % AT_MEMBERS_MAX * link->back_off_ms / 8;
    link->due_ns = link->peering->now_ns + (link->back_off_ms + apart_ms) * AT_MS_NS;
}

static void show(struct at_peering *p, struct at_member_id donor, uint64_t bytes)
{
    pthread_mutex_lock(&p->status_lock);
    p->copy_donor = donor;
    p->copied_bytes = 0;
    p->copy_bytes = bytes;
    pthread_mutex_unlock(&p->status_lock);
}
