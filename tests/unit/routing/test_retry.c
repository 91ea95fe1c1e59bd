/* What may be sent again, and where. */
#include "routing/retry.h"

#include "base/clock.h"
#include "support/test.h"

struct retry_case {
    const char *name;
    struct at_attempt_outcome outcome;
    bool idempotent;
    bool transaction;
    uint32_t left;
    enum at_retry want;
};

#define OUT(c, peer, unproc, fwd)                                                     \
    {                                                                                 \
        .code = (c), .from_peer = (peer), .unprocessed = (unproc), .forwarded = (fwd) \
    }

static const struct retry_case CASES[] = {
    {"a success is an answer", OUT(AT_OK, true, false, true), true, false, 2, AT_RETRY_NO},
    {"a lost connection goes elsewhere", OUT(AT_UNAVAILABLE, false, false, false), true, false, 2,
     AT_RETRY_ELSEWHERE},
    {"after the first byte the client gets the error", OUT(AT_UNAVAILABLE, false, false, true),
     true, false, 2, AT_RETRY_NO},
    {"an unsafe request that may have run is not repeated",
     OUT(AT_UNAVAILABLE, false, false, false), false, false, 2, AT_RETRY_NO},
    {"an unsafe request that did not run goes elsewhere", OUT(AT_UNAVAILABLE, false, true, false),
     false, false, 2, AT_RETRY_ELSEWHERE},
    {"a transaction is never repeated", OUT(AT_UNAVAILABLE, false, true, false), false, true, 2,
     AT_RETRY_NO},
    {"a cluster that says UNAVAILABLE is left", OUT(AT_UNAVAILABLE, true, false, false), true,
     false, 1, AT_RETRY_ELSEWHERE},
    {"a wrong request is wrong everywhere", OUT(AT_INVALID_ARGUMENT, true, false, false), true,
     false, 2, AT_RETRY_NO},
    {"NOT_FOUND is an answer", OUT(AT_NOT_FOUND, true, false, false), true, false, 2, AT_RETRY_NO},
    {"a cluster's deadline is the client's", OUT(AT_DEADLINE_EXCEEDED, true, false, false), true,
     false, 2, AT_RETRY_NO},
    {"a reset stream of our own making goes elsewhere", OUT(AT_INTERNAL, false, false, false), true,
     false, 1, AT_RETRY_ELSEWHERE},
    {"a cluster's INTERNAL is an answer", OUT(AT_INTERNAL, true, false, false), true, false, 1,
     AT_RETRY_NO},
    {"when all were tried it goes round again", OUT(AT_UNAVAILABLE, false, true, false), true,
     false, 0, AT_RETRY_SAME},
};

static void decisions_follow_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct retry_case *c = &CASES[i];
        enum at_retry got = at_retry_decide(&c->outcome, c->idempotent, c->transaction, 1, c->left);
        if (got != c->want)
            fail_msg("%s: got %d", c->name, (int)got);
    }
}

static void attempts_are_bounded(void **state)
{
    (void)state;
    struct at_attempt_outcome o = OUT(AT_UNAVAILABLE, false, true, false);
    assert_int_equal(at_retry_decide(&o, true, false, 63, 0), AT_RETRY_SAME);
    assert_int_equal(at_retry_decide(&o, true, false, 64, 0), AT_RETRY_NO);
}

static void resends_at_half_of_what_is_left(void **state)
{
    (void)state;
    uint64_t now = 10 * AT_S_NS, deadline = 12 * AT_S_NS;
    assert_int_equal(at_retry_resend_at_ns(now, deadline, true, false, 1), 11 * AT_S_NS);
    assert_true(at_retry_resend_at_ns(now, deadline, false, false, 1) == UINT64_MAX);
    assert_true(at_retry_resend_at_ns(now, deadline, true, true, 1) == UINT64_MAX);
    assert_true(at_retry_resend_at_ns(now, deadline, true, false, 0) == UINT64_MAX);
    assert_true(at_retry_resend_at_ns(now, UINT64_MAX, true, false, 1) == UINT64_MAX);
    assert_int_equal(at_retry_resend_at_ns(now, now - 1, true, false, 1), now);
}

static void pauses_double_up_to_200_ms(void **state)
{
    (void)state;
    assert_int_equal(at_retry_pause_ms(0), 10);
    assert_int_equal(at_retry_pause_ms(2), 40);
    assert_int_equal(at_retry_pause_ms(100), 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_follow_the_table),
        cmocka_unit_test(attempts_are_bounded),
        cmocka_unit_test(resends_at_half_of_what_is_left),
        cmocka_unit_test(pauses_double_up_to_200_ms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
