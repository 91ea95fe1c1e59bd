#include "replication/replica.h"

#include "support/model_fixture.h"

#include <string.h>

static enum at_code may_write(uint32_t node, struct at_error *reterr)
{
    return at_replica_may_write(model_replica(&m, node), model_wall(&m, node), m.now_ns, reterr);
}

static void a_lone_fresh_cluster_accepts_writes_while_its_peers_are_down(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        m.now_ns += 1000 * MODEL_MS;
        assert_true(model_write(&m, A, 2));
    }
    assert_int_equal(m.nodes[A].view.seq, 100);
    assert_true(m.nodes[A].view.may_write);
}

static void positions_and_stamps_count_on(void **state)
{
    struct at_replica *a = model_replica(&m, A);
    (void)state;

    uint64_t first = at_replica_issue(a, 3, model_wall(&m, A));
    uint64_t second = at_replica_issue(a, 1, model_wall(&m, A));
    assert_true(second >= first + 3);
    struct at_position p = at_replica_append(a, first + 2);
    assert_int_equal(p.origin.v, A + 1);
    assert_int_equal(p.epoch, 1);
    assert_int_equal(p.seq, 1);
    assert_int_equal(at_replica_append(a, second).seq, 2);
    assert_int_equal(at_vector_get(&m.nodes[A].view.applied, p.origin, 1), 0); /* not committed */
}

static void a_clock_ahead_of_the_others_refuses_writes_and_says_so(void **state)
{
    struct at_error e;
    (void)state;

    (void)model_exchange(&m, A, B, 9);
    (void)model_exchange(&m, A, C, 9);
    m.nodes[A].offset_ns = 1000 * (int64_t)MODEL_MS;
    assert_int_equal(may_write(A, &e), AT_UNAVAILABLE);
    assert_non_null(strstr(e.msg, "ahead"));
    m.nodes[A].offset_ns = 300 * (int64_t)MODEL_MS;
    assert_int_equal(may_write(A, &e), AT_OK);
}

static void a_full_log_refuses_writes(void **state)
{
    struct at_error e;
    (void)state;

    at_replica_set_log_full(model_replica(&m, A), true);
    assert_int_equal(may_write(A, &e), AT_UNAVAILABLE);
    assert_non_null(strstr(e.msg, "log is full"));
    at_replica_set_log_full(model_replica(&m, A), false);
    assert_int_equal(may_write(A, &e), AT_OK);
}

static void an_idle_cluster_promises_without_committing_each_time(void **state)
{
    struct at_replica *a = model_replica(&m, A);
    struct at_vector nothing = {0};
    uint32_t commits = 0;
    (void)state;

    for (int i = 0; i < 1000; i++) {
        m.now_ns += MODEL_MS;
        commits += model_idle(&m, A);
        if (at_replica_wants_sync(a))
            at_replica_synced(a, &nothing, at_replica_clock_stored(a));
    }
    /* the step is max_skew / 4 = 100 ms, and a quarter of it is left when the next begins */
    assert_in_range(commits, 12, 14);
    assert_true(m.nodes[A].promise_max >= m.now_ns - MODEL_MS);
}

static void an_own_append_costs_one_record_and_the_horizon(void **state)
{
    (void)state;
    assert_true(model_write(&m, A, 1));
    assert_true(model_write(&m, A, 1));
    assert_int_equal(m.nodes[A].record_count, 1);
    for (uint32_t n = B; n <= C; n++) {
        m.now_ns += MODEL_MS;
        (void)model_idle(&m, n);
        (void)model_exchange(&m, A, n, 9);
    }
    assert_true(model_horizon(&m, A) > 0);
    assert_true(model_write(&m, A, 1));
    assert_in_range(m.nodes[A].record_count, 1, 2);
}

static void the_horizon_waits_for_the_slowest_member_and_never_falls(void **state)
{
    (void)state;
    (void)model_exchange(&m, A, B, 9);
    assert_int_equal(model_horizon(&m, A), 0); /* C has promised nothing yet */
    (void)model_exchange(&m, A, C, 9);
    uint64_t f = model_horizon(&m, A);
    assert_true(f > 0);
    for (int i = 0; i < 20; i++) {
        m.now_ns += 100 * MODEL_MS;
        (void)model_idle(&m, B);
        (void)model_exchange(&m, A, B, 9);
        (void)model_idle(&m, A);
    }
    assert_true(model_horizon(&m, A) == f); /* C is silent */
    model_commit(&m, A, true);
    assert_true(model_write(&m, A, 1));
    model_commit(&m, A, true);
    model_crash(&m, A);
    model_start(&m, A, true);
    assert_true(model_horizon(&m, A) == f);
}

static void
a_dead_member_keeps_a_cluster_in_a_new_epoch_from_promising_but_not_from_writing(void **state)
{
    (void)state;
    model_crash(&m, A);
    model_crash(&m, C);
    model_start(&m, A, true);
    model_close(&m, A);
    assert_true(m.nodes[A].view.closing);
    uint64_t promised = m.nodes[A].promise_max;
    m.now_ns += 1000 * MODEL_MS;
    assert_true(model_write(&m, A, 1));
    (void)model_idle(&m, A);
    assert_true(m.nodes[A].promise_max == promised);
    model_start(&m, C, true);
    model_close(&m, A);
    assert_false(m.nodes[A].view.closing);
    (void)model_idle(&m, A);
    assert_true(m.nodes[A].promise_max > promised);
}

static void only_a_sync_makes_the_applied_durable(void **state)
{
    struct at_vector upto;
    (void)state;

    at_vector_init(&upto);
    assert_true(model_write(&m, A, 1));
    model_commit(&m, A, true);
    assert_true(model_write(&m, A, 1));
    at_vector_copy(&upto, &m.nodes[A].view.applied);
    assert_true(model_write(&m, A, 1));
    assert_int_equal(at_vector_get(&m.nodes[A].view.durable, (struct at_member_id){A + 1}, 1), 1);
    at_replica_synced(model_replica(&m, A), &upto, 0);
    at_replica_view_fill(model_replica(&m, A), &m.nodes[A].view);
    assert_int_equal(at_vector_get(&m.nodes[A].view.durable, (struct at_member_id){A + 1}, 1), 2);
    at_vector_deinit(&upto);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, async_three, done)
        TEST(a_lone_fresh_cluster_accepts_writes_while_its_peers_are_down),
        TEST(positions_and_stamps_count_on),
        TEST(a_clock_ahead_of_the_others_refuses_writes_and_says_so),
        TEST(a_full_log_refuses_writes),
        TEST(an_idle_cluster_promises_without_committing_each_time),
        TEST(an_own_append_costs_one_record_and_the_horizon),
        TEST(the_horizon_waits_for_the_slowest_member_and_never_falls),
        TEST(a_dead_member_keeps_a_cluster_in_a_new_epoch_from_promising_but_not_from_writing),
        TEST(only_a_sync_makes_the_applied_durable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
