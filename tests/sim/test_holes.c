#include "sim/directed.h"

/* Each schedule that broke an earlier draft of the rules; then all come to rest. Here: promises,
 * epochs, logs and copies (H1-H18); the others are in test_holes_members.c. */

static void H01_a_promise_counts_with_its_position(void **state)
{
    (void)state;
    begin(2, ALL);
    drop(A);
    set(A, 0, 1);
    pull_some(B, A, 1);
    forget(B);
    pull(B, A);
    end();
}

static void H02_nothing_is_promised_over_a_commit_under_way(void **state)
{
    struct sim_op op = {.kind = SIM_OP_DROP, .ticks = 1, .table_generation = 1, .row_end = 3};
    (void)state;
    begin(2, ALL);
    tick();
    assert_true(sim_write(w, A, &op, true));
    pull(B, A);
    forget(B);
    sim_commit(w, A, false);
    pull(B, A);
    end();
}

static void H03_a_promise_of_an_idle_clock_binds_after_a_crash(void **state)
{
    (void)state;
    begin(2, ALL);
    w->now_ns += 80 * SIM_MS;
    sim_idle(w, A);
    pull(B, A);
    w->nodes[A].offset_ns = -(int64_t)(300 * SIM_MS);
    restart(A, false);
    set(A, 0, 1); /* the world checks that its stamp is above all promises */
    end();
}

static void H04_a_new_epoch_promises_when_the_old_one_is_closed(void **state)
{
    (void)state;
    begin(2, NONE);
    set(A, 0, 1);
    set(A, 0, 2);
    restart(A, true);
    pull_some(B, A, 1);
    forget(B);
    pull(B, A);
    end();
}

static void H05_a_reply_of_the_old_process_is_void_once_the_epoch_is_closed(void **state)
{
    (void)state;
    begin(3, NONE);
    exchange(3);
    for (uint32_t i = 0; i < 3; i++)
        sync(i);
    set(A, 0, 1);
    w->hold_answers = true;
    pull(B, A);
    w->hold_answers = false;
    lose(A);
    close_epochs(A);
    exchange(3);
    sim_let_go(w);
    good();
    pull(C, A);
    forget(C);
    pull(C, B);
    end();
}

static void H06_a_number_has_one_meaning_after_a_lost_tail(void **state)
{
    (void)state;
    begin(2, NONE);
    sync(A);
    set(A, 0, 1);
    lose(A);
    set(A, 0, 2); /* in a new epoch: the world checks */
    end();
}

static void H07_an_epoch_that_left_the_vectors_is_not_let_in_again(void **state)
{
    (void)state;
    begin(3, NONE);
    restart(A, true);
    close_epochs(A);
    set(A, 0, 1); /* the first entry of epoch 2 */
    pull(B, A);
    w->hold_answers = true;
    pull(C, B); /* B's answer, with A's entry, comes late */
    w->hold_answers = false;
    pull(C, A);
    restart(A, true);
    close_epochs(A);
    for (uint32_t k = 0; k < 4; k++) {
        for (uint32_t i = 0; i < 3; i++) {
            sync(i);
            sim_trim(w, i);
        }
        exchange(3);
    }
    assert_int_equal(at_positions_facts_first_open(&w->nodes[C].view.facts, sim_id(A)), 3);
    forget(C);
    sim_let_go(w);
    good();
    pull(A, B);
    end();
}

static void H08_only_what_is_durable_is_acknowledged(void **state)
{
    (void)state;
    begin(3, 1u << C);
    for (uint32_t i = 0; i < 3; i++)
        sync(i);
    set(C, 0, 1);
    pull(B, C);
    sync(B);
    pull(A, C); /* not synced */
    pull(A, C);
    pull(B, C);
    sim_trim(w, C);
    lose(A);
    pull(A, C);
    assert_int_equal(has(A, C, 1), 1);
    end();
}

static void H09_a_reply_never_begins_above_the_askers_position(void **state)
{
    (void)state;
    begin(3, ALL);
    set(A, 0, 1);
    delete_row(A, 1);
    pull(B, A);
    pull(B, A);
    cap(B, A, 1);
    pull(C, B);
    assert_int_equal(has(C, A, 1), 1); /* the table only: a gap was told, nothing was sent */
    pull(C, A);
    end();
}

static void H10_the_only_copy_of_a_write_survives_a_copy(void **state)
{
    (void)state;
    begin(3, ALL);
    set(C, 0, 1);
    pull(A, C);
    pull(A, C);
    cap(C, C, 1);
    cap(A, C, 1);
    set(A, 1, 2);
    pull(B, A); /* it gets A's write, and a gap of C */
    pull(B, C);
    assert_int_equal(w->nodes[B].view.mode, AT_MODE_NEEDS_COPY);
    die(A);
    copy(B);
    pull(C, B);
    assert_int_equal(has(C, A, 1), 2);
    remove_now(B, 1u << A);
    end();
}

static void H11_two_sides_that_need_each_others_copy_both_get_it(void **state)
{
    (void)state;
    begin(4, ALL);
    set(A, 0, 1);
    pull(B, A);
    pull(B, A);
    cap(A, A, 1);
    cap(B, A, 1);
    set(C, 1, 2);
    pull(D, C);
    pull(D, C);
    cap(C, C, 1);
    cap(D, C, 1);
    for (uint32_t i = 0; i < 16; i++)
        pull(i / 4, i % 4);
    assert_int_equal(w->nodes[A].view.mode, AT_MODE_NEEDS_COPY);
    assert_int_equal(w->nodes[D].view.mode, AT_MODE_NEEDS_COPY);
    end();
}

/* C has x; A has forgotten x and the delete that hides it. */
/* B has x, C has y, D had both, nobody else has any, and no log holds them. B has forgotten what
 * the others have not. */
static void nobody_has_all(void)
{
    begin(4, ALL);
    set(A, 0, 1);
    exchange(4);
    delete_row(A, 0);
    exchange(4);
    forget(B);
    set(B, 1, 2);
    set(C, 2, 3);
    for (int i = 0; i < 2; i++) {
        pull(D, B);
        pull(D, C);
    }
    cap(B, B, 1);
    cap(C, C, 1);
    die(D);
    w->now_ns += 5000 * SIM_MS;
    for (uint32_t i = A; i <= C; i++)
        for (uint32_t k = A; k <= C; k++)
            if (i != k)
                pull(i, k);
}

static void H40_what_no_donor_has_alone_comes_from_several(void **state)
{
    (void)state;
    nobody_has_all();
    for (uint32_t i = A; i <= C; i++)
        assert_int_equal(w->nodes[i].view.mode, AT_MODE_NEEDS_COPY);
    uint64_t copies = w->stats.copies;
    copy(A);
    assert_int_equal(w->stats.copies, copies + 2);
    sim_rows_check(w, A, true);
    copy(B);
    copy(C);
    for (uint32_t i = A; i <= C; i++)
        sim_rows_check(w, i, true);
    end();
}

static void forgotten_at_a(void)
{
    begin(3, ALL);
    set(A, 0, 1);
    pull(C, A);
    pull(B, A);
    delete_row(B, 0);
    pull(A, B);
    pull(A, B);
    cap(A, B, 1);
    cap(B, B, 1);
    w->now_ns += 50 * SIM_MS;
    sim_idle(w, C);
    sim_idle(w, B);
    pull(A, C);
    pull(A, B);
    sim_idle(w, A);
    forget(A);
}

static void H12_a_copy_takes_what_is_old_from_one_side_only(void **state)
{
    (void)state;
    forgotten_at_a();
    pull(C, A);
    pull(C, B);
    assert_int_equal(w->nodes[C].view.mode, AT_MODE_NEEDS_COPY);
    copy(C);
    end();
}

static void H13_a_donor_lost_half_way_leaves_the_receiver_as_it_was(void **state)
{
    (void)state;
    begin(3, ALL);
    set(B, 2, 1);
    pull(A, B);
    pull(A, B);
    cap(A, B, 1);
    cap(B, B, 1);
    set(A, 0, 2);
    pull(C, A);
    pull(C, B);
    assert_int_equal(w->nodes[C].view.mode, AT_MODE_NEEDS_COPY);
    w->cut[C] = 1u << B;
    begin_copy(C);
    w->cut[C] = 0;
    assert_int_equal(w->nodes[C].copy.donor, A);
    die(A);
    sim_deliver_due(w);
    sim_copy_step(w, C);
    if (w->nodes[C].view.mode != AT_MODE_READY)
        copy(C);
    remove_now(C, 1u << A);
    end();
}

static void H14_a_copy_goes_on_within_one_snapshot_only(void **state)
{
    (void)state;
    begin(3, ALL);
    add(A, 0, 1);
    pull(B, A);
    pull(B, A);
    cap(B, A, 1);
    cap(A, A, 1);
    pull(C, B);
    pull(C, A);
    assert_int_equal(w->nodes[C].view.mode, AT_MODE_NEEDS_COPY);
    w->cut[C] = 1u << A;
    begin_copy(C);
    sim_drop_flights(w);
    restart(B, false);
    w->cut[C] = 0;
    add(A, 0, 2);
    pull(B, A);
    sim_copy_step(w, C); /* asks for the next record of a snapshot that is gone */
    sim_deliver_due(w);
    if (w->nodes[C].view.mode != AT_MODE_READY)
        copy(C);
    pull(C, A);
    end();
}

static void H15_forgetting_does_not_reach_into_a_pinned_snapshot(void **state)
{
    (void)state;
    begin(3, ALL);
    set(A, 0, 1);
    pull(C, A);
    delete_row(B, 0);
    pull(A, B);
    pull(A, B);
    cap(A, B, 1);
    cap(B, B, 1);
    pull(C, A);
    pull(C, B);
    w->hold_answers = true; /* the snapshot is pinned, the answer on its way */
    sim_copy_step(w, C);
    sim_deliver_due(w);
    w->hold_answers = false;
    exchange(2);
    forget(A);
    sim_let_go(w);
    if (w->nodes[C].view.mode != AT_MODE_READY)
        copy(C);
    end();
}

static void H16_a_marker_goes_with_all_that_it_covers(void **state)
{
    (void)state;
    begin(2, ALL);
    set(A, 0, 1);
    delete_row(A, 0);
    exchange(2);
    sim_compact(w, A);
    forget(A);
    forget(B);
    end();
}

static void H17_nothing_is_pulled_while_a_copy_runs(void **state)
{
    (void)state;
    begin(3, ALL);
    set(A, 0, 1);
    delete_row(A, 0);
    pull(B, A);
    pull(B, A);
    cap(B, A, 1);
    w->hold_answers = true;
    sim_ask_pull(w, C, A); /* an answer that comes in the middle of the copy */
    sim_deliver_due(w);
    w->hold_answers = false;
    exchange(2);
    forget(B);
    w->cut[C] = 1u << A; /* it can't know that A would serve it */
    w->cut[A] = 1u << C;
    pull(C, B);
    assert_int_equal(w->nodes[C].view.mode, AT_MODE_NEEDS_COPY);
    begin_copy(C);
    sim_let_go(w);
    if (w->nodes[C].view.mode != AT_MODE_READY)
        copy(C);
    memset(w->cut, 0, sizeof(w->cut));
    pull(C, A);
    end();
}

static void H18_the_horizon_never_falls(void **state)
{
    (void)state;
    begin(3, ALL);
    add(C, 0, 1);
    pull(B, C);
    delete_row(A, 0);
    add(B, 0, 2);
    pull(A, B);
    pull(A, C);
    pull(A, B);
    cap(A, B, 1);
    cap(A, C, 1);
    sim_join(w, C);
    exchange(3);
    forget(A);
    pull(A, C); /* learns the newcomer, that has promised nothing: the world checks F */
    sim_idle(w, A);
    end();
}

static void set_back(uint32_t node)
{
    sim_set_back(w, node);
    assert_int_equal(w->nodes[node].state, SIM_DOWN);
    w->now_ns += 1000 * SIM_MS; /* beyond all that it said */
    sim_node_start(w, node, true);
    assert_true(sim_up(w, node));
    good();
}

static void H43_one_that_was_set_back_begins_no_epoch_twice(void **state)
{
    (void)state;
    begin(3, ALL);
    exchange(3);
    sim_past_keep(w, A);
    set(A, 0, 1);
    exchange(3);
    restart(A, true);
    close_epochs(A);
    set(A, 0, 2);
    exchange(3);
    for (uint32_t i = 0; i < 3; i++)
        sim_trim(w, i);
    exchange(3); /* the first epoch leaves the vectors */
    const struct at_positions_facts *facts = &w->nodes[B].view.facts;
    assert_int_equal(at_positions_facts_first_open(facts, sim_id(A)), 2);
    set_back(A);
    assert_int_equal(w->nodes[A].view.epoch, 2);
    sim_ask_close(w, A);
    sim_deliver_due(w);
    assert_int_equal(w->nodes[A].view.epoch, 3);
    close_epochs(A);
    pull(A, B);
    pull(A, C); /* nobody has its old entries in a log */
    assert_int_equal(w->nodes[A].view.mode, AT_MODE_NEEDS_COPY);
    copy(A);
    assert_int_equal(has(A, A, 1), has(B, A, 1));
    assert_int_equal(has(A, A, 2), 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(H01_a_promise_counts_with_its_position),
        cmocka_unit_test(H02_nothing_is_promised_over_a_commit_under_way),
        cmocka_unit_test(H03_a_promise_of_an_idle_clock_binds_after_a_crash),
        cmocka_unit_test(H04_a_new_epoch_promises_when_the_old_one_is_closed),
        cmocka_unit_test(H05_a_reply_of_the_old_process_is_void_once_the_epoch_is_closed),
        cmocka_unit_test(H06_a_number_has_one_meaning_after_a_lost_tail),
        cmocka_unit_test(H07_an_epoch_that_left_the_vectors_is_not_let_in_again),
        cmocka_unit_test(H08_only_what_is_durable_is_acknowledged),
        cmocka_unit_test(H09_a_reply_never_begins_above_the_askers_position),
        cmocka_unit_test(H10_the_only_copy_of_a_write_survives_a_copy),
        cmocka_unit_test(H11_two_sides_that_need_each_others_copy_both_get_it),
        cmocka_unit_test(H40_what_no_donor_has_alone_comes_from_several),
        cmocka_unit_test(H12_a_copy_takes_what_is_old_from_one_side_only),
        cmocka_unit_test(H13_a_donor_lost_half_way_leaves_the_receiver_as_it_was),
        cmocka_unit_test(H14_a_copy_goes_on_within_one_snapshot_only),
        cmocka_unit_test(H15_forgetting_does_not_reach_into_a_pinned_snapshot),
        cmocka_unit_test(H16_a_marker_goes_with_all_that_it_covers),
        cmocka_unit_test(H17_nothing_is_pulled_while_a_copy_runs),
        cmocka_unit_test(H18_the_horizon_never_falls),
        cmocka_unit_test(H43_one_that_was_set_back_begins_no_epoch_twice),
    };
    /* To see that the steps get to where the hole was: ATOLL_MUTANT=<name>, in a build that has
     * deliberate bugs. */
    if (!at_mutant_set(getenv("ATOLL_MUTANT")))
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
