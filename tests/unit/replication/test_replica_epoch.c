#include "support/model_fixture.h"

/* Epochs, and what may be freed. */

static uint64_t trim_bound(uint32_t node, uint32_t origin)
{
    return at_replica_trim_bound(model_replica(&m, node), (struct at_member_id){origin + 1}, 1);
}

static uint64_t cap_bound(uint32_t node, uint32_t origin)
{
    return at_replica_cap_bound(model_replica(&m, node), (struct at_member_id){origin + 1}, 1);
}

static void only_what_all_members_have_durably_is_trimmed(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(model_write(&m, A, 1));
    model_commit(&m, A, true);
    assert_int_equal(trim_bound(A, A), 0);
    (void)model_exchange(&m, B, A, 2);
    (void)model_exchange(&m, C, A, 1);
    model_commit(&m, B, true);
    model_commit(&m, C, true);
    (void)model_exchange(&m, B, A, 9);
    assert_int_equal(trim_bound(A, A), 0); /* C has not spoken since */
    (void)model_exchange(&m, C, A, 9);
    assert_int_equal(trim_bound(A, A), 1);
    /* whoever holds them for others counts itself as well */
    (void)model_exchange(&m, A, B, 9);
    assert_int_equal(trim_bound(B, A), 0);
}

static void own_entries_that_no_other_has_are_never_freed(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(model_write(&m, A, 1));
    model_commit(&m, A, true);
    assert_int_equal(cap_bound(A, A), 0);
    (void)model_exchange(&m, B, A, 2);
    (void)model_exchange(&m, B, A, 0);
    assert_int_equal(cap_bound(A, A), 0); /* B has not synced */
    model_commit(&m, B, true);
    (void)model_exchange(&m, B, A, 0);
    assert_int_equal(cap_bound(A, A), 2); /* C may then need a copy */
    assert_int_equal(cap_bound(B, A), 2); /* of another: all of it */
}

static void base_never_moves_back_and_survives_a_restart(void **state)
{
    struct at_member_id a = {A + 1};
    (void)state;

    for (int i = 0; i < 3; i++)
        assert_true(model_write(&m, A, 1));
    at_replica_trimmed(model_replica(&m, A), (struct at_position){a, 1, 2});
    at_replica_trimmed(model_replica(&m, A), (struct at_position){a, 1, 1});
    model_commit(&m, A, true);
    model_crash(&m, A);
    model_start(&m, A, false);
    assert_int_equal(at_vector_get(&m.nodes[A].view.base, a, 1), 2);
}

static void all_active_members_must_answer_a_close(void **state)
{
    struct at_member_id missing[AT_MEMBERS_MAX];
    uint32_t count = 0;
    (void)state;

    model_crash(&m, C);
    model_crash(&m, A);
    model_start(&m, A, false);
    model_close(&m, A);
    assert_true(at_replica_closing(model_replica(&m, A), missing, &count));
    assert_int_equal(count, 1);
    assert_int_equal(missing[0].v, C + 1);
    model_start(&m, C, true); /* in a new epoch itself */
    model_close(&m, A);
    assert_false(at_replica_closing(model_replica(&m, A), missing, &count));
    model_close(&m, C);
    assert_false(m.nodes[C].view.closing);
}

static void a_closing_begins_anew_after_a_restart(void **state)
{
    (void)state;
    assert_true(model_write(&m, A, 1));
    model_commit(&m, A, true);
    model_crash(&m, C);
    model_crash(&m, A);
    model_start(&m, A, false);
    model_close(&m, A); /* B has answered */
    model_crash(&m, A);
    model_start(&m, A, false);
    assert_int_equal(m.nodes[A].view.epoch, 3);
    model_start(&m, C, false);
    model_close(&m, A);
    assert_false(m.nodes[A].view.closing);
    model_close(&m, C);
    model_settle(&m);
    assert_int_equal(
        at_positions_facts_first_open(&m.nodes[B].view.facts, (struct at_member_id){A + 1}), 3);
}

static void a_cluster_that_was_rolled_back_takes_a_new_epoch(void **state)
{
    struct at_reply reply = {.instance_id = 77, .from = {B + 1}, .incarnation = 1, .hlc = m.now_ns};
    (void)state;

    assert_true(model_write(&m, A, 1));
    (void)at_vector_raise(&reply.ends_known, (struct at_position){{A + 1}, 1, 5});
    at_replica_merge_reply(model_replica(&m, A), &reply, model_wall(&m, A), m.now_ns);
    model_commit(&m, A, false);
    assert_int_equal(m.nodes[A].view.epoch, 2);
    assert_true(m.nodes[A].view.closing);
    assert_true(model_write(&m, A, 1));
    assert_int_equal(m.nodes[A].view.seq, 1);
    at_vector_deinit(&reply.ends_known);
}

static bool vouches(const struct at_close_answer *answer, uint32_t epoch, uint64_t seq)
{
    for (uint32_t i = 0; i < answer->position_count; i++)
        if (answer->positions[i].epoch == epoch && answer->positions[i].seq == seq)
            return true;
    return false;
}

static void a_close_is_answered_with_all_that_is_known_of_the_asker(void **state)
{
    static struct at_close_answer answer;
    struct at_close close = {.instance_id = 77, .origin = {A + 1}, .incarnation = 2};
    (void)state;

    for (int i = 0; i < 3; i++)
        assert_true(model_write(&m, A, 1));
    model_commit(&m, A, true);
    model_settle(&m);
    model_crash(&m, A);
    model_start(&m, A, false);
    model_close(&m, A);
    assert_true(model_write(&m, A, 1));
    model_settle(&m);
    const struct at_positions_facts *facts = &m.nodes[B].view.facts;
    assert_int_equal(at_positions_facts_first_open(facts, (struct at_member_id){A + 1}), 2);
    /* A disk of before: epoch 2 begins once more. The end of epoch 1 has left the vectors. */
    assert_int_equal(at_replica_on_close(model_replica(&m, B), &close, &answer), AT_OK);
    assert_true(vouches(&answer, 1, 3));
    assert_true(vouches(&answer, 2, 1));
    /* An epoch that was begun and has no entries is known by its number. */
    close.incarnation = 5;
    assert_int_equal(at_replica_on_close(model_replica(&m, B), &close, &answer), AT_OK);
    close.incarnation = 2;
    assert_int_equal(at_replica_on_close(model_replica(&m, B), &close, &answer), AT_OK);
    assert_true(vouches(&answer, 5, 0));
}

static void an_epoch_that_is_begun_twice_is_told_by_who_closes_it(void **state)
{
    static struct at_close_answer answer;
    (void)state;

    model_crash(&m, A);
    model_start(&m, A, false);
    assert_int_equal(m.nodes[A].view.epoch, 2);
    answer = (struct at_close_answer){.instance_id = 77,
                                      .from = {B + 1},
                                      .origin = {A + 1},
                                      .incarnation = 2,
                                      .position_count = 1,
                                      .positions = {{{A + 1}, 2, 0}}};
    at_replica_on_close_answer(model_replica(&m, A), &answer);
    model_commit(&m, A, false);
    assert_int_equal(m.nodes[A].view.epoch, 2);
    answer.positions[0].seq = 1;
    at_replica_on_close_answer(model_replica(&m, A), &answer);
    model_commit(&m, A, false);
    assert_int_equal(m.nodes[A].view.epoch, 3);
    answer.positions[0] = (struct at_position){{A + 1}, 7, 0};
    at_replica_on_close_answer(model_replica(&m, A), &answer);
    model_commit(&m, A, false);
    assert_int_equal(m.nodes[A].view.epoch, 8);
    assert_true(m.nodes[A].view.closing);
}

static void a_close_of_a_stranger_or_of_another_instance_is_refused(void **state)
{
    static struct at_close_answer answer;
    struct at_close close = {.instance_id = 78, .origin = {B + 1}, .incarnation = 2};
    (void)state;

    assert_int_equal(at_replica_on_close(model_replica(&m, A), &close, &answer),
                     AT_PERMISSION_DENIED);
    close.instance_id = 77;
    close.origin.v = 9;
    assert_int_equal(at_replica_on_close(model_replica(&m, A), &close, &answer),
                     AT_PERMISSION_DENIED);
    close.origin.v = A + 1;
    assert_int_equal(at_replica_on_close(model_replica(&m, A), &close, &answer),
                     AT_PERMISSION_DENIED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, async_three, done)
        TEST(only_what_all_members_have_durably_is_trimmed),
        TEST(own_entries_that_no_other_has_are_never_freed),
        TEST(base_never_moves_back_and_survives_a_restart),
        TEST(all_active_members_must_answer_a_close),
        TEST(a_closing_begins_anew_after_a_restart),
        TEST(a_cluster_that_was_rolled_back_takes_a_new_epoch),
        TEST(a_close_is_answered_with_all_that_is_known_of_the_asker),
        TEST(an_epoch_that_is_begun_twice_is_told_by_who_closes_it),
        TEST(a_close_of_a_stranger_or_of_another_instance_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
