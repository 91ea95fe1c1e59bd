/* store_fixture.h: a real store in a folder of its own, and one-line writes and reads on it. Two
 * fixtures of one instance exchange their logs by hand, without a network. */
#ifndef ATOLL_TESTS_SUPPORT_STORE_FIXTURE_H
#define ATOLL_TESTS_SUPPORT_STORE_FIXTURE_H

#include <ftw.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "cluster/tablet/store.h"
#include "replication/peer/peering.h"
#include "support/read_text.h"
#include "support/test_path.h"

#define FX_UNUSED __attribute__((unused))
#define FX_NAME AT_LIT("projects/p/instances/i/tables/t")
#define FX_PLAIN ""
#define FX_SUM "\x1a\x04\x32\x02\x22\x00" /* ColumnFamily { value_type { aggregate { sum } } } */
#define FX_MAX "\x1a\x04\x32\x02\x32\x00"
#define FX_MIN "\x1a\x04\x32\x02\x3a\x00"
#define FX_HLL "\x1a\x04\x32\x02\x2a\x00"
#define FX_FIELDS(s) at_slice_make(("" s ""), sizeof(s) - 1)
#define FX_SIZES_MAX 1024
#define FX_RUNS_MAX 2048

#ifdef __SANITIZE_THREAD__
/* RocksDB is not built for it, so its locks are not seen. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:librocksdb.so\n";
}
#endif

static const struct at_member_id fx_members[] = {{1}, {2}, {3}};

struct fx {
    char dir[64];
    struct at_store *store;
    struct at_store_config config;
    _Atomic uint64_t wall_offset_ns; /* added to the wall clock */
};

/* A write that is waited for. */
struct fx_wait {
    sem_t done;
};

static uint64_t fx_wall_ns(void *ctx)
{
    struct fx *f = ctx;
    struct at_clock system = at_clock_system();

    return at_clock_wall_ns(&system) + f->wall_offset_ns;
}

static uint64_t fx_mono_ns(void *ctx)
{
    struct at_clock system = at_clock_system();

    (void)ctx;
    return at_clock_mono_ns(&system);
}

/* Waits for what the store does; one that is manual is driven. */
static FX_UNUSED void fx_await(struct fx *f, sem_t *done)
{
    while (f->config.manual && sem_trywait(done) != 0) {
        at_store_turn(f->store);
        (void)at_store_collect_turn(f->store, 4 * AT_KIB);
    }
    while (!f->config.manual && sem_wait(done) != 0)
        continue; /* interrupted */
}

/* --- giving a reply to a store --- */

struct fx_apply {
    struct at_apply apply;
    sem_t done;
};

static void fx_applied(struct at_apply *apply)
{
    sem_post(&((struct fx_apply *)apply)->done);
}

/* --- opening --- */

static FX_UNUSED enum at_code fx_try_open(struct fx *f, struct at_error *error)
{
    f->config.dir = f->dir;
    return at_store_open(&f->config, &f->store, error);
}

static FX_UNUSED void fx_reopen(struct fx *f)
{
    struct at_error error = {0};
    enum at_code rc = fx_try_open(f, &error);

    if (rc != AT_OK)
        fprintf(stderr, "open: %s\n", error.msg);
    AT_ASSERT(rc == AT_OK);
}

static FX_UNUSED void fx_prepare(struct fx *f, uint32_t member, uint32_t member_count)
{
    *f = (struct fx){0};
    (void)test_path(f->dir, sizeof(f->dir), "atoll-test");
    AT_ASSERT(mkdtemp(f->dir) != NULL);
    f->config = (struct at_store_config){
        .block_cache_bytes = 8 * AT_MIB,
        .memtable_bytes = 16 * AT_MIB,
        .clock = {fx_wall_ns, fx_mono_ns, f},
        .replica =
            {
                .instance_id = 77,
                .self = {member},
                .members = fx_members,
                .member_count = member_count,
                .max_skew_ns = 5000 * AT_MS_NS,
                .reserve_step_ns = 1000 * AT_MS_NS,
            },
        .on_applied = fx_applied,
    };
}

static FX_UNUSED void fx_open(struct fx *f, uint32_t member, uint32_t member_count)
{
    fx_prepare(f, member, member_count);
    fx_reopen(f);
}

static int fx_remove(const char *path, const struct stat *s, int kind, struct FTW *ftw)
{
    (void)s, (void)kind, (void)ftw;
    return remove(path);
}

static FX_UNUSED void fx_close(struct fx *f)
{
    at_store_close(&f->store);
    nftw(f->dir, fx_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* --- writing --- */

static void fx_done(struct at_write *write)
{
    sem_post(&((struct fx_wait *)write->ctx)->done);
}

static FX_UNUSED enum at_code fx_run(struct fx *f, struct at_write *write)
{
    struct fx_wait wait;

    sem_init(&wait.done, 0, 0);
    write->done = fx_done;
    write->ctx = &wait;
    enum at_code code = at_store_submit(f->store, write);
    for (; code == AT_RESOURCE_EXHAUSTED; code = at_store_submit(f->store, write))
        (void)usleep(1000); /* a test has filled the queue, which becomes shorter now */
    AT_ASSERT(code == AT_OK);
    fx_await(f, &wait.done);
    sem_destroy(&wait.done);
    return write->code;
}

static inline struct at_slice fx_s(const char *s)
{
    return at_slice_cstr(s);
}

/* One row's mutations; the code of the row, or of the whole request. */
static FX_UNUSED enum at_code fx_mutate_in(struct fx *f,
                                           const char *table,
                                           struct at_slice row,
                                           struct at_mutation *mutations,
                                           uint32_t count,
                                           struct at_error *reterr)
{
    struct at_row_mutations one = {
        .row = row, .mutations = mutations, .mutation_count = count, .error = reterr};
    struct at_write_rows write = {
        .base = {.kind = AT_WRITE_ROWS},
        .table = fx_s(table),
        .full_name = FX_NAME,
        .rows = &one,
        .row_count = 1,
    };
    enum at_code code = fx_run(f, &write.base);

    if (code != AT_OK && reterr != NULL)
        *reterr = write.base.error;
    return code != AT_OK ? code : one.code;
}

static FX_UNUSED enum at_code fx_mutate(struct fx *f,
                                        const char *row,
                                        struct at_mutation *mutations,
                                        uint32_t count,
                                        struct at_error *e)
{
    return fx_mutate_in(f, "t", fx_s(row), mutations, count, e);
}

static inline struct at_mutation
fx_set_of(const char *family, const char *qualifier, int64_t ts, const char *value)
{
    return (struct at_mutation){
        .kind = AT_MUTATION_SET,
        .family = fx_s(family),
        .qualifier = fx_s(qualifier),
        .timestamp_micros = ts,
        .value = fx_s(value),
    };
}

static FX_UNUSED enum at_code fx_set(struct fx *f,
                                     const char *row,
                                     const char *family,
                                     const char *qualifier,
                                     int64_t ts,
                                     const char *value)
{
    struct at_mutation m = fx_set_of(family, qualifier, ts, value);

    return fx_mutate(f, row, &m, 1, NULL);
}

static FX_UNUSED enum at_code
fx_add(struct fx *f, const char *row, const char *family, const char *qualifier, int64_t n)
{
    uint8_t value[8];
    struct at_mutation m = {
        .kind = AT_MUTATION_ADD,
        .family = fx_s(family),
        .qualifier = fx_s(qualifier),
        .timestamp_micros = 1000,
        .value = at_slice_make(value, sizeof(value)),
    };

    at_put_be64(value, (uint64_t)n);
    return fx_mutate(f, row, &m, 1, NULL);
}

static FX_UNUSED enum at_code fx_delete_row(struct fx *f, const char *row)
{
    struct at_mutation m = {.kind = AT_MUTATION_DELETE_ROW};

    return fx_mutate(f, row, &m, 1, NULL);
}

static FX_UNUSED enum at_code fx_drop(struct fx *f, const char *table, const char *prefix)
{
    struct at_write_drop write = {
        .base = {.kind = AT_WRITE_DROP},
        .table = fx_s(table),
        .full_name = FX_NAME,
        .prefix = fx_s(prefix),
    };

    return fx_run(f, &write.base);
}

/* --- catalog --- */

struct fx_catalog {
    struct at_write_catalog write;
    const char *table;
    const char *family; /* NULL: the table itself */
    struct at_slice fields;
    bool create;
};

static enum at_code
fx_decide(struct at_write_catalog *write, const struct at_catalog *c, struct at_error *reterr)
{
    struct fx_catalog *x = (struct fx_catalog *)write;
    struct at_catalog_record *r = AT_ARENA_NEW(write->arena, struct at_catalog_record);
    const struct at_table *table = at_catalog_table(c, fx_s(x->table));
    uint64_t counter = at_catalog_table_counter(c, fx_s(x->table));
    struct at_buf fields;

    r->kind = AT_CATALOG_TABLE;
    r->name = fx_s(x->table);
    if (x->family != NULL) {
        if (table == NULL)
            return at_fail(reterr, AT_NOT_FOUND, "no such table");
        r->kind = AT_CATALOG_FAMILY;
        r->name = fx_s(x->family);
        r->table = fx_s(x->table);
        r->table_generation = table->generation;
        r->fields = x->fields;
        counter = at_catalog_family_counter(c, r->table, r->table_generation, r->name);
    } else {
        at_buf_init(&fields, AT_KIB);
        struct at_table_fields f = {.granularity_micros = 1000};
        AT_ASSERT(at_table_fields_encode(&f, &fields) == AT_OK);
        r->fields = at_arena_copy(write->arena, at_buf_slice(&fields));
        at_buf_deinit(&fields);
    }
    if ((counter % 2 == 1) == x->create)
        return at_fail(reterr, x->create ? AT_ALREADY_EXISTS : AT_NOT_FOUND, "already so");
    r->counter = counter + 1;
    write->records = r;
    write->record_count = 1;
    return AT_OK;
}

static FX_UNUSED enum at_code
fx_change(struct fx *f, const char *table, const char *family, struct at_slice fields, bool create)
{
    struct at_arena arena;
    struct fx_catalog x = {
        .write = {.base = {.kind = AT_WRITE_CATALOG}, .decide = fx_decide, .arena = &arena},
        .table = table,
        .family = family,
        .fields = fields,
        .create = create,
    };

    at_arena_init(&arena, 1024);
    enum at_code code = fx_run(f, &x.write.base);
    AT_ASSERT((code == AT_OK) == (x.write.ret_schema != NULL));
    at_schema_unref(&x.write.ret_schema);
    at_arena_deinit(&arena);
    return code;
}

/* Table "t" with plain families f and g. */
static FX_UNUSED void fx_make_table(struct fx *f)
{
    struct at_slice none = {NULL, 0};

    AT_ASSERT(fx_change(f, "t", NULL, none, true) == AT_OK);
    AT_ASSERT(fx_change(f, "t", "f", none, true) == AT_OK);
    AT_ASSERT(fx_change(f, "t", "g", none, true) == AT_OK);
}

/* --- reading --- */

/* All rows of a table as text (see read_text.h). The caller frees it. */
static FX_UNUSED char *fx_rows(struct fx *f, const char *table)
{
    struct at_arena arena;
    struct at_row_set rows;
    struct at_buf out;

    at_arena_init(&arena, 1024);
    at_buf_init(&out, 64 * AT_MIB);
    at_row_set_init(&rows);
    at_row_set_finish(&rows, &arena);
    struct at_read_spec spec = {.table = fx_s(table), .rows = &rows};
    read_text(f->store, &spec, 1 << 20, &out);
    char *text = at_dup(out.data, out.len);
    at_buf_deinit(&out);
    at_arena_deinit(&arena);
    return text;
}

#define fx_expect_rows(f, table, expected)         \
    do {                                           \
        char *fx_text_ = fx_rows((f), (table));    \
        assert_string_equal(fx_text_, (expected)); \
        at_free(fx_text_);                         \
    } while (0)

/* --- exchanging logs --- */

struct fx_reply {
    struct fx_apply apply;
    struct at_replica_view view;
    struct at_buf bytes;
    struct at_arena arena;
};

/* Builds what `from` would answer to a pull of one that has applied `have`: everything beyond, at
 * most `bytes_max` of each (origin, epoch). */
static FX_UNUSED void
fx_reply_make(struct fx_reply *r, struct fx *from, const struct at_vector *have, size_t bytes_max)
{
    static const size_t reply_bytes_max = 4 * AT_MIB;
    uint32_t *sizes = at_alloc(FX_SIZES_MAX * sizeof(*sizes));

    memset(r, 0, sizeof(*r));
    at_arena_init(&r->arena, 4096);
    at_buf_init(&r->bytes, reply_bytes_max);
    AT_ASSERT(at_buf_reserve(&r->bytes, reply_bytes_max) == AT_OK); /* so that it never moves */
    at_replica_view_init(&r->view);
    at_store_view(from->store, &r->view);
    r->apply.apply.message.kind = AT_MESSAGE_REPLY;
    struct at_reply *reply = &r->apply.apply.message.u.reply;
    *reply = (struct at_reply){
        .instance_id = 77,
        .from = from->config.replica.self,
        .incarnation = r->view.epoch,
        .hlc = r->view.hlc,
        .facts = r->view.facts,
        .runs = AT_ARENA_ARRAY(&r->arena, struct at_run, FX_RUNS_MAX),
    };
    at_vector_init(&reply->ends_known);
    at_vector_copy(&reply->ends_known, &r->view.applied);
    for (uint32_t i = 0; i < r->view.applied.count; i++) {
        struct at_position end = r->view.applied.items[i];
        uint64_t had = at_vector_get(have, end.origin, end.epoch);
        const struct at_log_read what = {
            {end.origin, end.epoch, had + 1}, end.seq, bytes_max, FX_SIZES_MAX};
        uint32_t count = 0;
        size_t at = r->bytes.len;
        if (had >= end.seq)
            continue;
        enum at_code rc = at_store_read_log(from->store, &what, &r->bytes, sizes, &count, NULL);
        AT_ASSERT(rc == AT_OK);
        for (uint32_t n = 0; n < count; n++) {
            AT_ASSERT(reply->run_count < FX_RUNS_MAX);
            reply->runs[reply->run_count++] = (struct at_run){
                .origin = end.origin,
                .epoch = end.epoch,
                .record = at_slice_make(r->bytes.data + at, sizes[n]),
            };
            at += sizes[n];
        }
    }
    at_free(sizes);
}

static FX_UNUSED void fx_reply_free(struct fx_reply *r)
{
    at_vector_deinit(&r->apply.apply.message.u.reply.ends_known);
    at_replica_view_deinit(&r->view);
    at_buf_deinit(&r->bytes);
    at_arena_deinit(&r->arena);
}

static FX_UNUSED void fx_reply_give(struct fx_reply *r, struct fx *to)
{
    sem_init(&r->apply.done, 0, 0);
    AT_ASSERT(at_store_apply(to->store, &r->apply.apply));
    fx_await(to, &r->apply.done);
    sem_destroy(&r->apply.done);
}

static FX_UNUSED void fx_view(struct fx *f, struct at_replica_view *view)
{
    at_replica_view_init(view);
    at_store_view(f->store, view);
}

/* `to` pulls once from `from`, taking about bytes_max of each log. Returns entries applied. */
static FX_UNUSED uint32_t fx_pull(struct fx *to, struct fx *from, size_t bytes_max)
{
    struct fx_reply *reply = at_alloc(sizeof(*reply));
    struct at_replica_view view;

    fx_view(to, &view);
    fx_reply_make(reply, from, &view.applied, bytes_max);
    fx_reply_give(reply, to);
    AT_ASSERT(!reply->apply.apply.dropped);
    uint32_t applied = reply->apply.apply.applied_count;
    fx_reply_free(reply);
    at_free(reply);
    at_replica_view_deinit(&view);
    return applied;
}

static FX_UNUSED void fx_exchange(struct fx *a, struct fx *b)
{
    fx_pull(a, b, 1 << 20);
    fx_pull(b, a, 1 << 20);
    fx_pull(a, b, 1 << 20);
}

/* --- calls of replication --- */

struct fx_call {
    struct at_replica_call call;
    struct at_pull pull;
    uint64_t mono_ns;
    sem_t done;
};

static void fx_call_run(struct at_replica_call *call, struct at_replica *replica)
{
    struct fx_call *c = (struct fx_call *)call;

    at_replica_on_pull(replica, &c->pull, c->mono_ns);
}

static void fx_call_done(struct at_replica_call *call)
{
    sem_post(&((struct fx_call *)call)->done);
}

/* Tells `to` what `from` has, durable as applied when `durable`: the acknowledgement of a pull. */
static FX_UNUSED void fx_acknowledge(struct fx *to, struct fx *from)
{
    struct fx_call c = {.call = {.run = fx_call_run, .done = fx_call_done}};
    struct at_replica_view view;

    fx_view(from, &view);
    c.pull = (struct at_pull){
        .instance_id = 77,
        .from = from->config.replica.self,
        .incarnation = view.epoch,
        .hlc = view.hlc,
    };
    at_vector_copy(&c.pull.applied, &view.applied);
    at_vector_copy(&c.pull.durable, &view.durable);
    c.mono_ns = fx_mono_ns(NULL);
    sem_init(&c.done, 0, 0);
    AT_ASSERT(at_store_call(to->store, &c.call));
    fx_await(to, &c.done);
    sem_destroy(&c.done);
    at_vector_deinit(&c.pull.applied);
    at_vector_deinit(&c.pull.durable);
    at_replica_view_deinit(&view);
}

#endif
