/* front.h: all that one loop of a router needs: channels, health, profiles. ADAPTER.
 *
 * Loops share nothing but the board: each hears its own heartbeats and keeps its own view, so a
 * request never takes a lock. Loop thread only, unless said otherwise. */
#ifndef ATOLL_ROUTING_PROXY_FRONT_H
#define ATOLL_ROUTING_PROXY_FRONT_H

#include "routing/choice.h"
#include "routing/health.h"
#include "routing/proxy/board.h"
#include "routing/proxy/profile_table.h"
#include "wire/alarms.h"
#include "wire/grpc_client.h"

struct at_front;

struct at_front_target {
    struct at_front *front;
    uint32_t index;
    struct at_slice id;
    struct at_slice zone;
    int64_t latency_us;              /* configured; -1: none */
    struct at_grpc_channel *channel; /* for requests */
    struct at_grpc_channel *pulse;   /* for heartbeats: never behind a request's bytes */
    struct at_health health;
    struct at_grpc_client_call *beat; /* the heartbeat on its way, or NULL */
    struct at_buf answer;             /* its response message */
    uint8_t beat_bytes[16];           /* its request message: borrowed by the call */
    uint64_t beat_sent_ns;
    uint64_t beat_version; /* of the profiles it said are known; 0: none */
    uint64_t beat_count;   /* sent so far, this one too */
    bool beat_again;       /* one more is wanted as soon as this one has ended */
};

/* Waits until this front has heard a heartbeat that was sent after the wait began. */
struct at_refresh {
    struct at_refresh *next;
    uint32_t target;
    uint64_t beat; /* the first of the target's heartbeats that will do, by beat_count */
    void (*done)(struct at_refresh *refresh);
};

struct at_front {
    struct at_loop *loop;
    const struct at_instance_config *instance;
    struct at_board *board;
    bool leader; /* its view is what the board shows */
    struct at_alarms alarms;
    uv_timer_t timer; /* heartbeats */
    struct at_front_target targets[AT_MEMBERS_MAX];
    uint32_t target_count;
    struct at_profile_table profiles;
    struct at_refresh *refreshes;
    bool closed;
};

/* at_front_open makes channels and starts heartbeats. Before the loop runs. */
AT_MUST_USE enum at_code at_front_open(struct at_front *front, struct at_error *reterr);

/* at_front_close ends heartbeats and closes channels. Loop thread, or after it stopped. */
void at_front_close(struct at_front *front);

/* at_front_order fills the order in which to try clusters, by profile; NULL: all of them, nearest
 * first (administration). */
uint32_t at_front_order(const struct at_front *front,
                        const struct at_profile *profile,
                        struct at_slice row,
                        uint32_t ret_order[AT_MEMBERS_MAX]);

/* at_front_outcome tells the health of a target what a request met there. */
void at_front_outcome(struct at_front *front, uint32_t target, const struct at_grpc_result *result);

/* at_front_refresh runs refresh->done (loop thread) once the profiles of `target` were heard anew
 * and are in force, or it cannot be heard, or the front is closed. */
void at_front_refresh(struct at_front *front, struct at_refresh *refresh);

#endif
