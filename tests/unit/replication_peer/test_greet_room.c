#include "replication/origin.h"
#include "support/nng_leaks.h"
#include "unit/replication_peer/fake_trio.h"

/* Those that left are greeted by who stays, over real sockets. */

enum { A, B, C };

static void look(struct fake_member *m, struct at_replica_view *ret_view)
{
    at_replica_view_init(ret_view);
    fake_port_view(m, ret_view);
}

static uint8_t state_of(struct fake_member *m, uint32_t of)
{
    struct at_replica_view view;
    uint8_t state = AT_ORIGIN_KNOWN;

    look(m, &view);
    for (uint32_t i = 0; i < view.member_count; i++)
        if (view.members[i].id.v == of + 1)
            state = view.members[i].state;
    at_replica_view_deinit(&view);
    return state;
}

static enum at_replica_mode mode_of(struct fake_member *m)
{
    struct at_replica_view view;

    look(m, &view);
    enum at_replica_mode mode = view.mode;
    at_replica_view_deinit(&view);
    return mode;
}

static bool all_have_what_it_wrote(struct fake_member *m)
{
    struct at_replica_view view;
    bool all = true;

    look(m, &view);
    for (uint32_t i = 0; i < view.member_count; i++)
        all = all && view.members[i].acked_seq == view.seq;
    at_replica_view_deinit(&view);
    return all;
}

static void await_left(struct fake_member *m, uint32_t of)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;

    while (state_of(m, of) != AT_ORIGIN_LEFT) {
        if (now_ms() > end_ms)
            fail_msg("not left");
        pause_ms(5);
    }
}

static void on_left(struct at_leave *leave)
{
    at_mailbox_push(leave->ctx, &leave->mail, NULL);
}

/* B has written LEAVE, all have it, and B does not know that A has. */
static struct trio *trio_that_b_left(void)
{
    struct trio *t = trio_start();
    struct at_mailbox done;
    struct at_leave leave = {.done = on_left, .ctx = &done};

    at_mailbox_init(&done, 1);
    fake_write_entries(&t->m[B], 5, 10, 100);
    await_convergence(t, 50);
    while (!all_have_what_it_wrote(&t->m[B]))
        pause_ms(5);
    at_peering_cut(t->m[B].peering, t->m[A].id, true, true);
    at_peering_leave(t->m[B].peering, &leave);
    await_left(&t->m[A], B); /* from C */
    await_left(&t->m[C], B);
    assert_int_equal(mode_of(&t->m[B]), AT_MODE_LEAVING);
    fake_stop(&t->m[B]);
    assert_non_null(at_mailbox_wait(&done, PATIENCE_MS));
    assert_int_equal(leave.code, AT_CANCELLED);
    at_mailbox_deinit(&done);
    return t;
}

static void one_that_left_and_knows_nobody_that_stays_is_greeted_and_ends(void **state)
{
    (void)state;
    struct trio *t = trio_that_b_left();
    struct held_port held[FAKE_MEMBERS];
    uint16_t nowhere[FAKE_MEMBERS] = {0};

    for (uint32_t i = 0; i < FAKE_MEMBERS; i++) {
        held_port_take(&held[i]);
        nowhere[i] = held[i].port;
    }
    fake_stop(&t->m[A]); /* it has something of nobody */
    fake_start(&t->m[B], nowhere, false, WAIT_MS);
    pause_ms(500);
    assert_int_equal(mode_of(&t->m[B]), AT_MODE_LEAVING); /* A may not have it */
    fake_start(&t->m[A], t->ports, false, WAIT_MS);
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    while (mode_of(&t->m[B]) != AT_MODE_REMOVED) {
        if (now_ms() > end_ms)
            fail_msg("it still waits");
        pause_ms(5);
    }
    trio_free(t);
    for (uint32_t i = 0; i < FAKE_MEMBERS; i++)
        held_port_let_go(&held[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_left_and_knows_nobody_that_stays_is_greeted_and_ends),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0) /* a test that failed has left its threads running */
        at_peer_sockets_end();
    return failed;
}
