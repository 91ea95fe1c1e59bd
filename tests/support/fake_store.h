/* fake_store.h: as much of a store as reads need: an engine, a catalog, and keys put as they are.
 *
 * Defines at_store_engine, _schema and _strict_micros, so that a test links neither writer nor log.
 * Each table name has the id given to it here, each family one that is unique in the store. */
#ifndef ATOLL_TESTS_SUPPORT_FAKE_STORE_H
#define ATOLL_TESTS_SUPPORT_FAKE_STORE_H

#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "cluster/engine/engine.h"
#include "cluster/model/key.h"
#include "cluster/tablet/schema_build.h"
#include "cluster/tablet/store.h"
#include "support/test_path.h"

#define FAKE_UNUSED __attribute__((unused))
#define FAKE_SUM                                                                    \
    "\x1a\x04\x32\x02\x22\x00" /* ColumnFamily { value_type { aggregate { sum } } } \
                                */
#define FAKE_MAX "\x1a\x04\x32\x02\x32\x00"
#define FAKE_MIN "\x1a\x04\x32\x02\x3a\x00"
#define FAKE_NAMES_MAX 64

#ifdef __SANITIZE_THREAD__
/* librocksdb is not instrumented: what it does between its own threads is not ours to report. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "ignore_noninstrumented_modules=1";
}
#endif

struct at_store {
    char dir[64];
    struct at_engine *engine;
    pthread_mutex_t lock; /* of schema */
    struct at_schema *schema;
    uint64_t version;
    struct at_arena arena;
    struct at_batch *batch;
    struct at_buf key;
    uint32_t id_count;
    char ids[FAKE_NAMES_MAX][96]; /* "table" or "table/family"; the id is the index + 1 */
    struct at_schema_table hides[FAKE_NAMES_MAX];
    struct at_dropped_range drops[FAKE_NAMES_MAX];
    struct at_family_floor floors[FAKE_NAMES_MAX];
    uint32_t hide_count;
    int64_t strict_micros;
};

struct at_engine *at_store_engine(struct at_store *store)
{
    return store->engine;
}

struct at_schema *at_store_schema(struct at_store *store)
{
    pthread_mutex_lock(&store->lock);
    struct at_schema *schema = at_schema_ref(store->schema);
    pthread_mutex_unlock(&store->lock);
    return schema;
}

int64_t at_store_strict_micros(struct at_store *store)
{
    return store->strict_micros;
}

static int fake_remove(const char *path, const struct stat *s, int kind, struct FTW *ftw)
{
    (void)s, (void)kind, (void)ftw;
    return remove(path);
}

static FAKE_UNUSED uint32_t fake_id(struct at_store *store, const char *name)
{
    for (uint32_t i = 0; i < store->id_count; i++)
        if (strcmp(store->ids[i], name) == 0)
            return i + 1;
    AT_ASSERT(store->id_count < FAKE_NAMES_MAX);
    snprintf(store->ids[store->id_count++], sizeof(store->ids[0]), "%s", name);
    return store->id_count;
}

static uint32_t fake_table_id(void *ctx, struct at_slice table, uint64_t generation)
{
    char name[96];

    (void)generation;
    snprintf(name, sizeof(name), "%.*s", AT_SLICE_ARG(table));
    return fake_id(ctx, name);
}

static uint32_t
fake_family_id(void *ctx, uint32_t table_id, struct at_slice family, uint64_t generation)
{
    struct at_store *store = ctx;
    char name[200];

    (void)generation;
    snprintf(name, sizeof(name), "%s/%.*s", store->ids[table_id - 1], AT_SLICE_ARG(family));
    return fake_id(store, name);
}

/* Makes a schema from the catalog (taken; NULL: the present one) and the drops and marker flags. */
static void fake_publish(struct at_store *store, struct at_catalog *catalog)
{
    struct at_schema_spec spec = {
        .catalog = catalog,
        .share = store->schema,
        .version = ++store->version,
        .tables = store->hides,
        .table_count = store->hide_count,
    };
    struct at_schema *schema = at_schema_new(&spec);

    pthread_mutex_lock(&store->lock);
    struct at_schema *old = store->schema;
    store->schema = schema;
    pthread_mutex_unlock(&store->lock);
    at_schema_unref(&old);
}

static FAKE_UNUSED struct at_store *fake_store_open(void)
{
    struct at_store *store = AT_NEW(struct at_store);

    (void)test_path(store->dir, sizeof(store->dir), "atoll-test");
    AT_ASSERT(mkdtemp(store->dir) != NULL);
    struct at_engine_options options = {
        .dir = store->dir,
        .block_cache_bytes = 8 * AT_MIB,
        .memtable_bytes = 64 * AT_MIB,
        .background_threads = 1,
        .group = at_key_row_group,
    };
    AT_ASSERT(at_engine_open(&options, &store->engine, NULL) == AT_OK);
    pthread_mutex_init(&store->lock, NULL);
    at_arena_init(&store->arena, 4096);
    store->batch = at_batch_new();
    at_buf_init(&store->key, AT_KEY_BYTES_MAX);
    fake_publish(store, at_catalog_new());
    return store;
}

static FAKE_UNUSED void fake_store_close(struct at_store **store)
{
    struct at_store *s = *store;

    at_schema_unref(&s->schema);
    at_batch_free(&s->batch);
    at_engine_close(&s->engine);
    at_buf_deinit(&s->key);
    at_arena_deinit(&s->arena);
    pthread_mutex_destroy(&s->lock);
    nftw(s->dir, fake_remove, 8, FTW_DEPTH | FTW_PHYS);
    at_free(s);
    *store = NULL;
}

static FAKE_UNUSED void fake_apply(struct at_store *store, const struct at_catalog_record *record)
{
    const struct at_catalog_ids ids = {store, fake_table_id, fake_family_id};
    struct at_catalog *catalog = NULL;

    AT_ASSERT(at_catalog_apply(store->schema->catalog, record, 1, &ids, &catalog, NULL) == AT_OK);
    fake_publish(store, catalog);
}

static FAKE_UNUSED void
fake_table_with(struct at_store *store, const char *table, const struct at_table_fields *fields)
{
    struct at_slice name = at_slice_cstr(table);
    struct at_buf bytes;

    at_buf_init(&bytes, AT_MIB);
    AT_ASSERT(at_table_fields_encode(fields, &bytes) == AT_OK);
    struct at_catalog_record record = {
        .kind = AT_CATALOG_TABLE,
        .name = name,
        .counter = at_catalog_table_counter(store->schema->catalog, name) + 1,
        .stamp = {store->version + 1, {1}},
        .fields = at_buf_slice(&bytes),
    };
    fake_apply(store, &record);
    at_buf_deinit(&bytes);
    fake_id(store, table);
}

static FAKE_UNUSED void fake_table(struct at_store *store, const char *table)
{
    struct at_table_fields fields = {.granularity_micros = 1000};

    fake_table_with(store, table, &fields);
}

/* `fields`: the serialized ColumnFamily. */
static FAKE_UNUSED void
fake_family(struct at_store *store, const char *table, const char *family, struct at_slice fields)
{
    const struct at_table *t = at_catalog_table(store->schema->catalog, at_slice_cstr(table));
    AT_ASSERT(t != NULL);
    struct at_catalog_record record = {
        .kind = AT_CATALOG_FAMILY,
        .name = at_slice_cstr(family),
        .table = at_slice_cstr(table),
        .table_generation = t->generation,
        .counter = 1,
        .stamp = {store->version + 1, {1}},
        .fields = fields,
    };
    fake_apply(store, &record);
}

/* Deletes the table from the catalog. */
static FAKE_UNUSED void fake_drop_table(struct at_store *store, const char *table)
{
    struct at_slice name = at_slice_cstr(table);
    struct at_catalog_record record = {
        .kind = AT_CATALOG_TABLE,
        .name = name,
        .counter = at_catalog_table_counter(store->schema->catalog, name) + 1,
        .stamp = {store->version + 1, {1}},
    };
    fake_apply(store, &record);
}

static struct at_schema_table *fake_hides(struct at_store *store, const char *table)
{
    uint32_t id = fake_id(store, table);

    for (uint32_t i = 0; i < store->hide_count; i++)
        if (store->hides[i].table_id == id)
            return &store->hides[i];
    struct at_schema_table *hides = &store->hides[store->hide_count++];
    *hides = (struct at_schema_table){.table_id = id};
    return hides;
}

/* One table at a time can have drops. */
static FAKE_UNUSED void
fake_drop_range(struct at_store *store, const char *table, struct at_slice prefix, uint64_t hlc)
{
    struct at_schema_table *hides = fake_hides(store, table);

    AT_ASSERT(hides->drop_count < FAKE_NAMES_MAX);
    hides->drops = store->drops;
    store->drops[hides->drop_count++] = (struct at_dropped_range){
        .prefix = at_arena_copy(&store->arena, prefix), .stamp = {hlc, {1}}};
    fake_publish(store, NULL);
}

/* One table at a time can have floors, each family one. */
static FAKE_UNUSED void fake_floor(struct at_store *store,
                                   const char *table,
                                   uint32_t family_id,
                                   int64_t before_micros,
                                   uint64_t hlc)
{
    struct at_schema_table *hides = fake_hides(store, table);

    AT_ASSERT(hides->floor_count < FAKE_NAMES_MAX);
    hides->floors = store->floors;
    store->floors[hides->floor_count++] = (struct at_family_floor){
        .family_id = family_id, .floor = {.before_micros = before_micros, .stamp = {hlc, {9}}}};
    fake_publish(store, NULL);
}

/* --- keys, into the batch --- */

static uint32_t fake_family_of(struct at_store *store, const char *table, const char *family)
{
    char name[200];

    snprintf(name, sizeof(name), "%s/%s", table, family);
    return fake_id(store, name);
}

static void fake_put(struct at_store *store, const struct at_key *key, struct at_slice value)
{
    at_buf_clear(&store->key);
    AT_ASSERT(at_key_encode(key, &store->key) == AT_OK);
    at_batch_put(store->batch, AT_SPACE_CELLS, at_buf_slice(&store->key), value);
}

struct fake_cell {
    const char *family;
    struct at_slice row;
    struct at_slice qualifier;
    int64_t timestamp_micros;
    uint64_t hlc;
    struct at_slice value;
    bool partial; /* left by an add, not by a set */
};

static FAKE_UNUSED void
fake_put_cell(struct at_store *store, const char *table, const struct fake_cell *cell)
{
    struct at_key key = {
        .kind = cell->partial ? AT_KEY_PARTIAL : AT_KEY_CELL,
        .table = fake_id(store, table),
        .family = fake_family_of(store, table, cell->family),
        .row = cell->row,
        .qualifier = cell->qualifier,
        .timestamp_micros = cell->timestamp_micros,
        .stamp = {cell->hlc, {1}},
    };
    fake_put(store, &key, cell->value);
}

/* timestamp_micros is the start of the range, `end_micros` its end. */
static FAKE_UNUSED void fake_put_column_marker(struct at_store *store,
                                               const char *table,
                                               const struct fake_cell *cell,
                                               int64_t end_micros)
{
    uint8_t value[16];
    struct at_key key = {
        .kind = AT_KEY_COLUMN_MARKER,
        .table = fake_id(store, table),
        .family = fake_family_of(store, table, cell->family),
        .row = cell->row,
        .qualifier = cell->qualifier,
        .stamp = {cell->hlc, {1}},
    };

    at_put_be64(value, (uint64_t)cell->timestamp_micros);
    at_put_be64(value + 8, (uint64_t)end_micros);
    fake_put(store, &key, at_slice_make(value, sizeof(value)));
}

/* Family NULL: a row marker. */
static FAKE_UNUSED void fake_put_marker(struct at_store *store,
                                        const char *table,
                                        const char *family,
                                        struct at_slice row,
                                        uint64_t hlc)
{
    struct at_key key = {
        .kind = family ? AT_KEY_FAMILY_MARKER : AT_KEY_ROW_MARKER,
        .table = fake_id(store, table),
        .family = family ? fake_family_of(store, table, family) : 0,
        .row = row,
        .stamp = {hlc, {1}},
    };

    if (family == NULL && !fake_hides(store, table)->row_markers) {
        fake_hides(store, table)->row_markers = true;
        fake_publish(store, NULL);
    }
    fake_put(store, &key, at_slice_make(NULL, 0));
}

static FAKE_UNUSED void fake_commit(struct at_store *store)
{
    AT_ASSERT(at_engine_commit(store->engine, store->batch, false, NULL) == AT_OK);
    at_batch_clear(store->batch);
}

#endif
