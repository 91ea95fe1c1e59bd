#include "replication/peer/rooms.h"

/* A pull tells the writer's replica what its sender has durably, and that it is alive. Pulls come
 * hundreds of times a second, and each call costs the writer a round, so at most one call per peer
 * is on its way, not more often than INTERVAL; the newest pull is the one that counts. */

#define INTERVAL_NS (50 * AT_MS_NS)

static void run(struct at_replica_call *call, struct at_replica *replica);
static void on_end(struct at_room_call *call);

void at_ack_note_step(struct at_neighbor *peer)
{
    struct at_peering *p = peer->peering;
    struct at_ack_note *note = &peer->note;

    if (note->out || !note->pending)
        return;
    if (p->now_ns < note->due_ns) {
        at_peering_wake_at(p, note->due_ns);
        return;
    }
    at_pull_copy(&note->pull, &peer->seat.newest);
    note->mono_ns = atomic_load(&peer->heard_ns);
    note->due_ns = p->now_ns + INTERVAL_NS;
    note->pending = false;
    note->call.call.run = run;
    note->call.on_end = on_end;
    note->out = at_peering_call(p, &note->call);
}

/* Writer thread. */
static void run(struct at_replica_call *call, struct at_replica *replica)
{
    struct at_ack_note *note = (struct at_ack_note *)call;

    at_replica_on_pull(replica, &note->pull, note->mono_ns);
}

static void on_end(struct at_room_call *call)
{
    struct at_ack_note *note = (struct at_ack_note *)call;

    note->out = false;
    note->pending = note->pending || call->call.failed;
}
