/* choice.h: the order in which clusters are tried for one request. PURE.
 *
 * Single-cluster routing: that cluster alone. Any: the members of its group (all when it names
 * none), same zone as the router first, then by configured latency where the instance file gives
 * one, else by measured round trip, then by id. With row affinity and a single row, the order
 * starts at a cluster that the row key picks (rendezvous hashing among the group), so one row keeps
 * its cluster while the group does. Healthy ones first in that order, then the others: a request is
 * never refused for lack of health alone while something could answer. */
#ifndef ATOLL_ROUTING_CHOICE_H
#define ATOLL_ROUTING_CHOICE_H

#include "base/limits.h"
#include "base/slice.h"

struct at_target {
    struct at_slice id;
    struct at_slice zone;
    bool up;
    uint64_t rtt_us;    /* 0: not measured */
    int64_t latency_us; /* configured; -1: none */
};

struct at_choice_rule {
    bool single;
    const struct at_slice *group; /* cluster ids; count 0: all. SINGLE: exactly one */
    uint32_t group_count;
    struct at_slice router_zone;
    struct at_slice affinity_row; /* empty: no affinity */
};

/* at_choice_order fills indices into `targets` in the order to try; returns how many (0: no such
 * cluster). For a single-cluster rule a cluster that is down is still returned: the attempt tells
 * UNAVAILABLE. */
uint32_t at_choice_order(const struct at_choice_rule *rule,
                         const struct at_target *targets,
                         uint32_t target_count,
                         uint32_t ret_order[AT_MEMBERS_MAX]);

#endif
