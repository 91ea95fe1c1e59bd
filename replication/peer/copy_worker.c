#include "replication/peer/rooms.h"

/* What copies block on: reading a snapshot, merging, the switch. One thread for each direction, so
 * that a cluster that is filled still tells when it can't. */

static void *work(void *arg);
static void end_job(struct at_copy_job *job);

enum at_code
at_copy_worker_start(struct at_copy_worker *w, const char *name, struct at_error *reterr)
{
    at_mailbox_init(&w->jobs, UINT32_MAX);
    w->started = pthread_create(&w->thread, NULL, work, w) == 0;
    if (!w->started) {
        at_mailbox_deinit(&w->jobs);
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "cannot start a thread for copies");
    }
    pthread_setname_np(w->thread, name);
    return AT_OK;
}

void at_copy_worker_stop(struct at_copy_worker *w)
{
    if (!w->started)
        return;
    at_mailbox_close(&w->jobs);
    pthread_join(w->thread, NULL);
    at_mailbox_deinit(&w->jobs);
    w->started = false;
}

void at_copy_worker_give(struct at_peering *p, struct at_copy_worker *w, struct at_copy_job *job)
{
    job->peering = p;
    p->jobs_out++;
    if (w->started) {
        at_mailbox_push(&w->jobs, &job->mail, NULL);
        return;
    }
    job->run(job);
    end_job(job);
}

static void *work(void *arg)
{
    struct at_copy_worker *w = arg;
    struct at_mail *next = NULL;

    for (;;) {
        struct at_mail *m = at_mailbox_wait(&w->jobs, UINT32_MAX / 2);
        if (m == NULL && w->jobs.closed)
            return NULL;
        for (; m != NULL; m = next) {
            struct at_copy_job *job = (struct at_copy_job *)m;
            next = m->next;
            job->run(job);
            end_job(job);
        }
    }
}

static void end_job(struct at_copy_job *job)
{
    struct at_peering *p = job->peering;

    at_mailbox_push(&p->jobs, &job->mail, NULL);
    at_peering_ring(p);
}
