#include "support/model_fixture.h"

/* The schedules that broke earlier versions of the rules of membership, one test each. X is one
 * that joins. What needs rows to show is in tests/sim. */

static void H19_what_only_the_fenced_had_does_not_spread(void **state)
{
    (void)state;
    write_at(D);
    fence(B, D, false);
    assert_true(model_fence(&m, B, C));
    assert_true(model_fence(&m, B, A));
    assert_int_equal(model_exchange(&m, C, D, ENOUGH), -1);
    assert_int_equal(model_v(&m, C, D, 1), 0);
    assert_true(model_remove(&m, B));
    model_crash(&m, D);
    model_settle(&m);
    for (uint32_t n = A; n <= C; n++) {
        assert_int_equal(state_of(n, D), AT_ORIGIN_REMOVED);
        assert_int_equal(model_v(&m, n, D, 1), 0);
        assert_true(model_horizon(&m, n) > stamp_of(D, 1, 1));
    }
}

static void H19_a_fence_survives_a_restart(void **state)
{
    (void)state;
    write_at(D);
    fence(B, D, false);
    assert_true(model_fence(&m, B, C));
    model_crash(&m, C);
    model_start(&m, C, false);
    assert_int_equal(model_exchange(&m, C, D, ENOUGH), -1);
    pull(A, D);
    pull(C, A);
    assert_int_equal(model_v(&m, C, D, 1), 0); /* not by a third one either */
    model_crash(&m, D);
    assert_true(model_remove(&m, B)); /* A vouches for it */
    model_settle(&m);
    assert_int_equal(model_v(&m, B, D, 1), 1);
    assert_int_equal(model_v(&m, C, D, 1), 1);
}

static void H20_a_removed_member_holds_the_horizon_until_its_end_is_applied(void **state)
{
    (void)state;
    model_settle(&m);
    write_at(C);
    pull(B, C);
    model_crash(&m, C);
    fence(A, C, false);
    assert_true(model_remove(&m, A));
    assert_int_equal(state_of(A, C), AT_ORIGIN_REMOVED);
    time_passes(500);
    (void)model_idle(&m, B);
    assert_int_equal(model_exchange(&m, A, B, 0), 0); /* promises, no entries */
    (void)model_idle(&m, A);
    assert_true(model_horizon(&m, A) < stamp_of(C, 1, 1));
    pull(A, B);
    assert_int_equal(model_v(&m, A, C, 1), 1);
    time_passes(500);
    (void)model_idle(&m, A);
    model_settle(&m);
    assert_true(model_horizon(&m, A) > stamp_of(C, 1, 1));
}

static void H21_the_word_of_a_voucher_that_dies_too_is_void(void **state)
{
    (void)state;
    write_at(D);
    pull(C, D);
    model_crash(&m, D);
    fence(B, D, false);
    assert_true(model_remove(&m, B));
    model_crash(&m, C); /* the only one that had it */
    model_settle(&m);
    assert_true(model_horizon(&m, B) < stamp_of(D, 1, 1));
    fence(B, C, true);
    assert_true(model_remove(&m, B));
    model_settle(&m);
    assert_int_equal(model_v(&m, A, D, 1), 0);
    assert_true(model_horizon(&m, A) > stamp_of(D, 1, 1));
    assert_true(model_horizon(&m, B) > stamp_of(D, 1, 1));
}

static void H21_what_the_living_took_from_the_voucher_is_vouched_for_anew(void **state)
{
    (void)state;
    write_at(D);
    pull(C, D);
    model_crash(&m, D);
    fence(B, D, false);
    assert_true(model_remove(&m, B));
    pull(C, B); /* C learns the end, and gives B what D had */
    pull(B, C);
    assert_int_equal(model_v(&m, B, D, 1), 1);
    model_crash(&m, C);
    fence(B, C, true);
    assert_true(model_remove(&m, B));
    model_settle(&m);
    assert_int_equal(model_v(&m, A, D, 1), 1);
    assert_true(model_horizon(&m, A) > stamp_of(D, 1, 1));
}

static void H22_two_dead_are_removed_in_one_act(void **state)
{
    (void)state;
    write_at(A);
    pull(C, A);
    model_crash(&m, A);
    model_crash(&m, B);
    fence(C, A, true);
    assert_false(model_remove(&m, C)); /* B does not answer */
    fence(C, B, true);
    fence(D, A, true); /* and another one does the same */
    fence(D, B, true);
    assert_true(model_remove(&m, C));
    (void)model_remove(&m, D);
    model_settle(&m);
    for (uint32_t n = C; n <= D; n++) {
        assert_int_equal(state_of(n, A), AT_ORIGIN_REMOVED);
        assert_int_equal(state_of(n, B), AT_ORIGIN_REMOVED);
        assert_int_equal(model_v(&m, n, A, 1), 1);
        assert_true(model_horizon(&m, n) > stamp_of(A, 1, 1));
    }
}

static void H23_only_members_vouch(void **state)
{
    struct at_fence_answer answer = {.instance_id = 77, .from = {9}};
    struct at_member_id missing[AT_MEMBERS_MAX];
    struct at_fence asked;
    uint32_t count = 0;
    (void)state;

    model_crash(&m, C);
    fence(A, C, false);
    struct at_replica *a = model_replica(&m, A);
    assert_true(at_replica_fencing(a, &asked, missing, &count));
    answer.round = asked.round;
    at_replica_on_fence_answer(a, &answer);
    assert_true(at_replica_fencing(a, &asked, missing, &count));
    assert_int_equal(count, 1);
    assert_int_equal(missing[0].v, B + 1);
    answer.from.v = B + 1;
    answer.round = asked.round - 1; /* to an earlier question */
    at_replica_on_fence_answer(a, &answer);
    assert_true(at_replica_fencing(a, &asked, missing, &count) && count == 1);
    answer.round = asked.round;
    answer.members[0].id.v = 9; /* a member that A does not know must be asked as well */
    answer.member_count = 1;
    at_replica_on_fence_answer(a, &answer);
    assert_true(at_replica_fencing(a, &asked, missing, &count));
    assert_int_equal(count, 1);
    assert_int_equal(missing[0].v, 9);
    assert_int_equal(state_of(A, 8), AT_ORIGIN_KNOWN); /* and is no member by that */
}

static void leave_begins(uint32_t node)
{
    assert_int_equal(at_replica_leave_begin(model_replica(&m, node), NULL), AT_OK);
    model_commit(&m, node, true);
}

static void everyone_acknowledges(void)
{
    for (int i = 0; i < 3; i++)
        for (uint32_t n = 0; n < m.node_count; n++)
            for (uint32_t d = 0; d < m.node_count; d++)
                if (d != n && m.nodes[n].replica != NULL && m.nodes[d].replica != NULL)
                    pull(n, d);
}

static void H24_a_leaver_takes_nothing_after_LEAVE(void **state)
{
    (void)state;
    everyone_acknowledges();
    leave_begins(C);
    everyone_acknowledges();
    assert_false(model_leave(&m, C)); /* LEAVE is written, not yet known */
    assert_true(m.nodes[C].view.left);
    write_at(A);
    assert_int_equal(model_exchange(&m, C, A, ENOUGH), -1);
    assert_int_equal(model_v(&m, C, A, 1), 0);
    /* nor does a start open an epoch behind it */
    model_crash(&m, C);
    m.sync_commits = false;
    model_start(&m, C, false);
    m.sync_commits = true;
    assert_int_equal(m.nodes[C].view.epoch, 1);
    assert_true(m.nodes[C].view.left);
    pull(A, C);
    pull(B, C);
    assert_int_equal(state_of(A, C), AT_ORIGIN_LEFT);
    assert_true(model_leave(&m, C));
    model_settle(&m);
    assert_true(model_horizon(&m, A) > stamp_of(C, 1, 1));
}

static void H25_who_coordinates_a_removal_does_not_leave(void **state)
{
    struct at_member_id b = {B + 1};
    (void)state;

    fence(C, B, false);
    assert_int_equal(at_replica_leave_begin(model_replica(&m, C), NULL), AT_FAILED_PRECONDITION);
    leave_begins(A);
    assert_int_equal(at_replica_fence_begin(model_replica(&m, A), &b, 1, true, NULL),
                     AT_FAILED_PRECONDITION);
}

static void H26_a_leaver_stays_until_all_have_its_LEAVE(void **state)
{
    (void)state;
    everyone_acknowledges();
    leave_begins(B);
    everyone_acknowledges();
    assert_false(model_leave(&m, B));
    pull(C, B);
    assert_false(model_leave(&m, B)); /* A has it not */
    assert_int_equal(state_of(C, B), AT_ORIGIN_LEFT);
    assert_int_equal(mode_of(B), AT_MODE_LEAVING);
    pull(A, C); /* from a third one */
    assert_true(model_leave(&m, B));
    assert_int_equal(mode_of(B), AT_MODE_REMOVED);
}

static void H27_a_leaver_that_alone_has_entries_of_a_dead_one_does_not_leave(void **state)
{
    (void)state;
    everyone_acknowledges();
    write_at(D);
    pull(B, D);
    model_crash(&m, D);
    leave_begins(B);
    assert_false(at_replica_leave_ready(model_replica(&m, B)));
    pull(C, B);
    pull(C, B);
    assert_false(at_replica_leave_ready(model_replica(&m, B)));
    fence(A, D, false);
    assert_true(model_remove(&m, A)); /* B answers though it leaves */
    everyone_acknowledges();
    assert_int_equal(model_v(&m, A, D, 1), 1);
    assert_true(at_replica_leave_ready(model_replica(&m, B)));
}

static void H28_a_newcomer_writes_when_all_know_it(void **state)
{
    (void)state;
    write_at(B);
    everyone_acknowledges();
    uint32_t x = model_register(&m, A);
    assert_int_equal(mode_of(x), AT_MODE_INIT);
    assert_int_equal(model_exchange(&m, x, A, ENOUGH), -1); /* it is filled by a copy */
    assert_true(model_copy(&m, x, A));
    at_replica_set_caught_up(model_replica(&m, x));
    model_commit(&m, x, false);
    assert_false(model_join(&m, x)); /* B and C are apart */
    assert_false(model_write(&m, x, 1));
    pull(B, A);
    assert_false(model_join(&m, x));
    pull(C, B);
    assert_true(model_join(&m, x));
    write_at(x);
    assert_true(stamp_of(x, 1, 1) > stamp_of(A, 1, 1));
    pull(x, B);
    everyone_acknowledges();
    model_crash(&m, x);
    model_start(&m, x, false);
    assert_true(m.nodes[x].view.joined && m.nodes[x].view.caught_up);
    assert_int_equal(model_v(&m, C, x, 1), 1);
}

static void H28_a_newcomer_counts_at_once_for_trimming_and_horizon(void **state)
{
    (void)state;
    everyone_acknowledges();
    uint32_t x = model_register(&m, A);
    write_at(A);
    pull(B, A);
    everyone_acknowledges();
    assert_int_equal(at_replica_trim_bound(model_replica(&m, A), (struct at_member_id){A + 1}, 1),
                     0);
    uint64_t before = model_horizon(&m, A);
    model_crash(&m, x);
    time_passes(500);
    everyone_acknowledges();
    assert_true(model_horizon(&m, A) == before || model_horizon(&m, A) < stamp_of(A, 1, 2));
}

static void H29_a_registration_that_died_with_its_registrar_never_was(void **state)
{
    (void)state;
    everyone_acknowledges();
    uint32_t x = model_register(&m, A);
    model_crash(&m, A);
    fence(C, A, false);
    assert_true(model_remove(&m, C));
    pull(B, C);
    assert_false(model_join(&m, x));
    assert_int_equal(mode_of(x), AT_MODE_REMOVED);
    assert_int_not_equal(state_of(B, x), AT_ORIGIN_ACTIVE);
    assert_int_not_equal(state_of(C, x), AT_ORIGIN_ACTIVE);
    write_at(B);
    pull(C, B);
    model_settle(&m);
    assert_true(model_horizon(&m, C) > stamp_of(B, 1, 1));
}

static void H32_a_token_of_a_leaver_holds_the_leavers_own(void **state)
{
    struct at_token token;
    (void)state;

    everyone_acknowledges();
    leave_begins(B);
    everyone_acknowledges();
    assert_false(model_leave(&m, B));
    assert_true(m.nodes[B].view.left);
    model_token(&m, 1u << B, &token); /* apart from all others */
    assert_false(model_check(&m, 1u << A | 1u << C, &token));
    pull(C, B);
    assert_false(model_check(&m, 1u << A | 1u << C, &token));
    pull(A, B);
    assert_true(model_check(&m, 1u << A | 1u << C, &token));
    at_token_deinit(&token);
}

static void a_token_over_what_died_with_a_removed_member_is_cut(void **state)
{
    struct at_token token;
    (void)state;

    write_at(C);
    model_token(&m, 7, &token);
    assert_false(model_check(&m, 7, &token));
    model_crash(&m, C);
    assert_false(model_check(&m, 3, &token));
    fence(A, C, false);
    assert_true(model_remove(&m, A));
    everyone_acknowledges();
    assert_true(model_check(&m, 3, &token));
    at_token_deinit(&token);
}

static void a_minority_goes_on_only_by_word_and_as_another_instance(void **state)
{
    (void)state;
    write_at(B);
    pull(A, B);
    model_crash(&m, B);
    fence(A, B, false);
    assert_false(model_remove(&m, A));
    assert_true(m.nodes[A].view.instance_id == 77);
    fence(A, B, true);
    assert_true(model_remove(&m, A));
    uint64_t fork = m.nodes[A].view.instance_id;
    assert_true(fork != 77);
    assert_true(at_replica_view_is_instance(&m.nodes[A].view, fork));
    model_crash(&m, A);
    model_start(&m, A, false);
    assert_true(m.nodes[A].view.instance_id == fork);
    write_at(A);
    model_start(&m, B, false);
    assert_int_equal(model_exchange(&m, B, A, ENOUGH), -1);
    assert_int_equal(model_exchange(&m, A, B, ENOUGH), -1);
}

static void one_that_is_told_that_it_is_removed_writes_no_more(void **state)
{
    (void)state;
    fence(A, C, false);
    assert_true(model_fence(&m, A, B));
    assert_int_equal(model_exchange(&m, C, B, ENOUGH), -1);
    at_replica_told_removed(model_replica(&m, C), (struct at_member_id){B + 1});
    model_commit(&m, C, false);
    assert_int_equal(mode_of(C), AT_MODE_REMOVED);
    assert_false(model_write(&m, C, 1));
    model_crash(&m, C);
    model_start(&m, C, false);
    assert_int_equal(mode_of(C), AT_MODE_REMOVED);
}

static void a_closing_does_not_wait_for_one_that_was_removed(void **state)
{
    (void)state;
    m.sync_commits = false;
    write_at(A);
    pull(C, A);
    model_crash(&m, C);
    model_crash(&m, A);
    model_start(&m, A, true);
    model_close(&m, A);
    assert_true(m.nodes[A].view.closing); /* C does not answer */
    fence(B, C, false);
    assert_true(model_remove(&m, B));
    pull(A, B);
    assert_false(m.nodes[A].view.closing);
    model_settle(&m);
    assert_true(model_horizon(&m, B) > stamp_of(A, 1, 1)); /* nobody has it: it is lost */
    assert_int_equal(model_v(&m, B, A, 1), 0);
}

static void one_that_leaves_has_its_old_epochs_closed_and_is_not_the_last(void **state)
{
    (void)state;
    m.sync_commits = false;
    write_at(A);
    model_crash(&m, A);
    model_start(&m, A, true);
    assert_int_equal(at_replica_leave_begin(model_replica(&m, A), NULL), AT_FAILED_PRECONDITION);
    model_close(&m, A);
    leave_begins(A);
    assert_false(model_write(&m, A, 1));
    model_crash(&m, A);
    model_start(&m, A, false);
    assert_int_equal(mode_of(A), AT_MODE_LEAVING); /* it goes on */
    everyone_acknowledges();
    for (uint32_t n = A; n <= B; n++)
        model_commit(&m, n, true);
    model_close(&m, A);
    for (int i = 0; i < 3; i++) {
        everyone_acknowledges();
        for (uint32_t n = A; n <= B; n++)
            model_commit(&m, n, true);
        (void)model_leave(&m, A);
    }
    assert_int_equal(mode_of(A), AT_MODE_REMOVED);
    assert_int_equal(at_replica_leave_begin(model_replica(&m, B), NULL), AT_FAILED_PRECONDITION);
    write_at(B);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f, setup) cmocka_unit_test_setup_teardown(f, setup, done)
        TEST(H19_what_only_the_fenced_had_does_not_spread, sync_four),
        TEST(H19_a_fence_survives_a_restart, sync_four),
        TEST(H20_a_removed_member_holds_the_horizon_until_its_end_is_applied, sync_three),
        TEST(H21_the_word_of_a_voucher_that_dies_too_is_void, sync_four),
        TEST(H21_what_the_living_took_from_the_voucher_is_vouched_for_anew, sync_four),
        TEST(H22_two_dead_are_removed_in_one_act, sync_four),
        TEST(H23_only_members_vouch, sync_three),
        TEST(H24_a_leaver_takes_nothing_after_LEAVE, sync_three),
        TEST(H25_who_coordinates_a_removal_does_not_leave, sync_three),
        TEST(H26_a_leaver_stays_until_all_have_its_LEAVE, sync_three),
        TEST(H27_a_leaver_that_alone_has_entries_of_a_dead_one_does_not_leave, sync_four),
        TEST(H28_a_newcomer_writes_when_all_know_it, sync_three),
        TEST(H28_a_newcomer_counts_at_once_for_trimming_and_horizon, sync_three),
        TEST(H29_a_registration_that_died_with_its_registrar_never_was, sync_three),
        TEST(H32_a_token_of_a_leaver_holds_the_leavers_own, sync_three),
        TEST(a_token_over_what_died_with_a_removed_member_is_cut, sync_three),
        TEST(a_minority_goes_on_only_by_word_and_as_another_instance, sync_two),
        TEST(one_that_is_told_that_it_is_removed_writes_no_more, sync_three),
        TEST(a_closing_does_not_wait_for_one_that_was_removed, sync_three),
        TEST(one_that_leaves_has_its_old_epochs_closed_and_is_not_the_last, sync_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
