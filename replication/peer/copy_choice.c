#include "replication/peer/rooms.h"

/* Who is asked for a copy, and what it must have. */

bool at_copy_may_ask(struct at_peering *p, const struct at_neighbor *donor)
{
    return donor != NULL && donor->member && donor->host != NULL && !at_cut_of(p, donor->id).asking;
}

struct at_neighbor *
at_copy_nearest(struct at_peering *p, const struct at_member_id *tried, uint32_t tried_count)
{
    struct at_neighbor *best = NULL;

    for (uint32_t i = 0; i < p->peer_count && tried_count < AT_NEIGHBORS_MAX; i++) {
        struct at_neighbor *peer = p->peers[i];
        bool fits = at_copy_may_ask(p, peer) && at_neighbor_in_touch(peer);
        for (uint32_t k = 0; k < tried_count; k++)
            fits = fits && !at_member_eq(tried[k], peer->id);
        if (fits && (best == NULL || peer->link.asking.rtt_ns < best->link.asking.rtt_ns))
            best = peer;
    }
    return best;
}

void at_copy_needs(struct at_peering *p, struct at_vector *ret_needs)
{
    ret_needs->count = 0;
    for (uint32_t i = 0; i < p->peer_count; i++) {
        const struct at_vector *gaps = &p->peers[i]->link.gaps;
        bool counts = p->peers[i]->member && at_neighbor_in_touch(p->peers[i]);
        for (uint32_t k = 0; k < gaps->count && counts; k++) {
            struct at_position gap = gaps->items[k];
            if (gap.epoch >= at_positions_facts_first_open(&p->view.facts, gap.origin) &&
                at_vector_get(&p->view.applied, gap.origin, gap.epoch) < gap.seq)
                (void)at_vector_raise(ret_needs, gap);
        }
    }
}
