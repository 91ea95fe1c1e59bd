#include "base/log.h"
#include "replication/peer/rooms.h"

/* Links that are cut by command, for drills. As with a cable that was pulled, the other side is
 * not told: what it asks gets no answer. A link may be cut for asking only; then the other still
 * asks this one. */

static uint32_t find(const struct at_peering *p, struct at_member_id member);

void at_peering_cut(struct at_peering *p, struct at_member_id member, bool asking, bool answering)
{
    pthread_mutex_lock(&p->status_lock);
    uint32_t at = find(p, member);
    if ((asking || answering) && at < AT_NEIGHBORS_MAX) {
        p->cuts[at] =
            (struct at_link_cut){.member = member, .asking = asking, .answering = answering};
        p->cut_count += at == p->cut_count;
    } else if (at < p->cut_count) {
        p->cuts[at] = p->cuts[--p->cut_count];
    }
    pthread_mutex_unlock(&p->status_lock);
    at_log(AT_LOG_WARN, "a link is cut or healed by command", AT_KV_U64("member", member.v),
           AT_KV_U64("asking", asking), AT_KV_U64("answering", answering));
    atomic_store(&p->cuts_changed, true);
    at_peering_ring(p);
}

struct at_link_cut at_cut_of_locked(const struct at_peering *p, struct at_member_id member)
{
    uint32_t at = find(p, member);

    return at < p->cut_count ? p->cuts[at] : (struct at_link_cut){.member = member};
}

struct at_link_cut at_cut_of(struct at_peering *p, struct at_member_id member)
{
    pthread_mutex_lock(&p->status_lock);
    struct at_link_cut cut = at_cut_of_locked(p, member);
    pthread_mutex_unlock(&p->status_lock);
    return cut;
}

/* Pulls that wait here would be answered when something is committed. */
void at_cuts_step(struct at_peering *p)
{
    if (!atomic_exchange(&p->cuts_changed, false))
        return;
    for (uint32_t i = 0; i < p->peer_count; i++)
        if (at_cut_of(p, p->peers[i]->id).answering)
            at_donor_drop(p->peers[i]);
}

/* Its place, or the one that is free. */
static uint32_t find(const struct at_peering *p, struct at_member_id member)
{
    for (uint32_t i = 0; i < p->cut_count; i++)
        if (at_member_eq(p->cuts[i].member, member))
            return i;
    return p->cut_count;
}
