/* Mutation checks: production's limits, at and over each edge, in production's words. */
#include "cluster/model/mutation.h"
#include "support/test.h"

#define PREFIX "Error in Mutation list : Error in element #3 : "
#define MISMATCH(n)                                                                    \
    PREFIX "Timestamp granularity mismatch. Expected a multiple of 1000 (millisecond " \
           "granularity), but got " n "."

static uint8_t bytes[1]; /* lengths are checked before anything reads a byte */

struct check_case {
    const char *name;
    struct at_mutation m;
    const char *want; /* NULL: accepted */
    int64_t granularity_micros;
};

#define SET(...)                                                                  \
    {                                                                             \
        .kind = AT_MUTATION_SET, .family = {(const uint8_t *)"f", 1}, __VA_ARGS__ \
    }
#define DELETE(...)                                                                         \
    {                                                                                       \
        .kind = AT_MUTATION_DELETE_COLUMN, .family = {(const uint8_t *)"f", 1}, __VA_ARGS__ \
    }

static const struct check_case cases[] = {
    {"accepts a multiple of 1000", SET(.timestamp_micros = 5000), NULL, 1000},
    {"accepts timestamp 0", SET(.timestamp_micros = 0), NULL, 1000},
    {"accepts -1 as the server's time", SET(.timestamp_micros = -1), NULL, 1000},
    {"refuses -2", SET(.timestamp_micros = -2), PREFIX "Timestamps must be >= -1, but got -2",
     1000},
    {"refuses the lowest number", SET(.timestamp_micros = INT64_MIN),
     PREFIX "Timestamps must be >= -1, but got -9223372036854775808", 1000},
    {"refuses microseconds in a table of milliseconds", SET(.timestamp_micros = 5001),
     MISMATCH("5001"), 1000},
    {"refuses the highest number in milliseconds", SET(.timestamp_micros = INT64_MAX),
     MISMATCH("9223372036854775807"), 1000},
    {"accepts microseconds in a table of microseconds", SET(.timestamp_micros = 5001), NULL, 1},
    {"checks the timestamp of an add",
     {.kind = AT_MUTATION_ADD, .family = {bytes, 1}, .timestamp_micros = 1},
     MISMATCH("1"),
     1000},
    {"checks the timestamp of a merge",
     {.kind = AT_MUTATION_MERGE, .family = {bytes, 1}, .timestamp_micros = 1},
     MISMATCH("1"),
     1000},
    {"accepts an empty qualifier and value", SET(.qualifier = {NULL, 0}), NULL, 1000},
    {"accepts the longest qualifier", SET(.qualifier = {bytes, AT_QUALIFIER_BYTES_MAX}), NULL,
     1000},
    {"refuses a longer qualifier", SET(.qualifier = {bytes, AT_QUALIFIER_BYTES_MAX + 1}),
     PREFIX "Column qualifiers must be at most 16384 bytes, but got 16385", 1000},
    {"accepts the largest value", SET(.value = {bytes, AT_VALUE_BYTES_MAX}), NULL, 1000},
    {"refuses a larger value", SET(.value = {bytes, AT_VALUE_BYTES_MAX + 1}),
     PREFIX "Cell values must be at most 104857600 bytes, but got 104857601", 1000},
    {"accepts the longest family name",
     {.kind = AT_MUTATION_DELETE_FAMILY, .family = {bytes, AT_FAMILY_BYTES_MAX}},
     NULL,
     1000},
    {"refuses a longer family name",
     {.kind = AT_MUTATION_DELETE_FAMILY, .family = {bytes, AT_FAMILY_BYTES_MAX + 1}},
     PREFIX "Family names must be at most 64 bytes, but got 65",
     1000},
    {"refuses an empty family name",
     {.kind = AT_MUTATION_SET},
     PREFIX "Family names must be non-empty",
     1000},
    {"accepts a delete of all timestamps", DELETE(.start_micros = 0), NULL, 1000},
    {"accepts a delete range of one microsecond", DELETE(.start_micros = 7, .end_micros = 8), NULL,
     1000},
    {"refuses an empty delete range", DELETE(.start_micros = 7, .end_micros = 7),
     PREFIX "Timestamp range [7, 7) is empty or inverted", 1000},
    {"refuses an inverted delete range", DELETE(.start_micros = 8, .end_micros = 7),
     PREFIX "Timestamp range [8, 7) is empty or inverted", 1000},
    {"refuses a negative start", DELETE(.start_micros = -1),
     PREFIX "Timestamp range bounds must be >= 0, but got [-1, 0)", 1000},
    {"refuses a negative end", DELETE(.end_micros = -1),
     PREFIX "Timestamp range bounds must be >= 0, but got [0, -1)", 1000},
    {"checks the qualifier of a delete", DELETE(.qualifier = {bytes, AT_QUALIFIER_BYTES_MAX + 1}),
     PREFIX "Column qualifiers must be at most 16384 bytes, but got 16385", 1000},
    {"accepts a row delete without any field", {.kind = AT_MUTATION_DELETE_ROW}, NULL, 1000},
    {"refuses a kind that is none",
     {.kind = (enum at_mutation_kind)AT_MUTATION_KIND_COUNT},
     PREFIX "Unknown mutation kind 6",
     1000},
};

static void check(void **state)
{
    const struct check_case *c = &cases[*(size_t *)*state];
    struct at_error err = {0};

    enum at_code code = at_mutation_check(&c->m, 3, c->granularity_micros, &err);
    assert_int_equal(code, c->want ? AT_INVALID_ARGUMENT : AT_OK);
    if (c->want)
        assert_string_equal(err.msg, c->want);
    assert_int_equal(at_mutation_check(&c->m, 3, c->granularity_micros, NULL), code);
}

static void row_keys_have_1_to_4096_bytes(void **state)
{
    struct at_error err = {0};

    (void)state;
    assert_int_equal(at_row_key_check(at_slice_make(NULL, 0), &err), AT_INVALID_ARGUMENT);
    assert_string_equal(err.msg, "Row keys must be non-empty");
    assert_int_equal(at_row_key_check(at_slice_make(bytes, 1), &err), AT_OK);
    assert_int_equal(at_row_key_check(at_slice_make(bytes, 4096), &err), AT_OK);
    assert_int_equal(at_row_key_check(at_slice_make(bytes, 4097), &err), AT_INVALID_ARGUMENT);
    assert_string_equal(err.msg, "Row keys must be at most 4096 bytes, but got 4097");
}

int main(void)
{
    enum { CASES = sizeof(cases) / sizeof(*cases) };
    static size_t index[CASES];
    struct CMUnitTest tests[CASES + 1] = {cmocka_unit_test(row_keys_have_1_to_4096_bytes)};

    for (size_t i = 0; i < CASES; i++) {
        index[i] = i;
        tests[1 + i] = (struct CMUnitTest){
            .name = cases[i].name, .test_func = check, .initial_state = &index[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
