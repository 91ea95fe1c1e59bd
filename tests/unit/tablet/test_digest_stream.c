#include "cluster/tablet/digest_stream.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "support/test.h"

static const struct at_cell cell = {.family = AT_LIT_INIT("f"),
                                    .qualifier = AT_LIT_INIT("q"),
                                    .timestamp_micros = 1000,
                                    .value = AT_LIT_INIT("v")};

static void row_of(struct at_digest_stream *s, const char *row, int cells)
{
    at_digest_stream_row(s, at_slice_cstr(row));
    for (int i = 0; i < cells; i++)
        at_digest_stream_cell(s, &cell);
    at_digest_stream_row_end(s);
}

static void a_sum_says_what_came_and_nothing_of_what_was_summed_before(void **state)
{
    struct at_digest_stream s;
    uint8_t first[AT_DIGEST_BYTES];
    uint8_t other[AT_DIGEST_BYTES];
    uint8_t again[AT_DIGEST_BYTES];

    (void)state;
    at_digest_stream_init(&s);
    row_of(&s, "a", 1);
    assert_int_equal(at_digest_stream_end(&s, first, NULL), AT_OK);
    row_of(&s, "a", 5000); /* several pieces */
    assert_int_equal(at_digest_stream_end(&s, other, NULL), AT_OK);
    row_of(&s, "a", 1);
    assert_int_equal(at_digest_stream_end(&s, again, NULL), AT_OK);
    assert_memory_equal(first, again, AT_DIGEST_BYTES);
    assert_memory_not_equal(first, other, AT_DIGEST_BYTES);
    at_digest_stream_deinit(&s);
}

static void the_end_of_a_row_counts(void **state)
{
    struct at_digest_stream s;
    uint8_t one[AT_DIGEST_BYTES];
    uint8_t two[AT_DIGEST_BYTES];

    (void)state;
    at_digest_stream_init(&s);
    row_of(&s, "a", 0);
    row_of(&s, "b", 1);
    assert_int_equal(at_digest_stream_end(&s, one, NULL), AT_OK);
    row_of(&s, "a", 1);
    row_of(&s, "b", 0);
    assert_int_equal(at_digest_stream_end(&s, two, NULL), AT_OK);
    assert_memory_not_equal(one, two, AT_DIGEST_BYTES);
    at_digest_stream_deinit(&s);
}

static void values_of_any_length_fit_and_count(void **state)
{
    struct at_digest_stream s;
    uint8_t one[AT_DIGEST_BYTES];
    uint8_t two[AT_DIGEST_BYTES];
    size_t len = 8 * AT_MIB;
    uint8_t *value = at_alloc(len);
    struct at_cell large = cell;

    (void)state;
    memset(value, 'v', len);
    large.value = at_slice_make(value, len);
    at_digest_stream_init(&s);
    at_digest_stream_cell(&s, &large);
    assert_int_equal(at_digest_stream_end(&s, one, NULL), AT_OK);
    value[len - 1] = 'w';
    at_digest_stream_cell(&s, &large);
    assert_int_equal(at_digest_stream_end(&s, two, NULL), AT_OK);
    assert_memory_not_equal(one, two, AT_DIGEST_BYTES);
    at_digest_stream_deinit(&s);
    at_free(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_says_what_came_and_nothing_of_what_was_summed_before),
        cmocka_unit_test(the_end_of_a_row_counts),
        cmocka_unit_test(values_of_any_length_fit_and_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
