#include "cluster/model/hll.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/prng.h"
#include "support/test.h"

#include <math.h>

static void add_number(struct at_hll *hll, uint64_t n)
{
    uint8_t bytes[8];

    at_put_be64(bytes, n);
    at_hll_add(hll, at_slice_make(bytes, sizeof(bytes)));
}

static size_t state_of(const struct at_hll *hll, uint8_t *out)
{
    size_t len = at_hll_encode(hll, out);

    assert_true(len <= AT_HLL_STATE_BYTES_MAX);
    assert_int_not_equal(len, 8);
    assert_int_equal(at_hll_check(at_slice_make(out, len)), AT_OK);
    return len;
}

static void assert_same(const struct at_hll *a, const struct at_hll *b)
{
    static uint8_t left[AT_HLL_STATE_BYTES_MAX];
    static uint8_t right[AT_HLL_STATE_BYTES_MAX];
    size_t left_len = state_of(a, left);

    assert_int_equal(left_len, state_of(b, right));
    assert_memory_equal(left, right, left_len);
}

static void the_estimate_is_within_three_percent(void **state)
{
    static const uint64_t counts[] = {0,    1,     2,     10,     100,    1000,
                                      3072, 5000,  10000, 30000,  100000, 300000,
                                      3073, 40000, 65000, 500000, 1000000};

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (uint64_t salt = 0; salt < 3; salt++) {
            struct at_hll hll = {0};
            for (uint64_t n = 0; n < counts[i]; n++)
                add_number(&hll, salt << 40 | n);
            double off = (double)at_hll_estimate(&hll) - (double)counts[i];
            assert_true(fabs(off) <= 0.03 * (double)counts[i]);
            if (counts[i] <= 1000)
                assert_true(off == 0);
            if (counts[i] <= AT_HLL_SPARSE_MAX || counts[i] >= 5000) /* a few share an index */
                assert_int_equal(hll.dense, counts[i] > AT_HLL_SPARSE_MAX);
            at_hll_deinit(&hll);
        }
    }
}

/* However values are spread over partial sketches, and in whatever order those are merged. */
static void merging_gives_the_sketch_of_the_union(void **state)
{
    enum { PARTS = 7 };
    static const uint64_t counts[] = {3, 500, 4000, 20000};
    static uint8_t bytes[AT_HLL_STATE_BYTES_MAX];
    struct at_prng prng;

    (void)state;
    at_prng_init(&prng, 11);
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        struct at_hll all = {0};
        struct at_hll parts[PARTS] = {0};
        struct at_hll forwards = {0};
        struct at_hll backwards = {0};
        for (uint64_t n = 0; n < counts[c]; n++) {
            uint64_t value = at_prng_below(&prng, counts[c]);
            add_number(&all, value);
            add_number(&parts[at_prng_below(&prng, PARTS)], value);
            add_number(&parts[at_prng_below(&prng, 2)], value); /* some parts are larger */
        }
        for (int i = 0; i < 2 * PARTS; i++) { /* twice: once more changes nothing */
            size_t len = state_of(&parts[i % PARTS], bytes);
            assert_int_equal(at_hll_merge(&forwards, at_slice_make(bytes, len)), AT_OK);
            len = state_of(&parts[PARTS - 1 - i % PARTS], bytes);
            assert_int_equal(at_hll_merge(&backwards, at_slice_make(bytes, len)), AT_OK);
        }
        assert_same(&all, &forwards);
        assert_same(&all, &backwards);
        for (int i = 0; i < PARTS; i++)
            at_hll_deinit(&parts[i]);
        at_hll_deinit(&all);
        at_hll_deinit(&forwards);
        at_hll_deinit(&backwards);
    }
}

static void the_state_of_one_value_is_that_of_a_sketch_with_it(void **state)
{
    uint8_t one[AT_HLL_ONE_BYTES];
    uint8_t same[AT_HLL_STATE_BYTES_MAX];
    struct at_hll hll = {0};

    (void)state;
    at_hll_add(&hll, AT_LIT("value"));
    at_hll_one(AT_LIT("value"), one);
    assert_int_equal(state_of(&hll, same), sizeof(one));
    assert_memory_equal(one, same, sizeof(one));
    at_hll_deinit(&hll);
}

/* States are on disks: this one must be understood for ever. */
static void the_state_format_is_fixed(void **state)
{
    static const uint8_t want[] = {'H', 'L', 'L', 1, 14, 1, 0x61, 0x4b, 0x50, 0x81};
    uint8_t one[AT_HLL_ONE_BYTES];

    (void)state;
    at_hll_one(AT_LIT("atoll"), one);
    assert_memory_equal(one, want, sizeof(one));
}

static void clearing_keeps_nothing(void **state)
{
    struct at_hll hll = {0};
    struct at_hll empty = {0};

    (void)state;
    for (uint64_t n = 0; n < 10000; n++)
        add_number(&hll, n);
    at_hll_clear(&hll);
    assert_int_equal(at_hll_estimate(&hll), 0);
    assert_same(&hll, &empty);
    for (uint64_t n = 10000; n < 20000; n++) {
        add_number(&hll, n);
        add_number(&empty, n);
    }
    assert_same(&hll, &empty);
    at_hll_deinit(&hll);
    at_hll_deinit(&empty);
}

struct refusal {
    const char *name;
    struct at_slice state;
};

#define STATE(s) AT_LIT_INIT("HLL\x01\x0e" s)
static const struct refusal REFUSALS[] = {
    {"nothing", {NULL, 0}},
    {"an integer", AT_LIT_INIT("\0\0\0\0\0\0\0\1")},
    {"a cut header", AT_LIT_INIT("HLL\x01\x0e")},
    {"another version", AT_LIT_INIT("HLL\x02\x0e\x01")},
    {"another precision", AT_LIT_INIT("HLL\x01\x0f\x01")},
    {"an unknown form", STATE("\x03")},
    {"half an entry", STATE("\x01\0\0")},
    {"rank 0", STATE("\x01\0\0\x01\0")},
    {"rank 41", STATE("\x01\0\0\x01\x29")},
    {"an index of 26 bits", STATE("\x01\x80\0\0\x01")},
    {"one index twice", STATE("\x01\0\0\x01\x01\0\0\x01\x02")},
    {"falling indexes", STATE("\x01\0\0\x02\x01\0\0\x01\x01")},
    {"a dense one without registers", STATE("\x02")},
};

static void refuses(void **state)
{
    const struct refusal *r = *state;
    struct at_hll hll = {0};
    struct at_hll same = {0};

    at_hll_add(&hll, AT_LIT("x"));
    at_hll_add(&same, AT_LIT("x"));
    assert_int_equal(at_hll_check(r->state), AT_INVALID_ARGUMENT);
    assert_int_equal(at_hll_merge(&hll, r->state), AT_INVALID_ARGUMENT);
    assert_same(&hll, &same);
    at_hll_deinit(&hll);
    at_hll_deinit(&same);
}

static void refuses_registers_beyond_the_highest_rank_and_too_many_entries(void **state)
{
    static uint8_t bytes[AT_HLL_STATE_BYTES_MAX + AT_HLL_ENTRY_BYTES];
    struct at_hll hll = {0};

    (void)state;
    for (uint64_t n = 0; n < 10000; n++)
        add_number(&hll, n);
    size_t len = state_of(&hll, bytes);
    assert_int_equal(len, AT_HLL_HEADER_BYTES + AT_HLL_DENSE_BYTES);
    bytes[len - 1] |= 0x3f;
    assert_int_equal(at_hll_check(at_slice_make(bytes, len)), AT_INVALID_ARGUMENT);
    assert_int_equal(at_hll_check(at_slice_make(bytes, len - 1)), AT_INVALID_ARGUMENT);
    bytes[AT_HLL_HEADER_BYTES - 1] = 1;
    for (uint32_t i = 0; i <= AT_HLL_SPARSE_MAX; i++)
        at_put_be32(bytes + AT_HLL_HEADER_BYTES + i * AT_HLL_ENTRY_BYTES, i << 6 | 1);
    assert_int_equal(at_hll_check(at_slice_make(bytes, sizeof(bytes))), AT_INVALID_ARGUMENT);
    assert_int_equal(at_hll_check(at_slice_make(bytes, AT_HLL_STATE_BYTES_MAX)), AT_OK);
    at_hll_deinit(&hll);
}

/* Any bytes: refused, or a state that comes out of a merge as it went in. */
static void damaged_states_are_refused_or_harmless(void **state)
{
    static uint8_t bytes[AT_HLL_STATE_BYTES_MAX];
    struct at_prng prng;
    struct at_hll hll = {0};
    struct at_hll merged = {0};

    (void)state;
    at_prng_init(&prng, 12);
    for (int i = 0; i < 3000; i++) {
        at_hll_clear(&hll);
        at_hll_clear(&merged);
        for (uint64_t n = at_prng_below(&prng, i % 100 == 0 ? 5000 : 20); n-- > 0;)
            add_number(&hll, at_prng_u64(&prng));
        size_t len = state_of(&hll, bytes);
        for (uint64_t n = at_prng_below(&prng, 4); n-- > 0;)
            bytes[at_prng_below(&prng, len)] = (uint8_t)at_prng_u64(&prng);
        if (at_prng_below(&prng, 4) == 0)
            len = at_prng_below(&prng, len);
        uint8_t *exact = at_alloc(len + 1);
        memcpy(exact, bytes, len);
        if (at_hll_merge(&merged, at_slice_make(exact, len)) == AT_OK) {
            assert_int_equal(state_of(&merged, bytes), len);
            assert_memory_equal(bytes, exact, len);
        }
        at_free(exact);
    }
    at_hll_deinit(&hll);
    at_hll_deinit(&merged);
}

#define REFUSAL_COUNT (sizeof(REFUSALS) / sizeof(REFUSALS[0]))

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(the_estimate_is_within_three_percent),
        cmocka_unit_test(merging_gives_the_sketch_of_the_union),
        cmocka_unit_test(the_state_of_one_value_is_that_of_a_sketch_with_it),
        cmocka_unit_test(the_state_format_is_fixed),
        cmocka_unit_test(clearing_keeps_nothing),
        cmocka_unit_test(refuses_registers_beyond_the_highest_rank_and_too_many_entries),
        cmocka_unit_test(damaged_states_are_refused_or_harmless),
    };
    struct CMUnitTest tests[REFUSAL_COUNT];

    for (size_t i = 0; i < REFUSAL_COUNT; i++)
        tests[i] = (struct CMUnitTest){
            .name = REFUSALS[i].name,
            .test_func = refuses,
            .initial_state = (void *)(uintptr_t)&REFUSALS[i],
        };
    return cmocka_run_group_tests(others, NULL, NULL) + cmocka_run_group_tests(tests, NULL, NULL);
}
