#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "replication/peer/rooms.h"

/* Who is talked with: the active members of the view, and those that answers named (only to ask
 * them whether they know this cluster, or to fence).
 *
 * A neighbor that goes is first taken out of sight and its socket is closed; questions then come
 * back as CANCELLED, and when nothing of it is open it is freed. */

static const struct at_member_view *member_of(const struct at_peering *p, struct at_member_id id);
static struct at_neighbor *add(struct at_peering *p, struct at_member_id id);
static void make_room(struct at_peering *p);
static void follow_view(struct at_neighbor *peer, const struct at_member_view *member);
static void adopt(struct at_neighbor *peer, struct at_slice info);
static void set_text(char **text, struct at_slice value);
static void begin_ending(struct at_peering *p, uint32_t index);
static bool is_quiet(const struct at_neighbor *peer);
static void free_neighbor(struct at_neighbor *peer);

void at_neighbors_step(struct at_peering *p)
{
    for (uint32_t i = 0; i < p->view.member_count; i++) {
        const struct at_member_view *member = &p->view.members[i];
        if (at_member_eq(member->id, p->view.self))
            continue;
        struct at_neighbor *peer = at_neighbor_find(p, member->id);
        bool wanted = member->active && !member->fenced;
        if (peer == NULL && wanted)
            peer = add(p, member->id);
        if (peer == NULL && wanted)
            make_room(p);
        if (peer != NULL)
            follow_view(peer, member);
    }
    for (uint32_t i = p->peer_count; i-- > 0;)
        if (at_replica_view_is_gone(&p->view, p->peers[i]->id) ||
            (!p->peers[i]->member && member_of(p, p->peers[i]->id) != NULL))
            begin_ending(p, i); /* one that only an answer named stays: it may become a member */
    for (uint32_t i = p->ending_count; i-- > 0;) {
        if (!is_quiet(p->ending[i]))
            continue;
        free_neighbor(p->ending[i]);
        p->ending[i] = p->ending[--p->ending_count];
    }
}

struct at_neighbor *at_neighbor_find(struct at_peering *p, struct at_member_id id)
{
    for (uint32_t i = 0; i < p->peer_count; i++)
        if (at_member_eq(p->peers[i]->id, id))
            return p->peers[i];
    return NULL;
}

struct at_neighbor *
at_neighbor_told(struct at_peering *p, struct at_member_id id, struct at_slice info)
{
    const struct at_member_view *member = member_of(p, id);

    if (id.v == 0 || at_member_eq(id, p->view.self))
        return NULL;
    if ((member != NULL && (member->fenced || !member->active)) ||
        at_replica_view_is_gone(&p->view, id))
        return NULL;
    struct at_neighbor *peer = at_neighbor_find(p, id);
    if (peer == NULL)
        peer = add(p, id);
    if (peer == NULL)
        return NULL;
    if (member != NULL)
        follow_view(peer, member);
    if (info.len > 0)
        adopt(peer, info);
    return peer;
}

void at_neighbor_mistaken(struct at_neighbor *peer)
{
    peer->greeted = false;
    adopt(peer, at_slice_make(peer->seen_info, peer->seen_info_size));
}

bool at_neighbor_in_touch(const struct at_neighbor *peer)
{
    const struct at_peering *p = peer->peering;

    return p->now_ns < atomic_load(&peer->heard_ns) + at_peering_touch_ns(p);
}

void at_neighbors_close(struct at_peering *p)
{
    for (uint32_t i = 0; i < p->peer_count; i++)
        at_pull_link_close(p->peers[i]);
}

void at_neighbors_free(struct at_peering *p)
{
    for (uint32_t i = 0; i < p->peer_count; i++)
        free_neighbor(p->peers[i]);
    for (uint32_t i = 0; i < p->ending_count; i++)
        free_neighbor(p->ending[i]);
    p->peer_count = p->ending_count = 0;
}

static const struct at_member_view *member_of(const struct at_peering *p, struct at_member_id id)
{
    for (uint32_t i = 0; i < p->view.member_count; i++)
        if (at_member_eq(p->view.members[i].id, id))
            return &p->view.members[i];
    return NULL;
}

static struct at_neighbor *add(struct at_peering *p, struct at_member_id id)
{
    if (p->peer_count + p->ending_count == AT_NEIGHBORS_MAX)
        return NULL;
    struct at_neighbor *peer = AT_NEW(struct at_neighbor);
    peer->peering = p;
    peer->id = id;
    set_text(&peer->name, AT_LIT("member"));
    atomic_init(&peer->heard_ns, p->now_ns); /* in touch until it has had the time to speak */
    at_pull_link_init(peer);
    pthread_mutex_lock(&p->status_lock);
    p->peers[p->peer_count++] = peer;
    pthread_mutex_unlock(&p->status_lock);
    return peer;
}

/* For a member one that is none has to go. */
static void make_room(struct at_peering *p)
{
    for (uint32_t i = 0; i < p->peer_count; i++)
        if (!p->peers[i]->member) {
            begin_ending(p, i);
            return;
        }
}

static void follow_view(struct at_neighbor *peer, const struct at_member_view *member)
{
    struct at_slice seen = at_slice_make(peer->seen_info, peer->seen_info_size);

    peer->member = member->active && !member->fenced;
    if (member->info.len == 0 || member->info.len > sizeof(peer->seen_info) ||
        at_slice_eq(member->info, seen))
        return;
    memcpy(peer->seen_info, member->info.data, member->info.len);
    peer->seen_info_size = member->info.len;
    adopt(peer, member->info);
}

static void adopt(struct at_neighbor *peer, struct at_slice info)
{
    struct at_member_info where;

    if (at_member_info_decode(info, &where) != AT_OK || where.host.len == 0 || where.peer_port == 0)
        return;
    if (peer->host != NULL && peer->port == where.peer_port &&
        at_slice_eq_cstr(where.host, peer->host))
        return;
    if (peer->host != NULL)
        at_log(AT_LOG_INFO, "a member has moved", AT_KV_SLICE("peer", where.cluster_id),
               AT_KV_SLICE("host", where.host), AT_KV_U64("port", where.peer_port));
    set_text(&peer->name, where.cluster_id);
    set_text(&peer->host, where.host);
    peer->port = where.peer_port;
    peer->greeted = false;
    peer->reopen_ns = 0;
    at_pull_link_close(peer);
    at_pull_link_open(peer);
}

static void set_text(char **text, struct at_slice value)
{
    at_free(*text);
    *text = at_dup(value.data, value.len);
}

static void begin_ending(struct at_peering *p, uint32_t index)
{
    struct at_neighbor *peer = p->peers[index];

    at_log(AT_LOG_INFO, "a member has gone, ending its link", AT_KV_STR("peer", peer->name));
    pthread_mutex_lock(&p->status_lock);
    p->peers[index] = p->peers[--p->peer_count];
    pthread_mutex_unlock(&p->status_lock);
    p->ending[p->ending_count++] = peer;
    at_donor_drop(peer);
    at_pull_link_close(peer);
}

static bool is_quiet(const struct at_neighbor *peer)
{
    return peer->busy == 0 && !peer->note.out && peer->link.lane_count == 0;
}

static void free_neighbor(struct at_neighbor *peer)
{
    at_pull_link_deinit(peer);
    at_donor_seat_deinit(&peer->seat);
    at_pull_release(&peer->note.pull);
    at_free(peer->name);
    at_free(peer->host);
    at_free(peer);
}
