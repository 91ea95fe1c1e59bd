#include "cluster/engine/engine_internal.h"

#include "base/alloc.h"

/* A database that failed is not closed but left to the exit (see engine.c), and its compactions may
 * go on: so what a pass needs lives in the engine and the pass, and `begin` is asked under a lock
 * that closing takes too. The lock is taken once per compaction. */

struct pass {
    struct at_engine *engine;
    struct at_sieve sieve;
    void *state; /* NULL: drops nothing */
    uint64_t dropped_count;
};

static void keep(void *engine);
static rocksdb_compactionfilter_t *pass_begin(void *engine,
                                              rocksdb_compactionfiltercontext_t *context);
static void pass_end(void *pass);
static unsigned char pass_drops(void *pass,
                                int level,
                                const char *key,
                                size_t key_len,
                                const char *value,
                                size_t value_len,
                                char **new_value,
                                size_t *new_value_len,
                                unsigned char *value_changed);
static const char *sieve_name(void *ctx);

void engine_sieve_set(struct at_engine *e, rocksdb_options_t *o)
{
    if (e->sieve.begin == NULL)
        return;
    rocksdb_options_set_compaction_filter_factory(
        o, rocksdb_compactionfilterfactory_create(e, keep, pass_begin, sieve_name));
}

void engine_sieve_end(struct at_engine *e)
{
    pthread_mutex_lock(&e->sieve_lock);
    e->sieve.begin = NULL;
    pthread_mutex_unlock(&e->sieve_lock);
}

void at_engine_compact(struct at_engine *e, struct at_slice start, struct at_slice end)
{
    if (e->broken)
        return;
    struct keyspace *cells = engine_space_ref(e, AT_SPACE_CELLS, NULL);
    rocksdb_compactoptions_t *options = rocksdb_compactoptions_create();
    rocksdb_compactoptions_set_exclusive_manual_compaction(options, 0);
    rocksdb_compact_range_cf_opt(e->db, cells->handle, options, (const char *)start.data, start.len,
                                 (const char *)end.data, end.len);
    rocksdb_compactoptions_destroy(options);
    engine_space_unref(&cells);
}

void at_engine_compact_stop(struct at_engine *e)
{
    rocksdb_disable_manual_compaction(e->db);
}

uint64_t at_engine_sieved_count(struct at_engine *e)
{
    return e->sieved_count;
}

/* The factory's state is the engine, which outlives it. */
static void keep(void *engine)
{
    (void)engine;
}

static rocksdb_compactionfilter_t *pass_begin(void *engine,
                                              rocksdb_compactionfiltercontext_t *context)
{
    struct at_engine *e = engine;
    struct pass *p = AT_NEW(struct pass);

    (void)context;
    p->engine = e;
    pthread_mutex_lock(&e->sieve_lock);
    p->sieve = e->sieve;
    if (p->sieve.begin != NULL)
        p->state = p->sieve.begin(p->sieve.ctx);
    pthread_mutex_unlock(&e->sieve_lock);
    return rocksdb_compactionfilter_create(p, pass_end, pass_drops, sieve_name);
}

static void pass_end(void *pass)
{
    struct pass *p = pass;

    p->engine->sieved_count += p->dropped_count;
    if (p->state != NULL)
        p->sieve.end(p->state);
    at_free(p);
}

/* NOLINTBEGIN(readability-function-size, readability-non-const-parameter): the signature is
 * RocksDB's. */
static unsigned char pass_drops(void *pass,
                                int level,
                                const char *key,
                                size_t key_len,
                                const char *value,
                                size_t value_len,
                                char **new_value,
                                size_t *new_value_len,
                                unsigned char *value_changed)
/* NOLINTEND(readability-function-size, readability-non-const-parameter) */
{
    struct pass *p = pass;

    (void)level, (void)value, (void)value_len, (void)new_value, (void)new_value_len;
    *value_changed = 0;
    if (p->state == NULL || !p->sieve.drops(p->state, at_slice_make(key, key_len)))
        return 0;
    p->dropped_count++;
    return 1;
}

static const char *sieve_name(void *ctx)
{
    (void)ctx;
    return "atoll.sieve";
}
