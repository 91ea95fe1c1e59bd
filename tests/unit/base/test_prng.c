#include "base/prng.h"

#include "support/test.h"

#include <string.h>

/* Of the reference code: splitmix64 from seed 0 begins with this number. */
static void the_seed_goes_through_splitmix64(void **state)
{
    struct at_prng p;

    (void)state;
    at_prng_init(&p, 0);
    assert_true(p.s[0] == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(p.s[1] == UINT64_C(0x6e789e6aa1b965f4));
}

/* Of the reference code: xoshiro256** from the state 1, 2, 3, 4. */
static void the_numbers_are_those_of_xoshiro256starstar(void **state)
{
    static const uint64_t want[] = {
        UINT64_C(11520),
        UINT64_C(0),
        UINT64_C(1509978240),
        UINT64_C(1215971899390074240),
    };
    struct at_prng p = {.s = {1, 2, 3, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        assert_true(at_prng_u64(&p) == want[i]);
}

static void the_same_seed_gives_the_same_numbers(void **state)
{
    struct at_prng a;
    struct at_prng b;
    struct at_prng other;
    int same = 0;

    (void)state;
    at_prng_init(&a, 42);
    at_prng_init(&b, 42);
    at_prng_init(&other, 43);
    for (int i = 0; i < 1000; i++) {
        uint64_t v = at_prng_u64(&a);
        assert_true(v == at_prng_u64(&b));
        same += v == at_prng_u64(&other);
    }
    assert_int_equal(same, 0);
}

static void below_stays_below_and_reaches_all(void **state)
{
    struct at_prng p;
    uint32_t seen[6] = {0};

    (void)state;
    at_prng_init(&p, 7);
    for (int i = 0; i < 60000; i++)
        seen[at_prng_below(&p, 6)]++;
    for (int i = 0; i < 6; i++)
        assert_in_range(seen[i], 9500, 10500);
    assert_int_equal(at_prng_below(&p, 1), 0);
    for (int i = 0; i < 1000; i++)
        assert_true(at_prng_below(&p, UINT64_MAX) < UINT64_MAX);
}

static void random_bytes_fill_all_and_differ(void **state)
{
    uint8_t a[1000] = {0};
    uint8_t b[1000] = {0};
    int zeros = 0;

    (void)state;
    at_random_bytes(a, sizeof(a));
    at_random_bytes(b, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
    for (size_t i = 0; i < sizeof(a); i++)
        zeros += a[i] == 0;
    assert_in_range(zeros, 0, 30);
    at_random_bytes(a, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seed_goes_through_splitmix64),
        cmocka_unit_test(the_numbers_are_those_of_xoshiro256starstar),
        cmocka_unit_test(the_same_seed_gives_the_same_numbers),
        cmocka_unit_test(below_stays_below_and_reaches_all),
        cmocka_unit_test(random_bytes_fill_all_and_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
