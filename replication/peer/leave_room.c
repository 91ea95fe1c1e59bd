#include "base/alloc.h"
#include "base/log.h"
#include "replication/peer/rooms.h"

/* Leaving: the replica is asked again and again how far it is; when all others have what this
 * cluster has, LEAVE is written; when all have that, it has left. A restart loses nothing: the mode
 * LEAVING is stored, and so is LEAVE. But one that turns out to lack entries which nobody can send
 * is leaving no more until a copy has brought them. Then this process begins it again; one that was
 * started meanwhile is told to leave once more (cluster/departure.h). */

#define RETRY_NS (100 * AT_MS_NS)
/* Under a steady load V would run ahead of what the others have durably for as long as it is pulled
 * on. So pulls rest for a while, longer than anyone takes to sync, and then go on for a moment: one
 * that waits for a member that was removed meanwhile has to hear of that. */
#define HOLD_NS (4000 * AT_MS_NS)
#define PULL_NS (1000 * AT_MS_NS)

static void run(struct at_replica_call *call, struct at_replica *replica);
static void on_looked(struct at_room_call *call);
static void on_written(struct at_room_act *act);
static void end_all(struct at_peering *p, enum at_code code, const struct at_error *error);

void at_leave_room_add(struct at_peering *p, struct at_leave *leave)
{
    leave->mail.next = p->leave.waiting;
    p->leave.waiting = &leave->mail;
    p->leave.due_ns = 0;
}

void at_leave_room_step(struct at_peering *p)
{
    struct at_leave_room *room = &p->leave;

    if (p->view.mode == AT_MODE_REMOVED) {
        end_all(p, AT_OK, NULL);
        return;
    }
    room->begun = room->begun || p->view.mode == AT_MODE_LEAVING;
    if (room->waiting == NULL && !room->begun)
        return;
    if (room->out || room->act_out)
        return;
    if (p->now_ns < room->due_ns) {
        at_peering_wake_at(p, room->due_ns);
        return;
    }
    room->due_ns = p->now_ns + RETRY_NS;
    at_peering_wake_at(p, room->due_ns);
    room->call.call.run = run;
    room->call.on_end = on_looked;
    room->out = at_peering_call(p, &room->call);
}

bool at_leave_room_holds(struct at_peering *p)
{
    struct at_leave_room *room = &p->leave;

    if (p->view.mode != AT_MODE_LEAVING) {
        room->hold_ns = 0;
        return false;
    }
    if (room->hold_ns == 0 || p->now_ns - room->hold_ns >= HOLD_NS + PULL_NS)
        room->hold_ns = p->now_ns;
    uint64_t since_ns = p->now_ns - room->hold_ns;
    bool holds = since_ns < HOLD_NS;
    at_peering_wake_at(p, room->hold_ns + (holds ? HOLD_NS : HOLD_NS + PULL_NS));
    return holds;
}

void at_leave_room_drop(struct at_peering *p)
{
    struct at_error error = {0};

    (void)at_fail(&error, AT_CANCELLED, "the cluster stops; it goes on leaving when it is started");
    end_all(p, AT_CANCELLED, &error);
}

/* Writer thread. */
static void run(struct at_replica_call *call, struct at_replica *replica)
{
    struct at_leave_room *room = (struct at_leave_room *)call;

    room->error = (struct at_error){0};
    room->code = at_replica_leave_begin(replica, &room->error);
    room->ready = room->code == AT_OK && at_replica_leave_ready(replica);
    room->done = room->code == AT_OK && at_replica_leave_done(replica);
}

static void on_looked(struct at_room_call *call)
{
    struct at_leave_room *room = (struct at_leave_room *)call;
    struct at_peering *p = call->peering;

    room->out = false;
    if (call->call.failed)
        return;
    if (p->view.mode == AT_MODE_REMOVED || room->done) {
        end_all(p, AT_OK, NULL);
        return;
    }
    if (room->code != AT_OK && room->begun && p->view.mode != AT_MODE_READY)
        return; /* it needs a copy */
    if (room->code != AT_OK) {
        end_all(p, room->code, &room->error);
        return;
    }
    room->begun = true;
    if (!room->ready)
        return;
    room->act.write.act = AT_ACT_LEAVE;
    room->act.on_end = on_written;
    room->act_out = at_peering_act(p, &room->act);
}

static void on_written(struct at_room_act *act)
{
    struct at_peering *p = act->peering;

    p->leave.act_out = false;
    if (act->write.code == AT_OK)
        p->leave.due_ns = 0;
    else if (act->write.code !=
             AT_FAILED_PRECONDITION) /* something came between: looked at again */
        at_log(AT_LOG_WARN, "LEAVE could not be written, trying again",
               AT_KV_STR("code", at_code_name(act->write.code)));
}

static void end_all(struct at_peering *p, enum at_code code, const struct at_error *error)
{
    struct at_mail *next = NULL;

    p->leave.begun = false;
    for (struct at_mail *m = AT_TAKE(p->leave.waiting); m != NULL; m = next) {
        struct at_leave *leave = (struct at_leave *)m;
        next = m->next;
        leave->code = code;
        leave->error = error != NULL ? *error : (struct at_error){0};
        leave->done(leave);
    }
}
