#include "support/model_fixture.h"

/* What random histories of tests/sim found in rules that had passed all schedules, one test each. A
 * to D are nodes 0 to 3. */

static struct at_member_id id_of(uint32_t node)
{
    return (struct at_member_id){node + 1};
}

static struct at_origin *origin_at(uint32_t node, uint32_t of)
{
    struct at_replica *r = model_replica(&m, node);
    uint32_t at = at_replica_find_origin(r, id_of(of));
    assert_true(at != AT_NO_ORIGIN);
    return &r->origins[at];
}

static void all_pull(void)
{
    for (int i = 0; i < 3; i++)
        for (uint32_t n = 0; n < m.node_count; n++)
            for (uint32_t d = 0; d < m.node_count; d++)
                if (d != n && m.nodes[n].replica != NULL && m.nodes[d].replica != NULL)
                    pull(n, d);
}

static void leave_begins(uint32_t node)
{
    assert_int_equal(at_replica_leave_begin(model_replica(&m, node), NULL), AT_OK);
    model_commit(&m, node, true);
}

/* A's entry is with A and C only, and no longer in their logs. */
static void b_lacks_an_entry_of_a(void)
{
    assert_true(model_write(&m, A, 1));
    for (int i = 0; i < 2; i++) {
        pull(C, A);
        pull(A, C);
    }
    model_cap(&m, A, A, 1);
    model_cap(&m, C, A, 1);
}

static void a_gap_of_what_no_living_member_has_is_none(void **state)
{
    struct at_vouch words[] = {{.voucher = id_of(B), .position = {id_of(A), 1, 0}}};
    struct at_removal removal = {
        .members = {id_of(A)}, .member_count = 1, .vouches = words, .vouch_count = 1};
    (void)state;

    b_lacks_an_entry_of_a();
    pull(B, A);
    pull(B, C);
    assert_int_equal(mode_of(B), AT_MODE_NEEDS_COPY);
    /* C loses its tail; of A there is nothing then, as its removal says; nor of a later epoch */
    struct at_replica *b = model_replica(&m, B);
    b->gaps[b->gap_count++] = (struct at_open_gap){.at = {id_of(A), 2, 0}, .reporters = 1};
    at_replica_members_removed(b, &removal);
    assert_int_equal(b->gap_count, 0);
    assert_int_equal(b->mode, AT_MODE_READY);
}

static void a_gap_behind_the_end_of_a_closed_epoch_is_none(void **state)
{
    struct at_vouch end = {.voucher = id_of(A), .position = {id_of(A), 1, 0}};
    (void)state;

    b_lacks_an_entry_of_a();
    pull(B, A);
    pull(B, C);
    struct at_replica *b = model_replica(&m, B);
    assert_int_equal(b->gap_count, 1);
    at_replica_take_vouch(b, &end); /* A says: lost, and nobody had it */
    at_replica_decide_mode(b);
    assert_int_equal(b->gap_count, 0);
    assert_int_equal(b->mode, AT_MODE_READY);
}

static void the_last_acknowledgement_may_come_before_READY(void **state)
{
    (void)state;
    uint32_t x = model_register(&m, A);
    all_pull();
    assert_true(model_copy(&m, x, A));
    struct at_replica *r = model_replica(&m, x);
    at_replica_set_caught_up(r);
    r->mode = AT_MODE_NEEDS_COPY; /* a gap, that will be served */
    assert_false(model_join(&m, x));
    assert_false(r->joined);
    for (uint32_t i = 0; i < r->origin_count; i++)
        r->peers[i].replied = true;
    at_replica_decide_mode(r);
    assert_int_equal(r->mode, AT_MODE_READY);
    assert_true(r->joined);
}

/* A has an entry of C that C lost; only B's word is for it, as all the others have pruned the
 * epoch. Now B is removed, and nobody renews that word. */
static void the_end_of_an_epoch_that_all_have_outlives_its_voucher(void **state)
{
    struct at_vouch words[] = {{.voucher = id_of(A), .position = {id_of(C), 1, 0}},
                               {.voucher = id_of(B), .position = {id_of(C), 1, 1}},
                               {.voucher = id_of(C), .position = {id_of(C), 1, 0}}};
    struct at_removal removal = {.members = {id_of(B)}, .member_count = 1};
    uint64_t end = 0;
    (void)state;

    assert_true(model_write(&m, C, 1));
    pull(A, C);
    struct at_replica *a = model_replica(&m, A);
    for (int i = 0; i < 3; i++)
        at_replica_take_vouch(a, &words[i]);
    at_replica_members_removed(a, &removal);
    assert_true(at_origin_end(origin_at(A, C), 1, &end));
    assert_int_equal(end, 1);
}

static bool vouched(const struct at_removal *removal, struct at_vouch v)
{
    for (uint32_t i = 0; i < removal->vouch_count; i++) {
        const struct at_vouch *has = &removal->vouches[i];
        if (at_member_eq(has->voucher, v.voucher) && has->position.seq == v.position.seq &&
            has->position.epoch == v.position.epoch &&
            at_member_eq(has->position.origin, v.position.origin))
            return true;
    }
    return false;
}

/* B has registered X, which A does not know yet. Should B die as well before anyone has that, X
 * never was a member, and nobody could give what it vouched for. */
static void who_told_of_a_newcomer_gives_its_word(void **state)
{
    const struct at_member_id x = {9};
    struct at_fence_answer answer = {.instance_id = 77, .from = id_of(B)};
    struct at_member_id c = id_of(C);
    struct at_member_id missing[AT_MEMBERS_MAX];
    struct at_removal removal;
    struct at_fence asked;
    uint32_t count = 0;
    (void)state;

    model_crash(&m, C);
    struct at_replica *a = model_replica(&m, A);
    assert_int_equal(at_replica_fence_begin(a, &c, 1, false, NULL), AT_OK);
    assert_true(at_replica_fencing(a, &asked, missing, &count));
    answer.round = asked.round;
    answer.members[answer.member_count++].id = id_of(A);
    answer.members[answer.member_count++].id = x;
    at_replica_on_fence_answer(a, &answer);
    struct at_fence_answer of_x = {.instance_id = 77, .from = x, .round = asked.round};
    at_vector_init(&of_x.applied);
    (void)at_vector_raise(&of_x.applied, (struct at_position){id_of(C), 1, 5});
    (void)at_vector_raise(&of_x.applied, (struct at_position){id_of(B), 1, 3});
    at_replica_on_fence_answer(a, &of_x);
    at_vector_deinit(&of_x.applied);

    assert_true(at_replica_removal(a, &removal));
    assert_true(vouched(&removal, (struct at_vouch){id_of(B), {id_of(C), 1, 5}}));
    for (uint32_t i = 0; i < removal.vouch_count; i++) {
        assert_int_not_equal(removal.vouches[i].voucher.v, x.v);
        /* the own word would close B's epoch */
        assert_false(at_member_eq(removal.vouches[i].voucher, id_of(B)) &&
                     at_member_eq(removal.vouches[i].position.origin, id_of(B)));
    }
}

static void an_acknowledgement_of_two_that_leave_at_once_ends_both(void **state)
{
    (void)state;
    all_pull();
    leave_begins(B);
    leave_begins(C);
    all_pull();
    assert_false(model_leave(&m, B)); /* both write LEAVE, neither takes the other's */
    assert_false(model_leave(&m, C));
    assert_int_equal(model_exchange(&m, B, C, ENOUGH), -1);
    struct at_join join = {.instance_id = 77, .from = id_of(B), .mode = AT_MODE_LEAVING};
    struct at_join_answer answer;
    assert_int_equal(at_replica_on_join(model_replica(&m, C), &join, &answer), AT_OK);
    assert_int_equal(answer.verdict, AT_JOIN_NEVER);
    pull(A, B);
    pull(A, C);
    assert_true(model_leave(&m, B));
    assert_true(model_leave(&m, C));
}

/* A knows that C, which B still waits for, was removed. */
static void a_leaver_does_not_wait_for_one_that_was_removed_since(void **state)
{
    struct at_member_id c = id_of(C);
    (void)state;

    all_pull();
    leave_begins(B);
    all_pull();
    assert_false(model_leave(&m, B));
    model_crash(&m, C);
    pull(A, B);
    assert_false(model_leave(&m, B));
    struct at_removal removal = {.members = {c}, .member_count = 1};
    at_replica_members_removed(model_replica(&m, A), &removal);
    model_commit(&m, A, true);
    assert_true(model_leave(&m, B));
}

static bool b_is_done_by(uint32_t from, struct at_member_seed *named, uint32_t count)
{
    struct at_join_answer answer = {.instance_id = 77,
                                    .from = {from},
                                    .to = id_of(B),
                                    .verdict = AT_JOIN_NEVER,
                                    .member_count = count};

    for (uint32_t i = 0; i < count; i++)
        answer.members[i] = named[i];
    at_replica_on_join_answer(model_replica(&m, B), &answer);
    return at_replica_leave_done(model_replica(&m, B));
}

/* A and C have left since, and are gone; 9 came after LEAVE. */
static void a_leaver_is_told_by_one_that_it_does_not_know_that_all_others_have_gone(void **state)
{
    struct at_member_seed all[] = {{.id = {9}}, {.id = id_of(B)}};
    struct at_member_seed some[] = {{.id = {9}}, {.id = id_of(C)}};
    (void)state;

    all_pull();
    leave_begins(B);
    all_pull();
    assert_false(model_leave(&m, B));
    pull(A, B);
    pull(C, B);
    model_crash(&m, B);
    model_crash(&m, A);
    model_crash(&m, C);
    model_start(&m, B, false);
    assert_false(model_leave(&m, B));
    assert_false(b_is_done_by(9, all, 2));  /* it has not even LEAVE */
    assert_false(b_is_done_by(9, some, 2)); /* C may not have it */
    assert_true(b_is_done_by(9, all, 1));
    assert_int_equal(model_replica(&m, B)->mode, AT_MODE_REMOVED);
}

static void one_that_has_left_says_never_only_of_members_it_knows(void **state)
{
    struct at_join join = {.instance_id = 77, .from = {9}, .mode = AT_MODE_LEAVING};
    struct at_join_answer answer;
    (void)state;

    all_pull();
    leave_begins(C);
    all_pull();
    assert_false(model_leave(&m, C));
    assert_int_equal(at_replica_on_join(model_replica(&m, C), &join, &answer), AT_OK);
    assert_int_equal(answer.verdict, AT_JOIN_UNKNOWN);
    assert_true(at_replica_add_origin(model_replica(&m, C), join.from) != AT_NO_ORIGIN);
    assert_int_equal(at_replica_on_join(model_replica(&m, C), &join, &answer), AT_OK);
    assert_int_equal(answer.verdict, AT_JOIN_UNKNOWN);
}

static void facts_that_come_with_a_LEAVE_are_taken(void **state)
{
    struct at_reply reply = {.instance_id = 77, .from = id_of(C), .incarnation = 1};
    struct at_epoch_end end = {id_of(C), 1, 0};
    uint64_t got = 9;
    (void)state;

    pull(A, C);
    struct at_replica *a = model_replica(&m, A);
    assert_int_equal(a->guard.clocks[0].member.v, C + 1);
    at_replica_member_left(a, (struct at_position){id_of(C), 2, 1});
    assert_int_equal(a->guard.clocks[0].member.v, 0); /* its clock counts no more */
    reply.facts.ends = &end;
    reply.facts.end_count = 1;
    assert_true(at_replica_merge_reply(a, &reply, model_wall(&m, A), m.now_ns));
    assert_true(at_origin_end(origin_at(A, C), 1, &got));
    assert_int_equal(got, 0);
    assert_int_equal(a->guard.clocks[0].member.v, 0);
}

static void a_registration_in_an_epoch_that_left_the_vectors_is_known_or_lost(void **state)
{
    struct at_join join = {.instance_id = 77, .from = {9}, .registered = {id_of(C), 1, 5}};
    struct at_join_answer answer;
    (void)state;

    struct at_replica *a = model_replica(&m, A);
    struct at_origin *c = origin_at(A, C);
    at_origin_skip_to(c, 2);
    assert_int_equal(at_replica_on_join(a, &join, &answer), AT_OK);
    assert_int_equal(answer.verdict, AT_JOIN_UNKNOWN); /* C lives: it may tell more */
    at_replica_member_left(a, (struct at_position){id_of(C), 2, 1});
    assert_int_equal(at_replica_on_join(a, &join, &answer), AT_OK);
    assert_int_equal(answer.verdict, AT_JOIN_NEVER);
}

/* It does not know where it is registered, since whoever registered it was removed first. */
static void a_newcomer_that_no_entry_below_the_horizon_names_never_was_a_member(void **state)
{
    struct at_join join = {.instance_id = 77, .from = {9}};
    struct at_join_answer answer;
    (void)state;

    struct at_replica *a = model_replica(&m, A);
    all_pull();
    all_pull();
    assert_true(a->horizon > 0);
    assert_int_equal(at_replica_on_join(a, &join, &answer), AT_OK);
    assert_int_equal(answer.verdict, AT_JOIN_UNKNOWN); /* it does not tell when it was */
    join.hlc = a->horizon + 1;
    assert_int_equal(at_replica_on_join(a, &join, &answer), AT_OK);
    assert_int_equal(answer.verdict, AT_JOIN_UNKNOWN); /* perhaps it comes yet */
    join.hlc = a->horizon;
    assert_int_equal(at_replica_on_join(a, &join, &answer), AT_OK);
    assert_int_equal(answer.verdict, AT_JOIN_NEVER);
    join.from = id_of(B);
    assert_int_equal(at_replica_on_join(a, &join, &answer), AT_OK);
    assert_int_equal(answer.verdict, AT_JOIN_KNOWN);
}

static void a_leaver_that_lacks_entries_gets_a_copy_and_leaves_no_more(void **state)
{
    (void)state;
    all_pull();
    leave_begins(B);
    b_lacks_an_entry_of_a();
    pull(B, A);
    pull(B, C);
    assert_int_equal(mode_of(B), AT_MODE_NEEDS_COPY);
    assert_true(model_copy(&m, B, A));
    assert_int_equal(mode_of(B), AT_MODE_READY);
    assert_int_equal(model_v(&m, B, A, 1), 1);
    leave_begins(B);
    assert_int_equal(mode_of(B), AT_MODE_LEAVING);
}

/* Own epochs too, whose ends nobody else may tell. */
static void
a_copy_keeps_the_ends_and_drops_the_logs_of_epochs_that_left_the_donors_vectors(void **state)
{
    struct at_first_open first_open[] = {{id_of(B), 2}, {id_of(C), 2}};
    struct at_epoch_end ends[] = {{id_of(B), 1, 1}, {id_of(C), 1, 7}};
    struct at_copy_state donor = {
        .from = id_of(A),
        .incarnation = 1,
        .facts = {.first_open = first_open, .first_open_count = 2, .ends = ends, .end_count = 2}};
    struct at_vector grown;
    uint64_t end = 0;
    (void)state;

    assert_true(model_write(&m, B, 1));
    struct at_replica *b = model_replica(&m, B);
    assert_true(at_replica_open_epoch(b, 2));
    b->mode = AT_MODE_COPYING;
    at_vector_init(&grown);
    at_replica_copy_end(b, &donor, &grown);
    assert_true(at_origin_end(origin_at(B, B), 1, &end) && end == 1);
    assert_true(at_origin_end(origin_at(B, C), 1, &end) && end == 7);
    assert_int_equal(at_vector_get(&grown, id_of(B), 1), 1); /* its log goes, though it grew not */
    assert_int_equal(at_vector_get(&grown, id_of(C), 1), 7);
    assert_int_equal(origin_at(B, B)->first_open, 2);
    at_vector_deinit(&grown);
}

/* It comes by an entry, or was lost with its registrar; then nobody else would ever tell. */
static void a_member_of_the_config_that_the_donor_does_not_know_is_to_be_learnt(void **state)
{
    struct at_member_id missing[AT_MEMBERS_MAX];
    uint32_t count = 0;
    (void)state;

    all_pull();
    uint32_t first = model_register(&m, A);
    struct at_replica *r = model_replica(&m, first);
    struct at_copy_state donor = {.from = id_of(A), .incarnation = 1};
    struct at_copy_member known[] = {{.id = id_of(A), .state = AT_ORIGIN_ACTIVE},
                                     {.id = id_of(B), .state = AT_ORIGIN_ACTIVE},
                                     {.id = id_of(first), .state = AT_ORIGIN_ACTIVE}};
    struct at_vector grown;
    donor.members = known;
    donor.member_count = 3;
    assert_int_equal(at_replica_copy_begin(r, NULL), AT_OK);
    at_vector_init(&grown);
    at_replica_copy_end(r, &donor, &grown);
    at_vector_deinit(&grown);
    assert_int_equal(origin_at(first, C)->state, AT_ORIGIN_KNOWN);
    assert_int_equal(origin_at(first, B)->state, AT_ORIGIN_ACTIVE);
    assert_true(at_replica_joining(r, missing, &count));
    assert_int_equal(count, 3); /* it has to acknowledge all the same */
}

/* Registered by several at the same time, they are more than an instance may have. */
static void more_members_than_there_may_be_are_all_seen(void **state)
{
    (void)state;
    struct at_replica *a = model_replica(&m, A);
    for (uint32_t id = 10; at_replica_active_count(a) < AT_MEMBERS_MAX; id++) {
        struct at_member_seed seed = {.id = {id}};
        at_replica_member_joined(a, &seed, (struct at_position){id_of(B), 1, id}, 1);
    }
    struct at_join join = {.instance_id = 77, .from = {10}};
    struct at_join_answer answer;
    assert_int_equal(at_replica_on_join(a, &join, &answer), AT_OK);
    assert_int_equal(answer.member_count, AT_MEMBERS_MAX);
    at_replica_view_fill(a, &m.nodes[A].view);
    assert_int_equal(m.nodes[A].view.member_count, AT_MEMBERS_MAX);
    assert_int_equal(at_replica_may_register(a, NULL), AT_RESOURCE_EXHAUSTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, sync_three, done)
        TEST(a_gap_of_what_no_living_member_has_is_none),
        TEST(a_gap_behind_the_end_of_a_closed_epoch_is_none),
        TEST(the_end_of_an_epoch_that_all_have_outlives_its_voucher),
        TEST(the_last_acknowledgement_may_come_before_READY),
        TEST(who_told_of_a_newcomer_gives_its_word),
        TEST(an_acknowledgement_of_two_that_leave_at_once_ends_both),
        TEST(a_leaver_does_not_wait_for_one_that_was_removed_since),
        TEST(a_leaver_is_told_by_one_that_it_does_not_know_that_all_others_have_gone),
        TEST(one_that_has_left_says_never_only_of_members_it_knows),
        TEST(facts_that_come_with_a_LEAVE_are_taken),
        TEST(a_registration_in_an_epoch_that_left_the_vectors_is_known_or_lost),
        TEST(a_newcomer_that_no_entry_below_the_horizon_names_never_was_a_member),
        TEST(a_leaver_that_lacks_entries_gets_a_copy_and_leaves_no_more),
        TEST(a_copy_keeps_the_ends_and_drops_the_logs_of_epochs_that_left_the_donors_vectors),
        TEST(a_member_of_the_config_that_the_donor_does_not_know_is_to_be_learnt),
        TEST(more_members_than_there_may_be_are_all_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
