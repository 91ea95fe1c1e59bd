#include "cluster/graduation.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "cluster/admin/cluster_progress.h"
#include "cluster/admin/instance_view.h"

#define TURN_MS 100
#define RECORDS_MAX 2

#define CLUSTER_READY GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__STATE__READY
#define TABLE_COMPLETED \
    GOOGLE__BIGTABLE__ADMIN__V2__CREATE_CLUSTER_METADATA__TABLE_PROGRESS__STATE__COMPLETED

typedef Google__Bigtable__Admin__V2__CreateClusterMetadata metadata_t;
typedef Google__Bigtable__Admin__V2__CreateClusterMetadata__TableProgress progress_t;

struct at_graduation {
    struct at_service *service;
    uv_timer_t timer;
    bool stopped;
    struct at_arena arena;
    struct at_write_catalog write;
    struct at_catalog_record records[RECORDS_MAX];
    _Atomic bool writing;
};

static void on_turn(uv_timer_t *timer);
static void on_written(struct at_write *write);
static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);

enum at_graduation_step
at_graduation_next(const struct at_replica_view *view, uint64_t counter, bool creating)
{
    bool full = view->mode == AT_MODE_READY && view->caught_up && view->joined;

    if (!full || counter == 0)
        return AT_GRADUATION_WAIT;
    if (counter % 2 == 0 || !creating)
        return AT_GRADUATION_DONE;
    return view->may_write ? AT_GRADUATION_WRITE : AT_GRADUATION_WAIT;
}

struct at_graduation *at_graduation_start(struct at_service *service, struct at_loop *loop)
{
    struct at_graduation *g = AT_NEW(struct at_graduation);

    g->service = service;
    at_arena_init(&g->arena, 4096);
    (void)uv_timer_init(at_loop_uv(loop), &g->timer);
    g->timer.data = g;
    (void)uv_timer_start(&g->timer, on_turn, 0, TURN_MS);
    return g;
}

void at_graduation_stop(struct at_graduation *g)
{
    if (g->stopped)
        return;
    g->stopped = true;
    uv_close((uv_handle_t *)&g->timer, NULL);
}

void at_graduation_free(struct at_graduation **graduation)
{
    struct at_graduation *g = AT_TAKE(*graduation);

    if (!g)
        return;
    AT_ASSERT(!atomic_load(&g->writing));
    at_schema_unref(&g->write.ret_schema);
    at_arena_deinit(&g->arena);
    at_free(g);
}

static enum at_graduation_step next(struct at_graduation *g, const struct at_catalog *catalog)
{
    struct at_service *service = g->service;
    struct at_slice id = at_slice_cstr(service->cluster_id);
    uint64_t counter = at_catalog_named_counter(catalog, AT_CATALOG_CLUSTER, id);
    struct at_cluster_entry entry;
    struct at_replica_view view;
    bool creating = counter % 2 == 1 && at_cluster_entry(service, catalog, id, &g->arena, &entry) &&
                    at_cluster_creating(&entry);

    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    enum at_graduation_step step = at_graduation_next(&view, counter, creating);
    at_replica_view_deinit(&view);
    return step;
}

static void on_turn(uv_timer_t *timer)
{
    struct at_graduation *g = timer->data;

    if (atomic_load(&g->writing))
        return;
    at_schema_unref(&g->write.ret_schema);
    at_arena_reset(&g->arena);
    struct at_schema *schema = at_store_schema(g->service->store);
    enum at_graduation_step step = next(g, schema->catalog);
    at_schema_unref(&schema);
    if (step == AT_GRADUATION_DONE)
        at_graduation_stop(g);
    if (step != AT_GRADUATION_WRITE)
        return;
    g->write = (struct at_write_catalog){
        .base = {.kind = AT_WRITE_CATALOG, .done = on_written, .ctx = g},
        .decide = decide,
        .arena = &g->arena,
    };
    atomic_store(&g->writing, true);
    if (at_store_submit(g->service->store, &g->write.base) != AT_OK)
        atomic_store(&g->writing, false); /* asked again at the next turn */
}

/* --- on the writer thread --- */

static void on_written(struct at_write *write)
{
    struct at_graduation *g = write->ctx;

    if (write->code == AT_OK)
        at_log(AT_LOG_INFO, "the cluster is filled, known to all others, and READY",
               AT_KV_STR("cluster", g->service->cluster_id));
    else
        at_log(AT_LOG_WARN, "the cluster can't say that it is READY, retrying",
               AT_KV_STR("reason", write->error.msg));
    atomic_store(&g->writing, false);
}

/* Written down at the beginning, and by now it may have become more. */
static void end_progress(struct at_graduation *g,
                         const struct at_catalog *catalog,
                         const char *name,
                         progress_t *progress)
{
    const struct at_table *table = NULL;
    struct at_slice id;
    int64_t bytes = 0;

    if (at_service_table_id(g->service, at_slice_cstr(name), &id, NULL) == AT_OK)
        table = at_catalog_table(catalog, id);
    if (table)
        bytes = (int64_t)at_cluster_table_bytes(g->service, table);
    if (bytes > progress->estimated_size_bytes)
        progress->estimated_size_bytes = bytes;
    progress->estimated_copied_bytes = progress->estimated_size_bytes;
    progress->state = TABLE_COMPLETED;
}

static void end_metadata(struct at_graduation *g,
                         const struct at_catalog *catalog,
                         Google__Longrunning__Operation *operation)
{
    struct at_slice bytes =
        at_slice_make(operation->metadata->value.data, operation->metadata->value.len);
    metadata_t *metadata = at_proto_unpack(
        &g->arena, &google__bigtable__admin__v2__create_cluster_metadata__descriptor, bytes);

    if (!metadata)
        return;
    metadata->finish_time = at_admin_time(&g->arena, at_clock_wall_ns(&g->service->clock));
    for (size_t i = 0; i < metadata->n_tables; i++)
        if (metadata->tables[i]->value)
            end_progress(g, catalog, metadata->tables[i]->key, metadata->tables[i]->value);
    operation->metadata = at_admin_any(&g->arena, &metadata->base);
}

static void end_operation(struct at_graduation *g,
                          const struct at_catalog *catalog,
                          const struct at_cluster_entry *entry)
{
    struct at_slice name = at_slice_cstr(entry->record->operation);
    const struct at_named_record *record = at_catalog_named(catalog, AT_CATALOG_OPERATION, name);
    Google__Longrunning__Operation *operation =
        record ? at_proto_unpack(&g->arena, &google__longrunning__operation__descriptor,
                                 at_arena_copy(&g->arena, record->fields))
               : NULL;

    if (!operation || operation->done)
        return;
    Google__Bigtable__Admin__V2__Cluster *cluster =
        at_cluster_view(g->service, at_slice_make(NULL, 0), entry, &g->arena);
    operation->done = true;
    operation->result_case = GOOGLE__LONGRUNNING__OPERATION__RESULT_RESPONSE;
    operation->response = at_admin_any(&g->arena, &cluster->base);
    if (operation->metadata)
        end_metadata(g, catalog, operation);
    g->records[g->write.record_count++] = (struct at_catalog_record){
        .kind = AT_CATALOG_OPERATION,
        .name = name,
        .counter = record->generation,
        .fields = at_admin_pack(&g->arena, &operation->base),
    };
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    struct at_graduation *g = write->base.ctx;
    struct at_slice id = at_slice_cstr(g->service->cluster_id);
    struct at_cluster_entry entry;

    (void)reterr;
    if (!at_cluster_entry(g->service, catalog, id, &g->arena, &entry) || entry.generation == 0 ||
        !at_cluster_creating(&entry))
        return AT_OK;
    entry.record->cluster->state = CLUSTER_READY;
    write->records = g->records;
    g->records[write->record_count++] = (struct at_catalog_record){
        .kind = AT_CATALOG_CLUSTER,
        .name = id,
        .counter = entry.generation,
        .fields = at_admin_pack(&g->arena, &entry.record->base),
    };
    end_operation(g, catalog, &entry);
    return AT_OK;
}
