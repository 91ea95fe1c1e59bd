#include "wire/peer_pipes.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Only the way out is shut at first: the other side sees the end of its stream and closes, and ours
 * ends in turn. Were it shut for both ways, what the other side sends now would be refused, and a
 * refused send makes its nng close with a read going on, which may be lost as well.
 *
 * A descriptor may be closed and its number be another's between two calls, so a duplicate is what
 * is looked at and shut down. */

#define POLITELY_MS 300

struct ends {
    nng_sockaddr local;
    nng_sockaddr remote;
};

static void on_pipe(nng_pipe pipe, nng_pipe_ev event, void *arg);
static bool add(struct at_peer_pipes *p, nng_pipe pipe);
static void take_away(struct at_peer_pipes *p, nng_pipe pipe);
static uint32_t list_ends(const nng_pipe *pipes, uint32_t count, struct ends *ret_ends);
static void shut_all(struct at_peer_pipes *p, int how);
static void shut_listed(const struct ends *ends, uint32_t count, int how);
static void shut_one(int fd, const struct ends *ends, uint32_t count, int how);
static bool wait_gone(struct at_peer_pipes *p, uint32_t wait_ms);
static bool is_one_of(int fd, const struct ends *ends, uint32_t count);
static bool same_address(const nng_sockaddr *a, const struct sockaddr_storage *b);

void at_peer_pipes_init(struct at_peer_pipes *p)
{
    pthread_condattr_t attr;

    p->count = 0;
    p->closing = false;
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->gone, &attr);
    pthread_condattr_destroy(&attr);
}

void at_peer_pipes_deinit(struct at_peer_pipes *p)
{
    pthread_cond_destroy(&p->gone);
    pthread_mutex_destroy(&p->lock);
}

int at_peer_pipes_watch(struct at_peer_pipes *p, nng_socket socket)
{
    int rc = nng_pipe_notify(socket, NNG_PIPE_EV_ADD_PRE, on_pipe, p);

    return rc == 0 ? nng_pipe_notify(socket, NNG_PIPE_EV_REM_POST, on_pipe, p) : rc;
}

void at_peer_pipes_forget(nng_socket socket)
{
    (void)nng_pipe_notify(socket, NNG_PIPE_EV_ADD_PRE, NULL, NULL);
    (void)nng_pipe_notify(socket, NNG_PIPE_EV_REM_POST, NULL, NULL);
}

bool at_peer_pipes_hang_up(struct at_peer_pipes *p, uint32_t wait_ms)
{
    uint32_t politely_ms = wait_ms < POLITELY_MS ? wait_ms : POLITELY_MS;

    pthread_mutex_lock(&p->lock);
    p->closing = true;
    pthread_mutex_unlock(&p->lock);
    shut_all(p, SHUT_WR);
    if (wait_gone(p, politely_ms))
        return true;
    shut_all(p, SHUT_RDWR);
    return wait_gone(p, wait_ms - politely_ms);
}

/* nng thread. A connection's negotiation is over, or it has ended. */
static void on_pipe(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    struct at_peer_pipes *p = arg;

    if (event == NNG_PIPE_EV_REM_POST)
        take_away(p, pipe);
    else if (!add(p, pipe))
        nng_pipe_close(pipe); /* nothing of it is read yet */
}

static bool add(struct at_peer_pipes *p, nng_pipe pipe)
{
    pthread_mutex_lock(&p->lock);
    bool closing = p->closing;
    bool taken = !closing && p->count < AT_PEER_CONNECTIONS_MAX;
    if (taken)
        p->pipes[p->count++] = pipe;
    pthread_mutex_unlock(&p->lock);
    if (!taken && !closing)
        at_log(AT_LOG_WARN, "too many connections to the peer port, closing the newest");
    return taken;
}

static void take_away(struct at_peer_pipes *p, nng_pipe pipe)
{
    pthread_mutex_lock(&p->lock);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->pipes[i].id == pipe.id) {
            p->pipes[i] = p->pipes[--p->count];
            break;
        }
    pthread_cond_signal(&p->gone);
    pthread_mutex_unlock(&p->lock);
}

/* Of those that have not ended meanwhile. */
static uint32_t list_ends(const nng_pipe *pipes, uint32_t count, struct ends *ret_ends)
{
    uint32_t known = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct ends *e = &ret_ends[known];
        if (nng_pipe_get_addr(pipes[i], NNG_OPT_LOCADDR, &e->local) == 0 &&
            nng_pipe_get_addr(pipes[i], NNG_OPT_REMADDR, &e->remote) == 0)
            known++;
    }
    return known;
}

static void shut_all(struct at_peer_pipes *p, int how)
{
    nng_pipe pipes[AT_PEER_CONNECTIONS_MAX];

    pthread_mutex_lock(&p->lock);
    uint32_t count = p->count;
    memcpy(pipes, p->pipes, count * sizeof(pipes[0]));
    pthread_mutex_unlock(&p->lock);
    if (count == 0)
        return;
    struct ends *ends = at_alloc(count * sizeof(*ends));
    shut_listed(ends, list_ends(pipes, count, ends), how);
    at_free(ends);
}

static void shut_listed(const struct ends *ends, uint32_t count, int how)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;

    if (dir == NULL) {
        at_log(AT_LOG_WARN,
               "can't list the open files, closing peer connections without hanging up",
               AT_KV_STR("error", strerrordesc_np(errno)));
        return;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): of a stream of its own */
    while ((entry = readdir(dir)) != NULL) {
        char *end = NULL;
        long fd = strtol(entry->d_name, &end, 10);
        if (end != entry->d_name && *end == '\0' && is_one_of((int)fd, ends, count))
            shut_one((int)fd, ends, count, how);
    }
    closedir(dir);
}

static void shut_one(int fd, const struct ends *ends, uint32_t count, int how)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    if (copy < 0)
        return;
    if (is_one_of(copy, ends, count))
        (void)shutdown(copy, how);
    close(copy);
}

static bool wait_gone(struct at_peer_pipes *p, uint32_t wait_ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t until_ns = (uint64_t)until.tv_nsec + wait_ms * AT_MS_NS;
    until.tv_sec += (time_t)(until_ns / AT_S_NS);
    until.tv_nsec = (long)(until_ns % AT_S_NS);
    pthread_mutex_lock(&p->lock);
    while (p->count > 0)
        if (pthread_cond_timedwait(&p->gone, &p->lock, &until) != 0)
            break;
    bool all = p->count == 0;
    pthread_mutex_unlock(&p->lock);
    return all;
}

static bool is_one_of(int fd, const struct ends *ends, uint32_t count)
{
    struct sockaddr_storage local;
    struct sockaddr_storage remote;
    socklen_t local_len = sizeof(local);
    socklen_t remote_len = sizeof(remote);

    if (getpeername(fd, (struct sockaddr *)&remote, &remote_len) != 0 ||
        getsockname(fd, (struct sockaddr *)&local, &local_len) != 0)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (same_address(&ends[i].local, &local) && same_address(&ends[i].remote, &remote))
            return true;
    return false;
}

static bool same_address(const nng_sockaddr *a, const struct sockaddr_storage *b)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)b;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)b;

    if (a->s_family == NNG_AF_INET && b->ss_family == AF_INET)
        return a->s_in.sa_port == v4->sin_port && a->s_in.sa_addr == v4->sin_addr.s_addr;
    if (a->s_family == NNG_AF_INET6 && b->ss_family == AF_INET6)
        return a->s_in6.sa_port == v6->sin6_port &&
               memcmp(a->s_in6.sa_addr, &v6->sin6_addr, sizeof(a->s_in6.sa_addr)) == 0;
    return false;
}
