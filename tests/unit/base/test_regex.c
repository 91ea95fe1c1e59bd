#include "base/regex.h"

#include "base/alloc.h"
#include "base/prng.h"
#include "support/test.h"

#include <stdlib.h>

#define LIT AT_LIT_INIT

struct match_case {
    const char *name;
    struct at_slice pattern;
    struct at_slice text;
    bool matches;
};

static const struct match_case matches[] = {
    {"a literal matches itself", LIT("abc"), LIT("abc"), true},
    {"the whole text must match", LIT("b"), LIT("abc"), false},
    {"a prefix is no match", LIT("ab"), LIT("abc"), false},
    {"the longest way counts", LIT("a|ab"), LIT("ab"), true},
    {"the dot matches one byte", LIT("caf.."), LIT("caf\xc3\xa9"), true},
    {"the dot matches no character", LIT("caf."), LIT("caf\xc3\xa9"), false},
    {"the dot does not match a newline", LIT("a.b"), LIT("a\nb"), false},
    {"\\C matches a newline", LIT("a\\Cb"), LIT("a\nb"), true},
    {"\\C matches any byte", LIT("\\C\\C\\C"), LIT("\xff\0\n"), true},
    {"\\C* matches all", LIT("\\C*"), LIT("\xff\0\n"), true},
    {"a pattern may hold a NUL", LIT("a\0b"), LIT("a\0b"), true},
    {"what follows a NUL counts", LIT("a\0b"), LIT("a\0c"), false},
    {"a pattern may hold high bytes", LIT("\xff+"), LIT("\xff\xff"), true},
    {"a class takes bytes", LIT("[\x80-\xff]"), LIT("\xc3"), true},
    {"an escape names a byte", LIT("\\xff\\x00"), LIT("\xff\0"), true},
    {"case folding stays ASCII and Latin-1", LIT("(?i)abc"), LIT("ABC"), true},
    {"an empty pattern matches the empty text", LIT(""), LIT(""), true},
    {"an empty pattern matches nothing else", LIT(""), LIT("a"), false},
    {"anchors are allowed", LIT("^abc$"), LIT("abc"), true},
    {"anchors match no line", LIT("^b$\\C*"), LIT("b\nc"), false},
};

static void matches_as_bigtable_does(void **state)
{
    const struct match_case *c = *state;
    AT_CLEANUP(at_regex_free) struct at_regex *r = NULL;

    assert_int_equal(at_regex_new(c->pattern, &r, NULL), AT_OK);
    assert_int_equal(at_regex_matches(r, c->text), c->matches);
}

static void what_does_not_parse_is_an_invalid_argument(void **state)
{
    static const char *const bad[] = {"(", "a**b[", "[z-a]", "\\", "(?=a)", "\\1", "a{1001}"};
    struct at_regex *r = NULL;
    struct at_error e;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memset(&e, 0, sizeof(e));
        assert_int_equal(at_regex_new(at_slice_cstr(bad[i]), &r, &e), AT_INVALID_ARGUMENT);
        assert_int_equal(e.code, AT_INVALID_ARGUMENT);
        assert_true(strlen(e.msg) > 0);
        assert_null(r);
    }
    assert_int_equal(at_regex_new(AT_LIT("a(b"), &r, &e), AT_INVALID_ARGUMENT);
    assert_string_equal(e.msg, "missing ): a(b");
}

static void a_pattern_that_needs_too_much_memory_is_refused(void **state)
{
    struct at_regex *r = NULL;

    (void)state;
    assert_int_equal(at_regex_new(AT_LIT("((\\C{100}){100}){99}"), &r, NULL), AT_INVALID_ARGUMENT);
    assert_null(r);
}

static void literals_are_found(void **state)
{
    static const struct {
        struct at_slice pattern;
        bool literal;
        struct at_slice want;
    } table[] = {
        {LIT("abc"), true, LIT("abc")},       {LIT("^abc$"), true, LIT("abc")},
        {LIT("a\\.b"), true, LIT("a.b")},     {LIT("(a)(b)"), true, LIT("ab")},
        {LIT("a{3}"), true, LIT("aaa")},      {LIT("\\x00\xff"), true, LIT("\0\xff")},
        {LIT("\\Qa.b\\E"), true, LIT("a.b")}, {LIT(""), true, LIT("")},
        {LIT("a.b"), false, LIT("")},         {LIT("a|b"), false, LIT("")},
        {LIT("ab?"), false, LIT("")},         {LIT("(?i)abc"), false, LIT("")},
        {LIT("a*"), false, LIT("")},          {LIT("a+"), false, LIT("")},
        {LIT("\\C*"), false, LIT("")},        {LIT("a$b"), false, LIT("")},
        {LIT("\xff"), true, LIT("\xff")},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        AT_CLEANUP(at_regex_free) struct at_regex *r = NULL;
        struct at_slice got = {NULL, 0};
        assert_int_equal(at_regex_new(table[i].pattern, &r, NULL), AT_OK);
        assert_int_equal(at_regex_literal(r, &got), table[i].literal);
        assert_true(at_slice_eq(got, table[i].want));
    }
}

/* Writes the number in base 3 with the digits a, b and newline; all texts of up to 4 bytes. */
static struct at_slice text_of(unsigned number, size_t len, uint8_t *data)
{
    for (size_t i = 0; i < len; i++, number /= 3)
        data[i] = (uint8_t) "ab\n"[number % 3];
    return at_slice_make(data, len);
}

static void a_literal_is_really_the_only_match(void **state)
{
    static const char *const parts[] = {"a", "b",   "\n",  "(?m)", "^",    "$",    "\\b",  "\\B",
                                        "(", ")",   "|",   "?",    "*",    "+",    "{2}",  ".",
                                        "a", "\\A", "\\z", "a",    "(?s)", "[ab]", "(?U)", "b"};
    struct at_prng rng;
    int literals = 0;

    (void)state;
    at_prng_init(&rng, 5);
    for (int round = 0; round < 20000; round++) {
        char pattern[64] = "";
        size_t len = 0;
        for (uint64_t n = at_prng_below(&rng, 6) + 1; n > 0; n--) {
            const char *part = parts[at_prng_below(&rng, sizeof(parts) / sizeof(parts[0]))];
            memcpy(pattern + len, part, strlen(part));
            len += strlen(part);
        }
        AT_CLEANUP(at_regex_free) struct at_regex *r = NULL;
        struct at_slice literal;
        if (at_regex_new(at_slice_make(pattern, len), &r, NULL) != AT_OK ||
            !at_regex_literal(r, &literal))
            continue;
        literals++;
        assert_true(at_regex_matches(r, literal));
        for (size_t text_len = 0, count = 1; text_len <= 4; text_len++, count *= 3) {
            for (unsigned number = 0; number < count; number++) {
                uint8_t data[4];
                struct at_slice text = text_of(number, text_len, data);
                assert_int_equal(at_regex_matches(r, text), at_slice_eq(text, literal));
            }
        }
    }
    assert_in_range(literals, 1000, 20000);
}

#define MATCH_COUNT (sizeof(matches) / sizeof(matches[0]))

int main(void)
{
    struct CMUnitTest tests[MATCH_COUNT + 4] = {
        cmocka_unit_test(what_does_not_parse_is_an_invalid_argument),
        cmocka_unit_test(a_pattern_that_needs_too_much_memory_is_refused),
        cmocka_unit_test(literals_are_found),
        cmocka_unit_test(a_literal_is_really_the_only_match),
    };
    struct match_case rows[MATCH_COUNT];

    memcpy(rows, matches, sizeof(matches));
    for (size_t i = 0; i < MATCH_COUNT; i++) {
        tests[4 + i] = (struct CMUnitTest){
            .name = rows[i].name, .test_func = matches_as_bigtable_does, .initial_state = &rows[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
