/* peering.h: keeps one cluster in touch with its peers: pulls their logs, answers their pulls,
 * closes epochs, asks positions for consistency tokens, copies, and carries out joining and
 * leaving. ADAPTER: one thread of its own, and two for what copies block on.
 *
 * Whom it talks with, and where, it takes from the members of the committed view and their infos; a
 * member that has moved tells so itself.
 *
 * It decides nothing about data: what it receives goes to the writer through the port, what it
 * sends is read from the committed state through the port. Replies are read at one point of the
 * donor's history: the view is taken first, and no entry beyond it is sent. */
#ifndef ATOLL_REPLICATION_PEER_PEERING_H
#define ATOLL_REPLICATION_PEER_PEERING_H

#include "base/clock.h"
#include "base/mailbox.h"
#include "replication/fill.h"
#include "replication/membership.h"
#include "replication/replica.h"

struct at_peering;

/* A reply on its way through the writer. Filled by peering, given to port.apply, handed back by
 * at_peering_applied (writer thread; only enqueues). */
struct at_apply {
    struct at_mail mail;       /* of the writer while it has it, of peering afterwards */
    struct at_message message; /* kind REPLY */
    struct at_peering *peering;
    bool dropped; /* refused by rule 12 */
    uint32_t applied_count;
    uint32_t discarded_count; /* entries of dead generations: V moved, no effect */
};

/* A few lines of replica code to run on the writer thread between commits (CLOSE and the like).
 * `run` may change the replica; the round that follows is synced before `done` when `sync` is set.
 * `done` runs on the writer thread and must only enqueue. */
struct at_replica_call {
    struct at_mail mail;
    bool sync;
    bool failed; /* result: the commit failed and nothing of it stands: answer nobody */
    void (*run)(struct at_replica_call *call, struct at_replica *replica);
    void (*done)(struct at_replica_call *call);
};

/* Which records to read: from the one that holds `first` to the one that holds `last_seq`. */
struct at_log_read {
    struct at_position first;
    uint64_t last_seq;
    size_t max_bytes;
    uint32_t sizes_max;
};

/* Copies, as cluster/tablet/copy.h has them: opaque handles of the store. Called on peering's copy
 * threads, which may block; never on the peering thread. */
struct at_copy_port {
    void *ctx;
    enum at_code (*source_open)(void *ctx,
                                struct at_member_id receiver,
                                const struct at_vector *needs,
                                void **ret_source,
                                struct at_copy_offer *ret_offer,
                                struct at_error *reterr);
    enum at_code (*source_read)(void *source, struct at_copy_read *read, struct at_error *reterr);
    void (*source_close)(void *source);
    enum at_code (*sink_open)(void *ctx,
                              const struct at_copy_state *donor,
                              uint32_t part_count,
                              void **ret_sink,
                              struct at_error *reterr);
    enum at_code (*sink_take)(void *sink,
                              uint32_t part,
                              struct at_slice cursor,
                              bool last,
                              struct at_slice items,
                              struct at_error *reterr);
    enum at_code (*sink_finish)(void *sink, struct at_error *reterr); /* frees it when OK */
    void (*sink_abort)(void *sink);
};

/* An entry that changes members, to be written as an own one: MEMBER, LEAVE, REMOVE, RELEASE. */
enum at_member_act { AT_ACT_LEAVE, AT_ACT_REMOVE };
struct at_act_write {
    struct at_mail mail; /* peering's use afterwards */
    enum at_member_act act;
    struct at_removal removal;                /* REMOVE */
    void (*done)(struct at_act_write *write); /* writer thread; only enqueue */
    enum at_code code;
};

struct at_peering_port {
    void *ctx;
    /* Copies the committed view. Any thread. */
    void (*view)(void *ctx, struct at_replica_view *view);
    /* read_log appends whole stored records of (origin, epoch) to `out`, the first being the one
     * that holds `first`, until `max_bytes` are passed or `last_seq` was reached; each is
     * preceded by nothing and delimited through `sizes` (count in *ret_count, at most sizes_max).
     * NOT_FOUND when the record of `first` is no longer there. Any thread; may block on disk. */
    enum at_code (*read_log)(void *ctx,
                             const struct at_log_read *what,
                             struct at_buf *out,
                             uint32_t *sizes,
                             uint32_t *ret_count,
                             struct at_error *reterr);
    /* Hand work to the writer. Any thread. False when it is shutting down. */
    bool (*apply)(void *ctx, struct at_apply *apply);
    bool (*call)(void *ctx, struct at_replica_call *call);
    /* Writes a membership entry as an own one, synced. The writer decides anew whether it still is
     * to be written (LEAVE: at_replica_leave_ready; REMOVE: at_replica_removal). */
    bool (*act)(void *ctx, struct at_act_write *write);
    struct at_copy_port copy;
};

struct at_peering_config {
    struct at_clock clock;
    const char *listen_host;
    uint16_t listen_port;    /* 0: a free one */
    uint32_t wait_ms;        /* how long a pull waits at the donor for news; also the heartbeat */
    uint32_t copy_mib_per_s; /* what a copy may take of this cluster as a donor; 0: 64 */
    bool manual;             /* no threads: at_peering_turn runs everything */
    struct at_peering_port port;
};

AT_MUST_USE enum at_code at_peering_start(const struct at_peering_config *config,
                                          struct at_peering **ret_peering,
                                          struct at_error *reterr);
uint16_t at_peering_port(const struct at_peering *p);
/* at_peering_turn, for manual driving: one turn of the loop at config.clock's time, and the turns
 * that it asks for at once. Returns the monotonic time of the next one; it is also to be called
 * after anything was handed in (a request, an answer, a commit, an at_apply given back). */
uint64_t at_peering_turn(struct at_peering *p);
/* at_peering_stop ends the thread and sockets; surveys and waits that are open end. The writer must
 * still run, so that work it holds comes back, and must begin no at_peering_committed any more; one
 * that has begun is waited for. Nothing else may be called from now on. Driven by hand, the writer
 * must have given everything back before. */
void at_peering_stop(struct at_peering **peering);

/* at_peering_committed wakes waiting pulls: the committed view has moved. Writer thread; cheap
 * when nobody waits. */
void at_peering_committed(struct at_peering *p);

/* at_peering_applied gives an at_apply back. Writer thread. */
void at_peering_applied(struct at_apply *apply);

/* --- consistency tokens and waiting, for the service --- */

/* One question to all members, self included. `done` runs on the peering thread and must only
 * enqueue; answers live until at_survey_free. */
struct at_survey {
    struct at_mail mail; /* the owner's use after done */
    uint32_t timeout_ms;
    void (*done)(struct at_survey *survey);
    void *ctx;
    /* filled in */
    struct at_member_id members[AT_MEMBERS_MAX];
    const struct at_vector_answer *answers[AT_MEMBERS_MAX]; /* NULL: not reached */
    uint32_t count;
    void *impl;
};
/* at_peering_survey asks all active members for their synced positions. Any thread. */
void at_peering_survey(struct at_peering *p, struct at_survey *survey);
void at_survey_free(struct at_survey *survey);

/* Waits until every member that is in touch has applied our own entry `seq` of the current epoch,
 * or timeout_ms passed. */
struct at_spread_wait {
    struct at_mail mail;
    uint64_t seq;
    uint32_t timeout_ms;
    void (*done)(struct at_spread_wait *wait); /* peering thread; only enqueue */
    void *ctx;
    bool all;             /* result: every active member has it, none was out of touch */
    uint64_t deadline_ns; /* peering's use */
};
void at_peering_wait_spread(struct at_peering *p, struct at_spread_wait *wait);

/* --- members --- */

/* at_peering_leave: this cluster is to leave (replication/membership.h). Goes on until it has left,
 * however long others are away, after a restart too. `done` (peering thread; only enqueue) runs
 * when it has left, or with the code of the refusal. */
struct at_leave {
    struct at_mail mail;
    void (*done)(struct at_leave *leave);
    void *ctx;
    enum at_code code;
    struct at_error error;
};
void at_peering_leave(struct at_peering *p, struct at_leave *leave);

/* at_peering_remove: forced removal of dead members, coordinated from here. */
struct at_remove {
    struct at_mail mail;
    struct at_member_id members[AT_MEMBERS_MAX];
    uint32_t member_count;
    bool minority_survives;
    uint32_t timeout_ms;
    void (*done)(struct at_remove *remove);
    void *ctx;
    enum at_code code; /* DEADLINE_EXCEEDED: fenced, and some have not answered; it goes on */
    struct at_error error;
    uint64_t lost_count_min; /* own entries of the removed, acknowledged, that nobody vouched for */
    uint64_t deadline_ns;    /* peering's use, */
    bool begun;              /* and this */
};
void at_peering_remove(struct at_peering *p, struct at_remove *remove);

/* How members are filled: this one, while it is, and what the others tell. Any thread. Returns the
 * count. */
struct at_member_progress {
    struct at_member_id member;
    uint8_t mode; /* enum at_replica_mode */
    bool caught_up;
    uint64_t copied_bytes;
    uint64_t copy_bytes;
    uint64_t bytes_per_s;
};
uint32_t at_peering_progress(struct at_peering *p,
                             struct at_member_progress *ret_members,
                             uint32_t count_max);

/* --- drills --- */

/* at_peering_cut cuts the link to `member`, until it is healed (both false) or the process ends.
 * `asking`: nothing is asked of it, and what it still answers is not taken; `answering`: it gets no
 * answers from here. Any thread. */
void at_peering_cut(struct at_peering *p, struct at_member_id member, bool asking, bool answering);

/* --- status --- */

enum at_link_state {
    AT_LINK_CUT,
    AT_LINK_STREAMING,
    AT_LINK_CATCHING_UP,
    AT_LINK_PARKED,
    AT_LINK_NEEDS_COPY,
    AT_LINK_COPYING
};

struct at_link_status {
    struct at_member_id peer;
    enum at_link_state state;
    bool lag_known; /* false: the peer is out of touch, so what it has is unknown */
    uint64_t lag_entries;
    uint64_t lag_ms;
    uint64_t lag_bytes; /* estimate: entries by the mean size of those that came */
    uint64_t applied_entries;
    uint64_t entries_per_s; /* over the last seconds */
    uint64_t bytes_per_s;
    int64_t skew_ms; /* the peer's clock minus ours, as far as a reply can tell; 0 unless heard */
};
/* at_peering_links copies the state of every link. Any thread. */
uint32_t
at_peering_links(struct at_peering *p, struct at_link_status *ret_links, uint32_t count_max);
const char *at_link_state_name(enum at_link_state state);

#endif
