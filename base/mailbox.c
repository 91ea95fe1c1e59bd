#include "base/mailbox.h"

#include "base/assert.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

/* The critical sections are a handful of instructions, so a plain mutex beats anything cleverer
 * at the rates of this system. The condition is only signalled when the queue stops being empty;
 * the reader takes all, so that is exactly when it may be asleep. */

static struct at_mail *take_locked(struct at_mailbox *m);
static struct timespec deadline_after(uint32_t timeout_ms);

void at_mailbox_init(struct at_mailbox *m, uint32_t count_max)
{
    pthread_condattr_t attr;

    *m = (struct at_mailbox){.count_max = count_max};
    m->tail = &m->head;
    int rc = pthread_mutex_init(&m->lock, NULL);
    AT_ASSERT(rc == 0);
    rc = pthread_condattr_init(&attr);
    AT_ASSERT(rc == 0);
    rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    AT_ASSERT(rc == 0);
    rc = pthread_cond_init(&m->ready, &attr);
    AT_ASSERT(rc == 0);
    pthread_condattr_destroy(&attr);
}

void at_mailbox_deinit(struct at_mailbox *m)
{
    pthread_cond_destroy(&m->ready);
    pthread_mutex_destroy(&m->lock);
}

bool at_mailbox_push(struct at_mailbox *m, struct at_mail *mail, bool *ret_was_empty)
{
    pthread_mutex_lock(&m->lock);
    bool was_empty = m->head == NULL;
    bool taken = !m->closed && m->count < m->count_max;
    if (taken) {
        mail->next = NULL;
        *m->tail = mail;
        m->tail = &mail->next;
        m->count++;
        if (was_empty)
            pthread_cond_signal(&m->ready);
    }
    pthread_mutex_unlock(&m->lock);
    if (ret_was_empty != NULL)
        *ret_was_empty = was_empty;
    return taken;
}

bool at_mailbox_push_list(struct at_mailbox *m, struct at_mail *first, uint32_t count)
{
    struct at_mail *last = first;

    AT_ASSERT(count > 0);
    for (uint32_t i = 1; i < count; i++)
        last = last->next;
    AT_ASSERT(last != NULL);
    pthread_mutex_lock(&m->lock);
    bool was_empty = m->head == NULL;
    bool taken = !m->closed && count <= m->count_max - m->count;
    if (taken) {
        last->next = NULL;
        *m->tail = first;
        m->tail = &last->next;
        m->count += count;
        if (was_empty)
            pthread_cond_signal(&m->ready);
    }
    pthread_mutex_unlock(&m->lock);
    return taken;
}

struct at_mail *at_mailbox_take(struct at_mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    struct at_mail *list = take_locked(m);
    pthread_mutex_unlock(&m->lock);
    return list;
}

struct at_mail *at_mailbox_wait(struct at_mailbox *m, uint32_t timeout_ms)
{
    pthread_mutex_lock(&m->lock);
    if (m->head == NULL && !m->closed && timeout_ms > 0) {
        struct timespec deadline = deadline_after(timeout_ms);
        int rc = 0;
        while (m->head == NULL && !m->closed && rc != ETIMEDOUT)
            rc = pthread_cond_timedwait(&m->ready, &m->lock, &deadline);
    }
    struct at_mail *list = take_locked(m);
    pthread_mutex_unlock(&m->lock);
    return list;
}

void at_mailbox_close(struct at_mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    m->closed = true;
    pthread_cond_broadcast(&m->ready);
    pthread_mutex_unlock(&m->lock);
}

static struct at_mail *take_locked(struct at_mailbox *m)
{
    struct at_mail *list = m->head;

    m->head = NULL;
    m->tail = &m->head;
    m->count = 0;
    return list;
}

static struct timespec deadline_after(uint32_t timeout_ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(timeout_ms / 1000);
    t.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}
