#include "replication/peer/rooms.h"

/* Answers questions for this cluster's positions, synced first. All that ask while one sync is
 * under way wait for the next: an answer is never older than its question, and many questions cost
 * one sync. The cluster's own part of a survey is served by the same syncs. */

static void run(struct at_replica_call *call, struct at_replica *replica);
static void on_synced(struct at_room_call *call);
static void drop_all(struct at_mail **list);

void at_position_desk_hold(struct at_peering *p, struct at_peer_request *request)
{
    request->mail.next = p->desk.waiting;
    p->desk.waiting = &request->mail;
}

void at_position_desk_fill(const struct at_peering *p, struct at_vector_answer *ret_answer)
{
    const struct at_replica_view *view = &p->view;

    *ret_answer = (struct at_vector_answer){
        .instance_id = view->instance_id,
        .from = view->self,
        .ready = view->mode == AT_MODE_READY && view->healthy && !view->closing,
        .durable = view->durable,
        .facts = view->facts,
    };
    for (uint32_t i = 0; i < view->member_count; i++)
        if (view->members[i].active)
            ret_answer->members[ret_answer->member_count++] = view->members[i].id;
}

void at_position_desk_step(struct at_peering *p)
{
    struct at_position_desk *desk = &p->desk;

    if (desk->out || (desk->waiting == NULL && !at_survey_round_wants_sync(p)))
        return;
    desk->served = desk->waiting;
    desk->waiting = NULL;
    at_survey_round_sync_began(p);
    desk->call.call.sync = true;
    desk->call.call.run = run;
    desk->call.on_end = on_synced;
    desk->out = at_peering_call(p, &desk->call);
    if (!desk->out) {
        drop_all(&desk->served);
        at_survey_round_sync_ended(p, false);
    }
}

void at_position_desk_drop(struct at_peering *p)
{
    drop_all(&p->desk.waiting);
}

/* Writer thread. There is nothing to change: the sync is what is wanted. */
static void run(struct at_replica_call *call, struct at_replica *replica)
{
    (void)call;
    (void)replica;
}

/* The view of this turn was copied after the sync, so its durable positions contain it. */
static void on_synced(struct at_room_call *call)
{
    struct at_peering *p = call->peering;
    struct at_vector_answer answer;
    struct at_mail *next = NULL;

    p->desk.out = false;
    if (call->call.failed) {
        drop_all(&p->desk.served);
        at_survey_round_sync_ended(p, false);
        return;
    }
    at_position_desk_fill(p, &answer);
    if (p->desk.served != NULL) {
        at_buf_clear(&p->out);
        enum at_code code = at_vector_answer_encode(&answer, &p->out);
        for (struct at_mail *m = p->desk.served; m != NULL; m = next) {
            next = m->next;
            at_peering_answer(p, (struct at_peer_request *)m, code);
        }
        p->desk.served = NULL;
    }
    at_survey_round_sync_ended(p, true);
}

static void drop_all(struct at_mail **list)
{
    struct at_mail *next = NULL;

    for (struct at_mail *m = *list; m != NULL; m = next) {
        next = m->next;
        at_peer_request_drop((struct at_peer_request *)m);
    }
    *list = NULL;
}
