#include "cluster/admin/backup_worker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/folder.h"
#include "base/log.h"
#include "cluster/admin/backup_end.h"
#include "cluster/admin/backup_job.h"
#include "cluster/admin/backup_run.h"
#include "cluster/backup/file.h"

#define JOBS 2u
#define THREADS (JOBS + 1)
#define TURN_MS 100
#define EXPIRY_TURNS 10 /* every second */
#define ARENA_BYTES (16 * AT_KIB)

struct seat {
    struct at_backup_worker *worker;
    struct at_arena arena; /* of the job */
    struct at_backup_job job;
    bool taken;
    _Atomic bool stop; /* the job is not wanted any more */
};

struct at_backup_worker {
    struct at_service *service;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    _Atomic bool stop;
    uint64_t idle_version; /* of the schema in which there was nothing to do */
    struct seat seats[JOBS];
    pthread_t threads[THREADS];
    uint32_t thread_count;
    uint64_t swept_version; /* of the backups' records, at which the folder was looked at */
    bool swept;
    struct at_arena arena; /* of the remains */
    struct at_backup_job *remains;
    uint32_t remain_count;
    bool begun; /* the remains are dealt with */
};

static void *job_main(void *seat);
static void *house_main(void *worker);
static void stop_threads(struct at_backup_worker *w);

enum at_code at_backup_worker_start(struct at_service *service,
                                    struct at_backup_worker **ret_worker,
                                    struct at_error *reterr)
{
    struct at_backup_worker *w = AT_NEW(struct at_backup_worker);
    pthread_condattr_t attr;

    AT_ASSERT(service->backup_dir != NULL);
    w->service = service;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    for (uint32_t i = 0; i < JOBS; i++) {
        w->seats[i].worker = w;
        at_arena_init(&w->seats[i].arena, ARENA_BYTES);
    }
    *ret_worker = w;
    at_arena_init(&w->arena, ARENA_BYTES);
    w->remains = at_backup_run_remains(service, &w->arena, &w->remain_count);
    for (; w->thread_count < THREADS; w->thread_count++) {
        bool house = w->thread_count == JOBS;
        void *arg = house ? (void *)w : (void *)&w->seats[w->thread_count];
        if (pthread_create(&w->threads[w->thread_count], NULL, house ? house_main : job_main,
                           arg) == 0)
            continue;
        at_backup_worker_stop(ret_worker);
        return at_fail(reterr, AT_INTERNAL, "no thread can be made for backups");
    }
    return AT_OK;
}

void at_backup_worker_stop(struct at_backup_worker **worker)
{
    struct at_backup_worker *w = AT_TAKE(*worker);

    if (!w)
        return;
    stop_threads(w);
    for (uint32_t i = 0; i < JOBS; i++)
        at_arena_deinit(&w->seats[i].arena);
    at_arena_deinit(&w->arena);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    at_free(w);
}

static void stop_threads(struct at_backup_worker *w)
{
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->stop, true);
    for (uint32_t i = 0; i < JOBS; i++)
        atomic_store(&w->seats[i].stop, true);
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->lock);
    for (uint32_t i = 0; i < w->thread_count; i++)
        pthread_join(w->threads[i], NULL);
}

/* The lock is held. */
static void wait_turn(struct at_backup_worker *w)
{
    struct timespec until;

    if (atomic_load(&w->stop))
        return;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(TURN_MS * AT_MS_NS);
    until.tv_sec += until.tv_nsec / (long)AT_S_NS;
    until.tv_nsec %= (long)AT_S_NS;
    (void)pthread_cond_timedwait(&w->wake, &w->lock, &until);
}

/* --- jobs --- */

/* The lock is held. */
static bool take_seat(struct seat *s)
{
    struct at_backup_worker *w = s->worker;
    const struct at_backup_job *running[JOBS];
    uint32_t count = 0;
    struct at_schema *schema = at_store_schema(w->service->store);

    for (uint32_t i = 0; i < JOBS; i++)
        if (w->seats[i].taken)
            running[count++] = &w->seats[i].job;
    at_arena_reset(&s->arena);
    s->taken = schema->version != w->idle_version &&
               at_backup_job_next(w->service, schema->catalog, running, count, &s->arena, &s->job);
    if (!s->taken && count == 0)
        w->idle_version = schema->version;
    at_schema_unref(&schema);
    return s->taken;
}

static void *job_main(void *arg)
{
    struct seat *s = arg;
    struct at_backup_worker *w = s->worker;

    pthread_mutex_lock(&w->lock);
    while (!atomic_load(&w->stop)) {
        if (!w->begun || !take_seat(s)) {
            wait_turn(w);
            continue;
        }
        atomic_store(&s->stop, false);
        pthread_mutex_unlock(&w->lock);
        bool over = at_backup_run(&(struct at_backup_run){
            .service = w->service, .worker_stop = &w->stop, .stop = &s->stop, .job = &s->job});
        pthread_mutex_lock(&w->lock);
        s->taken = false;
        if (!over)
            wait_turn(w); /* before it is tried again */
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* --- the house --- */

/* The lock is held. */
static void stop_moot(struct at_backup_worker *w, const struct at_catalog *catalog)
{
    for (uint32_t i = 0; i < JOBS; i++)
        if (w->seats[i].taken && at_backup_job_moot(catalog, &w->seats[i].job))
            atomic_store(&w->seats[i].stop, true);
}

/* Is this the name of a file, finished or not, that one of this cluster's records speaks of? */
static bool is_known(const struct at_service *service,
                     const struct at_catalog *catalog,
                     const char *file,
                     struct at_arena *arena)
{
    uint32_t count = at_catalog_named_count(catalog, AT_CATALOG_BACKUP);

    for (uint32_t i = 0; i < count; i++) {
        const struct at_named_record *record = at_catalog_named_at(catalog, AT_CATALOG_BACKUP, i);
        struct at_backup_name name = at_backup_name_kept(record->name);
        if (!at_slice_eq_cstr(name.cluster, service->cluster_id))
            continue;
        const char *wanted = at_backup_file_name(arena, &name, record->generation);
        size_t len = strlen(wanted);
        if (strncmp(file, wanted, len) == 0 &&
            (file[len] == '\0' || strcmp(file + len, ".tmp") == 0))
            return true;
    }
    return false;
}

static void sweep(struct at_backup_worker *w, const struct at_catalog *catalog)
{
    uint64_t version = at_catalog_kind_version(catalog, AT_CATALOG_BACKUP);
    struct at_folder folder AT_CLEANUP(at_folder_close) = {NULL};
    const char *file;
    struct at_arena arena;

    if (w->swept && version == w->swept_version)
        return;
    w->swept = true;
    w->swept_version = version;
    if (!at_folder_open(&folder, w->service->backup_dir))
        return; /* there are none yet */
    at_arena_init(&arena, ARENA_BYTES);
    while ((file = at_folder_next(&folder)) != NULL) {
        at_arena_reset(&arena);
        if (file[0] == '.' || is_known(w->service, catalog, file, &arena))
            continue;
        at_log(AT_LOG_INFO, "a backup's file is removed: its record is gone",
               AT_KV_STR("file", file));
        at_backup_file_remove(at_arena_printf(&arena, "%s/%s", w->service->backup_dir, file));
    }
    at_arena_deinit(&arena);
}

static void *house_main(void *arg)
{
    struct at_backup_worker *w = arg;
    uint32_t turn = 0;

    for (uint32_t i = 0; i < w->remain_count; i++)
        at_backup_run_give_up(w->service, &w->stop, &w->remains[i]);
    pthread_mutex_lock(&w->lock);
    w->begun = true;
    while (!atomic_load(&w->stop)) {
        struct at_schema *schema = at_store_schema(w->service->store); /* as new as any job's */
        stop_moot(w, schema->catalog);
        pthread_mutex_unlock(&w->lock);
        sweep(w, schema->catalog);
        at_schema_unref(&schema);
        if (turn++ % EXPIRY_TURNS == 0)
            at_backup_end_expired(w->service, &w->stop);
        pthread_mutex_lock(&w->lock);
        wait_turn(w);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}
