/* The collector's judgement, as tables: a column as text, and what of it may go.
 *
 * A version is "TS.STAMP"; "!FROM-TO.STAMP" is a column marker (TO 0: open). Markers come first,
 * then versions from the newest; of one timestamp the highest stamp first. */
#include "cluster/model/garbage.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "support/rule_text.h"
#include "support/test.h"

#define NOW 100000000
#define OUT_BYTES 256

struct garbage_case {
    const char *name;
    const char *rule;
    const char *column;
    const char *garbage; /* the versions that go */
    bool folds;
    uint64_t row_hidden; /* stamps below are hidden */
    struct at_floor floor;
};

static const struct garbage_case cases[] = {
    {.name = "keeps all without a rule", .rule = "n", .column = "3.1 2.1 1.1", .garbage = ""},
    {.name = "keeps the newest versions",
     .rule = "v2",
     .column = "4.1 3.1 2.1 1.1",
     .garbage = "2.1 1.1"},
    {.name = "counts a version once, whatever stamps it has",
     .rule = "v2",
     .column = "4.9 4.8 3.9 3.1 2.5",
     .garbage = "4.8 3.1 2.5"},
    {.name = "takes overwritten stamps without a rule",
     .rule = "n",
     .column = "4.9 4.8 4.1",
     .garbage = "4.8 4.1"},
    {.name = "does not count a hidden newer version",
     .rule = "v1",
     .column = "!4-5.7 4.6 3.1 2.1",
     .garbage = "4.6 2.1"},
    {.name = "keeps what was written again after a delete",
     .rule = "n",
     .column = "!0-0.7 4.8 4.6 3.1",
     .garbage = "4.6 3.1"},
    {.name = "takes what a row marker hides",
     .rule = "n",
     .column = "4.8 3.1",
     .garbage = "3.1",
     .row_hidden = 5},
    {.name = "takes by age",
     .rule = "a1",
     .column = "99999500.1 99999000.1 99998999.1 1.1",
     .garbage = "99998999.1 1.1"},
    {.name = "takes what one part of a union takes",
     .rule = "(v3|a1)",
     .column = "99999900.1 5.1",
     .garbage = "5.1"},
    {.name = "keeps what one part of an intersection keeps",
     .rule = "(v1&a1)",
     .column = "99999900.1 99999800.1 5.1 4.1",
     .garbage = "5.1 4.1"},
    {.name = "nests: an intersection in a union",
     .rule = "((v1&a1)|v3)",
     .column = "99999900.1 99999800.1 99999700.1 99999600.1 5.1",
     .garbage = "99999600.1 5.1"},
    {.name = "nests: a union in an intersection",
     .rule = "((v1|a1)&v2)",
     .column = "99999900.1 99999800.1 99999700.1",
     .garbage = "99999700.1"},
    {.name = "takes what is below the floor, up to its stamp",
     .rule = "n",
     .column = "6.1 4.9 4.2 3.4 2.5",
     .garbage = "4.2 3.4",
     .floor = {5, {4, {9}}}},
    {.name = "counts all adds of a timestamp as one version",
     .rule = "v1",
     .column = "4.9 4.8 4.1 3.9 3.8",
     .garbage = "3.9 3.8",
     .folds = true},
    {.name = "keeps every add that counts",
     .rule = "n",
     .column = "4.9 4.8 3.1",
     .garbage = "",
     .folds = true},
    {.name = "takes adds below a marker, and no others",
     .rule = "n",
     .column = "!0-0.5 4.9 4.4 4.1",
     .garbage = "4.4 4.1",
     .folds = true},
    {.name = "does not count a timestamp whose adds are all hidden",
     .rule = "v1",
     .column = "!4-5.9 4.8 4.7 3.1 2.1",
     .garbage = "4.8 4.7 2.1",
     .folds = true},
};

static void begin(struct at_garbage *g,
                  const struct garbage_case *c,
                  struct at_arena *arena,
                  struct at_gc_rule *rule)
{
    struct at_buf bytes;

    at_buf_init(&bytes, RULE_TEXT_BYTES_MAX);
    rule_text(c->rule, &bytes);
    assert_int_equal(at_gc_rule_parse(at_buf_slice(&bytes), arena, rule, NULL), AT_OK);
    at_buf_deinit(&bytes);
    const struct at_garbage_law law = {
        .rule = rule, .floor = c->floor, .folds = c->folds, .now_micros = NOW};
    at_garbage_begin_family(g, &law);
    at_garbage_begin_row(g, (struct at_stamp){c->row_hidden, {1}});
    at_garbage_begin_column(g);
}

static void judge_column(struct at_garbage *g, const char *column, char *out)
{
    long long from;
    long long to;
    unsigned long long stamp;
    int len = 0;
    size_t used = 0;

    *out = '\0';
    for (const char *p = column; *p != '\0'; p += len + (p[len] == ' ')) {
        if (sscanf(p, "!%lld-%lld.%llu%n", &from, &to, &stamp, &len) == 3) {
            const struct at_key key = {.kind = AT_KEY_COLUMN_MARKER, .stamp = {stamp, {1}}};
            uint8_t range[16];
            at_put_be64(range, (uint64_t)from);
            at_put_be64(range + 8, (uint64_t)to);
            assert_int_equal(at_garbage_marker(g, &key, at_slice_make(range, 16)), AT_OK);
            continue;
        }
        assert_int_equal(sscanf(p, "%lld.%llu%n", &from, &stamp, &len), 2);
        if (at_garbage_cell(g, from, (struct at_stamp){stamp, {1}}))
            used += (size_t)snprintf(out + used, OUT_BYTES - used, "%s%.*s", used > 0 ? " " : "",
                                     len, p);
    }
}

static void judges(void **state)
{
    const struct garbage_case *c = *state;
    struct at_gc_rule rule;
    struct at_arena arena;
    struct at_garbage g;
    char out[OUT_BYTES];

    at_arena_init(&arena, 1024);
    at_garbage_init(&g);
    begin(&g, c, &arena, &rule);
    judge_column(&g, c->column, out);
    assert_string_equal(out, c->garbage);
    /* Every column is judged anew. */
    at_garbage_begin_column(&g);
    judge_column(&g, c->column, out);
    assert_string_equal(out, c->garbage);
    at_garbage_deinit(&g);
    at_arena_deinit(&arena);
}

/* What makes collecting in pieces safe. */
static void taking_any_part_of_the_garbage_changes_no_other_judgement(void **state)
{
    static const char *const rules[] = {"v2",      "a1",           "(v2|a1)",
                                        "(v2&a1)", "((v1&a1)|v4)", "((v3|a1)&v2)"};
    struct at_arena arena;
    struct at_prng prng;
    struct at_garbage g;

    (void)state;
    at_arena_init(&arena, 1024);
    at_prng_init(&prng, 5);
    at_garbage_init(&g);
    for (int round = 0; round < 3000; round++) {
        struct garbage_case c = {.rule = rules[at_prng_below(&prng, 6)], .folds = round % 2 == 0};
        struct at_gc_rule rule;
        int64_t ts[12];
        bool first[12];
        bool gone[12] = {false};
        int64_t at = NOW;
        for (int i = 0; i < 12; i++)
            ts[i] = at -= (int64_t)at_prng_below(&prng, 300);
        for (int pass = 0; pass < 2; pass++) {
            begin(&g, &c, &arena, &rule);
            for (int i = 0; i < 12; i++) {
                if (gone[i])
                    continue;
                bool garbage =
                    at_garbage_cell(&g, ts[i], (struct at_stamp){100 - (uint64_t)i, {1}});
                if (pass == 0)
                    first[i] = garbage;
                assert_int_equal(garbage, first[i]);
            }
            /* Overwritten stamps go with their winner or alone, never the winner alone. */
            for (int i = 11; i >= 0; i--)
                gone[i] = first[i] && (i == 11 || ts[i] != ts[i + 1] || gone[i + 1]) &&
                          at_prng_below(&prng, 2) == 0;
        }
        at_arena_reset(&arena);
    }
    at_garbage_deinit(&g);
    at_arena_deinit(&arena);
}

int main(void)
{
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[COUNT + 1];

    for (int i = 0; i < COUNT; i++)
        tests[i] =
            (struct CMUnitTest){cases[i].name, judges, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(
        taking_any_part_of_the_garbage_changes_no_other_judgement);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
