/* refresh_all.h: waits until every loop of a router knows the newest app profiles. ADAPTER.
 *
 * A client that changed a profile and got its answer must find the change in force, on whatever
 * connection (so: loop) its next request comes. */
#ifndef ATOLL_ROUTING_PROXY_REFRESH_ALL_H
#define ATOLL_ROUTING_PROXY_REFRESH_ALL_H

#include "routing/proxy/front.h"

struct at_refresh_all;

/* at_refresh_all_start asks all fronts beside `front`; `done` runs on front's loop. A cluster that
 * does not answer ends its part of the wait within a heartbeat's timeout. */
struct at_refresh_all *at_refresh_all_start(struct at_front *front,
                                            struct at_front *const *fronts,
                                            uint32_t front_count,
                                            void (*done)(void *ctx),
                                            void *ctx);

/* at_refresh_all_forget: `done` will not be called any more. front's loop, before done. */
void at_refresh_all_forget(struct at_refresh_all *all);

#endif
