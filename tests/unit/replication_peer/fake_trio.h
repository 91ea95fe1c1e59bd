/* fake_trio.h: three fake members on loopback. For tests of peering. */
#ifndef ATOLL_TESTS_FAKE_TRIO_H
#define ATOLL_TESTS_FAKE_TRIO_H

#include "unit/replication_peer/fake_member.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

/* Three members with real sockets and real replicas; only the store is fake. */

#define WAIT_MS 300
#define PATIENCE_MS 20000

struct trio {
    struct fake_member m[FAKE_MEMBERS];
    uint16_t ports[FAKE_MEMBERS];
};

/* Ports that nobody listens on now; below those that the kernel gives to connections of others
 * before they are listened on. */
static void free_ports(uint16_t *ports, uint32_t count)
{
    static uint32_t next;
    int fds[8];

    if (next == 0)
        next = (uint32_t)getpid() * 97;
    for (uint32_t i = 0; i < count;) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        ports[i] = (uint16_t)(12000 + next++ % 20000);
        a.sin_port = htons(ports[i]);
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (bind(fds[i], (struct sockaddr *)&a, sizeof(a)) == 0)
            i++;
        else
            close(fds[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        close(fds[i]);
}

static struct trio *trio_new(void)
{
    struct trio *t = AT_NEW(struct trio);

    free_ports(t->ports, FAKE_MEMBERS);
    for (uint32_t i = 0; i < FAKE_MEMBERS; i++) {
        t->m[i].id.v = i + 1;
        t->m[i].port = t->ports[i];
    }
    return t;
}

__attribute__((unused)) static struct trio *trio_start(void)
{
    struct trio *t = trio_new();

    for (uint32_t i = 0; i < FAKE_MEMBERS; i++)
        fake_start(&t->m[i], t->ports, false, WAIT_MS);
    return t;
}

static void trio_free(struct trio *t)
{
    for (uint32_t i = 0; i < FAKE_MEMBERS; i++) {
        if (t->m[i].peering != NULL)
            fake_stop(&t->m[i]);
        fake_disk_free(&t->m[i].disk);
    }
    at_free(t);
}

static uint64_t now_ms(void)
{
    return fake_mono_ns() / AT_MS_NS;
}

static void pause_ms(uint32_t ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* Same positions at all running members. */
static bool converged(struct trio *t)
{
    struct at_replica_view views[FAKE_MEMBERS];
    bool same = true;
    int first = -1;

    for (int i = 0; i < FAKE_MEMBERS; i++) {
        at_replica_view_init(&views[i]);
        if (t->m[i].peering == NULL)
            continue;
        fake_port_view(&t->m[i], &views[i]);
        if (first < 0)
            first = i;
        same = same && at_vector_covers(&views[first].applied, &views[i].applied) &&
               at_vector_covers(&views[i].applied, &views[first].applied);
    }
    for (int i = 0; i < FAKE_MEMBERS; i++)
        at_replica_view_deinit(&views[i]);
    return same;
}

/* Waits until everything written is everywhere, and checks that it is the same everywhere. */
__attribute__((unused)) static void await_convergence(struct trio *t, uint64_t entry_count)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    struct fake_member *a = NULL;

    for (;;) {
        uint64_t written = 0;
        for (int i = 0; i < FAKE_MEMBERS; i++)
            written += t->m[i].peering != NULL ? fake_seq(&t->m[i]) : 0;
        if (written >= entry_count && converged(t))
            break;
        if (now_ms() > end_ms)
            fail_msg("no convergence");
        pause_ms(2);
    }
    for (int i = 0; i < FAKE_MEMBERS; i++) {
        if (t->m[i].peering == NULL)
            continue;
        if (a == NULL)
            a = &t->m[i];
        for (uint32_t o = 1; o <= FAKE_MEMBERS; o++) {
            assert_int_equal(t->m[i].disk.entry_count[o], a->disk.entry_count[o]);
            assert_true(t->m[i].disk.sum[o] == a->disk.sum[o]);
        }
    }
}

#endif
