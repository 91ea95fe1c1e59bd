/* state.h: what the handlers of a cluster keep between requests: the ways to the writer, one per
 * loop, what app profiles allow, row ranges being dropped. ADAPTER (atomics, one lock). */
#ifndef ATOLL_CLUSTER_SERVICE_STATE_H
#define ATOLL_CLUSTER_SERVICE_STATE_H

#include "cluster/service/drop_set.h"
#include "cluster/service/heat.h"
#include "cluster/service/lane.h"
#include "cluster/service/profile_cache.h"
#include "wire/grpc_health.h"
#include "wire/grpc_reflection.h"

#define AT_LANES_MAX 64 /* loops of one server */

struct at_service_state {
    struct at_profile_cache profiles;
    struct at_drop_set drops;
    struct at_heat *heat;
    struct at_grpc_health health;
    struct at_grpc_reflection reflection;
    pthread_mutex_t lock; /* making a lane */
    _Atomic(struct at_lane *) lanes[AT_LANES_MAX];
};

struct at_service_state *at_service_state_new(void);
/* at_service_state_free: the loops have stopped and the store is closed. */
void at_service_state_free(struct at_service_state **state);

/* at_service_lane returns the lane of a loop, made when it is first asked for. */
struct at_lane *
at_service_lane(struct at_service_state *state, struct at_store *store, struct at_loop *loop);

#endif
