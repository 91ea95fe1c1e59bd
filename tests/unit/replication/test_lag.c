#include "replication/lag.h"

#include "base/clock.h"
#include "support/test.h"

#define MS AT_MS_NS
#define PEER ((struct at_member_id){2})

static const struct at_lag_windows windows = {.fresh_ns = 600 * MS, .touch_ns = 2000 * MS};

struct scene {
    struct at_replica_view view;
    struct at_lag_evidence evidence;
    struct at_reply reply;
};

/* The peer said at 1000 ms that its own end was (1, 10); we have applied up to `applied`. */
static void setup(struct scene *s, uint64_t applied)
{
    *s = (struct scene){0};
    at_replica_view_init(&s->view);
    at_vector_raise(&s->view.applied, (struct at_position){PEER, 1, applied});
    s->view.member_count = 1;
    s->view.members[0].id = PEER;
    at_lag_evidence_init(&s->evidence, 100 * MS);
    s->reply.from = PEER;
    s->reply.hlc = 50000 * MS;
    at_vector_init(&s->reply.ends_known);
    at_vector_raise(&s->reply.ends_known, (struct at_position){PEER, 1, 10});
    at_vector_raise(&s->reply.ends_known, (struct at_position){{3}, 1, 99});
    at_lag_evidence_note(&s->evidence, &s->reply, 1000 * MS);
}

static void teardown(struct scene *s)
{
    at_replica_view_deinit(&s->view);
    at_lag_evidence_deinit(&s->evidence);
    at_vector_deinit(&s->reply.ends_known);
}

static struct at_lag at(struct scene *s, uint64_t now_ms)
{
    return at_lag_of(&s->evidence, &s->view, PEER, windows, now_ms * MS);
}

static void is_zero_while_a_fresh_reply_says_that_nothing_is_missing(void **state)
{
    (void)state;
    struct scene s;

    setup(&s, 10);
    struct at_lag lag = at(&s, 1500);
    assert_true(lag.known);
    assert_int_equal(lag.entries, 0);
    assert_int_equal(lag.ms, 0);
    lag = at(&s, 1601); /* it may have written since */
    assert_false(lag.known);
    assert_true(lag.ms > 0);
    teardown(&s);
}

/* All members had them when they left: this cluster was none then. */
static void counts_what_is_missing_of_epochs_that_left_the_peers_vectors(void **state)
{
    (void)state;
    struct scene s;

    setup(&s, 10);
    at_positions_facts_add_end(&s.reply.facts, (struct at_epoch_end){PEER, 1, 12});
    at_positions_facts_add_end(&s.reply.facts, (struct at_epoch_end){{3}, 1, 500});
    at_lag_evidence_note(&s.evidence, &s.reply, 1000 * MS);
    assert_int_equal(at(&s, 1001).entries, 2);
    at_positions_facts_deinit(&s.reply.facts);
    teardown(&s);
}

static void counts_only_the_peers_own_entries(void **state)
{
    (void)state;
    struct scene s;

    setup(&s, 7);
    at_vector_raise(&s.reply.ends_known, (struct at_position){PEER, 2, 5});
    at_lag_evidence_note(&s.evidence, &s.reply, 1000 * MS);
    assert_int_equal(at(&s, 1001).entries, 3 + 5);
    at_positions_facts_add_first_open(&s.view.facts, (struct at_first_open){PEER, 2});
    assert_int_equal(at(&s, 1001).entries, 5); /* a closed epoch is complete here */
    teardown(&s);
}

static void is_known_while_entries_are_missing_and_the_peer_is_in_touch(void **state)
{
    (void)state;
    struct scene s;

    setup(&s, 7);
    assert_true(at(&s, 1700).known);
    assert_true(at(&s, 3000).known);
    assert_false(at(&s, 3001).known);
    assert_int_equal(at(&s, 3001).entries, 3); /* at least */
    teardown(&s);
}

static void takes_the_time_from_the_promise_that_counts(void **state)
{
    (void)state;
    struct scene s;

    setup(&s, 7);
    s.view.members[0].fresh_hlc = 48000 * MS;
    assert_int_equal(at(&s, 1000).ms, 2000);
    assert_int_equal(at(&s, 1100).ms, 2100);
    s.view.members[0].fresh_hlc = 60000 * MS; /* newer than the reply, by way of a third member */
    assert_int_equal(at(&s, 1000).ms, 1);     /* something is missing: never zero */
    teardown(&s);
}

static void takes_the_time_since_all_was_there_when_nothing_was_promised(void **state)
{
    (void)state;
    struct scene s;

    setup(&s, 7);
    assert_int_equal(at(&s, 1100).ms, 1000); /* since the link was started */
    s.evidence.all_ns = 900 * MS;
    assert_int_equal(at(&s, 1100).ms, 200);
    teardown(&s);
}

static void is_unknown_before_the_first_reply(void **state)
{
    (void)state;
    struct scene s;

    setup(&s, 7);
    at_lag_evidence_deinit(&s.evidence);
    at_lag_evidence_init(&s.evidence, 0);
    struct at_lag lag = at(&s, 1);
    assert_false(lag.known);
    assert_true(lag.ms > 0);
    teardown(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_zero_while_a_fresh_reply_says_that_nothing_is_missing),
        cmocka_unit_test(counts_what_is_missing_of_epochs_that_left_the_peers_vectors),
        cmocka_unit_test(counts_only_the_peers_own_entries),
        cmocka_unit_test(is_known_while_entries_are_missing_and_the_peer_is_in_touch),
        cmocka_unit_test(takes_the_time_from_the_promise_that_counts),
        cmocka_unit_test(takes_the_time_since_all_was_there_when_nothing_was_promised),
        cmocka_unit_test(is_unknown_before_the_first_reply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
