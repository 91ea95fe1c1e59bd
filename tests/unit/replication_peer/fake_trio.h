/* fake_trio.h: three fake members on loopback. For tests of peering. */
#ifndef ATOLL_TESTS_FAKE_TRIO_H
#define ATOLL_TESTS_FAKE_TRIO_H

#include "unit/replication_peer/fake_member.h"

#include "support/held_port.h"

/* Three members with real sockets and real replicas; only the store is fake. */

#define WAIT_MS 300
#define PATIENCE_MS 60000

struct trio {
    struct fake_member m[FAKE_MEMBERS];
    uint16_t ports[FAKE_MEMBERS];
    struct held_port held[FAKE_MEMBERS]; /* the ports, also while a member is stopped */
};

static struct trio *trio_new(void)
{
    struct trio *t = AT_NEW(struct trio);

    for (uint32_t i = 0; i < FAKE_MEMBERS; i++) {
        held_port_take(&t->held[i]);
        t->ports[i] = t->held[i].port;
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
        held_port_let_go(&t->held[i]);
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
