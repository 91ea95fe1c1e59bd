/* fleet.h: the instances that one router serves, and which front of which loop serves each.
 * ADAPTER.
 *
 * Every loop has its own table from instance name to front, so a request finds its instance without
 * a lock. Instances are added and removed by the leader (the first loop) while requests are under
 * way: each loop opens or retires its front by itself, and memory is given back when the last
 * request of the last loop has ended. */
#ifndef ATOLL_ROUTING_PROXY_FLEET_H
#define ATOLL_ROUTING_PROXY_FLEET_H

#include "routing/proxy/front.h"
#include "routing/resource.h"

#define AT_FLEET_LOOPS_MAX 16

/* One instance. */
struct at_realm {
    struct at_realm *next; /* under the fleet's lock */
    struct at_fleet *fleet;
    struct at_arena arena; /* owns what `instance` points to, unless that is borrowed */
    struct at_instance_config instance;
    struct at_slice name; /* "projects/P/instances/I" */
    struct at_board board;
    struct at_front *fronts[AT_FLEET_LOOPS_MAX];
    bool primary;                   /* the router's own: asked for what names no instance */
    bool removing;                  /* leader only */
    struct at_fleet_errand *errand; /* the one under way, or NULL */
};

struct at_lane;

struct at_fleet {
    struct at_loop *const *loops; /* the first is the leader; borrowed */
    uint32_t loop_count;
    struct at_lane *lanes;
    pthread_mutex_t lock; /* of the list of realms; taken by no request */
    struct at_realm *realms;
    uint32_t realm_count;
    _Atomic bool serving;
    _Atomic uint64_t added_count; /* ever */
    bool closed;
    uint16_t grpc_port;
    uint16_t http_port;
};

void at_fleet_init(struct at_fleet *fleet, struct at_loop *const *loops, uint32_t loop_count);

/* at_fleet_close closes all fronts; at_fleet_deinit frees them once the loops were settled. After
 * the loops have stopped. */
void at_fleet_close(struct at_fleet *fleet);
void at_fleet_deinit(struct at_fleet *fleet);

struct at_fleet_done {
    void (*run)(void *ctx); /* may be NULL */
    void *ctx;
};

/* at_fleet_add begins to serve an instance; `done` runs on the leader when every loop does. `arena`
 * is taken over (NULL: what the config points to outlives the fleet). RESOURCE_EXHAUSTED when there
 * are too many. Leader, or before loops run. */
AT_MUST_USE enum at_code at_fleet_add(struct at_fleet *fleet,
                                      const struct at_instance_config *instance,
                                      struct at_arena *arena,
                                      bool primary,
                                      struct at_fleet_done done,
                                      struct at_error *reterr);

/* at_fleet_remove stops serving it at once; `done` runs on the leader when all requests to it have
 * ended and nothing is left of it. Leader. */
void at_fleet_remove(struct at_realm *realm, struct at_fleet_done done);

/* at_fleet_realm returns the instance of this name, or NULL. Leader: the answer stays. */
struct at_realm *at_fleet_realm(struct at_fleet *fleet, struct at_slice name);

/* at_fleet_find returns the front that serves the instance on this loop, or NULL. Loop thread. */
struct at_front *
at_fleet_find(const struct at_fleet *fleet, const struct at_loop *loop, struct at_slice name);

/* at_fleet_primary: of the router's own instance; NULL when it has none. Loop thread. */
struct at_front *at_fleet_primary(const struct at_fleet *fleet, const struct at_loop *loop);

/* at_fleet_list fills the fronts of all instances of a project, by name; returns how many. Loop
 * thread. */
uint32_t at_fleet_list(const struct at_fleet *fleet,
                       const struct at_loop *loop,
                       struct at_slice project,
                       struct at_front *ret_fronts[AT_INSTANCES_MAX]);

#endif
