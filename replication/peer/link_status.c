#include "base/assert.h"
#include "replication/peer/rooms.h"

/* What the status shows of each link. Computed when it is asked for, from what the link last heard
 * and the newest committed view, so that it tells the truth even when the peering thread is slow:
 * a peer that has not spoken for a while is out of touch, whatever was true when it did. */

static struct at_link_status describe(struct at_peering *p,
                                      const struct at_neighbor *peer,
                                      const struct at_replica_view *view,
                                      uint64_t now_ns);
static enum at_link_state state_of(const struct at_neighbor *peer,
                                   const struct at_replica_view *view,
                                   struct at_lag lag,
                                   bool in_touch);
static uint64_t bytes_of(const struct at_pull_link *link, uint64_t entries);
static bool is_active(const struct at_replica_view *view, struct at_member_id id);
static bool is_filled(const struct at_replica_view *view);

uint32_t
at_peering_links(struct at_peering *p, struct at_link_status *ret_links, uint32_t count_max)
{
    uint64_t now_ns = at_clock_mono_ns(&p->clock);
    uint32_t count = 0;
    struct at_replica_view view;

    at_replica_view_init(&view);
    pthread_mutex_lock(&p->status_lock);
    p->port.view(p->port.ctx, &view); /* not older than what the links know */
    for (uint32_t i = 0; i < view.member_count && count < count_max; i++)
        for (uint32_t k = 0; k < p->peer_count; k++)
            if (view.members[i].active && at_member_eq(p->peers[k]->id, view.members[i].id))
                ret_links[count++] = describe(p, p->peers[k], &view, now_ns);
    pthread_mutex_unlock(&p->status_lock);
    at_replica_view_deinit(&view);
    return count;
}

uint32_t at_peering_progress(struct at_peering *p,
                             struct at_member_progress *ret_members,
                             uint32_t count_max)
{
    uint64_t now_ns = at_clock_mono_ns(&p->clock);
    uint32_t count = 0;
    struct at_replica_view view;

    at_replica_view_init(&view);
    pthread_mutex_lock(&p->status_lock);
    p->port.view(p->port.ctx, &view);
    bool filled = view.mode == AT_MODE_READY && view.caught_up;
    if (!filled && count < count_max)
        ret_members[count++] =
            (struct at_member_progress){.member = view.self,
                                        .mode = (uint8_t)view.mode,
                                        .caught_up = view.caught_up,
                                        .copied_bytes = p->copied_bytes,
                                        .copy_bytes = p->copy_bytes,
                                        .bytes_per_s = at_rate_of(&p->copied_rate, now_ns)};
    for (uint32_t i = 0; i < p->peer_count && count < count_max; i++) {
        const struct at_neighbor *peer = p->peers[i];
        if (peer->progress.member.v == 0 || !is_active(&view, peer->id))
            continue;
        ret_members[count] = peer->progress;
        ret_members[count++].bytes_per_s = at_rate_of(&peer->progress_rate, now_ns);
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

static bool is_active(const struct at_replica_view *view, struct at_member_id id)
{
    for (uint32_t i = 0; i < view->member_count; i++)
        if (at_member_eq(view->members[i].id, id))
            return view->members[i].active;
    return false;
}

static struct at_link_status describe(struct at_peering *p,
                                      const struct at_neighbor *peer,
                                      const struct at_replica_view *view,
                                      uint64_t now_ns)
{
    const struct at_pull_link *link = &peer->link;
    const struct at_lag_evidence *evidence = &link->evidence;
    struct at_lag_windows windows = {.fresh_ns = 2 * p->wait_ms * AT_MS_NS,
                                     .touch_ns = at_peering_touch_ns(p)};
    struct at_lag lag = at_lag_of(evidence, view, peer->id, windows, now_ns);
    bool in_touch = evidence->reply_ns != 0 && now_ns < evidence->reply_ns + windows.touch_ns;
    bool filled = is_filled(view);

    if (!filled) /* nothing is pulled meanwhile, and what the peer has now is not known */
        in_touch = now_ns < atomic_load(&peer->heard_ns) + windows.touch_ns;
    struct at_link_status status = {
        .peer = peer->id,
        .state = state_of(peer, view, lag, in_touch),
        .lag_known = lag.known && filled,
        .lag_entries = lag.entries,
        .lag_ms = lag.ms,
        .applied_entries = link->applied_entries,
        .entries_per_s = at_rate_of(&link->entry_rate, now_ns),
        .bytes_per_s = at_rate_of(&link->byte_rate, now_ns),
        .skew_ms = in_touch && evidence->reply_ns != 0 ? link->skew_ms : 0,
    };
    if (link->applied_entries > 0)
        status.lag_bytes = bytes_of(link, lag.entries);
    if (at_member_eq(p->copy_donor, peer->id))
        status.state = AT_LINK_COPYING;
    if (at_cut_of_locked(p, peer->id).asking) {
        status.state = AT_LINK_CUT;
        status.lag_known = false;
    }
    return status;
}

static uint64_t bytes_of(const struct at_pull_link *link, uint64_t entries)
{
    double bytes = (double)entries * (double)link->applied_bytes / (double)link->applied_entries;

    return bytes < (double)INT64_MAX ? (uint64_t)bytes : (uint64_t)INT64_MAX;
}

/* False: there is too little here to pull onto. */
static bool is_filled(const struct at_replica_view *view)
{
    return view->mode != AT_MODE_INIT && view->mode != AT_MODE_COPYING;
}

static enum at_link_state state_of(const struct at_neighbor *peer,
                                   const struct at_replica_view *view,
                                   struct at_lag lag,
                                   bool in_touch)
{
    if (!in_touch)
        return AT_LINK_CUT;
    if (!is_filled(view))
        return AT_LINK_NEEDS_COPY;
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
