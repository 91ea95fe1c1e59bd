#include "cluster/admin/backup_end.h"

#include <semaphore.h>
#include <time.h>

#include "base/assert.h"
#include "base/log.h"
#include "cluster/admin/backup_progress.h"
#include "cluster/admin/instance_view.h"
#include "google/rpc/status.pb-c.h"

/* A restored table changes its counter when its filling begins and when it ends, not only its
 * fields: another member's change of the table's fields meanwhile, which repeats that it is being
 * restored, then loses whatever its stamp, and can't have a finished table begun again. */

typedef Google__Bigtable__Admin__V2__Backup backup_t;

#define READY GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__STATE__READY
#define AGAIN_NS (100 * AT_MS_NS)
#define EXPIRED_AT_ONCE 64u
#define ARENA_BYTES (16 * AT_KIB)

struct end_write {
    struct at_write_catalog write; /* first */
    const struct at_backup_end_of *end;
    struct at_service *service;
    const struct at_error *error; /* how the job failed; NULL: it did not */
    uint64_t file_bytes;
    const struct at_backup_head *head;
    uint32_t percent;
    struct at_arena arena;
    sem_t done;
    bool gone;        /* out of decide: the record is not what the job is about */
    uint64_t counter; /* out of decide: the table's new one */
};

typedef enum at_code (*decide_fn)(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr);

static enum at_code
decide_file(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *e);
static enum at_code
decide_begin(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *e);
static enum at_code
decide_table(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *e);
static enum at_code decide_progress(struct at_write_catalog *write,
                                    const struct at_catalog *catalog,
                                    struct at_error *e);
static enum at_code decide_expired(struct at_write_catalog *write,
                                   const struct at_catalog *catalog,
                                   struct at_error *e);

static void on_written(struct at_write *write)
{
    sem_post(&((struct end_write *)write->ctx)->done);
}

/* Tries until it is written, refused for good, or the worker stops. */
static enum at_code write_end(struct end_write *w, decide_fn decide, const _Atomic bool *stop)
{
    enum at_code code = AT_UNAVAILABLE;

    int rc = sem_init(&w->done, 0, 0);
    AT_ASSERT(rc == 0);
    at_arena_init(&w->arena, ARENA_BYTES);
    while (code == AT_UNAVAILABLE || code == AT_RESOURCE_EXHAUSTED) {
        if (atomic_load(stop)) {
            code = AT_CANCELLED;
            break;
        }
        at_arena_reset(&w->arena);
        w->gone = false;
        w->write = (struct at_write_catalog){
            .base = {.kind = AT_WRITE_CATALOG, .done = on_written, .ctx = w},
            .decide = decide,
            .arena = &w->arena,
        };
        code = at_store_submit(w->service->store, &w->write.base);
        if (code == AT_OK) {
            while (sem_wait(&w->done) != 0)
                continue; /* interrupted */
            code = w->write.base.code;
            at_schema_unref(&w->write.ret_schema);
        }
        if (code == AT_UNAVAILABLE || code == AT_RESOURCE_EXHAUSTED)
            (void)nanosleep(&(struct timespec){.tv_nsec = (long)AGAIN_NS}, NULL);
    }
    if (code != AT_OK && code != AT_CANCELLED)
        at_log(AT_LOG_WARN, "what became of a backup can't be recorded",
               AT_KV_STR("reason", w->write.base.error.msg));
    at_arena_deinit(&w->arena);
    (void)sem_destroy(&w->done);
    return code == AT_OK && w->gone ? AT_ABORTED : code;
}

static struct end_write end_of(const struct at_backup_end_of *end, const struct at_error *error)
{
    return (struct end_write){.end = end, .service = end->service, .error = error};
}

enum at_code at_backup_end_file(const struct at_backup_end_of *end,
                                uint64_t file_bytes,
                                const struct at_error *error)
{
    struct end_write w = end_of(end, error);

    w.file_bytes = file_bytes;
    return write_end(&w, decide_file, end->stop);
}

enum at_code at_backup_end_begin_table(const struct at_backup_end_of *end,
                                       const struct at_backup_head *head,
                                       struct at_error *reterr)
{
    struct end_write w = end_of(end, NULL);

    w.head = head;
    enum at_code code = write_end(&w, decide_begin, end->stop);
    if (code != AT_OK)
        return at_fail(reterr, code, "The table can't be made: %s",
                       code == AT_ABORTED ? "it was deleted" : w.write.base.error.msg);
    end->job->counter = w.counter;
    return AT_OK;
}

enum at_code at_backup_end_table(const struct at_backup_end_of *end, const struct at_error *error)
{
    struct end_write w = end_of(end, error);

    return write_end(&w, decide_table, end->stop);
}

void at_backup_end_progress(const struct at_backup_end_of *end, uint32_t percent)
{
    struct end_write w = end_of(end, NULL);

    w.percent = percent;
    enum at_code code = write_end(&w, decide_progress, end->stop);
    (void)code; /* told again with the next */
}

/* --- on the writer thread --- */

static void put_record(struct end_write *w, uint32_t count_max, struct at_catalog_record record)
{
    *at_change_record(&w->write, count_max) = record;
}

static Google__Rpc__Status *status_of(struct at_arena *arena, const struct at_error *error)
{
    Google__Rpc__Status *status = AT_ARENA_NEW(arena, Google__Rpc__Status);

    google__rpc__status__init(status);
    status->code = (int32_t)error->code;
    status->message = at_arena_printf(arena, "%s", error->msg);
    return status;
}

/* The job's operation; NULL when it is not known any more, or has ended. */
static Google__Longrunning__Operation *find_operation(const struct end_write *w,
                                                      const struct at_catalog *catalog,
                                                      const struct at_named_record **ret_record)
{
    const char *name = w->end->job->operation;
    const struct at_named_record *record =
        name ? at_catalog_named(catalog, AT_CATALOG_OPERATION, at_slice_cstr(name)) : NULL;
    Google__Longrunning__Operation *operation =
        record ? at_proto_unpack(w->write.arena, &google__longrunning__operation__descriptor,
                                 at_arena_copy(w->write.arena, record->fields))
               : NULL;

    *ret_record = record;
    return operation && !operation->done && operation->metadata ? operation : NULL;
}

/* The operation, if it is known still, ends with `response`, or with `error`. */
static void end_operation(struct end_write *w,
                          const struct at_catalog *catalog,
                          const ProtobufCMessage *response,
                          const struct at_error *error,
                          uint32_t count_max)
{
    struct at_arena *arena = w->write.arena;
    const struct at_named_record *record = NULL;
    Google__Longrunning__Operation *operation = find_operation(w, catalog, &record);

    if (!operation)
        return;
    operation->done = true;
    at_backup_progress_end(operation, at_clock_wall_ns(&w->service->clock), error == NULL, arena);
    if (error) {
        operation->result_case = GOOGLE__LONGRUNNING__OPERATION__RESULT_ERROR;
        operation->error = status_of(arena, error);
    } else {
        operation->result_case = GOOGLE__LONGRUNNING__OPERATION__RESULT_RESPONSE;
        operation->response = at_admin_any(arena, response);
    }
    put_record(w, count_max,
               (struct at_catalog_record){.kind = AT_CATALOG_OPERATION,
                                          .name = at_arena_copy(arena, record->name),
                                          .counter = record->generation,
                                          .fields = at_admin_pack(arena, &operation->base)});
}

static void end_cancelled(struct end_write *w, const struct at_catalog *catalog, const char *what)
{
    struct at_error error;

    (void)at_fail(&error, AT_CANCELLED, "%s was deleted meanwhile", what);
    w->gone = true;
    end_operation(w, catalog, NULL, &error, 1);
}

static enum at_code
decide_file(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *e)
{
    struct end_write *w = write->base.ctx;
    const struct at_backup_job *job = w->end->job;
    const struct at_named_record *record = at_catalog_named(catalog, AT_CATALOG_BACKUP, job->name);
    backup_t *backup = record ? at_backup_read(w->service, record, write->arena) : NULL;

    (void)e;
    if (!at_backup_job_wanted(w->service, catalog, job, write->arena) || !backup) {
        end_cancelled(w, catalog, "The backup");
        return AT_OK;
    }
    struct at_catalog_record out = {
        .kind = AT_CATALOG_BACKUP, .name = job->name, .counter = job->counter + 1};
    if (!w->error) {
        backup->state = READY;
        backup->end_time = at_admin_time(write->arena, at_clock_wall_ns(&w->service->clock));
        backup->size_bytes = (int64_t)w->file_bytes;
        out.counter = job->counter;
        out.fields = at_backup_pack(write->arena, backup);
    }
    put_record(w, 2, out);
    end_operation(w, catalog, &backup->base, w->error, 2);
    return AT_OK;
}

/* What deleted generations are kept stays said. */
static enum at_code
decide_begin(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *e)
{
    struct end_write *w = write->base.ctx;
    const struct at_backup_job *job = w->end->job;
    const struct at_table *table = at_catalog_table(catalog, job->name);
    uint32_t count_max = w->head->family_count + 1;
    struct at_slice bytes;

    if (!table || !at_backup_job_wanted(w->service, catalog, job, write->arena)) {
        w->gone = true;
        return AT_OK;
    }
    struct at_table_fields fields = table->fields;
    fields.granularity_micros = w->head->granularity_micros;
    fields.data_generation = 0;
    w->counter = table->counter + 2;
    AT_TRY(at_table_fields_make(&fields, write->arena, &bytes, e));
    put_record(
        w, count_max,
        (struct at_catalog_record){
            .kind = AT_CATALOG_TABLE, .name = job->name, .counter = w->counter, .fields = bytes});
    for (uint32_t i = 0; i < w->head->family_count; i++) {
        const struct at_backup_family *f = &w->head->families[i];
        uint64_t had = at_catalog_family_counter(catalog, job->name, w->counter, f->name);
        put_record(w, count_max,
                   (struct at_catalog_record){.kind = AT_CATALOG_FAMILY,
                                              .name = f->name,
                                              .table = job->name,
                                              .table_generation = w->counter,
                                              .counter = had | 1,
                                              .fields = f->fields});
    }
    return AT_OK;
}

static enum at_code
decide_table(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *e)
{
    struct end_write *w = write->base.ctx;
    const struct at_backup_job *job = w->end->job;
    const struct at_table *table = at_catalog_table(catalog, job->name);
    Google__Bigtable__Admin__V2__Table *response = NULL;
    struct at_table_view view;

    if (!table || !at_backup_job_wanted(w->service, catalog, job, write->arena)) {
        end_cancelled(w, catalog, "The table");
        return AT_OK;
    }
    struct at_catalog_record out = {
        .kind = AT_CATALOG_TABLE, .name = job->name, .counter = table->counter + 1};
    if (!w->error) {
        struct at_table done = *table;
        done.fields.restoring = false;
        done.fields.data_generation = table->generation;
        out.counter = table->counter + 2;
        AT_TRY(at_table_fields_make(&done.fields, write->arena, &out.fields, e));
        AT_TRY(at_table_view_init(&view, w->service, write->arena,
                                  GOOGLE__BIGTABLE__ADMIN__V2__TABLE__VIEW__SCHEMA_VIEW, 0, e));
        AT_TRY(at_table_view_render(&view, &done, &response, e));
    }
    put_record(w, 2, out);
    end_operation(w, catalog, response ? &response->base : NULL, w->error, 2);
    return AT_OK;
}

static enum at_code decide_progress(struct at_write_catalog *write,
                                    const struct at_catalog *catalog,
                                    struct at_error *e)
{
    struct end_write *w = write->base.ctx;
    const struct at_named_record *record = NULL;
    Google__Longrunning__Operation *operation = find_operation(w, catalog, &record);

    (void)e;
    if (operation && at_backup_progress_set(operation, w->percent, write->arena))
        put_record(
            w, 1,
            (struct at_catalog_record){.kind = AT_CATALOG_OPERATION,
                                       .name = at_arena_copy(write->arena, record->name),
                                       .counter = record->generation,
                                       .fields = at_admin_pack(write->arena, &operation->base)});
    return AT_OK;
}

/* --- what is over --- */

static bool cluster_is_gone(const struct at_catalog *catalog, const struct at_backup_name *name)
{
    uint64_t counter = at_catalog_named_counter(catalog, AT_CATALOG_CLUSTER, name->cluster);

    return counter > 0 && counter % 2 == 0;
}

static bool is_over(const struct at_service *service,
                    const struct at_catalog *catalog,
                    const struct at_named_record *record,
                    struct at_arena *arena)
{
    struct at_backup_name name = at_backup_name_kept(record->name);
    uint64_t now_ns = at_clock_wall_ns(&service->clock);

    if (!at_slice_eq_cstr(name.cluster, service->cluster_id))
        return cluster_is_gone(catalog, &name);
    const backup_t *backup = at_backup_read(service, record, arena);
    return backup && backup->expire_time &&
           backup->expire_time->seconds < (int64_t)(now_ns / AT_S_NS);
}

static enum at_code
decide_expired(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *e)
{
    struct end_write *w = write->base.ctx;
    uint32_t count = at_catalog_named_count(catalog, AT_CATALOG_BACKUP);

    (void)e;
    for (uint32_t i = 0; i < count && write->record_count < 2 * EXPIRED_AT_ONCE - 1; i++) {
        const struct at_named_record *record = at_catalog_named_at(catalog, AT_CATALOG_BACKUP, i);
        if (is_over(w->service, catalog, record, write->arena))
            at_backup_delete(write, catalog, record, 2 * EXPIRED_AT_ONCE);
    }
    return AT_OK;
}

void at_backup_end_expired(struct at_service *service, const _Atomic bool *stop)
{
    struct end_write w = {.service = service};
    struct at_schema *schema = at_store_schema(service->store);
    uint32_t count = at_catalog_named_count(schema->catalog, AT_CATALOG_BACKUP);
    struct at_arena arena;
    bool any = false;

    at_arena_init(&arena, ARENA_BYTES);
    for (uint32_t i = 0; i < count && !any; i++)
        any = is_over(service, schema->catalog,
                      at_catalog_named_at(schema->catalog, AT_CATALOG_BACKUP, i), &arena);
    at_arena_deinit(&arena);
    at_schema_unref(&schema);
    if (!any)
        return;
    enum at_code code = write_end(&w, decide_expired, stop);
    (void)code; /* looked at again in a second */
}
