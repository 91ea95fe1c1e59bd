/* rooms.h: what the parts of peering share: one thread, its mailboxes, one record per peer.
 * ADAPTER. Only for the .c files of this folder. Everything runs on the peering thread unless it
 * says otherwise.
 *
 * Each room owns one concern: neighbor keeps a record of each member to talk with, inbox hands
 * requests out, pull_link asks for logs, donor answers, ack_note tells the writer what pulls
 * acknowledge, epoch_close closes old epochs, position_desk answers and asks for synced positions
 * (surveys), spread waits for others to have our entries, copy_link fills this cluster from
 * another, copy_desk lets others fill themselves from here, join_room asks who knows this cluster
 * and tells its progress, leave_room and fence_room end memberships, greet_room greets who has
 * left. copy_worker runs what blocks on disk. cuts keeps which links are cut by command. */
#ifndef ATOLL_REPLICATION_PEER_ROOMS_H
#define ATOLL_REPLICATION_PEER_ROOMS_H

#include "base/arena.h"
#include "replication/asking.h"
#include "replication/donation.h"
#include "replication/lag.h"
#include "replication/origin.h"
#include "replication/peer/packing.h"
#include "replication/peer/peering.h"
#include "replication/rate.h"
#include "wire/peer_socket.h"

#include <stdatomic.h>

/* Open questions to one peer: pulls, close, two rounds of surveys, join, fence. */
#define AT_PEER_QUESTIONS_MAX 12
#define AT_SURVEY_ROUNDS_MAX 2
/* Members, those that are about to go, and those that only an answer named. */
#define AT_NEIGHBORS_MAX 16

/* Why one that is removed is refused. It is the word that counts, see inbox.c. */
#define AT_REFUSED_REMOVED "you are removed from this instance"

struct at_neighbor;

/* One question to a peer. `on_end` runs on the peering thread when it was answered or failed, and
 * ends with at_peer_question_done, now or later. */
struct at_ask {
    struct at_peer_question question; /* first */
    struct at_neighbor *peer;         /* NULL: asked over a client of the room's own */
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

/* An answer on its way to the replica, with the bytes that its message borrows. */
struct at_room_answer {
    struct at_room_call call;  /* first; ends with at_room_answer_free */
    struct at_message message; /* kind 0: it is none */
    struct at_peer_question question;
    struct at_arena arena;
};

/* One membership entry on its way through the writer. */
struct at_room_act {
    struct at_act_write write; /* first */
    struct at_peering *peering;
    void (*on_end)(struct at_room_act *act);
};

/* Work that blocks: `run` runs on a worker, `on_end` on the peering thread afterwards. */
struct at_copy_job {
    struct at_mail mail;
    struct at_peering *peering;
    void (*run)(struct at_copy_job *job);
    void (*on_end)(struct at_copy_job *job);
};
struct at_copy_worker {
    struct at_mailbox jobs;
    pthread_t thread;
    bool started;
};

/* One pull under way (pull_link.c). */
enum at_lane_step {
    AT_LANE_FREE,
    AT_LANE_OPEN, /* asked */
    AT_LANE_CAME, /* answered, but one asked before it is not */
    AT_LANE_APPLYING,
};
struct at_lane {
    struct at_ask ask;
    struct at_apply apply;
    struct at_pull_link *link;
    struct at_arena arena;  /* the decoded reply while it is applied */
    struct at_buf unpacked; /* its runs that came packed */
    struct at_vector asked_applied;
    enum at_lane_step step;
    uint64_t request_id;
    uint64_t asked_ns;
    bool probe;
    bool void_reply; /* one before it failed: this one begins where that would have ended */
};

/* The asking side of one link. Lanes are in the order of asking, the oldest at `first`. */
struct at_pull_link {
    struct at_neighbor *peer;
    struct at_asking asking;
    struct at_lane lanes[AT_ASKING_DEPTH_MAX];
    uint32_t first;
    uint32_t lane_count;
    struct at_peer_client *client; /* NULL: no address yet, or it could not be opened */
    /* For status, under status_lock. */
    bool more; /* the last reply was cut by its size */
    struct at_lag_evidence evidence;
    struct at_vector told; /* all that the peer had applied at its last reply */
    struct at_vector gaps; /* the gaps that it told */
    uint64_t applied_entries;
    uint64_t applied_bytes;
    struct at_rate entry_rate;
    struct at_rate byte_rate;
    int64_t skew_ms;
};

/* One pull that waits at the donor. */
struct at_waiting_pull {
    struct at_peer_request *request;
    struct at_pull pull; /* owns its vectors and facts */
    uint64_t came_ns;
    uint64_t deadline_ns; /* when it is answered without news */
};

/* The answering side of one link (donor.c). */
struct at_donor_seat {
    struct at_waiting_pull waiting[AT_ASKING_DEPTH_MAX]; /* in order of request ids */
    uint32_t waiting_count;
    struct at_pull newest;           /* the last one that came, for its acknowledgement */
    uint64_t ended_id;               /* the last one answered, */
    struct at_vector ended;          /* and where its reply ended */
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
    /* Where it is: as the view says, or as it said itself when that came later. */
    char *name; /* for logs */
    char *host; /* NULL: not known */
    uint16_t port;
    uint8_t seen_info[AT_MEMBER_INFO_BYTES_MAX]; /* as the view last had it */
    size_t seen_info_size;
    uint64_t reopen_ns; /* when to try again to open a client */

    bool member;   /* active in the view, and not fenced: pulled from, surveyed */
    uint32_t busy; /* questions that are open */

    struct at_pull_link link;
    struct at_donor_seat seat;
    struct at_ack_note note;
    struct at_ask close_ask;
    struct at_ask join_ask;
    struct at_ask fence_ask;
    bool close_open;
    bool join_open;
    bool fence_open;
    bool greeted;                  /* it knows our address, */
    uint64_t greeted_ns;           /* since then */
    bool told_filling;             /* the last that it was told is that this cluster is filled */
    uint64_t join_due_ns;          /* not before */
    atomic_uint_fast64_t heard_ns; /* of its last pull or reply */
    struct at_position acked;      /* our own entries that it is known to have applied */
    /* What it tells of its filling, under status_lock; member 0 until it does. */
    struct at_member_progress progress;
    struct at_rate progress_rate;
};

/* Buffers of the donor, kept between replies. */
struct at_donor {
    struct at_buf records;
    struct at_buf packed;
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

struct at_join_room {
    struct at_room_call call;
    struct at_member_id missing[AT_MEMBERS_MAX];
    uint32_t missing_count;
    bool out;
    uint64_t due_ns;
    uint64_t first_hlc; /* of this process */
    uint64_t ready_ns;  /* since when the cluster is READY, and not caught up */
    struct at_room_call caught_up;
    bool caught_up_out;
};

struct at_leave_room {
    struct at_room_call call;
    struct at_room_act act;
    struct at_mail *waiting; /* leaves */
    bool out;
    bool act_out;
    bool begun; /* leave_begin has answered OK, and it has not ended since */
    bool ready; /* as the last call found it */
    bool done;
    enum at_code code; /* of leave_begin */
    struct at_error error;
    uint64_t due_ns;
    uint64_t hold_ns; /* when this turn of holding, then pulling, began; 0: none has */
};

/* One of those that left is greeted at a time. */
struct at_greet_room {
    struct at_ask ask;
    struct at_peer_client *client;
    struct at_member_id last; /* greeted in this round; 0: it has not begun */
    bool out;
    uint64_t pause_ns; /* between rounds, grows */
    uint64_t due_ns;
};

struct at_fence_room {
    struct at_room_call call;
    struct at_room_act act;
    struct at_mail *waiting; /* removes */
    struct at_remove *beginning;
    struct at_fence fence;
    struct at_member_id missing[AT_MEMBERS_MAX];
    uint32_t missing_count;
    struct at_removal removal;
    struct at_vouch *vouches; /* owned */
    bool out;
    bool act_out;
    bool fencing; /* as the last call found it */
    bool ready;
    enum at_code code; /* of fence_begin */
    struct at_error error;
    uint64_t due_ns;
};

/* A link that is cut by command. */
struct at_link_cut {
    struct at_member_id member;
    bool asking;
    bool answering;
};

struct at_copy_desk; /* copy_desk.c */
struct at_copy_link; /* copy_link.c */

struct at_peering {
    struct at_clock clock;
    struct at_peering_port port;
    uint32_t wait_ms;
    uint64_t copy_bytes_per_s;
    bool manual;
    struct at_neighbor *peers[AT_NEIGHBORS_MAX]; /* changed under status_lock */
    uint32_t peer_count;
    struct at_neighbor *ending[AT_NEIGHBORS_MAX]; /* no longer found; freed when nothing is open */
    uint32_t ending_count;
    struct at_peer_server *server;
    pthread_t thread;
    bool thread_started;
    atomic_bool stopping;
    bool draining;

    /* The bell wakes the thread: one mail, rung at most once per turn. */
    atomic_bool rung;
    atomic_bool wants_commits;
    struct at_mail bell_mail;
    struct at_mailbox bell;
    struct at_mailbox requests;
    struct at_mailbox answers;
    struct at_mailbox applied;
    struct at_mailbox calls;
    struct at_mailbox acts;
    struct at_mailbox jobs;
    struct at_mailbox surveys;
    struct at_mailbox spreads;
    struct at_mailbox leaves;
    struct at_mailbox removes;

    /* Of this turn. */
    uint64_t now_ns;
    struct at_replica_view view;
    uint64_t wake_ns; /* the earliest timer; rooms lower it */

    uint64_t quiet_ns; /* when draining: until then farewells may get there */
    struct at_room_call farewell;
    uint32_t asks_out;
    uint32_t farewells_out; /* among them: that a copy was given up */
    uint32_t calls_out;     /* acts too */
    uint32_t applies_out;
    uint32_t jobs_out;
    uint64_t request_id;
    struct at_arena scratch; /* one decoded message */
    struct at_buf out;       /* one encoded message */
    struct at_donor donor;
    struct at_epoch_closing closing;
    struct at_position_desk desk;
    struct at_mail *spread_waits;
    struct at_mail *held; /* requests that wait for a copy to be dropped */
    struct at_join_room join;
    struct at_leave_room leave;
    struct at_fence_room fence;
    struct at_greet_room greet;
    struct at_copy_worker in_worker;
    struct at_copy_worker out_worker;
    struct at_copy_link *copy_in;
    struct at_copy_desk *copy_out;

    pthread_mutex_t status_lock; /* guards what at_peering_links reads of the links */
    /* Of the copy that runs into this cluster, under status_lock. */
    struct at_member_id copy_donor; /* 0: none runs */
    uint64_t copied_bytes;
    uint64_t copy_bytes;
    struct at_rate copied_rate;
    /* Under status_lock. */
    struct at_link_cut cuts[AT_NEIGHBORS_MAX];
    uint32_t cut_count;
    atomic_bool cuts_changed;
};

/* --- peering.c --- */

/* at_peering_ring wakes the thread. Any thread. */
void at_peering_ring(struct at_peering *p);
/* at_peering_wake_at lowers the time of the next turn. */
void at_peering_wake_at(struct at_peering *p, uint64_t at_ns);
/* at_peering_on_reply puts an answered at_ask into the mailbox; ctx is the peering. nng thread. */
void at_peering_on_reply(void *ctx, struct at_peer_question *question);
/* at_peering_ask sends what is in p->out. False: not sent, on_end is not called. */
bool at_peering_ask(struct at_neighbor *peer, struct at_ask *ask, uint32_t timeout_ms);
/* at_peering_ask_over does so over a client of the room's own. */
bool at_peering_ask_over(struct at_peering *p,
                         struct at_peer_client *client,
                         struct at_ask *ask,
                         uint32_t timeout_ms);
/* at_peering_call gives a call to the writer. False: it is shutting down, on_end is not called. */
bool at_peering_call(struct at_peering *p, struct at_room_call *call);
/* at_room_answer_take takes the reply out of an ask that was answered; `run` is for
 * at_peering_call.
 */
struct at_room_answer *at_room_answer_take(struct at_ask *ask,
                                           void (*run)(struct at_replica_call *call,
                                                       struct at_replica *replica));
void at_room_answer_free(struct at_room_call *call);
/* at_peering_act gives a membership entry to the writer. False: on_end is not called. */
bool at_peering_act(struct at_peering *p, struct at_room_act *act);
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

/* --- cuts.c --- */

/* at_cut_of tells how the link to `member` is cut; _locked: the caller has status_lock. */
struct at_link_cut at_cut_of(struct at_peering *p, struct at_member_id member);
struct at_link_cut at_cut_of_locked(const struct at_peering *p, struct at_member_id member);
void at_cuts_step(struct at_peering *p);

/* --- inbox.c: what others ask --- */

/* at_inbox_take decodes a request and gives it to its room. */
void at_inbox_take(struct at_peering *p, struct at_peer_request *request);
/* at_inbox_release takes the requests again that waited for a copy to be dropped. */
void at_inbox_release(struct at_peering *p);
void at_inbox_drop(struct at_peering *p);

/* --- neighbor.c --- */

/* at_neighbors_step lets links come and go with the members of the view. */
void at_neighbors_step(struct at_peering *p);
struct at_neighbor *at_neighbor_find(struct at_peering *p, struct at_member_id id);
/* at_neighbor_told: `id` is to be found as `info` says; makes one that was not known. NULL when
 * there is no room, for this cluster itself, and for one that is removed. */
struct at_neighbor *
at_neighbor_told(struct at_peering *p, struct at_member_id id, struct at_slice info);
/* at_neighbor_mistaken: where it was said to be is another: back to where the view has it. */
void at_neighbor_mistaken(struct at_neighbor *peer);
/* at_neighbor_in_touch: heard within the time that counts. */
bool at_neighbor_in_touch(const struct at_neighbor *peer);
/* at_neighbors_close ends all sockets; at_neighbors_free the rest, when nothing is open. */
void at_neighbors_close(struct at_peering *p);
void at_neighbors_free(struct at_peering *p);

/* --- the rooms --- */

void at_pull_link_init(struct at_neighbor *peer);
/* at_pull_link_open makes the client, if an address is known and there is none. */
void at_pull_link_open(struct at_neighbor *peer);
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
void at_donor_seat_deinit(struct at_donor_seat *seat);

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

void at_join_room_on_ask(struct at_peering *p,
                         struct at_peer_request *request,
                         const struct at_join *join);
/* at_join_room_greet: `peer` is to be asked soon whether it knows this cluster. */
void at_join_room_greet(struct at_neighbor *peer);
/* at_join_room_told_removed: `peer` refused this cluster as one that is removed. */
void at_join_room_told_removed(struct at_neighbor *peer);
void at_join_room_step(struct at_peering *p);
/* at_join_room_describe: what a JOIN tells of this cluster; it borrows from the view. */
void at_join_room_describe(struct at_peering *p, struct at_join *ret_join);

void at_leave_room_add(struct at_peering *p, struct at_leave *leave);
void at_leave_room_step(struct at_peering *p);
/* at_leave_room_holds: pulls rest, so that the others can come up with what this cluster has. */
bool at_leave_room_holds(struct at_peering *p);
/* at_leave_room_drop ends the waits as CANCELLED. */
void at_leave_room_drop(struct at_peering *p);

void at_greet_room_step(struct at_peering *p);
void at_greet_room_close(struct at_peering *p);

void at_fence_room_on_ask(struct at_peering *p,
                          struct at_peer_request *request,
                          const struct at_fence *fence);
void at_fence_room_add(struct at_peering *p, struct at_remove *remove);
void at_fence_room_step(struct at_peering *p);
void at_fence_room_drop(struct at_peering *p);
void at_fence_room_deinit(struct at_peering *p);

AT_MUST_USE enum at_code
at_copy_worker_start(struct at_copy_worker *w, const char *name, struct at_error *reterr);
void at_copy_worker_stop(struct at_copy_worker *w);
/* at_copy_worker_give: a worker that was not started runs the job at once. */
void at_copy_worker_give(struct at_peering *p, struct at_copy_worker *w, struct at_copy_job *job);

/* at_copy_chunk_open gives the items of a chunk, unpacked into `raw` where they are packed.
 * INVALID_ARGUMENT, RESOURCE_EXHAUSTED: can't be unpacked; DATA_LOSS: wrong checksum. Any thread.
 */
AT_MUST_USE enum at_code at_copy_chunk_open(const struct at_copy_chunk *chunk,
                                            struct at_buf *raw,
                                            struct at_slice *ret_items,
                                            struct at_error *reterr);

/* at_copy_may_ask: `donor` is a member, and to be reached; NULL is not. */
bool at_copy_may_ask(struct at_peering *p, const struct at_neighbor *donor);
/* at_copy_nearest of those that have not been tried; NULL: none. */
struct at_neighbor *
at_copy_nearest(struct at_peering *p, const struct at_member_id *tried, uint32_t tried_count);
/* at_copy_needs: what those in touch told as gaps in their last replies. What one told that is gone
 * nobody may have any more. */
void at_copy_needs(struct at_peering *p, struct at_vector *ret_needs);

/* How much a copy may be, and how many of its chunks may hold next to nothing: the receiver takes
 * no more than a multiple of what the donor told, whatever its cursors do. */
struct at_copy_bound {
    uint64_t bytes_left;
    uint32_t thin_left;
};
void at_copy_bound_init(struct at_copy_bound *b, uint64_t told_bytes, uint32_t part_count);
/* at_copy_bound_take: false when a chunk of `bytes` is too much; `last`: of its part. */
bool at_copy_bound_take(struct at_copy_bound *b, uint64_t bytes, bool last);

void at_copy_link_init(struct at_peering *p);
void at_copy_link_step(struct at_peering *p);
/* at_copy_link_stop drops the copy that runs, if any. False: it has not ended yet; when it has,
 * at_inbox_release is called. */
bool at_copy_link_stop(struct at_peering *p);
bool at_copy_link_idle(const struct at_peering *p);
void at_copy_link_deinit(struct at_peering *p);

void at_copy_desk_init(struct at_peering *p);
void at_copy_desk_on_open(struct at_neighbor *peer,
                          struct at_peer_request *request,
                          const struct at_copy_open *open);
void at_copy_desk_on_ask(struct at_neighbor *peer,
                         struct at_peer_request *request,
                         const struct at_copy_ask *ask);
void at_copy_desk_on_close(struct at_neighbor *peer,
                           struct at_peer_request *request,
                           uint64_t snapshot_id);
void at_copy_desk_step(struct at_peering *p);
/* at_copy_desk_serves: somebody copies from here. */
bool at_copy_desk_serves(const struct at_peering *p);
/* at_copy_desk_drop lets go of requests and the snapshot. */
void at_copy_desk_drop(struct at_peering *p);
bool at_copy_desk_idle(const struct at_peering *p);
void at_copy_desk_deinit(struct at_peering *p);

#endif
