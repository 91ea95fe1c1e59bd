#include "cluster/service/lane.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/assert.h"

/* Answers form a lock-free stack. Whoever finds it empty posts the one task that takes all of it;
 * the task is not queued again before it has taken the stack, so it is never queued twice. Taking
 * and pushing are acquire and release both: who finds the stack empty also sees that the task has
 * left the loop's queue. */

#define FULL_RETRY_MS 100

struct at_lane {
    struct at_store *store;
    struct at_loop *loop;
    struct at_deferred flush;
    struct at_write *first; /* of this turn, linked by mail.next */
    struct at_write *last;
    uint32_t count;
    struct at_task drain;
    _Atomic(struct at_ticket *) answered; /* newest first */
};

static void on_flush(struct at_deferred *deferred);
static void on_drain(struct at_task *task);
static void on_done(struct at_write *write);
static void refuse(struct at_write *write, enum at_code code);

struct at_lane *at_lane_new(struct at_store *store, struct at_loop *loop)
{
    struct at_lane *lane = AT_NEW(struct at_lane);

    lane->store = store;
    lane->loop = loop;
    lane->flush.run = on_flush;
    lane->drain.run = on_drain;
    return lane;
}

void at_lane_free(struct at_lane **lane_ptr)
{
    struct at_lane *lane = AT_TAKE(*lane_ptr);

    if (!lane)
        return;
    AT_ASSERT(!lane->first);
    at_free(lane);
}

struct at_loop *at_lane_loop(const struct at_lane *lane)
{
    return lane->loop;
}

void at_lane_submit(struct at_lane *lane,
                    struct at_ticket *ticket,
                    struct at_write *write,
                    void (*answer)(struct at_ticket *ticket))
{
    *ticket = (struct at_ticket){.lane = lane, .write = write, .answer = answer};
    write->done = on_done;
    write->ctx = ticket;
    write->mail.next = NULL;
    if (lane->last)
        lane->last->mail.next = &write->mail;
    else
        lane->first = write;
    lane->last = write;
    lane->count++;
    at_loop_defer(lane->loop, &lane->flush);
}

static void on_flush(struct at_deferred *deferred)
{
    struct at_lane *lane = (struct at_lane *)((char *)deferred - offsetof(struct at_lane, flush));
    struct at_write *first = lane->first;
    uint32_t count = lane->count;

    lane->first = NULL;
    lane->last = NULL;
    lane->count = 0;
    if (!first)
        return;
    enum at_code code = at_store_submit_list(lane->store, first, count);
    if (code == AT_OK)
        return;
    while (first) {
        struct at_write *next = (struct at_write *)first->mail.next;
        refuse(first, code);
        first = next;
    }
}

static void refuse(struct at_write *write, enum at_code code)
{
    struct at_ticket *ticket = write->ctx;

    /* RESOURCE_EXHAUSTED is the store's word for a full queue; clients only try UNAVAILABLE again.
     */
    bool full = code == AT_RESOURCE_EXHAUSTED;

    write->code =
        at_fail(&write->error, AT_UNAVAILABLE,
                full ? "too many writes are waiting; try again" : "this cluster is shutting down");
    write->error.retry_after_ms = full ? FULL_RETRY_MS : 0;
    ticket->answer(ticket);
}

static void on_done(struct at_write *write)
{
    struct at_ticket *ticket = write->ctx;
    struct at_lane *lane = ticket->lane;
    struct at_ticket *head = atomic_load_explicit(&lane->answered, memory_order_relaxed);

    do
        ticket->next = head;
    while (!atomic_compare_exchange_weak_explicit(&lane->answered, &head, ticket,
                                                  memory_order_acq_rel, memory_order_relaxed));
    /* From here on the ticket may be gone. */
    if (!head)
        at_loop_post(lane->loop, &lane->drain);
}

static void on_drain(struct at_task *task)
{
    struct at_lane *lane = (struct at_lane *)((char *)task - offsetof(struct at_lane, drain));
    struct at_ticket *newest =
        atomic_exchange_explicit(&lane->answered, NULL, memory_order_acq_rel);
    struct at_ticket *oldest = NULL;

    while (newest) {
        struct at_ticket *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest) {
        struct at_ticket *next = oldest->next;
        oldest->answer(oldest);
        oldest = next;
    }
}
