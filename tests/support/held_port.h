/* held_port.h: a port on loopback that is this process's alone until it is let go, whether anybody
 * listens on it or not: a socket is bound to it, so that the kernel gives it to nobody else. A
 * connection to it is refused while nobody listens; who listens with SO_REUSEADDR, as all servers
 * here do, may. */
#ifndef ATOLL_TESTS_SUPPORT_HELD_PORT_H
#define ATOLL_TESTS_SUPPORT_HELD_PORT_H

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/test.h"

struct held_port {
    int fd;
    uint16_t port;
};

static inline void held_port_take(struct held_port *h)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    int on = 1;

    h->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(h->fd >= 0);
    assert_int_equal(bind(h->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(h->fd, (struct sockaddr *)&address, &size), 0);
    /* Not before: then the kernel gives a port that nobody else has. */
    assert_int_equal(setsockopt(h->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    h->port = ntohs(address.sin_port);
}

static inline void held_port_let_go(struct held_port *h)
{
    (void)close(h->fd);
    h->fd = -1;
}

#endif
