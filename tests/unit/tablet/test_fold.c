#include "cluster/tablet/fold.h"

#include "base/bytes.h"
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
        assert_int_equal(at_fold_add(&fold, c->type, 9, at_slice_make(bytes, 8)), AT_OK);
    }
    assert_true(fold.active);
    assert_int_equal(fold.timestamp_micros, 9);
    struct at_slice value = at_fold_take(&fold);
    assert_int_equal(value.len, 8);
    assert_true((int64_t)at_get_be64(value.data) == c->want);
    assert_false(fold.active);
}

static void refuses_what_is_not_eight_bytes(void **state)
{
    struct at_fold fold = {0};

    (void)state;
    assert_int_equal(at_fold_add(&fold, AT_FAMILY_SUM, 1, AT_LIT("1234567")), AT_DATA_LOSS);
    assert_false(fold.active);
    assert_false(at_fold_applies(AT_FAMILY_PLAIN));
    assert_false(at_fold_applies(AT_FAMILY_HLL));
}

int main(void)
{
    struct CMUnitTest tests[5];

    for (int i = 0; i < 4; i++)
        tests[i] = (struct CMUnitTest){
            .name = cases[i].name,
            .test_func = folds,
            .initial_state = (void *)(uintptr_t)&cases[i],
        };
    tests[4] = (struct CMUnitTest)cmocka_unit_test(refuses_what_is_not_eight_bytes);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
