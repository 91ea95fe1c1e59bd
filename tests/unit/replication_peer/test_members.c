#include "replication/origin.h"
#include "support/nng_leaks.h"
#include "unit/replication_peer/fake_trio.h"

/* Copies, joining, leaving, forced removal and moving, over real sockets. */

static struct at_replica_view view_of(struct fake_member *m)
{
    struct at_replica_view view;

    at_replica_view_init(&view);
    fake_port_view(m, &view);
    return view;
}

static enum at_replica_mode mode_of(struct fake_member *m)
{
    struct at_replica_view view = view_of(m);
    enum at_replica_mode mode = view.mode;
    at_replica_view_deinit(&view);
    return mode;
}

static void await_filled(struct fake_member *m)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;

    for (;;) {
        struct at_replica_view view = view_of(m);
        bool filled = view.mode == AT_MODE_READY && view.caught_up && view.joined;
        at_replica_view_deinit(&view);
        if (filled)
            return;
        if (now_ms() > end_ms)
            fail_msg("not filled");
        pause_ms(5);
    }
}

/* The third member starts as a newcomer that has nothing; the others know it. */
static struct trio *trio_with_newcomer(void)
{
    struct trio *t = trio_new();

    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    fake_start(&t->m[1], t->ports, false, WAIT_MS);
    fake_write_entries(&t->m[0], 50, 10, 100);
    fake_write_entries(&t->m[1], 50, 10, 100);
    pause_ms(300);
    t->m[2].newcomer = true;
    t->m[2].join_hlc = fake_wall_ns();
    return t;
}

static void a_newcomer_is_filled_and_joins(void **state)
{
    (void)state;
    struct trio *t = trio_with_newcomer();
    struct at_member_progress all[AT_MEMBERS_MAX];

    fake_start(&t->m[2], t->ports, false, WAIT_MS);
    await_filled(&t->m[2]);
    assert_int_equal(atomic_load(&t->m[0].chunks_read) + atomic_load(&t->m[1].chunks_read),
                     FAKE_PARTS * FAKE_PART_CHUNKS);
    fake_write_entries(&t->m[2], 10, 10, 100);
    await_convergence(t, 1100);
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    bool told = false;
    for (; !told && now_ms() < end_ms; pause_ms(5)) {
        told = at_peering_progress(t->m[0].peering, all, AT_MEMBERS_MAX) == 3 - 1;
        for (int i = 0; told && i < 2; i++)
            told = all[i].caught_up && all[i].mode == AT_MODE_READY;
    }
    assert_true(told);
    trio_free(t);
}

static void a_donor_that_fails_midway_is_left_for_another(void **state)
{
    (void)state;
    static const uint32_t lies[] = {FAKE_CHUNK_FAILS, FAKE_SAME_CURSOR};

    for (int i = 0; i < 2; i++) {
        struct trio *t = trio_with_newcomer();
        atomic_store(&t->m[0].lie, lies[i]);
        fake_start(&t->m[2], t->ports, false, WAIT_MS);
        uint64_t end_ms = now_ms() + PATIENCE_MS;
        while (mode_of(&t->m[2]) != AT_MODE_READY && now_ms() < end_ms) {
            pause_ms(20);
            if (atomic_load(&t->m[2].sinks_aborted) > 0)
                atomic_store(&t->m[0].lie, FAKE_HONEST);
        }
        await_filled(&t->m[2]);
        await_convergence(t, 1000);
        trio_free(t);
    }
}

static void a_donor_that_dies_midway_changes_nothing(void **state)
{
    (void)state;
    struct trio *t = trio_with_newcomer();

    fake_start(&t->m[2], t->ports, false, WAIT_MS);
    while (atomic_load(&t->m[0].chunks_read) + atomic_load(&t->m[1].chunks_read) < 3)
        pause_ms(1);
    int dying = atomic_load(&t->m[0].chunks_read) > 0 ? 0 : 1;
    fake_stop(&t->m[dying]);
    fake_start(&t->m[dying], t->ports, false, WAIT_MS);
    await_filled(&t->m[2]);
    await_convergence(t, 1000);
    trio_free(t);
}

static void on_left(struct at_leave *leave)
{
    at_mailbox_push(leave->ctx, &leave->mail, NULL);
}

static void on_removed(struct at_remove *remove)
{
    at_mailbox_push(remove->ctx, &remove->mail, NULL);
}

static void a_member_leaves_when_all_have_what_it_has(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct at_mailbox done;
    struct at_leave leave = {.done = on_left, .ctx = &done};

    at_mailbox_init(&done, 1);
    fake_write_entries(&t->m[2], 20, 10, 100);
    await_convergence(t, 200);
    fake_stop(&t->m[1]);
    at_peering_leave(t->m[2].peering, &leave);
    assert_null(at_mailbox_wait(&done, 1500)); /* one of them is away */
    fake_start(&t->m[1], t->ports, false, WAIT_MS);
    assert_non_null(at_mailbox_wait(&done, PATIENCE_MS));
    assert_int_equal(leave.code, AT_OK);
    assert_int_equal(mode_of(&t->m[2]), AT_MODE_REMOVED);
    for (int i = 0; i < 2; i++) {
        struct at_replica_view view = view_of(&t->m[i]);
        assert_int_equal(view.members[2].state, AT_ORIGIN_LEFT);
        at_replica_view_deinit(&view);
    }
    fake_stop(&t->m[2]);
    struct at_link_status links[AT_MEMBERS_MAX];
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    while (at_peering_links(t->m[0].peering, links, AT_MEMBERS_MAX) != 1 && now_ms() < end_ms)
        pause_ms(5);
    assert_int_equal(at_peering_links(t->m[0].peering, links, AT_MEMBERS_MAX), 1);
    fake_write_entries(&t->m[0], 5, 10, 100);
    await_convergence(t, 50);
    at_mailbox_deinit(&done);
    trio_free(t);
}

static void a_dead_member_is_removed_by_the_majority(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct at_mailbox done;
    struct at_remove remove = {
        .members = {{3}}, .member_count = 1, .timeout_ms = 700, .done = on_removed, .ctx = &done};

    at_mailbox_init(&done, 1);
    fake_write_entries(&t->m[2], 20, 10, 100);
    await_convergence(t, 200);
    fake_stop(&t->m[2]);
    fake_stop(&t->m[1]);
    at_peering_remove(t->m[0].peering, &remove);
    assert_non_null(at_mailbox_wait(&done, PATIENCE_MS));
    assert_int_equal(remove.code, AT_DEADLINE_EXCEEDED); /* it goes on */
    fake_start(&t->m[1], t->ports, false, WAIT_MS);
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    bool removed = false;
    while (!removed && now_ms() < end_ms) {
        struct at_replica_view view = view_of(&t->m[0]);
        removed = view.members[2].state == AT_ORIGIN_REMOVED;
        at_replica_view_deinit(&view);
        pause_ms(5);
    }
    assert_true(removed);
    at_mailbox_deinit(&done);
    trio_free(t);
}

static void a_member_that_has_moved_is_found_again(void **state)
{
    (void)state;
    struct trio *t = trio_start();

    fake_write_entries(&t->m[0], 5, 10, 100);
    await_convergence(t, 50);
    fake_stop(&t->m[2]);
    struct held_port before = t->held[2];
    held_port_take(&t->held[2]);
    t->m[2].port = t->ports[2] = t->held[2].port;
    fake_start(&t->m[2], t->ports, false, WAIT_MS);
    fake_write_entries(&t->m[2], 5, 10, 100); /* others must find it to pull this */
    await_convergence(t, 100);
    held_port_let_go(&before);
    trio_free(t);
}

static void a_member_can_be_driven_by_hand(void **state)
{
    (void)state;
    struct trio *t = trio_with_newcomer();
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    bool filled = false;

    t->m[2].manual = true;
    fake_start(&t->m[2], t->ports, false, WAIT_MS);
    pause_ms(50);
    assert_int_equal(mode_of(&t->m[2]), AT_MODE_INIT); /* nothing happens by itself */
    while (!filled && now_ms() < end_ms) {
        assert_true(at_peering_turn(t->m[2].peering) > 0);
        struct at_replica_view view = view_of(&t->m[2]);
        filled =
            view.mode == AT_MODE_READY && view.caught_up && view.joined && view.applied.count > 1;
        at_replica_view_deinit(&view);
        pause_ms(1);
    }
    assert_true(filled);
    pthread_mutex_lock(&t->m[2].lock);
    struct at_peering *peering = AT_TAKE(t->m[2].peering);
    pthread_mutex_unlock(&t->m[2].lock);
    for (int i = 0; i < 200; i++, pause_ms(1)) /* the writer gives back what it holds */
        (void)at_peering_turn(peering);
    pthread_mutex_lock(&t->m[2].lock);
    t->m[2].peering = peering;
    pthread_mutex_unlock(&t->m[2].lock);
    trio_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newcomer_is_filled_and_joins),
        cmocka_unit_test(a_donor_that_fails_midway_is_left_for_another),
        cmocka_unit_test(a_donor_that_dies_midway_changes_nothing),
        cmocka_unit_test(a_member_leaves_when_all_have_what_it_has),
        cmocka_unit_test(a_dead_member_is_removed_by_the_majority),
        cmocka_unit_test(a_member_that_has_moved_is_found_again),
        cmocka_unit_test(a_member_can_be_driven_by_hand),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0) /* a test that failed has left its threads running */
        at_peer_sockets_end();
    return failed;
}
