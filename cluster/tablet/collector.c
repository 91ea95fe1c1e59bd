#include "cluster/tablet/collector.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/log.h"
#include "cluster/tablet/garbage_pass.h"
#include "cluster/tablet/writer.h"

#include <sys/resource.h>
#include <unistd.h>

/* Why nothing of this is replicated, and why that is safe:
 *  - What goes is hidden for good, or condemned by a rule that every cluster has, so each finds the
 *    same by itself, sooner or later. Digests leave condemned cells out, wherever they are.
 *  - The log is another keyspace. What a peer has yet to receive is read from there, whether the
 *    cells it made are still here or not.
 *  - Markers stay until the horizon has passed them, so a cell that arrives late finds what hides
 *    it; below the horizon nothing arrives late.
 *
 * Versions do not converge like age does: when one cluster has collected an older version, and then
 * the newer one that condemned it is deleted by a range of timestamps, a cluster that had not yet
 * collected shows the older one. Production's clusters do so too.
 *
 * A round skips its turn when nothing was written since the last one began, no rule knows age, and
 * the last one left nothing that may be forgotten once the horizon has moved on.
 */

#define ASKED_MAX 64
#define FIRST_ROUND_NS (60 * AT_S_NS)
#define RETRY_NS AT_S_NS
#define SLICE_BYTES (512 * AT_KIB)
#define REST_FACTOR 4 /* a round rests so many times as long as it works */
#define REST_MS_MAX 100
#define NICE 10
#define IDLE_MS_MAX 60000

/* One round over all tables, or what someone asked for. */
struct pass {
    struct at_garbage_pass pass;
    struct at_collect *asked; /* NULL: a round */
    bool rests;
    uint64_t rest_until_ns; /* later it works without rests: it is late */
    uint64_t sieved_before;
    /* of a round, when it began */
    uint64_t operations;
    uint64_t schema_version;
};

struct at_collector {
    struct at_store *store;
    struct at_mailbox asked;
    atomic_bool stopping;
    pthread_t thread;
    uint64_t next_round_ns;
    /* of the last whole round: what was known when it began */
    bool round_known;
    uint64_t round_left_hlc; /* what it left may be forgotten once the horizon is there */
    uint64_t round_operations;
    uint64_t round_schema;
    /* of a manual store */
    struct at_mail *waiting; /* taken from `asked` */
    struct pass *under_way;
};

static void *collector_main(void *ctx);
static void serve(struct at_collector *c, struct at_mail *list);
static void serve_one(struct at_collector *c, struct at_collect *collect);
static enum at_code begin_asked(struct at_collector *c, struct at_collect *asked, struct pass **p);
static void end_asked(struct at_collector *c, struct pass **p, enum at_code code);
static void compact(struct at_collector *c, const struct at_garbage_pass *p);
static void take_turn(struct at_collector *c);
static struct pass *begin_round(struct at_collector *c, enum at_code *ret_code, struct at_error *e);
static void end_round(struct at_collector *c,
                      struct pass **ended,
                      enum at_code code,
                      const struct at_error *error);
static bool nothing_new(const struct at_collector *c, const struct at_schema *schema);
static bool begin_turn(struct at_collector *c);
static enum at_code run_pass(struct at_collector *c, struct pass *p, struct at_error *reterr);
static void rest(struct at_collector *c, const struct pass *p, uint64_t worked_ns);

static uint64_t mono_ns(const struct at_collector *c)
{
    return at_clock_mono_ns(&c->store->config.clock);
}

static uint64_t period_ns(const struct at_collector *c)
{
    return c->store->config.gc_delay_s * AT_S_NS / 2;
}

static bool round_due(const struct at_collector *c)
{
    return c->store->config.gc_delay_s > 0 && mono_ns(c) >= c->next_round_ns;
}

struct at_collector *at_collector_start(struct at_store *store)
{
    struct at_collector *c = AT_NEW(struct at_collector);

    c->store = store;
    at_mailbox_init(&c->asked, ASKED_MAX);
    c->next_round_ns = mono_ns(c) + (period_ns(c) < FIRST_ROUND_NS ? period_ns(c) : FIRST_ROUND_NS);
    if (store->config.manual)
        return c;
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
    if (!c->store->config.manual)
        pthread_join(c->thread, NULL);
    if (c->under_way != NULL) {
        at_garbage_pass_end(&c->under_way->pass);
        at_free(c->under_way);
    }
    at_mailbox_deinit(&c->asked);
    at_free(c);
}

enum at_code at_collector_ask(struct at_collector *c, struct at_collect *collect)
{
    collect->code = AT_OK;
    collect->collected_count = collect->sieved_count = collect->forgotten_count = 0;
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
        if (round_due(c))
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
    }
}

static void serve_one(struct at_collector *c, struct at_collect *collect)
{
    struct pass *p = NULL;
    enum at_code code = begin_asked(c, collect, &p);

    if (code == AT_OK)
        code = run_pass(c, p, &collect->error);
    end_asked(c, &p, code);
}

/* NOLINTEND(misc-no-recursion) */

static enum at_code begin_asked(struct at_collector *c, struct at_collect *asked, struct pass **p)
{
    *p = AT_NEW(struct pass);
    (*p)->asked = asked;
    (*p)->sieved_before = at_engine_sieved_count(c->store->engine);
    return at_garbage_pass_begin(&(*p)->pass, c->store, asked->table, &asked->error);
}

static void end_asked(struct at_collector *c, struct pass **ended, enum at_code code)
{
    struct pass *p = AT_TAKE(*ended);
    struct at_collect *asked = p->asked;

    if (code == AT_OK)
        compact(c, &p->pass);
    asked->code = code;
    asked->collected_count = p->pass.collected_count;
    asked->forgotten_count = p->pass.forgotten_count;
    asked->sieved_count = at_engine_sieved_count(c->store->engine) - p->sieved_before;
    at_garbage_pass_end(&p->pass);
    at_free(p);
    asked->done(asked);
}

static void compact(struct at_collector *c, const struct at_garbage_pass *p)
{
    for (uint32_t i = 0; i < p->count && !atomic_load(&c->stopping); i++) {
        uint8_t start[AT_KEY_PREFIX_BYTES] = {0};
        uint8_t end[AT_KEY_PREFIX_BYTES] = {0};
        if (i > 0 && p->targets[i].table_id == p->targets[i - 1].table_id)
            continue; /* a table's targets are together */
        at_put_be32(start, p->targets[i].table_id);
        at_put_be32(end, p->targets[i].table_id + 1);
        at_engine_compact(c->store->engine, at_slice_make(start, sizeof(start)),
                          at_slice_make(end, sizeof(end)));
    }
}

/* --- the rounds --- */

static void take_turn(struct at_collector *c)
{
    enum at_code code = AT_OK;
    struct at_error error = {0};
    struct pass *p = begin_round(c, &code, &error);

    if (p == NULL)
        return;
    if (code == AT_OK)
        code = run_pass(c, p, &error);
    end_round(c, &p, code, &error);
}

/* NULL: there is nothing to do. What came back has to be ended whatever the code. */
static struct pass *
begin_round(struct at_collector *c, enum at_code *ret_code, struct at_error *reterr)
{
    uint64_t begun_ns = mono_ns(c);
    struct at_schema *schema AT_CLEANUP(at_schema_unref) = at_store_schema(c->store);
    uint64_t operations = atomic_load(&c->store->operations);

    c->next_round_ns = begun_ns + period_ns(c);
    bool idle = nothing_new(c, schema);
    if (idle && c->round_left_hlc == UINT64_MAX)
        return NULL;
    struct pass *p = AT_NEW(struct pass);
    p->rests = true;
    p->rest_until_ns = begun_ns + period_ns(c) / 2;
    p->operations = operations;
    p->schema_version = schema->version;
    *ret_code = at_garbage_pass_begin(&p->pass, c->store, at_slice_make(NULL, 0), reterr);
    if (idle && *ret_code == AT_OK && p->pass.horizon < c->round_left_hlc) {
        at_garbage_pass_end(&p->pass);
        at_free(p);
        return NULL;
    }
    return p;
}

static void end_round(struct at_collector *c,
                      struct pass **ended,
                      enum at_code code,
                      const struct at_error *error)
{
    struct pass *p = AT_TAKE(*ended);

    c->round_known = code == AT_OK && p->pass.left_hlc > 0;
    c->round_left_hlc = p->pass.left_hlc;
    c->round_operations = p->operations;
    c->round_schema = p->schema_version;
    at_garbage_pass_end(&p->pass);
    at_free(p);
    if (code == AT_OK || atomic_load(&c->stopping))
        return;
    at_log(AT_LOG_WARN, "a round of garbage collection failed, retrying",
           AT_KV_STR("error", error->msg));
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

/* --- driven by hand --- */

bool at_collector_turn(struct at_collector *c, uint64_t bytes_max)
{
    struct at_error error = {0};
    bool done = false;

    AT_ASSERT(c->store->config.manual);
    if (c->under_way == NULL)
        return begin_turn(c);
    struct pass *p = c->under_way;
    enum at_code code = at_garbage_pass_step(&p->pass, bytes_max, &done, &error);
    if (code == AT_OK && !done)
        return true;
    if (p->asked != NULL) {
        p->asked->error = error;
        end_asked(c, &c->under_way, code);
    } else {
        end_round(c, &c->under_way, code, &error);
    }
    return c->waiting != NULL;
}

static bool begin_turn(struct at_collector *c)
{
    struct at_error error = {0};
    enum at_code code = AT_OK;

    if (c->waiting == NULL)
        c->waiting = at_mailbox_take(&c->asked);
    if (c->waiting != NULL) {
        struct at_collect *asked = (struct at_collect *)c->waiting;
        c->waiting = c->waiting->next;
        code = begin_asked(c, asked, &c->under_way);
        if (code != AT_OK)
            end_asked(c, &c->under_way, code);
    } else if (round_due(c)) {
        c->under_way = begin_round(c, &code, &error);
        if (code != AT_OK)
            end_round(c, &c->under_way, code, &error);
    }
    return c->under_way != NULL || c->waiting != NULL;
}

/* --- a pass --- */

/* NOLINTBEGIN(misc-no-recursion): see rest. */

static enum at_code run_pass(struct at_collector *c, struct pass *p, struct at_error *reterr)
{
    bool done = false;

    while (!done) {
        uint64_t begun_ns = mono_ns(c);
        if (atomic_load(&c->stopping))
            return at_fail(reterr, AT_UNAVAILABLE, "the store is closing");
        AT_TRY(at_garbage_pass_step(&p->pass, SLICE_BYTES, &done, reterr));
        if (p->rests)
            rest(c, p, mono_ns(c) - begun_ns);
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
