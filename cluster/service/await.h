/* await.h: asking the other members on behalf of a call, and coming back to its loop. ADAPTER
 * (atomics, one timer).
 *
 * `then` runs exactly once, on the loop thread of the call, and must finish the call. When the call
 * is cancelled it runs at once, with nothing reached; what replication still holds is let go of
 * when it comes back, wherever that is. So a call never lives longer than its client wants it to.
 *
 * Loop thread of the call. */
#ifndef ATOLL_CLUSTER_SERVICE_AWAIT_H
#define ATOLL_CLUSTER_SERVICE_AWAIT_H

#include "cluster/service/service.h"

struct at_survey;

struct at_await_spread {
    uint64_t seq;         /* own log position; 0: there is nothing to wait for */
    uint64_t deadline_ns; /* monotonic */
    bool insist;          /* wait for members that are out of touch, too */
    /* `all`: every member has it. The call may be cancelled. */
    void (*then)(struct at_grpc_call *call, void *ctx, bool all);
    void *ctx;
};
/* at_await_spread waits until all members have applied the entry. `ask` is copied. */
void at_await_spread(struct at_service *service,
                     struct at_grpc_call *call,
                     const struct at_await_spread *ask);

struct at_await_survey {
    uint32_t timeout_ms;
    /* `survey` is NULL when the call was cancelled; else it lives until `then` returns. */
    void (*then)(struct at_grpc_call *call, void *ctx, const struct at_survey *survey);
    void *ctx;
};
/* at_await_survey asks all members for their positions. `ask` is copied. */
void at_await_survey(struct at_service *service,
                     struct at_grpc_call *call,
                     const struct at_await_survey *ask);

/* at_await_deadline: in ms_max from now, or a little before the call's own deadline, so that the
 * answer says more than that it came too late. */
uint64_t at_await_deadline(const struct at_grpc_call *call, uint32_t ms_max);

#endif
