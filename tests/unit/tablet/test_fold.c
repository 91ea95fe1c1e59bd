#include "cluster/tablet/fold.h"

#include "base/bytes.h"
#include "base/prng.h"
#include "support/test.h"

struct fold_case {
    const char *name;
    enum at_family_type type;
    int64_t adds[3];
    int64_t want;
};

static const struct fold_case cases[] = {
    {"a sum adds", AT_FAMILY_SUM, {5, -7, 1}, -1},
    {"a sum wraps around", AT_FAMILY_SUM, {INT64_MAX, 1, 0}, INT64_MIN},
    {"min is signed", AT_FAMILY_MIN, {5, -7, 1}, -7},
    {"max is signed", AT_FAMILY_MAX, {-5, -7, -6}, -5},
};

static void folds(void **state)
{
    const struct fold_case *c = *state;
    struct at_fold fold = {0};
    uint8_t bytes[8];

    for (int i = 0; i < 3; i++) {
        at_put_be64(bytes, (uint64_t)c->adds[i]);
        assert_true(at_fold_add(&fold, c->type, 9, at_slice_make(bytes, 8)));
    }
    assert_true(fold.active);
    assert_int_equal(fold.timestamp_micros, 9);
    struct at_slice value = at_fold_take(&fold);
    assert_int_equal(value.len, 8);
    assert_true((int64_t)at_get_be64(value.data) == c->want);
    assert_false(fold.active);
    at_fold_deinit(&fold);
}

static void refuses_what_is_not_eight_bytes(void **state)
{
    struct at_fold fold = {0};

    (void)state;
    assert_false(at_fold_add(&fold, AT_FAMILY_SUM, 1, AT_LIT("1234567")));
    assert_false(fold.active);
    assert_false(at_fold_fits(AT_FAMILY_SUM, AT_LIT("1234567")));
    assert_true(at_fold_fits(AT_FAMILY_SUM, AT_LIT("12345678")));
    assert_false(at_fold_applies(AT_FAMILY_PLAIN));
    assert_true(at_fold_applies(AT_FAMILY_HLL));
    at_fold_deinit(&fold);
}

/* Three values, one of them twice, in any order, with a partial that is none among them. */
static void a_unique_count_is_the_union(void **state)
{
    static const struct at_slice values[] = {AT_LIT_INIT("a"), AT_LIT_INIT("b"), AT_LIT_INIT("c"),
                                             AT_LIT_INIT("a")};
    struct at_fold fold = {0};
    struct at_hll want = {0};
    uint8_t bytes[AT_HLL_STATE_BYTES_MAX];
    uint8_t one[AT_HLL_ONE_BYTES];
    struct at_prng prng;

    (void)state;
    at_prng_init(&prng, 3);
    for (int i = 0; i < 4; i++)
        at_hll_add(&want, values[i]);
    struct at_slice wanted = at_slice_make(bytes, at_hll_encode(&want, bytes));
    for (int round = 0; round < 10; round++) {
        uint64_t shift = at_prng_below(&prng, 4);
        for (uint64_t i = 0; i < 4; i++) {
            at_hll_one(values[(i + shift) % 4], one);
            assert_true(at_fold_add(&fold, AT_FAMILY_HLL, 9, at_slice_make(one, sizeof(one))));
            assert_false(at_fold_add(&fold, AT_FAMILY_HLL, 9, AT_LIT("12345678")));
        }
        assert_true(at_slice_eq(at_fold_take(&fold), wanted));
    }
    at_hll_deinit(&want);
    at_fold_deinit(&fold);
}

int main(void)
{
    struct CMUnitTest tests[6];

    for (int i = 0; i < 4; i++)
        tests[i] = (struct CMUnitTest){
            .name = cases[i].name,
            .test_func = folds,
            .initial_state = (void *)(uintptr_t)&cases[i],
        };
    tests[4] = (struct CMUnitTest)cmocka_unit_test(refuses_what_is_not_eight_bytes);
    tests[5] = (struct CMUnitTest)cmocka_unit_test(a_unique_count_is_the_union);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
