#include "cluster/model/gc_rule.h"

#include "base/assert.h"
#include "base/limits.h"
#include "support/rule_text.h"
#include "support/test.h"

#define NOW_MICROS INT64_C(1000000000)

static enum at_code parse(const char *text,
                          struct at_arena *arena,
                          struct at_gc_rule *ret_rule,
                          struct at_error *reterr)
{
    struct at_buf out;

    at_buf_init(&out, RULE_TEXT_BYTES_MAX);
    rule_text(text, &out);
    enum at_code code = at_gc_rule_parse(at_buf_slice(&out), arena, ret_rule, reterr);
    at_buf_deinit(&out);
    return code;
}

struct condemn_case {
    const char *name;
    const char *rule;
    uint32_t version;
    int64_t age_micros;
    bool condemned;
};

static const struct condemn_case condemn_cases[] = {
    {"an empty rule keeps everything", "n", 1000, NOW_MICROS, false},
    {"the newest versions stay", "v2", 2, NOW_MICROS, false},
    {"a version too many goes", "v2", 3, 0, true},
    {"a cell of exactly the age stays", "a5", 1, 5000, false},
    {"a cell past the age goes, be it the newest", "a5", 1, 5001, true},
    {"a cell of the future stays", "a5", 9, -1000, false},
    {"a union takes what one rule takes: versions", "(v1|a5)", 2, 0, true},
    {"a union takes what one rule takes: age", "(v1|a5)", 1, 6000, true},
    {"a union keeps what no rule takes", "(v1|a5)", 1, 0, false},
    {"an intersection keeps what one rule keeps: age", "(v1&a5)", 2, 0, false},
    {"an intersection keeps what one rule keeps: versions", "(v1&a5)", 1, 6000, false},
    {"an intersection takes what all rules take", "(v1&a5)", 2, 6000, true},
    {"never in an intersection keeps everything", "(v1&n)", 9, NOW_MICROS, false},
    {"never in a union adds nothing", "(v1|n)", 2, 0, true},
    {"rules nest: (v3 or (v1 and a5)), old second version", "(v3|(v1&a5))", 2, 6000, true},
    {"rules nest: (v3 or (v1 and a5)), young second version", "(v3|(v1&a5))", 2, 0, false},
    {"rules nest: (v3 or (v1 and a5)), young fourth version", "(v3|(v1&a5))", 4, 0, true},
    {"a union of one rule is that rule", "(v1)", 2, 0, true},
};

static void rule_condemns(void **state)
{
    const struct condemn_case *c = *state;
    struct at_arena arena;
    struct at_gc_rule rule;

    at_arena_init(&arena, 1024);
    assert_int_equal(parse(c->rule, &arena, &rule, NULL), AT_OK);
    assert_int_equal(at_gc_rule_condemns(&rule, c->version, NOW_MICROS - c->age_micros, NOW_MICROS),
                     c->condemned);
    at_arena_deinit(&arena);
}

struct relax_case {
    const char *name;
    const char *from;
    const char *to;
    bool relaxes;
};

static const struct relax_case relax_cases[] = {
    {"relax: a longer age", "a5", "a6", true},
    {"relax: the same age", "a5", "a5", false},
    {"relax: a shorter age", "a5", "a4", false},
    {"relax: no rule any more", "a5", "n", true},
    {"relax: versions keep the newest for ever", "a5", "v1", true},
    {"relax: a union with versions is stricter", "a5", "(a5|v1)", false},
    {"relax: an intersection with versions keeps longer", "a5", "(a5&v1)", true},
    {"relax: a union of ages is the shortest", "(a5|a9)", "a6", true},
    {"relax: an intersection of ages is the longest", "(a5&a9)", "a6", false},
    {"relax: from versions is no matter of age", "v1", "n", false},
    {"relax: from a mixed rule is no matter of age", "(v1|a5)", "n", false},
    {"relax: from never is no matter of age", "n", "a5", false},
};

static void rule_relaxes(void **state)
{
    const struct relax_case *c = *state;
    struct at_arena arena;
    struct at_gc_rule from;
    struct at_gc_rule to;

    at_arena_init(&arena, 1024);
    assert_int_equal(parse(c->from, &arena, &from, NULL), AT_OK);
    assert_int_equal(parse(c->to, &arena, &to, NULL), AT_OK);
    assert_int_equal(at_gc_rule_relaxes_age(&from, &to), c->relaxes);
    at_arena_deinit(&arena);
}

struct refusal_case {
    const char *name;
    struct at_slice bytes;
};

#define BYTES(s)                            \
    {                                       \
        (const uint8_t *)(s), sizeof(s) - 1 \
    }
static const struct refusal_case refusal_cases[] = {
    {"refuses versions 0", BYTES("\x08\x00")},
    {"refuses versions -1", BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
    {"refuses an age of 0", BYTES("\x12\x00")},
    {"refuses an age below a millisecond", BYTES("\x12\x04\x10\xbf\x84\x3d")},
    {"refuses a negative age", BYTES("\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
    {"refuses an age beyond 10,000 years", BYTES("\x12\x07\x08\xff\xff\xff\xff\xff\x7f")},
    {"refuses an empty union", BYTES("\x22\x00")},
    {"refuses an empty intersection", BYTES("\x1a\x00")},
    {"refuses a bad rule in a union", BYTES("\x22\x04\x0a\x02\x08\x00")},
    {"refuses a cut message", BYTES("\x22\x04\x0a\x02")},
    {"refuses the wrong wire type", BYTES("\x0a\x01x")},
};

static void rule_is_refused(void **state)
{
    const struct refusal_case *c = *state;
    struct at_arena arena;
    struct at_gc_rule rule;
    struct at_error error = {0};

    at_arena_init(&arena, 1024);
    assert_int_equal(at_gc_rule_parse(c->bytes, &arena, &rule, &error), AT_INVALID_ARGUMENT);
    assert_non_null(strstr(error.msg, "Error in field '"));
    at_arena_deinit(&arena);
}

static void rules_beyond_the_limits_are_refused(void **state)
{
    struct at_arena arena;
    struct at_gc_rule rule;
    uint8_t big[AT_GC_RULE_BYTES_MAX + 1] = {0};

    (void)state;
    at_arena_init(&arena, 1024);
    for (size_t i = 0; i + 1 < sizeof(big); i += 2)
        memcpy(big + i, "\x08\x01", 2);
    assert_int_equal(at_gc_rule_parse(at_slice_make(big, sizeof(big) - 1), &arena, &rule, NULL),
                     AT_OK);
    assert_int_equal(at_gc_rule_parse(at_slice_make(big, sizeof(big)), &arena, &rule, NULL),
                     AT_INVALID_ARGUMENT);
    assert_int_equal(parse("(((((((((((((((v1)))))))))))))))", &arena, &rule, NULL), AT_OK);
    assert_int_equal(parse("((((((((((((((((v1))))))))))))))))", &arena, &rule, NULL),
                     AT_INVALID_ARGUMENT);
    at_arena_deinit(&arena);
}

static void fields_are_read_as_protobuf_has_it(void **state)
{
    static const uint8_t last_wins[] = "\x08\x05\x12\x02\x08\x01";
    static const uint8_t unknown[] = "\x50\x01\x08\x05";
    static const uint8_t nanos[] = "\x12\x06\x08\x01\x10\xcf\x9f\x3d"; /* 1 s 1003471 ns */
    struct at_arena arena;
    struct at_gc_rule rule;

    (void)state;
    at_arena_init(&arena, 1024);
    assert_int_equal(at_gc_rule_parse(at_slice_make(last_wins, 6), &arena, &rule, NULL), AT_OK);
    assert_int_equal(rule.kind, AT_GC_MAX_AGE);
    assert_int_equal(rule.age_micros_max, 1000000);
    assert_int_equal(at_gc_rule_parse(at_slice_make(unknown, 4), &arena, &rule, NULL), AT_OK);
    assert_int_equal(rule.kind, AT_GC_MAX_VERSIONS);
    assert_int_equal(rule.versions_max, 5);
    assert_int_equal(at_gc_rule_parse(at_slice_make(nanos, 8), &arena, &rule, NULL), AT_OK);
    assert_int_equal(rule.age_micros_max, 1001003);
    assert_int_equal(at_gc_rule_parse(AT_LIT(""), &arena, &rule, NULL), AT_OK);
    assert_int_equal(rule.kind, AT_GC_NEVER);
    at_arena_deinit(&arena);
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
add(struct CMUnitTest *tests, size_t *count, const char *name, CMUnitTestFunction f, const void *c)
{
    union {
        const void *in;
        void *out;
    } state = {c};

    tests[(*count)++] =
        (struct CMUnitTest){.name = name, .test_func = f, .initial_state = state.out};
}

int main(void)
{
    struct CMUnitTest tests[2 + COUNT(condemn_cases) + COUNT(relax_cases) + COUNT(refusal_cases)] =
        {
            cmocka_unit_test(rules_beyond_the_limits_are_refused),
            cmocka_unit_test(fields_are_read_as_protobuf_has_it),
        };
    size_t count = 2;

    for (size_t i = 0; i < COUNT(condemn_cases); i++)
        add(tests, &count, condemn_cases[i].name, rule_condemns, &condemn_cases[i]);
    for (size_t i = 0; i < COUNT(relax_cases); i++)
        add(tests, &count, relax_cases[i].name, rule_relaxes, &relax_cases[i]);
    for (size_t i = 0; i < COUNT(refusal_cases); i++)
        add(tests, &count, refusal_cases[i].name, rule_is_refused, &refusal_cases[i]);
    return _cmocka_run_group_tests("gc_rule", tests, count, NULL, NULL);
}
