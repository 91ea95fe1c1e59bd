#include "cluster/tablet/tokens.h"

#include "base/prng.h"
#include "support/test.h"

#define SPAN AT_TOKEN_SPAN_NS

static struct at_hash128 id_of(uint64_t n)
{
    return (struct at_hash128){.low = n * 7, .high = n + 1};
}

static void an_added_token_is_there_and_no_other(void **state)
{
    struct at_tokens t = {0};

    (void)state;
    assert_false(at_tokens_has(&t, id_of(1)));
    assert_true(at_tokens_add(&t, id_of(1), 10));
    assert_true(at_tokens_has(&t, id_of(1)));
    assert_false(at_tokens_has(&t, id_of(2)));
    assert_false(at_tokens_add(&t, id_of(1), 10));
    assert_false(at_tokens_add(&t, id_of(1), 11)); /* it is known already */
    assert_int_equal(t.count, 1);
    at_tokens_deinit(&t);
}

static void a_token_lives_for_its_time_and_at_most_a_span_more(void **state)
{
    struct at_tokens t = {0};
    uint64_t now = 1000 * SPAN;
    uint64_t gone = 0;

    (void)state;
    assert_true(at_tokens_add(&t, id_of(1), at_token_span_of(now)));
    assert_true(at_tokens_add(&t, id_of(2), at_token_span_of(now + SPAN)));
    assert_false(at_tokens_expire(&t, now + SPAN - 1 + AT_TOKEN_LIFE_NS, &gone));
    assert_true(at_tokens_has(&t, id_of(1)));
    assert_true(at_tokens_expire(&t, now + SPAN + AT_TOKEN_LIFE_NS, &gone));
    assert_int_equal(gone, 1000);
    assert_false(at_tokens_has(&t, id_of(1)));
    assert_true(at_tokens_has(&t, id_of(2)));
    assert_false(at_tokens_expire(&t, now + SPAN + AT_TOKEN_LIFE_NS, &gone));
    assert_int_equal(t.count, 1);
    at_tokens_deinit(&t);
}

/* Against a list: adds over an hour, and at each time what is within the life must be known. */
static void it_knows_what_a_list_knows(void **state)
{
    enum { COUNT = 20000 };
    static uint64_t times[COUNT];
    struct at_tokens t = {0};
    struct at_prng prng;
    uint64_t now = 5000 * SPAN;
    uint64_t gone;

    (void)state;
    at_prng_init(&prng, 4);
    for (uint64_t i = 0; i < COUNT; i++) {
        now += at_prng_below(&prng, 360 * 1000000);
        while (at_tokens_expire(&t, now, &gone))
            continue;
        times[i] = now;
        assert_true(at_tokens_add(&t, id_of(i), at_token_span_of(now)));
        for (int k = 0; k < 3; k++) {
            uint64_t j = at_prng_below(&prng, i + 1);
            if (times[j] + AT_TOKEN_LIFE_NS > now)
                assert_true(at_tokens_has(&t, id_of(j)));
            if (times[j] + AT_TOKEN_LIFE_NS + 2 * SPAN < now)
                assert_false(at_tokens_has(&t, id_of(j)));
        }
        assert_false(at_tokens_has(&t, id_of(i + 1)));
    }
    at_tokens_deinit(&t);
}

static void a_newer_span_takes_the_place_of_an_old_one_and_not_the_other_way(void **state)
{
    struct at_tokens t = {0};

    (void)state;
    assert_true(at_tokens_add(&t, id_of(1), 3));
    assert_true(at_tokens_add(&t, id_of(2), 3 + AT_TOKEN_SPANS));
    assert_false(at_tokens_has(&t, id_of(1)));
    assert_false(at_tokens_add(&t, id_of(3), 3));
    assert_true(at_tokens_has(&t, id_of(2)));
    assert_int_equal(t.count, 1);
    at_tokens_deinit(&t);
}

static void no_more_than_its_limit_are_kept(void **state)
{
    struct at_tokens t = {0};

    (void)state;
    for (uint64_t i = 0; i < AT_TOKENS_MAX; i++)
        assert_true(at_tokens_add(&t, id_of(i), i % 3));
    assert_true(at_tokens_full(&t));
    assert_false(at_tokens_add(&t, id_of(AT_TOKENS_MAX), 3));
    assert_true(at_tokens_has(&t, id_of(0)) && at_tokens_has(&t, id_of(AT_TOKENS_MAX - 1)));
    at_tokens_deinit(&t);
    assert_false(at_tokens_full(&t));
}

static bool same(struct at_hash128 a, struct at_hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

static void the_id_depends_on_all_it_guards(void **state)
{
    struct at_hash128 id = at_token_id(AT_LIT("t"), 1, AT_LIT("r"), AT_LIT("12345678"));

    (void)state;
    assert_true(same(id, at_token_id(AT_LIT("t"), 1, AT_LIT("r"), AT_LIT("12345678"))));
    assert_false(same(id, at_token_id(AT_LIT("u"), 1, AT_LIT("r"), AT_LIT("12345678"))));
    assert_false(same(id, at_token_id(AT_LIT("t"), 3, AT_LIT("r"), AT_LIT("12345678"))));
    assert_false(same(id, at_token_id(AT_LIT("t"), 1, AT_LIT("s"), AT_LIT("12345678"))));
    assert_false(same(id, at_token_id(AT_LIT("t"), 1, AT_LIT("r"), AT_LIT("12345679"))));
    assert_false(same(id, at_token_id(AT_LIT("t"), 1, AT_LIT("r1"), AT_LIT("2345678"))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_added_token_is_there_and_no_other),
        cmocka_unit_test(a_token_lives_for_its_time_and_at_most_a_span_more),
        cmocka_unit_test(it_knows_what_a_list_knows),
        cmocka_unit_test(a_newer_span_takes_the_place_of_an_old_one_and_not_the_other_way),
        cmocka_unit_test(no_more_than_its_limit_are_kept),
        cmocka_unit_test(the_id_depends_on_all_it_guards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
