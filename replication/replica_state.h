/* replica_state.h: the inside of at_replica, for the files replica*.c only. PURE. */
#ifndef ATOLL_REPLICATION_REPLICA_STATE_H
#define ATOLL_REPLICATION_REPLICA_STATE_H

#include "replication/guard.h"
#include "replication/hlc.h"
#include "replication/origin.h"
#include "replication/replica.h"

/* Members of now and before, and origins whose registration has not come yet. */
#define AT_ORIGINS_MAX 32
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
};

/* Nobody of `reporters` holds what follows `at`. */
struct at_open_gap {
    struct at_position at; /* our position */
    uint32_t reporters;    /* bits by index of the peer */
};

enum at_dirty {
    AT_DIRTY_ID = 1,
    AT_DIRTY_EPOCH = 2,
    AT_DIRTY_MODE = 4,
    AT_DIRTY_RELEASED = 8,
};

struct at_replica {
    uint64_t instance_id;
    struct at_member_id self;
    uint64_t max_skew_ns;
    bool sync_commits;

    enum at_replica_mode mode;
    bool joined; /* all others know this member: it may write (rule 38) */
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
    uint32_t answered;     /* bits by index: who answered the CLOSE of this epoch */
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
