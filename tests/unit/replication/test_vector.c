#include "replication/vector.h"

#include "base/limits.h"
#include "support/test.h"

static struct at_position pos(uint32_t origin, uint32_t epoch, uint64_t seq)
{
    return (struct at_position){{origin}, epoch, seq};
}

static void a_pair_that_is_not_there_is_at_zero(void **state)
{
    struct at_vector v;
    (void)state;

    at_vector_init(&v);
    assert_int_equal(at_vector_get(&v, (struct at_member_id){1}, 1), 0);
    assert_int_equal(at_vector_set(&v, pos(1, 2, 7)), AT_OK);
    assert_int_equal(at_vector_get(&v, (struct at_member_id){1}, 1), 0);
    assert_int_equal(at_vector_get(&v, (struct at_member_id){1}, 2), 7);
    at_vector_deinit(&v);
}

static void pairs_stay_sorted_and_unique(void **state)
{
    static const uint32_t origins[] = {3, 1, 2, 1, 3, 2, 9, 1};
    struct at_vector v;
    (void)state;

    at_vector_init(&v);
    for (uint32_t i = 0; i < 8; i++)
        assert_true(at_vector_raise(&v, pos(origins[i], 1 + i % 3, i + 1)));
    for (uint32_t i = 1; i < v.count; i++) {
        const struct at_position *a = &v.items[i - 1];
        const struct at_position *b = &v.items[i];
        assert_true(a->origin.v < b->origin.v ||
                    (a->origin.v == b->origin.v && a->epoch < b->epoch));
    }
    assert_int_equal(at_vector_get(&v, (struct at_member_id){9}, 1), 7);
    at_vector_drop(&v, (struct at_member_id){9}, 2);
    assert_int_equal(at_vector_get(&v, (struct at_member_id){9}, 1), 7);
    at_vector_drop(&v, (struct at_member_id){9}, 1);
    assert_int_equal(at_vector_get(&v, (struct at_member_id){9}, 1), 0);
    assert_int_equal(at_vector_get(&v, (struct at_member_id){3}, 1), 1);
    at_vector_deinit(&v);
}

static void raise_only_ever_moves_up_and_set_puts_exactly(void **state)
{
    struct at_vector v;
    (void)state;

    at_vector_init(&v);
    assert_false(at_vector_raise(&v, pos(1, 1, 0)));
    assert_int_equal(v.count, 0);
    assert_true(at_vector_raise(&v, pos(1, 1, 5)));
    assert_false(at_vector_raise(&v, pos(1, 1, 5)));
    assert_false(at_vector_raise(&v, pos(1, 1, 4)));
    assert_int_equal(at_vector_get(&v, (struct at_member_id){1}, 1), 5);
    assert_int_equal(at_vector_set(&v, pos(1, 1, 2)), AT_OK);
    assert_int_equal(at_vector_get(&v, (struct at_member_id){1}, 1), 2);
    at_vector_deinit(&v);
}

static void the_number_of_pairs_is_bounded(void **state)
{
    struct at_vector v;
    (void)state;

    at_vector_init(&v);
    for (uint32_t i = 0; i < AT_CLUSTERS_MAX * AT_EPOCHS_MAX; i++)
        assert_int_equal(at_vector_set(&v, pos(1, i + 1, 1)), AT_OK);
    assert_int_equal(at_vector_set(&v, pos(2, 1, 1)), AT_RESOURCE_EXHAUSTED);
    assert_false(at_vector_raise(&v, pos(2, 1, 1)));
    assert_int_equal(at_vector_set(&v, pos(1, 5, 9)), AT_OK);
    at_vector_deinit(&v);
}

static void merge_takes_the_maximum_and_covers_compares_pair_by_pair(void **state)
{
    struct at_vector a;
    struct at_vector b;
    (void)state;

    at_vector_init(&a);
    at_vector_init(&b);
    assert_true(at_vector_covers(&a, &b));
    assert_true(at_vector_raise(&a, pos(1, 1, 5)));
    assert_true(at_vector_raise(&b, pos(1, 1, 3)));
    assert_true(at_vector_covers(&a, &b));
    assert_true(at_vector_raise(&b, pos(2, 1, 1)));
    assert_false(at_vector_covers(&a, &b));
    at_vector_merge(&a, &b);
    assert_true(at_vector_covers(&a, &b));
    assert_int_equal(at_vector_get(&a, (struct at_member_id){1}, 1), 5);
    at_vector_copy(&b, &a);
    assert_true(at_vector_covers(&b, &a));
    at_vector_deinit(&a);
    at_vector_deinit(&b);
}

static void every_prefix_of_an_encoded_vector_is_refused(void **state)
{
    struct at_vector v;
    struct at_vector got;
    struct at_buf out;
    struct at_unpack in;
    (void)state;

    at_vector_init(&v);
    at_vector_init(&got);
    at_buf_init(&out, 1000);
    assert_true(at_vector_raise(&v, pos(1, 1, 500)));
    assert_true(at_vector_raise(&v, pos(70000, 3, UINT64_MAX)));
    assert_int_equal(at_vector_encode(&v, &out), AT_OK);
    for (size_t n = 0; n < out.len; n++) {
        uint8_t *cut = test_malloc(n + 1);
        if (n > 0)
            memcpy(cut, out.data, n);
        at_unpack_init(&in, at_slice_make(cut, n));
        assert_int_equal(at_vector_decode(&got, &in), AT_INVALID_ARGUMENT);
        test_free(cut);
    }
    at_unpack_init(&in, at_buf_slice(&out));
    assert_int_equal(at_vector_decode(&got, &in), AT_OK);
    assert_true(at_unpack_done(&in));
    assert_int_equal(got.count, 2);
    assert_true(at_vector_covers(&got, &v) && at_vector_covers(&v, &got));
    at_buf_deinit(&out);
    at_vector_deinit(&v);
    at_vector_deinit(&got);
}

struct bad_case {
    const char *name;
    uint8_t bytes[16];
    size_t len;
};

static const struct bad_case bad_cases[] = {
    {"pairs out of order", {0x92, 0x93, 2, 1, 1, 0x93, 1, 1, 1}, 9},
    {"a pair twice", {0x92, 0x93, 1, 1, 1, 0x93, 1, 1, 2}, 9},
    {"a pair of two", {0x91, 0x92, 1, 1, 1}, 5},
    {"origin 0", {0x91, 0x93, 0, 1, 1}, 5},
    {"epoch 0", {0x91, 0x93, 1, 0, 1}, 5},
    {"a count beyond the bytes", {0xdd, 0, 0, 16, 0, 0x93, 1, 1, 1}, 9},
    {"a map", {0x81, 1, 1}, 3},
    {"a negative seq", {0x91, 0x93, 1, 1, 0xff}, 5},
};

static void malformed_vectors_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad_cases) / sizeof(bad_cases[0]); i++) {
        struct at_vector v;
        struct at_unpack in;
        at_vector_init(&v);
        at_unpack_init(&in, at_slice_make(bad_cases[i].bytes, bad_cases[i].len));
        if (at_vector_decode(&v, &in) != AT_INVALID_ARGUMENT)
            fail_msg("accepted: %s", bad_cases[i].name);
        at_vector_deinit(&v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_that_is_not_there_is_at_zero),
        cmocka_unit_test(pairs_stay_sorted_and_unique),
        cmocka_unit_test(raise_only_ever_moves_up_and_set_puts_exactly),
        cmocka_unit_test(the_number_of_pairs_is_bounded),
        cmocka_unit_test(merge_takes_the_maximum_and_covers_compares_pair_by_pair),
        cmocka_unit_test(every_prefix_of_an_encoded_vector_is_refused),
        cmocka_unit_test(malformed_vectors_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
