/* loop.h: one libuv loop, the thread that runs it, and its mailbox. ADAPTER.
 *
 * A loop owns its connections and everything that hangs on them; only its own
 * thread touches those. Other threads talk to it through at_loop_post. `now`
 * is read once per turn. Work that many events of one turn want done once (one
 * socket write per connection, say) is registered with at_loop_defer and runs
 * at the end of the turn, before the loop sleeps. */
#ifndef ATOLL_WIRE_LOOP_H
#define ATOLL_WIRE_LOOP_H

#include <uv.h>

#include "base/clock.h"
#include "base/mailbox.h"
#include "base/status.h"

struct at_loop;

/* A piece of work for a loop; embedded in what it works on. */
struct at_task {
    struct at_mail mail;
    void (*run)(struct at_task *task);
};

/* A piece of work for the end of this turn; embedded likewise. Queued at most once at a time. */
struct at_deferred {
    struct at_deferred *next;
    void (*run)(struct at_deferred *deferred);
    bool queued;
};

/* at_loop_new makes a loop that no thread runs yet. `clock` is copied. Has the process ignore
 * SIGPIPE, unless it handles it: a socket whose peer is gone is an error, not the end. */
struct at_loop *at_loop_new(struct at_clock clock);
void at_loop_free(struct at_loop **loop);

/* at_loop_settle runs posted and deferred work and the callbacks of closed handles, without
 * waiting. The loop must not be running: for those who take things down after it stopped. */
void at_loop_settle(struct at_loop *loop);

/* at_loop_start runs it on a thread of its own named `name`; at_loop_run on the calling thread
 * until at_loop_stop. INTERNAL when no thread can be made. */
AT_MUST_USE enum at_code
at_loop_start(struct at_loop *loop, const char *name, struct at_error *reterr);
void at_loop_run(struct at_loop *loop);

/* at_loop_stop makes the loop return at the end of a turn, after all posted tasks have run. Any
 * thread. at_loop_join waits for the thread of at_loop_start. */
void at_loop_stop(struct at_loop *loop);
void at_loop_join(struct at_loop *loop);

/* at_loop_uv borrows the libuv loop. Loop thread. */
uv_loop_t *at_loop_uv(struct at_loop *loop);

/* at_loop_now_ns: monotonic time of this turn. Loop thread. */
uint64_t at_loop_now_ns(const struct at_loop *loop);
const struct at_clock *at_loop_clock(const struct at_loop *loop);

/* at_loop_post runs `task` on the loop's thread, soon; tasks of one sender keep their order. One
 * wake-up per burst. Any thread. Never fails: each object embeds the tasks it may have queued, so
 * the queue is bounded by those objects. */
void at_loop_post(struct at_loop *loop, struct at_task *task);

/* at_loop_defer runs `deferred` once at the end of this turn. Loop thread. */
void at_loop_defer(struct at_loop *loop, struct at_deferred *deferred);

#endif
