#include "base/assert.h"
#include "replication/peer/rooms.h"

/* What the status shows of each link. Computed when it is asked for, from what the link last heard
 * and the newest committed view, so that it tells the truth even when the peering thread is slow:
 * a peer that has not spoken for a while is out of touch, whatever was true when it did. */

static enum at_link_state state_of(const struct at_neighbor *peer,
                                   const struct at_replica_view *view,
                                   struct at_lag lag,
                                   bool in_touch);

uint32_t
at_peering_links(struct at_peering *p, struct at_link_status *ret_links, uint32_t count_max)
{
    uint64_t now_ns = at_clock_mono_ns(&p->clock);
    struct at_lag_windows windows = {.fresh_ns = 2 * p->wait_ms * AT_MS_NS,
                                     .touch_ns = at_peering_touch_ns(p)};
    uint32_t count = p->peer_count < count_max ? p->peer_count : count_max;
    struct at_replica_view view;

    at_replica_view_init(&view);
    pthread_mutex_lock(&p->status_lock);
    p->port.view(p->port.ctx, &view); /* not older than what the links know */
    for (uint32_t i = 0; i < count; i++) {
        const struct at_neighbor *peer = &p->peers[i];
        const struct at_lag_evidence *evidence = &peer->link.evidence;
        struct at_lag lag = at_lag_of(evidence, &view, peer->id, windows, now_ns);
        bool in_touch = evidence->reply_ns != 0 && now_ns < evidence->reply_ns + windows.touch_ns;
        ret_links[i] = (struct at_link_status){
            .peer = peer->id,
            .state = state_of(peer, &view, lag, in_touch),
            .lag_known = lag.known,
            .lag_entries = lag.entries,
            .lag_ms = lag.ms,
            .applied_entries = peer->link.applied_entries,
        };
    }
    pthread_mutex_unlock(&p->status_lock);
    at_replica_view_deinit(&view);
    return count;
}

const char *at_link_state_name(enum at_link_state state)
{
    switch (state) {
    case AT_LINK_CUT:
        return "CUT";
    case AT_LINK_STREAMING:
        return "STREAMING";
    case AT_LINK_CATCHING_UP:
        return "CATCHING_UP";
    case AT_LINK_PARKED:
        return "PARKED";
    case AT_LINK_COPYING:
        return "COPYING";
    case AT_LINK_NEEDS_COPY:
        return "NEEDS_COPY";
    }
    AT_ASSERT(!"a link state");
    return "";
}

static enum at_link_state state_of(const struct at_neighbor *peer,
                                   const struct at_replica_view *view,
                                   struct at_lag lag,
                                   bool in_touch)
{
    if (!in_touch)
        return AT_LINK_CUT;
    for (uint32_t i = 0; i < view->member_count; i++) {
        const struct at_member_view *member = &view->members[i];
        if (!at_member_eq(member->id, peer->id))
            continue;
        if (member->gap)
            return AT_LINK_NEEDS_COPY;
        if (member->parked)
            return AT_LINK_PARKED;
    }
    return peer->link.more && lag.entries > 0 ? AT_LINK_CATCHING_UP : AT_LINK_STREAMING;
}
