#include "wire/peer_pipes.h"

#include "support/nng_leaks.h"
#include "support/test.h"
#include "wire/peer_socket.h"

#include <arpa/inet.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/supplemental/util/platform.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bare connections that speak just enough of the protocol to be taken for askers. */

#define WAIT_MS 60000

struct end {
    nng_socket socket;
    struct at_peer_pipes pipes;
    uint16_t port;
};

static void end_open(struct end *e, const char *url)
{
    nng_listener listener;
    int port = 0;

    at_peer_pipes_init(&e->pipes);
    assert_int_equal(nng_rep0_open(&e->socket), 0);
    assert_int_equal(at_peer_pipes_watch(&e->pipes, e->socket), 0);
    assert_int_equal(nng_listen(e->socket, url, &listener, 0), 0);
    assert_int_equal(nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port), 0);
    e->port = (uint16_t)port;
}

static void end_close(struct end *e)
{
    at_peer_pipes_forget(e->socket);
    nng_close(e->socket);
    at_peer_pipes_deinit(&e->pipes);
}

static int say_hello(int fd)
{
    static const uint8_t hello[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};

    assert_int_equal(write(fd, hello, sizeof(hello)), sizeof(hello));
    return fd;
}

static int connect_v4(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    return say_hello(fd);
}

static int connect_v6(uint16_t port)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin6_addr = in6addr_loopback;
    if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0) {
        close(fd);
        return -1; /* a machine without it */
    }
    return say_hello(fd);
}

static uint32_t count_of(struct end *e)
{
    pthread_mutex_lock(&e->pipes.lock);
    uint32_t count = e->pipes.count;
    pthread_mutex_unlock(&e->pipes.lock);
    return count;
}

static void await_count(struct end *e, uint32_t count)
{
    for (int i = 0; i < WAIT_MS && count_of(e) != count; i++)
        nng_msleep(1);
    assert_int_equal(count_of(e), count);
}

/* Whether the other side ends the stream, perhaps after its own greeting. */
static bool is_hung_up(int fd, int wait_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint8_t bytes[64];

    while (poll(&p, 1, wait_ms) == 1)
        if (read(fd, bytes, sizeof(bytes)) <= 0)
            return true;
    return false;
}

static void connections_are_counted_as_they_come_and_go(void **state)
{
    (void)state;
    struct end e;
    int fds[3];

    end_open(&e, "tcp://127.0.0.1:0");
    for (int i = 0; i < 3; i++)
        fds[i] = connect_v4(e.port);
    await_count(&e, 3);
    close(fds[1]);
    await_count(&e, 2);
    close(fds[0]);
    close(fds[2]);
    await_count(&e, 0);
    end_close(&e);
}

static void all_of_one_socket_and_no_others_are_hung_up(void **state)
{
    (void)state;
    struct end e;
    struct end other;
    int fds[3];

    end_open(&e, "tcp://127.0.0.1:0");
    end_open(&other, "tcp://127.0.0.1:0");
    for (int i = 0; i < 3; i++)
        fds[i] = connect_v4(i < 2 ? e.port : other.port);
    await_count(&e, 2);
    await_count(&other, 1);
    assert_true(at_peer_pipes_hang_up(&e.pipes, WAIT_MS));
    assert_int_equal(count_of(&e), 0);
    assert_true(is_hung_up(fds[0], WAIT_MS));
    assert_true(is_hung_up(fds[1], WAIT_MS));
    assert_int_equal(count_of(&other), 1);
    assert_false(is_hung_up(fds[2], 20));
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    end_close(&e);
    end_close(&other);
}

static void connections_over_ipv6_are_hung_up_as_well(void **state)
{
    (void)state;
    struct end e;
    int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    bool has = probe >= 0 && bind(probe, (const struct sockaddr *)&to, sizeof(to)) == 0;

    if (probe >= 0)
        close(probe);
    if (!has)
        skip();
    end_open(&e, "tcp://[::1]:0");
    int fd = connect_v6(e.port);
    assert_true(fd >= 0);
    await_count(&e, 1);
    assert_true(at_peer_pipes_hang_up(&e.pipes, WAIT_MS));
    assert_true(is_hung_up(fd, WAIT_MS));
    close(fd);
    end_close(&e);
}

static void what_connects_afterwards_is_turned_away(void **state)
{
    (void)state;
    struct end e;

    end_open(&e, "tcp://127.0.0.1:0");
    assert_true(at_peer_pipes_hang_up(&e.pipes, 0)); /* there is nothing to wait for */
    int fd = connect_v4(e.port);
    assert_true(is_hung_up(fd, WAIT_MS));
    assert_int_equal(count_of(&e), 0);
    close(fd);
    end_close(&e);
}

/* Its message is in, so nothing more is read, nor is its end seen; it also is no danger. */
static void one_whose_message_nobody_takes_is_not_waited_for_for_ever(void **state)
{
    (void)state;
    static const uint8_t question[8 + 4] = {0, 0, 0, 0, 0, 0, 0, 4, 0x80, 0, 0, 1};
    struct end e;
    int ready = -1;

    end_open(&e, "tcp://127.0.0.1:0");
    assert_int_equal(nng_socket_get_int(e.socket, NNG_OPT_RECVFD, &ready), 0);
    int fd = connect_v4(e.port);
    assert_int_equal(write(fd, question, sizeof(question)), sizeof(question));
    struct pollfd p = {.fd = ready, .events = POLLIN};
    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    assert_false(at_peer_pipes_hang_up(&e.pipes, 20));
    assert_true(is_hung_up(fd, WAIT_MS));
    close(fd);
    end_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_are_counted_as_they_come_and_go),
        cmocka_unit_test(all_of_one_socket_and_no_others_are_hung_up),
        cmocka_unit_test(connections_over_ipv6_are_hung_up_as_well),
        cmocka_unit_test(what_connects_afterwards_is_turned_away),
        cmocka_unit_test(one_whose_message_nobody_takes_is_not_waited_for_for_ever),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0)
        at_peer_sockets_end();
    return failed;
}
