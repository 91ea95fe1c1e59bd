#include "wire/peer_socket_impl.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/log.h"

#include <nng/supplemental/util/platform.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Closing: connections are hung up first (peer_pipes.h), then the socket is closed by a thread of
 * its own: nng may not get done with that, and nobody is to wait for it for ever. */

enum { HANG_UP_WAIT_MS = 1000, CLOSE_WAIT_S = 3 };

/* Closes that were left behind and have not ended: as long as there are any, nng is not to be
 * ended, which would hang as well. On a busy machine one may only have been slow. */
static atomic_uint g_closes_left;

enum close_state { CLOSE_WAITED_FOR, CLOSE_LEFT, CLOSE_ENDED };

struct closing {
    nng_socket socket;
    _Atomic int state; /* enum close_state; who comes second frees it */
};

static void *close_thread(void *arg);
static void leave_behind(struct closing *c);

void at_peer_sockets_end(void)
{
    if (atomic_load(&g_closes_left) == 0)
        nng_fini();
}

/* While a close hangs, nng does not get done with any connection. */
void at_peer_nng_hang_up(struct at_peer_pipes *pipes)
{
    (void)at_peer_pipes_hang_up(pipes, atomic_load(&g_closes_left) > 0 ? 0 : HANG_UP_WAIT_MS);
}

void at_peer_nng_close(nng_socket socket)
{
    pthread_t thread;
    struct timespec until;
    struct closing *c = AT_NEW(struct closing);

    c->socket = socket;
    atomic_init(&c->state, CLOSE_WAITED_FOR);
    at_peer_pipes_forget(socket);
    if (pthread_create(&thread, NULL, close_thread, c) != 0) {
        nng_close(socket);
        at_free(c);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    /* While one hangs, the later ones mostly wait for it: they must not hold up who closes them. */
    until.tv_sec += atomic_load(&g_closes_left) > 0 ? 0 : CLOSE_WAIT_S;
    if (pthread_timedjoin_np(thread, NULL, &until) == 0) {
        at_free(c);
        return;
    }
    pthread_detach(thread);
    leave_behind(c);
}

static void leave_behind(struct closing *c)
{
    int state = CLOSE_WAITED_FOR;

    atomic_fetch_add(&g_closes_left, 1);
    if (atomic_compare_exchange_strong(&c->state, &state, CLOSE_LEFT)) {
        at_log(AT_LOG_WARN, "a peer socket does not close, leaving it behind");
        return;
    }
    atomic_fetch_sub(&g_closes_left, 1); /* it has ended just now */
    at_free(c);
}

static void *close_thread(void *arg)
{
    struct closing *c = arg;

    nng_close(c->socket);
    if (atomic_exchange(&c->state, CLOSE_ENDED) == CLOSE_LEFT) {
        at_free(c);
        atomic_fetch_sub(&g_closes_left, 1);
    }
    return NULL;
}

enum at_code
at_peer_nng_url(const char *host, uint16_t port, char *ret_url, struct at_error *reterr)
{
    bool bare_v6 = strchr(host, ':') != NULL && host[0] != '[';
    int n = snprintf(ret_url, AT_PEER_URL_BYTES_MAX,
                     bare_v6 ? "tcp://[%s]:%" PRIu16 : "tcp://%s:%" PRIu16, host, port);

    if (n < 0 || n >= AT_PEER_URL_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "peer host name is too long");
    return AT_OK;
}

nng_msg *at_peer_nng_message(struct at_slice bytes)
{
    nng_msg *message = NULL;

    AT_ASSERT(bytes.len <= AT_PEER_MESSAGE_BYTES_MAX);
    if (nng_msg_alloc(&message, bytes.len) != 0)
        return NULL;
    if (bytes.len > 0)
        memcpy(nng_msg_body(message), bytes.data, bytes.len);
    return message;
}

enum at_code at_peer_nng_code(int nng_rc)
{
    switch (nng_rc) {
    case NNG_ETIMEDOUT:
        return AT_DEADLINE_EXCEEDED;
    case NNG_ECLOSED:
    case NNG_ECANCELED:
        return AT_CANCELLED;
    case NNG_ENOMEM:
        return AT_RESOURCE_EXHAUSTED;
    case NNG_EADDRINVAL:
    case NNG_EINVAL:
        return AT_INVALID_ARGUMENT;
    case NNG_EADDRINUSE:
        return AT_FAILED_PRECONDITION;
    case NNG_EPERM:
        return AT_PERMISSION_DENIED;
    default:
        return AT_UNAVAILABLE;
    }
}

enum at_code at_peer_nng_fail(
    int nng_rc, const char *what, const char *host, uint16_t port, struct at_error *reterr)
{
    return at_fail(reterr, at_peer_nng_code(nng_rc), "peer socket: cannot %s %s:%" PRIu16 ": %s",
                   what, host, port, nng_strerror(nng_rc));
}
