#include "support/model_fixture.h"

/* The schedules that broke earlier versions of the rules of copies, one test each. What needs rows
 * to show is in tests/sim. */

static void H10_a_copy_leaves_what_only_the_receiver_has(void **state)
{
    (void)state;
    write_at(C);
    pull(A, C);
    pull(A, C);
    model_cap(&m, C, C, 1);
    write_at(A);
    assert_int_equal(model_exchange(&m, B, A, 0), 0);
    struct at_buf question;
    struct at_buf answer;
    at_buf_init(&question, 65536);
    at_buf_init(&answer, 65536);
    model_pull(&m, B, &question);
    model_answer(&m, A, at_buf_slice(&question), 1, 0, &answer);
    assert_int_equal(model_take(&m, B, at_buf_slice(&answer)), 1); /* only y, of A */
    assert_int_equal(model_v(&m, B, A, 1), 1);
    model_crash(&m, A);
    time_passes(6000);
    pull(B, C);
    assert_int_equal(mode_of(B), AT_MODE_NEEDS_COPY);
    assert_true(model_copy(&m, B, C));
    assert_int_equal(mode_of(B), AT_MODE_READY);
    assert_int_equal(model_v(&m, B, A, 1), 1);
    assert_int_equal(model_v(&m, B, C, 1), 1);
    pull(C, B);
    assert_int_equal(model_v(&m, C, A, 1), 1);
    at_buf_deinit(&question);
    at_buf_deinit(&answer);
}

static void H11_two_sides_that_need_each_others_copy_both_get_it(void **state)
{
    (void)state;
    write_at(A);
    write_at(C);
    for (int i = 0; i < 2; i++) {
        pull(B, A);
        pull(A, B);
        pull(D, C);
        pull(C, D);
    }
    cap_all(A, A, B);
    cap_all(C, C, D);
    time_passes(6000);
    for (uint32_t n = A; n <= D; n++)
        for (uint32_t d = A; d <= D; d++)
            if (d != n)
                pull(n, d);
    assert_int_equal(mode_of(A), AT_MODE_NEEDS_COPY);
    assert_int_equal(mode_of(C), AT_MODE_NEEDS_COPY);
    assert_true(model_copy(&m, C, A));
    assert_true(model_copy(&m, A, C));
    assert_true(model_copy(&m, B, C));
    assert_true(model_copy(&m, D, A));
    for (uint32_t n = A; n <= D; n++) {
        assert_int_equal(mode_of(n), AT_MODE_READY);
        assert_int_equal(model_v(&m, n, A, 1), 1);
        assert_int_equal(model_v(&m, n, C, 1), 1);
    }
}

static void H13_H14_a_copy_that_ends_early_changed_nothing(void **state)
{
    (void)state;
    need_a_copy_at_b();
    assert_true(model_copy_begin(&m, B, A));
    model_crash(&m, A); /* the donor is gone */
    assert_int_equal(mode_of(B), AT_MODE_NEEDS_COPY);
    assert_int_equal(model_v(&m, B, A, 1), 0);
    assert_true(model_copy_begin(&m, B, C));
    model_crash(&m, B); /* and so is the receiver */
    model_start(&m, B, false);
    assert_int_equal(mode_of(B), AT_MODE_NEEDS_COPY);
    assert_true(model_copy(&m, B, C));
    assert_int_equal(model_v(&m, B, A, 1), 1);
    assert_int_equal(mode_of(B), AT_MODE_READY);
    assert_false(m.nodes[B].view.caught_up);
}

static void H17_nothing_is_pulled_while_a_copy_runs(void **state)
{
    (void)state;
    need_a_copy_at_b();
    write_at(C);
    assert_true(model_copy_begin(&m, B, A));
    assert_int_equal(model_exchange(&m, B, C, ENOUGH), -1);
    assert_false(model_write(&m, B, 1));
    assert_false(model_copy_begin(&m, A, B));
    model_copy_end(&m, B);
    assert_int_equal(model_exchange(&m, B, C, ENOUGH), 1);
}

static void H17_a_copy_is_dropped_before_a_close_or_a_fence_is_answered(void **state)
{
    struct at_close close = {.instance_id = 77, .origin = {C + 1}, .incarnation = 2};
    struct at_fence fence_of_c = {.instance_id = 77, .from = {A + 1}, .members = {{C + 1}}};
    struct at_fence_answer fence_answer;
    static struct at_close_answer close_answer;
    (void)state;

    fence_of_c.member_count = 1;
    need_a_copy_at_b();
    assert_true(model_copy_begin(&m, B, A));
    struct at_replica *b = model_replica(&m, B);
    assert_int_equal(at_replica_on_close(b, &close, &close_answer), AT_FAILED_PRECONDITION);
    assert_int_equal(at_replica_on_fence(b, &fence_of_c, &fence_answer), AT_FAILED_PRECONDITION);
    model_copy_drop(&m, B);
    assert_int_equal(at_replica_on_close(b, &close, &close_answer), AT_OK);
    assert_int_equal(at_replica_on_fence(b, &fence_of_c, &fence_answer), AT_OK);
    at_vector_deinit(&fence_answer.applied);
    at_positions_facts_deinit(&fence_answer.facts);
    /* and a fenced origin's CLOSE is not answered any more */
    assert_int_equal(at_replica_on_close(b, &close, &close_answer), AT_PERMISSION_DENIED);
}

static void H18_the_horizon_never_falls(void **state)
{
    (void)state;
    write_at(A);
    model_settle(&m);
    uint64_t before = model_horizon(&m, A);
    assert_true(before > stamp_of(A, 1, 1));
    uint32_t x = model_register(&m, A);
    (void)model_idle(&m, A);
    assert_true(model_horizon(&m, A) >= before);
    assert_true(model_copy(&m, x, A));
    assert_true(model_horizon(&m, x) >= before);
    model_crash(&m, A);
    model_start(&m, A, false);
    assert_true(model_horizon(&m, A) >= m.nodes[A].view.horizon);
    /* a donor that knows less does not lower it */
    struct at_copy_state low = {.horizon = 1};
    struct at_copy_rule rule = at_replica_copy_rule(model_replica(&m, x), &low);
    assert_true(rule.t == model_horizon(&m, x) && !rule.donor_side);
    low.horizon = rule.t;
    assert_true(at_replica_copy_rule(model_replica(&m, x), &low).donor_side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f, setup) cmocka_unit_test_setup_teardown(f, setup, done)
        TEST(H10_a_copy_leaves_what_only_the_receiver_has, sync_three),
        TEST(H11_two_sides_that_need_each_others_copy_both_get_it, sync_four),
        TEST(H13_H14_a_copy_that_ends_early_changed_nothing, sync_three),
        TEST(H17_nothing_is_pulled_while_a_copy_runs, sync_three),
        TEST(H17_a_copy_is_dropped_before_a_close_or_a_fence_is_answered, sync_three),
        TEST(H18_the_horizon_never_falls, sync_three),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
