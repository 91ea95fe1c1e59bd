/* guard.h: whether this cluster's clock can be trusted, judged by the others' clocks. PURE.
 *
 * Rule 5: a cluster refuses writes when the stamp it would issue is beyond the median of the
 * clocks it hears, its own included, plus max_skew; with two, the one ahead refuses. Cut off from
 * all it compares its wall clock with its monotonic clock. */
#ifndef ATOLL_REPLICATION_GUARD_H
#define ATOLL_REPLICATION_GUARD_H

#include "base/clock.h"
#include "base/limits.h"
#include "base/stamp.h"

#include <stdbool.h>

/* A clock heard longer ago than this is not heard. */
#define AT_GUARD_HEARD_NS_MAX (5 * AT_S_NS)

struct at_guard_clock {
    struct at_member_id member; /* 0: free */
    uint64_t hlc;
    uint64_t mono_ns; /* when it was heard */
};

struct at_guard {
    uint64_t max_skew_ns;
    struct at_guard_clock clocks[AT_MEMBERS_MAX];
    bool anchored; /* the next two are set */
    uint64_t anchor_mono_ns;
    int64_t anchor_offset_ns; /* wall minus monotonic clock when the others last agreed */
};

enum at_guard_verdict {
    AT_GUARD_FINE,
    AT_GUARD_AHEAD,  /* of the median: refuse writes */
    AT_GUARD_BEHIND, /* it: not healthy */
    AT_GUARD_JUMPED, /* nobody to compare with, and the wall clock jumped: refuse writes */
};

struct at_guard_finding {
    enum at_guard_verdict verdict;
    uint64_t off_ns;           /* how far from the median, or how far it jumped */
    uint32_t heard_count;      /* others that are heard */
    struct at_member_id other; /* the only one heard, when heard_count is 1 */
};

void at_guard_init(struct at_guard *g, uint64_t max_skew_ns);

/* at_guard_hear: `member`'s clock showed `hlc`. */
void at_guard_hear(struct at_guard *g, struct at_member_id member, uint64_t hlc, uint64_t mono_ns);

/* at_guard_forget: `member` has left or was removed: its clock counts no more. */
void at_guard_forget(struct at_guard *g, struct at_member_id member);

/* at_guard_judge: `next` is the stamp that would be issued now, `released` the operator's floor
 * under the median. `alone`: the instance has no other member. */
struct at_guard_finding at_guard_judge(struct at_guard *g,
                                       uint64_t next,
                                       uint64_t released,
                                       uint64_t wall_ns,
                                       uint64_t mono_ns,
                                       bool alone);

#endif
