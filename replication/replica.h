/* replica.h: what one cluster knows about replication: clock, positions, members, promises, the
 * horizon. The rules in one place. PURE.
 *
 * Owned by the writer thread. Everything that must survive a crash is kept as small named records;
 * a change marks its record dirty and at_replica_flush hands dirty ones to the writer, which puts
 * them into the same batch as the data they speak of. So what is on disk is always one point of
 * the history.
 *
 * A commit round of the writer:
 *     for each local operation:   at_replica_issue, at_replica_append
 *     for each foreign reply:     at_replica_admit_reply, then at_replica_admit + at_replica_apply
 *                                 per entry, then at_replica_merge_reply
 *     at_replica_promise          (between commits: nothing issued is uncommitted after the batch)
 *     at_replica_flush            -> batch; commit (synced when it says so or durability is sync)
 *     at_replica_committed        -> the new state may be shown to others
 *
 * Terms: V = applied, the highest applied entry per (origin, epoch); an own entry is applied when
 * it is appended. Durable = synced. */
#ifndef ATOLL_REPLICATION_REPLICA_H
#define ATOLL_REPLICATION_REPLICA_H

#include "base/buf.h"
#include "base/limits.h"
#include "replication/message.h"
#include "replication/record.h"
#include "replication/vector.h"

enum at_replica_mode {
    AT_MODE_INIT, /* not filled yet */
    AT_MODE_READY,
    AT_MODE_NEEDS_COPY, /* a gap that nobody it can reach will close */
    AT_MODE_COPYING,
    AT_MODE_LEAVING,
    AT_MODE_REMOVED,
};

struct at_replica_config {
    uint64_t instance_id;
    struct at_member_id self;
    /* Of the instance at its birth, self included; their infos win over stored ones, as an address
     * may have changed. A newcomer: of its registrar's answer, itself included. */
    const struct at_member_id *members;
    const struct at_slice *infos; /* by index of members; NULL: none is known */
    uint32_t member_count;
    bool newcomer;                 /* begins in INIT, not joined */
    uint64_t join_hlc;             /* newcomer: the stamp of its registration */
    struct at_position registered; /* newcomer: where it is; epoch 0: not known */
    uint64_t max_skew_ns;
    uint64_t reserve_step_ns; /* < max_skew_ns / 2 */
    bool sync_commits;        /* durability: sync */
};

struct at_replica;

/* at_replica_new makes the state of a cluster at its birth: epoch 1, nothing applied, READY. */
struct at_replica *at_replica_new(const struct at_replica_config *config);
void at_replica_free(struct at_replica **replica);

/* --- start --- */

/* at_replica_restore takes one stored record back. INVALID_ARGUMENT when it is malformed or not
 * known (the store is then from a newer version or damaged: do not start). */
AT_MUST_USE enum at_code at_replica_restore(struct at_replica *r,
                                            struct at_slice key,
                                            struct at_slice value,
                                            struct at_error *reterr);

/* at_replica_start ends the restoring: sets the clock to its reserved mark, and, when
 * `tail_may_be_lost` (rule 22), opens a new epoch and closes the old ones (rule 18: no promise
 * until they are closed). FAILED_PRECONDITION when the store is of another instance or member. The
 * caller flushes and commits with sync before the first write. */
AT_MUST_USE enum at_code at_replica_start(struct at_replica *r,
                                          bool tail_may_be_lost,
                                          uint64_t wall_ns,
                                          struct at_error *reterr);

/* --- local operations --- */

/* at_replica_may_write tells whether client writes are accepted now, else why not: UNAVAILABLE
 * (initialising, needs copy, leaving, log full of entries no peer has, clock ahead of the others by
 * more than max_skew), with the reason for people in reterr. A cluster that hears nobody accepts
 * writes unless its wall clock jumped against its monotonic one (rule 5). */
AT_MUST_USE enum at_code at_replica_may_write(struct at_replica *r,
                                              uint64_t wall_ns,
                                              uint64_t mono_ns,
                                              struct at_error *reterr);

/* at_replica_issue returns `ticks` fresh stamps (hlc .. hlc+ticks-1 of self). Never fails: ask
 * may_write first. */
uint64_t at_replica_issue(struct at_replica *r, uint32_t ticks, uint64_t wall_ns);

/* at_replica_append gives the next own position; V moves to it. `hlc_last` is the entry's last
 * tick. */
struct at_position at_replica_append(struct at_replica *r, uint64_t hlc_last);

/* --- entries of others --- */

/* at_replica_admit_reply applies rule 12: false means drop the whole reply; `ret_why` is static
 * text. */
bool at_replica_admit_reply(const struct at_replica *r,
                            const struct at_reply *reply,
                            const char **ret_why);

enum at_admit {
    AT_ADMIT_APPLY,
    AT_ADMIT_SKIP, /* known already: go on with the next entry */
    AT_ADMIT_STOP, /* gap, fenced or beyond the final position: leave the rest of this run */
    AT_ADMIT_PARK, /* stamped beyond the acceptance limit: it and the rest of this run wait */
};

/* at_replica_admit applies rule 13 and 4 to one entry. */
enum at_admit at_replica_admit(struct at_replica *r,
                               struct at_position p,
                               const struct at_entry *entry,
                               uint64_t wall_ns);

/* at_replica_apply moves V to an entry that was admitted and merges its stamp into the clock. */
void at_replica_apply(struct at_replica *r, struct at_position p, const struct at_entry *entry);

/* at_replica_merge_reply takes the reply's promises, vouches, gaps, clock and position facts, after
 * its entries (rule 14), and recomputes the horizon. False: it held promises beyond the acceptance
 * limit, which were left out. */
bool at_replica_merge_reply(struct at_replica *r,
                            const struct at_reply *reply,
                            uint64_t wall_ns,
                            uint64_t mono_ns);

/* at_replica_on_pull records what a peer's request tells: its durable vector (the acknowledgement,
 * for trimming), its applied one, its being alive. */
void at_replica_on_pull(struct at_replica *r, const struct at_pull *pull, uint64_t mono_ns);

/* --- epochs (rules 22-25) --- */

/* at_replica_on_close answers a peer's CLOSE: raises min_incarnation (must be synced before the
 * answer leaves) and fills the positions in all older epochs of that origin. FAILED_PRECONDITION:
 * of an older process, or this cluster is COPYING: drop the copy first. PERMISSION_DENIED: the
 * origin is no member, or fenced. */
AT_MUST_USE enum at_code at_replica_on_close(struct at_replica *r,
                                             const struct at_close *close,
                                             struct at_close_answer *ret_answer);
/* at_replica_on_close_answer stores one member's vouch; when all active ones have answered, the old
 * epochs are closed and promising may go on. */
void at_replica_on_close_answer(struct at_replica *r, const struct at_close_answer *answer);
/* at_replica_closing: true while old own epochs wait for answers; fills the members still missing.
 */
bool at_replica_closing(const struct at_replica *r,
                        struct at_member_id *ret_missing,
                        uint32_t *ret_count);

/* at_replica_close_ask makes the CLOSE to send to the missing ones (again from time to time: what
 * it says changes with the answers). */
void at_replica_close_ask(const struct at_replica *r, struct at_close *ret_close);

/* --- promises, trimming --- */

/* at_replica_promise renews the own promise (rule 16); also to be called a few times a second when
 * idle, so that it follows the physical clock. True: the reservation of the clock has to move, so
 * flush and commit (synced if the flush says so) before the next view is filled, even when nothing
 * else is to commit. False on an idle cluster: just fill the view again. */
bool at_replica_promise(struct at_replica *r, uint64_t wall_ns);

/* at_replica_trim_bound returns, for one (origin, epoch), the highest seq that all active members
 * have durably (rule 26), UINT64_MAX when the epoch is closed and complete everywhere. The caller
 * deletes log records at or below it and calls at_replica_trimmed in the same round. */
uint64_t
at_replica_trim_bound(const struct at_replica *r, struct at_member_id origin, uint32_t epoch);
/* at_replica_cap_bound returns the highest seq that may be freed when the log is over its cap: what
 * a laggard then lacks is a gap to it. Own entries that no other member has durably are not freed.
 */
uint64_t
at_replica_cap_bound(const struct at_replica *r, struct at_member_id origin, uint32_t epoch);
void at_replica_trimmed(struct at_replica *r, struct at_position base);
/* at_replica_set_log_full tells that the log is at its cap and nothing more may be freed: writes
 * are refused until it is told otherwise. */
void at_replica_set_log_full(struct at_replica *r, bool full);
/* at_replica_store_horizon has the next flush store the horizon even if that is all there is to
 * store, and returns it: once that flush is committed, what is at or below may be forgotten. */
uint64_t at_replica_store_horizon(struct at_replica *r);

/* --- commit --- */

/* at_replica_flush calls `put` for each dirty record (key and value live during the call; an empty
 * value means: delete the key). Returns true when this commit must be synced whatever the
 * durability setting (a [sync] act). All of it must go into one batch with the data it speaks of.
 */
bool at_replica_flush(struct at_replica *r,
                      void (*put)(void *ctx, struct at_slice key, struct at_slice value),
                      void *ctx);

/* at_replica_committed: the batch is in. `synced`: the WAL was synced with it, so all that is
 * applied is durable. */
void at_replica_committed(struct at_replica *r, bool synced);
/* at_replica_synced: a WAL sync has ended that began between commits, when V was `upto` and
 * at_replica_clock_stored was `clock_stored`. */
void at_replica_synced(struct at_replica *r, const struct at_vector *upto, uint64_t clock_stored);
uint64_t at_replica_clock_stored(const struct at_replica *r);
/* at_replica_wants_sync: one that begins soon spares a commit with sync. */
bool at_replica_wants_sync(const struct at_replica *r);

/* --- what others may see: a copy taken between commits --- */

struct at_member_view {
    struct at_member_id id;
    bool active;
    uint8_t state; /* enum at_origin_state */
    bool fenced; /* its removal has begun and not ended: its pulls are refused as of one REMOVED */
    struct at_position registered; /* of its MEMBER entry; epoch 0: not known */
    struct at_slice info;          /* encoded at_member_info; lives with the view */
    uint64_t heard_mono_ns;        /* of the last request or reply; 0: never */
    struct at_position known;      /* the furthest own entry of it that anyone told of */
    uint64_t fresh_hlc;  /* H of its best counting promise: all of it up to here is applied */
    uint64_t newest_hlc; /* H of its newest promise, counting or not */
    uint64_t acked_seq;  /* how much of OUR current epoch it has applied (from its pulls) */
    bool parked;
    bool gap;
};

struct at_replica_view {
    uint64_t instance_id;
    uint64_t other_id; /* messages with this instance id are of this instance too; 0: none */
    struct at_member_id self;
    enum at_replica_mode mode;
    bool may_write; /* as at_replica_may_write last said */
    bool joined;    /* all others know this member */
    bool caught_up; /* since it was last filled: READY for reads when the mode is READY too */
    bool left;      /* LEAVE is written: pulls nothing any more */
    bool closing;
    bool healthy; /* false: it parks entries, or its clock is far behind the others': not READY */
    uint32_t epoch;
    uint64_t seq;
    uint64_t hlc;
    uint64_t horizon;
    struct at_vector applied;
    struct at_vector durable;
    struct at_vector base;           /* log entries at or below are no longer held */
    struct at_positions_facts facts; /* first_open, ends, promises, vouch: what replies carry */
    struct at_member_view members[AT_MEMBERS_MAX]; /* active ones first; gone ones as they fit */
    uint32_t member_count;
    struct at_member_id gone[AT_ORIGINS_MAX]; /* all that left or were removed, ever */
    uint32_t gone_count;
    struct at_buf infos; /* what the members' infos borrow */
};

/* at_replica_view_is_gone: it left or was removed. */
bool at_replica_view_is_gone(const struct at_replica_view *view, struct at_member_id id);
void at_replica_view_init(struct at_replica_view *view);
void at_replica_view_deinit(struct at_replica_view *view);
/* at_replica_view_fill copies the committed state; `view` is reused without allocating when it is
 * large enough. */
void at_replica_view_fill(const struct at_replica *r, struct at_replica_view *view);
void at_replica_view_copy(struct at_replica_view *to, const struct at_replica_view *from);

/* at_replica_view_is_instance: a message with `instance_id` is of this instance. After a minority
 * went on (at_removal.fork_id) both the old and the new id are, for a while. */
static inline bool at_replica_view_is_instance(const struct at_replica_view *view,
                                               uint64_t instance_id)
{
    return instance_id == view->instance_id ||
           (view->other_id != 0 && instance_id == view->other_id);
}

#endif
