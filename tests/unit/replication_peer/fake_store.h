/* fake_store.h: what a fake member has instead of a store: a writer thread with a real at_replica,
 * and a mutation log in memory. For tests of peering.
 *
 * "Data" is what can be checked: per origin a count and a sum over all applied payloads. */
#ifndef ATOLL_TESTS_FAKE_STORE_H
#define ATOLL_TESTS_FAKE_STORE_H

#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "replication/peer/peering.h"
#include "support/test.h"
#include "wire/peer_socket.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#define FAKE_INSTANCE 77
#ifndef FAKE_MEMBERS
#define FAKE_MEMBERS 3
#endif
#define FAKE_PARTS 5
#define FAKE_PART_CHUNKS 4
#define FAKE_RECORD_BYTES_MAX (16 * AT_MIB)
#define FAKE_QUEUE_MAX 4096
#define FAKE_KEYS_MAX 256

enum fake_work_kind { FAKE_WRITE, FAKE_APPLY, FAKE_CALL, FAKE_ACT, FAKE_STOP };

struct fake_work {
    enum fake_work_kind kind;
    void *item;           /* at_apply or at_replica_call */
    uint32_t entry_count; /* FAKE_WRITE: entries of one record */
    uint32_t entry_bytes;
};

struct fake_record {
    struct at_position first;
    uint64_t last_seq;
    struct at_slice bytes; /* owned */
};

struct fake_pair {
    char *key;
    size_t key_len;
    char *value;
    size_t value_len;
};

/* What survives a restart. */
struct fake_disk {
    struct fake_record *records;
    uint32_t record_count;
    uint32_t record_cap;
    struct fake_pair pairs[FAKE_KEYS_MAX];
    uint32_t pair_count;
    uint64_t entry_count[FAKE_MEMBERS + 1]; /* by origin */
    uint64_t sum[FAKE_MEMBERS + 1];
};

struct fake_member {
    struct at_member_id id;
    uint16_t port;
    struct fake_disk disk;
    struct at_peering *peering;
    struct at_replica *replica; /* writer thread only */
    pthread_t writer;
    pthread_mutex_t lock; /* guards the rest, and disk.records */
    pthread_cond_t more;
    struct fake_work queue[FAKE_QUEUE_MAX];
    uint32_t queue_count;
    bool stopping;
    struct at_replica_view view;
    uint32_t round_count;
    uint32_t call_count;
    uint32_t relayed_count; /* entries applied from another than their origin */
    bool manual;            /* the test calls at_peering_turn */
    bool newcomer;
    uint64_t join_hlc;
    struct at_position registered;
    atomic_ullong clock_ahead_ns; /* of peering, on the machine's */
    /* How this donor misbehaves; changed while nothing runs. */
    atomic_uint lie; /* enum fake_lie */
    atomic_uint chunks_read;
    atomic_uint logs_read; /* reads of the log */
    atomic_ullong log_bytes_read;
    atomic_uint sinks_aborted;
    atomic_uint sources_open;
    atomic_bool takes_all; /* as a receiver: whatever the cursors are */
};

enum fake_lie { FAKE_HONEST, FAKE_CHUNK_FAILS, FAKE_SAME_CURSOR, FAKE_STALL };

/* --- disk --- */

static void fake_disk_free(struct fake_disk *d)
{
    for (uint32_t i = 0; i < d->record_count; i++)
        at_free((void *)(uintptr_t)d->records[i].bytes.data);
    for (uint32_t i = 0; i < d->pair_count; i++) {
        at_free(d->pairs[i].key);
        at_free(d->pairs[i].value);
    }
    at_free(d->records);
    *d = (struct fake_disk){0};
}

static void fake_disk_add(struct fake_disk *d,
                          struct at_position first,
                          uint64_t last_seq,
                          struct at_slice bytes)
{
    if (d->record_count == d->record_cap) {
        d->record_cap = d->record_cap ? d->record_cap * 2 : 64;
        d->records = at_realloc(d->records, d->record_cap * sizeof(*d->records));
    }
    d->records[d->record_count++] = (struct fake_record){
        first, last_seq, at_slice_make(at_dup(bytes.data, bytes.len), bytes.len)};
}

__attribute__((unused)) static void fake_disk_copy(struct fake_disk *to,
                                                   const struct fake_disk *from)
{
    *to = *from;
    to->records = NULL;
    to->record_count = to->record_cap = 0;
    for (uint32_t i = 0; i < from->record_count; i++)
        fake_disk_add(to, from->records[i].first, from->records[i].last_seq,
                      from->records[i].bytes);
    for (uint32_t i = 0; i < from->pair_count; i++) {
        to->pairs[i].key = at_dup(from->pairs[i].key, from->pairs[i].key_len);
        to->pairs[i].value = at_dup(from->pairs[i].value, from->pairs[i].value_len);
    }
}

static void fake_put(void *ctx, struct at_slice key, struct at_slice value)
{
    struct fake_disk *d = ctx;
    uint32_t at = 0;

    while (at < d->pair_count &&
           !at_slice_eq(at_slice_make(d->pairs[at].key, d->pairs[at].key_len), key))
        at++;
    if (at < d->pair_count) {
        at_free(d->pairs[at].key);
        at_free(d->pairs[at].value);
        if (value.len == 0) {
            d->pairs[at] = d->pairs[--d->pair_count];
            return;
        }
    } else if (value.len == 0) {
        return;
    } else {
        AT_ASSERT(d->pair_count < FAKE_KEYS_MAX);
        d->pair_count++;
    }
    d->pairs[at] = (struct fake_pair){at_dup(key.data, key.len), key.len,
                                      at_dup(value.data, value.len), value.len};
}

/* --- the writer --- */

static uint64_t fake_wall_ns(void)
{
    struct at_clock c = at_clock_system();
    return at_clock_wall_ns(&c);
}

static uint64_t fake_mono_ns(void)
{
    struct at_clock c = at_clock_system();
    return at_clock_mono_ns(&c);
}

static void fake_count(struct fake_disk *d, struct at_member_id origin, struct at_slice payload)
{
    d->entry_count[origin.v]++;
    d->sum[origin.v] += at_hash64(payload, origin.v);
}

static void fake_write(struct fake_member *m, struct at_record_builder *b, struct fake_work w)
{
    struct at_position first = {m->id, 0, 0};
    struct at_position last = {m->id, 0, 0};
    uint8_t *payload = at_alloc(w.entry_bytes);

    for (uint32_t i = 0; i < w.entry_count; i++) {
        uint64_t hlc = at_replica_issue(m->replica, 1, fake_wall_ns());
        last = at_replica_append(m->replica, hlc);
        if (i == 0) {
            first = last;
            at_record_begin(b, first.seq);
        }
        memset(payload, (int)(hlc & 0xff), w.entry_bytes);
        memcpy(payload, &hlc, w.entry_bytes < sizeof(hlc) ? w.entry_bytes : sizeof(hlc));
        struct at_entry entry = {last.seq, hlc, 1, at_slice_make(payload, w.entry_bytes)};
        AT_ASSERT(at_record_add(b, &entry) == AT_OK);
        fake_count(&m->disk, m->id, entry.payload);
    }
    at_free(payload);
    pthread_mutex_lock(&m->lock);
    fake_disk_add(&m->disk, first, last.seq, at_record_finish(b));
    pthread_mutex_unlock(&m->lock);
}

static bool fake_push(struct fake_member *m, struct fake_work work);

/* What a REMOVE holds, as bytes of this process. */
struct fake_removal {
    char word[8];
    struct at_removal removal;
    struct at_vouch vouches[64];
};

/* An entry that changes members, decided anew as a store does. */
static void fake_act(struct fake_member *m, struct at_record_builder *b, struct at_act_write *act)
{
    struct fake_removal what = {.word = "REMOVE"};
    struct at_removal *removal = &what.removal;
    bool leave = act->act == AT_ACT_LEAVE;
    bool still =
        leave ? at_replica_leave_ready(m->replica) : at_replica_removal(m->replica, removal);

    act->code = still ? AT_OK : AT_FAILED_PRECONDITION;
    if (!still)
        return;
    AT_ASSERT(removal->vouch_count <= 64);
    for (uint32_t i = 0; i < removal->vouch_count; i++)
        what.vouches[i] = removal->vouches[i];
    uint64_t hlc = at_replica_issue(m->replica, 1, fake_wall_ns());
    struct at_position last = at_replica_append(m->replica, hlc);
    struct at_entry entry = {last.seq, hlc, 1,
                             leave ? AT_LIT("LEAVE") : at_slice_make(&what, sizeof(what))};
    at_record_begin(b, last.seq);
    AT_ASSERT(at_record_add(b, &entry) == AT_OK);
    pthread_mutex_lock(&m->lock);
    fake_disk_add(&m->disk, last, last.seq, at_record_finish(b));
    pthread_mutex_unlock(&m->lock);
    fake_count(&m->disk, m->id, entry.payload);
    if (leave)
        at_replica_member_left(m->replica, last);
    else
        at_replica_members_removed(m->replica, removal);
}

/* What an act means at a receiver. */
static void fake_applied(struct fake_member *m, struct at_position p, struct at_slice payload)
{
    struct fake_removal what;

    if (at_slice_eq(payload, AT_LIT("LEAVE")))
        at_replica_member_left(m->replica, p);
    if (payload.len != sizeof(what) || memcmp(payload.data, "REMOVE", 7) != 0)
        return;
    memcpy(&what, payload.data, sizeof(what));
    what.removal.vouches = what.vouches;
    at_replica_members_removed(m->replica, &what.removal);
}

static void fake_apply_run(struct fake_member *m,
                           struct at_record_builder *b,
                           struct at_apply *apply,
                           const struct at_run *run)
{
    struct at_record_reader reader;
    struct at_entry entry;
    struct at_position first = {run->origin, run->epoch, 0};

    if (at_record_open(&reader, run->record) != AT_OK)
        return;
    while (at_record_next(&reader, &entry) == AT_OK) {
        struct at_position p = {run->origin, run->epoch, entry.seq};
        enum at_admit admit = at_replica_admit(m->replica, p, &entry, fake_wall_ns());
        if (admit == AT_ADMIT_SKIP)
            continue;
        if (admit != AT_ADMIT_APPLY)
            break;
        if (first.seq == 0) {
            first.seq = p.seq;
            at_record_begin(b, p.seq);
        }
        AT_ASSERT(at_record_add(b, &entry) == AT_OK);
        at_replica_apply(m->replica, p, &entry);
        fake_count(&m->disk, p.origin, entry.payload);
        fake_applied(m, p, entry.payload);
        apply->applied_count++;
        if (!at_member_eq(p.origin, apply->message.u.reply.from))
            m->relayed_count++;
    }
    if (first.seq == 0)
        return;
    uint64_t last_seq = at_record_last_seq(b);
    pthread_mutex_lock(&m->lock);
    fake_disk_add(&m->disk, first, last_seq, at_record_finish(b));
    pthread_mutex_unlock(&m->lock);
}

static void fake_apply(struct fake_member *m, struct at_record_builder *b, struct at_apply *apply)
{
    const struct at_reply *reply = &apply->message.u.reply;
    const char *why = NULL;

    apply->dropped = !at_replica_admit_reply(m->replica, reply, &why);
    if (apply->dropped)
        return;
    for (uint32_t i = 0; i < reply->run_count; i++)
        fake_apply_run(m, b, apply, &reply->runs[i]);
    at_replica_merge_reply(m->replica, reply, fake_wall_ns(), fake_mono_ns());
}

static void fake_commit(struct fake_member *m)
{
    at_replica_promise(m->replica, fake_wall_ns());
    at_replica_flush(m->replica, fake_put, &m->disk);
    at_replica_committed(m->replica, true);
    pthread_mutex_lock(&m->lock);
    at_replica_view_fill(m->replica, &m->view);
    m->round_count++;
    pthread_mutex_unlock(&m->lock);
}

/* Takes all queued work as one round. False: it was told to stop. */
static bool fake_round(struct fake_member *m, struct at_record_builder *b, struct fake_work *work)
{
    struct timespec until;

    pthread_mutex_lock(&m->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    if (m->queue_count == 0)
        pthread_cond_timedwait(&m->more, &m->lock, &until);
    uint32_t count = m->queue_count;
    memcpy(work, m->queue, count * sizeof(*work));
    m->queue_count = 0;
    struct at_peering *peering = m->peering;
    pthread_mutex_unlock(&m->lock);

    bool go_on = true;
    for (uint32_t i = 0; i < count; i++) {
        if (work[i].kind == FAKE_WRITE)
            fake_write(m, b, work[i]);
        else if (work[i].kind == FAKE_APPLY)
            fake_apply(m, b, work[i].item);
        else if (work[i].kind == FAKE_CALL)
            ((struct at_replica_call *)work[i].item)->run(work[i].item, m->replica);
        else if (work[i].kind == FAKE_ACT)
            fake_act(m, b, work[i].item);
        else
            go_on = false;
    }
    fake_commit(m);
    if (peering != NULL)
        at_peering_committed(peering);
    for (uint32_t i = 0; i < count; i++) {
        if (work[i].kind == FAKE_APPLY)
            at_peering_applied(work[i].item);
        else if (work[i].kind == FAKE_CALL)
            ((struct at_replica_call *)work[i].item)->done(work[i].item);
        else if (work[i].kind == FAKE_ACT)
            ((struct at_act_write *)work[i].item)->done(work[i].item);
    }
    return go_on;
}

static void *fake_writer(void *arg)
{
    struct fake_member *m = arg;
    struct at_record_builder b;
    struct fake_work *work = at_alloc(sizeof(*work) * FAKE_QUEUE_MAX);

    at_record_builder_init(&b, FAKE_RECORD_BYTES_MAX);
    while (fake_round(m, &b, work))
        ;
    at_record_builder_deinit(&b);
    at_free(work);
    return NULL;
}

static bool fake_push(struct fake_member *m, struct fake_work work)
{
    pthread_mutex_lock(&m->lock);
    bool taken = !m->stopping && m->queue_count < FAKE_QUEUE_MAX;
    if (taken)
        m->queue[m->queue_count++] = work;
    if (work.kind == FAKE_STOP)
        m->stopping = true;
    if (work.kind == FAKE_CALL)
        m->call_count++;
    pthread_cond_signal(&m->more);
    pthread_mutex_unlock(&m->lock);
    return taken;
}

/* --- the port --- */

static void fake_port_view(void *ctx, struct at_replica_view *view)
{
    struct fake_member *m = ctx;

    pthread_mutex_lock(&m->lock);
    at_replica_view_copy(view, &m->view);
    pthread_mutex_unlock(&m->lock);
}

static bool fake_holds(const struct fake_record *r, struct at_position p)
{
    return at_member_eq(r->first.origin, p.origin) && r->first.epoch == p.epoch &&
           r->first.seq <= p.seq && r->last_seq >= p.seq;
}

static enum at_code fake_port_read_log(void *ctx,
                                       const struct at_log_read *what,
                                       struct at_buf *out,
                                       uint32_t *sizes,
                                       uint32_t *ret_count,
                                       struct at_error *reterr)
{
    struct fake_member *m = ctx;
    struct at_position first = what->first;
    size_t begin = out->len;
    uint32_t count = 0;
    enum at_code code = AT_OK;

    pthread_mutex_lock(&m->lock);
    for (uint32_t i = 0; i < m->disk.record_count && code == AT_OK; i++) {
        const struct fake_record *r = &m->disk.records[i];
        if (count == what->sizes_max || first.seq > what->last_seq ||
            out->len - begin >= what->max_bytes)
            break;
        if (!fake_holds(r, first))
            continue;
        code = at_buf_append(out, r->bytes);
        sizes[count++] = (uint32_t)r->bytes.len;
        first.seq = r->last_seq + 1;
    }
    pthread_mutex_unlock(&m->lock);
    *ret_count = count;
    atomic_fetch_add(&m->logs_read, 1);
    atomic_fetch_add(&m->log_bytes_read, out->len - begin);
    if (code == AT_OK && count == 0)
        return at_fail(reterr, AT_NOT_FOUND, "no such record");
    return code;
}

static bool fake_port_apply(void *ctx, struct at_apply *apply)
{
    return fake_push(ctx, (struct fake_work){.kind = FAKE_APPLY, .item = apply});
}

static bool fake_port_call(void *ctx, struct at_replica_call *call)
{
    return fake_push(ctx, (struct fake_work){.kind = FAKE_CALL, .item = call});
}

static bool fake_port_act(void *ctx, struct at_act_write *write)
{
    return fake_push(ctx, (struct fake_work){.kind = FAKE_ACT, .item = write});
}

#endif
