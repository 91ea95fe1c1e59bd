/* stamp.h: the order of all operations, and the ids that go with it. PURE.
 *
 * Every single operation has a unique stamp: a tick of the hybrid logical clock
 * of the cluster that accepted it, and that cluster's member id. Stamps order
 * by (hlc, origin), the same everywhere. */
#ifndef ATOLL_BASE_STAMP_H
#define ATOLL_BASE_STAMP_H

#include <stdbool.h>
#include <stdint.h>

/* A member of the instance. Never reused: a cluster that is deleted and made
 * again under its old name gets a new one. 0 is no member. */
struct at_member_id {
    uint32_t v;
};

static inline bool at_member_eq(struct at_member_id a, struct at_member_id b)
{
    return a.v == b.v;
}

struct at_stamp {
    uint64_t hlc; /* nanoseconds since 1970, made unique by counting on */
    struct at_member_id origin;
};

static inline int at_stamp_cmp(struct at_stamp a, struct at_stamp b)
{
    if (a.hlc != b.hlc)
        return a.hlc < b.hlc ? -1 : 1;
    if (a.origin.v != b.origin.v)
        return a.origin.v < b.origin.v ? -1 : 1;
    return 0;
}

/* A position in one origin's mutation log: entry `seq` (from 1) of `epoch` (from 1). */
struct at_position {
    struct at_member_id origin;
    uint32_t epoch;
    uint64_t seq;
};

#endif
