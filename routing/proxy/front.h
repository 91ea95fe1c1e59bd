/* front.h: all that one loop of a router needs for one instance: channels, health, profiles.
 * ADAPTER.
 *
 * Loops share nothing but the board: each hears its own heartbeats and keeps its own view, so a
 * request never takes a lock. Loop thread only, unless said otherwise.
 *
 * Clusters come and go. One has a slot while it is a member, and after that until the last request
 * that is under way there has ended; a slot that has another cluster since has another
 * generation. */
#ifndef ATOLL_ROUTING_PROXY_FRONT_H
#define ATOLL_ROUTING_PROXY_FRONT_H

#include "configs/instance.h"
#include "routing/choice.h"
#include "routing/health.h"
#include "routing/proxy/board.h"
#include "routing/proxy/profile_table.h"
#include "wire/alarms.h"
#include "wire/grpc_client.h"

#define AT_FRONT_SLOTS (2 * AT_MEMBERS_MAX)

struct at_front;
struct at_fleet;
struct at_realm;

enum at_front_state {
    AT_FRONT_FREE = 0,
    AT_FRONT_MEMBER,
    AT_FRONT_LEAVING, /* no member any more; requests are under way there */
};

struct at_front_target {
    struct at_front *front;
    uint32_t index;
    enum at_front_state state;
    uint32_t generation;           /* counts the clusters that had this slot */
    uint32_t uses;                 /* requests under way there */
    struct at_board_target *shown; /* has id and zone */
    struct at_slice id;
    struct at_slice zone;
    uint32_t member;                 /* 0: not known */
    int64_t latency_us;              /* configured; -1: none */
    struct at_grpc_channel *channel; /* for requests */
    struct at_grpc_channel *pulse;   /* for heartbeats: never behind a request's bytes */
    struct at_health health;
    struct at_grpc_client_call *beat; /* the heartbeat on its way, or NULL */
    struct at_buf answer;             /* its response message */
    uint8_t beat_bytes[24];           /* its request message: borrowed by the call */
    uint64_t beat_sent_ns;
    uint64_t beat_version;  /* of the profiles it said are known; 0: none */
    uint64_t beat_clusters; /* the same of the clusters */
    uint64_t beat_count;    /* sent so far, this one too */
    bool beat_again;        /* one more is wanted as soon as this one has ended */
};

/* A target, as long as its cluster is the same. */
struct at_front_pick {
    uint32_t index;
    uint32_t generation;
};

/* Waits until this front has heard a heartbeat that was sent after the wait began. */
struct at_refresh {
    struct at_refresh *next;
    struct at_front_pick target;
    uint64_t beat; /* the first of the target's heartbeats that will do, by beat_count */
    void (*done)(struct at_refresh *refresh);
};

struct at_front {
    /* set before at_front_open */
    struct at_loop *loop;
    const struct at_instance_config *instance;
    struct at_board *board;
    bool leader;                   /* its view is what the board shows */
    struct at_front *const *peers; /* of the same instance on all loops, this one too */
    uint32_t peer_count;
    struct at_realm *realm; /* the instance in its fleet; may be NULL */
    /* its own */
    struct at_alarms alarms;
    uv_timer_t timer; /* heartbeats */
    uint64_t young_until_ns;
    struct at_front_target targets[AT_FRONT_SLOTS];
    uint32_t target_count;     /* slots that were ever used */
    uint64_t clusters_version; /* digest of the member list in force; 0: the file's */
    struct at_profile_table profiles;
    struct at_refresh *refreshes;
    uint32_t requests; /* under way through this front */
    uint32_t handles;  /* of libuv, not closed yet */
    bool retiring;     /* closes when the last request has ended */
    bool closed;
    void (*on_closed)(struct at_front *front); /* libuv is done with it; may be NULL */
};

/* at_front_open makes channels to the clusters of the instance file and starts heartbeats. Loop
 * thread, or before the loop runs. */
AT_MUST_USE enum at_code at_front_open(struct at_front *front, struct at_error *reterr);

/* at_front_close ends heartbeats and closes channels; on_closed follows. Loop thread, or after it
 * stopped. The second time does nothing. */
void at_front_close(struct at_front *front);

/* at_front_retire closes as soon as no request is under way. */
void at_front_retire(struct at_front *front);

/* at_front_begin and at_front_end stand around every request that goes through this front. */
void at_front_begin(struct at_front *front);
void at_front_end(struct at_front *front);

/* at_front_order fills the order in which to try clusters, by profile; NULL: all of them, nearest
 * first (administration). */
uint32_t at_front_order(const struct at_front *front,
                        const struct at_profile *profile,
                        struct at_slice row,
                        struct at_front_pick ret_order[AT_MEMBERS_MAX]);

/* at_front_find returns the member of this id; false: there is none. */
bool at_front_find(const struct at_front *front,
                   struct at_slice id,
                   struct at_front_pick *ret_pick);

/* at_front_use begins a request at the target and returns its channel; NULL when the cluster that
 * was picked is no member any more. at_front_unuse ends it. */
struct at_grpc_channel *at_front_use(struct at_front *front, struct at_front_pick pick);
void at_front_unuse(struct at_front *front, uint32_t target);

/* at_front_outcome tells the health of a target what a request met there. */
void at_front_outcome(struct at_front *front, uint32_t target, const struct at_grpc_result *result);

/* at_front_refresh runs refresh->done (loop thread) once the profiles and the members that `target`
 * knows were heard anew and are in force, or it cannot be heard, or the front is closed. */
void at_front_refresh(struct at_front *front, struct at_refresh *refresh);

#endif
