/* lane.h: the way of one loop's requests to the writer and back. ADAPTER (atomics).
 *
 * What the calls of one turn want written is handed over together at the end of the turn; what the
 * writer answers in one round comes back with one wake-up. A ticket's storage, and all that its
 * write borrows, stays valid until `answer` runs, also when the call was cancelled meanwhile. */
#ifndef ATOLL_CLUSTER_SERVICE_LANE_H
#define ATOLL_CLUSTER_SERVICE_LANE_H

#include "cluster/tablet/store.h"
#include "wire/loop.h"

struct at_lane;

struct at_ticket {
    struct at_ticket *next;
    struct at_lane *lane;
    struct at_write *write; /* its code and error hold the result */
    void (*answer)(struct at_ticket *ticket);
};

struct at_lane *at_lane_new(struct at_store *store, struct at_loop *loop);
void at_lane_free(struct at_lane **lane);
struct at_loop *at_lane_loop(const struct at_lane *lane);

/* at_lane_submit queues the write for the end of this turn and sets its `done` and `ctx`. `answer`
 * runs on the loop thread, later, in every case: when the writer's queue is full or closed, with
 * RESOURCE_EXHAUSTED or UNAVAILABLE in the write's code. Loop thread. */
void at_lane_submit(struct at_lane *lane,
                    struct at_ticket *ticket,
                    struct at_write *write,
                    void (*answer)(struct at_ticket *ticket));

#endif
