/* fill.h: copies: merge aside, switch once (rules 27-32), on an at_replica. PURE.
 *
 *   READY -> NEEDS_COPY (or INIT) --begin--> COPYING --end--> READY, not caught up
 *                                     '--drop--> what it was; nothing has changed
 *
 * The rule of the merge, by stamps: at or below t = max(F of donor, F of receiver) only what the
 * side has whose F is t (the donor's when equal); above t the union. */
#ifndef ATOLL_REPLICATION_FILL_H
#define ATOLL_REPLICATION_FILL_H

#include "base/buf.h"
#include "replication/membership.h"
#include "replication/replica.h"

struct at_copy_member {
    struct at_member_id id;
    uint8_t state; /* enum at_origin_state */
    bool fenced;
    uint32_t min_incarnation;
    struct at_position registered; /* epoch 0: a member since the instance's birth, or not known */
    struct at_position last;       /* LEFT: its LEAVE; REMOVED: its last epoch that is known */
    struct at_slice info;
};

/* What a donor says of itself at the point of its snapshot. Arrays live in the arena of who made
 * it, or in the message's. */
struct at_copy_state {
    struct at_member_id from;
    uint32_t incarnation;
    struct at_vector applied;
    struct at_positions_facts facts; /* first_open, ends, promises (its own too), vouches */
    uint64_t horizon;                /* F of the donor */
    uint64_t hlc;
    uint64_t released;
    /* A minority went on: the instance's id before and after, 0: never. Not in the facts of
     * members: whoever learns of the removal by a copy must learn this too. */
    uint64_t fork_from;
    uint64_t fork_id;
    struct at_copy_member *members;
    uint32_t member_count;
};

/* What a donor has to give: `state` lives as long as the source. */
struct at_copy_offer {
    const struct at_copy_state *state;
    uint32_t part_count;
    uint64_t bytes; /* estimate of all parts */
};

/* A chunk of a part to be read, and the chunk. */
struct at_copy_read {
    uint32_t part;
    struct at_slice cursor; /* where it begins; empty: at the part's start */
    size_t max_bytes;       /* about; one whole key is read at least */
    struct at_buf *items;   /* appended to */
    struct at_buf *next;    /* result: the cursor of the chunk behind it */
    bool last;              /* result: there is none, the part is whole */
};

/* at_replica_may_donate is rule 27: FAILED_PRECONDITION with the reason. `needs`: the receiver's
 * gaps, one of which at least V must cover. */
AT_MUST_USE enum at_code at_replica_may_donate(const struct at_replica *r,
                                               struct at_member_id receiver,
                                               const struct at_vector *needs,
                                               struct at_error *reterr);

/* at_replica_copy_state describes this cluster as it is now: called right after a commit, when the
 * snapshot is taken. `arena` owns the result; at_vector_deinit applied. */
void at_replica_copy_state(const struct at_replica *r,
                           struct at_arena *arena,
                           struct at_copy_state *ret_state);

/* at_replica_may_copy_from: `donor` is a member here, not fenced, and its process is not one whose
 * replies are dropped (rule 12), nor one whose clock would carry ours off (rule 4):
 * FAILED_PRECONDITION. To be asked right before copy_begin: what it told may have been long on its
 * way. */
AT_MUST_USE enum at_code at_replica_may_copy_from(const struct at_replica *r,
                                                  const struct at_copy_state *donor,
                                                  struct at_error *reterr);

/* at_replica_copy_begin: mode COPYING [sync]: no pulls are taken, no writes, no forgetting, no
 * donating. FAILED_PRECONDITION unless NEEDS_COPY or INIT. */
AT_MUST_USE enum at_code at_replica_copy_begin(struct at_replica *r, struct at_error *reterr);

struct at_copy_rule {
    uint64_t t;
    bool donor_side; /* at or below t the donor's picture counts */
};
struct at_copy_rule at_replica_copy_rule(const struct at_replica *r,
                                         const struct at_copy_state *donor);

/* at_replica_copy_end is rule 30: V, base, F, facts, members, clock. `ret_grown` (init'ed by the
 * caller) gets each (origin, epoch) that grew, at its new V, and each that left the vectors:
 * the caller empties those logs in the same batch. [sync]. */
void at_replica_copy_end(struct at_replica *r,
                         const struct at_copy_state *donor,
                         struct at_vector *ret_grown);
/* at_replica_copy_drop: the mode before the copy. */
void at_replica_copy_drop(struct at_replica *r);

#endif
