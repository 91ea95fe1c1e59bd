#include "base/assert.h"
#include "base/mutant.h"
#include "replication/replica_state.h"

/* Rules 4, 12-15 and 17: what is taken from others.
 *
 * A gap is told by a donor whose log no longer reaches down to our position. It is remembered with
 * who told it; the cluster NEEDS_COPY when every member in touch either told it or has nothing
 * beyond our position itself, and leaves that mode when some reply closes the gap, or when one
 * that could serve it is heard again. */

#define IN_TOUCH_NS_MAX AT_GUARD_HEARD_NS_MAX

static bool has_just_left(const struct at_replica *r, const struct at_reply *reply);
static uint64_t acceptance_limit(const struct at_replica *r, uint64_t wall_ns);
static enum at_admit admit_own(struct at_replica *r, struct at_position p);
static bool refused_of_gone(const struct at_replica *r, uint32_t at, struct at_position p);
static void told(struct at_replica *r, struct at_position p);
static void told_vector(struct at_replica *r, const struct at_vector *v);
static bool merge_facts(struct at_replica *r, const struct at_positions_facts *f, uint64_t wall_ns);
static void merge_gaps(struct at_replica *r, uint32_t from, const struct at_reply *reply);
static void report_gap(struct at_replica *r, uint32_t from, struct at_position base);
static bool nothing_follows(const struct at_origin *o, struct at_position p);
static bool served(const struct at_replica *r, const struct at_open_gap *gap);
static bool in_touch(const struct at_replica *r, uint32_t index);
static void unpark_lost(struct at_replica *r, uint32_t index);
static void note_time(struct at_replica *r, uint64_t mono_ns);

bool at_replica_admit_reply(const struct at_replica *r,
                            const struct at_reply *reply,
                            const char **ret_why)
{
    uint32_t at = at_replica_find_origin(r, reply->from);

    *ret_why = NULL;
    if (!at_replica_is_instance(r, reply->instance_id))
        *ret_why = "of another instance";
    else if (r->mode == AT_MODE_COPYING || r->mode == AT_MODE_INIT)
        *ret_why = "this cluster is being filled";
    else if (r->mode == AT_MODE_REMOVED)
        *ret_why = "this cluster was removed";
    else if (at_replica_has_left(r))
        *ret_why = "this cluster has left";
    else if (at == AT_NO_ORIGIN || at == r->self_index || !at_replica_is_active(r, at))
        *ret_why = "the sender is not a member";
    else if (r->origins[at].fenced && !AT_MUTANT(fence_ignored))
        *ret_why = "the sender is being removed";
    else if (reply->incarnation < r->origins[at].min_incarnation && !AT_MUTANT(incarnation_ignored))
        *ret_why = "of an older process of the sender";
    return *ret_why == NULL;
}

enum at_admit at_replica_admit(struct at_replica *r,
                               struct at_position p,
                               const struct at_entry *entry,
                               uint64_t wall_ns)
{
    AT_ASSERT(p.seq == entry->seq);
    uint32_t at = at_replica_find_origin(r, p.origin);

    if (at == AT_NO_ORIGIN)
        at = at_replica_add_origin(r, p.origin);
    if (at == AT_NO_ORIGIN || p.epoch == 0 || p.seq == 0)
        return AT_ADMIT_STOP;
    const struct at_origin *o = &r->origins[at];
    uint64_t applied = at_vector_get(&r->applied, p.origin, p.epoch);

    if ((p.epoch < o->first_open && !AT_MUTANT(epoch_forgotten)) || p.seq <= applied)
        return AT_ADMIT_SKIP;
    if (at == r->self_index && p.epoch >= r->epoch)
        return admit_own(r, p);
    if ((p.seq > applied + 1 && !AT_MUTANT(gap_ignored)) ||
        (p.epoch >= o->first_open && p.epoch - o->first_open >= AT_OPEN_EPOCHS_MAX))
        return AT_ADMIT_STOP;
    if (AT_MUTANT(own_filtered) && at == r->self_index)
        return AT_ADMIT_STOP;
    if (refused_of_gone(r, at, p))
        return AT_ADMIT_STOP;
    if (AT_MUTANT(position_ahead) && entry->hlc % 32 == 0) {
        (void)at_vector_raise(&r->applied, p);
        return AT_ADMIT_SKIP;
    }
    if (entry->hlc + (entry->ticks - 1) > acceptance_limit(r, wall_ns)) {
        r->peers[at].parked = p;
        return AT_ADMIT_PARK;
    }
    return AT_ADMIT_APPLY;
}

/* Of a fenced origin nothing comes in until its removal says where it ends; of one that left or was
 * removed nothing beyond that. */
static bool refused_of_gone(const struct at_replica *r, uint32_t at, struct at_position p)
{
    const struct at_origin *o = &r->origins[at];

    if (o->fenced && o->state != AT_ORIGIN_REMOVED)
        return !AT_MUTANT(fence_ignored);
    return at_replica_is_gone(r, at) && at_origin_beyond_final(o, p.epoch, p.seq);
}

void at_replica_apply(struct at_replica *r, struct at_position p, const struct at_entry *entry)
{
    uint32_t at = at_replica_find_origin(r, p.origin);
    AT_ASSERT(at != AT_NO_ORIGIN);
    AT_ASSERT(at_vector_get(&r->applied, p.origin, p.epoch) + 1 == p.seq || AT_MUTANT(gap_ignored));
    struct at_peer *peer = &r->peers[at];

    (void)at_vector_raise(&r->applied, p);
    at_hlc_merge(&r->hlc, entry->hlc + (entry->ticks - 1));
    if (peer->parked.epoch == p.epoch && peer->parked.seq <= p.seq)
        peer->parked.epoch = 0;
    told(r, p);
}

bool at_replica_merge_reply(struct at_replica *r,
                            const struct at_reply *reply,
                            uint64_t wall_ns,
                            uint64_t mono_ns)
{
    const char *why = NULL;

    if (!at_replica_admit_reply(r, reply, &why) && !has_just_left(r, reply))
        return true;
    uint32_t from = at_replica_find_origin(r, reply->from);
    struct at_peer *peer = &r->peers[from];

    note_time(r, mono_ns);
    peer->heard_mono_ns = mono_ns;
    peer->replied = true;
    at_vector_copy(&peer->known, &reply->ends_known);
    if (at_replica_is_active(r, from))
        at_guard_hear(&r->guard, reply->from, reply->hlc, mono_ns);
    (void)at_replica_judge_clock(r, wall_ns, mono_ns);

    told_vector(r, &reply->ends_known);
    bool believed = merge_facts(r, &reply->facts, wall_ns);
    at_replica_prune_epochs(r);
    for (uint32_t i = 0; i < r->origin_count; i++) {
        at_origin_settle(&r->origins[i], &r->applied);
        unpark_lost(r, i);
    }
    at_replica_advance_horizon(r);
    merge_gaps(r, from, reply);
    at_replica_decide_mode(r);
    return believed;
}

/* The reply held the sender's LEAVE. The facts that come with it are perhaps told here only: the
 * ends of its last epochs. */
static bool has_just_left(const struct at_replica *r, const struct at_reply *reply)
{
    uint32_t at = at_replica_find_origin(r, reply->from);

    return at_replica_is_instance(r, reply->instance_id) && r->mode != AT_MODE_COPYING &&
           r->mode != AT_MODE_INIT && at != AT_NO_ORIGIN && at != r->self_index &&
           r->origins[at].state == AT_ORIGIN_LEFT && !r->origins[at].fenced &&
           reply->incarnation >= r->origins[at].min_incarnation;
}

void at_replica_on_pull(struct at_replica *r, const struct at_pull *pull, uint64_t mono_ns)
{
    uint32_t from = at_replica_find_origin(r, pull->from);

    if (!at_replica_is_instance(r, pull->instance_id) || from == AT_NO_ORIGIN ||
        from == r->self_index)
        return;
    if (!at_replica_is_sound(r, from) || pull->incarnation < r->origins[from].min_incarnation)
        return;
    struct at_peer *peer = &r->peers[from];

    note_time(r, mono_ns);
    peer->heard_mono_ns = mono_ns;
    at_guard_hear(&r->guard, pull->from, pull->hlc, mono_ns);
    at_vector_copy(&peer->known, &pull->applied);
    at_vector_merge(&peer->acked, &pull->durable);
    for (uint32_t i = 0; i < pull->facts.first_open_count; i++) {
        const struct at_first_open *f = &pull->facts.first_open[i];
        uint32_t at = at_replica_find_origin(r, f->origin);
        if (at != AT_NO_ORIGIN && f->epoch > peer->acked_first_open[at])
            peer->acked_first_open[at] = f->epoch;
    }
    told_vector(r, &pull->applied);
    peer->acked_seq = at_vector_get(&pull->applied, r->self, r->epoch);
    at_replica_prune_epochs(r);
    at_replica_leave_settle(r);
    at_replica_decide_mode(r);
}

static uint64_t acceptance_limit(const struct at_replica *r, uint64_t wall_ns)
{
    uint64_t from = wall_ns > r->released ? wall_ns : r->released;
    return from > UINT64_MAX - r->max_skew_ns ? UINT64_MAX : from + r->max_skew_ns;
}

/* An entry that this cluster never made, in an epoch it has not closed. */
static enum at_admit admit_own(struct at_replica *r, struct at_position p)
{
    at_replica_own_position_told(r, p);
    return AT_ADMIT_STOP;
}

static void told(struct at_replica *r, struct at_position p)
{
    uint32_t at = at_replica_find_origin(r, p.origin);

    if (at == AT_NO_ORIGIN)
        return;
    struct at_position *furthest = &r->peers[at].furthest;
    if (p.epoch > furthest->epoch || (p.epoch == furthest->epoch && p.seq > furthest->seq))
        *furthest = p;
}

static void told_vector(struct at_replica *r, const struct at_vector *v)
{
    for (uint32_t i = 0; i < v->count; i++) {
        if (at_member_eq(v->items[i].origin, r->self))
            at_replica_own_position_told(r, v->items[i]);
        else
            told(r, v->items[i]);
    }
}

/* A promise of the future is not believed: taken as ours it would carry the clock off, for ever,
 * and taken as another's it would stand in front of all that this one says later. An honest one is
 * told again when its time has come. */
static bool merge_facts(struct at_replica *r, const struct at_positions_facts *f, uint64_t wall_ns)
{
    uint64_t limit = acceptance_limit(r, wall_ns);
    bool believed = true;

    for (uint32_t i = 0; i < f->vouch_count; i++) {
        uint32_t at = at_replica_find_origin(r, f->vouches[i].position.origin);
        if (at != AT_NO_ORIGIN && at != r->self_index)
            at_replica_take_vouch(r, &f->vouches[i]);
    }
    for (uint32_t i = 0; i < f->end_count; i++) {
        uint32_t at = at_replica_find_origin(r, f->ends[i].origin);
        if (at != AT_NO_ORIGIN && at != r->self_index)
            at_origin_ended(&r->origins[at], &f->ends[i]);
    }
    for (uint32_t i = 0; i < f->promise_count; i++) {
        const struct at_promise *p = &f->promises[i];
        uint32_t at = at_replica_find_origin(r, p->origin);
        if (at == AT_NO_ORIGIN)
            continue;
        bool future = p->hlc > limit && p->hlc > r->hlc.reserved;
        believed = believed && !future;
        if (at == r->self_index) {
            /* Ours, of before a rollback perhaps: it binds all the same. */
            at_replica_own_position_told(
                r, (struct at_position){.origin = p->origin, .epoch = p->epoch, .seq = p->seq});
            if (!future)
                at_hlc_merge(&r->hlc, p->hlc);
            continue;
        }
        if (future)
            continue;
        told(r, (struct at_position){.origin = p->origin, .epoch = p->epoch, .seq = p->seq});
        at_origin_promised(&r->origins[at], p);
    }
    return believed;
}

/* Who told of a gap may have lost since what it had, as its origin did: nobody has it. */
static bool nothing_follows(const struct at_origin *o, struct at_position p)
{
    bool gone = o->state == AT_ORIGIN_LEFT || o->state == AT_ORIGIN_REMOVED;
    uint64_t end = 0;

    if (p.epoch < o->first_open || (at_origin_end(o, p.epoch, &end) && end <= p.seq))
        return true;
    return gone && at_origin_beyond_final(o, p.epoch, p.seq + 1);
}

void at_replica_drop_closed_gaps(struct at_replica *r)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < r->gap_count; i++) {
        struct at_open_gap g = r->gaps[i];
        uint32_t at = at_replica_find_origin(r, g.at.origin);
        bool over = at != AT_NO_ORIGIN && nothing_follows(&r->origins[at], g.at);
        if (!over && at_vector_get(&r->applied, g.at.origin, g.at.epoch) <= g.at.seq)
            r->gaps[kept++] = g;
    }
    r->gap_count = kept;
}

static void merge_gaps(struct at_replica *r, uint32_t from, const struct at_reply *reply)
{
    at_replica_drop_closed_gaps(r);
    for (uint32_t i = 0; i < reply->gap_count; i++)
        report_gap(r, from, reply->gaps[i].base);
}

static void report_gap(struct at_replica *r, uint32_t from, struct at_position base)
{
    uint32_t at = at_replica_find_origin(r, base.origin);
    struct at_position mine = base;

    if (at == AT_NO_ORIGIN)
        return;
    mine.seq = at_vector_get(&r->applied, base.origin, base.epoch);
    if (mine.seq >= base.seq || nothing_follows(&r->origins[at], mine))
        return;
    for (uint32_t i = 0; i < r->gap_count; i++) {
        struct at_open_gap *g = &r->gaps[i];
        if (at_member_eq(g->at.origin, base.origin) && g->at.epoch == base.epoch) {
            g->reporters |= UINT64_C(1) << from;
            return;
        }
    }
    if (r->gap_count < AT_GAPS_MAX)
        r->gaps[r->gap_count++] =
            (struct at_open_gap){.at = mine, .reporters = UINT64_C(1) << from};
}

/* Someone in touch may still serve it. */
static bool served(const struct at_replica *r, const struct at_open_gap *gap)
{
    for (uint32_t i = 0; i < r->origin_count; i++) {
        if (!in_touch(r, i) || (gap->reporters >> i & 1) != 0)
            continue;
        if (at_vector_get(&r->peers[i].known, gap->at.origin, gap->at.epoch) > gap->at.seq)
            return true;
    }
    return false;
}

void at_replica_decide_mode(struct at_replica *r)
{
    bool lacking = false;
    bool all_replied = true;

    at_replica_drop_closed_gaps(r);
    for (uint32_t i = 0; i < r->gap_count; i++)
        lacking = lacking || !served(r, &r->gaps[i]);
    for (uint32_t i = 0; i < r->origin_count; i++)
        all_replied = all_replied && (!in_touch(r, i) || r->peers[i].replied);

    enum at_replica_mode mode = r->mode;
    /* A leaver that needs a copy stays until it has one, and is asked to leave again. */
    bool full = mode == AT_MODE_READY || (mode == AT_MODE_LEAVING && !at_replica_has_left(r));
    if (full && lacking)
        mode = AT_MODE_NEEDS_COPY;
    else if (mode == AT_MODE_NEEDS_COPY && !lacking && all_replied)
        mode = AT_MODE_READY;
    at_replica_set_mode(r, mode);
    at_replica_join_settle(r); /* the last acknowledgement may have come before READY */
}

static bool in_touch(const struct at_replica *r, uint32_t index)
{
    const struct at_peer *peer = &r->peers[index];

    return index != r->self_index && at_replica_is_sound(r, index) && peer->heard_mono_ns != 0 &&
           r->mono_ns - peer->heard_mono_ns <= IN_TOUCH_NS_MAX;
}

/* What was parked may be lost meanwhile, with the tail of its origin: it will not come. */
static void unpark_lost(struct at_replica *r, uint32_t index)
{
    struct at_position *parked = &r->peers[index].parked;
    uint64_t end = 0;

    if (parked->epoch == 0)
        return;
    if (parked->epoch < r->origins[index].first_open ||
        (at_origin_end(&r->origins[index], parked->epoch, &end) && end < parked->seq))
        parked->epoch = 0;
}

static void note_time(struct at_replica *r, uint64_t mono_ns)
{
    if (mono_ns > r->mono_ns)
        r->mono_ns = mono_ns;
}
