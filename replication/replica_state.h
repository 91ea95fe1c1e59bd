/* replica_state.h: the inside of at_replica, for the files replica*.c only. PURE. */
#ifndef ATOLL_REPLICATION_REPLICA_STATE_H
#define ATOLL_REPLICATION_REPLICA_STATE_H

#include "replication/fill.h"
#include "replication/guard.h"
#include "replication/hlc.h"
#include "replication/membership.h"
#include "replication/origin.h"
#include "replication/replica.h"

/* Members of now and before, and origins whose registration has not come yet. */
#define AT_GAPS_MAX 64

/* What this process heard from one member. Never stored: whoever restarts knows nothing of the
 * others until they speak, and so trims and closes nothing. */
struct at_peer {
    struct at_vector acked;                    /* durable there */
    uint32_t acked_first_open[AT_ORIGINS_MAX]; /* by index of the origin; 0: not told */
    struct at_vector known;                    /* applied there, as last told */
    uint64_t heard_mono_ns;                    /* 0: never */
    uint64_t acked_seq;                        /* of our current epoch */
    bool replied;                              /* answered a pull of this process */
    struct at_position furthest;               /* its own last entry that anyone told of */
    struct at_position parked;                 /* epoch 0: nothing of it is parked */
    bool knows_join;                           /* acknowledged our registration */
    bool knows_leave;                          /* has our LEAVE durably */
};

/* A member that only an answer told of. It counts while one who told is a member. */
struct at_learnt {
    struct at_member_id id;
    uint64_t tellers; /* bits by index */
    bool answered;
};
struct at_learnt_list {
    struct at_learnt items[2 * AT_MEMBERS_MAX];
    uint32_t count;
};

struct at_config_info {
    struct at_member_id id;
    uint32_t len;
    uint8_t bytes[AT_MEMBER_INFO_BYTES_MAX];
};

/* A removal that this process coordinates. */
struct at_coordination {
    bool on;
    struct at_fence fence;
    struct at_learnt_list learnt;
    uint32_t answer_count;
    struct at_member_id answered[2 * AT_MEMBERS_MAX];
    struct at_vector positions[2 * AT_MEMBERS_MAX]; /* of who answered */
    struct at_positions_facts vouches;              /* of the last at_replica_removal */
};

/* Nobody of `reporters` holds what follows `at`. */
struct at_open_gap {
    struct at_position at; /* our position */
    uint64_t reporters;    /* bits by index of the peer */
};

enum at_dirty {
    AT_DIRTY_ID = 1,
    AT_DIRTY_EPOCH = 2,
    AT_DIRTY_MODE = 4,
    AT_DIRTY_RELEASED = 8,
    AT_DIRTY_FORK = 16,
};

struct at_replica {
    uint64_t instance_id;
    struct at_member_id self;
    uint64_t max_skew_ns;
    bool sync_commits;

    enum at_replica_mode mode;
    enum at_replica_mode mode_before; /* COPYING: what it was */
    bool joined;                      /* all others know this member: it may write (rule 38) */
    bool caught_up;
    bool log_full;
    bool rolled_back; /* and no new epoch could be opened */
    enum at_guard_verdict verdict;

    struct at_hlc hlc;
    struct at_guard guard;
    uint64_t released;
    uint64_t mono_ns; /* the latest told */

    uint32_t epoch;
    uint64_t seq;
    uint32_t closed_below; /* own epochs below are closed; epoch: none waits */
    uint64_t answered;     /* bits by index: who answered the CLOSE of this epoch */
    uint32_t close_round;
    struct at_positions_facts closing; /* their vouches */

    struct at_vector applied;
    struct at_vector durable;
    struct at_vector base;
    struct at_vector stored_applied; /* as at_replica_flush last put them */
    struct at_vector stored_base;

    struct at_promise promise; /* own; hlc 0: none */
    uint64_t horizon;
    uint64_t stored_horizon;
    bool store_horizon; /* asked for: store it even alone */

    struct at_origin origins[AT_ORIGINS_MAX];
    struct at_peer peers[AT_ORIGINS_MAX];
    uint32_t origin_count;
    uint32_t self_index;

    struct at_open_gap gaps[AT_GAPS_MAX];
    uint32_t gap_count;

    struct at_config_info config_infos[AT_MEMBERS_MAX];
    uint32_t config_info_count;
    struct at_position config_registered;
    struct at_learnt_list learnt; /* not joined: who else is to acknowledge */
    struct at_coordination removal;

    /* A minority went on. The new id is taken when all other members have what was here when it
     * was told; until then, and after, both are taken from others. */
    uint64_t born_id;   /* the one in r/id, for ever */
    uint64_t fork_from; /* the id before the last time; 0: there was none */
    uint64_t fork_id;   /* the one after */
    bool forked;        /* it is taken */
    struct at_vector fork_upto;

    uint32_t dirty;
    bool need_sync;
    bool flushed_sync; /* what flush last asked for */

    bool restored;
    uint64_t restored_instance_id; /* 0: the record was not there */
    struct at_member_id restored_self;
    struct at_buf scratch; /* a record being written */
};

#define AT_NO_ORIGIN UINT32_MAX

/* at_replica_find_origin returns its index or AT_NO_ORIGIN; _add_origin makes it known when there
 * is room. */
uint32_t at_replica_find_origin(const struct at_replica *r, struct at_member_id id);
uint32_t at_replica_add_origin(struct at_replica *r, struct at_member_id id);
void at_replica_forget_origins(struct at_replica *r);

static inline bool at_replica_is_active(const struct at_replica *r, uint32_t index)
{
    return r->origins[index].state == AT_ORIGIN_ACTIVE;
}
uint32_t at_replica_active_count(const struct at_replica *r);

static inline bool at_replica_is_gone(const struct at_replica *r, uint32_t index)
{
    return r->origins[index].state == AT_ORIGIN_LEFT ||
           r->origins[index].state == AT_ORIGIN_REMOVED;
}
static inline bool at_replica_has_left(const struct at_replica *r)
{
    return r->origins[r->self_index].state == AT_ORIGIN_LEFT;
}
static inline bool at_replica_is_instance(const struct at_replica *r, uint64_t id)
{
    return id == r->instance_id || (r->fork_id != 0 && (id == r->fork_id || id == r->fork_from));
}
/* A member that takes part: active, and its removal has not begun. */
static inline bool at_replica_is_sound(const struct at_replica *r, uint32_t index)
{
    return at_replica_is_active(r, index) && !r->origins[index].fenced;
}
void at_replica_set_mode(struct at_replica *r, enum at_replica_mode mode);

/* at_replica_acked: what `member` has durably of one (origin, epoch); UINT64_MAX: all. */
uint64_t at_replica_acked(const struct at_replica *r,
                          uint32_t member,
                          struct at_member_id origin,
                          uint32_t epoch);
/* at_replica_acked_all: `member` has all of `v` durably. */
bool at_replica_acked_all(const struct at_replica *r, uint32_t member, const struct at_vector *v);
/* at_replica_take_vouch merges a vouch; the word of a removed voucher is void. */
void at_replica_take_vouch(struct at_replica *r, const struct at_vouch *vouch);
/* at_replica_fork_to: a minority went on as the instance `fork_id`, which is taken when all others
 * know. */
void at_replica_fork_to(struct at_replica *r, uint64_t fork_id);
/* at_replica_members_changed: what waits for members looks again. */
void at_replica_members_changed(struct at_replica *r);
/* at_replica_fence_settle: a removal that is coordinated here ends when it is complete, by whoever
 * wrote it. */
void at_replica_fence_settle(struct at_replica *r);
/* at_replica_join_settle: joined when all have acknowledged. */
void at_replica_join_settle(struct at_replica *r);
/* at_replica_leave_settle: REMOVED when all others know; the new instance id when all have it. */
void at_replica_leave_settle(struct at_replica *r);
void at_replica_learn(const struct at_replica *r,
                      struct at_learnt_list *list,
                      uint32_t teller,
                      const struct at_member_seed *members,
                      uint32_t count);
/* at_replica_drop_closed_gaps forgets gaps that V has passed. */
void at_replica_drop_closed_gaps(struct at_replica *r);
void at_replica_fill_facts(const struct at_replica *r, struct at_positions_facts *f);
/* at_replica_decide_mode: READY or NEEDS_COPY, by the gaps. */
void at_replica_decide_mode(struct at_replica *r);

/* at_replica_advance_horizon: F := max(F, horizon), rule 19. */
void at_replica_advance_horizon(struct at_replica *r);

/* at_replica_open_epoch begins the own epoch `epoch`; false when too many wait to be closed. */
bool at_replica_open_epoch(struct at_replica *r, uint32_t epoch);
/* at_replica_close_when_answered closes the old own epochs when all active members answered. */
void at_replica_close_when_answered(struct at_replica *r);
/* at_replica_own_position_told: someone holds own entries up to `p`: more than we have means that
 * the disk was rolled back (rule 22). */
void at_replica_own_position_told(struct at_replica *r, struct at_position p);
/* at_replica_prune_epochs applies rule 25. */
void at_replica_prune_epochs(struct at_replica *r);

/* at_replica_judge_clock runs the guard and remembers its verdict. */
struct at_guard_finding
at_replica_judge_clock(struct at_replica *r, uint64_t wall_ns, uint64_t mono_ns);

#endif
