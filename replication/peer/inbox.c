#include "base/alloc.h"
#include "base/log.h"
#include "replication/peer/rooms.h"

/* Requests of other members. Who is fenced or removed is told so; a JOIN is taken from anybody of
 * this instance, as only the replica knows what to say to one that is not a member.
 *
 * While a copy runs into this cluster, CLOSE and FENCE wait until it is dropped: what they answer
 * would not be true after the switch. */

static const char *
give(struct at_peering *p, struct at_peer_request *request, struct at_message *m);
static const char *why_not(struct at_peering *p, uint64_t instance_id, struct at_member_id from);
static bool is_cut(struct at_peering *p, const struct at_message *m);
static bool hold(struct at_peering *p, struct at_peer_request *request);

void at_inbox_take(struct at_peering *p, struct at_peer_request *request)
{
    struct at_message m = {0};

    if (p->draining) {
        at_peer_request_drop(request);
        return;
    }
    if (at_message_decode(request->body, &p->scratch, &m) != AT_OK) {
        at_arena_reset(&p->scratch);
        at_peering_refuse(p, request, "malformed message");
        return;
    }
    bool cut = is_cut(p, &m);
    const char *why = cut ? NULL : give(p, request, &m);
    at_message_deinit(&m);
    at_arena_reset(&p->scratch);
    if (cut)
        at_peer_request_drop(request);
    if (why != NULL)
        at_peering_refuse(p, request, why);
}

void at_inbox_release(struct at_peering *p)
{
    struct at_mail *next = NULL;

    for (struct at_mail *m = AT_TAKE(p->held); m != NULL; m = next) {
        next = m->next;
        at_inbox_take(p, (struct at_peer_request *)m);
    }
}

void at_inbox_drop(struct at_peering *p)
{
    struct at_mail *next = NULL;

    for (struct at_mail *m = AT_TAKE(p->held); m != NULL; m = next) {
        next = m->next;
        at_peer_request_drop((struct at_peer_request *)m);
    }
}

/* give returns why it refuses; NULL: the request has been taken. */
static const char *give(struct at_peering *p, struct at_peer_request *request, struct at_message *m)
{
    const char *why = "not a question";

    if (m->kind == AT_MESSAGE_PULL) {
        why = why_not(p, m->u.pull.instance_id, m->u.pull.from);
        if (why == NULL)
            at_donor_on_pull(at_neighbor_find(p, m->u.pull.from), request, &m->u.pull);
    } else if (m->kind == AT_MESSAGE_CLOSE) {
        why = why_not(p, m->u.close.instance_id, m->u.close.origin);
        if (why == NULL && !hold(p, request))
            at_epoch_close_on_ask(p, request, &m->u.close);
    } else if (m->kind == AT_MESSAGE_VECTOR) {
        why = why_not(p, m->u.vector_ask.instance_id, m->u.vector_ask.from);
        if (why == NULL)
            at_position_desk_hold(p, request);
    } else if (m->kind == AT_MESSAGE_JOIN) {
        at_join_room_on_ask(p, request, &m->u.join);
        why = NULL;
    } else if (m->kind == AT_MESSAGE_FENCE) {
        why = why_not(p, m->u.fence.instance_id, m->u.fence.from);
        if (why == NULL && !hold(p, request))
            at_fence_room_on_ask(p, request, &m->u.fence);
    } else if (m->kind == AT_MESSAGE_COPY_OPEN) {
        why = why_not(p, m->u.copy_open.instance_id, m->u.copy_open.from);
        if (why == NULL)
            at_copy_desk_on_open(at_neighbor_find(p, m->u.copy_open.from), request,
                                 &m->u.copy_open);
    } else if (m->kind == AT_MESSAGE_COPY_ASK) {
        why = why_not(p, m->u.copy_ask.instance_id, m->u.copy_ask.from);
        if (why == NULL)
            at_copy_desk_on_ask(at_neighbor_find(p, m->u.copy_ask.from), request, &m->u.copy_ask);
    } else if (m->kind == AT_MESSAGE_COPY_CLOSE) {
        why = why_not(p, m->u.copy_close.instance_id, m->u.copy_close.from);
        if (why == NULL)
            at_copy_desk_on_close(at_neighbor_find(p, m->u.copy_close.from), request,
                                  m->u.copy_close.snapshot_id);
    }
    return why;
}

/* Only a removal that is complete, and by a majority, is told as one, as it is obeyed: of two sides
 * that remove each other neither does, nor the many whom a few have fenced. */
static const char *why_not(struct at_peering *p, uint64_t instance_id, struct at_member_id from)
{
    bool forks = p->view.other_id != 0;

    if (!at_replica_view_is_instance(&p->view, instance_id))
        return "this is a member of another instance";
    for (uint32_t i = 0; i < p->view.member_count; i++) {
        const struct at_member_view *member = &p->view.members[i];
        if (!at_member_eq(member->id, from))
            continue;
        if (member->active && member->fenced)
            return "your removal from this instance has begun";
        if (!member->active)
            break;
        return at_neighbor_find(p, from) == NULL ? "there is no room for you here" : NULL;
    }
    if (!at_replica_view_is_gone(&p->view, from))
        return "you are not a member of this instance";
    return forks ? "this is a member of another instance" : AT_REFUSED_REMOVED;
}

static bool is_cut(struct at_peering *p, const struct at_message *m)
{
    struct at_member_id from = {0};

    if (m->kind == AT_MESSAGE_PULL)
        from = m->u.pull.from;
    else if (m->kind == AT_MESSAGE_CLOSE)
        from = m->u.close.origin;
    else if (m->kind == AT_MESSAGE_VECTOR)
        from = m->u.vector_ask.from;
    else if (m->kind == AT_MESSAGE_JOIN)
        from = m->u.join.from;
    else if (m->kind == AT_MESSAGE_FENCE)
        from = m->u.fence.from;
    else if (m->kind == AT_MESSAGE_COPY_OPEN)
        from = m->u.copy_open.from;
    else if (m->kind == AT_MESSAGE_COPY_ASK)
        from = m->u.copy_ask.from;
    else if (m->kind == AT_MESSAGE_COPY_CLOSE)
        from = m->u.copy_close.from;
    return at_cut_of(p, from).answering;
}

static bool hold(struct at_peering *p, struct at_peer_request *request)
{
    if (at_copy_link_stop(p))
        return false;
    request->mail.next = p->held;
    p->held = &request->mail;
    return true;
}
