#include "cluster/tablet/collector.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/log.h"
#include "cluster/tablet/garbage_walk.h"
#include "cluster/tablet/writer.h"

#include <semaphore.h>
#include <sys/resource.h>
#include <unistd.h>

/* Why nothing of this is replicated, and why that is safe:
 *  - What goes is hidden for good, or condemned by a rule that every cluster has, so each finds the
 *    same by itself, sooner or later. Digests leave condemned cells out, wherever they are.
 *  - The log is another keyspace. What a peer has yet to receive is read from there, whether the
 *    cells it made are still here or not.
 *  - Markers stay, so a cell that arrives late finds what hides it.
 *
 * Versions do not converge like age does: when one cluster has collected an older version, and then
 * the newer one that condemned it is deleted by a range of timestamps, a cluster that had not yet
 * collected shows the older one. Production's clusters do so too.
 *
 * A round skips its turn when nothing was written since the last one began and no rule knows age.
 */

#define ASKED_MAX 64
#define FIRST_ROUND_NS (60 * AT_S_NS)
#define RETRY_NS AT_S_NS
#define SLICE_BYTES (512 * AT_KIB)
#define REST_FACTOR 4 /* a round rests so many times as long as it works */
#define REST_MS_MAX 100
#define NICE 10
#define IDLE_MS_MAX 60000

struct target {
    uint32_t table_id;
    uint32_t family_id;
};

/* One round over some tables. */
struct pass {
    struct target *targets;
    uint32_t count;
    bool rests;
    int64_t now_micros;
    uint64_t rest_until_ns; /* later it works without rests: it is late */
    uint64_t collected_count;
    struct at_garbage_walk walk;
    struct at_garbage_batch batch;
};

struct at_collector {
    struct at_store *store;
    struct at_mailbox asked;
    atomic_bool stopping;
    pthread_t thread;
    struct at_write_collect write;
    sem_t written;
    uint64_t next_round_ns;
    /* of the last whole round: what was known when it began */
    bool round_known;

    uint64_t round_operations;
    uint64_t round_schema;
};

static void *collector_main(void *ctx);
static void serve(struct at_collector *c, struct at_mail *list);
static void serve_one(struct at_collector *c, struct at_collect *collect);
static void compact(struct at_collector *c, const struct pass *p);
static void take_turn(struct at_collector *c);
static bool nothing_new(const struct at_collector *c, const struct at_schema *schema);
static enum at_code
begin_pass(struct at_collector *c, struct pass *p, struct at_slice table, struct at_error *reterr);
static void end_pass(struct pass *p);
static void add_targets(struct pass *p, const struct at_table *table);
static enum at_code run_pass(struct at_collector *c, struct pass *p, struct at_error *reterr);
static enum at_code
run_target(struct at_collector *c, struct pass *p, struct target target, struct at_error *reterr);
static void rest(struct at_collector *c, const struct pass *p, uint64_t worked_ns);
static enum at_code write_batch(struct at_collector *c, struct pass *p, struct at_error *reterr);
static enum at_code submit(struct at_collector *c, struct at_error *reterr);
static void on_written(struct at_write *write);

static uint64_t mono_ns(const struct at_collector *c)
{
    return at_clock_mono_ns(&c->store->config.clock);
}

static uint64_t period_ns(const struct at_collector *c)
{
    return c->store->config.gc_delay_s * AT_S_NS / 2;
}

struct at_collector *at_collector_start(struct at_store *store)
{
    struct at_collector *c = AT_NEW(struct at_collector);

    c->store = store;
    at_mailbox_init(&c->asked, ASKED_MAX);
    sem_init(&c->written, 0, 0);
    c->next_round_ns = mono_ns(c) + (period_ns(c) < FIRST_ROUND_NS ? period_ns(c) : FIRST_ROUND_NS);
    int failed = pthread_create(&c->thread, NULL, collector_main, c);
    AT_ASSERT(failed == 0);
    return c;
}

void at_collector_stop(struct at_collector **stopped)
{
    struct at_collector *c = AT_TAKE(*stopped);

    if (c == NULL)
        return;
    atomic_store(&c->stopping, true);
    at_mailbox_close(&c->asked);
    at_engine_compact_stop(c->store->engine);
    pthread_join(c->thread, NULL);
    sem_destroy(&c->written);
    at_mailbox_deinit(&c->asked);
    at_free(c);
}

enum at_code at_collector_ask(struct at_collector *c, struct at_collect *collect)
{
    collect->code = AT_OK;
    collect->collected_count = collect->sieved_count = 0;
    if (at_mailbox_push(&c->asked, &collect->mail, NULL))
        return AT_OK;
    return atomic_load(&c->stopping) ? AT_UNAVAILABLE : AT_RESOURCE_EXHAUSTED;
}

static void *collector_main(void *ctx)
{
    struct at_collector *c = ctx;

    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE); /* of this thread alone */
    while (!atomic_load(&c->stopping)) {
        uint64_t now = mono_ns(c);
        uint64_t wait_ms = IDLE_MS_MAX;
        if (c->store->config.gc_delay_s > 0) {
            uint64_t wait_ns = c->next_round_ns > now ? c->next_round_ns - now : 0;
            wait_ms = wait_ns / AT_MS_NS < IDLE_MS_MAX ? wait_ns / AT_MS_NS + 1 : IDLE_MS_MAX;
        }
        serve(c, at_mailbox_wait(&c->asked, (uint32_t)wait_ms));
        if (c->store->config.gc_delay_s > 0 && mono_ns(c) >= c->next_round_ns)
            take_turn(c);
    }
    serve(c, at_mailbox_take(&c->asked));
    return NULL;
}

/* --- what was asked for --- */

/* NOLINTBEGIN(misc-no-recursion): see rest. */

static void serve(struct at_collector *c, struct at_mail *list)
{
    while (list != NULL) {
        struct at_collect *collect = (struct at_collect *)list; /* mail is its first member */
        list = list->next;
        serve_one(c, collect);
        collect->done(collect);
    }
}

static void serve_one(struct at_collector *c, struct at_collect *collect)
{
    struct pass *p = AT_NEW(struct pass);
    struct at_engine *engine = c->store->engine;
    uint64_t sieved = at_engine_sieved_count(engine);

    collect->code = begin_pass(c, p, collect->table, &collect->error);
    if (collect->code == AT_OK)
        collect->code = run_pass(c, p, &collect->error);
    if (collect->code == AT_OK)
        compact(c, p);
    collect->collected_count = p->collected_count;
    collect->sieved_count = at_engine_sieved_count(engine) - sieved;
    end_pass(p);
}

/* NOLINTEND(misc-no-recursion) */

static void compact(struct at_collector *c, const struct pass *p)
{
    for (uint32_t i = 0; i < p->count && !atomic_load(&c->stopping); i++) {
        uint8_t start[AT_KEY_PREFIX_BYTES] = {0};
        uint8_t end[AT_KEY_PREFIX_BYTES] = {0};
        if (i > 0 && p->targets[i].table_id == p->targets[i - 1].table_id)
            continue; /* a table's families are together */
        at_put_be32(start, p->targets[i].table_id);
        at_put_be32(end, p->targets[i].table_id + 1);
        at_engine_compact(c->store->engine, at_slice_make(start, sizeof(start)),
                          at_slice_make(end, sizeof(end)));
    }
}

/* --- the rounds --- */

static void take_turn(struct at_collector *c)
{
    uint64_t begun_ns = mono_ns(c);
    struct at_schema *schema AT_CLEANUP(at_schema_unref) = at_store_schema(c->store);
    uint64_t operations = atomic_load(&c->store->operations);
    struct at_error error = {0};

    c->next_round_ns = begun_ns + period_ns(c);
    if (nothing_new(c, schema))
        return;
    struct pass *p = AT_NEW(struct pass);
    p->rests = true;
    p->rest_until_ns = begun_ns + period_ns(c) / 2;
    enum at_code code = begin_pass(c, p, at_slice_make(NULL, 0), &error);
    if (code == AT_OK)
        code = run_pass(c, p, &error);
    end_pass(p);
    c->round_known = code == AT_OK;
    c->round_operations = operations;
    c->round_schema = schema->version;
    if (code == AT_OK || atomic_load(&c->stopping))
        return;
    at_log(AT_LOG_WARN, "a round of garbage collection failed, retrying",
           AT_KV_STR("error", error.msg));
    if (period_ns(c) > RETRY_NS)
        c->next_round_ns = mono_ns(c) + RETRY_NS;
}

/* Floors that rise make a new schema, but only where a rule knows age. */
static bool nothing_new(const struct at_collector *c, const struct at_schema *schema)
{
    if (!c->round_known || c->round_schema != schema->version ||
        c->round_operations != atomic_load(&c->store->operations))
        return false;
    for (uint32_t t = 0; t < at_catalog_table_count(schema->catalog); t++) {
        const struct at_table *table = at_catalog_table_at(schema->catalog, t);
        for (uint32_t i = 0; i < table->family_count; i++)
            if (at_gc_rule_ages(table->families[i].rule))
                return false;
    }
    return true;
}

/* --- a pass --- */

/* Raises the floors first: what they hide is garbage at once. `table` empty: all. */
static enum at_code
begin_pass(struct at_collector *c, struct pass *p, struct at_slice table, struct at_error *reterr)
{
    at_garbage_walk_init(&p->walk, c->store);
    at_garbage_batch_init(&p->batch);
    c->write = (struct at_write_collect){.raise_floors = true};
    AT_TRY(submit(c, reterr));
    p->now_micros = c->write.ret_now_micros;

    struct at_schema *schema AT_CLEANUP(at_schema_unref) = at_store_schema(c->store);
    if (table.len > 0) {
        const struct at_table *one = at_catalog_table(schema->catalog, table);
        if (one == NULL)
            return at_fail(reterr, AT_NOT_FOUND, "Table not found: %.*s", AT_SLICE_ARG(table));
        add_targets(p, one);
        return AT_OK;
    }
    for (uint32_t i = 0; i < at_catalog_table_count(schema->catalog); i++)
        add_targets(p, at_catalog_table_at(schema->catalog, i));
    return AT_OK;
}

static void end_pass(struct pass *p)
{
    at_garbage_walk_deinit(&p->walk);
    at_garbage_batch_deinit(&p->batch);
    at_free(p->targets);
    at_free(p);
}

static void add_targets(struct pass *p, const struct at_table *table)
{
    p->targets = at_realloc(p->targets, (p->count + table->family_count + 1) * sizeof(*p->targets));
    for (uint32_t i = 0; i < table->family_count; i++)
        p->targets[p->count++] = (struct target){table->id, table->families[i].id};
}

/* NOLINTBEGIN(misc-no-recursion): see rest. */

static enum at_code run_pass(struct at_collector *c, struct pass *p, struct at_error *reterr)
{
    for (uint32_t i = 0; i < p->count; i++) {
        enum at_code code = run_target(c, p, p->targets[i], reterr);
        if (code == AT_ABORTED) /* judged by a void schema; by another one now */
            code = run_target(c, p, p->targets[i], reterr);
        if (code != AT_OK)
            return code;
    }
    return AT_OK;
}

static enum at_code
run_target(struct at_collector *c, struct pass *p, struct target target, struct at_error *reterr)
{
    struct at_garbage_aim aim = {target.table_id, target.family_id, p->now_micros};
    bool done = false;

    at_garbage_walk_begin(&p->walk, aim);
    while (!done) {
        uint64_t begun_ns = mono_ns(c);
        if (atomic_load(&c->stopping))
            return at_fail(reterr, AT_UNAVAILABLE, "the store is closing");
        at_garbage_batch_clear(&p->batch);
        AT_TRY(at_garbage_walk_step(&p->walk, &p->batch, SLICE_BYTES, begun_ns, &done, reterr));
        uint64_t worked_ns = mono_ns(c) - begun_ns;
        AT_TRY(write_batch(c, p, reterr));
        if (p->rests)
            rest(c, p, worked_ns);
    }
    return AT_OK;
}

/* Meanwhile it serves what people ask for. Only the passes of rounds rest, and what serves is no
 * round: rest is never within rest. */
static void rest(struct at_collector *c, const struct pass *p, uint64_t worked_ns)
{
    uint64_t rest_ms = worked_ns * REST_FACTOR / AT_MS_NS;

    if (mono_ns(c) > p->rest_until_ns)
        rest_ms = 0;
    serve(c, at_mailbox_wait(&c->asked, (uint32_t)(rest_ms < REST_MS_MAX ? rest_ms : REST_MS_MAX)));
}

/* NOLINTEND(misc-no-recursion) */

static enum at_code write_batch(struct at_collector *c, struct pass *p, struct at_error *reterr)
{
    if (p->batch.count == 0)
        return AT_OK;
    c->write = (struct at_write_collect){
        .schema_version = p->batch.schema_version,
        .keys = p->batch.keys,
        .key_count = p->batch.count,
    };
    AT_TRY(submit(c, reterr));
    p->collected_count += p->batch.count;
    atomic_fetch_add_explicit(&c->store->collected, p->batch.count, memory_order_relaxed);
    return AT_OK;
}

static enum at_code submit(struct at_collector *c, struct at_error *reterr)
{
    struct at_write *write = &c->write.base;

    write->kind = AT_WRITE_COLLECT;
    write->done = on_written;
    write->ctx = c;
    enum at_code code = at_store_submit(c->store, write);
    if (code != AT_OK)
        return at_fail(reterr, code, "the writer takes nothing more now");
    while (sem_wait(&c->written) != 0)
        ; /* interrupted */
    if (write->code != AT_OK && reterr != NULL)
        *reterr = write->error;
    return write->code;
}

static void on_written(struct at_write *write)
{
    sem_post(&((struct at_collector *)write->ctx)->written);
}
