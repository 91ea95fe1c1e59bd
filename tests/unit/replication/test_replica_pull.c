#include "support/model_fixture.h"

/* What is taken from others and what is not. */

struct reply_case {
    const char *name;
    uint64_t instance_id;
    uint32_t from;
    bool taken;
};

static const struct reply_case reply_cases[] = {
    {"of a member", 77, 2, true},
    {"of another instance", 78, 2, false},
    {"of a stranger", 77, 9, false},
    {"of oneself", 77, 1, false},
};

static void only_replies_of_members_are_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(reply_cases) / sizeof(reply_cases[0]); i++) {
        const struct reply_case *c = &reply_cases[i];
        struct at_reply reply = {
            .instance_id = c->instance_id, .from = {c->from}, .incarnation = 1};
        const char *why = NULL;
        if (at_replica_admit_reply(model_replica(&m, A), &reply, &why) != c->taken)
            fail_msg("%s: %s", c->name, why != NULL ? why : "taken");
        assert_true((why == NULL) == c->taken);
    }
}

static void a_reply_of_an_older_process_is_not_taken_after_a_close(void **state)
{
    struct at_close close = {.instance_id = 77, .origin = {2}, .incarnation = 3};
    static struct at_close_answer answer;
    struct at_reply reply = {.instance_id = 77, .from = {2}, .incarnation = 2};
    const char *why = NULL;
    (void)state;

    assert_true(at_replica_admit_reply(model_replica(&m, A), &reply, &why));
    assert_int_equal(at_replica_on_close(model_replica(&m, A), &close, &answer), AT_OK);
    assert_false(at_replica_admit_reply(model_replica(&m, A), &reply, &why));
    reply.incarnation = 3;
    assert_true(at_replica_admit_reply(model_replica(&m, A), &reply, &why));
    close.incarnation = 2; /* of that process, or its disk was set back */
    assert_int_equal(at_replica_on_close(model_replica(&m, A), &close, &answer), AT_OK);
    reply.incarnation = 2;
    assert_false(at_replica_admit_reply(model_replica(&m, A), &reply, &why));
}

struct admit_case {
    const char *name;
    uint32_t origin;
    uint32_t epoch;
    uint64_t seq;
    int64_t ahead_ms;
    enum at_admit verdict;
};

/* B's entries 1 and 2 are applied. */
static const struct admit_case admit_cases[] = {
    {"the next one", 2, 1, 3, 0, AT_ADMIT_APPLY},
    {"one that is known", 2, 1, 2, 0, AT_ADMIT_SKIP},
    {"one beyond a gap", 2, 1, 4, 0, AT_ADMIT_STOP},
    {"the first of a new epoch", 2, 2, 1, 0, AT_ADMIT_APPLY},
    {"the first of an origin nobody told of", 9, 1, 1, 0, AT_ADMIT_APPLY},
    {"an epoch out of reach", 2, 5000, 1, 0, AT_ADMIT_STOP},
    {"epoch 0", 2, 0, 1, 0, AT_ADMIT_STOP},
    {"one as far ahead as allowed", 2, 1, 3, MODEL_SKEW_MS, AT_ADMIT_APPLY},
    {"one stamped beyond the limit", 2, 1, 3, MODEL_SKEW_MS + 1, AT_ADMIT_PARK},
};

static void entries_are_admitted_in_order_and_not_from_the_future(void **state)
{
    (void)state;
    assert_true(model_write(&m, B, 1));
    assert_true(model_write(&m, B, 1));
    assert_int_equal(model_exchange(&m, A, B, 9), 2);
    for (size_t i = 0; i < sizeof(admit_cases) / sizeof(admit_cases[0]); i++) {
        const struct admit_case *c = &admit_cases[i];
        struct at_position p = {{c->origin}, c->epoch, c->seq};
        struct at_entry e = {
            .seq = c->seq, .hlc = m.now_ns + (uint64_t)c->ahead_ms * MODEL_MS, .ticks = 1};
        enum at_admit got = at_replica_admit(model_replica(&m, A), p, &e, m.now_ns);
        if (got != c->verdict)
            fail_msg("%s: %d", c->name, (int)got);
    }
}

static void a_parked_origin_waits_alone_and_shows(void **state)
{
    (void)state;
    m.nodes[B].offset_ns = 1000 * (int64_t)MODEL_MS;
    assert_true(model_write(&m, B, 1));
    assert_true(model_write(&m, B, 1));
    assert_true(model_write(&m, C, 1));
    assert_int_equal(model_exchange(&m, A, B, 9), 0);
    assert_false(m.nodes[A].view.healthy);
    assert_int_equal(model_exchange(&m, A, C, 9), 1);
    m.now_ns += 700 * MODEL_MS;
    assert_int_equal(model_exchange(&m, A, B, 9), 2);
    m.nodes[B].offset_ns = 0;
    m.now_ns += 1000 * MODEL_MS;
    (void)model_exchange(&m, A, B, 9);
    assert_true(m.nodes[A].view.healthy);
}

static void an_applied_stamp_moves_the_clock(void **state)
{
    (void)state;
    m.nodes[B].offset_ns = 300 * (int64_t)MODEL_MS;
    assert_true(model_write(&m, B, 5));
    assert_int_equal(model_exchange(&m, A, B, 9), 1);
    assert_true(model_write(&m, A, 1));
    assert_true(m.truth[A][0].entries[0].hlc > m.truth[B][0].entries[0].hlc + 4);
}

static void cap(uint32_t node, uint32_t origin, uint64_t seq)
{
    at_replica_trimmed(model_replica(&m, node), (struct at_position){{origin + 1}, 1, seq});
    model_commit(&m, node, true);
}

static void a_gap_needs_a_copy_only_when_nobody_in_touch_serves_it(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(model_write(&m, B, 1));
    assert_int_equal(model_exchange(&m, C, B, 9), 3);
    (void)model_exchange(&m, A, C, 0); /* A knows that C has them */
    cap(B, B, 2);
    assert_int_equal(model_exchange(&m, A, B, 9), 0);
    assert_int_equal(m.nodes[A].view.mode, AT_MODE_READY);
    cap(C, B, 1);
    assert_int_equal(model_exchange(&m, A, C, 9), 0);
    assert_int_equal(m.nodes[A].view.mode, AT_MODE_NEEDS_COPY);
    assert_false(m.nodes[A].view.may_write);
    assert_false(model_write(&m, A, 1));
    model_crash(&m, A);
    model_start(&m, A, false);
    assert_int_equal(m.nodes[A].view.mode, AT_MODE_NEEDS_COPY); /* stored */
}

static void needs_copy_is_left_when_a_reply_closes_the_gap(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(model_write(&m, B, 1));
    assert_int_equal(model_exchange(&m, C, B, 9), 3);
    cap(B, B, 2);
    assert_int_equal(model_exchange(&m, A, B, 9), 0); /* C was never heard */
    assert_int_equal(m.nodes[A].view.mode, AT_MODE_NEEDS_COPY);
    assert_int_equal(model_exchange(&m, A, C, 9), 3);
    assert_int_equal(m.nodes[A].view.mode, AT_MODE_READY);
    assert_true(model_write(&m, A, 1));
}

/* All of them within one reply of B; the clock is what A issues next. */
static void a_promise_of_the_future_is_left_out(void **state)
{
    struct at_replica *a = model_replica(&m, A);
    struct at_promise promises[] = {
        {.origin = {1}, .epoch = 1, .hlc = UINT64_MAX, .closed_from = 1},
        {.origin = {1}, .epoch = 1, .hlc = m.now_ns + 10 * MODEL_SKEW_MS * MODEL_MS},
        {.origin = {3}, .epoch = 1, .hlc = UINT64_MAX, .closed_from = 1},
        {.origin = {3}, .epoch = 1, .hlc = m.now_ns, .closed_from = 1},
        {.origin = {2}, .epoch = 1, .hlc = m.now_ns, .closed_from = 1},
    };
    struct at_reply reply = {
        .instance_id = 77,
        .from = {2},
        .incarnation = 1,
        .hlc = UINT64_MAX,
        .facts = {.promises = promises, .promise_count = 5},
    };
    (void)state;

    assert_false(at_replica_merge_reply(a, &reply, m.now_ns, m.now_ns));
    model_commit(&m, A, true);
    assert_true(at_replica_issue(a, 1, m.now_ns) <= m.now_ns + MODEL_SKEW_MS * MODEL_MS);
    assert_true(m.nodes[A].view.may_write);
    (void)at_replica_promise(a, m.now_ns);
    assert_true(model_horizon(&m, A) <= m.now_ns);
    model_crash(&m, A);
    model_start(&m, A, false); /* nothing of it was stored */
    assert_true(model_write(&m, A, 1));
    for (size_t i = 0; i < 5; i++)
        promises[i].hlc = m.now_ns;
    assert_true(at_replica_merge_reply(model_replica(&m, A), &reply, m.now_ns, m.now_ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, sync_three, done)
        TEST(only_replies_of_members_are_taken),
        TEST(a_reply_of_an_older_process_is_not_taken_after_a_close),
        TEST(entries_are_admitted_in_order_and_not_from_the_future),
        TEST(a_parked_origin_waits_alone_and_shows),
        TEST(an_applied_stamp_moves_the_clock),
        TEST(a_promise_of_the_future_is_left_out),
        TEST(a_gap_needs_a_copy_only_when_nobody_in_touch_serves_it),
        TEST(needs_copy_is_left_when_a_reply_closes_the_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
