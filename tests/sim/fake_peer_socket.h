/* fake_peer_socket.h: wire/peer_socket.h in virtual time: takes its place when a program is linked.
 * One thread. Servers are told apart by their ports alone; a port is 1 + the index of a machine.
 *
 * As over TCP, nothing is lost or reordered within a connection without a side noticing, but there
 * is one connection per client, delays differ, and what was asked of a process that has ended may
 * reach the one that comes after it. */
#ifndef ATOLL_TESTS_SIM_FAKE_PEER_SOCKET_H
#define ATOLL_TESTS_SIM_FAKE_PEER_SOCKET_H

#include "base/prng.h"
#include "wire/peer_socket.h"

#define FAKE_MACHINES_MAX 16

struct fake_net {
    struct at_prng rng;
    uint64_t now_ns;
    uint32_t here;                   /* machine whose code runs now: whose sockets are opened */
    uint32_t cut[FAKE_MACHINES_MAX]; /* cut[from]: bits of those that nothing reaches */
    uint64_t clogged_ns[FAKE_MACHINES_MAX][FAKE_MACHINES_MAX]; /* until then all is slow */
    uint32_t loss_percent;   /* of questions and answers: never arrive, the asker waits */
    uint32_t break_percent;  /* of questions: the connection breaks, the asker hears of it */
    uint32_t repeat_percent; /* of questions: arrive twice, as when a dead process's come late */
    uint32_t delay_max_us;
    uint64_t delivered;
    uint64_t lost;
    uint64_t hash;
};

extern struct fake_net g_fake_net;

/* fake_net_init begins anew; no socket may be open. */
void fake_net_init(uint64_t seed);
/* fake_net_next_ns: when something arrives or times out. UINT64_MAX: never. */
uint64_t fake_net_next_ns(void);
/* fake_net_deliver does what is due at now_ns; bits of the machines that got something. */
uint32_t fake_net_deliver(void);
/* fake_net_kill: the machine's process ends now: whom it served hears of it, or not; whom it asked
 * answers in vain. Its sockets are still to be closed. */
void fake_net_kill(uint32_t machine);
/* fake_net_end drops all that is on its way. */
void fake_net_end(void);

#endif
