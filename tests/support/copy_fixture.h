/* copy_fixture.h: copies between two stores of one process, chunk by chunk, without a network. */
#ifndef ATOLL_TESTS_SUPPORT_COPY_FIXTURE_H
#define ATOLL_TESTS_SUPPORT_COPY_FIXTURE_H

#include "cluster/tablet/copy.h"
#include "cluster/tablet/read.h"
#include "cluster/tablet/writer.h"
#include "replication/replica_state.h"
#include "support/store_fixture.h"

/* --- reaching into the replica, between commits --- */

struct cfx_call {
    struct at_replica_call call;
    void (*change)(struct at_replica *r, uint64_t arg);
    uint64_t arg;
    sem_t done;
};

static void cfx_run(struct at_replica_call *call, struct at_replica *r)
{
    struct cfx_call *c = (struct cfx_call *)call;

    c->change(r, c->arg);
}

static void cfx_done(struct at_replica_call *call)
{
    sem_post(&((struct cfx_call *)call)->done);
}

static FX_UNUSED void
cfx_change(struct fx *f, void (*change)(struct at_replica *r, uint64_t arg), uint64_t arg)
{
    struct cfx_call c = {
        .call = {.run = cfx_run, .done = cfx_done, .sync = true}, .change = change, .arg = arg};

    sem_init(&c.done, 0, 0);
    AT_ASSERT(at_store_call(f->store, &c.call));
    while (sem_wait(&c.done) != 0)
        continue;
    sem_destroy(&c.done);
    AT_ASSERT(!c.call.failed);
}

static FX_UNUSED void cfx_set_mode(struct at_replica *r, uint64_t mode)
{
    r->mode = (enum at_replica_mode)mode;
    r->dirty |= AT_DIRTY_MODE;
}

static FX_UNUSED void cfx_set_caught_up(struct at_replica *r, uint64_t arg)
{
    (void)arg;
    at_replica_set_caught_up(r);
}

static FX_UNUSED void cfx_set_horizon(struct at_replica *r, uint64_t hlc)
{
    r->horizon = hlc;
}

static FX_UNUSED enum at_replica_mode cfx_mode(struct fx *f)
{
    struct at_replica_view view;

    fx_view(f, &view);
    enum at_replica_mode mode = view.mode;
    at_replica_view_deinit(&view);
    return mode;
}

static FX_UNUSED uint64_t cfx_hlc(struct fx *f)
{
    struct at_replica_view view;

    fx_view(f, &view);
    uint64_t hlc = view.hlc;
    at_replica_view_deinit(&view);
    return hlc;
}

/* --- a copy --- */

struct cfx {
    struct fx *to;
    struct at_copy_source *source;
    struct at_copy_sink *sink;
    size_t chunk_bytes;
    uint32_t part;
    struct at_buf cursor;
    uint64_t bytes; /* of items */
};

/* `to` is made to need one. */
static FX_UNUSED enum at_code
cfx_try_begin(struct cfx *c, struct fx *to, struct fx *from, struct at_error *error)
{
    struct at_vector needs = {0};

    *c = (struct cfx){.to = to, .chunk_bytes = 1 << 20};
    at_buf_init(&c->cursor, AT_KEY_BYTES_MAX);
    AT_TRY(at_copy_source_open(from->store, to->config.replica.self, &needs, &c->source, error));
    struct at_copy_offer offer = at_copy_source_offer(c->source);
    enum at_code code =
        at_copy_sink_open(to->store, offer.state, offer.part_count, &c->sink, error);
    if (code != AT_OK)
        at_copy_source_close(&c->source);
    return code;
}

static FX_UNUSED void cfx_begin(struct cfx *c, struct fx *to, struct fx *from)
{
    struct at_error error = {0};

    if (cfx_mode(to) == AT_MODE_READY)
        cfx_change(to, cfx_set_mode, AT_MODE_NEEDS_COPY);
    enum at_code code = cfx_try_begin(c, to, from, &error);
    if (code != AT_OK)
        fprintf(stderr, "copy: %s\n", error.msg);
    AT_ASSERT(code == AT_OK);
}

/* One chunk; false when all parts are whole. */
static FX_UNUSED bool cfx_step(struct cfx *c)
{
    struct at_error error = {0};
    struct at_buf items;
    struct at_buf next;

    if (c->part == at_copy_source_offer(c->source).part_count)
        return false;
    at_buf_init(&items, 256 * AT_MIB);
    at_buf_init(&next, AT_KEY_BYTES_MAX);
    struct at_copy_read read = {.part = c->part,
                                .cursor = at_buf_slice(&c->cursor),
                                .max_bytes = c->chunk_bytes,
                                .items = &items,
                                .next = &next};
    enum at_code code = at_copy_source_read(c->source, &read, &error);
    if (code == AT_OK)
        code = at_copy_sink_take(c->sink, c->part, at_buf_slice(&next), read.last,
                                 at_buf_slice(&items), &error);
    if (code != AT_OK)
        fprintf(stderr, "chunk: %s\n", error.msg);
    AT_ASSERT(code == AT_OK);
    c->bytes += items.len;
    at_buf_clear(&c->cursor);
    code = at_buf_append(&c->cursor, at_buf_slice(&next));
    AT_ASSERT(code == AT_OK);
    c->part += read.last ? 1 : 0;
    at_buf_deinit(&items);
    at_buf_deinit(&next);
    return true;
}

static FX_UNUSED enum at_code cfx_finish(struct cfx *c, struct at_error *error)
{
    while (cfx_step(c))
        continue;
    enum at_code code = at_copy_sink_finish(&c->sink, error);
    at_copy_sink_abort(&c->sink);
    at_copy_source_close(&c->source);
    at_buf_deinit(&c->cursor);
    return code;
}

static FX_UNUSED void cfx_abort(struct cfx *c)
{
    at_copy_sink_abort(&c->sink);
    at_copy_source_close(&c->source);
    at_buf_deinit(&c->cursor);
}

/* The whole of it; `to` may write afterwards. */
static FX_UNUSED void cfx_copy(struct fx *to, struct fx *from, size_t chunk_bytes)
{
    struct at_error error = {0};
    struct cfx c;

    cfx_begin(&c, to, from);
    c.chunk_bytes = chunk_bytes;
    enum at_code code = cfx_finish(&c, &error);
    if (code != AT_OK)
        fprintf(stderr, "finish: %s\n", error.msg);
    AT_ASSERT(code == AT_OK);
    cfx_change(to, cfx_set_caught_up, 0);
}

/* --- comparing --- */

static FX_UNUSED struct at_digest cfx_digest(struct fx *f)
{
    struct at_digest_run *run = NULL;
    struct at_digest d = {0};
    bool done = false;

    AT_ASSERT(at_digest_open(f->store, at_slice_make(NULL, 0), 1, &run, NULL) == AT_OK);
    while (!done)
        AT_ASSERT(at_digest_step(run, 1 << 20, &done, &d, NULL) == AT_OK);
    at_digest_close(&run);
    return d;
}

static FX_UNUSED bool cfx_same(struct fx *a, struct fx *b)
{
    struct at_digest x = cfx_digest(a);
    struct at_digest y = cfx_digest(b);

    return x.rows == y.rows && x.cells == y.cells && memcmp(x.bytes, y.bytes, 16) == 0;
}

#endif
