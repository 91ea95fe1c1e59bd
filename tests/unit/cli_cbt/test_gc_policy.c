/* test_gc_policy.c: policies as text, both ways. */
#include "support/test.h"

#include "cli/cbt/gc_policy.h"

struct policy_case {
    const char *name;
    const char *text;
    const char *want;  /* printed again */
    const char *error; /* or what is wrong */
};

static const struct policy_case CASES[] = {
    {"never is empty", " never ", "", NULL},
    {"versions", "maxversions=3", "versions() > 3", NULL},
    {"age in days", "maxage = 48h", "age() > 2d", NULL},
    {"age in hours", "maxage=90000s", "age() > 25h", NULL},
    {"age in minutes", "maxage=61m", "age() > 61m", NULL},
    {"age in microseconds", "maxage=1500ms", "age() > 1500000", NULL},
    {"or", "maxage=5d || maxversions=3", "(age() > 5d || versions() > 3)", NULL},
    {"and", "maxage=5d and maxversions=3", "(age() > 5d && versions() > 3)", NULL},
    {"operators go from left to right", "maxversions=1 or maxversions=2 and maxversions=3",
     "((versions() > 1 || versions() > 2) && versions() > 3)", NULL},
    {"parentheses", "maxage=30d||(maxage=3d&&maxversions=100)",
     "(age() > 30d || (age() > 3d && versions() > 100))", NULL},
    {"nothing", "", NULL, "empty GC policy term"},
    {"an unknown word", "minage=3d", NULL, "unexpected token: \"minage\""},
    {"no equals sign", "maxage 3d", NULL, "expected \"=\", saw \"3d\""},
    {"an unknown unit", "maxage=1x", NULL, "unknown unit \"x\" in duration \"1x\""},
    {"no unit", "maxage=1", NULL, "invalid duration \"1\""},
    {"too long an age", "maxage=4294967296s", NULL, "invalid duration \"4294967296s\""},
    {"no number", "maxversions=x", NULL, "parsing \"x\": invalid syntax"},
    {"too many versions", "maxversions=65536", NULL, "parsing \"65536\": value out of range"},
    {"an open parenthesis", "(maxversions=1", NULL, "expected \")\", saw \"\""},
    {"text behind the end", "maxversions=1 maxage=1d", NULL, "want end of input, got \"maxage\""},
    {"half an operator", "maxversions=1 | maxage=1d", NULL, "expected ||"},
    {"a strange character", "maxversions=1;", NULL, "bad rune ';'"},
};

static void parses_and_prints(void **state)
{
    const struct policy_case *c = *state;
    Google__Bigtable__Admin__V2__GcRule *rule = NULL;
    struct at_error error = {0};
    struct at_arena arena;
    struct at_buf text;
    at_arena_init(&arena, 1024);
    at_buf_init(&text, 4096);
    enum at_code code = at_gc_policy_parse(c->text, &arena, &rule, &error);
    if (c->want) {
        assert_int_equal(code, AT_OK);
        assert_int_equal(at_gc_policy_print(rule, &text), AT_OK);
        assert_string_equal(at_buf_cstr(&text), c->want);
    } else {
        assert_int_equal(code, AT_INVALID_ARGUMENT);
        assert_int_equal(at_buf_printf(&text, "invalid GC policy: %s", c->error), AT_OK);
        assert_string_equal(error.msg, at_buf_cstr(&text));
    }
    at_buf_deinit(&text);
    at_arena_deinit(&arena);
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    char text[1000];
    Google__Bigtable__Admin__V2__GcRule *rule = NULL;
    struct at_arena arena;
    memset(text, '(', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    at_arena_init(&arena, 1024);
    assert_int_equal(at_gc_policy_parse(text, &arena, &rule, NULL), AT_INVALID_ARGUMENT);
    at_arena_deinit(&arena);
}

int main(void)
{
    enum { COUNT = sizeof(CASES) / sizeof(CASES[0]) };
    struct CMUnitTest tests[COUNT + 1] = {{0}};
    for (size_t i = 0; i < COUNT; i++) {
        union {
            const struct policy_case *from;
            void *to;
        } c = {.from = &CASES[i]};
        tests[i] = (struct CMUnitTest){CASES[i].name, parses_and_prints, NULL, NULL, c.to};
    }
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(nesting_is_bounded);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
