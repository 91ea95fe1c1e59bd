#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "replication/peer/rooms.h"

/* The donor of copies: one snapshot at a time, for one receiver; another one is told to ask
 * elsewhere. All that blocks runs on the worker, one job after the other:
 *
 *     NONE --COPY_OPEN--> OPENING --> OPEN --COPY_CLOSE, silence, a new COPY_OPEN--> CLOSING -->
 * NONE
 *
 * Chunks are paced, so that a copy never takes the disk and the wire from live traffic; they travel
 * over a connection of the receiver's own, and pulls are answered by another thread. */

enum desk_step { DESK_NONE, DESK_OPENING, DESK_OPEN, DESK_CLOSING };
enum { ASKS_MAX = 8 };
#define SILENCE_NS (30 * AT_S_NS)
/* A huge value must not make the chunks that wait behind it late for whoever asked. */
#define PAUSE_NS_MAX (3 * AT_S_NS)
#define CHUNK_BYTES_MAX (512 * AT_KIB)
#define CURSOR_BYTES_MAX (64 * AT_KIB)

struct desk_ask {
    struct at_peer_request *request;
    uint64_t snapshot_id;
    uint32_t part;
    uint32_t max_bytes;
    struct at_slice cursor; /* borrows the request */
};

struct at_copy_desk {
    struct at_copy_job job; /* first */
    enum desk_step step;
    bool busy; /* the job is with the worker */
    struct at_member_id receiver;
    uint64_t snapshot_id;
    uint64_t heard_ns;
    uint64_t ready_ns; /* no chunk before: pacing */
    struct at_peer_request *opening;
    bool unwanted; /* what is being opened */
    struct desk_ask asks[ASKS_MAX];
    uint32_t ask_count;
    bool slow; /* chunks are worth packing */

    /* Of the worker while `busy`. */
    struct at_vector needs;
    void *source;
    struct at_copy_offer offer;
    struct desk_ask reading;
    struct at_buf items;
    struct at_buf packed;
    struct at_buf cursor;
    struct at_buf reply;
    size_t read_bytes;
    enum at_code code;
    struct at_error error;
};

static void give(struct at_peering *p,
                 void (*run)(struct at_copy_job *job),
                 void (*on_end)(struct at_copy_job *job));
static void run_open(struct at_copy_job *job);
static void on_opened(struct at_copy_job *job);
static void run_read(struct at_copy_job *job);
static void on_read(struct at_copy_job *job);
static void run_close(struct at_copy_job *job);
static void on_closed(struct at_copy_job *job);
static void close_source(struct at_peering *p);
static bool is_gone(struct at_peering *p);
static void refuse_asks(struct at_peering *p);

void at_copy_desk_init(struct at_peering *p)
{
    struct at_copy_desk *desk = AT_NEW(struct at_copy_desk);

    p->copy_out = desk;
    desk->snapshot_id = at_clock_wall_ns(&p->clock); /* none of an earlier process */
    at_vector_init(&desk->needs);
    /* One key and its value are always sent whole. */
    at_buf_init(&desk->items, AT_PEER_MESSAGE_BYTES_MAX);
    at_buf_init(&desk->packed, AT_PEER_MESSAGE_BYTES_MAX);
    at_buf_init(&desk->cursor, CURSOR_BYTES_MAX);
    at_buf_init(&desk->reply, AT_PEER_MESSAGE_BYTES_MAX);
}

void at_copy_desk_deinit(struct at_peering *p)
{
    struct at_copy_desk *desk = p->copy_out;

    if (desk->source != NULL)
        p->port.copy.source_close(desk->source);
    at_vector_deinit(&desk->needs);
    at_buf_deinit(&desk->items);
    at_buf_deinit(&desk->packed);
    at_buf_deinit(&desk->cursor);
    at_buf_deinit(&desk->reply);
    at_free(desk);
}

bool at_copy_desk_serves(const struct at_peering *p)
{
    return p->copy_out->step == DESK_OPENING || p->copy_out->step == DESK_OPEN;
}

void at_copy_desk_on_open(struct at_neighbor *peer,
                          struct at_peer_request *request,
                          const struct at_copy_open *open)
{
    struct at_peering *p = peer->peering;
    struct at_copy_desk *desk = p->copy_out;

    if (p->port.copy.source_open == NULL) {
        at_peering_refuse(p, request, "this cluster gives no copies");
        return;
    }
    if (desk->step == DESK_OPEN && at_member_eq(desk->receiver, open->from))
        close_source(p); /* it begins again */
    if (desk->step != DESK_NONE || desk->busy) {
        at_peering_refuse(p, request, "this cluster gives another copy now");
        return;
    }
    desk->step = DESK_OPENING;
    desk->receiver = open->from;
    desk->opening = request;
    desk->unwanted = false;
    desk->heard_ns = p->now_ns;
    desk->slow = at_asking_slow(&peer->link.asking);
    at_vector_copy(&desk->needs, &open->needs);
    give(p, run_open, on_opened);
}

void at_copy_desk_on_ask(struct at_neighbor *peer,
                         struct at_peer_request *request,
                         const struct at_copy_ask *ask)
{
    struct at_peering *p = peer->peering;
    struct at_copy_desk *desk = p->copy_out;

    if (desk->step != DESK_OPEN || !at_member_eq(desk->receiver, ask->from) ||
        desk->snapshot_id != ask->snapshot_id || ask->part >= desk->offer.part_count) {
        at_peering_refuse(p, request, "there is no such snapshot here");
        return;
    }
    if (desk->ask_count == ASKS_MAX) {
        at_peering_refuse(p, request, "too many chunks are asked for at a time");
        return;
    }
    desk->heard_ns = p->now_ns;
    desk->asks[desk->ask_count++] = (struct desk_ask){.request = request,
                                                      .snapshot_id = ask->snapshot_id,
                                                      .part = ask->part,
                                                      .max_bytes = ask->max_bytes,
                                                      .cursor = ask->cursor};
}

void at_copy_desk_on_close(struct at_neighbor *peer,
                           struct at_peer_request *request,
                           uint64_t snapshot_id)
{
    struct at_peering *p = peer->peering;
    struct at_copy_desk *desk = p->copy_out;

    bool its = at_member_eq(desk->receiver, peer->id);
    if (desk->step == DESK_OPEN && its && (snapshot_id == desk->snapshot_id || snapshot_id == 0))
        close_source(p);
    else if (desk->step == DESK_OPENING && its && snapshot_id == 0)
        desk->unwanted = true;
    at_buf_clear(&p->out);
    at_peering_answer(p, request, at_refused_encode(AT_LIT(""), &p->out));
}

void at_copy_desk_step(struct at_peering *p)
{
    struct at_copy_desk *desk = p->copy_out;

    if (desk->step == DESK_NONE || desk->step == DESK_OPENING)
        return;
    if (desk->step == DESK_OPEN && is_gone(p))
        close_source(p);
    if (desk->busy)
        return;
    if (desk->step == DESK_CLOSING) {
        give(p, run_close, on_closed);
        return;
    }
    at_peering_wake_at(p, desk->heard_ns + SILENCE_NS + AT_MS_NS);
    if (desk->ask_count == 0)
        return;
    if (p->now_ns < desk->ready_ns) {
        at_peering_wake_at(p, desk->ready_ns);
        return;
    }
    desk->reading = desk->asks[0];
    desk->ask_count--;
    memmove(&desk->asks[0], &desk->asks[1], desk->ask_count * sizeof(desk->asks[0]));
    give(p, run_read, on_read);
}

/* Who waits for an answer says nothing meanwhile. */
static bool is_gone(struct at_peering *p)
{
    const struct at_copy_desk *desk = p->copy_out;
    const struct at_neighbor *peer = at_neighbor_find(p, desk->receiver);
    bool waits = desk->busy || desk->ask_count > 0;

    return peer == NULL || !peer->member || (!waits && p->now_ns > desk->heard_ns + SILENCE_NS);
}

bool at_copy_desk_idle(const struct at_peering *p)
{
    return p->copy_out->step == DESK_NONE && !p->copy_out->busy;
}

void at_copy_desk_drop(struct at_peering *p)
{
    if (p->copy_out->step == DESK_OPEN)
        close_source(p);
}

static void give(struct at_peering *p,
                 void (*run)(struct at_copy_job *job),
                 void (*on_end)(struct at_copy_job *job))
{
    struct at_copy_desk *desk = p->copy_out;

    desk->job.run = run;
    desk->job.on_end = on_end;
    desk->busy = true;
    desk->error = (struct at_error){0};
    at_copy_worker_give(p, &p->out_worker, &desk->job);
}

/* --- opening --- */

/* Worker. */
static void run_open(struct at_copy_job *job)
{
    struct at_copy_desk *desk = (struct at_copy_desk *)job;
    const struct at_copy_port *port = &job->peering->port.copy;

    desk->code = port->source_open(port->ctx, desk->receiver, &desk->needs, &desk->source,
                                   &desk->offer, &desk->error);
    if (desk->code != AT_OK)
        desk->source = NULL;
}

static void on_opened(struct at_copy_job *job)
{
    struct at_copy_desk *desk = (struct at_copy_desk *)job;
    struct at_peering *p = job->peering;
    struct at_peer_request *request = AT_TAKE(desk->opening);

    desk->busy = false;
    if (desk->code != AT_OK) {
        desk->step = DESK_NONE;
        at_peering_refuse(p, request, desk->error.msg);
        return;
    }
    desk->step = DESK_OPEN;
    desk->snapshot_id++;
    desk->heard_ns = p->now_ns;
    desk->ready_ns = 0;
    struct at_copy_state state = *desk->offer.state;
    struct at_copy_opened opened = {.instance_id = p->view.instance_id,
                                    .snapshot_id = desk->snapshot_id,
                                    .bytes = desk->offer.bytes,
                                    .part_count = desk->offer.part_count,
                                    .state = &state};
    at_buf_clear(&p->out);
    at_peering_answer(p, request, at_copy_opened_encode(&opened, &p->out));
    if (p->draining || desk->unwanted)
        close_source(p);
}

/* --- chunks --- */

/* Worker. */
static void run_read(struct at_copy_job *job)
{
    struct at_copy_desk *desk = (struct at_copy_desk *)job;
    const struct desk_ask *ask = &desk->reading;
    struct at_copy_read read = {
        .part = ask->part,
        .cursor = ask->cursor,
        .max_bytes = ask->max_bytes < CHUNK_BYTES_MAX ? ask->max_bytes : CHUNK_BYTES_MAX,
        .items = &desk->items,
        .next = &desk->cursor,
    };

    at_buf_clear(&desk->items);
    at_buf_clear(&desk->cursor);
    at_buf_clear(&desk->packed);
    at_buf_clear(&desk->reply);
    desk->code = job->peering->port.copy.source_read(desk->source, &read, &desk->error);
    desk->read_bytes = desk->items.len;
    if (desk->code != AT_OK)
        return;
    struct at_copy_chunk chunk = {.snapshot_id = ask->snapshot_id,
                                  .part = ask->part,
                                  .cursor = at_buf_slice(&desk->cursor),
                                  .last = read.last,
                                  .raw_bytes = (uint32_t)desk->items.len,
                                  .checksum = at_crc32c(at_buf_slice(&desk->items)),
                                  .items = at_buf_slice(&desk->items)};
    chunk.packed = desk->slow && at_pack(chunk.items, &desk->packed);
    if (chunk.packed)
        chunk.items = at_buf_slice(&desk->packed);
    desk->code = at_copy_chunk_encode(&chunk, &desk->reply);
}

static void on_read(struct at_copy_job *job)
{
    struct at_copy_desk *desk = (struct at_copy_desk *)job;
    struct at_peering *p = job->peering;
    uint64_t from_ns = desk->ready_ns > p->now_ns ? desk->ready_ns : p->now_ns;

    uint64_t pause_ns = desk->read_bytes * AT_S_NS / p->copy_bytes_per_s;

    desk->busy = false;
    desk->heard_ns = p->now_ns;
    desk->ready_ns = from_ns + (pause_ns < PAUSE_NS_MAX ? pause_ns : PAUSE_NS_MAX);
    if (desk->code == AT_OK) {
        at_peer_request_reply(desk->reading.request, at_buf_slice(&desk->reply));
    } else {
        at_log(AT_LOG_WARN, "a chunk of a copy can't be read",
               AT_KV_U64("part", desk->reading.part), AT_KV_STR("why", desk->error.msg));
        at_peering_refuse(p, desk->reading.request, "the chunk can't be read");
    }
    desk->reading.request = NULL;
    if (desk->step == DESK_CLOSING)
        give(p, run_close, on_closed);
}

/* --- closing --- */

static void close_source(struct at_peering *p)
{
    struct at_copy_desk *desk = p->copy_out;

    refuse_asks(p);
    desk->step = DESK_CLOSING;
    if (!desk->busy)
        give(p, run_close, on_closed);
}

/* Worker. */
static void run_close(struct at_copy_job *job)
{
    struct at_copy_desk *desk = (struct at_copy_desk *)job;

    job->peering->port.copy.source_close(desk->source);
    desk->source = NULL;
    desk->offer.state = NULL;
    at_buf_deinit(&desk->items);
    at_buf_init(&desk->items, AT_PEER_MESSAGE_BYTES_MAX);
}

static void on_closed(struct at_copy_job *job)
{
    struct at_copy_desk *desk = (struct at_copy_desk *)job;

    desk->busy = false;
    desk->step = DESK_NONE;
}

/* Who asked begins anew at once, here or elsewhere; one that got no answer would wait for it. */
static void refuse_asks(struct at_peering *p)
{
    struct at_copy_desk *desk = p->copy_out;

    for (uint32_t i = 0; i < desk->ask_count; i++)
        at_peering_refuse(p, desk->asks[i].request, "there is no such snapshot here");
    desk->ask_count = 0;
}
