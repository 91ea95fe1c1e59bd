#include "sim/directed.h"

/* Each schedule that broke an earlier draft of the rules; then all come to rest. Here: members that
 * come and go, tokens, schema (H19-H37). */

static void H20_a_removed_member_holds_the_horizon_until_its_end_is_here(void **state)
{
    (void)state;
    begin(4, ALL);
    set(A, 0, 1);
    exchange(4);
    delete_row(C, 0);
    pull(B, C);
    die(C);
    remove_now(A, 1u << C);
    pull(B, A);
    set(B, 2, 2);
    sim_idle(w, D);
    pull(A, D);
    w->start_after = A + 1; /* B's own entry, and not C's */
    pull_some(A, B, 1);
    w->start_after = 0;
    assert_int_equal(has(A, C, 1), 0);
    sim_idle(w, A);
    forget(A);
    pull(A, B);
    end();
}

static void H19_what_only_the_removed_one_had_does_not_spread(void **state)
{
    (void)state;
    begin(4, ALL);
    set(D, 0, 1);
    w->removed_by_force |= 1u << D;
    sim_remove(w, B, 1u << D);
    sim_member_step(w, B);
    sim_deliver_due(w); /* A and C have fenced D and answered */
    pull(C, D);
    assert_int_equal(has(C, D, 1), 0);
    for (int i = 0; i < 4; i++) {
        sim_member_step(w, B);
        sim_deliver_due(w);
    }
    sim_idle(w, A);
    pull(B, A);
    forget(B);
    pull(B, C);
    end();
}

static void H21_the_word_of_a_dead_voucher_is_void(void **state)
{
    (void)state;
    begin(5, ALL);
    set(D, 0, 1);
    pull(C, D);
    die(D);
    w->cut[C] = ~(1u << B);
    for (uint32_t i = 0; i < 5; i++)
        w->cut[i] |= i == B ? 0 : 1u << C;
    remove_now(B, 1u << D);
    die(C);
    memset(w->cut, 0, sizeof(w->cut));
    remove_now(B, 1u << C);
    end();
}

static void H22_two_dead_are_removed_in_one_act_by_anyone(void **state)
{
    (void)state;
    begin(5, ALL);
    die(A);
    die(B);
    sim_remove(w, C, 1u << A | 1u << B);
    sim_remove(w, D, 1u << A | 1u << B);
    end();
}

static void H23_only_members_vouch(void **state)
{
    (void)state;
    begin(4, ALL);
    sim_join(w, B); /* cluster 4 */
    sim_copy_step(w, E);
    sim_deliver_due(w);
    die(B);
    remove_now(D, 1u << B);
    end();
}

/* Six, so that who is left is most of them. */
static void H24_a_leaver_takes_nothing_after_leave(void **state)
{
    (void)state;
    begin(6, ALL);
    exchange(6);
    sim_leave(w, C);
    exchange(6);
    set(D, 0, 1);
    pull(B, D);
    die(D);
    w->removed_by_force |= 1u << D;
    sim_remove(w, A, 1u << D);
    sim_member_step(w, C);
    assert_true(w->nodes[C].view.left);
    pull(C, B);
    assert_int_equal(has(C, D, 1), 0); /* or only C would have it, and vouch for it */
    die(B);
    end();
}

static void H25_a_leaver_writes_nothing_after_leave(void **state)
{
    (void)state;
    begin(4, ALL);
    w->removed_by_force |= 1u << B;
    sim_remove(w, C, 1u << B);
    sim_leave(w, C);
    end();
}

static void H26_a_leaver_stays_until_all_know(void **state)
{
    (void)state;
    begin(3, ALL);
    sim_leave(w, B);
    exchange(3);
    sim_member_step(w, B);
    pull(C, B);
    sim_member_step(w, B);
    assert_int_equal(w->nodes[B].state, SIM_UP); /* A has not heard of it */
    end();
}

static void steps(uint32_t node, int count)
{
    for (int i = 0; i < count && sim_up(w, node); i++) {
        sim_idle(w, node);
        sim_member_step(w, node);
        sim_deliver_due(w);
        good();
    }
}

static void H39_a_leaver_hears_when_all_that_it_knew_have_left(void **state)
{
    (void)state;
    begin(2, ALL);
    sim_leave(w, B);
    exchange(2);
    sim_member_step(w, B); /* LEAVE */
    pull(A, B);
    sim_node_crash(w, B, false);
    sim_join(w, A); /* cluster 2 */
    copy(C);
    exchange(3);
    steps(C, 4);
    sim_leave(w, A);
    exchange(3);
    steps(A, 1);
    pull(C, A);
    steps(A, 4);
    assert_int_equal(w->nodes[A].state, SIM_GONE);
    sim_node_start(w, B, false);
    steps(B, 4);
    assert_int_equal(w->nodes[B].state, SIM_UP); /* it asks A only */
    steps(C, 1);
    steps(B, 4);
    assert_int_equal(w->nodes[B].state, SIM_GONE);
    end();
}

static void H27_a_leaver_leaves_nothing_that_only_it_has(void **state)
{
    (void)state;
    begin(4, ALL);
    set(D, 0, 1);
    pull(B, D);
    die(D);
    sim_leave(w, B);
    sim_member_step(w, B);
    sim_deliver_due(w);
    assert_int_equal(w->nodes[B].view.left, false);
    remove_now(A, 1u << D);
    end();
}

static void H28_a_newcomer_writes_when_all_know_it(void **state)
{
    struct sim_op op = {.kind = SIM_OP_DROP, .ticks = 1, .table_generation = 1, .row_end = 3};
    (void)state;
    begin(2, ALL);
    sim_join(w, A); /* cluster 2 */
    w->cut[C] = 1u << B;
    w->cut[B] = 1u << C;
    copy(C);
    pull(C, A);
    for (int i = 0; i < 4; i++) {
        sim_member_step(w, C);
        sim_deliver_due(w);
    }
    assert_true(w->nodes[C].view.caught_up);
    assert_false(sim_write(w, C, &op, false));
    end();
}

static void H29_a_newcomer_whose_registrar_is_gone_never_was(void **state)
{
    (void)state;
    begin(3, ALL);
    sim_join(w, A); /* cluster 3 */
    die(A);
    remove_now(C, 1u << A);
    sim_rest(w);
    good();
    assert_int_equal(w->nodes[D].state, SIM_GONE);
    end();
}

static void H30_a_token_waits_for_members_that_had_no_say(void **state)
{
    (void)state;
    begin(2, ALL);
    set(A, 0, 1);
    w->cut[A] = 1u << B;
    w->cut[B] = 1u << A;
    sim_token_make(w, B);
    memset(w->cut, 0, sizeof(w->cut));
    assert_false(sim_token_try(w, B, 0));
    pull(B, A);
    assert_true(sim_token_try(w, B, 0));
    end();
}

static void H31_a_token_is_false_while_a_newcomer_is_empty(void **state)
{
    (void)state;
    begin(2, ALL);
    set(A, 0, 1);
    sim_token_make(w, A);
    pull(B, A);
    sim_join(w, A);
    assert_false(sim_token_try(w, B, 0));
    end();
}

static void H32_a_token_of_a_leaver_holds_what_it_wrote(void **state)
{
    (void)state;
    begin(3, ALL);
    set(B, 0, 1);
    sim_leave(w, B);
    sim_token_make(w, B);
    assert_false(sim_token_try(w, C, 0) && has(C, B, 1) == 0);
    end();
}

static void H33_data_that_overtakes_its_schema_is_kept(void **state)
{
    const enum at_family_type types[SIM_FAMILIES] = {AT_FAMILY_PLAIN, AT_FAMILY_SUM};
    struct sim_op op = {
        .kind = SIM_OP_ROW,
        .table = 1,
        .ticks = 1,
        .table_generation = 1,
        .mutation_count = 1,
        .mutations = {{.family = 1, .kind = AT_MUTATION_ADD, .family_generation = 1, .value = 7}}};
    (void)state;
    begin(3, ALL);
    assert_true(sim_create_table(w, A, 1, types));
    pull(B, A);
    assert_true(sim_write(w, B, &op, false));
    w->start_after = A + 1; /* B's entry, and not yet the table of A */
    pull_some(C, B, 1);
    w->start_after = 0;
    assert_int_equal(has(C, B, 1), 1);
    pull(C, A);
    struct sim_row_state row;
    sim_rows_read(w, C, 1, 0, &row);
    assert_true(row.cells[1][0][0].present);
    end();
}

static void H34_a_deleted_row_hides_families_its_cluster_did_not_know(void **state)
{
    struct sim_op op = {.kind = SIM_OP_CATALOG,
                        .ticks = 1,
                        .change_count = 1,
                        .changes = {{.is_family = true, .family = 2, .table_generation = 1}}};
    struct sim_op write = {.kind = SIM_OP_ROW,
                           .ticks = 1,
                           .table_generation = 1,
                           .mutation_count = 1,
                           .mutations = {{.family = 2, .family_generation = 3, .value = 7}}};
    (void)state;
    begin(2, ALL);
    op.changes[0].counter = 2;
    assert_true(sim_write(w, A, &op, false));
    pull(B, A);
    op.changes[0].counter = 3;
    assert_true(sim_write(w, B, &op, false));
    assert_true(sim_write(w, B, &write, false));
    w->now_ns += 100 * SIM_MS;
    delete_row(A, 0);
    exchange(2);
    struct sim_row_state row;
    sim_rows_read(w, B, 0, 0, &row);
    assert_false(row.cells[2][0][0].present);
    end();
}

static void H35_existence_is_decided_by_counters(void **state)
{
    const enum at_family_type types[SIM_FAMILIES] = {AT_FAMILY_PLAIN, AT_FAMILY_SUM};
    (void)state;
    begin(2, ALL);
    set(A, 0, 1); /* A: creates, writes, deletes, creates; B: deletes */
    assert_true(sim_delete_table(w, A, 0));
    assert_true(sim_create_table(w, A, 0, types));
    tick();
    assert_true(sim_delete_table(w, B, 0));
    exchange(2);
    end();
}

static void H36_a_late_write_does_not_show_in_a_table_made_anew(void **state)
{
    const enum at_family_type types[SIM_FAMILIES] = {AT_FAMILY_PLAIN, AT_FAMILY_SUM};
    (void)state;
    begin(2, ALL);
    assert_true(sim_delete_table(w, A, 0));
    w->now_ns += 50 * SIM_MS;
    set(B, 0, 1); /* it does not know of the drop */
    exchange(2);
    assert_true(sim_create_table(w, A, 0, types));
    exchange(2);
    struct sim_row_state row;
    sim_rows_read(w, B, 0, 0, &row);
    assert_false(row.cells[0][0][0].present);
    end();
}

static void H37_a_lost_tail_in_a_late_reply_does_not_make_a_token_true(void **state)
{
    (void)state;
    begin(3, NONE);
    for (uint32_t i = 0; i < 3; i++)
        sync(i);
    delete_row(A, 0);
    w->hold_answers = true;
    pull(B, A);
    w->hold_answers = false;
    lose(A);
    sim_token_make(w, C); /* A closes nothing yet: it counts as not reached */
    sim_let_go(w);
    assert_false(sim_token_try(w, B, 0));
    end();
}

static void H42_who_learns_by_a_copy_that_a_minority_went_on_goes_with_it(void **state)
{
    (void)state;
    begin(4, ALL);
    set(C, 0, 1);
    pull(A, C);
    pull(A, C);
    cap(C, C, 1); /* A has it, D has not */
    w->fork_side = 1u << C | 1u << D;
    for (uint32_t i = 0; i < w->node_count; i++)
        sim_fork_note(w, i);
    sim_remove_surviving(w, C, 1u << A | 1u << B, true);
    for (int i = 0; i < 4; i++) {
        sim_member_step(w, C);
        sim_deliver_due(w);
    }
    pull(D, C);
    assert_int_equal(w->nodes[D].view.mode, AT_MODE_NEEDS_COPY);
    copy(D);
    for (int i = 0; i < 4; i++) {
        pull(D, C);
        pull(C, D);
    }
    assert_true(w->nodes[C].view.instance_id != SIM_INSTANCE);
    assert_true(w->nodes[D].view.instance_id == w->nodes[C].view.instance_id);
    set(C, 1, 2);
    pull(D, C);
    assert_int_equal(has(D, C, 1), w->nodes[C].view.seq);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(H19_what_only_the_removed_one_had_does_not_spread),
        cmocka_unit_test(H20_a_removed_member_holds_the_horizon_until_its_end_is_here),
        cmocka_unit_test(H21_the_word_of_a_dead_voucher_is_void),
        cmocka_unit_test(H22_two_dead_are_removed_in_one_act_by_anyone),
        cmocka_unit_test(H23_only_members_vouch),
        cmocka_unit_test(H24_a_leaver_takes_nothing_after_leave),
        cmocka_unit_test(H25_a_leaver_writes_nothing_after_leave),
        cmocka_unit_test(H26_a_leaver_stays_until_all_know),
        cmocka_unit_test(H39_a_leaver_hears_when_all_that_it_knew_have_left),
        cmocka_unit_test(H27_a_leaver_leaves_nothing_that_only_it_has),
        cmocka_unit_test(H28_a_newcomer_writes_when_all_know_it),
        cmocka_unit_test(H29_a_newcomer_whose_registrar_is_gone_never_was),
        cmocka_unit_test(H30_a_token_waits_for_members_that_had_no_say),
        cmocka_unit_test(H31_a_token_is_false_while_a_newcomer_is_empty),
        cmocka_unit_test(H32_a_token_of_a_leaver_holds_what_it_wrote),
        cmocka_unit_test(H33_data_that_overtakes_its_schema_is_kept),
        cmocka_unit_test(H34_a_deleted_row_hides_families_its_cluster_did_not_know),
        cmocka_unit_test(H35_existence_is_decided_by_counters),
        cmocka_unit_test(H36_a_late_write_does_not_show_in_a_table_made_anew),
        cmocka_unit_test(H42_who_learns_by_a_copy_that_a_minority_went_on_goes_with_it),
        cmocka_unit_test(H37_a_lost_tail_in_a_late_reply_does_not_make_a_token_true),
    };
    /* To see that the steps get to where the hole was: ATOLL_MUTANT=<name>, in a build that has
     * deliberate bugs. */
    if (!at_mutant_set(getenv("ATOLL_MUTANT")))
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
