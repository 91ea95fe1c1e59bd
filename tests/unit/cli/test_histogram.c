/* test_histogram.c: quantiles of recorded values. */
#include "support/test.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/prng.h"
#include "cli/histogram.h"

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void an_empty_one_has_no_quantiles(void **state)
{
    (void)state;
    struct at_histogram *h = AT_NEW(struct at_histogram);
    assert_int_equal(at_histogram_quantile(h, 0.5), 0);
    at_free(h);
}

static void small_values_are_exact(void **state)
{
    (void)state;
    struct at_histogram *h = AT_NEW(struct at_histogram);
    for (uint64_t i = 0; i < 100; i++)
        at_histogram_add(h, i);
    assert_int_equal(at_histogram_quantile(h, 0), 0);
    assert_int_equal(at_histogram_quantile(h, 0.5), 50);
    assert_int_equal(at_histogram_quantile(h, 0.99), 99);
    assert_int_equal(at_histogram_quantile(h, 1), 99);
    at_free(h);
}

static void quantiles_are_within_one_percent(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static const double QUANTILES[] = {0.01, 0.5, 0.9, 0.99, 0.999};
    uint64_t *values = at_alloc(COUNT * sizeof(*values));
    struct at_histogram *h = AT_NEW(struct at_histogram);
    struct at_prng prng;
    at_prng_init(&prng, 7);
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = at_prng_u64(&prng) >> at_prng_below(&prng, 60);
        at_histogram_add(h, values[i]);
    }
    qsort(values, COUNT, sizeof(*values), compare);
    for (size_t i = 0; i < 5; i++) {
        double want = (double)values[(size_t)(QUANTILES[i] * COUNT)];
        double got = (double)at_histogram_quantile(h, QUANTILES[i]);
        assert_true(got >= want && got <= want * 1.01 + 1);
    }
    assert_int_equal(at_histogram_quantile(h, 1), values[COUNT - 1]);
    at_free(values);
    at_free(h);
}

static void merging_adds_all(void **state)
{
    (void)state;
    struct at_histogram *a = AT_NEW(struct at_histogram);
    struct at_histogram *b = AT_NEW(struct at_histogram);
    at_histogram_add(a, 3);
    at_histogram_add(b, UINT64_MAX);
    at_histogram_merge(a, b);
    assert_int_equal(a->total, 2);
    assert_true(a->max == UINT64_MAX);
    assert_int_equal(at_histogram_quantile(a, 0.25), 3);
    assert_true(at_histogram_quantile(a, 0.75) == UINT64_MAX);
    at_free(a);
    at_free(b);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(an_empty_one_has_no_quantiles),
        cmocka_unit_test(small_values_are_exact),
        cmocka_unit_test(quantiles_are_within_one_percent),
        cmocka_unit_test(merging_adds_all),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
