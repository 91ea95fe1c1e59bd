#include "support/model_fixture.h"

static const struct at_member_view *member(uint32_t node, uint32_t of)
{
    const struct at_replica_view *v = &m.nodes[node].view;

    uint32_t i = 0;

    while (i + 1 < v->member_count && v->members[i].id.v != of + 1)
        i++;
    assert_int_equal(v->members[i].id.v, of + 1);
    return &v->members[i];
}

static void it_tells_what_is_known_of_each_member(void **state)
{
    (void)state;
    assert_int_equal(m.nodes[A].view.member_count, 3);
    assert_true(member(A, B)->active);
    assert_int_equal(member(A, B)->heard_mono_ns, 0);
    for (int i = 0; i < 3; i++)
        assert_true(model_write(&m, B, 1));
    m.now_ns += MODEL_MS;
    (void)model_idle(&m, B);
    assert_int_equal(model_exchange(&m, A, B, 1), 1);
    assert_true(member(A, B)->heard_mono_ns == m.now_ns);
    assert_int_equal(member(A, B)->known.seq, 3);
    assert_true(member(A, B)->fresh_hlc < m.now_ns);
    assert_true(member(A, B)->newest_hlc == m.now_ns);
    assert_int_equal(model_exchange(&m, A, B, 9), 2);
    assert_true(member(A, B)->fresh_hlc == m.now_ns);
    (void)model_exchange(&m, A, B, 9);
    assert_int_equal(member(B, A)->acked_seq, 3);
    assert_int_equal(member(B, C)->acked_seq, 0);
}

static void a_copy_is_the_same_and_reuses_its_memory(void **state)
{
    struct at_replica_view copy;
    (void)state;

    assert_true(model_write(&m, A, 1));
    (void)model_exchange(&m, A, B, 9);
    at_replica_view_init(&copy);
    at_replica_view_copy(&copy, &m.nodes[A].view);
    const void *items = copy.applied.items;
    const void *promises = copy.facts.promises;
    assert_true(model_write(&m, A, 1));
    at_replica_view_copy(&copy, &m.nodes[A].view);
    assert_ptr_equal(copy.applied.items, items);
    assert_ptr_equal(copy.facts.promises, promises);
    assert_int_equal(copy.seq, 2);
    assert_int_equal(at_vector_get(&copy.applied, (struct at_member_id){A + 1}, 1), 2);
    assert_int_equal(copy.facts.promise_count, m.nodes[A].view.facts.promise_count);
    at_replica_view_deinit(&copy);
}

static void the_own_promise_is_never_above_the_durable_reservation(void **state)
{
    struct at_replica_view view;
    (void)state;

    uint64_t promised = m.nodes[A].promise_max;
    m.now_ns += 3600 * 1000 * MODEL_MS;
    assert_true(at_replica_promise(model_replica(&m, A), model_wall(&m, A)));
    at_replica_view_init(&view);
    at_replica_view_fill(model_replica(&m, A), &view); /* though it should be committed first */
    for (uint32_t i = 0; i < view.facts.promise_count; i++)
        assert_true(view.facts.promises[i].hlc <= promised + MODEL_SKEW_MS * MODEL_MS / 4);
    at_replica_view_deinit(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, async_three, done)
        TEST(it_tells_what_is_known_of_each_member),
        TEST(a_copy_is_the_same_and_reuses_its_memory),
        TEST(the_own_promise_is_never_above_the_durable_reservation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
