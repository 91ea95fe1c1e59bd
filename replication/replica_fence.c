#include "base/assert.h"
#include "base/hash.h"
#include "replication/replica_state.h"

/* Rules 35 and 36. A removal of D:
 *
 *     begin       D is fenced here [sync]
 *     FENCE       every active member outside D fences D [sync], then answers its whole V. From
 *                 then on what only D had can't spread: not from D, nor what D made from others
 *     all, and those that answers named -> REMOVE with all that was answered, as one entry
 *
 * That a member is fenced is stored; that this process coordinates is not: anyone, and any process,
 * may complete it. Answers hold whole positions, of all origins: where the word of D stood for the
 * end of another's epoch, the words of the living are renewed in the same act. */

static bool in_fence(const struct at_fence *fence, struct at_member_id id);
static bool has_answered(const struct at_coordination *c, struct at_member_id id);
static void fence_all(struct at_replica *r, const struct at_fence *fence);
static void fill_positions(const struct at_replica *r, struct at_vector *v);
static bool is_majority(const struct at_replica *r);
static uint32_t missing(const struct at_replica *r, struct at_member_id *ret_missing);
static void vouch_all(struct at_replica *r, struct at_member_id voucher, const struct at_vector *v);
static bool has_left_all(const struct at_replica *r, uint32_t origin, uint32_t epoch);
static bool is_member(const struct at_replica *r, struct at_member_id id);
static void
vouch_by_tellers(struct at_replica *r, struct at_member_id id, const struct at_vector *v);
static uint64_t new_instance_id(const struct at_replica *r);
static void end_coordination(struct at_coordination *c);
static bool all_removed(const struct at_replica *r, const struct at_fence *fence);

enum at_code at_replica_fence_begin(struct at_replica *r,
                                    const struct at_member_id *members,
                                    uint32_t count,
                                    bool minority_survives,
                                    struct at_error *reterr)
{
    struct at_coordination *c = &r->removal;
    struct at_fence fence = {.instance_id = r->instance_id, .from = r->self};
    bool more = !c->on;

    if ((r->mode != AT_MODE_READY && r->mode != AT_MODE_NEEDS_COPY) || !r->joined)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "only a full member of the instance can remove others");
    if (c->on)
        fence = c->fence;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = at_replica_find_origin(r, members[i]);
        if (at == r->self_index || members[i].v == 0)
            return at_fail(reterr, AT_FAILED_PRECONDITION,
                           "a cluster can't remove itself by force");
        if (at != AT_NO_ORIGIN && at_replica_is_gone(r, at))
            continue;
        if (in_fence(&fence, members[i]))
            continue;
        if (fence.member_count == AT_MEMBERS_MAX)
            return at_fail(reterr, AT_FAILED_PRECONDITION, "too many clusters to remove at once");
        fence.members[fence.member_count++] = members[i];
        more = true;
    }
    if (fence.member_count == 0)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "they are no members any more");
    fence.minority_survives = fence.minority_survives || minority_survives;
    if (more) {
        /* Answers to a question of an earlier process, or to a smaller one, are void. */
        uint32_t round = (uint32_t)(r->hlc.now >> 20);
        fence.round = round > c->fence.round ? round : c->fence.round + 1;
        end_coordination(c);
    }
    c->on = true;
    c->fence = fence;
    fence_all(r, &fence);
    return AT_OK;
}

enum at_code at_replica_on_fence(struct at_replica *r,
                                 const struct at_fence *fence,
                                 struct at_fence_answer *ret_answer)
{
    uint32_t from = at_replica_find_origin(r, fence->from);

    if (!at_replica_is_instance(r, fence->instance_id) || from == AT_NO_ORIGIN ||
        from == r->self_index || !at_replica_is_sound(r, from) || r->mode == AT_MODE_REMOVED)
        return AT_PERMISSION_DENIED;
    if (r->mode == AT_MODE_COPYING || in_fence(fence, r->self) || in_fence(fence, fence->from))
        return AT_FAILED_PRECONDITION;
    fence_all(r, fence);

    *ret_answer = (struct at_fence_answer){.instance_id = r->instance_id,
                                           .from = r->self,
                                           .from_incarnation = r->epoch,
                                           .round = fence->round};
    at_vector_init(&ret_answer->applied);
    fill_positions(r, &ret_answer->applied);
    at_positions_facts_init(&ret_answer->facts);
    for (uint32_t i = 0; i < r->origin_count; i++) {
        const struct at_origin *o = &r->origins[i];
        if (o->first_open > 1)
            at_positions_facts_add_first_open(&ret_answer->facts,
                                              (struct at_first_open){o->id, o->first_open});
        if (at_replica_is_active(r, i) && ret_answer->member_count < AT_MEMBERS_MAX)
            ret_answer->members[ret_answer->member_count++] =
                (struct at_member_seed){o->id, at_slice_make(o->info, o->info_len)};
    }
    return AT_OK;
}

void at_replica_on_fence_answer(struct at_replica *r, const struct at_fence_answer *answer)
{
    struct at_coordination *c = &r->removal;
    uint32_t from = at_replica_find_origin(r, answer->from);
    bool asked = from != AT_NO_ORIGIN && at_replica_is_active(r, from);
    uint32_t teller = from;

    if (!c->on || !at_replica_is_instance(r, answer->instance_id) ||
        answer->round != c->fence.round || from == r->self_index ||
        in_fence(&c->fence, answer->from) || has_answered(c, answer->from))
        return;
    for (uint32_t k = 0; k < c->learnt.count && !asked; k++) {
        if (!at_member_eq(c->learnt.items[k].id, answer->from))
            continue;
        asked = true;
        c->learnt.items[k].answered = true;
        teller = (uint32_t)__builtin_ctzll(c->learnt.items[k].tellers);
    }
    if (!asked || c->answer_count == sizeof(c->answered) / sizeof(c->answered[0]))
        return;
    at_vector_copy(&c->positions[c->answer_count], &answer->applied);
    c->answered[c->answer_count++] = answer->from;
    at_replica_learn(r, &c->learnt, teller, answer->members, answer->member_count);
}

bool at_replica_fencing(const struct at_replica *r,
                        struct at_fence *ret_fence,
                        struct at_member_id *ret_missing,
                        uint32_t *ret_count)
{
    *ret_count = 0;
    if (!r->removal.on || all_removed(r, &r->removal.fence))
        return false;
    *ret_fence = r->removal.fence;
    *ret_count = missing(r, ret_missing);
    return true;
}

bool at_replica_removal(struct at_replica *r, struct at_removal *ret_removal)
{
    struct at_coordination *c = &r->removal;
    struct at_member_id ignored[AT_MEMBERS_MAX];
    struct at_vector own;

    if (!c->on || missing(r, ignored) > 0 || at_replica_has_left(r) ||
        (r->mode != AT_MODE_READY && r->mode != AT_MODE_NEEDS_COPY))
        return false;
    bool majority = is_majority(r);
    if (!majority && !c->fence.minority_survives)
        return false;

    *ret_removal = (struct at_removal){.member_count = c->fence.member_count};
    memcpy(ret_removal->members, c->fence.members, sizeof(c->fence.members));
    at_positions_facts_clear(&c->vouches);
    for (uint32_t i = 0; i < c->answer_count; i++) {
        if (is_member(r, c->answered[i]))
            vouch_all(r, c->answered[i], &c->positions[i]);
        else
            vouch_by_tellers(r, c->answered[i], &c->positions[i]);
    }
    at_vector_init(&own);
    fill_positions(r, &own);
    vouch_all(r, r->self, &own);
    at_vector_deinit(&own);
    ret_removal->vouches = c->vouches.vouches;
    ret_removal->vouch_count = c->vouches.vouch_count;
    ret_removal->fork_id = majority ? 0 : new_instance_id(r);
    return true;
}

void at_replica_fence_settle(struct at_replica *r)
{
    struct at_coordination *c = &r->removal;

    if (!c->on || !all_removed(r, &c->fence))
        return;
    end_coordination(c);
    c->on = false;
}

static bool in_fence(const struct at_fence *fence, struct at_member_id id)
{
    for (uint32_t i = 0; i < fence->member_count; i++)
        if (at_member_eq(fence->members[i], id))
            return true;
    return false;
}

static bool has_answered(const struct at_coordination *c, struct at_member_id id)
{
    for (uint32_t i = 0; i < c->answer_count; i++)
        if (at_member_eq(c->answered[i], id))
            return true;
    return false;
}

static void fence_all(struct at_replica *r, const struct at_fence *fence)
{
    for (uint32_t i = 0; i < fence->member_count; i++) {
        uint32_t at = at_replica_add_origin(r, fence->members[i]);
        if (at == AT_NO_ORIGIN || r->origins[at].state == AT_ORIGIN_REMOVED)
            continue;
        r->origins[at].dirty = r->origins[at].dirty || !r->origins[at].fenced;
        r->origins[at].fenced = true;
        r->peers[at].parked.epoch = 0;
    }
    r->need_sync = true;
    at_replica_decide_mode(r);
}

/* V and the ends of what has left it. Own epochs that are not closed are left out: the own word is
 * what closes an epoch. */
static void fill_positions(const struct at_replica *r, struct at_vector *v)
{
    at_vector_copy(v, &r->applied);
    for (uint32_t i = 0; i < r->origin_count; i++) {
        const struct at_positions_facts *closed = &r->origins[i].closed;
        for (uint32_t k = 0; k < closed->end_count; k++)
            if (closed->ends[k].epoch < r->origins[i].first_open)
                (void)at_vector_raise(v,
                                      (struct at_position){r->origins[i].id, closed->ends[k].epoch,
                                                           closed->ends[k].end});
    }
    for (uint32_t e = r->closed_below; e <= r->epoch; e++)
        at_vector_drop(v, r->self, e);
}

/* Of the members before the act, those that were only told of included. */
static bool is_majority(const struct at_replica *r)
{
    const struct at_coordination *c = &r->removal;
    uint32_t all = at_replica_active_count(r);

    for (uint32_t k = 0; k < c->learnt.count; k++)
        all += in_fence(&c->fence, c->learnt.items[k].id) ? 0 : 1;
    for (uint32_t i = 0; i < c->fence.member_count; i++) {
        uint32_t at = at_replica_find_origin(r, c->fence.members[i]);
        all += at == AT_NO_ORIGIN || !at_replica_is_active(r, at) ? 1 : 0;
    }
    return (c->answer_count + 1) * 2 > all;
}

static uint32_t missing(const struct at_replica *r, struct at_member_id *ret_missing)
{
    const struct at_coordination *c = &r->removal;
    uint32_t count = 0;

    for (uint32_t i = 0; i < r->origin_count; i++) {
        struct at_member_id id = r->origins[i].id;
        if (i != r->self_index && at_replica_is_active(r, i) && !in_fence(&c->fence, id) &&
            !has_answered(c, id) && count < AT_MEMBERS_MAX)
            ret_missing[count++] = id;
    }
    for (uint32_t k = 0; k < c->learnt.count; k++) {
        struct at_member_id id = c->learnt.items[k].id;
        if (!in_fence(&c->fence, id) && !has_answered(c, id) && count < AT_MEMBERS_MAX)
            ret_missing[count++] = id;
    }
    return count;
}

static void vouch_all(struct at_replica *r, struct at_member_id voucher, const struct at_vector *v)
{
    for (uint32_t i = 0; i < v->count; i++) {
        uint32_t at = at_replica_find_origin(r, v->items[i].origin);
        bool complete = at != AT_NO_ORIGIN && v->items[i].epoch < r->origins[at].first_open;
        if (complete && (!at_member_eq(voucher, r->self) || has_left_all(r, at, v->items[i].epoch)))
            continue; /* all have it, but some may know its end by the word of the removed */
        at_positions_facts_add_vouch(
            &r->removal.vouches, (struct at_vouch){.voucher = voucher, .position = v->items[i]});
    }
}

/* All that stay have told that the epoch has left their vectors. */
static bool has_left_all(const struct at_replica *r, uint32_t origin, uint32_t epoch)
{
    for (uint32_t i = 0; i < r->origin_count; i++)
        if (i != r->self_index && at_replica_is_active(r, i) &&
            !in_fence(&r->removal.fence, r->origins[i].id) &&
            r->peers[i].acked_first_open[origin] <= epoch)
            return false;
    return true;
}

static bool is_member(const struct at_replica *r, struct at_member_id id)
{
    uint32_t at = at_replica_find_origin(r, id);

    return at != AT_NO_ORIGIN &&
           (at_replica_is_active(r, at) || r->origins[at].state == AT_ORIGIN_LEFT);
}

/* Only members vouch. One that answers told of, and whose registration has not come here, is a
 * member as long as who told of it is, or others have the registration by then. So its word is
 * given by those who told of it, and void when theirs is. Not for their own epochs: the own word is
 * what closes one. */
static void
vouch_by_tellers(struct at_replica *r, struct at_member_id id, const struct at_vector *v)
{
    const struct at_coordination *c = &r->removal;
    struct at_vector others;

    at_vector_init(&others);
    for (uint32_t k = 0; k < c->learnt.count; k++) {
        if (!at_member_eq(c->learnt.items[k].id, id))
            continue;
        for (uint32_t i = 0; i < r->origin_count; i++) {
            if ((c->learnt.items[k].tellers >> i & 1) == 0)
                continue;
            others.count = 0;
            for (uint32_t p = 0; p < v->count; p++)
                if (!at_member_eq(v->items[p].origin, r->origins[i].id))
                    (void)at_vector_raise(&others, v->items[p]);
            vouch_all(r, r->origins[i].id, &others);
        }
    }
    at_vector_deinit(&others);
}

static uint64_t new_instance_id(const struct at_replica *r)
{
    uint64_t of[3] = {r->instance_id, r->self.v, r->hlc.now};
    uint64_t id = at_hash64(at_slice_make(of, sizeof(of)), r->instance_id);

    return id == 0 || id == r->instance_id ? r->instance_id + 1 : id;
}

static void end_coordination(struct at_coordination *c)
{
    c->answer_count = 0;
    c->learnt.count = 0;
}

static bool all_removed(const struct at_replica *r, const struct at_fence *fence)
{
    for (uint32_t i = 0; i < fence->member_count; i++) {
        uint32_t at = at_replica_find_origin(r, fence->members[i]);
        if (at == AT_NO_ORIGIN || r->origins[at].state != AT_ORIGIN_REMOVED)
            return false;
    }
    return true;
}
