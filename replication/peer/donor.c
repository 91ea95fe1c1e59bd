#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "replication/peer/rooms.h"

/* Answers pulls. Those of one peer wait in the order of their ids; the first is answered when the
 * committed view has moved beyond it, or when its time is up. One that continues another begins
 * where the reply to that ended; if that is not known (it was lost, or has not come yet), at what
 * it says itself. A pull that continues nothing tells that those before it were given up.
 *
 * Pacing: a writer commits hundreds of times a second, and a reply for each commit would cost more
 * than what it carries. After a reply with entries the next one is not sent before PACE has passed,
 * so that what is committed meanwhile goes together; until then commits do not even wake the
 * thread. A reply that was cut is followed at once.
 *
 * Records go from the store into donor.records, from there into the message, and are not looked
 * into except for their heads. */

enum { WAIT_MAX_MS = 60000 };
#define RUNS_MAX 8192u /* in one reply */
#define PACE_NS (4 * AT_MS_NS)
#define MISSING_PAUSE_NS (50 * AT_MS_NS) /* the log did not have what the view promised */
#define BEFORE_WAIT_NS (20 * AT_MS_NS)   /* for the pull that this one continues */
#define KEEP_BYTES_MAX (16 * AT_MIB)
#define ENVELOPE_BYTES_MAX (2 * AT_MIB) /* of a reply, without its records */

/* What was collected for one reply. */
struct harvest {
    uint32_t run_count;
    bool more;
    struct at_member_id last_origin; /* of which something was taken */
    struct at_vector *ended;         /* rises to what was taken */
};

static struct at_waiting_pull take_first(struct at_donor_seat *seat);
static struct at_waiting_pull *add_waiting(struct at_donor_seat *seat, uint64_t request_id);
static bool step_first(struct at_neighbor *peer);
static bool answer_now(struct at_neighbor *peer, struct at_pull *pull, bool time_is_up);
static void pack_runs(struct at_donor *donor, uint32_t run_count);
static void
collect(struct at_peering *p, const struct at_donation *plan, size_t max_bytes, struct harvest *h);
static bool collect_part(struct at_peering *p,
                         struct at_donation_part part,
                         size_t max_bytes,
                         struct harvest *h);
static void send_reply(struct at_neighbor *peer,
                       const struct at_pull *pull,
                       const struct at_donation *plan,
                       struct harvest h);
static void shrink(struct at_buf *b);

void at_donor_init(struct at_peering *p)
{
    at_buf_init(&p->donor.records, AT_PEER_MESSAGE_BYTES_MAX - ENVELOPE_BYTES_MAX);
    at_buf_init(&p->donor.packed, AT_PEER_MESSAGE_BYTES_MAX - ENVELOPE_BYTES_MAX);
    p->donor.sizes = at_alloc(sizeof(uint32_t) * RUNS_MAX);
    p->donor.runs = at_alloc(sizeof(struct at_run) * RUNS_MAX);
}

void at_donor_deinit(struct at_peering *p)
{
    at_buf_deinit(&p->donor.records);
    at_buf_deinit(&p->donor.packed);
    at_free(p->donor.sizes);
    at_free(p->donor.runs);
}

void at_donor_on_pull(struct at_neighbor *peer,
                      struct at_peer_request *request,
                      const struct at_pull *pull)
{
    struct at_peering *p = peer->peering;
    struct at_donor_seat *seat = &peer->seat;
    uint32_t wait_ms = pull->wait_ms < WAIT_MAX_MS ? pull->wait_ms : WAIT_MAX_MS;

    if (pull->continues == 0)
        at_donor_drop(peer); /* its asker has given up or was started again */
    struct at_waiting_pull *waiting = add_waiting(seat, pull->request_id);
    at_pull_copy(&waiting->pull, pull);
    waiting->request = request;
    waiting->came_ns = p->now_ns;
    waiting->deadline_ns = p->now_ns + wait_ms * AT_MS_NS;
    at_peering_heard(peer, &pull->applied);
    /* Its ids begin with its wall clock: after a restart they may be lower. */
    if (pull->continues != 0 && pull->request_id < seat->newest.request_id)
        return;
    at_pull_copy(&seat->newest, pull);
    peer->note.pending = true;
}

void at_donor_step(struct at_neighbor *peer)
{
    while (peer->seat.waiting_count > 0 && step_first(peer))
        ;
}

bool at_donor_wants_commits(const struct at_neighbor *peer)
{
    return peer->seat.waiting_count > 0 && peer->peering->now_ns >= peer->seat.ready_ns;
}

void at_donor_drop(struct at_neighbor *peer)
{
    while (peer->seat.waiting_count > 0) {
        struct at_waiting_pull first = take_first(&peer->seat);
        at_peer_request_drop(first.request);
        at_pull_release(&first.pull);
    }
}

void at_donor_seat_deinit(struct at_donor_seat *seat)
{
    AT_ASSERT(seat->waiting_count == 0);
    at_pull_release(&seat->newest);
    at_vector_deinit(&seat->ended);
}

static struct at_waiting_pull take_first(struct at_donor_seat *seat)
{
    struct at_waiting_pull first = seat->waiting[0];

    seat->waiting_count--;
    memmove(&seat->waiting[0], &seat->waiting[1], seat->waiting_count * sizeof(first));
    return first;
}

/* Who asks more than it may at a time loses the oldest. */
static struct at_waiting_pull *add_waiting(struct at_donor_seat *seat, uint64_t request_id)
{
    if (seat->waiting_count == AT_ASKING_DEPTH_MAX) {
        struct at_waiting_pull first = take_first(seat);
        at_peer_request_drop(first.request);
        at_pull_release(&first.pull);
    }
    uint32_t at = seat->waiting_count++;
    for (; at > 0 && seat->waiting[at - 1].pull.request_id > request_id; at--)
        seat->waiting[at] = seat->waiting[at - 1];
    seat->waiting[at] = (struct at_waiting_pull){0};
    return &seat->waiting[at];
}

/* step_first returns true when the first pull was answered. */
static bool step_first(struct at_neighbor *peer)
{
    struct at_peering *p = peer->peering;
    struct at_donor_seat *seat = &peer->seat;
    struct at_waiting_pull *first = &seat->waiting[0];
    bool time_is_up = p->now_ns >= first->deadline_ns;
    bool known = first->pull.continues == 0 || first->pull.continues == seat->ended_id;

    if (!known && p->now_ns < first->came_ns + BEFORE_WAIT_NS) {
        at_peering_wake_at(p, first->came_ns + BEFORE_WAIT_NS);
        return false;
    }
    struct at_pull pull = first->pull;
    if (first->pull.continues != 0 && known)
        at_vector_merge(&seat->ended, &first->pull.applied);
    else
        at_vector_copy(&seat->ended, &first->pull.applied);
    seat->ended_id = first->pull.continues; /* until it is answered */
    pull.applied = seat->ended;
    bool news = at_donation_news(&p->view, &pull);
    if ((time_is_up || (news && p->now_ns >= seat->ready_ns)) &&
        answer_now(peer, &pull, time_is_up))
        return true;
    at_peering_wake_at(p, first->deadline_ns);
    if (p->now_ns < seat->ready_ns)
        at_peering_wake_at(p, seat->ready_ns);
    return false;
}

void at_pull_copy(struct at_pull *to, const struct at_pull *from)
{
    struct at_vector applied = to->applied;
    struct at_vector durable = to->durable;
    struct at_positions_facts facts = to->facts;

    at_vector_copy(&applied, &from->applied);
    at_vector_copy(&durable, &from->durable);
    at_positions_facts_copy(&facts, &from->facts);
    *to = *from;
    to->applied = applied;
    to->durable = durable;
    to->facts = facts;
}

void at_pull_release(struct at_pull *pull)
{
    at_vector_deinit(&pull->applied);
    at_vector_deinit(&pull->durable);
    at_positions_facts_deinit(&pull->facts);
}

/* answer_now returns false when it is better to go on waiting. `pull` is the first one, from where
 * it really begins. */
static bool answer_now(struct at_neighbor *peer, struct at_pull *pull, bool time_is_up)
{
    struct at_peering *p = peer->peering;
    struct at_donor_seat *seat = &peer->seat;
    struct at_donation plan;
    struct at_vector ended = {0};
    struct harvest h = {.last_origin = seat->start_after, .ended = &ended};
    size_t max_bytes = pull->max_bytes;

    if (max_bytes > AT_PULL_BYTES_MAX)
        max_bytes = AT_PULL_BYTES_MAX;
    at_donation_plan(&p->view, pull, seat->start_after, &plan);
    collect(p, &plan, max_bytes, &h);
    if (h.run_count == 0 && !time_is_up) {
        seat->ready_ns = p->now_ns + MISSING_PAUSE_NS;
        at_vector_deinit(&ended);
        return false;
    }
    seat->start_after = h.last_origin;
    seat->ready_ns = h.run_count > 0 && !h.more ? p->now_ns + PACE_NS : 0;
    if (pull->unpacks)
        pack_runs(&p->donor, h.run_count);
    send_reply(peer, pull, &plan, h);
    at_vector_merge(&seat->ended, &ended);
    at_vector_deinit(&ended);
    seat->ended_id = pull->request_id;
    struct at_waiting_pull first = take_first(seat);
    at_pull_release(&first.pull);
    return true;
}

/* All packed bytes are in one buffer that does not move: it has room for the worst before. */
static void pack_runs(struct at_donor *donor, uint32_t run_count)
{
    at_buf_clear(&donor->packed);
    if (at_buf_reserve(&donor->packed, donor->records.len + donor->records.len / 64 + AT_KIB) !=
        AT_OK)
        return;
    for (uint32_t i = 0; i < run_count; i++) {
        struct at_run *run = &donor->runs[i];
        size_t at = donor->packed.len;
        size_t cap = donor->packed.cap;
        size_t worst = run->record.len + run->record.len / 128 + AT_KIB;
        if (cap - at < worst || !at_pack(run->record, &donor->packed))
            continue;
        AT_ASSERT(donor->packed.cap == cap);
        run->packed_from = (uint32_t)run->record.len;
        run->record = at_slice_make(donor->packed.data + at, donor->packed.len - at);
    }
}

static void
collect(struct at_peering *p, const struct at_donation *plan, size_t max_bytes, struct harvest *h)
{
    at_buf_clear(&p->donor.records);
    h->more = plan->cut;
    for (uint32_t i = 0; i < plan->part_count; i++)
        if (!collect_part(p, plan->parts[i], max_bytes, h)) {
            h->more = true;
            break;
        }
    size_t offset = 0;
    for (uint32_t i = 0; i < h->run_count; i++) { /* only now do the bytes stay where they are */
        p->donor.runs[i].record = at_slice_make(p->donor.records.data + offset, p->donor.sizes[i]);
        offset += p->donor.sizes[i];
    }
    AT_ASSERT(offset == p->donor.records.len);
}

/* collect_part returns false when the reply is full before the part is complete. */
static bool collect_part(struct at_peering *p,
                         struct at_donation_part part,
                         size_t max_bytes,
                         struct harvest *h)
{
    struct at_buf *records = &p->donor.records;
    size_t before = records->len;
    uint32_t count = 0;
    struct at_error error = {0};

    if (before >= max_bytes || h->run_count == RUNS_MAX)
        return before == 0 && h->run_count == 0; /* max_bytes 0 asks for positions only */
    const struct at_log_read what = {part.first, part.last_seq, max_bytes - before,
                                     RUNS_MAX - h->run_count};
    enum at_code code = p->port.read_log(p->port.ctx, &what, records, p->donor.sizes + h->run_count,
                                         &count, &error);
    if (code != AT_OK || count == 0) {
        records->len = before;
        if (code == AT_RESOURCE_EXHAUSTED && before > 0)
            return false; /* a huge record: it comes first the next time */
        if (code != AT_OK && code != AT_NOT_FOUND)
            at_log(AT_LOG_ERROR, "cannot read the log for a peer, retrying",
                   AT_KV_U64("origin", part.first.origin.v), AT_KV_STR("why", error.msg));
        return true; /* nothing of this pair; gone since the view was taken, or the disk fails */
    }
    AT_ASSERT(count <= RUNS_MAX - h->run_count);
    for (uint32_t i = 0; i < count; i++)
        p->donor.runs[h->run_count + i] =
            (struct at_run){.origin = part.first.origin, .epoch = part.first.epoch};
    h->run_count += count;
    h->last_origin = part.first.origin;

    struct at_record_reader head;
    size_t last_size = p->donor.sizes[h->run_count - 1];
    struct at_slice last = at_slice_make(records->data + records->len - last_size, last_size);
    if (at_record_open(&head, last) != AT_OK) {
        at_log(AT_LOG_ERROR, "a log record is malformed", AT_KV_U64("origin", part.first.origin.v),
               AT_KV_U64("first_seq", part.first.seq));
        return true;
    }
    struct at_position last_one = part.first;
    last_one.seq = head.next_seq + head.left - 1;
    (void)at_vector_raise(h->ended, last_one);
    return last_one.seq >= part.last_seq;
}

static void send_reply(struct at_neighbor *peer,
                       const struct at_pull *pull,
                       const struct at_donation *plan,
                       struct harvest h)
{
    struct at_peering *p = peer->peering;
    const struct at_replica_view *view = &p->view;
    struct at_gap gaps[AT_DONATION_GAPS_MAX];
    struct at_reply reply = {
        .to_request = pull->request_id,
        .instance_id = view->instance_id,
        .from = view->self,
        .incarnation = view->epoch,
        .hlc = at_peering_clock(p),
        .runs = p->donor.runs,
        .run_count = h.run_count,
        .gaps = gaps,
        .gap_count = plan->gap_count,
        .ends_known = view->applied,
        .facts = view->facts,
        .more = h.more,
    };

    memcpy(gaps, plan->gaps, sizeof(*gaps) * plan->gap_count);
    for (uint32_t i = 0; i < view->member_count; i++)
        if (view->members[i].active)
            reply.members[reply.member_count++] = view->members[i].id;
    at_buf_clear(&p->out);
    at_peering_answer(p, peer->seat.waiting[0].request, at_reply_encode(&reply, &p->out));
    shrink(&p->out);
    shrink(&p->donor.records);
    shrink(&p->donor.packed);
}

/* One huge entry must not hold its memory for ever. */
static void shrink(struct at_buf *b)
{
    if (b->cap <= KEEP_BYTES_MAX)
        return;
    size_t max = b->max;
    at_buf_deinit(b);
    at_buf_init(b, max);
}
