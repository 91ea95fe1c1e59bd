#include "base/assert.h"
#include "base/mutant.h"
#include "replication/replica_state.h"

#include <inttypes.h>

/* Rules 38 and 39. A newcomer X, seen from itself:
 *
 *     INIT            its config names the registrar's members; JOIN is asked of all, also to tell
 *     COPYING, READY  how the filling goes
 *     caught up       when all active members have answered KNOWN, and those that only answers
 *                     named: joined [sync], it may write
 *     NEVER           mode REMOVED: its registration is lost, with its registrar
 *
 * Acknowledgements are not stored: who restarts asks again. */

static bool was_never(const struct at_replica *r, uint32_t at, const struct at_join *join);
static void
note_leave_known(struct at_replica *r, uint32_t from, const struct at_join_answer *answer);
static bool names(const struct at_join_answer *answer, struct at_member_id id);
static void list_active(const struct at_replica *r, struct at_join_answer *answer);
static bool all_acknowledged(const struct at_replica *r);
static void believe(struct at_replica *r, uint32_t from, const struct at_join_answer *answer);

enum at_code at_replica_may_register(const struct at_replica *r, struct at_error *reterr)
{
    if (r->mode != AT_MODE_READY || !r->joined || r->rolled_back || r->removal.on)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "this cluster can't register another one now");
    if (at_replica_active_count(r) >= AT_CLUSTERS_MAX)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED,
                       "the instance has %" PRIu32 " clusters, the maximum is %d",
                       at_replica_active_count(r), AT_CLUSTERS_MAX);
    if (r->origin_count + AT_MEMBERS_MAX > AT_ORIGINS_MAX)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED,
                       "the instance has had %" PRIu32 " clusters over its life, the maximum",
                       r->origin_count);
    return AT_OK;
}

enum at_code at_replica_on_join(struct at_replica *r,
                                const struct at_join *join,
                                struct at_join_answer *ret_answer)
{
    uint32_t at = at_replica_find_origin(r, join->from);

    if (!at_replica_is_instance(r, join->instance_id) || at == r->self_index ||
        r->mode == AT_MODE_REMOVED)
        return AT_PERMISSION_DENIED;
    /* Whom a minority removed goes on without it, see at_removal.fork_id. */
    if (at != AT_NO_ORIGIN && r->fork_id != 0 && r->origins[at].state == AT_ORIGIN_REMOVED)
        return AT_PERMISSION_DENIED;
    *ret_answer = (struct at_join_answer){.instance_id = r->instance_id,
                                          .from = r->self,
                                          .from_incarnation = r->epoch,
                                          .to = join->from,
                                          .verdict = AT_JOIN_UNKNOWN,
                                          .hlc = r->hlc.now};
    /* Of two that leave at once neither takes the other's LEAVE any more, nor needs to know. */
    bool both_left = at != AT_NO_ORIGIN && r->origins[at].state != AT_ORIGIN_KNOWN &&
                     at_replica_has_left(r) && join->mode == AT_MODE_LEAVING;
    if (both_left || was_never(r, at, join))
        ret_answer->verdict = AT_JOIN_NEVER;
    else if (at != AT_NO_ORIGIN && at_replica_is_active(r, at) && !r->origins[at].fenced)
        ret_answer->verdict = AT_JOIN_KNOWN;
    r->need_sync = r->need_sync || ret_answer->verdict != AT_JOIN_UNKNOWN;
    list_active(r, ret_answer);
    return AT_OK;
}

void at_replica_on_join_answer(struct at_replica *r, const struct at_join_answer *answer)
{
    uint32_t from = at_replica_find_origin(r, answer->from);

    if (!at_replica_is_instance(r, answer->instance_id) || !at_member_eq(answer->to, r->self) ||
        from == r->self_index || r->mode == AT_MODE_REMOVED)
        return;
    if (answer->verdict == AT_JOIN_NEVER && at_replica_has_left(r)) {
        note_leave_known(r, from, answer);
        at_replica_leave_settle(r);
        return;
    }
    if (answer->verdict == AT_JOIN_NEVER) {
        if (from != AT_NO_ORIGIN && r->mode != AT_MODE_LEAVING && !at_replica_is_gone(r, from)) {
            at_replica_set_mode(r, AT_MODE_REMOVED);
            r->need_sync = true;
        }
        return;
    }
    if (!r->joined && answer->verdict == AT_JOIN_KNOWN)
        believe(r, from, answer);
    at_replica_join_settle(r);
}

bool at_replica_joining(const struct at_replica *r,
                        struct at_member_id *ret_missing,
                        uint32_t *ret_count)
{
    *ret_count = 0;
    if (r->joined || r->mode == AT_MODE_REMOVED)
        return false;
    for (uint32_t i = 0; i < r->origin_count; i++)
        if (i != r->self_index && at_replica_is_active(r, i) && !r->peers[i].knows_join &&
            *ret_count < AT_MEMBERS_MAX)
            ret_missing[(*ret_count)++] = r->origins[i].id;
    for (uint32_t k = 0; k < r->learnt.count; k++)
        if (!r->learnt.items[k].answered && *ret_count < AT_MEMBERS_MAX)
            ret_missing[(*ret_count)++] = r->learnt.items[k].id;
    return true;
}

void at_replica_set_caught_up(struct at_replica *r)
{
    if (r->mode != AT_MODE_READY || r->caught_up)
        return;
    r->caught_up = true;
    r->dirty |= AT_DIRTY_MODE;
    at_replica_join_settle(r);
}

void at_replica_join_settle(struct at_replica *r)
{
    if (r->joined || r->mode != AT_MODE_READY || !r->caught_up)
        return;
    if (!all_acknowledged(r) && !AT_MUTANT(join_unacknowledged))
        return;
    r->joined = true;
    r->dirty |= AT_DIRTY_MODE;
    r->need_sync = true;
}

static bool was_never(const struct at_replica *r, uint32_t at, const struct at_join *join)
{
    uint32_t by = at_replica_find_origin(r, join->registered.origin);

    if (at != AT_NO_ORIGIN && at_replica_is_gone(r, at))
        return true;
    if (at != AT_NO_ORIGIN && at_replica_is_active(r, at))
        return false;
    /* Nothing at or below the horizon is missing here, and its registration was not in it. */
    if (join->hlc != 0 && join->hlc <= r->horizon)
        return true;
    /* An epoch that has left the vectors is complete here, and its registration was not in it. */
    return join->registered.epoch != 0 && by != AT_NO_ORIGIN && at_replica_is_gone(r, by) &&
           (join->registered.epoch < r->origins[by].first_open ||
            at_origin_beyond_final(&r->origins[by], join->registered.epoch, join->registered.seq));
}

/* Whoever is active here and not there has come to an end since: all had every registration that
 * this cluster had, before it left. Also one that came after LEAVE, and is not known here, tells
 * that: all others may have gone since. But it has to have LEAVE, and does not name this cluster
 * then: else it may be too new to know who there is. */
static void
note_leave_known(struct at_replica *r, uint32_t from, const struct at_join_answer *answer)
{
    if (from != AT_NO_ORIGIN && at_replica_is_active(r, from))
        r->peers[from].knows_leave = true;
    else if (names(answer, r->self))
        return;
    for (uint32_t i = 0; i < r->origin_count; i++)
        if (i != from && i != r->self_index && at_replica_is_active(r, i) &&
            !names(answer, r->origins[i].id))
            r->peers[i].knows_leave = true;
}

static bool names(const struct at_join_answer *answer, struct at_member_id id)
{
    for (uint32_t k = 0; k < answer->member_count; k++)
        if (at_member_eq(answer->members[k].id, id))
            return true;
    return false;
}

static void list_active(const struct at_replica *r, struct at_join_answer *answer)
{
    for (uint32_t i = 0; i < r->origin_count; i++) {
        const struct at_origin *o = &r->origins[i];
        if (at_replica_is_active(r, i) && answer->member_count < AT_MEMBERS_MAX)
            answer->members[answer->member_count++] =
                (struct at_member_seed){o->id, at_slice_make(o->info, o->info_len)};
    }
}

/* An acknowledgement from the future is none: its clock would carry ours off. */
static void believe(struct at_replica *r, uint32_t from, const struct at_join_answer *answer)
{
    uint64_t limit = r->hlc.now > r->released ? r->hlc.now : r->released;

    if (answer->hlc > limit + r->max_skew_ns)
        return;
    at_hlc_merge(&r->hlc, answer->hlc);
    if (from != AT_NO_ORIGIN && at_replica_is_active(r, from)) {
        r->peers[from].knows_join = true;
        at_replica_learn(r, &r->learnt, from, answer->members, answer->member_count);
        return;
    }
    for (uint32_t k = 0; k < r->learnt.count; k++) {
        if (!at_member_eq(r->learnt.items[k].id, answer->from))
            continue;
        r->learnt.items[k].answered = true;
        /* What it names counts as long as who named it does. */
        for (uint32_t i = 0; i < r->origin_count; i++)
            if ((r->learnt.items[k].tellers >> i & 1) != 0)
                at_replica_learn(r, &r->learnt, i, answer->members, answer->member_count);
        return;
    }
}

static bool all_acknowledged(const struct at_replica *r)
{
    for (uint32_t i = 0; i < r->origin_count; i++)
        if (i != r->self_index && at_replica_is_active(r, i) && !r->peers[i].knows_join)
            return false;
    for (uint32_t k = 0; k < r->learnt.count; k++)
        if (!r->learnt.items[k].answered)
            return false;
    return true;
}
