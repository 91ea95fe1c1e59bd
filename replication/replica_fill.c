#include "base/assert.h"
#include "base/mutant.h"
#include "replication/replica_state.h"

#include <inttypes.h>

/* Rules 27-32: what of the replica's state a copy needs and changes. The rows are merged aside by
 * the store; here everything changes at once, at the end, or not at all. */

static void copy_facts(struct at_arena *arena,
                       const struct at_positions_facts *from,
                       struct at_positions_facts *to);
static void merge_members(struct at_replica *r, const struct at_copy_state *donor);
static void doubt_config_members(struct at_replica *r, const struct at_copy_state *donor);
static void merge_member(struct at_replica *r, const struct at_copy_member *m);
static void merge_facts(struct at_replica *r, const struct at_positions_facts *f);
static void
merge_first_open(struct at_replica *r, const struct at_copy_state *donor, struct at_vector *grown);
static void
leave_epochs(struct at_replica *r, uint32_t at, uint32_t first_open, struct at_vector *grown);
static void
merge_positions(struct at_replica *r, const struct at_copy_state *donor, struct at_vector *grown);
static void take_fork(struct at_replica *r, const struct at_copy_state *donor);
static void note_grown(struct at_vector *grown, struct at_position p);
static uint64_t believable(const struct at_replica *r, uint64_t released);

enum at_code at_replica_may_donate(const struct at_replica *r,
                                   struct at_member_id receiver,
                                   const struct at_vector *needs,
                                   struct at_error *reterr)
{
    uint32_t at = at_replica_find_origin(r, receiver);

    /* One that needs a copy itself may have what the other one lacks: each then helps the other. */
    if ((r->mode != AT_MODE_READY && r->mode != AT_MODE_NEEDS_COPY && r->mode != AT_MODE_LEAVING) ||
        at_replica_has_left(r))
        return at_fail(reterr, AT_FAILED_PRECONDITION, "the donor is not READY");
    if (at == AT_NO_ORIGIN || at == r->self_index || !at_replica_is_sound(r, at))
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "the donor does not know member %" PRIu32 " yet", receiver.v);
    /* Some of it is enough: there may be nobody who has all. The rest comes from another one. */
    for (uint32_t i = 0; i < needs->count; i++) {
        const struct at_position *p = &needs->items[i];
        uint32_t of = at_replica_find_origin(r, p->origin);
        if (of != AT_NO_ORIGIN && p->epoch < r->origins[of].first_open)
            return AT_OK;
        if (at_vector_get(&r->applied, p->origin, p->epoch) >= p->seq)
            return AT_OK;
    }
    if (needs->count == 0)
        return AT_OK;
    return at_fail(reterr, AT_FAILED_PRECONDITION,
                   "the donor lacks entries of member %" PRIu32 " too", needs->items[0].origin.v);
}

void at_replica_copy_state(const struct at_replica *r,
                           struct at_arena *arena,
                           struct at_copy_state *ret_state)
{
    struct at_positions_facts facts;

    *ret_state = (struct at_copy_state){.from = r->self,
                                        .incarnation = r->epoch,
                                        .horizon = r->horizon,
                                        .hlc = r->hlc.now,
                                        .released = r->released,
                                        .fork_from = r->fork_from,
                                        .fork_id = r->fork_id};
    at_vector_init(&ret_state->applied);
    at_vector_copy(&ret_state->applied, &r->applied);
    at_positions_facts_init(&facts);
    at_replica_fill_facts(r, &facts);
    copy_facts(arena, &facts, &ret_state->facts);
    at_positions_facts_deinit(&facts);
    ret_state->members = AT_ARENA_ARRAY(arena, struct at_copy_member, r->origin_count);
    ret_state->member_count = r->origin_count;
    for (uint32_t i = 0; i < r->origin_count; i++) {
        const struct at_origin *o = &r->origins[i];
        ret_state->members[i] = (struct at_copy_member){
            .id = o->id,
            .state = (uint8_t)o->state,
            .fenced = o->fenced,
            .min_incarnation = o->min_incarnation,
            .registered = o->registered,
            .last = o->last,
            .info = at_arena_copy(arena, at_slice_make(o->info, o->info_len)),
        };
    }
}

/* The own clock follows the wall: it is promised again and again. */
static uint64_t believable(const struct at_replica *r, uint64_t released)
{
    uint64_t from = r->hlc.now > r->released ? r->hlc.now : r->released;

    from = released > from ? released : from;
    return from > UINT64_MAX - r->max_skew_ns ? UINT64_MAX : from + r->max_skew_ns;
}

enum at_code at_replica_may_copy_from(const struct at_replica *r,
                                      const struct at_copy_state *donor,
                                      struct at_error *reterr)
{
    uint32_t at = at_replica_find_origin(r, donor->from);

    if (at == AT_NO_ORIGIN || at == r->self_index || !at_replica_is_sound(r, at))
        return at_fail(reterr, AT_FAILED_PRECONDITION, "the donor is no member");
    if (donor->incarnation < r->origins[at].min_incarnation)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "an older process of the donor said this");
    if (donor->hlc > AT_HLC_MAX || donor->hlc > believable(r, donor->released))
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "the donor's clock is ahead by more than max_skew");
    return AT_OK;
}

enum at_code at_replica_copy_begin(struct at_replica *r, struct at_error *reterr)
{
    if (r->mode != AT_MODE_NEEDS_COPY && r->mode != AT_MODE_INIT)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "this cluster needs no copy");
    r->mode_before = r->mode;
    at_replica_set_mode(r, AT_MODE_COPYING);
    r->need_sync = true;
    return AT_OK;
}

struct at_copy_rule at_replica_copy_rule(const struct at_replica *r,
                                         const struct at_copy_state *donor)
{
    if (AT_MUTANT(copy_union))
        return (struct at_copy_rule){.t = 0, .donor_side = true};
    if (donor->horizon >= r->horizon)
        return (struct at_copy_rule){.t = donor->horizon, .donor_side = true};
    return (struct at_copy_rule){.t = r->horizon, .donor_side = false};
}

void at_replica_copy_end(struct at_replica *r,
                         const struct at_copy_state *donor,
                         struct at_vector *ret_grown)
{
    AT_ASSERT(r->mode == AT_MODE_COPYING);

    at_hlc_merge(&r->hlc, donor->hlc < AT_HLC_MAX ? donor->hlc : AT_HLC_MAX);
    at_replica_released(r, donor->released);
    if (donor->horizon > r->horizon || AT_MUTANT(horizon_lowered))
        r->horizon = donor->horizon;
    at_replica_set_mode(r, AT_MODE_READY);
    r->caught_up = false;
    r->dirty |= AT_DIRTY_MODE;
    r->need_sync = true;

    if (r->mode_before == AT_MODE_INIT)
        doubt_config_members(r, donor);
    merge_members(r, donor);
    merge_facts(r, &donor->facts);
    merge_first_open(r, donor, ret_grown);
    merge_positions(r, donor, ret_grown);
    for (uint32_t i = 0; i < r->origin_count; i++) {
        struct at_position *parked = &r->peers[i].parked;
        if (r->origins[i].state == AT_ORIGIN_REMOVED)
            at_origin_removed(&r->origins[i], &r->applied);
        if (parked->epoch != 0 &&
            at_vector_get(&r->applied, parked->origin, parked->epoch) >= parked->seq)
            parked->epoch = 0;
    }
    take_fork(r, donor);
    at_replica_drop_closed_gaps(r);
    at_replica_members_changed(r);
    AT_ASSERT(r->horizon >= donor->horizon);
}

/* Only the next one: of two ids that both know the donor's is not the later one. */
static void take_fork(struct at_replica *r, const struct at_copy_state *donor)
{
    bool known = donor->fork_id == r->fork_id || donor->fork_id == r->fork_from ||
                 donor->fork_id == r->born_id || donor->fork_id == r->instance_id;
    bool next = donor->fork_from == r->instance_id || donor->fork_from == r->fork_id;

    if (donor->fork_id == 0 || known || !next || AT_MUTANT(fork_untold))
        return;
    r->instance_id = donor->fork_from;
    at_replica_fork_to(r, donor->fork_id);
}

void at_replica_copy_drop(struct at_replica *r)
{
    if (r->mode != AT_MODE_COPYING)
        return;
    at_replica_set_mode(r, r->mode_before);
}

static void copy_facts(struct at_arena *arena,
                       const struct at_positions_facts *from,
                       struct at_positions_facts *to)
{
#define COPY(list, count, type)                              \
    do {                                                     \
        to->list = AT_ARENA_ARRAY(arena, type, from->count); \
        to->count = from->count;                             \
        for (uint32_t i_ = 0; i_ < from->count; i_++)        \
            to->list[i_] = from->list[i_];                   \
    } while (0)

    *to = (struct at_positions_facts){0};
    COPY(first_open, first_open_count, struct at_first_open);
    COPY(ends, end_count, struct at_epoch_end);
    COPY(promises, promise_count, struct at_promise);
    COPY(vouches, vouch_count, struct at_vouch);
#undef COPY
}

static void merge_members(struct at_replica *r, const struct at_copy_state *donor)
{
    for (uint32_t i = 0; i < donor->member_count; i++)
        merge_member(r, &donor->members[i]);
    for (uint32_t i = 0; i < r->origin_count; i++)
        if (r->origins[i].state == AT_ORIGIN_REMOVED)
            for (uint32_t k = 0; k < r->origin_count; k++)
                at_origin_void(&r->origins[k], r->origins[i].id);
}

/* A newcomer begins with the members of its registrar. One of them whose registration the donor
 * does not have is a member when that comes, as for the donor; it may be lost, and then nobody
 * would tell. Until then it is one that the registrar told of: asked to acknowledge like the
 * others. */
static void doubt_config_members(struct at_replica *r, const struct at_copy_state *donor)
{
    uint32_t by = at_replica_find_origin(r, r->origins[r->self_index].registered.origin);

    for (uint32_t i = 0; i < r->origin_count; i++) {
        struct at_member_seed seed = {.id = r->origins[i].id};
        bool known = i == r->self_index || !at_replica_is_active(r, i);
        for (uint32_t k = 0; k < donor->member_count; k++)
            known = known || (at_member_eq(donor->members[k].id, seed.id) &&
                              donor->members[k].state != AT_ORIGIN_KNOWN);
        if (known)
            continue;
        r->origins[i].state = AT_ORIGIN_KNOWN;
        r->origins[i].dirty = true;
        if (by != AT_NO_ORIGIN && by != i)
            at_replica_learn(r, &r->learnt, by, &seed, 1);
    }
}

static void merge_member(struct at_replica *r, const struct at_copy_member *m)
{
    uint32_t at = at_replica_add_origin(r, m->id);

    if (at == AT_NO_ORIGIN)
        return;
    struct at_origin *o = &r->origins[at];
    if (m->info.len <= AT_MEMBER_INFO_BYTES_MAX && o->info_len == 0)
        at_origin_set_info(o, m->info);
    if (o->registered.epoch == 0)
        o->registered = m->registered;
    if (m->min_incarnation > o->min_incarnation && at != r->self_index)
        o->min_incarnation = m->min_incarnation;
    o->fenced =
        (o->fenced || m->fenced) && o->state != AT_ORIGIN_REMOVED && m->state != AT_ORIGIN_REMOVED;
    o->dirty = true;
    if (at == r->self_index && m->state > AT_ORIGIN_ACTIVE) {
        at_replica_set_mode(r, AT_MODE_REMOVED);
        return;
    }
    if (m->state <= (uint8_t)o->state)
        return;
    if (m->state == AT_ORIGIN_LEFT && at_member_eq(m->last.origin, m->id))
        at_origin_left(o, m->last);
    else if (m->state != AT_ORIGIN_LEFT)
        o->state = (enum at_origin_state)m->state;
    if (m->state == AT_ORIGIN_REMOVED)
        o->last = (struct at_position){.origin = m->id, .epoch = m->last.epoch};
}

static void merge_facts(struct at_replica *r, const struct at_positions_facts *f)
{
    for (uint32_t i = 0; i < f->vouch_count; i++) {
        uint32_t at = at_replica_add_origin(r, f->vouches[i].position.origin);
        if (at != AT_NO_ORIGIN && at != r->self_index)
            at_replica_take_vouch(r, &f->vouches[i]);
    }
    for (uint32_t i = 0; i < f->end_count; i++) {
        uint32_t at = at_replica_add_origin(r, f->ends[i].origin);
        if (at != AT_NO_ORIGIN && at != r->self_index)
            at_origin_ended(&r->origins[at], &f->ends[i]);
    }
    for (uint32_t i = 0; i < f->promise_count; i++) {
        uint32_t at = at_replica_add_origin(r, f->promises[i].origin);
        if (at == AT_NO_ORIGIN || f->promises[i].hlc > believable(r, 0))
            continue; /* as of a reply: an honest one is told again */
        if (at == r->self_index)
            at_hlc_merge(&r->hlc, f->promises[i].hlc < AT_HLC_MAX ? f->promises[i].hlc : 0);
        else
            at_origin_promised(&r->origins[at], &f->promises[i]);
    }
}

/* Epochs that have left the donor's vectors are complete there, and so here from now on. */
static void
merge_first_open(struct at_replica *r, const struct at_copy_state *donor, struct at_vector *grown)
{
    for (uint32_t i = 0; i < donor->facts.first_open_count; i++) {
        const struct at_first_open *f = &donor->facts.first_open[i];
        uint32_t at = at_replica_find_origin(r, f->origin);
        if (at == AT_NO_ORIGIN || f->epoch <= r->origins[at].first_open)
            continue;
        struct at_origin *o = &r->origins[at];
        for (uint32_t k = 0; k < donor->facts.end_count; k++) {
            const struct at_epoch_end *e = &donor->facts.ends[k];
            if (!at_member_eq(e->origin, o->id) || e->epoch < o->first_open || e->epoch >= f->epoch)
                continue;
            at_origin_ended(o, e); /* of own epochs too: they leave the vectors now */
            if (e->end > at_vector_get(&r->applied, e->origin, e->epoch))
                note_grown(grown, (struct at_position){e->origin, e->epoch, e->end});
        }
        leave_epochs(r, at, f->epoch, grown);
    }
}

/* What is left of their logs goes with them, whether they grew or not. */
static void
leave_epochs(struct at_replica *r, uint32_t at, uint32_t first_open, struct at_vector *grown)
{
    struct at_origin *o = &r->origins[at];

    if (at == r->self_index) {
        at_replica_own_position_told(
            r, (struct at_position){.origin = r->self, .epoch = first_open - 1, .seq = UINT64_MAX});
        if (r->rolled_back)
            return;
        r->closed_below = first_open > r->closed_below ? first_open : r->closed_below;
        r->dirty |= AT_DIRTY_EPOCH;
    }
    for (uint32_t e = o->first_open; e < first_open && e - o->first_open < AT_OPEN_EPOCHS_MAX;
         e++) {
        note_grown(grown, (struct at_position){o->id, e, at_vector_get(&r->applied, o->id, e)});
        at_vector_drop(&r->applied, o->id, e);
        at_vector_drop(&r->durable, o->id, e);
        at_vector_drop(&r->base, o->id, e);
    }
    at_origin_skip_to(o, first_open);
}

static void
merge_positions(struct at_replica *r, const struct at_copy_state *donor, struct at_vector *grown)
{
    for (uint32_t i = 0; i < donor->applied.count; i++) {
        struct at_position p = donor->applied.items[i];
        uint32_t at = at_replica_add_origin(r, p.origin);
        if (at == AT_NO_ORIGIN || p.epoch < r->origins[at].first_open)
            continue;
        if (at == r->self_index)
            at_replica_own_position_told(r, p);
        if (!at_vector_raise(&r->applied, p))
            continue;
        (void)at_vector_raise(&r->base, p);
        note_grown(grown, p);
    }
}

static void note_grown(struct at_vector *grown, struct at_position p)
{
    if (p.seq > 0)
        (void)at_vector_raise(grown, p);
}
