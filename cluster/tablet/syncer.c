#include "cluster/tablet/writer.h"

#include "base/assert.h"
#include "base/log.h"

/* A sync covers what was committed before it began, so the vector is copied before it is asked for.
 * The writer owns `upto` whenever no sync runs. */

#define SYNC_NS AT_S_NS

static void take_end(struct writer *w, bool ok);
static void begin(struct writer *w);
static void *syncer_main(void *writer);

void syncer_init(struct writer *w)
{
    pthread_mutex_init(&w->syncer.lock, NULL);
    pthread_cond_init(&w->syncer.wake, NULL);
}

void syncer_deinit(struct writer *w)
{
    pthread_cond_destroy(&w->syncer.wake);
    pthread_mutex_destroy(&w->syncer.lock);
    at_vector_deinit(&w->syncer.upto);
}

void syncer_start(struct writer *w)
{
    struct syncer *s = &w->syncer;

    if (w->store->config.manual)
        return;
    int failed = pthread_create(&s->thread, NULL, syncer_main, w);
    AT_ASSERT(failed == 0);
}

void syncer_stop(struct writer *w)
{
    struct syncer *s = &w->syncer;

    if (w->store->config.manual)
        return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
}

void syncer_turn(struct writer *w)
{
    struct syncer *s = &w->syncer;

    pthread_mutex_lock(&s->lock);
    bool finished = s->finished;
    bool ok = s->ok;
    bool running = s->asked;
    s->finished = false;
    pthread_mutex_unlock(&s->lock);
    if (finished)
        take_end(w, ok);
    bool due = w->round.mono_ns >= w->next_sync_ns || at_replica_wants_sync(w->replica);
    if (!running && w->unsynced && due)
        begin(w);
}

bool syncer_sync_now(struct writer *w)
{
    struct at_error error = {0};

    AT_ASSERT(w->store->config.manual);
    if (!w->loaded || w->broken)
        return false;
    if (!w->syncer.asked && w->unsynced)
        begin(w);
    if (!w->syncer.asked)
        return false;
    bool ok = at_engine_sync(w->engine, &error) == AT_OK;
    w->syncer.asked = false;
    take_end(w, ok);
    return ok;
}

static void take_end(struct writer *w, bool ok)
{
    if (!ok) {
        w->unsynced = true;
        return;
    }
    at_replica_synced(w->replica, &w->syncer.upto, w->syncer.clock_stored);
    store_publish_view(w->store, w->replica);
    if (w->store->config.on_commit != NULL)
        w->store->config.on_commit(w->store->config.ctx);
}

static void begin(struct writer *w)
{
    struct syncer *s = &w->syncer;

    w->next_sync_ns = w->round.mono_ns + SYNC_NS;
    w->unsynced = false;
    at_vector_copy(&s->upto, &w->store->view.applied);
    s->clock_stored = at_replica_clock_stored(w->replica);
    pthread_mutex_lock(&s->lock);
    s->asked = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

static void *syncer_main(void *writer)
{
    struct writer *w = writer;
    struct syncer *s = &w->syncer;

    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        if (!s->asked) {
            pthread_cond_wait(&s->wake, &s->lock);
            continue;
        }
        pthread_mutex_unlock(&s->lock);
        struct at_error error = {0};
        enum at_code rc = at_engine_sync(w->engine, &error);
        if (rc != AT_OK)
            at_log(AT_LOG_WARN, "sync failed, retrying", AT_KV_STR("error", error.msg));
        pthread_mutex_lock(&s->lock);
        s->asked = false;
        s->finished = true;
        s->ok = rc == AT_OK;
        store_poke(w->store);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}
