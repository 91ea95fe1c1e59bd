#include "cluster/tablet/store.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/model/key.h"
#include "cluster/tablet/collector.h"
#include "cluster/tablet/sieve.h"
#include "cluster/tablet/writer.h"

/* What other threads touch: three mailboxes, the published schema, the published view of the
 * replica, counters. All else is the writer's.
 *
 * Writes, foreign replies and calls of replication have mailboxes of their own, since they are
 * different structures; the writer sleeps on the first one, and `poke` in it wakes it for the
 * others. When the first one is full the writer is awake anyway. */

#define BACKGROUND_THREADS 2
#define APPLIES_MAX 1024
#define CALLS_MAX 65536
#define ACTS_MAX 1024

static void release(struct at_store *s);
static void *begin_sieve(void *store);
static uint64_t load(const atomic_uint_fast64_t *v);

enum at_code at_store_open(const struct at_store_config *config,
                           struct at_store **ret_store,
                           struct at_error *reterr)
{
    struct at_store *s = AT_NEW(struct at_store);
    uint8_t boot_id[STORE_BOOT_ID_BYTES];
    struct at_engine_options options = {
        .dir = config->dir,
        .block_cache_bytes = config->block_cache_bytes,
        .memtable_bytes = config->memtable_bytes,
        .background_threads = BACKGROUND_THREADS,
        .sieve = {s, begin_sieve, at_sieve_drops, at_sieve_end},
        .group = at_key_row_group,
        .on_sync = config->on_sync,
        .on_sync_ctx = config->ctx,
        .boot_id = at_slice_make(boot_id, store_boot_id(config, boot_id)),
    };

    AT_ASSERT(config->replica.sync_commits == config->sync_commits);
    s->config = *config;
    at_mailbox_init(&s->mailbox, AT_WRITER_QUEUE_MAX);
    at_mailbox_init(&s->applies, APPLIES_MAX);
    at_mailbox_init(&s->calls, CALLS_MAX);
    at_mailbox_init(&s->acts, ACTS_MAX);
    pthread_mutex_init(&s->copy_lock, NULL);
    pthread_mutex_init(&s->schema_lock, NULL);
    pthread_mutex_init(&s->view_lock, NULL);
    at_replica_view_init(&s->view);
    enum at_code rc = at_engine_open(&options, &s->engine, reterr);
    if (rc == AT_OK)
        rc = writer_new(s, &s->writer, reterr);
    if (rc != AT_OK) {
        release(s);
        return rc;
    }
    if (!config->manual) {
        int failed = pthread_create(&s->thread, NULL, writer_main, s->writer);
        AT_ASSERT(failed == 0);
    }
    s->collector = at_collector_start(s);
    *ret_store = s;
    return AT_OK;
}

void at_store_close(struct at_store **store)
{
    struct at_store *s = AT_TAKE(*store);

    if (s == NULL)
        return;
    at_collector_stop(&s->collector); /* it waits for the writer */
    atomic_store(&s->closing, true);
    at_mailbox_close(&s->applies);
    at_mailbox_close(&s->calls);
    at_mailbox_close(&s->acts);
    at_mailbox_close(&s->mailbox);
    if (s->config.manual)
        (void)writer_main(s->writer); /* it ends by itself now */
    else
        pthread_join(s->thread, NULL);
    release(s);
}

void at_store_turn(struct at_store *s)
{
    AT_ASSERT(s->config.manual);
    (void)writer_turn(s->writer);
}

bool at_store_sync_now(struct at_store *s)
{
    AT_ASSERT(s->config.manual);
    return syncer_sync_now(s->writer);
}

bool at_store_collect_turn(struct at_store *s, uint64_t bytes_max)
{
    AT_ASSERT(s->config.manual);
    return at_collector_turn(s->collector, bytes_max);
}

void at_store_abandon(struct at_store **store)
{
    struct at_store *s = AT_TAKE(*store);

    if (s == NULL)
        return;
    AT_ASSERT(s->config.manual);
    at_collector_stop(&s->collector);
    writer_free(&s->writer);
    at_engine_abandon(&s->engine);
    release(s);
}

enum at_code at_store_submit(struct at_store *s, struct at_write *write)
{
    if (at_mailbox_push(&s->mailbox, &write->mail, NULL))
        return AT_OK;
    return atomic_load(&s->closing) ? AT_UNAVAILABLE : AT_RESOURCE_EXHAUSTED;
}

enum at_code at_store_submit_list(struct at_store *s, struct at_write *first, uint32_t count)
{
    if (at_mailbox_push_list(&s->mailbox, &first->mail, count))
        return AT_OK;
    return atomic_load(&s->closing) ? AT_UNAVAILABLE : AT_RESOURCE_EXHAUSTED;
}

struct at_schema *at_store_schema(struct at_store *s)
{
    pthread_mutex_lock(&s->schema_lock);
    struct at_schema *schema = at_schema_ref(s->schema);
    pthread_mutex_unlock(&s->schema_lock);
    return schema;
}

uint64_t at_store_profiles_version(struct at_store *s)
{
    return atomic_load_explicit(&s->profiles_version, memory_order_acquire);
}

int64_t at_store_strict_micros(struct at_store *s)
{
    return s->config.gc_strict ? (int64_t)(at_clock_wall_ns(&s->config.clock) / 1000) : 0;
}

enum at_code at_store_collect(struct at_store *s, struct at_collect *collect)
{
    return at_collector_ask(s->collector, collect);
}

struct at_engine *at_store_engine(struct at_store *s)
{
    return s->engine;
}

void at_store_view(struct at_store *s, struct at_replica_view *view)
{
    pthread_mutex_lock(&s->view_lock);
    at_replica_view_copy(view, &s->view);
    pthread_mutex_unlock(&s->view_lock);
}

enum at_code at_store_read_log(struct at_store *s,
                               const struct at_log_read *what,
                               struct at_buf *out,
                               uint32_t *sizes,
                               uint32_t *ret_count,
                               struct at_error *reterr)
{
    return at_log_read(s->engine, what, out, sizes, ret_count, reterr);
}

bool at_store_apply(struct at_store *s, struct at_apply *apply)
{
    if (!at_mailbox_push(&s->applies, &apply->mail, NULL))
        return false;
    store_poke(s);
    return true;
}

bool at_store_call(struct at_store *s, struct at_replica_call *call)
{
    call->failed = false;
    if (!at_mailbox_push(&s->calls, &call->mail, NULL))
        return false;
    store_poke(s);
    return true;
}

bool at_store_act(struct at_store *s, struct at_act_write *act)
{
    if (!at_mailbox_push(&s->acts, &act->mail, NULL))
        return false;
    store_poke(s);
    return true;
}

void at_store_stats(struct at_store *s, struct at_store_stats *ret_stats)
{
    *ret_stats = (struct at_store_stats){
        .log_bytes = load(&s->log_bytes),
        .data_bytes = at_engine_space_bytes(s->engine, AT_SPACE_CELLS),
        .discarded_entries = load(&s->discarded),
        .rounds = load(&s->rounds),
        .operations = load(&s->operations),
        .collected_count = load(&s->collected),
        .sieved_count = at_engine_sieved_count(s->engine),
        .forgotten_count = load(&s->forgotten),
    };
}

void store_poke(struct at_store *s)
{
    if (atomic_exchange(&s->poked, true))
        return;
    if (!at_mailbox_push(&s->mailbox, &s->poke, NULL))
        atomic_store(&s->poked, false);
}

void store_publish_schema(struct at_store *s, struct at_schema *schema)
{
    uint64_t profiles = at_catalog_kind_version(schema->catalog, AT_CATALOG_PROFILE);

    pthread_mutex_lock(&s->schema_lock);
    struct at_schema *old = s->schema;
    s->schema = at_schema_ref(schema);
    pthread_mutex_unlock(&s->schema_lock);
    at_schema_unref(&old);
    atomic_store_explicit(&s->profiles_version, profiles, memory_order_release);
}

void store_publish_sieve(struct at_store *s, struct at_schema *schema)
{
    pthread_mutex_lock(&s->schema_lock);
    struct at_schema *old = s->sieve_schema;
    s->sieve_schema = at_schema_ref(schema);
    pthread_mutex_unlock(&s->schema_lock);
    at_schema_unref(&old);
}

static void *begin_sieve(void *store)
{
    struct at_store *s = store;
    struct at_schema *schema = NULL;

    pthread_mutex_lock(&s->schema_lock);
    if (s->sieve_schema != NULL)
        schema = at_schema_ref(s->sieve_schema);
    pthread_mutex_unlock(&s->schema_lock);
    return schema != NULL ? at_sieve_begin(schema) : NULL;
}

void store_publish_view(struct at_store *s, const struct at_replica *r)
{
    pthread_mutex_lock(&s->view_lock);
    at_replica_view_fill(r, &s->view);
    pthread_mutex_unlock(&s->view_lock);
}

static void release(struct at_store *s)
{
    writer_free(&s->writer);
    at_schema_unref(&s->schema);
    at_engine_close(&s->engine); /* only now do compactions need the schema no more */
    at_schema_unref(&s->sieve_schema);
    at_replica_view_deinit(&s->view);
    pthread_mutex_destroy(&s->view_lock);
    pthread_mutex_destroy(&s->schema_lock);
    pthread_mutex_destroy(&s->copy_lock);
    at_mailbox_deinit(&s->acts);
    at_mailbox_deinit(&s->calls);
    at_mailbox_deinit(&s->applies);
    at_mailbox_deinit(&s->mailbox);
    at_free(s);
}

static uint64_t load(const atomic_uint_fast64_t *v)
{
    return atomic_load_explicit(v, memory_order_relaxed);
}
