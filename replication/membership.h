/* membership.h: how clusters join and leave: rules 35-39 on an at_replica. PURE.
 *
 *   join        registrar: an entry MEMBER{X}, [sync].  X: INIT -> copy -> pulls -> caught up
 * (READY for reads) -> JOIN asked of every other active member until each has acknowledged (after
 * applying MEMBER{X}, [sync]) -> may write live leave  R: LEAVING [sync], no writes -> all others
 * durably have its whole V -> an entry LEAVE, its last ever [sync] -> all others durably have that
 * -> ends removal     coordinator: FENCE{D} to every active member outside D; each fences D [sync]
 * and answers its whole V and its members -> an entry REMOVE{D, vouches}
 *
 * Only entries and copies change who is a member; lists that come with answers only add to whom is
 * asked. The functions run on the writer thread, inside an at_replica_call or a round; what must be
 * synced before an answer leaves asks for it by itself (at_replica_flush returns true). */
#ifndef ATOLL_REPLICATION_MEMBERSHIP_H
#define ATOLL_REPLICATION_MEMBERSHIP_H

#include "replication/member_info.h"
#include "replication/replica.h"

/* What a REMOVE entry holds. All vouches of members outside D for all origins of D, all epochs. */
struct at_removal {
    struct at_member_id members[AT_MEMBERS_MAX];
    uint32_t member_count;
    struct at_vouch *vouches; /* borrowed */
    uint32_t vouch_count;
    uint64_t
        fork_id; /* not 0: a minority went on by an operator's word; the instance is this one now */
};

/* --- entries that change members: called by the writer for an own entry right after
 * at_replica_append, for a foreign one right after at_replica_apply --- */

/* at_replica_member_joined: `registered` is the entry's position, `hlc` its stamp. Nothing happens
 * for one that is known, LEFT or REMOVED. */
void at_replica_member_joined(struct at_replica *r,
                              const struct at_member_seed *member,
                              struct at_position registered,
                              uint64_t hlc);
/* at_replica_member_left: `last` is the position of LEAVE, of the origin that left. Own: the mode
 * becomes REMOVED once at_replica_leave_done. */
void at_replica_member_left(struct at_replica *r, struct at_position last);
/* at_replica_members_removed: finals by rules 24 and 35; adopts fork_id. If it names this cluster
 * the mode becomes REMOVED. */
void at_replica_members_removed(struct at_replica *r, const struct at_removal *removal);
/* at_replica_released: an operator accepts stamps up to `hlc` (rule 4). Never falls. */
void at_replica_released(struct at_replica *r, uint64_t hlc);

/* at_replica_told_removed: a member refused this cluster because it is fenced or removed there:
 * mode REMOVED, [sync]. Nothing happens when `from` is not an active member here. */
void at_replica_told_removed(struct at_replica *r, struct at_member_id from);

/* --- joining --- */

/* at_replica_may_register: whether this cluster may write MEMBER{X} now: FAILED_PRECONDITION (it
 * may not write, or coordinates a removal), RESOURCE_EXHAUSTED (as many members as there may be).
 */
AT_MUST_USE enum at_code at_replica_may_register(const struct at_replica *r,
                                                 struct at_error *reterr);

/* at_replica_on_join answers a JOIN: whether this cluster has applied MEMBER{from} [sync]. One that
 * has left asks too: NEVER tells it that its LEAVE is known. PERMISSION_DENIED: other instance. The
 * infos of the answer are borrowed until the next call into r: encode it before. */
AT_MUST_USE enum at_code at_replica_on_join(struct at_replica *r,
                                            const struct at_join *join,
                                            struct at_join_answer *ret_answer);
void at_replica_on_join_answer(struct at_replica *r, const struct at_join_answer *answer);
/* at_replica_joining: true while acknowledgements are missing; fills who is to be asked (ids that
 * are learnt from answers too). False also when it was told that it is no member: mode REMOVED. */
bool at_replica_joining(const struct at_replica *r,
                        struct at_member_id *ret_missing,
                        uint32_t *ret_count);
/* at_replica_set_caught_up: what a copy left open has been pulled: READY for reads. */
void at_replica_set_caught_up(struct at_replica *r);

/* --- leaving --- */

/* at_replica_leave_begin: mode LEAVING [sync]. FAILED_PRECONDITION: not READY and joined, old
 * epochs open, fencing, the last active member. OK when it is leaving already. One that turns out
 * to need a copy, before it has written LEAVE, leaves no more: NEEDS_COPY; call again when READY.
 */
AT_MUST_USE enum at_code at_replica_leave_begin(struct at_replica *r, struct at_error *reterr);
/* at_replica_leave_ready: every other active member durably has this cluster's whole V: write
 * LEAVE. */
bool at_replica_leave_ready(const struct at_replica *r);
/* at_replica_leave_done: LEAVE is written, and every other active member has it durably: it has
 * said so in a pull, or by JOIN_NEVER in answer to a JOIN (who knows it does not pull any more), or
 * has itself come to an end, by the word of one that has LEAVE. */
bool at_replica_leave_done(const struct at_replica *r);

/* --- forced removal --- */

/* at_replica_fence_begin fences `members` here [sync] and begins to coordinate.
 * FAILED_PRECONDITION: this cluster is among them, leaves, or is no full member. Again with the
 * same or more members: goes on. */
AT_MUST_USE enum at_code at_replica_fence_begin(struct at_replica *r,
                                                const struct at_member_id *members,
                                                uint32_t count,
                                                bool minority_survives,
                                                struct at_error *reterr);
/* at_replica_on_fence: a coordinator asks. Fences [sync] and answers the whole V.
 * FAILED_PRECONDITION: this cluster is COPYING (drop the copy, call again) or is to be removed
 * itself; PERMISSION_DENIED: the coordinator is no member here, or fenced. The caller owns
 * ret_answer->applied and ->facts (deinit); infos are borrowed until the next call into r. */
AT_MUST_USE enum at_code at_replica_on_fence(struct at_replica *r,
                                             const struct at_fence *fence,
                                             struct at_fence_answer *ret_answer);
void at_replica_on_fence_answer(struct at_replica *r, const struct at_fence_answer *answer);
/* at_replica_fencing: true while this cluster coordinates a removal; fills D and who has not
 * answered. */
bool at_replica_fencing(const struct at_replica *r,
                        struct at_fence *ret_fence,
                        struct at_member_id *ret_missing,
                        uint32_t *ret_count);
/* at_replica_removal: true when all have answered, and a majority of the members before the act (or
 * the operator gave the word): what to write as REMOVE. vouches live until the next call into r. */
bool at_replica_removal(struct at_replica *r, struct at_removal *ret_removal);

#endif
