#include "base/assert.h"
#include "base/mutant.h"
#include "replication/replica_state.h"

/* Rule 37. A leaver R:
 *
 *     LEAVING [sync]   no writes; pulls on
 *     all others durably have its whole V, of all origins     -> LEAVE, its last entry ever [sync]
 *     LEFT, LEAVING    pulls nothing: what it took now only it would have; answers pulls
 *     all others durably have LEAVE                           -> REMOVED: it may end
 *
 * A member that is dead and not yet removed is among "all others": the leaver waits. All others may
 * have left as well while it was down, after they registered who stays. So who stays greets those
 * that left (JOIN), now and then: whoever has not ended asks back. */

static bool all_others_have(const struct at_replica *r, const struct at_vector *v);
static bool knows_leave(const struct at_replica *r, uint32_t index);

enum at_code at_replica_leave_begin(struct at_replica *r, struct at_error *reterr)
{
    if (r->mode == AT_MODE_LEAVING)
        return AT_OK;
    if (r->mode != AT_MODE_READY || !r->joined || r->rolled_back)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "only a cluster that is READY can leave");
    if (r->closed_below != r->epoch)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "not all clusters have answered what they have of its lost tail yet");
    if (r->removal.on)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "this cluster coordinates the removal of another one");
    if (at_replica_active_count(r) < 2)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "the last cluster can't leave");
    at_replica_set_mode(r, AT_MODE_LEAVING);
    r->need_sync = true;
    return AT_OK;
}

bool at_replica_leave_ready(const struct at_replica *r)
{
    if (r->mode != AT_MODE_LEAVING || at_replica_has_left(r) || r->removal.on ||
        r->closed_below != r->epoch)
        return false;
    return all_others_have(r, &r->applied) || AT_MUTANT(leave_early);
}

bool at_replica_leave_done(const struct at_replica *r)
{
    if (!at_replica_has_left(r))
        return false;
    for (uint32_t i = 0; i < r->origin_count; i++)
        if (i != r->self_index && at_replica_is_active(r, i) && !knows_leave(r, i))
            return false;
    return true;
}

void at_replica_leave_settle(struct at_replica *r)
{
    if (at_replica_leave_done(r))
        at_replica_set_mode(r, AT_MODE_REMOVED);
    if (r->fork_id != 0 && !r->forked && all_others_have(r, &r->fork_upto)) {
        r->forked = true;
        r->instance_id = r->fork_id;
        r->dirty |= AT_DIRTY_FORK;
        r->need_sync = true;
    }
}

bool at_replica_acked_all(const struct at_replica *r, uint32_t member, const struct at_vector *v)
{
    for (uint32_t i = 0; i < v->count; i++) {
        const struct at_position *p = &v->items[i];
        if (at_replica_acked(r, member, p->origin, p->epoch) < p->seq)
            return false;
    }
    return true;
}

static bool all_others_have(const struct at_replica *r, const struct at_vector *v)
{
    for (uint32_t i = 0; i < r->origin_count; i++)
        if (i != r->self_index && at_replica_is_active(r, i) && !at_replica_acked_all(r, i, v))
            return false;
    return true;
}

static bool knows_leave(const struct at_replica *r, uint32_t index)
{
    const struct at_position *last = &r->origins[r->self_index].last;

    return r->peers[index].knows_leave ||
           at_replica_acked(r, index, last->origin, last->epoch) >= last->seq;
}
