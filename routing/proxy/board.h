/* board.h: what a router tells about itself: one board for all its loops. ADAPTER (mutex, atomics).
 *
 * Loops count into it and post changes of health; status RPCs and the HTTP page read it. */
#ifndef ATOLL_ROUTING_PROXY_BOARD_H
#define ATOLL_ROUTING_PROXY_BOARD_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/limits.h"
#include "configs/instance.h"

#define AT_BOARD_SWITCHES 32
#define AT_BOARD_LINE_BYTES 160

struct at_board_target {
    const char *id; /* borrowed from the instance config */
    const char *zone;
    _Atomic bool up;              /* as the first loop sees it */
    _Atomic(const char *) reason; /* static text */
    _Atomic uint64_t rtt_us;
    _Atomic uint32_t rank;   /* 1: any-cluster requests are tried here first; 0: not known yet */
    _Atomic uint64_t served; /* requests this cluster answered */
    _Atomic uint64_t failed; /* attempts that had to go elsewhere */
};

struct at_board {
    struct at_board_target targets[AT_MEMBERS_MAX];
    uint32_t target_count;
    _Atomic uint64_t
        failovers;             /* requests that were answered by another cluster than tried first */
    _Atomic uint32_t informed; /* loops that know app profiles */
    _Atomic bool serving;
    uint16_t grpc_port;
    uint16_t http_port;
    pthread_mutex_t lock;                                  /* of what follows */
    char switches[AT_BOARD_SWITCHES][AT_BOARD_LINE_BYTES]; /* a ring, oldest overwritten */
    uint64_t switch_count;
};

void at_board_init(struct at_board *b, const struct at_instance_config *instance);
void at_board_deinit(struct at_board *b);

/* at_board_switch notes and logs that a cluster went up or down. Any thread. */
void at_board_switch(
    struct at_board *b, uint32_t target, bool up, const char *reason, uint64_t wall_ns);

/* at_board_switches copies the latest lines, oldest first; returns how many. Any thread. */
uint32_t at_board_switches(struct at_board *b,
                           char ret_lines[AT_BOARD_SWITCHES][AT_BOARD_LINE_BYTES]);

#endif
