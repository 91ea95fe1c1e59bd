#include "replication/peer/rooms.h"

/* Waits until the others have applied an entry of ours. What they have is known from their pulls
 * and replies, so nothing is asked; this only looks again in every turn.
 *
 * A member that this cluster registered by that entry, or later, is none of them: whoever fills it
 * has its registration, and with it the entry. */

#define LOOK_AGAIN_NS (50 * AT_MS_NS)

enum reach { REACHED, NOT_YET, OUT_OF_TOUCH };

static bool ended(struct at_peering *p, struct at_spread_wait *wait);
static bool began_with(const struct at_peering *p, const struct at_member_view *m, uint64_t seq);
static enum reach reach_of(struct at_peering *p, struct at_member_id id, uint64_t seq);

void at_spread_add(struct at_peering *p, struct at_spread_wait *wait)
{
    wait->all = false;
    wait->mail.next = p->spread_waits;
    p->spread_waits = &wait->mail;
}

void at_spread_step(struct at_peering *p)
{
    struct at_mail **link = &p->spread_waits;

    while (*link != NULL) {
        struct at_spread_wait *wait = (struct at_spread_wait *)*link;
        if (!ended(p, wait)) {
            link = &wait->mail.next;
            continue;
        }
        *link = wait->mail.next;
        wait->done(wait);
    }
    if (p->spread_waits != NULL)
        at_peering_wake_at(p, p->now_ns + LOOK_AGAIN_NS);
}

void at_spread_drop(struct at_peering *p)
{
    struct at_mail *next = NULL;

    for (struct at_mail *m = p->spread_waits; m != NULL; m = next) {
        next = m->next;
        struct at_spread_wait *wait = (struct at_spread_wait *)m;
        wait->all = false;
        wait->done(wait);
    }
    p->spread_waits = NULL;
}

static bool ended(struct at_peering *p, struct at_spread_wait *wait)
{
    bool all = true;
    bool pending = false;

    for (uint32_t i = 0; i < p->view.member_count; i++) {
        const struct at_member_view *member = &p->view.members[i];
        if (!member->active || at_member_eq(member->id, p->view.self) ||
            began_with(p, member, wait->seq))
            continue;
        enum reach reach = reach_of(p, member->id, wait->seq);
        all = all && reach == REACHED;
        pending = pending || reach == NOT_YET;
    }
    wait->all = all;
    return !pending || p->now_ns >= wait->deadline_ns;
}

static bool began_with(const struct at_peering *p, const struct at_member_view *m, uint64_t seq)
{
    return at_member_eq(m->registered.origin, p->view.self) &&
           m->registered.epoch == p->view.epoch && m->registered.seq >= seq;
}

static enum reach reach_of(struct at_peering *p, struct at_member_id id, uint64_t seq)
{
    const struct at_neighbor *peer = at_neighbor_find(p, id);

    if (peer == NULL)
        return OUT_OF_TOUCH;
    if (peer->acked.epoch == p->view.epoch && peer->acked.seq >= seq)
        return REACHED;
    return at_neighbor_in_touch(peer) ? NOT_YET : OUT_OF_TOUCH;
}
