/* refresh_all.h: waits until every loop of a router knows the newest app profiles and members.
 * ADAPTER.
 *
 * A client that changed a profile and got its answer must find the change in force, on whatever
 * connection (so: loop) its next request comes. */
#ifndef ATOLL_ROUTING_PROXY_REFRESH_ALL_H
#define ATOLL_ROUTING_PROXY_REFRESH_ALL_H

#include "routing/proxy/front.h"

struct at_refresh_all;

struct at_refresh_plan {
    struct at_front *home;   /* where `done` runs; its peers are asked too */
    struct at_slice cluster; /* the one that made the change: it knows. Copied */
};

/* at_refresh_all_start asks the target once more on every loop, then runs `done`. A target that
 * does not answer ends its part of the wait within a heartbeat's timeout. Home's loop. */
struct at_refresh_all *
at_refresh_all_start(const struct at_refresh_plan *plan, void (*done)(void *ctx), void *ctx);

/* at_refresh_all_forget: `done` will not be called any more. Home's loop, before done. */
void at_refresh_all_forget(struct at_refresh_all *all);

#endif
