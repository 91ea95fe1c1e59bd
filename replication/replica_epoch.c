#include "base/assert.h"
#include "base/mutant.h"
#include "replication/replica_state.h"

/* Rules 18, 22-26. A new epoch of an origin:
 *
 *     open_epoch      epoch e begins, [sync] before its first write; no promise
 *     CLOSE           each member raises min_incarnation to e, [sync], and vouches for what it has
 *                     of the older epochs; replies of the old process are dropped from then on.
 *                     A voucher that lost its own tail says so by its incarnation: all are asked
 *                     again with it, so that nobody takes a reply of its old process after having
 *                     vouched (it may hold more than anyone vouched for)
 *     all answered    the vouches become facts, [sync]; promises go on and list the old epochs
 *     trimmed, acked  all members have an old epoch durably and its log is gone: it leaves the
 *                     vectors (first_open moves), its end is kept
 *
 * Vouches of a closing under way are kept apart: as facts they would make the epoch look closed. */

static void
raise_incarnations(struct at_replica *r, struct at_origin *o, const struct at_close *close);
static bool raise_incarnation(struct at_origin *o, uint32_t incarnation);
static uint32_t first_open_of(const struct at_replica *r, struct at_member_id origin);
static bool
has_durably(const struct at_replica *r, uint32_t member, uint32_t origin, struct at_position p);
static bool may_prune(const struct at_replica *r, uint32_t origin);
static uint64_t answered_seq(const struct at_close_answer *answer, uint32_t epoch);

bool at_replica_open_epoch(struct at_replica *r, uint32_t epoch)
{
    AT_ASSERT(epoch > r->epoch);
    if (epoch - r->origins[r->self_index].first_open >= AT_OPEN_EPOCHS_MAX)
        return false;
    r->epoch = epoch;
    r->seq = 0;
    r->answered = 0;
    r->close_round++;
    r->promise.hlc = 0;
    for (uint32_t i = 0; i < r->origin_count; i++)
        r->peers[i].acked_seq = 0;
    at_positions_facts_clear(&r->closing);
    r->dirty |= AT_DIRTY_EPOCH;
    r->need_sync = true;
    return true;
}

void at_replica_own_position_told(struct at_replica *r, struct at_position p)
{
    if (AT_MUTANT(set_back_unseen))
        return;
    if (p.epoch < r->epoch || (p.epoch == r->epoch && p.seq <= r->seq))
        return;
    if (p.epoch == UINT32_MAX || !at_replica_open_epoch(r, p.epoch + 1))
        r->rolled_back = true;
}

enum at_code at_replica_on_close(struct at_replica *r,
                                 const struct at_close *close,
                                 struct at_close_answer *ret_answer)
{
    uint32_t at = at_replica_find_origin(r, close->origin);

    if (!at_replica_is_instance(r, close->instance_id) || at == AT_NO_ORIGIN ||
        at == r->self_index || !at_replica_is_sound(r, at) || r->mode == AT_MODE_REMOVED)
        return AT_PERMISSION_DENIED;
    struct at_origin *o = &r->origins[at];
    if (r->mode == AT_MODE_COPYING)
        return AT_FAILED_PRECONDITION; /* a copy's end would move what was vouched for */
    if (close->incarnation >= o->min_incarnation)
        raise_incarnations(r, o, close);
    ret_answer->instance_id = r->instance_id;
    ret_answer->from = r->self;
    ret_answer->from_incarnation = r->epoch;
    ret_answer->origin = close->origin;
    ret_answer->incarnation = close->incarnation;
    ret_answer->round = close->round;
    ret_answer->position_count = 0;
    /* One that was set back begins an epoch for the second time: told by its end so far. */
    ret_answer->positions[ret_answer->position_count++] =
        (struct at_position){.origin = o->id, .epoch = o->min_incarnation};
    for (uint32_t i = 0; i < r->applied.count; i++) {
        const struct at_position *p = &r->applied.items[i];
        if (at_member_eq(p->origin, close->origin) && ret_answer->position_count < AT_EPOCHS_MAX)
            ret_answer->positions[ret_answer->position_count++] = *p;
    }
    /* ... and may not know that others are complete, which it had all of and lacks now. */
    for (uint32_t i = 0; i < o->closed.end_count; i++) {
        const struct at_epoch_end *end = &o->closed.ends[i];
        if (end->epoch < o->first_open && ret_answer->position_count < AT_EPOCHS_MAX)
            ret_answer->positions[ret_answer->position_count++] =
                (struct at_position){.origin = o->id, .epoch = end->epoch, .seq = end->end};
    }
    return AT_OK;
}

void at_replica_on_close_answer(struct at_replica *r, const struct at_close_answer *answer)
{
    uint32_t from = at_replica_find_origin(r, answer->from);

    if (!at_replica_is_instance(r, answer->instance_id) || !at_member_eq(answer->origin, r->self) ||
        from == AT_NO_ORIGIN || from == r->self_index || !at_replica_is_active(r, from))
        return;
    for (uint32_t i = 0; i < answer->position_count; i++)
        if (at_member_eq(answer->positions[i].origin, r->self))
            at_replica_own_position_told(r, answer->positions[i]);
    if (answer->incarnation != r->epoch || r->closed_below == r->epoch)
        return;
    if (answer->from_incarnation > 1 &&
        raise_incarnation(&r->origins[from], answer->from_incarnation)) {
        r->close_round++;
        r->answered = 0;
        at_positions_facts_clear(&r->closing);
        return;
    }
    if (answer->round != r->close_round || (r->answered >> from & 1) != 0)
        return;
    r->answered |= UINT64_C(1) << from;
    for (uint32_t e = r->origins[r->self_index].first_open; e < r->epoch; e++) {
        struct at_vouch vouch = {.voucher = answer->from,
                                 .position = {r->self, e, answered_seq(answer, e)}};
        at_positions_facts_add_vouch(&r->closing, vouch);
    }
    at_replica_close_when_answered(r);
}

void at_replica_close_when_answered(struct at_replica *r)
{
    struct at_origin *own = &r->origins[r->self_index];

    if (r->closed_below == r->epoch)
        return;
    for (uint32_t i = 0; i < r->origin_count && !AT_MUTANT(closing_forgets_voucher); i++)
        if (i != r->self_index && at_replica_is_active(r, i) && (r->answered >> i & 1) == 0)
            return;
    for (uint32_t i = 0; i < r->closing.vouch_count; i++)
        at_replica_take_vouch(r, &r->closing.vouches[i]); /* but of one removed meanwhile */
    for (uint32_t e = own->first_open; e < r->epoch; e++) {
        struct at_vouch vouch = {.voucher = r->self,
                                 .position = {r->self, e, at_vector_get(&r->applied, r->self, e)}};
        at_origin_vouched(own, &vouch);
    }
    at_positions_facts_clear(&r->closing);
    own->dirty = true;
    r->closed_below = r->epoch;
    r->dirty |= AT_DIRTY_EPOCH;
    r->need_sync = true;
}

void at_replica_close_ask(const struct at_replica *r, struct at_close *ret_close)
{
    *ret_close = (struct at_close){.instance_id = r->instance_id,
                                   .origin = r->self,
                                   .incarnation = r->epoch,
                                   .round = r->close_round};
    for (uint32_t i = 0; i < r->origin_count; i++) {
        const struct at_origin *o = &r->origins[i];
        if (i == r->self_index || !at_replica_is_active(r, i) || o->min_incarnation < 2)
            continue;
        if (ret_close->known_count < AT_MEMBERS_MAX)
            ret_close->known[ret_close->known_count++] =
                (struct at_incarnation){o->id, o->min_incarnation};
    }
}

bool at_replica_closing(const struct at_replica *r,
                        struct at_member_id *ret_missing,
                        uint32_t *ret_count)
{
    *ret_count = 0;
    if (r->closed_below == r->epoch)
        return false;
    for (uint32_t i = 0; i < r->origin_count; i++) {
        if (i == r->self_index || !at_replica_is_active(r, i) || (r->answered >> i & 1) != 0)
            continue;
        if (*ret_count < AT_MEMBERS_MAX)
            ret_missing[(*ret_count)++] = r->origins[i].id;
    }
    return true;
}

void at_replica_prune_epochs(struct at_replica *r)
{
    if (r->mode == AT_MODE_INIT || r->mode == AT_MODE_COPYING)
        return;
    for (uint32_t i = 0; i < r->origin_count; i++) {
        struct at_origin *o = &r->origins[i];
        while (may_prune(r, i)) {
            uint32_t epoch = o->first_open;
            at_origin_prune(o);
            at_vector_drop(&r->applied, o->id, epoch);
            at_vector_drop(&r->durable, o->id, epoch);
            at_vector_drop(&r->base, o->id, epoch);
        }
    }
}

uint64_t
at_replica_trim_bound(const struct at_replica *r, struct at_member_id origin, uint32_t epoch)
{
    if (epoch < first_open_of(r, origin))
        return UINT64_MAX;
    uint64_t bound = at_vector_get(&r->durable, origin, epoch);
    for (uint32_t i = 0; i < r->origin_count; i++) {
        if (i == r->self_index || !at_replica_is_active(r, i))
            continue;
        uint64_t acked = at_replica_acked(r, i, origin, epoch);
        if (AT_MUTANT(acked_by_some) && acked > 0)
            break;
        bound = acked < bound ? acked : bound;
    }
    return bound;
}

uint64_t
at_replica_cap_bound(const struct at_replica *r, struct at_member_id origin, uint32_t epoch)
{
    if (epoch < first_open_of(r, origin))
        return UINT64_MAX;
    uint64_t applied = at_vector_get(&r->applied, origin, epoch);
    if (!at_member_eq(origin, r->self))
        return applied;
    uint64_t bound = at_replica_trim_bound(r, origin, epoch);
    for (uint32_t i = 0; i < r->origin_count; i++) {
        if (i == r->self_index || !at_replica_is_active(r, i))
            continue;
        uint64_t acked = at_replica_acked(r, i, origin, epoch);
        bound = acked > bound ? acked : bound;
    }
    return bound < applied ? bound : applied;
}

void at_replica_trimmed(struct at_replica *r, struct at_position base)
{
    if (base.epoch >= first_open_of(r, base.origin))
        (void)at_vector_raise(&r->base, base);
}

static void
raise_incarnations(struct at_replica *r, struct at_origin *o, const struct at_close *close)
{
    raise_incarnation(o, close->incarnation);
    for (uint32_t i = 0; i < close->known_count; i++) {
        uint32_t other = at_replica_find_origin(r, close->known[i].member);
        if (other != AT_NO_ORIGIN && other != r->self_index)
            raise_incarnation(&r->origins[other], close->known[i].incarnation);
    }
    r->need_sync = true;
}

static bool raise_incarnation(struct at_origin *o, uint32_t incarnation)
{
    if (incarnation <= o->min_incarnation)
        return false;
    o->min_incarnation = incarnation;
    o->dirty = true;
    return true;
}

static uint32_t first_open_of(const struct at_replica *r, struct at_member_id origin)
{
    uint32_t at = at_replica_find_origin(r, origin);
    return at == AT_NO_ORIGIN ? 1 : r->origins[at].first_open;
}

uint64_t at_replica_acked(const struct at_replica *r,
                          uint32_t member,
                          struct at_member_id origin,
                          uint32_t epoch)
{
    const struct at_peer *peer = &r->peers[member];
    uint32_t at = at_replica_find_origin(r, origin);

    if (at != AT_NO_ORIGIN && epoch < peer->acked_first_open[at])
        return UINT64_MAX; /* complete and gone from its vector */
    return at_vector_get(&peer->acked, origin, epoch);
}

static bool may_prune(const struct at_replica *r, uint32_t origin)
{
    const struct at_origin *o = &r->origins[origin];
    struct at_position end = {.origin = o->id, .epoch = o->first_open};

    if (origin == r->self_index && end.epoch >= r->closed_below)
        return false;
    if (!at_origin_end(o, end.epoch, &end.seq))
        return false;
    if (at_vector_get(&r->base, end.origin, end.epoch) < end.seq)
        return false; /* its log is still here */
    for (uint32_t i = 0; i < r->origin_count; i++)
        if (at_replica_is_active(r, i) && !has_durably(r, i, origin, end))
            return false;
    return true;
}

static bool
has_durably(const struct at_replica *r, uint32_t member, uint32_t origin, struct at_position p)
{
    if (member == r->self_index)
        return at_vector_get(&r->durable, p.origin, p.epoch) >= p.seq;
    return at_replica_acked(r, member, r->origins[origin].id, p.epoch) >= p.seq;
}

static uint64_t answered_seq(const struct at_close_answer *answer, uint32_t epoch)
{
    for (uint32_t i = 0; i < answer->position_count; i++)
        if (at_member_eq(answer->positions[i].origin, answer->origin) &&
            answer->positions[i].epoch == epoch)
            return answer->positions[i].seq;
    return 0;
}
