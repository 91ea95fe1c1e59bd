/* rooms.h: what the parts of peering share: one thread, its mailboxes, one record per peer.
 * ADAPTER. Only for the .c files of this folder. Everything runs on the peering thread unless it
 * says otherwise.
 *
 * Each room owns one concern: pull_link asks for logs, donor answers, ack_note tells the writer
 * what pulls acknowledge, epoch_close closes old epochs, position_desk answers and asks for synced
 * positions (surveys), spread waits for others to have our entries. */
#ifndef ATOLL_REPLICATION_PEER_ROOMS_H
#define ATOLL_REPLICATION_PEER_ROOMS_H

#include "base/arena.h"
#include "replication/asking.h"
#include "replication/donation.h"
#include "replication/lag.h"
#include "replication/peer/peering.h"
#include "wire/peer_socket.h"

#include <stdatomic.h>

/* Open questions to one peer: pull, close, two rounds of surveys. */
#define AT_PEER_QUESTIONS_MAX 4
#define AT_SURVEY_ROUNDS_MAX 2

struct at_neighbor;

/* One question to a peer. `on_end` runs on the peering thread when it was answered or failed, and
 * ends with at_peer_question_done, now or later. */
struct at_ask {
    struct at_peer_question question; /* first */
    struct at_neighbor *peer;
    void (*on_end)(struct at_ask *ask);
};

/* One call into the writer; `on_end` runs on the peering thread afterwards. When call.failed is
 * set, nothing of it stands. */
struct at_room_call {
    struct at_replica_call call; /* first */
    struct at_mail back;
    struct at_peering *peering;
    void (*on_end)(struct at_room_call *call);
};

/* The asking side of one link (pull_link.c). */
struct at_pull_link {
    struct at_asking asking;
    struct at_ask ask;
    struct at_apply apply;
    struct at_arena arena; /* the decoded reply while it is applied */
    struct at_vector asked_applied;
    uint64_t request_id;
    struct at_peer_client *client;
    /* For status, under status_lock. */
    bool more; /* the last reply was cut by its size */
    struct at_lag_evidence evidence;
    uint64_t applied_entries;
};

/* The answering side of one link (donor.c). */
struct at_donor_seat {
    struct at_peer_request *waiting; /* NULL: no pull waits */
    struct at_pull pull;             /* the newest one; owns its vectors and facts */
    uint64_t deadline_ns;            /* when the waiting pull is answered without news */
    uint64_t ready_ns;               /* not to be answered with entries before: pacing */
    struct at_member_id start_after; /* whose turn it is, see donation.h */
};

/* What the newest pull acknowledges, on its way to the writer (ack_note.c). */
struct at_ack_note {
    struct at_room_call call;
    struct at_pull pull; /* a copy that the writer reads while `out` */
    uint64_t mono_ns;
    uint64_t due_ns; /* not before */
    bool out;
    bool pending; /* a newer pull than the last one told */
};

struct at_neighbor {
    struct at_peering *peering;
    struct at_member_id id;
    char *name;
    char *host;
    uint16_t port;
    struct at_pull_link link;
    struct at_donor_seat seat;
    struct at_ack_note note;
    struct at_ask close_ask;
    bool close_open;
    uint64_t heard_ns;        /* of its last pull or reply */
    struct at_position acked; /* our own entries that it is known to have applied */
};

/* Buffers of the donor, kept between replies. */
struct at_donor {
    struct at_buf records;
    uint32_t *sizes;
    struct at_run *runs;
};

struct at_epoch_closing {
    struct at_room_call call; /* asks the replica which members are missing, and what to ask */
    struct at_close close;
    struct at_member_id missing[AT_MEMBERS_MAX];
    uint32_t missing_count;
    uint64_t due_ns;
    bool out;
};

/* Who waits for this cluster's own positions to be synced. */
struct at_position_desk {
    struct at_room_call call;
    bool out;
    struct at_mail *waiting;        /* requests for the next sync */
    struct at_mail *served;         /* by the one that is out */
    struct at_survey_round *rounds; /* all that run */
    uint32_t round_count;
    struct at_mail *queue; /* surveys for the next round */
};

struct at_peering {
    struct at_clock clock;
    struct at_peering_port port;
    uint32_t wait_ms;
    struct at_neighbor peers[AT_MEMBERS_MAX];
    uint32_t peer_count;
    struct at_peer_server *server;
    pthread_t thread;
    bool thread_started;
    bool draining; /* the thread is on its way out: nothing new is begun */
    atomic_bool stopping;

    /* The bell wakes the thread: one mail, rung at most once per turn. */
    atomic_bool rung;
    atomic_bool wants_commits;
    struct at_mail bell_mail;
    struct at_mailbox bell;
    struct at_mailbox requests;
    struct at_mailbox answers;
    struct at_mailbox applied;
    struct at_mailbox calls;
    struct at_mailbox surveys;
    struct at_mailbox spreads;

    /* Of this turn. */
    uint64_t now_ns;
    struct at_replica_view view;
    uint64_t wake_ns; /* the earliest timer; rooms lower it */

    uint64_t quiet_ns; /* when draining: until then open questions may end by themselves */
    struct at_room_call farewell;
    uint32_t asks_out;
    uint32_t calls_out;
    uint32_t applies_out;
    uint64_t request_id;
    struct at_arena scratch; /* one decoded message */
    struct at_buf out;       /* one encoded message */
    struct at_donor donor;
    struct at_epoch_closing closing;
    struct at_position_desk desk;
    struct at_mail *spread_waits;

    pthread_mutex_t status_lock; /* guards what at_peering_links reads of the links */
};

/* --- peering.c --- */

/* at_peering_ring wakes the thread. Any thread. */
void at_peering_ring(struct at_peering *p);
/* at_peering_wake_at lowers the time of the next turn. */
void at_peering_wake_at(struct at_peering *p, uint64_t at_ns);
struct at_neighbor *at_peering_find(struct at_peering *p, struct at_member_id id);
/* at_peering_ask sends what is in p->out. False: not sent, on_end is not called. */
bool at_peering_ask(struct at_neighbor *peer, struct at_ask *ask, uint32_t timeout_ms);
/* at_peering_call gives a call to the writer. False: it is shutting down, on_end is not called. */
bool at_peering_call(struct at_peering *p, struct at_room_call *call);
/* at_peering_answer replies with what is in p->out; encode_code is the encoder's result. */
void at_peering_answer(struct at_peering *p,
                       struct at_peer_request *request,
                       enum at_code encode_code);
void at_peering_refuse(struct at_peering *p, struct at_peer_request *request, const char *why);
/* at_peering_clock is what others are told about this cluster's clock: no stamp below it will be
 * issued. */
uint64_t at_peering_clock(const struct at_peering *p);
uint64_t at_peering_touch_ns(const struct at_peering *p);
/* at_peering_heard notes that `peer` is alive and had applied `applied`. */
void at_peering_heard(struct at_neighbor *peer, const struct at_vector *applied);

/* --- the rooms --- */

void at_pull_link_init(struct at_neighbor *peer);
AT_MUST_USE enum at_code at_pull_link_open(struct at_neighbor *peer, struct at_error *reterr);
/* at_pull_link_step asks when it is time. */
void at_pull_link_step(struct at_neighbor *peer);
void at_pull_link_on_applied(struct at_apply *apply);
/* at_pull_link_close ends the socket; questions come back as CANCELLED through the mailbox. */
void at_pull_link_close(struct at_neighbor *peer);
void at_pull_link_deinit(struct at_neighbor *peer);

void at_donor_init(struct at_peering *p);
void at_donor_deinit(struct at_peering *p);
/* at_donor_on_pull takes the request; `pull` is copied. */
void at_donor_on_pull(struct at_neighbor *peer,
                      struct at_peer_request *request,
                      const struct at_pull *pull);
void at_donor_step(struct at_neighbor *peer);
/* at_donor_wants_commits: a pull waits for the next commit. */
bool at_donor_wants_commits(const struct at_neighbor *peer);
void at_donor_drop(struct at_neighbor *peer);

/* at_pull_copy deep-copies; `to` was zeroed or copied to before. */
void at_pull_copy(struct at_pull *to, const struct at_pull *from);
void at_pull_release(struct at_pull *pull);

void at_ack_note_step(struct at_neighbor *peer);

void at_epoch_close_on_ask(struct at_peering *p,
                           struct at_peer_request *request,
                           const struct at_close *close);
void at_epoch_close_step(struct at_peering *p);

/* at_position_desk_hold answers `request` with positions that are synced from now on. */
void at_position_desk_hold(struct at_peering *p, struct at_peer_request *request);
/* at_position_desk_fill describes the view of this turn; it borrows from it. */
void at_position_desk_fill(const struct at_peering *p, struct at_vector_answer *ret_answer);
void at_position_desk_step(struct at_peering *p);
void at_position_desk_drop(struct at_peering *p);

void at_survey_round_add(struct at_peering *p, struct at_survey *survey);
void at_survey_round_step(struct at_peering *p);
/* at_survey_round_sync_began and _ended: the sync of own positions that the desk does for all. */
bool at_survey_round_wants_sync(const struct at_peering *p);
void at_survey_round_sync_began(struct at_peering *p);
void at_survey_round_sync_ended(struct at_peering *p, bool ok);
/* at_survey_round_drop ends what is left, as not reached; no question may be open. */
void at_survey_round_drop(struct at_peering *p);

void at_spread_add(struct at_peering *p, struct at_spread_wait *wait);
void at_spread_step(struct at_peering *p);
/* at_spread_drop ends what is left, as not everywhere. */
void at_spread_drop(struct at_peering *p);

#endif
