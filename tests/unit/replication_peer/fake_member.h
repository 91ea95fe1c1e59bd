/* fake_member.h: one cluster without a store: a writer thread with a real at_replica, a mutation
 * log in memory, and a real at_peering on loopback. For test_peering.c only.
 *
 * "Data" is what can be checked: per origin a count and a sum over all applied payloads. */
#ifndef ATOLL_TESTS_FAKE_MEMBER_H
#define ATOLL_TESTS_FAKE_MEMBER_H

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
#define FAKE_MEMBERS 3
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
    /* How this donor misbehaves; changed while nothing runs. */
    atomic_uint lie; /* enum fake_lie */
    atomic_uint chunks_read;
    atomic_uint sinks_aborted;
};

enum fake_lie { FAKE_HONEST, FAKE_CHUNK_FAILS, FAKE_NO_END, FAKE_SAME_CURSOR };

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

/* An entry that changes members, decided anew as a store does. */
static void fake_act(struct fake_member *m, struct at_record_builder *b, struct at_act_write *act)
{
    struct at_removal removal = {0};
    bool leave = act->act == AT_ACT_LEAVE;
    bool still =
        leave ? at_replica_leave_ready(m->replica) : at_replica_removal(m->replica, &removal);

    act->code = still ? AT_OK : AT_FAILED_PRECONDITION;
    if (!still)
        return;
    struct at_position last =
        at_replica_append(m->replica, at_replica_issue(m->replica, 1, fake_wall_ns()));
    uint64_t hlc = fake_wall_ns();
    struct at_entry entry = {last.seq, hlc, 1, leave ? AT_LIT("LEAVE") : AT_LIT("REMOVE")};
    at_record_begin(b, last.seq);
    AT_ASSERT(at_record_add(b, &entry) == AT_OK);
    pthread_mutex_lock(&m->lock);
    fake_disk_add(&m->disk, last, last.seq, at_record_finish(b));
    pthread_mutex_unlock(&m->lock);
    fake_count(&m->disk, m->id, entry.payload);
    if (leave)
        at_replica_member_left(m->replica, last);
    else
        at_replica_members_removed(m->replica, &removal);
}

/* What an act means at a receiver: LEAVE only, which needs nothing of its payload. */
static void fake_applied(struct fake_member *m, struct at_position p, struct at_slice payload)
{
    if (at_slice_eq(payload, AT_LIT("LEAVE")))
        at_replica_member_left(m->replica, p);
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

/* --- copies: the state, and chunks whose bytes are checked --- */

struct fake_sync {
    struct at_replica_call call; /* first */
    struct fake_member *m;
    void (*run)(struct fake_sync *sync, struct at_replica *replica);
    struct at_mailbox done;
    void *item;
    enum at_code code;
};

static void fake_sync_run(struct at_replica_call *call, struct at_replica *replica)
{
    ((struct fake_sync *)call)->run((struct fake_sync *)call, replica);
}

static void fake_sync_done(struct at_replica_call *call)
{
    at_mailbox_push(&((struct fake_sync *)call)->done, &call->mail, NULL);
}

/* Runs on the writer thread between commits, and waits. */
static enum at_code fake_on_writer(struct fake_member *m,
                                   void (*run)(struct fake_sync *sync, struct at_replica *replica),
                                   void *item)
{
    struct fake_sync sync = {.m = m, .run = run, .item = item, .code = AT_UNAVAILABLE};

    sync.call.run = fake_sync_run;
    sync.call.done = fake_sync_done;
    at_mailbox_init(&sync.done, 1);
    if (fake_push(m, (struct fake_work){.kind = FAKE_CALL, .item = &sync.call}))
        while (at_mailbox_wait(&sync.done, 1000) == NULL)
            ;
    at_mailbox_deinit(&sync.done);
    return sync.code;
}

struct fake_copy {
    struct fake_member *m;
    struct at_arena arena;
    struct at_copy_state state;
    struct at_member_id receiver;
    const struct at_vector *needs;
    uint64_t entry_count[FAKE_MEMBERS + 1];
    uint64_t sum[FAKE_MEMBERS + 1];
    const struct at_copy_state *donor;
    uint32_t chunks[FAKE_PARTS];
};

static void fake_source_run(struct fake_sync *sync, struct at_replica *replica)
{
    struct fake_copy *c = sync->item;

    sync->code = at_replica_may_donate(replica, c->receiver, c->needs, NULL);
    if (sync->code != AT_OK)
        return;
    at_replica_copy_state(replica, &c->arena, &c->state);
    memcpy(c->entry_count, c->m->disk.entry_count, sizeof(c->entry_count));
    memcpy(c->sum, c->m->disk.sum, sizeof(c->sum));
}

static void fake_source_close(void *source)
{
    struct fake_copy *c = source;

    at_vector_deinit(&c->state.applied);
    at_arena_deinit(&c->arena);
    at_free(c);
}

static enum at_code fake_source_open(void *ctx,
                                     struct at_member_id receiver,
                                     const struct at_vector *needs,
                                     void **ret_source,
                                     const struct at_copy_state **ret_state,
                                     uint32_t *ret_part_count,
                                     uint64_t *ret_bytes,
                                     struct at_error *reterr)
{
    struct fake_copy *c = AT_NEW(struct fake_copy);

    c->m = ctx;
    c->receiver = receiver;
    c->needs = needs;
    at_arena_init(&c->arena, AT_KIB);
    enum at_code code = fake_on_writer(ctx, fake_source_run, c);
    if (code != AT_OK) {
        fake_source_close(c);
        return at_fail(reterr, code, "not a donor now");
    }
    *ret_source = c;
    *ret_state = &c->state;
    *ret_part_count = FAKE_PARTS;
    *ret_bytes = FAKE_PARTS * FAKE_PART_CHUNKS * 1000;
    return AT_OK;
}

/* Part 0's first chunk carries the sums. */
static enum at_code fake_source_read(void *source,
                                     uint32_t part,
                                     struct at_slice cursor,
                                     size_t max_bytes,
                                     struct at_buf *items,
                                     struct at_buf *ret_cursor,
                                     bool *ret_last,
                                     struct at_error *reterr)
{
    struct fake_copy *c = source;
    uint32_t count = atomic_fetch_add(&c->m->chunks_read, 1) + 1;
    uint32_t lie = atomic_load(&c->m->lie);
    char bytes[1000] = {(char)part};
    char at = cursor.len == 0 ? 'a' : (char)(cursor.data[0] + 1);

    assert_true(max_bytes >= sizeof(bytes));
    if (lie == FAKE_CHUNK_FAILS && count > 6)
        return at_fail(reterr, AT_DATA_LOSS, "bad disk");
    if (part == 0 && cursor.len == 0) {
        memcpy(bytes, c->entry_count, sizeof(c->entry_count));
        memcpy(bytes + sizeof(c->entry_count), c->sum, sizeof(c->sum));
    }
    if (lie == FAKE_SAME_CURSOR && part == 2 && cursor.len > 0)
        at = (char)cursor.data[0];
    AT_TRY(at_buf_append(items, at_slice_make(bytes, sizeof(bytes))));
    *ret_last = at == 'a' + FAKE_PART_CHUNKS - 1;
    return at_buf_append(ret_cursor, at_slice_make(&at, 1));
}

static void fake_begin_run(struct fake_sync *sync, struct at_replica *replica)
{
    sync->code = at_replica_may_copy_from(replica, sync->item, NULL);
    if (sync->code == AT_OK)
        sync->code = at_replica_copy_begin(replica, NULL);
}

static enum at_code fake_sink_open(void *ctx,
                                   const struct at_copy_state *donor,
                                   uint32_t part_count,
                                   void **ret_sink,
                                   struct at_error *reterr)
{
    if (part_count != FAKE_PARTS)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "parts");
    AT_TRY(fake_on_writer(ctx, fake_begin_run, (void *)(uintptr_t)donor));
    struct fake_copy *c = AT_NEW(struct fake_copy);
    c->m = ctx;
    c->donor = donor;
    *ret_sink = c;
    return AT_OK;
}

static enum at_code fake_sink_take(void *sink,
                                   uint32_t part,
                                   struct at_slice cursor,
                                   bool last,
                                   struct at_slice items,
                                   struct at_error *reterr)
{
    struct fake_copy *c = sink;

    if (part > 0 && c->chunks[0] < FAKE_PART_CHUNKS)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "part 0 comes first");
    if (cursor.len != 1 || cursor.data[0] != 'a' + c->chunks[part] || items.len != 1000)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "out of order");
    if (part == 0 && c->chunks[0] == 0) {
        memcpy(c->entry_count, items.data, sizeof(c->entry_count));
        memcpy(c->sum, items.data + sizeof(c->entry_count), sizeof(c->sum));
    }
    c->chunks[part]++;
    return last == (c->chunks[part] == FAKE_PART_CHUNKS) ? AT_OK : AT_INVALID_ARGUMENT;
}

/* An origin's data is a prefix of its log: whoever has more has all of the other. */
static void fake_end_run(struct fake_sync *sync, struct at_replica *replica)
{
    struct fake_copy *c = sync->item;
    struct at_vector grown;

    at_vector_init(&grown);
    at_replica_copy_end(replica, c->donor, &grown);
    for (uint32_t i = 0; i < grown.count; i++) {
        uint32_t o = grown.items[i].origin.v;
        c->m->disk.entry_count[o] = c->entry_count[o];
        c->m->disk.sum[o] = c->sum[o];
    }
    at_vector_deinit(&grown);
    sync->code = AT_OK;
}

static enum at_code fake_sink_finish(void *sink, struct at_error *reterr)
{
    struct fake_copy *c = sink;

    for (int i = 0; i < FAKE_PARTS; i++)
        if (c->chunks[i] != FAKE_PART_CHUNKS)
            return at_fail(reterr, AT_FAILED_PRECONDITION, "a part is missing");
    AT_TRY(fake_on_writer(c->m, fake_end_run, c));
    at_free(c);
    return AT_OK;
}

static void fake_drop_run(struct fake_sync *sync, struct at_replica *replica)
{
    at_replica_copy_drop(replica);
    sync->code = AT_OK;
}

static void fake_sink_abort(void *sink)
{
    struct fake_copy *c = sink;

    atomic_fetch_add(&c->m->sinks_aborted, 1);
    (void)fake_on_writer(c->m, fake_drop_run, NULL);
    at_free(c);
}

static struct at_copy_port fake_copy_port(struct fake_member *m)
{
    return (struct at_copy_port){.ctx = m,
                                 .source_open = fake_source_open,
                                 .source_read = fake_source_read,
                                 .source_close = fake_source_close,
                                 .sink_open = fake_sink_open,
                                 .sink_take = fake_sink_take,
                                 .sink_finish = fake_sink_finish,
                                 .sink_abort = fake_sink_abort};
}

/* --- life --- */

static void fake_info(struct at_buf *text, uint16_t port)
{
    struct at_member_info info = {.cluster_id = AT_LIT("peer"),
                                  .zone = AT_LIT("here"),
                                  .host = AT_LIT("127.0.0.1"),
                                  .grpc_port = 1,
                                  .peer_port = port};

    at_buf_init(text, AT_MEMBER_INFO_BYTES_MAX);
    assert_int_equal(at_member_info_encode(&info, text), AT_OK);
}

/* A wrong port in `ports` cuts the link to that member. */
static void
fake_start(struct fake_member *m, const uint16_t *ports, bool tail_may_be_lost, uint32_t wait_ms)
{
    struct at_member_id members[FAKE_MEMBERS];
    struct at_slice infos[FAKE_MEMBERS];
    struct at_buf texts[FAKE_MEMBERS];
    struct at_error error = {0};

    for (uint32_t i = 0; i < FAKE_MEMBERS; i++) {
        members[i].v = i + 1;
        fake_info(&texts[i], i + 1 == m->id.v ? m->port : ports[i]);
        infos[i] = at_buf_slice(&texts[i]);
    }
    struct at_replica_config config = {.instance_id = FAKE_INSTANCE,
                                       .self = m->id,
                                       .members = members,
                                       .infos = infos,
                                       .member_count = FAKE_MEMBERS,
                                       .newcomer = m->newcomer,
                                       .join_hlc = m->join_hlc,
                                       .max_skew_ns = 10 * AT_S_NS,
                                       .reserve_step_ns = AT_S_NS,
                                       .sync_commits = true};
    m->replica = at_replica_new(&config);
    for (uint32_t i = 0; i < m->disk.pair_count; i++) {
        const struct fake_pair *pair = &m->disk.pairs[i];
        if (at_replica_restore(m->replica, at_slice_make(pair->key, pair->key_len),
                               at_slice_make(pair->value, pair->value_len), &error) != AT_OK)
            fail_msg("%s", error.msg);
    }
    if (at_replica_start(m->replica, tail_may_be_lost, fake_wall_ns(), &error) != AT_OK)
        fail_msg("%s", error.msg);
    m->stopping = false;
    m->queue_count = 0;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->more, NULL);
    at_replica_view_init(&m->view);
    fake_commit(m);

    for (uint32_t i = 0; i < FAKE_MEMBERS; i++)
        at_buf_deinit(&texts[i]);
    struct at_peering_config peering = {.clock = at_clock_system(),
                                        .listen_host = "127.0.0.1",
                                        .listen_port = m->port,
                                        .wait_ms = wait_ms,
                                        .manual = m->manual,
                                        .port = {.ctx = m,
                                                 .view = fake_port_view,
                                                 .read_log = fake_port_read_log,
                                                 .apply = fake_port_apply,
                                                 .call = fake_port_call,
                                                 .act = fake_port_act,
                                                 .copy = fake_copy_port(m)}};
    struct at_peering *started = NULL;
    assert_int_equal(pthread_create(&m->writer, NULL, fake_writer, m), 0);
    if (at_peering_start(&peering, &started, &error) != AT_OK)
        fail_msg("%s", error.msg);
    pthread_mutex_lock(&m->lock);
    m->peering = started;
    pthread_mutex_unlock(&m->lock);
    assert_int_equal(at_peering_port(started), m->port);
}

static void fake_stop(struct fake_member *m)
{
    pthread_mutex_lock(&m->lock);
    struct at_peering *peering = AT_TAKE(m->peering);
    pthread_mutex_unlock(&m->lock);
    at_peering_stop(&peering);
    fake_push(m, (struct fake_work){.kind = FAKE_STOP});
    pthread_join(m->writer, NULL);
    at_replica_free(&m->replica);
    at_replica_view_deinit(&m->view);
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->more);
}

__attribute__((unused)) static void fake_write_entries(struct fake_member *m,
                                                       uint32_t records,
                                                       uint32_t entry_count,
                                                       uint32_t entry_bytes)
{
    for (uint32_t i = 0; i < records;) {
        struct fake_work work = {
            .kind = FAKE_WRITE, .entry_count = entry_count, .entry_bytes = entry_bytes};
        if (fake_push(m, work))
            i++;
        else
            sched_yield();
    }
}

static uint64_t fake_seq(struct fake_member *m)
{
    pthread_mutex_lock(&m->lock);
    uint64_t seq = m->view.seq;
    pthread_mutex_unlock(&m->lock);
    return seq;
}

#endif
