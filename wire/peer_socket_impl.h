/* peer_socket_impl.h: what both ends of peer sockets need of nng. Internal to wire/.
 *
 *   at_peer_server   answers (peer_server.c)
 *   at_peer_client   asks (peer_client.c)
 *   at_peer_pipes    the connections of either (peer_pipes.c)
 *
 * Either end is a fixed array of slots; each slot is one nng context with one aio. A slot's state
 * is written before the aio is started and read in its callback, so nng's locks order the two. A
 * callback does not touch its slot after it handed the slot on: the next operation may have begun
 * on another thread by then.
 *
 * Messages are not copied: a body is lent out as it lies in that of nng until it is given back. */
#ifndef ATOLL_WIRE_PEER_SOCKET_IMPL_H
#define ATOLL_WIRE_PEER_SOCKET_IMPL_H

#include "base/status.h"
#include "wire/peer_pipes.h"
#include "wire/peer_socket.h"

#include <nng/nng.h>

enum { AT_PEER_URL_BYTES_MAX = 300 };

/* at_peer_nng_url writes AT_PEER_URL_BYTES_MAX bytes at most. INVALID_ARGUMENT: the host's name is
 * too long. */
AT_MUST_USE enum at_code
at_peer_nng_url(const char *host, uint16_t port, char *ret_url, struct at_error *reterr);

/* at_peer_nng_message copies; NULL when there is no memory for that many bytes. */
nng_msg *at_peer_nng_message(struct at_slice bytes);

/* at_peer_nng_code: what a code of nng's is here. */
enum at_code at_peer_nng_code(int nng_rc);
/* at_peer_nng_fail: likewise, saying that it "cannot <what> <host>:<port>". */
AT_MUST_USE enum at_code at_peer_nng_fail(
    int nng_rc, const char *what, const char *host, uint16_t port, struct at_error *reterr);

/* at_peer_nng_hang_up ends the connections of a socket that is to be closed. Blocks for a second or
 * so at most; not at all while a close hangs. */
void at_peer_nng_hang_up(struct at_peer_pipes *pipes);
/* at_peer_nng_close closes the socket, and leaves that behind when it takes too many seconds:
 * all of ours must be stopped and freed by then. */
void at_peer_nng_close(nng_socket socket);

#endif
