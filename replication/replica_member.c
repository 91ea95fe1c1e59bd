#include "base/assert.h"
#include "base/mutant.h"
#include "replication/replica_state.h"

/* Entries that change who is a member (rules 24, 35-39), and what all ways to come and go share.
 *
 * A state only ever rises: KNOWN -> ACTIVE -> LEFT -> REMOVED. So entries of several coordinators
 * and registrars may come in any order, and copies merge by the maximum. */

static void remove_one(struct at_replica *r, struct at_member_id id);
static void drop_never_members(struct at_replica *r);
static void forget_tellers(struct at_replica *r, struct at_learnt_list *list);

void at_replica_member_joined(struct at_replica *r,
                              const struct at_member_seed *member,
                              struct at_position registered,
                              uint64_t hlc)
{
    uint32_t at = at_replica_add_origin(r, member->id);

    at_hlc_merge(&r->hlc, hlc);
    if (at == AT_NO_ORIGIN || r->origins[at].state > AT_ORIGIN_ACTIVE)
        return;
    struct at_origin *o = &r->origins[at];
    if (o->registered.epoch == 0)
        o->registered = registered;
    if (o->state == AT_ORIGIN_KNOWN) {
        o->state = AT_ORIGIN_ACTIVE;
        if (member->info.len <= AT_MEMBER_INFO_BYTES_MAX)
            at_origin_set_info(o, member->info);
        /* Wherever it is applied: who forgot it with a lost tail would close its epochs without
         * asking the newcomer, which may hold what is lost. */
        r->need_sync = true;
    }
    o->dirty = true;
    at_replica_members_changed(r);
}

void at_replica_member_left(struct at_replica *r, struct at_position last)
{
    uint32_t at = at_replica_find_origin(r, last.origin);

    if (at == AT_NO_ORIGIN)
        return;
    at_origin_left(&r->origins[at], last);
    at_guard_forget(&r->guard, last.origin);
    r->need_sync = true;
    if (at == r->self_index) {
        AT_ASSERT(last.epoch == r->epoch && last.seq == r->seq);
        at_replica_set_mode(r, AT_MODE_LEAVING);
    }
    at_replica_members_changed(r);
}

void at_replica_members_removed(struct at_replica *r, const struct at_removal *removal)
{
    for (uint32_t i = 0; i < removal->member_count; i++) {
        uint32_t at = at_replica_add_origin(r, removal->members[i]);
        if (at != AT_NO_ORIGIN) /* their words first: they are void in what follows */
            r->origins[at].state = AT_ORIGIN_REMOVED;
    }
    for (uint32_t i = 0; i < removal->vouch_count; i++) {
        if (at_replica_add_origin(r, removal->vouches[i].position.origin) != AT_NO_ORIGIN)
            at_replica_take_vouch(r, &removal->vouches[i]);
    }
    for (uint32_t i = 0; i < removal->member_count; i++)
        remove_one(r, removal->members[i]);
    drop_never_members(r);
    if (removal->fork_id != 0)
        at_replica_fork_to(r, removal->fork_id);
    r->need_sync = true;
    at_replica_members_changed(r);
}

void at_replica_released(struct at_replica *r, uint64_t hlc)
{
    hlc = hlc < AT_HLC_MAX ? hlc : AT_HLC_MAX;
    if (hlc <= r->released)
        return;
    r->released = hlc;
    r->dirty |= AT_DIRTY_RELEASED;
}

void at_replica_told_removed(struct at_replica *r, struct at_member_id from)
{
    uint32_t at = at_replica_find_origin(r, from);

    /* One that has left is told the same by who knows its LEAVE. */
    if (at == AT_NO_ORIGIN || at == r->self_index || !at_replica_is_sound(r, at) ||
        at_replica_has_left(r))
        return;
    at_replica_set_mode(r, AT_MODE_REMOVED);
    r->need_sync = true;
}

void at_replica_take_vouch(struct at_replica *r, const struct at_vouch *vouch)
{
    uint32_t at = at_replica_find_origin(r, vouch->position.origin);
    uint32_t voucher = at_replica_find_origin(r, vouch->voucher);
    struct at_vouch v = *vouch;

    if (at == AT_NO_ORIGIN)
        return;
    if (voucher != AT_NO_ORIGIN && r->origins[voucher].state == AT_ORIGIN_REMOVED &&
        !AT_MUTANT(dead_voucher_counts)) {
        if (voucher != at)
            return;
        v.position.seq = 0; /* that the epoch is closed still holds */
    }
    at_origin_vouched(&r->origins[at], &v);
}

void at_replica_members_changed(struct at_replica *r)
{
    forget_tellers(r, &r->learnt);
    forget_tellers(r, &r->removal.learnt);
    at_replica_close_when_answered(r);
    for (uint32_t i = 0; i < r->origin_count; i++)
        at_origin_settle(&r->origins[i], &r->applied);
    at_replica_fence_settle(r);
    at_replica_join_settle(r);
    at_replica_leave_settle(r);
    at_replica_decide_mode(r);
}

void at_replica_learn(const struct at_replica *r,
                      struct at_learnt_list *list,
                      uint32_t teller,
                      const struct at_member_seed *members,
                      uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = at_replica_find_origin(r, members[i].id);
        uint32_t k = 0;
        if (at != AT_NO_ORIGIN && r->origins[at].state != AT_ORIGIN_KNOWN)
            continue; /* an entry has told more */
        while (k < list->count && !at_member_eq(list->items[k].id, members[i].id))
            k++;
        if (k == sizeof(list->items) / sizeof(list->items[0]))
            continue;
        if (k == list->count)
            list->items[list->count++] = (struct at_learnt){.id = members[i].id};
        list->items[k].tellers |= UINT64_C(1) << teller;
    }
}

static void remove_one(struct at_replica *r, struct at_member_id id)
{
    uint32_t at = at_replica_find_origin(r, id);

    if (at == AT_NO_ORIGIN)
        return;
    at_origin_removed(&r->origins[at], &r->applied);
    at_guard_forget(&r->guard, id);
    r->peers[at].parked.epoch = 0;
    for (uint32_t i = 0; i < r->origin_count && !AT_MUTANT(dead_voucher_counts); i++) {
        at_origin_void(&r->origins[i], id);
        at_origin_keep(&r->origins[i], &r->applied);
    }
    if (at == r->self_index)
        at_replica_set_mode(r, AT_MODE_REMOVED);
}

/* A member whose registration is beyond what there is of its registrar never was one (rule 38). */
static void drop_never_members(struct at_replica *r)
{
    for (uint32_t i = 0; i < r->origin_count; i++) {
        struct at_origin *o = &r->origins[i];
        uint32_t by = at_replica_find_origin(r, o->registered.origin);
        if (o->state != AT_ORIGIN_ACTIVE || o->registered.epoch == 0 || by == AT_NO_ORIGIN ||
            r->origins[by].state != AT_ORIGIN_REMOVED)
            continue;
        if (o->registered.epoch >= r->origins[by].first_open &&
            at_origin_beyond_final(&r->origins[by], o->registered.epoch, o->registered.seq))
            remove_one(r, o->id);
    }
}

/* Both ids are of this instance for who has the entry; who has it not is told the old one. */
void at_replica_fork_to(struct at_replica *r, uint64_t fork_id)
{
    if (r->fork_id == fork_id)
        return;
    r->fork_from = r->instance_id;
    r->fork_id = fork_id;
    r->forked = false;
    at_vector_copy(&r->fork_upto, &r->applied);
    r->dirty |= AT_DIRTY_FORK;
}

/* What only members said that are gone is not true any more: a living one says it too. */
static void forget_tellers(struct at_replica *r, struct at_learnt_list *list)
{
    uint32_t kept = 0;

    for (uint32_t k = 0; k < list->count; k++) {
        struct at_learnt item = list->items[k];
        uint32_t at = at_replica_find_origin(r, item.id);
        for (uint32_t i = 0; i < r->origin_count; i++)
            if (at_replica_is_gone(r, i))
                item.tellers &= ~(UINT64_C(1) << i);
        if (item.tellers != 0 && (at == AT_NO_ORIGIN || r->origins[at].state == AT_ORIGIN_KNOWN))
            list->items[kept++] = item;
    }
    list->count = kept;
}
