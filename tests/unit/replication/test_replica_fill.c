#include "support/model_fixture.h"

/* Copies (rules 27-32) and what the state tells of members, on replicas alone. */

static void only_one_that_has_what_lacks_and_knows_the_receiver_donates(void **state)
{
    struct at_vector needs;
    struct at_vector none;
    struct at_error error = {0};
    (void)state;

    at_vector_init(&needs);
    at_vector_init(&none);
    need_a_copy_at_b();
    const struct at_replica *a = model_replica(&m, A);
    (void)at_vector_raise(&needs, (struct at_position){{A + 1}, 1, 1});
    assert_int_equal(at_replica_may_donate(a, (struct at_member_id){B + 1}, &needs, &error), AT_OK);
    assert_int_equal(at_replica_may_donate(a, (struct at_member_id){9}, &none, &error),
                     AT_FAILED_PRECONDITION);
    assert_int_equal(at_replica_may_donate(a, (struct at_member_id){A + 1}, &none, &error),
                     AT_FAILED_PRECONDITION);
    (void)at_vector_raise(&needs, (struct at_position){{A + 1}, 1, 2});
    assert_int_equal(at_replica_may_donate(a, (struct at_member_id){B + 1}, &needs, &error),
                     AT_FAILED_PRECONDITION);
    assert_true(model_write(&m, C, 1));
    (void)model_exchange(&m, A, C, 100);
    (void)at_vector_raise(&needs, (struct at_position){{C + 1}, 1, 1});
    /* one gap of two: the other one is closed by somebody else */
    assert_int_equal(at_replica_may_donate(a, (struct at_member_id){B + 1}, &needs, &error), AT_OK);
    assert_true(model_copy_begin(&m, B, A));
    assert_int_equal(
        at_replica_may_donate(model_replica(&m, B), (struct at_member_id){A + 1}, &none, &error),
        AT_FAILED_PRECONDITION);
    at_vector_deinit(&needs);
    at_vector_deinit(&none);
}

static void a_copy_of_one_that_lacks_something_too_closes_what_it_can(void **state)
{
    struct at_vector grown;
    struct at_member_id a_id = {A + 1};
    struct at_member_id c_id = {C + 1};
    (void)state;

    assert_true(model_write(&m, C, 1));
    for (int i = 0; i < 2; i++) {
        (void)model_exchange(&m, A, C, 100);
        (void)model_exchange(&m, C, A, 100);
    }
    model_cap(&m, C, C, 1);
    model_cap(&m, A, C, 1);
    need_a_copy_at_b(); /* of what A wrote, and of what C wrote */
    struct at_replica *b = model_replica(&m, B);
    assert_int_equal(b->gap_count, 2);
    assert_true(model_copy_begin(&m, B, A));
    struct at_copy_state *of_a = &m.nodes[B].copy;
    at_vector_drop(&of_a->applied, c_id, 1); /* as if A lacked it too */
    at_vector_init(&grown);
    at_replica_copy_end(b, of_a, &grown);
    assert_int_equal(grown.count, 1);
    at_vector_deinit(&grown);
    assert_int_equal(at_vector_get(&b->applied, a_id, 1), 1);
    assert_int_equal(at_vector_get(&b->applied, c_id, 1), 0);
    assert_int_equal(b->gap_count, 1);
    assert_int_equal(b->gaps[0].at.origin.v, c_id.v);
    assert_int_equal(b->mode, AT_MODE_NEEDS_COPY); /* not READY in between */
}

struct fork_case {
    const char *name;
    uint64_t from;
    uint64_t id;
    bool taken;
};

/* The instance of the model is 77. */
static const struct fork_case fork_cases[] = {
    {"nobody went on", 0, 0, false},
    {"from this instance", 77, 99, true},
    {"from another instance", 55, 99, false},
    {"to this instance: known since", 55, 77, false},
};

/* The removal of the others is among the members of the copy: its entry does not come any more. */
static void a_copy_tells_that_a_minority_went_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(fork_cases) / sizeof(fork_cases[0]); i++) {
        const struct fork_case *c = &fork_cases[i];
        struct at_vector grown;
        (void)done(NULL);
        (void)sync_three(NULL);
        need_a_copy_at_b();
        assert_true(model_copy_begin(&m, B, A));
        m.nodes[B].copy.fork_from = c->from;
        m.nodes[B].copy.fork_id = c->id;
        at_vector_init(&grown);
        at_replica_copy_end(model_replica(&m, B), &m.nodes[B].copy, &grown);
        at_vector_deinit(&grown);
        model_commit(&m, B, true);
        if (at_replica_view_is_instance(&m.nodes[B].view, 99) != c->taken ||
            !at_replica_view_is_instance(&m.nodes[B].view, 77) ||
            at_replica_view_is_instance(&m.nodes[B].view, 55))
            fail_msg("%s", c->name);
    }
}

static void only_one_that_needs_a_copy_begins_one(void **state)
{
    (void)state;
    assert_int_equal(at_replica_copy_begin(model_replica(&m, A), NULL), AT_FAILED_PRECONDITION);
    need_a_copy_at_b();
    assert_true(model_copy_begin(&m, B, A));
    assert_int_equal(at_replica_copy_begin(model_replica(&m, B), NULL), AT_FAILED_PRECONDITION);
    at_replica_copy_drop(model_replica(&m, A)); /* nothing to drop */
    assert_int_equal(model_replica(&m, A)->mode, AT_MODE_READY);
}

static void nothing_is_copied_from_one_that_is_no_member_or_an_older_process(void **state)
{
    struct at_copy_state donor = {.from = {A + 1}, .incarnation = 1};
    (void)state;

    struct at_replica *b = model_replica(&m, B);
    assert_int_equal(at_replica_may_copy_from(b, &donor, NULL), AT_OK);
    b->origins[at_replica_find_origin(b, donor.from)].min_incarnation = 2;
    assert_int_equal(at_replica_may_copy_from(b, &donor, NULL), AT_FAILED_PRECONDITION);
    donor.incarnation = 2;
    assert_int_equal(at_replica_may_copy_from(b, &donor, NULL), AT_OK);
    assert_int_equal(at_replica_fence_begin(b, &donor.from, 1, false, NULL), AT_OK);
    assert_int_equal(at_replica_may_copy_from(b, &donor, NULL), AT_FAILED_PRECONDITION);
    donor.from.v = 9;
    assert_int_equal(at_replica_may_copy_from(b, &donor, NULL), AT_FAILED_PRECONDITION);
}

static void what_grew_has_its_base_at_its_new_position(void **state)
{
    struct at_vector grown;
    (void)state;

    assert_true(model_write(&m, C, 1));
    (void)model_exchange(&m, B, C, 100);
    need_a_copy_at_b();
    assert_true(model_copy_begin(&m, B, A));
    struct at_replica *b = model_replica(&m, B);
    at_vector_init(&grown);
    uint64_t hlc = m.nodes[B].copy.hlc;
    at_replica_copy_end(b, &m.nodes[B].copy, &grown);
    assert_int_equal(grown.count, 1); /* C's entry was here already */
    assert_int_equal(grown.items[0].origin.v, A + 1);
    assert_int_equal(grown.items[0].seq, 1);
    assert_int_equal(at_vector_get(&b->base, (struct at_member_id){A + 1}, 1), 1);
    assert_int_equal(at_vector_get(&b->base, (struct at_member_id){C + 1}, 1), 0);
    assert_true(b->hlc.now >= hlc);
    assert_int_equal(b->mode, AT_MODE_READY);
    assert_false(b->caught_up);
    assert_int_equal(b->gap_count, 0);
    at_replica_set_caught_up(b);
    assert_true(b->caught_up);
    at_vector_deinit(&grown);
}

static void the_horizon_stands_still_while_a_copy_runs(void **state)
{
    (void)state;
    need_a_copy_at_b();
    assert_true(model_copy_begin(&m, B, A));
    struct at_copy_rule rule = at_replica_copy_rule(model_replica(&m, B), &m.nodes[B].copy);
    uint64_t before = model_horizon(&m, B);
    m.now_ns += 500 * MODEL_MS;
    (void)model_idle(&m, B);
    assert_true(model_horizon(&m, B) == before);
    model_copy_end(&m, B);
    assert_true(model_horizon(&m, B) >= rule.t);
}

static void a_copy_does_not_lower_the_horizon(void **state)
{
    struct at_vector grown;
    (void)state;

    need_a_copy_at_b();
    assert_true(model_copy_begin(&m, B, A));
    struct at_replica *b = model_replica(&m, B);
    b->horizon = 1000;
    m.nodes[B].copy.horizon = 5;
    at_vector_init(&grown);
    at_replica_copy_end(b, &m.nodes[B].copy, &grown);
    assert_int_equal(b->horizon, 1000);
    at_vector_deinit(&grown);
}

static void a_copy_brings_members_and_where_they_ended(void **state)
{
    (void)state;
    struct at_member_id c = {C + 1};

    assert_true(model_write(&m, C, 1));
    (void)model_exchange(&m, A, C, 100);
    model_crash(&m, C);
    assert_int_equal(at_replica_fence_begin(model_replica(&m, A), &c, 1, false, NULL), AT_OK);
    model_commit(&m, A, true);
    assert_true(model_remove(&m, A));
    uint32_t x = model_register(&m, A);
    (void)model_exchange(&m, B, A, 100);
    assert_true(model_copy(&m, x, A));
    const struct at_replica *r = model_replica(&m, x);
    uint32_t at = at_replica_find_origin(r, c);
    assert_true(at != AT_NO_ORIGIN);
    assert_int_equal(r->origins[at].state, AT_ORIGIN_REMOVED);
    assert_true(at_origin_final_applied(&r->origins[at], &r->applied));
    assert_true(at_origin_beyond_final(&r->origins[at], 1, 2));
    assert_int_equal(r->origins[r->self_index].registered.origin.v, A + 1);
}

static void a_newcomer_is_told_what_is_known_of_its_registration(void **state)
{
    struct at_join join = {.instance_id = 77, .from = {9}, .registered = {{A + 1}, 1, 5}};
    struct at_join_answer answer;
    (void)state;

    struct at_replica *b = model_replica(&m, B);
    assert_int_equal(at_replica_on_join(b, &join, &answer), AT_OK);
    assert_int_equal(answer.verdict, AT_JOIN_UNKNOWN);
    assert_int_equal(answer.member_count, 3);
    struct at_removal removal = {.members = {{A + 1}}, .member_count = 1};
    at_replica_members_removed(b, &removal);
    assert_int_equal(at_replica_on_join(b, &join, &answer), AT_OK);
    assert_int_equal(answer.verdict, AT_JOIN_NEVER); /* its registrar ended before */
    assert_int_equal(answer.member_count, 2);
    join.from.v = C + 1;
    assert_int_equal(at_replica_on_join(b, &join, &answer), AT_OK);
    assert_int_equal(answer.verdict, AT_JOIN_KNOWN);
    join.from.v = A + 1;
    assert_int_equal(at_replica_on_join(b, &join, &answer), AT_OK);
    assert_int_equal(answer.verdict, AT_JOIN_NEVER);
    join.instance_id = 78;
    assert_int_equal(at_replica_on_join(b, &join, &answer), AT_PERMISSION_DENIED);
}

static void the_view_keeps_where_members_are(void **state)
{
    struct at_replica_view copy;
    (void)state;

    uint32_t x = model_register(&m, A);
    at_replica_view_init(&copy);
    at_replica_view_copy(&copy, &m.nodes[A].view);
    assert_int_equal(copy.member_count, 4);
    const struct at_member_view *last = &copy.members[3];
    assert_int_equal(last->id.v, x + 1);
    assert_int_equal(last->state, AT_ORIGIN_ACTIVE);
    assert_int_equal(last->registered.origin.v, A + 1);
    assert_true(at_slice_eq_cstr(last->info, "where it is"));
    assert_true(last->info.data >= copy.infos.data &&
                last->info.data < copy.infos.data + copy.infos.len);
    at_replica_view_deinit(&copy);
    model_crash(&m, A);
    model_start(&m, A, false);
    assert_true(at_slice_eq_cstr(m.nodes[A].view.members[3].info, "where it is"));
}

static void an_operators_release_lets_parked_entries_in_and_never_falls(void **state)
{
    (void)state;
    m.nodes[A].offset_ns = 3600 * 1000 * (int64_t)MODEL_MS;
    assert_true(model_write(&m, A, 1));
    assert_int_equal(model_exchange(&m, B, A, 100), 0);
    assert_false(m.nodes[B].view.healthy);
    uint64_t stamp = m.truth[A][0].entries[0].hlc;
    at_replica_released(model_replica(&m, B), stamp);
    at_replica_released(model_replica(&m, B), 5);
    model_commit(&m, B, true);
    model_crash(&m, B);
    model_start(&m, B, false);
    assert_int_equal(model_exchange(&m, B, A, 100), 1);
    assert_true(model_replica(&m, B)->released == stamp);
}

static void as_many_members_as_there_may_be(void **state)
{
    (void)state;
    struct at_replica *a = model_replica(&m, A);
    for (uint32_t id = 10; at_replica_active_count(a) < AT_CLUSTERS_MAX; id++) {
        struct at_member_seed seed = {.id = {id}};
        assert_int_equal(at_replica_may_register(a, NULL), AT_OK);
        at_replica_member_joined(a, &seed, (struct at_position){{A + 1}, 1, id}, 1);
    }
    assert_int_equal(at_replica_may_register(a, NULL), AT_RESOURCE_EXHAUSTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, sync_three, done)
        TEST(only_one_that_has_what_lacks_and_knows_the_receiver_donates),
        TEST(a_copy_of_one_that_lacks_something_too_closes_what_it_can),
        TEST(a_copy_tells_that_a_minority_went_on),
        TEST(only_one_that_needs_a_copy_begins_one),
        TEST(nothing_is_copied_from_one_that_is_no_member_or_an_older_process),
        TEST(what_grew_has_its_base_at_its_new_position),
        TEST(the_horizon_stands_still_while_a_copy_runs),
        TEST(a_copy_does_not_lower_the_horizon),
        TEST(a_copy_brings_members_and_where_they_ended),
        TEST(a_newcomer_is_told_what_is_known_of_its_registration),
        TEST(the_view_keeps_where_members_are),
        TEST(an_operators_release_lets_parked_entries_in_and_never_falls),
        TEST(as_many_members_as_there_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
