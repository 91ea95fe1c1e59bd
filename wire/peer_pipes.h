/* peer_pipes.h: the connections of one peer socket: limited in number, and hung up before the
 * socket is closed. ADAPTER.
 *
 * nng 1.5 loses a read that goes on (a message's head is in, its body is next) at the moment when
 * its connection is closed, and the one thread that frees connections waits for it for ever: no
 * socket of the process closes any more, no port becomes free. A connection whose stream has ended
 * is closed by nng itself, between two reads. So the streams are ended first, below nng, which does
 * not give its descriptors away: they are found by their two addresses. */
#ifndef ATOLL_WIRE_PEER_PIPES_H
#define ATOLL_WIRE_PEER_PIPES_H

#include "base/limits.h"

#include <nng/nng.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct at_peer_pipes {
    pthread_mutex_t lock;
    pthread_cond_t gone;
    nng_pipe pipes[AT_PEER_CONNECTIONS_MAX];
    uint32_t count;
    bool closing; /* what connects now is turned away */
};

void at_peer_pipes_init(struct at_peer_pipes *p);
void at_peer_pipes_deinit(struct at_peer_pipes *p);

/* at_peer_pipes_watch: before the socket listens or dials. Returns a code of nng's. More than
 * AT_PEER_CONNECTIONS_MAX are closed as they come. */
int at_peer_pipes_watch(struct at_peer_pipes *p, nng_socket socket);
/* at_peer_pipes_forget: nng calls back no more once the socket is closed. */
void at_peer_pipes_forget(nng_socket socket);

/* at_peer_pipes_hang_up ends all connections, and waits until nng is done with them, at most
 * `wait_ms`. Messages that are in are received meanwhile: one that nobody takes keeps its
 * connection. False: some are left. */
bool at_peer_pipes_hang_up(struct at_peer_pipes *p, uint32_t wait_ms);

#endif
