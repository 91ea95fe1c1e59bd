#include "cluster/model/row_set.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/buf.h"
#include "support/test.h"

/* A row set as text, items separated by spaces: a key, or a range as "[a,b)", "(a,b]", with * for
 * an unset bound and an empty key for one that is set and empty. What finish makes of it is written
 * as half-open ranges "[a,b)" with "" for an unset end, points as their key, and \0 as '0'. */
struct set_case {
    const char *name;
    const char *set;
    const char *ranges; /* NULL: refused with `error` */
    const char *error;
};

static const struct set_case cases[] = {
    {"nothing asked for is the whole table", "", "[,)", NULL},
    {"a range with nothing set is the whole table", "[*,*]", "[,)", NULL},
    {"one key is a point", "b", "b", NULL},
    {"keys come in order, each once", "c a b a", "a b c", NULL},
    {"a closed range of one key is that row", "[b,b]", "b", NULL},
    {"a closed end takes its row in", "[a,c]", "[a,c0)", NULL},
    {"an open start leaves its row out", "(a,c)", "[a0,c)", NULL},
    {"an unset start", "[*,c)", "[,c)", NULL},
    {"an unset end", "[c,*]", "[c,)", NULL},
    {"an empty open end is infinity", "[c,)", "[c,)", NULL},
    {"an empty closed end is infinity", "[c,]", "[c,)", NULL},
    {"an empty open start is the first key", "(,c)", "[,c)", NULL},
    {"an empty closed start is the first key", "[,c)", "[,c)", NULL},
    {"overlapping ranges join", "[a,c) [b,d)", "[a,d)", NULL},
    {"touching ranges join", "[b,c) [a,b)", "[a,c)", NULL},
    {"a range inside another adds nothing", "[a,z) [b,c)", "[a,z)", NULL},
    {"an infinite range takes in all that follow", "[b,*] [c,d) x a", "a [b,)", NULL},
    {"a key in a range is not given twice", "b [a,c)", "[a,c)", NULL},
    {"a key at the open end of a range is added", "[a,c) c", "[a,c) c", NULL},
    {"a key and a range that begins with it", "a [a,c)", "[a,c)", NULL},
    {"the union of a range and a key", "(a,d] a", "a [a0,d0)", NULL},
    {"the empty range of everything and a key", "[*,*] b", "[,)", NULL},
    {"start beyond end", "[c,a)", NULL, "Error in element #0: start_key must be less than end_key"},
    {"the element is named", "[a,b) [c,a]", NULL,
     "Error in element #1: start_key must be less than end_key"},
    {"an open start at a closed end is empty", "(k,k]", NULL,
     "Error in element #0: start_key must be less than end_key"},
    {"a closed start at an open end is empty", "[k,k)", NULL,
     "Error in element #0: start_key must be less than end_key"},
    {"an open range of one key is empty", "(k,k)", NULL,
     "Error in element #0: start_key must be less than end_key"},
};
#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

static struct at_slice until(const char **p, const char *ends)
{
    size_t len = strcspn(*p, ends);
    struct at_slice s = at_slice_make(*p, len);

    *p += len;
    return s;
}

static struct at_row_bound bound(struct at_slice key, bool open)
{
    if (at_slice_eq_cstr(key, "*"))
        return (struct at_row_bound){.kind = AT_BOUND_NONE};
    return (struct at_row_bound){open ? AT_BOUND_OPEN : AT_BOUND_CLOSED, key};
}

static enum at_code
fill(struct at_row_set *set, struct at_arena *arena, const char *p, struct at_error *reterr)
{
    for (uint32_t index = 0; *p != '\0'; p += *p == ' ') {
        if (*p != '[' && *p != '(') {
            AT_TRY(at_row_set_add_key(set, arena, until(&p, " "), reterr));
            continue;
        }
        bool open = *p++ == '(';
        struct at_row_bound start = bound(until(&p, ","), open);
        p++;
        struct at_slice end_key = until(&p, ")]");
        struct at_row_bound end = bound(end_key, *p++ == ')');
        AT_TRY(at_row_set_add_range(set, arena, index++, start, end, reterr));
    }
    return AT_OK;
}

static void put_key(struct at_buf *out, struct at_slice key)
{
    for (size_t i = 0; i < key.len; i++)
        assert_int_equal(at_buf_printf(out, "%c", key.data[i] ? key.data[i] : '0'), AT_OK);
}

static void put_ranges(struct at_buf *out, const struct at_row_set *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const struct at_row_range *r = &set->ranges[i];
        assert_int_equal(at_buf_printf(out, "%s%s", i ? " " : "", r->point ? "" : "["), AT_OK);
        put_key(out, r->start);
        if (!r->point) {
            assert_int_equal(at_buf_printf(out, ","), AT_OK);
            put_key(out, r->end);
            assert_int_equal(at_buf_printf(out, ")"), AT_OK);
        }
    }
}

static void row_set_is(void **state)
{
    const struct set_case *c = *state;
    struct at_arena arena;
    struct at_buf out;
    struct at_row_set set;
    struct at_error error = {0};

    at_arena_init(&arena, 1024);
    at_buf_init(&out, 4096);
    at_row_set_init(&set);
    enum at_code code = fill(&set, &arena, c->set, &error);
    if (c->ranges == NULL) {
        assert_int_equal(code, AT_INVALID_ARGUMENT);
        assert_string_equal(error.msg, c->error);
    } else {
        assert_int_equal(code, AT_OK);
        at_row_set_finish(&set, &arena);
        put_ranges(&out, &set);
        assert_string_equal(at_buf_cstr(&out), c->ranges);
    }
    at_buf_deinit(&out);
    at_arena_deinit(&arena);
}

static void keys_beyond_the_limits_are_refused(void **state)
{
    static uint8_t bytes[AT_ROW_KEY_BYTES_MAX + 1];
    struct at_row_set set;
    struct at_arena arena;
    struct at_error error = {0};
    struct at_slice fits = {bytes, sizeof(bytes) - 1};
    struct at_slice long_key = {bytes, sizeof(bytes)};
    struct at_row_bound none = {.kind = AT_BOUND_NONE};

    (void)state;
    at_arena_init(&arena, 1024);
    at_row_set_init(&set);
    assert_int_equal(at_row_set_add_key(&set, &arena, AT_LIT(""), &error), AT_INVALID_ARGUMENT);
    assert_string_equal(error.msg, "Row keys must be non-empty");
    assert_int_equal(at_row_set_add_key(&set, &arena, long_key, &error), AT_INVALID_ARGUMENT);
    struct at_row_bound bad = {AT_BOUND_CLOSED, long_key};
    assert_int_equal(at_row_set_add_range(&set, &arena, 0, bad, none, &error), AT_INVALID_ARGUMENT);
    assert_int_equal(at_row_set_add_range(&set, &arena, 0, none, bad, &error), AT_INVALID_ARGUMENT);
    assert_true(set.unbounded);
    assert_int_equal(at_row_set_add_key(&set, &arena, fits, &error), AT_OK);
    assert_false(set.unbounded);
    at_arena_deinit(&arena);
}

static void a_range_between_a_key_and_its_successor_holds_nothing(void **state)
{
    struct at_row_bound start = {AT_BOUND_OPEN, AT_LIT("k")};
    struct at_row_bound end = {AT_BOUND_OPEN, AT_LIT("k\0")};
    struct at_row_set set;
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, 1024);
    at_row_set_init(&set);
    assert_int_equal(at_row_set_add_range(&set, &arena, 0, start, end, NULL), AT_OK);
    at_row_set_finish(&set, &arena);
    assert_false(at_row_set_contains(&set, AT_LIT("k")));
    assert_false(at_row_set_contains(&set, AT_LIT("k\0")));
    at_arena_deinit(&arena);
}

/* Against the definition: a row is in the set when one of its items holds it. */
static void finished_set_holds_exactly_the_rows_of_its_items(void **state)
{
    static const char *const items[] = {"a",      "b",     "ab",    "c",     "[a,b)",  "(a,b]",
                                        "[ab,c]", "(b,c)", "[c,*]", "[*,a]", "[a,ab]", "(ab,b)"};
    static const char *const rows[] = {"a", "aa", "ab", "abc", "b", "ba", "c", "ca", "d"};
    enum { ITEM_COUNT = sizeof(items) / sizeof(items[0]) };

    (void)state;
    for (unsigned mask = 1; mask < 1u << ITEM_COUNT; mask++) {
        struct at_arena arena;
        struct at_row_set set;
        at_arena_init(&arena, 4096);
        at_row_set_init(&set);
        for (int i = ITEM_COUNT - 1; i >= 0; i--) {
            if (mask & 1u << i)
                assert_int_equal(fill(&set, &arena, items[i], NULL), AT_OK);
        }
        at_row_set_finish(&set, &arena);
        for (uint32_t i = 1; i < set.count; i++)
            assert_true(at_slice_cmp(set.ranges[i - 1].end, set.ranges[i].start) <= 0);
        for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
            bool wanted = false;
            for (int i = 0; i < ITEM_COUNT; i++) {
                struct at_row_set one;
                if (!(mask & 1u << i))
                    continue;
                at_row_set_init(&one);
                assert_int_equal(fill(&one, &arena, items[i], NULL), AT_OK);
                struct at_slice row = at_slice_cstr(rows[r]);
                wanted |= at_slice_cmp(row, one.ranges[0].start) >= 0 &&
                          (one.ranges[0].end.len == 0 || at_slice_cmp(row, one.ranges[0].end) < 0);
            }
            assert_int_equal(at_row_set_contains(&set, at_slice_cstr(rows[r])), wanted);
        }
        at_arena_deinit(&arena);
    }
}

int main(void)
{
    struct CMUnitTest tests[CASE_COUNT + 3] = {
        cmocka_unit_test(keys_beyond_the_limits_are_refused),
        cmocka_unit_test(finished_set_holds_exactly_the_rows_of_its_items),
        cmocka_unit_test(a_range_between_a_key_and_its_successor_holds_nothing),
    };

    for (size_t i = 0; i < CASE_COUNT; i++) {
        union {
            const void *in;
            void *out;
        } state = {&cases[i]};
        tests[i + 3] = (struct CMUnitTest){
            .name = cases[i].name, .test_func = row_set_is, .initial_state = state.out};
    }
    return _cmocka_run_group_tests("row_set", tests, CASE_COUNT + 3, NULL, NULL);
}
