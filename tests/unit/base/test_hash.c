#include "base/hash.h"

#include "support/test.h"

/* Published values of XXH3 for the empty input and seed 0. */
static void digests_are_those_of_xxh3(void **state)
{
    (void)state;
    assert_true(at_hash64(at_slice_make(NULL, 0), 0) == UINT64_C(0x2d06800538d394c2));
    struct at_hash128 h = at_hash128(AT_LIT(""), 0);
    assert_true(h.high == UINT64_C(0x99aa06d3014798d8));
    assert_true(h.low == UINT64_C(0x6001c324468d497f));
}

static void bytes_length_and_seed_all_count(void **state)
{
    (void)state;
    uint64_t base = at_hash64(AT_LIT("row"), 0);
    assert_true(base == at_hash64(AT_LIT("row"), 0));
    assert_true(base != at_hash64(AT_LIT("roW"), 0));
    assert_true(base != at_hash64(AT_LIT("row\0"), 0));
    assert_true(base != at_hash64(AT_LIT("row"), 1));

    struct at_hash128 h = at_hash128(AT_LIT("row"), 0);
    assert_true(h.low != at_hash128(AT_LIT("row\0"), 0).low);
    assert_true(h.high != at_hash128(AT_LIT("row"), 1).high);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_xxh3),
        cmocka_unit_test(bytes_length_and_seed_all_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
