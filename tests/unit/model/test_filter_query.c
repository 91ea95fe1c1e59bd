#include "cluster/model/filter.h"

#include "base/assert.h"
#include "base/limits.h"
#include "support/filter_text.h"
#include "support/test.h"

struct query_case {
    const char *filter;   /* also its name; NULL: none */
    const char *passing;  /* which of the families f, g and h may pass */
    const char *literals; /* families asked for by name, in order of the alphabet */
    const char *row;      /* the only row, or NULL */
};

static const struct query_case cases[] = {
    {NULL, "fgh", "", NULL},
    {"all", "fgh", "", NULL},
    {"none", "", "", NULL},
    {"fam:f", "f", "f", NULL},
    {"fam:'f|g'", "fg", "", NULL},
    {"fam:'[f]'", "f", "f", NULL},
    {"fam:''", "", "", NULL},
    {"crange:g/[a..b]", "g", "g", NULL},
    {"chain(fam:f,fam:g)", "", "fg", NULL},
    {"inter(fam:f,crange:h/[*..*],fam:f)", "fh", "fh", NULL},
    {"chain(inter(fam:f,fam:g),fam:g)", "g", "fg", NULL},
    {"chain(inter(fam:f,sink),fam:g)", "fgh", "fg", NULL},
    /* counts and predicates see cells that cannot come out themselves */
    {"chain(limit:3,fam:f)", "fgh", "f", NULL},
    {"chain(offset:3,fam:f)", "fgh", "f", NULL},
    {"chain(fam:f,limit:3)", "f", "f", NULL},
    {"chain(collimit:3,fam:f)", "f", "f", NULL},
    {"cond(fam:g,fam:f,none)", "fg", "fg", NULL},
    {"chain(fam:f,cond(col:a,all,none))", "f", "f", NULL},

    {"row:abc", "fgh", "", "abc"},
    {"chain(fam:f,chain(strip,row:abc))", "f", "f", "abc"},
    {"chain(row:abc,cond(col:a,all,none))", "fgh", "", "abc"},
    {"chain(cond(col:a,all,none),row:abc)", "fgh", "", NULL},
    {"row:'ab.'", "fgh", "", NULL},
    {"inter(row:abc,row:abc)", "fgh", "", NULL},
    {"chain(inter(sink,all),row:abc)", "fgh", "", NULL},
};
#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

static void literals_are(const struct at_filter *filter, const char *wanted)
{
    struct at_slice names[4];
    uint32_t count = at_filter_literal_families(filter, names, 4);

    assert_int_equal(count, strlen(wanted));
    for (; *wanted != '\0'; wanted++) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < count; i++)
            found += at_slice_eq(names[i], at_slice_make(wanted, 1));
        assert_int_equal(found, 1);
    }
    if (count > 1)
        assert_int_equal(at_filter_literal_families(filter, names, 1), 1);
}

static void filter_answers(void **state)
{
    const struct query_case *c = *state;
    struct at_arena arena;
    struct at_filter *filter = NULL;
    struct at_slice row;

    at_arena_init(&arena, 4096);
    assert_int_equal(at_filter_compile(text_filter(c->filter, &arena), &filter, NULL), AT_OK);
    for (const char *family = "fgh"; *family != '\0'; family++)
        assert_int_equal(at_filter_may_pass_family(filter, at_slice_make(family, 1)),
                         strchr(c->passing, *family) != NULL);
    literals_are(filter, c->literals);
    assert_int_equal(at_filter_row_literal(filter, &row), c->row != NULL);
    if (c->row != NULL)
        assert_true(at_slice_eq_cstr(row, c->row));
    at_filter_free(&filter);
    at_arena_deinit(&arena);
}

int main(void)
{
    struct CMUnitTest tests[CASE_COUNT];

    for (size_t i = 0; i < CASE_COUNT; i++) {
        union {
            const void *in;
            void *out;
        } state = {&cases[i]};
        tests[i] = (struct CMUnitTest){.name = cases[i].filter ? cases[i].filter : "no filter",
                                       .test_func = filter_answers,
                                       .initial_state = state.out};
    }
    return _cmocka_run_group_tests("filter_query", tests, CASE_COUNT, NULL, NULL);
}
