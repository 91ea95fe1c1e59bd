/* lag.h: how far a cluster is behind one peer's own log. PURE.
 *
 * It never guesses zero: 0 entries and 0 ms mean that a fresh reply of the peer itself named its
 * end, and that all of it is applied. */
#ifndef ATOLL_REPLICATION_LAG_H
#define ATOLL_REPLICATION_LAG_H

#include "replication/replica.h"

/* What a link remembers of the last good reply of its peer. Times are monotonic. */
struct at_lag_evidence {
    struct at_vector ends; /* the peer's own (origin, epoch) pairs in it */
    uint64_t hlc;          /* the peer's clock then */
    uint64_t reply_ns;     /* when it came; 0: never */
    uint64_t all_ns;       /* when everything it told was last applied; 0: never */
    uint64_t since_ns;     /* when the link was started */
};

void at_lag_evidence_init(struct at_lag_evidence *e, uint64_t now_ns);
void at_lag_evidence_deinit(struct at_lag_evidence *e);
void at_lag_evidence_note(struct at_lag_evidence *e, const struct at_reply *reply, uint64_t now_ns);

struct at_lag_windows {
    uint64_t fresh_ns; /* a reply newer than this can prove that nothing is missing */
    uint64_t touch_ns; /* without a reply for this long the peer is out of touch */
};

struct at_lag {
    bool known; /* false: what the peer has is unknown; entries and ms are a lower bound */
    uint64_t entries;
    uint64_t ms;
};

/* at_lag_of measures against what `view` has applied. */
struct at_lag at_lag_of(const struct at_lag_evidence *e,
                        const struct at_replica_view *view,
                        struct at_member_id peer,
                        struct at_lag_windows windows,
                        uint64_t now_ns);

#endif
