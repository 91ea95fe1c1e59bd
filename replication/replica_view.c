#include "base/assert.h"
#include "replication/replica_state.h"

/* The view is what replies, pulls and the status are made from. It is filled after every round, so
 * it only copies a few dozen numbers into memory that it keeps.
 *
 * The own promise is cut to the durable reservation: cut, it says less and is still true. */

static void add_promise(struct at_positions_facts *f, const struct at_promise *p);
static void fill_members(const struct at_replica *r, struct at_replica_view *view);
static void keep_infos(struct at_replica_view *view);
static struct at_member_view member_view(const struct at_replica *r, uint32_t index);

void at_replica_view_init(struct at_replica_view *view)
{
    *view = (struct at_replica_view){0};
}

bool at_replica_view_is_gone(const struct at_replica_view *view, struct at_member_id id)
{
    for (uint32_t i = 0; i < view->gone_count; i++)
        if (at_member_eq(view->gone[i], id))
            return true;
    return false;
}

void at_replica_view_deinit(struct at_replica_view *view)
{
    at_vector_deinit(&view->applied);
    at_vector_deinit(&view->durable);
    at_vector_deinit(&view->base);
    at_positions_facts_deinit(&view->facts);
    at_buf_deinit(&view->infos);
}

void at_replica_view_fill(const struct at_replica *r, struct at_replica_view *view)
{
    view->instance_id = r->instance_id;
    view->other_id = r->fork_id == 0 ? 0 : r->forked ? r->fork_from : r->fork_id;
    view->self = r->self;
    view->mode = r->mode;
    view->may_write = r->mode == AT_MODE_READY && r->joined && !r->rolled_back && !r->log_full &&
                      r->verdict != AT_GUARD_AHEAD && r->verdict != AT_GUARD_JUMPED;
    view->joined = r->joined;
    view->caught_up = r->caught_up;
    view->left = at_replica_has_left(r);
    view->closing = r->closed_below != r->epoch;
    view->healthy = r->verdict != AT_GUARD_BEHIND;
    view->epoch = r->epoch;
    view->seq = r->seq;
    view->hlc = r->hlc.now;
    view->horizon = r->stored_horizon;
    at_vector_copy(&view->applied, &r->applied);
    at_vector_copy(&view->durable, &r->durable);
    at_vector_copy(&view->base, &r->base);
    at_replica_fill_facts(r, &view->facts);
    fill_members(r, view);
}

void at_replica_view_copy(struct at_replica_view *to, const struct at_replica_view *from)
{
    if (to == from)
        return;
    struct at_vector applied = to->applied;
    struct at_vector durable = to->durable;
    struct at_vector base = to->base;
    struct at_positions_facts facts = to->facts;
    struct at_buf infos = to->infos;

    at_vector_copy(&applied, &from->applied);
    at_vector_copy(&durable, &from->durable);
    at_vector_copy(&base, &from->base);
    at_positions_facts_copy(&facts, &from->facts);
    *to = *from;
    to->infos = infos;
    keep_infos(to);
    to->applied = applied;
    to->durable = durable;
    to->base = base;
    to->facts = facts;
}

void at_replica_fill_facts(const struct at_replica *r, struct at_positions_facts *f)
{
    at_positions_facts_clear(f);
    for (uint32_t i = 0; i < r->origin_count; i++) {
        const struct at_origin *o = &r->origins[i];
        if (o->first_open > 1)
            at_positions_facts_add_first_open(f, (struct at_first_open){o->id, o->first_open});
        for (uint32_t k = 0; k < o->closed.end_count; k++)
            at_positions_facts_add_end(f, o->closed.ends[k]);
        for (uint32_t k = 0; k < o->closed.vouch_count; k++) {
            uint64_t end = 0;
            if (at_origin_end(o, o->closed.vouches[k].position.epoch, &end))
                at_positions_facts_add_vouch(f, o->closed.vouches[k]);
        }
        if (i == r->self_index)
            continue;
        add_promise(f, &o->best);
        add_promise(f, &o->next);
        add_promise(f, &o->newest);
    }
    struct at_promise own = r->promise;
    if (own.hlc > r->hlc.reserved_durable)
        own.hlc = r->hlc.reserved_durable;
    add_promise(f, &own);
}

static void add_promise(struct at_positions_facts *f, const struct at_promise *p)
{
    if (p->hlc != 0)
        at_positions_facts_add_promise(f, *p);
}

static void fill_members(const struct at_replica *r, struct at_replica_view *view)
{
    view->member_count = 0;
    view->gone_count = 0;
    for (uint32_t i = 0; i < r->origin_count; i++)
        if (at_replica_is_gone(r, i))
            view->gone[view->gone_count++] = r->origins[i].id;
    for (uint32_t i = 0; i < r->origin_count; i++) {
        if (r->peers[i].parked.epoch != 0)
            view->healthy = false;
        if (at_replica_is_active(r, i) && view->member_count < AT_MEMBERS_MAX)
            view->members[view->member_count++] = member_view(r, i);
    }
    /* Then the gone, itself first: that is never left out for want of room. */
    if (at_replica_is_gone(r, r->self_index) && view->member_count < AT_MEMBERS_MAX)
        view->members[view->member_count++] = member_view(r, r->self_index);
    for (uint32_t i = 0; i < r->origin_count; i++)
        if (at_replica_is_gone(r, i) && i != r->self_index && view->member_count < AT_MEMBERS_MAX)
            view->members[view->member_count++] = member_view(r, i);
    keep_infos(view);
}

/* The infos become the view's own. */
static void keep_infos(struct at_replica_view *view)
{
    if (view->infos.max == 0)
        at_buf_init(&view->infos, (size_t)AT_MEMBERS_MAX * AT_MEMBER_INFO_BYTES_MAX);
    at_buf_clear(&view->infos);
    enum at_code rc = at_buf_reserve(&view->infos, view->infos.max);
    AT_ASSERT(rc == AT_OK);
    for (uint32_t i = 0; i < view->member_count; i++) {
        struct at_slice *info = &view->members[i].info;
        size_t at = view->infos.len;
        rc = at_buf_append(&view->infos, *info);
        AT_ASSERT(rc == AT_OK); /* each is bounded */
        *info = at_slice_make(view->infos.data + at, info->len);
    }
}

static struct at_member_view member_view(const struct at_replica *r, uint32_t index)
{
    const struct at_origin *o = &r->origins[index];
    const struct at_peer *peer = &r->peers[index];
    struct at_member_view m = {.id = o->id,
                               .active = at_replica_is_active(r, index),
                               .state = (uint8_t)o->state,
                               .fenced = o->fenced,
                               .registered = o->registered,
                               .info = at_slice_make(o->info, o->info_len)};

    if (index == r->self_index) {
        m.known = (struct at_position){r->self, r->epoch, r->seq};
        m.fresh_hlc = r->promise.hlc;
        m.newest_hlc = r->promise.hlc;
        m.acked_seq = r->seq;
        return m;
    }
    m.heard_mono_ns = peer->heard_mono_ns;
    m.known = peer->furthest;
    m.fresh_hlc = o->best.hlc;
    m.newest_hlc = o->newest.hlc != 0 ? o->newest.hlc
                   : o->next.hlc != 0 ? o->next.hlc
                                      : o->best.hlc;
    m.acked_seq = peer->acked_seq;
    m.parked = peer->parked.epoch != 0;
    for (uint32_t i = 0; i < r->gap_count; i++)
        m.gap = m.gap || (r->gaps[i].reporters >> index & 1) != 0;
    return m;
}
