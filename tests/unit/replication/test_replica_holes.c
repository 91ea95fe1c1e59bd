#include "support/model_fixture.h"

/* The schedules that broke earlier versions of the rules, one test each. A, B, C are nodes 0..2.
 * The model fails a test when an entry at or below a horizon is applied. */

#define ALL 7u

static void H1_a_promise_does_not_count_before_its_position_is_applied(void **state)
{
    (void)state;
    assert_true(model_write(&m, A, 1));
    time_passes(1);
    assert_true(model_write(&m, A, 1));
    time_passes(1);
    (void)model_idle(&m, A);
    time_passes(1);
    assert_int_equal(model_exchange(&m, B, A, 1), 1);
    (void)model_idle(&m, B);
    assert_true(model_horizon(&m, B) < stamp_of(A, 1, 2));
    assert_int_equal(model_exchange(&m, B, A, 1), 1);
    assert_true(model_horizon(&m, B) >= stamp_of(A, 1, 2));
}

static void H2_a_promise_made_while_a_commit_is_in_flight_is_below_its_stamps(void **state)
{
    struct at_buf question;
    struct at_buf answer;
    (void)state;

    struct at_replica *a = model_replica(&m, A);
    uint64_t hlc = at_replica_issue(a, 3, model_wall(&m, A));
    time_passes(5);
    at_buf_init(&question, 65536);
    at_buf_init(&answer, 65536);
    model_pull(&m, B, &question);
    /* the reply is made from the view, which is of before the commit */
    const struct at_positions_facts *f = &m.nodes[A].view.facts;
    for (uint32_t i = 0; i < f->promise_count; i++)
        assert_true(f->promises[i].origin.v != A + 1 || f->promises[i].hlc < hlc);
    assert_int_equal(at_replica_append(a, hlc + 2).seq, 1);
    at_buf_deinit(&question);
    at_buf_deinit(&answer);
}

static void H3_the_promise_of_an_idle_clock_is_reserved(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        time_passes(37);
        (void)model_idle(&m, A);
    }
    uint64_t promised = m.nodes[A].promise_max;
    assert_true(promised >= m.now_ns - 2 * 37 * MODEL_MS);
    m.nodes[A].offset_ns = -3600 * 1000 * (int64_t)MODEL_MS;
    model_crash(&m, A);
    model_start(&m, A, true);
    m.nodes[B].offset_ns = m.nodes[A].offset_ns;
    assert_true(model_write(&m, A, 1)); /* the model checks it against the promise */
    assert_true(stamp_of(A, 1, 1) > promised);
}

static void H4_no_promise_in_a_new_epoch_before_the_old_ones_are_closed(void **state)
{
    (void)state;
    assert_true(model_write(&m, A, 1));
    assert_true(model_write(&m, A, 1));
    model_crash(&m, A);
    model_start(&m, A, false);
    assert_true(m.nodes[A].view.closing);
    uint64_t before = model_horizon(&m, B);
    time_passes(200);
    (void)model_idle(&m, A);
    (void)model_idle(&m, B);
    assert_int_equal(model_exchange(&m, B, A, 1), 1);
    assert_true(model_horizon(&m, B) == before);
    model_close(&m, A);
    assert_false(m.nodes[A].view.closing);
    assert_int_equal(model_exchange(&m, B, A, 0), 0); /* the promise, no entries */
    assert_true(model_horizon(&m, B) < stamp_of(A, 1, 2));
    assert_int_equal(model_exchange(&m, B, A, ENOUGH), 1);
    (void)model_exchange(&m, A, B, ENOUGH);
    time_passes(200);
    (void)model_idle(&m, B);
    assert_true(model_horizon(&m, B) >= stamp_of(A, 1, 2));
}

static void H5_a_reply_of_the_old_process_is_dropped_once_its_epoch_is_closed(void **state)
{
    struct at_buf question;
    struct at_buf late;
    (void)state;

    at_buf_init(&question, 65536);
    at_buf_init(&late, 65536);
    assert_true(model_write(&m, A, 1)); /* not synced */
    model_pull(&m, B, &question);
    model_answer(&m, A, at_buf_slice(&question), ENOUGH, 0, &late);
    model_crash(&m, A);
    model_start(&m, A, true);
    model_close(&m, A);
    assert_false(m.nodes[A].view.closing);
    assert_int_equal(model_exchange(&m, C, B, ENOUGH), 0);
    assert_int_equal(model_take(&m, B, at_buf_slice(&late)), -1);
    assert_int_equal(model_v(&m, B, A, 1), 0);
    at_buf_deinit(&question);
    at_buf_deinit(&late);
}

static void H5_a_reply_that_came_before_the_close_is_vouched_for(void **state)
{
    (void)state;
    assert_true(model_write(&m, A, 1)); /* not synced */
    assert_int_equal(model_exchange(&m, B, A, ENOUGH), 1);
    model_crash(&m, A);
    model_start(&m, A, true);
    model_close(&m, A);
    assert_int_equal(model_exchange(&m, A, B, ENOUGH), 1); /* its own entry comes back */
    model_settle(&m);
    assert_int_equal(model_v(&m, C, A, 1), 1);
    assert_true(model_horizon(&m, C) > stamp_of(A, 1, 1));
}

static void H6_a_sequence_number_never_gets_a_second_meaning(void **state)
{
    (void)state;
    assert_true(model_write(&m, A, 1));
    model_crash(&m, A);
    model_start(&m, A, true);
    assert_true(model_write(&m, A, 1));
    assert_int_equal(m.nodes[A].view.epoch, 2);
    assert_int_equal(m.nodes[A].view.seq, 1);
    assert_int_equal(model_v(&m, A, A, 1), 0);
}

static void H7_an_epoch_that_left_the_vector_does_not_come_in_again(void **state)
{
    struct at_buf question;
    struct at_buf late;
    (void)state;

    at_buf_init(&question, 65536);
    at_buf_init(&late, 65536);
    assert_true(model_write(&m, A, 1));
    model_commit(&m, A, true);
    (void)model_exchange(&m, B, A, ENOUGH);
    model_pull(&m, A, &question);
    model_crash(&m, A);
    model_start(&m, A, false);
    model_pull(&m, C, &question);
    at_buf_clear(&question);
    model_pull(&m, C, &question);
    model_answer(&m, B, at_buf_slice(&question), ENOUGH, 0, &late);
    model_settle(&m);
    for (uint32_t n = A; n <= C; n++) {
        assert_int_equal(
            at_positions_facts_first_open(&m.nodes[n].view.facts, (struct at_member_id){A + 1}), 2);
        assert_int_equal(at_vector_get(&m.nodes[n].view.applied, (struct at_member_id){A + 1}, 1),
                         0);
    }
    assert_int_equal(model_take(&m, C, at_buf_slice(&late)), 0);
    assert_int_equal(model_v(&m, C, A, 1), 1);
    at_buf_deinit(&question);
    at_buf_deinit(&late);
}

static void H7_the_end_of_an_epoch_that_left_the_vector_survives_a_restart(void **state)
{
    (void)state;
    assert_true(model_write(&m, A, 1));
    model_commit(&m, A, true);
    (void)model_exchange(&m, B, A, ENOUGH);
    model_crash(&m, A);
    model_start(&m, A, false);
    model_settle(&m);
    model_crash(&m, C);
    model_start(&m, C, false);
    const struct at_positions_facts *f = &m.nodes[C].view.facts;
    assert_int_equal(at_positions_facts_first_open(f, (struct at_member_id){A + 1}), 2);
    assert_int_equal(f->end_count, 1);
    assert_int_equal(f->ends[0].end, 1);
}

static void H8_only_what_is_durable_is_acknowledged(void **state)
{
    struct at_token token;
    (void)state;

    assert_true(model_write(&m, B, 1));
    model_commit(&m, B, true);
    assert_int_equal(model_exchange(&m, A, B, ENOUGH), 1); /* applied, not synced */
    (void)model_exchange(&m, A, B, ENOUGH);                /* and said so */
    assert_int_equal(at_replica_trim_bound(model_replica(&m, B), (struct at_member_id){B + 1}, 1),
                     0);
    model_token(&m, 3, &token); /* syncs, as the answer to a survey does */
    assert_true(model_check(&m, 3, &token));
    (void)model_exchange(&m, A, B, ENOUGH);
    assert_int_equal(at_replica_trim_bound(model_replica(&m, B), (struct at_member_id){B + 1}, 1),
                     1);
    at_token_deinit(&token);
}

static void H8_an_unsynced_tail_that_is_lost_is_pulled_again(void **state)
{
    (void)state;
    assert_true(model_write(&m, B, 1));
    model_commit(&m, B, true);
    assert_int_equal(model_exchange(&m, A, B, ENOUGH), 1);
    (void)model_exchange(&m, A, B, ENOUGH);
    model_trim(&m, B);
    model_crash(&m, A);
    model_start(&m, A, true);
    assert_int_equal(model_v(&m, A, B, 1), 0);
    assert_int_equal(model_exchange(&m, A, B, ENOUGH), 1);
}

static void H9_a_reply_never_starts_above_the_askers_position(void **state)
{
    (void)state;
    assert_true(model_write(&m, A, 1));
    assert_true(model_write(&m, A, 1));
    assert_int_equal(model_exchange(&m, B, A, ENOUGH), 2);
    struct at_replica *b = model_replica(&m, B);
    at_replica_trimmed(b, (struct at_position){{A + 1}, 1, 1});
    model_commit(&m, B, false);
    assert_int_equal(model_exchange(&m, C, B, ENOUGH), 0);
    assert_int_equal(model_v(&m, C, A, 1), 0);
    struct at_entry e = {.seq = 2, .hlc = stamp_of(A, 1, 2), .ticks = 1};
    assert_int_equal(at_replica_admit(model_replica(&m, C), (struct at_position){{A + 1}, 1, 2}, &e,
                                      model_wall(&m, C)),
                     AT_ADMIT_STOP);
}

static void H30_a_token_made_without_a_member_waits_for_its_present_end(void **state)
{
    struct at_token token;
    (void)state;

    assert_true(model_write(&m, A, 1));
    model_token(&m, 1u << B, &token); /* A and B apart */
    assert_false(model_check(&m, 1u << B, &token));
    assert_false(model_check(&m, 3, &token));
    assert_int_equal(model_exchange(&m, B, A, ENOUGH), 1);
    assert_true(model_check(&m, 3, &token));
    at_token_deinit(&token);
}

static void H31_a_member_the_checker_does_not_know_keeps_a_token_false(void **state)
{
    struct at_token token;
    struct at_vector_answer a = {.ready = true, .member_count = 3, .members = {{1}, {2}, {9}}};
    struct at_vector_answer b = {.ready = true, .member_count = 2, .members = {{1}, {2}}};
    const struct at_vector_answer *answers[] = {&a, &b};
    const struct at_member_id members[] = {{1}, {2}};
    (void)state;

    at_token_init(&token);
    at_token_note(&token, members[0], &b);
    at_token_note(&token, members[1], &b);
    assert_false(at_token_check(&token, members, answers, 2));
    a.member_count = 2;
    assert_true(at_token_check(&token, members, answers, 2));
    at_token_deinit(&token);
}

static void H37_a_member_with_old_epochs_open_counts_as_not_reached(void **state)
{
    struct at_buf question;
    struct at_buf late;
    struct at_token token;
    (void)state;

    at_buf_init(&question, 65536);
    at_buf_init(&late, 65536);
    assert_true(model_write(&m, A, 1)); /* not synced */
    model_pull(&m, B, &question);
    model_answer(&m, A, at_buf_slice(&question), ENOUGH, 0, &late);
    model_crash(&m, A);
    model_start(&m, A, true);
    model_token(&m, ALL, &token);
    assert_int_equal(token.not_reached_count, 1);
    assert_int_equal(model_take(&m, B, at_buf_slice(&late)), 1); /* the tail lives on */
    assert_false(model_check(&m, ALL, &token));                  /* A is still closing */
    model_close(&m, A);
    assert_false(model_check(&m, ALL, &token)); /* and lacks its own entry */
    assert_int_equal(model_exchange(&m, A, B, ENOUGH), 1);
    assert_false(model_check(&m, ALL, &token)); /* and so does C */
    assert_int_equal(model_exchange(&m, C, B, ENOUGH), 1);
    assert_true(model_check(&m, ALL, &token));
    at_token_deinit(&token);
    at_buf_deinit(&question);
    at_buf_deinit(&late);
}

static void
H37_the_end_of_a_closed_epoch_is_in_the_token_though_its_holder_is_not_reached(void **state)
{
    struct at_token token;
    (void)state;

    assert_true(model_write(&m, A, 1)); /* not synced */
    assert_int_equal(model_exchange(&m, B, A, ENOUGH), 1);
    model_crash(&m, A);
    model_start(&m, A, true);
    model_close(&m, A);
    model_token(&m, 1u << A | 1u << C, &token); /* only B has the entry */
    assert_false(model_check(&m, ALL, &token));
    assert_int_equal(model_exchange(&m, A, B, ENOUGH), 1);
    assert_int_equal(model_exchange(&m, C, B, ENOUGH), 1);
    assert_true(model_check(&m, ALL, &token));
    at_token_deinit(&token);
}

/* Found later than the others: B vouched for nothing, C for what it had, but a reply of B's old
 * process was still on its way to C, with an entry that A and B have both lost. */
static void H38_a_voucher_that_lost_its_tail_has_its_old_replies_dropped_as_well(void **state)
{
    struct at_buf question;
    struct at_buf late;
    (void)state;

    at_buf_init(&question, 65536);
    at_buf_init(&late, 65536);
    assert_true(model_write(&m, A, 1));
    for (int i = 0; i < 2; i++)
        for (uint32_t n = A; n <= C; n++) {
            if (n != A)
                (void)model_exchange(&m, n, A, ENOUGH);
            model_commit(&m, n, true);
        }
    assert_true(model_write(&m, A, 1)); /* not synced */
    time_passes(500);
    (void)model_idle(&m, B);
    (void)model_exchange(&m, C, B, 0); /* B's promise, no entries */
    assert_int_equal(model_exchange(&m, B, A, ENOUGH), 1);
    model_pull(&m, C, &question);
    model_answer(&m, B, at_buf_slice(&question), ENOUGH, 0, &late);
    model_crash(&m, A);
    model_crash(&m, B);
    model_start(&m, A, true);
    model_start(&m, B, true);
    model_close(&m, A);
    assert_false(m.nodes[A].view.closing);
    time_passes(500);
    (void)model_idle(&m, A);
    (void)model_exchange(&m, C, A, ENOUGH);
    (void)model_idle(&m, C);
    assert_true(model_horizon(&m, C) > stamp_of(A, 1, 2));
    assert_int_equal(model_take(&m, C, at_buf_slice(&late)), -1);
    at_buf_deinit(&question);
    at_buf_deinit(&late);
}

static void a_token_over_a_lost_tail_is_cut_to_the_end_of_the_closed_epoch(void **state)
{
    struct at_token token;
    (void)state;

    at_token_init(&token);
    struct at_vector_answer a = {.ready = true};
    (void)at_vector_raise(&a.durable, (struct at_position){{A + 1}, 1, 3});
    at_token_note(&token, (struct at_member_id){A + 1}, &a);
    at_token_note(&token, (struct at_member_id){B + 1}, &a);
    at_token_note(&token, (struct at_member_id){C + 1}, &a);
    at_vector_deinit(&a.durable);
    assert_true(model_write(&m, A, 1));
    model_commit(&m, A, true);
    model_settle(&m);
    assert_false(model_check(&m, ALL, &token));
    model_crash(&m, A);
    model_start(&m, A, true);
    assert_false(model_check(&m, ALL, &token));
    model_close(&m, A);
    assert_true(model_check(&m, ALL, &token));
    model_settle(&m); /* the epoch leaves the vectors */
    assert_true(model_check(&m, ALL, &token));
    at_token_deinit(&token);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f, setup) cmocka_unit_test_setup_teardown(f, setup, done)
        TEST(H1_a_promise_does_not_count_before_its_position_is_applied, sync_two),
        TEST(H2_a_promise_made_while_a_commit_is_in_flight_is_below_its_stamps, sync_two),
        TEST(H3_the_promise_of_an_idle_clock_is_reserved, sync_two),
        TEST(H4_no_promise_in_a_new_epoch_before_the_old_ones_are_closed, async_two),
        TEST(H5_a_reply_of_the_old_process_is_dropped_once_its_epoch_is_closed, async_three),
        TEST(H5_a_reply_that_came_before_the_close_is_vouched_for, async_three),
        TEST(H6_a_sequence_number_never_gets_a_second_meaning, async_two),
        TEST(H7_an_epoch_that_left_the_vector_does_not_come_in_again, async_three),
        TEST(H7_the_end_of_an_epoch_that_left_the_vector_survives_a_restart, async_three),
        TEST(H8_only_what_is_durable_is_acknowledged, async_two),
        TEST(H8_an_unsynced_tail_that_is_lost_is_pulled_again, async_two),
        TEST(H9_a_reply_never_starts_above_the_askers_position, sync_three),
        TEST(H30_a_token_made_without_a_member_waits_for_its_present_end, sync_two),
        TEST(H31_a_member_the_checker_does_not_know_keeps_a_token_false, sync_two),
        TEST(H37_a_member_with_old_epochs_open_counts_as_not_reached, async_three),
        TEST(H37_the_end_of_a_closed_epoch_is_in_the_token_though_its_holder_is_not_reached,
             async_three),
        TEST(H38_a_voucher_that_lost_its_tail_has_its_old_replies_dropped_as_well, async_three),
        TEST(a_token_over_a_lost_tail_is_cut_to_the_end_of_the_closed_epoch, async_three),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
