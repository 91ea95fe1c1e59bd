#include "base/alloc.h"
#include "replication/peer/rooms.h"

#include <stddef.h>

/* Who has left may wait for ever to hear that all know it: all whom it knew may have left as well
 * while it was down, and it does not know where those are that came since. So each is greeted, one
 * after the other and then again after a pause: a JOIN, as of one that asks whether it is known.
 * Whoever has not ended asks back (join_room), and is told. Nobody else is there, as a rule: a few
 * dials a minute. */

enum { QUESTION_TIMEOUT_MS = 1000 };
#define PAUSE_MIN_NS (2 * AT_S_NS)
#define PAUSE_MAX_NS (60 * AT_S_NS)

static const struct at_member_view *next_left(const struct at_peering *p);
static bool greet(struct at_peering *p, const struct at_member_view *member);
static void on_end(struct at_ask *ask);

void at_greet_room_step(struct at_peering *p)
{
    struct at_greet_room *room = &p->greet;

    if (room->out || p->view.mode != AT_MODE_READY)
        return;
    at_peer_client_close(&room->client);
    if (p->now_ns < room->due_ns) {
        at_peering_wake_at(p, room->due_ns);
        return;
    }
    for (const struct at_member_view *m = next_left(p); m != NULL; m = next_left(p)) {
        room->last = m->id;
        if (greet(p, m))
            return;
        at_peer_client_close(&room->client);
    }
    room->last.v = 0;
    room->pause_ns = room->pause_ns == 0 ? PAUSE_MIN_NS : 2 * room->pause_ns;
    room->pause_ns = room->pause_ns < PAUSE_MAX_NS ? room->pause_ns : PAUSE_MAX_NS;
    room->due_ns = p->now_ns + room->pause_ns;
    at_peering_wake_at(p, room->due_ns);
}

void at_greet_room_close(struct at_peering *p)
{
    at_peer_client_close(&p->greet.client);
}

/* In the order of their ids. */
static const struct at_member_view *next_left(const struct at_peering *p)
{
    const struct at_member_view *next = NULL;

    for (uint32_t i = 0; i < p->view.member_count; i++) {
        const struct at_member_view *m = &p->view.members[i];
        if (m->state == AT_ORIGIN_LEFT && m->id.v > p->greet.last.v &&
            (next == NULL || m->id.v < next->id.v))
            next = m;
    }
    return next;
}

/* False: it can't be. */
static bool greet(struct at_peering *p, const struct at_member_view *member)
{
    struct at_greet_room *room = &p->greet;
    struct at_member_info where;
    struct at_join join;

    if (at_member_info_decode(member->info, &where) != AT_OK || where.host.len == 0 ||
        where.peer_port == 0 || at_cut_of(p, member->id).asking)
        return false;
    char *host = at_dup(where.host.data, where.host.len);
    struct at_peer_client_config config = {.host = host,
                                           .port = where.peer_port,
                                           .in_flight_max = 1,
                                           .on_reply = at_peering_on_reply,
                                           .ctx = p};
    at_join_room_describe(p, &join);
    at_buf_clear(&p->out);
    room->ask.on_end = on_end;
    room->out = at_peer_client_open(&config, &room->client, NULL) == AT_OK &&
                at_join_encode(&join, &p->out) == AT_OK &&
                at_peering_ask_over(p, room->client, &room->ask, QUESTION_TIMEOUT_MS);
    at_free(host);
    return room->out;
}

/* Whatever it says: another may be where it was. */
static void on_end(struct at_ask *ask)
{
    struct at_greet_room *room =
        (struct at_greet_room *)((char *)ask - offsetof(struct at_greet_room, ask));

    at_peer_question_done(&ask->question);
    room->out = false;
}
