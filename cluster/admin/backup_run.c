#include "cluster/admin/backup_run.h"

#include <time.h>

#include "base/assert.h"
#include "base/log.h"
#include "cluster/admin/backup_end.h"
#include "cluster/admin/instance_view.h"
#include "cluster/backup/fetch.h"
#include "cluster/backup/refill.h"
#include "cluster/backup/take.h"

/* A copy is tried again while its source is out of touch: that a cluster restarts, or is cut off
 * for a time, is no reason to give it up. */

#define PROGRESS_NS AT_S_NS
#define FETCH_AGAIN_NS (500 * AT_MS_NS)
#define FETCH_NS_MAX (600 * AT_S_NS)
#define RESTORES_MAX 3 /* of one job, of which it is not known what they wrote */
#define ARENA_BYTES (16 * AT_KIB)

struct running {
    const struct at_backup_run *run;
    struct at_backup_end_of end;
    struct at_arena arena;
    uint64_t told_ns; /* when progress was written last */
};

static bool run_file(struct running *r);
static bool run_restore(struct running *r);

static uint64_t now_ns(const struct running *r)
{
    return at_clock_mono_ns(&r->run->service->clock);
}

static void running_init(struct running *r, const struct at_backup_run *run)
{
    *r = (struct running){
        .run = run, .end = {.service = run->service, .stop = run->worker_stop, .job = run->job}};
    at_arena_init(&r->arena, ARENA_BYTES);
}

bool at_backup_run(const struct at_backup_run *run)
{
    struct running r;

    running_init(&r, run);
    r.told_ns = now_ns(&r);
    bool over = run->job->kind == AT_BACKUP_JOB_RESTORE ? run_restore(&r) : run_file(&r);
    at_arena_deinit(&r.arena);
    return over;
}

static void
log_end(const struct at_backup_run *run, enum at_code code, const struct at_error *error)
{
    static const char *const DONE[] = {"a backup was made", "a backup was copied",
                                       "a table was restored"};
    static const char *const FAILED[] = {"a backup was not made", "a backup was not copied",
                                         "a table was not restored"};

    if (code == AT_OK)
        at_log(AT_LOG_INFO, DONE[run->job->kind], AT_KV_STR("name", run->job->resource));
    else
        at_log(AT_LOG_WARN, FAILED[run->job->kind], AT_KV_STR("name", run->job->resource),
               AT_KV_STR("reason", error->msg));
}

static void on_progress(void *ctx, uint32_t percent)
{
    struct running *r = ctx;

    if (now_ns(r) - r->told_ns < PROGRESS_NS)
        return;
    r->told_ns = now_ns(r);
    at_backup_end_progress(&r->end, percent < 100 ? percent : 99);
}

/* --- files --- */

static enum at_code
take(struct running *r, const char *path, uint64_t *ret_bytes, struct at_error *reterr)
{
    const struct at_backup_run *run = r->run;
    struct at_backup_take take = {
        .store = run->service->store,
        .source_table = at_slice_cstr(run->job->source),
        .path = path,
        .stop = run->stop,
    };

    AT_TRY(at_service_table_id(run->service, take.source_table, &take.table, reterr));
    AT_TRY(at_backup_take(&take, reterr));
    *ret_bytes = take.file_bytes;
    return AT_OK;
}

/* Where the cluster of a backup is to be asked. */
static enum at_code
find_source(struct running *r, struct at_backup_fetch *fetch, struct at_error *e)
{
    struct at_service *service = r->run->service;
    struct at_backup_name name;
    struct at_cluster_entry entry;

    AT_TRY(at_backup_name_parse(service, fetch->name, &r->arena, &name, e));
    struct at_schema *schema = at_store_schema(service->store);
    bool found = at_cluster_entry(service, schema->catalog, name.cluster, &r->arena, &entry) &&
                 entry.record->address;
    if (found) {
        fetch->host = at_arena_printf(&r->arena, "%s", entry.record->address->host);
        fetch->port = (uint16_t)entry.record->address->grpc_port;
    }
    at_schema_unref(&schema);
    if (found)
        return AT_OK;
    return at_fail(e, AT_NOT_FOUND, "The cluster of %s is no more", fetch->name);
}

static bool may_come_back(enum at_code code)
{
    return code == AT_UNAVAILABLE || code == AT_DEADLINE_EXCEEDED || code == AT_DATA_LOSS ||
           code == AT_INTERNAL;
}

static enum at_code
fetch_file(struct running *r, const char *path, uint64_t *ret_bytes, struct at_error *reterr)
{
    const struct at_backup_run *run = r->run;
    uint64_t begun_ns = now_ns(r);
    struct at_backup_fetch fetch = {
        .name = run->job->source,
        .path = path,
        .stop = run->stop,
        .on_progress = on_progress,
        .ctx = r,
    };

    for (;;) {
        AT_TRY(find_source(r, &fetch, reterr));
        enum at_code code = at_backup_fetch(&fetch, reterr);
        *ret_bytes = fetch.file_bytes;
        if (!may_come_back(code) || now_ns(r) - begun_ns > FETCH_NS_MAX)
            return code;
        at_log(AT_LOG_WARN, "a backup can't be copied now, retrying",
               AT_KV_STR("source", fetch.name), AT_KV_STR("reason", reterr->msg));
        if (atomic_load(run->stop))
            return at_fail(reterr, AT_CANCELLED, "The copy was given up");
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)FETCH_AGAIN_NS}, NULL);
    }
}

static bool run_file(struct running *r)
{
    const struct at_backup_run *run = r->run;
    struct at_backup_name name = at_backup_name_kept(run->job->name);
    const char *path = at_backup_path(run->service, &r->arena, &name, run->job->counter);
    struct at_error error = {0};
    uint64_t bytes = 0;

    enum at_code code = run->job->kind == AT_BACKUP_JOB_FETCH ? fetch_file(r, path, &bytes, &error)
                                                              : take(r, path, &bytes, &error);
    if (atomic_load(run->worker_stop))
        return true;
    error.code = code;
    log_end(run, code, &error);
    enum at_code ended = at_backup_end_file(&r->end, bytes, code == AT_OK ? NULL : &error);
    if (code == AT_OK && ended != AT_OK && ended != AT_CANCELLED)
        at_backup_file_remove(path);
    return ended == AT_OK || ended == AT_ABORTED || ended == AT_CANCELLED;
}

/* --- tables --- */

static enum at_code restore_once(struct running *r, struct at_backup_scan *scan, struct at_error *e)
{
    const struct at_backup_run *run = r->run;
    struct at_backup_refill refill = {
        .store = run->service->store,
        .table = run->job->name,
        .full_name = at_slice_cstr(run->job->resource),
        .stop = run->stop,
        .on_progress = on_progress,
        .ctx = r,
    };

    AT_TRY(at_backup_end_begin_table(&r->end, &scan->head, e));
    refill.table_generation = run->job->counter;
    return at_backup_refill(&refill, scan, e);
}

static enum at_code restore(struct running *r, struct at_error *reterr)
{
    const struct at_backup_run *run = r->run;
    struct at_schema *schema = at_store_schema(run->service->store);
    Google__Bigtable__Admin__V2__Backup *backup = NULL;
    struct at_backup_name name;
    uint64_t generation = 0;

    enum at_code code =
        at_backup_name_parse(run->service, run->job->source, &r->arena, &name, reterr);
    if (code == AT_OK)
        code = at_backup_find(run->service, schema->catalog, &name, &r->arena, &backup, reterr);
    if (code == AT_OK)
        generation = at_catalog_named_counter(schema->catalog, AT_CATALOG_BACKUP, name.kept);
    at_schema_unref(&schema);
    AT_TRY(code);
    const char *path = at_backup_path(run->service, &r->arena, &name, generation);
    code = AT_ABORTED;
    for (int i = 0; i < RESTORES_MAX && code == AT_ABORTED; i++) {
        struct at_backup_scan scan;
        code = at_backup_scan_open(&scan, path, reterr);
        if (code == AT_OK)
            code = restore_once(r, &scan, reterr);
        at_backup_scan_close(&scan);
    }
    return code;
}

static bool run_restore(struct running *r)
{
    const struct at_backup_run *run = r->run;
    struct at_error error = {0};

    enum at_code code = restore(r, &error);
    if (atomic_load(run->worker_stop))
        return true;
    error.code = code;
    log_end(run, code, &error);
    enum at_code ended = at_backup_end_table(&r->end, code == AT_OK ? NULL : &error);
    return ended == AT_OK || ended == AT_ABORTED || ended == AT_CANCELLED;
}

/* --- at the start --- */

struct at_backup_job *
at_backup_run_remains(const struct at_service *service, struct at_arena *arena, uint32_t *ret_count)
{
    struct at_schema *schema = at_store_schema(service->store);
    uint32_t count_max = at_catalog_named_count(schema->catalog, AT_CATALOG_BACKUP);
    struct at_backup_job *takes = AT_ARENA_ARRAY(arena, struct at_backup_job, count_max + 1);
    const struct at_backup_job **passed =
        AT_ARENA_ARRAY(arena, const struct at_backup_job *, count_max + 1);
    struct at_backup_job job;
    uint32_t passed_count = 0;

    *ret_count = 0;
    while (passed_count < count_max &&
           at_backup_job_next(service, schema->catalog, passed, passed_count, arena, &job)) {
        struct at_backup_job *copy = AT_ARENA_NEW(arena, struct at_backup_job);
        *copy = job;
        passed[passed_count++] = copy;
        if (job.kind == AT_BACKUP_JOB_RESTORE)
            break; /* backups come first */
        if (job.kind == AT_BACKUP_JOB_TAKE)
            takes[(*ret_count)++] = job;
    }
    at_schema_unref(&schema);
    return takes;
}

void at_backup_run_give_up(struct at_service *service,
                           const _Atomic bool *worker_stop,
                           struct at_backup_job *job)
{
    const struct at_backup_end_of end = {.service = service, .stop = worker_stop, .job = job};
    struct at_error error;

    (void)at_fail(&error, AT_ABORTED, "The cluster was stopped while the backup was made");
    at_log(AT_LOG_WARN, "a backup that was being made is given up",
           AT_KV_STR("name", job->resource));
    enum at_code code = at_backup_end_file(&end, 0, &error);
    (void)code; /* CANCELLED: at the next start; ABORTED: it was deleted */
}
