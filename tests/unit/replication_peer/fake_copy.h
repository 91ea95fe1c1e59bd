/* fake_copy.h: the copies of a fake member: the state, and chunks whose bytes are checked. For
 * tests of peering. */
#ifndef ATOLL_TESTS_FAKE_COPY_H
#define ATOLL_TESTS_FAKE_COPY_H

#include "unit/replication_peer/fake_store.h"

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

    atomic_fetch_sub(&c->m->sources_open, 1);
    at_vector_deinit(&c->state.applied);
    at_arena_deinit(&c->arena);
    at_free(c);
}

static enum at_code fake_source_open(void *ctx,
                                     struct at_member_id receiver,
                                     const struct at_vector *needs,
                                     void **ret_source,
                                     struct at_copy_offer *ret_offer,
                                     struct at_error *reterr)
{
    struct fake_copy *c = AT_NEW(struct fake_copy);

    c->m = ctx;
    c->receiver = receiver;
    c->needs = needs;
    at_arena_init(&c->arena, AT_KIB);
    atomic_fetch_add(&c->m->sources_open, 1);
    enum at_code code = fake_on_writer(ctx, fake_source_run, c);
    if (code != AT_OK) {
        fake_source_close(c);
        return at_fail(reterr, code, "not a donor now");
    }
    *ret_source = c;
    *ret_offer = (struct at_copy_offer){.state = &c->state,
                                        .part_count = FAKE_PARTS,
                                        .bytes = FAKE_PARTS * FAKE_PART_CHUNKS * 1000};
    return AT_OK;
}

/* Part 0's first chunk carries the sums. */
static enum at_code
fake_source_read(void *source, struct at_copy_read *read, struct at_error *reterr)
{
    struct fake_copy *c = source;
    struct at_slice cursor = read->cursor;
    uint32_t count = atomic_fetch_add(&c->m->chunks_read, 1) + 1;
    uint32_t lie = atomic_load(&c->m->lie);
    char bytes[1000] = {(char)read->part};
    char at = cursor.len == 0 ? 'a' : (char)(cursor.data[0] + 1);

    assert_true(read->max_bytes >= sizeof(bytes));
    while (atomic_load(&c->m->lie) == FAKE_STALL && count > 6)
        sched_yield();
    if (lie == FAKE_CHUNK_FAILS && count > 6)
        return at_fail(reterr, AT_DATA_LOSS, "bad disk");
    if (read->part == 0 && cursor.len == 0) {
        memcpy(bytes, c->entry_count, sizeof(c->entry_count));
        memcpy(bytes + sizeof(c->entry_count), c->sum, sizeof(c->sum));
    }
    if (lie == FAKE_SAME_CURSOR && read->part == 2 && cursor.len > 0)
        at = (char)cursor.data[0];
    AT_TRY(at_buf_append(read->items, at_slice_make(bytes, sizeof(bytes))));
    read->last = at == 'a' + FAKE_PART_CHUNKS - 1;
    return at_buf_append(read->next, at_slice_make(&at, 1));
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

    if (atomic_load(&c->m->takes_all)) {
        c->chunks[part]++;
        return AT_OK;
    }
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

#endif
