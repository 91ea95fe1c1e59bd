/* front_impl.h: what the files of a front share. Internal to routing/proxy. */
#ifndef ATOLL_ROUTING_PROXY_FRONT_IMPL_H
#define ATOLL_ROUTING_PROXY_FRONT_IMPL_H

#include "atoll/v1/control.pb-c.h"
#include "routing/proxy/front.h"

/* A cluster as an instance file or another cluster tells of it. */
struct at_front_member {
    const char *id;
    const char *zone;
    const char *host;
    uint16_t port;
    uint32_t member;
};

/* at_front_add gives a cluster a slot; one that cannot have any is left out, said in the log. */
void at_front_add(struct at_front *front, const struct at_front_member *member);

/* at_front_take_members makes the list that a cluster told of the one in force. */
void at_front_take_members(struct at_front *front, const Atoll__V1__HeartbeatResponse *beat);

/* at_front_drop closes what a slot holds and frees it. */
void at_front_drop(struct at_front_target *t);

/* at_front_beat sends a heartbeat; the target has none on its way. */
void at_front_beat(struct at_front_target *t);

/* at_front_step is at_health_step, shown on the board. */
void at_front_step(struct at_front_target *t, const struct at_health_event *event);

/* at_front_finish_refreshes ends those of target `t` that have what they wait for (all: each). */
void at_front_finish_refreshes(struct at_front *front, const struct at_front_target *t, bool all);

#endif
