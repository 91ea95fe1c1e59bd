/* loop.c: the turn of a loop, and how other threads reach it.
 *
 * libuv's order within one iteration is: timers, prepare, poll (socket events and the wake-up),
 * check, closing callbacks. A turn of ours ends in prepare: there the deferred work runs, and then
 * the clock reading is dropped, so that the next at_loop_now_ns reads the clock anew: once a turn,
 * and only in turns that ask.
 *
 * Posted tasks form a lock-free stack. Whoever finds it empty wakes the loop, so a burst costs one
 * system call; the loop takes the whole stack at once and reverses it, which gives back the order
 * of posting.
 *
 * Work deferred by deferred work runs in the same turn, up to PASSES_MAX rounds; then the sockets
 * get their chance first, so that one connection that can always write cannot starve the others. */
#include "wire/loop.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"

#define PASSES_MAX 16

struct loop_time {
    uint64_t now_ns;
    bool fresh;
};

struct at_loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_prepare_t turn_end;
    struct at_clock clock;
    struct loop_time *time; /* apart, because reading the time is const for callers */
    struct at_deferred *deferred;
    struct at_deferred **deferred_tail;
    _Atomic(struct at_mail *) posted; /* newest first */
    atomic_bool stopping;
    bool has_thread;
    char name[16];
    pthread_t thread;
};

static void on_wake(uv_async_t *handle);
static void on_turn_end(uv_prepare_t *handle);
static void *thread_main(void *arg);
static bool run_posted(struct at_loop *loop);
static bool run_deferred(struct at_loop *loop);

static void ignore_sigpipe(void)
{
    struct sigaction action;
    if (sigaction(SIGPIPE, NULL, &action) != 0 || action.sa_handler != SIG_DFL)
        return;
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
}

struct at_loop *at_loop_new(struct at_clock clock)
{
    ignore_sigpipe();
    struct at_loop *loop = AT_NEW(struct at_loop);
    loop->clock = clock;
    loop->time = AT_NEW(struct loop_time);
    loop->deferred_tail = &loop->deferred;
    int rc = uv_loop_init(&loop->uv);
    AT_ASSERT(rc == 0);
    rc = uv_async_init(&loop->uv, &loop->wake, on_wake);
    AT_ASSERT(rc == 0);
    rc = uv_prepare_init(&loop->uv, &loop->turn_end);
    AT_ASSERT(rc == 0);
    rc = uv_prepare_start(&loop->turn_end, on_turn_end);
    AT_ASSERT(rc == 0);
    loop->wake.data = loop;
    loop->turn_end.data = loop;
    return loop;
}

void at_loop_free(struct at_loop **loop_ptr)
{
    struct at_loop *loop = AT_TAKE(*loop_ptr);
    if (!loop)
        return;
    AT_ASSERT(!loop->has_thread);
    at_loop_settle(loop);
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->turn_end, NULL);
    /* What was closed by others and not yet told so gets its callbacks now. */
    while (uv_run(&loop->uv, UV_RUN_ONCE) != 0)
        run_deferred(loop);
    run_deferred(loop);
    int rc = uv_loop_close(&loop->uv);
    AT_ASSERT(rc == 0);
    at_free(loop->time);
    at_free(loop);
}

void at_loop_settle(struct at_loop *loop)
{
    (void)uv_run(&loop->uv, UV_RUN_NOWAIT);
    while (run_posted(loop) || run_deferred(loop))
        ;
    (void)uv_run(&loop->uv, UV_RUN_NOWAIT); /* closes what that closed */
}

enum at_code at_loop_start(struct at_loop *loop, const char *name, struct at_error *reterr)
{
    AT_ASSERT(!loop->has_thread);
    size_t len = strnlen(name, sizeof(loop->name) - 1);
    memcpy(loop->name, name, len);
    loop->name[len] = '\0';
    int rc = pthread_create(&loop->thread, NULL, thread_main, loop);
    if (rc != 0)
        return at_fail(reterr, AT_INTERNAL, "cannot start thread %s: %s", name, uv_strerror(-rc));
    loop->has_thread = true;
    (void)pthread_setname_np(loop->thread, loop->name);
    return AT_OK;
}

static void *thread_main(void *arg)
{
    struct at_loop *loop = arg;
    at_loop_run(loop);
    return NULL;
}

void at_loop_run(struct at_loop *loop)
{
    loop->time->fresh = false;
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    /* uv_stop leaves before the next prepare: finish the turn here. */
    while (run_posted(loop) || run_deferred(loop))
        ;
    atomic_store_explicit(&loop->stopping, false, memory_order_relaxed);
}

void at_loop_stop(struct at_loop *loop)
{
    atomic_store_explicit(&loop->stopping, true, memory_order_release);
    (void)uv_async_send(&loop->wake);
}

void at_loop_join(struct at_loop *loop)
{
    if (!loop->has_thread)
        return;
    (void)pthread_join(loop->thread, NULL);
    loop->has_thread = false;
}

uv_loop_t *at_loop_uv(struct at_loop *loop)
{
    return &loop->uv;
}

uint64_t at_loop_now_ns(const struct at_loop *loop)
{
    struct loop_time *t = loop->time;
    if (!t->fresh) {
        t->now_ns = at_clock_mono_ns(&loop->clock);
        t->fresh = true;
    }
    return t->now_ns;
}

const struct at_clock *at_loop_clock(const struct at_loop *loop)
{
    return &loop->clock;
}

void at_loop_post(struct at_loop *loop, struct at_task *task)
{
    struct at_mail *old = atomic_load_explicit(&loop->posted, memory_order_relaxed);

    AT_ASSERT(task->run != NULL);
    do {
        task->mail.next = old;
    } while (!atomic_compare_exchange_weak_explicit(&loop->posted, &old, &task->mail,
                                                    memory_order_acq_rel, memory_order_relaxed));
    if (!old)
        (void)uv_async_send(&loop->wake);
}

static struct at_mail *reversed(struct at_mail *list)
{
    struct at_mail *result = NULL;
    while (list) {
        struct at_mail *next = list->next;
        list->next = result;
        result = list;
        list = next;
    }
    return result;
}

void at_loop_defer(struct at_loop *loop, struct at_deferred *deferred)
{
    AT_ASSERT(deferred->run != NULL);
    if (deferred->queued)
        return;
    deferred->queued = true;
    deferred->next = NULL;
    *loop->deferred_tail = deferred;
    loop->deferred_tail = &deferred->next;
}

static bool run_posted(struct at_loop *loop)
{
    struct at_mail *mail = atomic_exchange_explicit(&loop->posted, NULL, memory_order_acq_rel);
    if (!mail)
        return false;
    mail = reversed(mail);
    while (mail) {
        struct at_mail *next = mail->next; /* the task may free itself */
        struct at_task *task = (struct at_task *)mail;
        task->run(task);
        mail = next;
    }
    return true;
}

static void on_wake(uv_async_t *handle)
{
    struct at_loop *loop = handle->data;
    bool stopping = atomic_load_explicit(&loop->stopping, memory_order_acquire);
    (void)run_posted(loop);
    if (stopping)
        uv_stop(&loop->uv);
}

/* Runs what is queued now; what that queues waits for the next call. */
static bool run_deferred(struct at_loop *loop)
{
    struct at_deferred *d = loop->deferred;
    if (!d)
        return false;
    loop->deferred = NULL;
    loop->deferred_tail = &loop->deferred;
    while (d) {
        struct at_deferred *next = d->next; /* it may free itself or queue itself again */
        d->queued = false;
        d->run(d);
        d = next;
    }
    return true;
}

static void on_turn_end(uv_prepare_t *handle)
{
    struct at_loop *loop = handle->data;
    int passes = 0;
    while (passes < PASSES_MAX && run_deferred(loop))
        passes++;
    if (loop->deferred)
        (void)uv_async_send(&loop->wake);
    loop->time->fresh = false;
}
