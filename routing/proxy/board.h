/* board.h: what a router tells about one instance: one board for all its loops. ADAPTER (mutex,
 * atomics).
 *
 * Loops count into it and post changes of health; status RPCs and the HTTP page read it. A cluster
 * has a line of its own from when the first loop asks for it until the last one lets go: lines that
 * are in use never move, and their numbers stay. */
#ifndef ATOLL_ROUTING_PROXY_BOARD_H
#define ATOLL_ROUTING_PROXY_BOARD_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/limits.h"
#include "base/slice.h"

#define AT_BOARD_SWITCHES 32
#define AT_BOARD_LINE_BYTES 160
#define AT_BOARD_TARGETS_MAX 32
#define AT_BOARD_NAME_BYTES 64

struct at_board_target {
    char id[AT_BOARD_NAME_BYTES];
    char zone[AT_BOARD_NAME_BYTES];
    uint32_t users;               /* loops that show it; 0: free. Under the lock */
    bool leaving;                 /* the cluster is no member any more */
    _Atomic bool up;              /* as the first loop sees it */
    _Atomic(const char *) reason; /* static text */
    _Atomic uint64_t rtt_us;
    _Atomic uint32_t rank;   /* 1: any-cluster requests are tried here first; 0: not known yet */
    _Atomic uint64_t served; /* requests this cluster answered */
    _Atomic uint64_t failed; /* attempts that had to go elsewhere */
};

struct at_board {
    struct at_board_target targets[AT_BOARD_TARGETS_MAX];
    uint32_t target_count; /* all in use are below. Under the lock */
    _Atomic uint64_t
        failovers;             /* requests that were answered by another cluster than tried first */
    _Atomic uint32_t informed; /* loops that know app profiles */
    pthread_mutex_t lock;      /* of what follows, and as said above */
    char switches[AT_BOARD_SWITCHES][AT_BOARD_LINE_BYTES]; /* a ring, oldest overwritten */
    uint64_t switch_count;
};

void at_board_init(struct at_board *b);
void at_board_deinit(struct at_board *b);

/* at_board_take returns the line of a cluster, a new one when nobody shows it yet; NULL when all
 * are in use. at_board_leave marks it as no member (the first loop says so);
 * at_board_release lets go of it. Any thread. */
struct at_board_target *at_board_take(struct at_board *b, struct at_slice id, struct at_slice zone);
void at_board_leave(struct at_board *b, struct at_board_target *target);
void at_board_release(struct at_board *b, struct at_board_target *target);

/* at_board_switch notes and logs that a cluster went up or down. Any thread. */
void at_board_switch(struct at_board *b,
                     const struct at_board_target *target,
                     bool up,
                     const char *reason,
                     uint64_t wall_ns);

/* at_board_switches copies the latest lines, oldest first; returns how many. Any thread. */
uint32_t at_board_switches(struct at_board *b,
                           char ret_lines[AT_BOARD_SWITCHES][AT_BOARD_LINE_BYTES]);

/* What one cluster's line says at one moment. */
struct at_board_view {
    char id[AT_BOARD_NAME_BYTES];
    char zone[AT_BOARD_NAME_BYTES];
    bool up;
    const char *reason;
    uint64_t rtt_us;
    uint32_t rank;
    uint64_t served;
    uint64_t failed;
};

/* at_board_views copies the lines of all members; returns how many. Any thread. */
uint32_t at_board_views(struct at_board *b, struct at_board_view ret_views[AT_BOARD_TARGETS_MAX]);

#endif
