#include "cluster/service/features.h"

#include "support/test.h"

struct feature_case {
    const char *name;
    const char *header;
    bool reverse_scans;
    bool last_scanned_row_responses;
};

static const struct feature_case cases[] = {
    {"no header announces nothing", "", false, false},
    {"reverse scans, padded", "CAE=", true, false},
    {"reverse scans, without padding", "CAE", true, false},
    {"what cbt sends", "CAEgAQ==", true, true},
    {"what cbt sends, without padding", "CAEgAQ", true, true},
    {"last scanned rows alone", "IAE=", false, true},
    {"a flag set to false", "CAA=", false, false},
    {"flags that are not known are passed over", "CAEYASgBMAE4AUABSAFQAVgB_-_-", false, false},
    {"the URL alphabet", "CAH6_wcA", true, false},
    {"no base64", "!!!", false, false},
    {"no protobuf", "CA==", false, false},
};

static void check_case(void **state)
{
    const struct feature_case *c = *state;
    struct at_arena arena;

    at_arena_init(&arena, 1024);
    struct at_features f = at_features_decode(at_slice_cstr(c->header), &arena);
    assert_int_equal(f.reverse_scans, c->reverse_scans);
    assert_int_equal(f.last_scanned_row_responses, c->last_scanned_row_responses);
    at_arena_deinit(&arena);
}

int main(void)
{
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        union {
            const struct feature_case *in;
            void *out;
        } c = {.in = &cases[i]};
        tests[i] = (struct CMUnitTest){cases[i].name, check_case, NULL, NULL, c.out};
    }
    return _cmocka_run_group_tests("features", tests, COUNT, NULL, NULL);
}
