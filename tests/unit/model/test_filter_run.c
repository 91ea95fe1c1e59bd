#include "cluster/model/filter.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "support/filter_text.h"
#include "support/test.h"

/* What filters let through, one row of the table per rule. */

#define ROW "f:a@2000=2 f:a@1000=1 f:b@1000=3 g:a@1000=4 g:c@3000=5"

struct filter_case {
    const char *name;
    const char *filter; /* NULL: none */
    const char *out;
    const char *row; /* NULL: ROW */
};

static const struct filter_case cases[] = {
    {"no filter passes everything", NULL, ROW, NULL},
    {"pass_all passes everything", "all", ROW, NULL},
    {"block_all passes nothing", "none", "", NULL},

    {"the row limit takes the first cells in storage order", "limit:2", "f:a@2000=2 f:a@1000=1",
     NULL},
    {"a row limit above the row takes all", "limit:9", ROW, NULL},
    {"the offset skips the first cells", "offset:3", "g:a@1000=4 g:c@3000=5", NULL},
    {"offset 0 skips none", "offset:0", ROW, NULL},
    {"an offset beyond the row skips all", "offset:5", "", NULL},
    {"offset then limit make a page", "chain(offset:1,limit:2)", "f:a@1000=1 f:b@1000=3", NULL},
    {"the column limit takes the newest of each column", "collimit:1",
     "f:a@2000=2 f:b@1000=3 g:a@1000=4 g:c@3000=5", NULL},
    {"a row limit counts cells that a later filter drops", "chain(limit:3,col:b)", "f:b@1000=3",
     NULL},
    {"a column limit counts before a later filter", "chain(collimit:1,value:1)", "", NULL},
    {"a column limit counts what an earlier filter left", "chain(value:1,collimit:1)", "f:a@1000=1",
     NULL},

    {"interleave gives every cell once for each branch", "inter(all,all)",
     "f:a@1=x f:a@1=x f:b@1=y f:b@1=y", "f:a@1=x f:b@1=y"},
    {"interleave outputs are merged in order", "inter(fam:g,fam:f)", ROW, NULL},
    {"copies count for the column limit", "chain(inter(all,all),collimit:1)", "f:a@1=x f:b@1=y",
     "f:a@1=x f:b@1=y"},
    {"copies count for the row limit", "chain(inter(all,all),limit:3)", "f:a@1=x f:a@1=x f:b@1=y",
     "f:a@1=x f:b@1=y"},
    {"limits of two branches do not share their count", "inter(limit:1,offset:4)",
     "f:a@2000=2 g:c@3000=5", NULL},

    {"strip makes values empty", "chain(strip,col:b)", "f:b@1000=", NULL},
    {"a value regex behind strip sees no value", "chain(strip,value:2)", "", NULL},
    {"the empty value regex behind strip passes all", "chain(strip,value:)", "f:a@1=", "f:a@1=x"},
    {"a label is on every cell", "label:l-1", "f:a@1=x#l-1 f:b@1=y#l-1", "f:a@1=x f:b@1=y"},
    {"branches may have labels of their own", "inter(chain(col:a,label:l),chain(col:b,label:m))",
     "f:a@1=x#l f:b@1=y#m", "f:a@1=x f:b@1=y"},

    {"a sink puts out past what follows it", "chain(fam:f,inter(all,chain(label:foo,sink)),col:b)",
     "f:a@1=x#foo f:b@1=y f:b@1=y#foo", "f:a@1=x f:b@1=y"},
    {"nothing follows a sink in a chain", "chain(sink,none)", ROW, NULL},
    {"a row limit behind a sink does not bound it", "chain(inter(sink,all),limit:1)",
     "f:a@1=x f:a@1=x f:b@1=y", "f:a@1=x f:b@1=y"},
    {"a sink before a condition keeps the order of cells",
     "chain(inter(chain(col:b,sink),all),cond(col:b,all,none))", "f:a@1=x f:b@1=y f:b@1=y",
     "f:a@1=x f:b@1=y"},

    {"a condition that holds takes the true branch", "cond(col:a,fam:g,fam:f)",
     "g:a@1000=4 g:c@3000=5", NULL},
    {"a condition that fails takes the false branch", "cond(col:z,fam:g,col:b)", "f:b@1000=3",
     NULL},
    {"a missing branch puts out nothing", "cond(col:a,-,all)", "", NULL},
    {"a missing false branch puts out nothing", "cond(col:z,all,-)", "", NULL},
    {"branches see the input, not the predicate's output", "cond(chain(col:c,strip),all,-)", ROW,
     NULL},
    {"a predicate is a whole filter", "cond(chain(col:a,value:nope),all,-)", "", NULL},
    {"a condition sees what comes before it in its chain", "chain(fam:f,cond(col:c,all,strip))",
     "f:a@2000= f:a@1000= f:b@1000=", NULL},
    {"conditions may follow each other", "chain(cond(col:c,fam:f,all),cond(fam:g,none,col:a))",
     "f:a@2000=2 f:a@1000=1", NULL},
    {"conditions nest in predicates", "cond(cond(col:z,all,none),all,col:b)", "f:b@1000=3", NULL},
    {"conditions nest in branches", "cond(col:a,cond(col:z,all,limit:1),none)", "f:a@2000=2", NULL},
    {"a predicate counts no cell twice",
     "cond(chain(inter(cond(col:a,col:c,none),col:a),offset:3),limit:1,none)", "f:a@2000=2", NULL},
    {"a predicate waits for the conditions inside it",
     "cond(chain(inter(cond(col:c,col:a,none),col:b),limit:1,col:b),none,col:b)", "f:b@1000=3",
     NULL},
    {"an interleave of a condition is in order",
     "inter(limit:2,cond(col:c,chain(offset:1,limit:2),none))",
     "f:a@2000=2 f:a@1000=1 f:a@1000=1 f:b@1000=3", NULL},
    {"limits behind a condition count for the row", "chain(cond(col:a,all,none),limit:1)",
     "f:a@2000=2", NULL},
    {"an empty row has no output for the false branch", "cond(all,all,all)", "", ""},

    {"a family regex matches as a whole", "fam:f", "f:a@2000=2 f:a@1000=1 f:b@1000=3", NULL},
    {"a family regex matches not in part", "fam:f", "", "ff:a@1=x xf:a@1=x"},
    {"a qualifier regex matches as a whole", "col:'a|c'",
     "f:a@2000=2 f:a@1000=1 g:a@1000=4 g:c@3000=5", NULL},
    {"the empty qualifier has the empty regex", "col:", "f:@1=x", "f:@1=x f:a@1=y"},
    {"a value regex matches as a whole", "value:2", "f:b@1=2", "f:a@1=123 f:b@1=2"},
    {"a dot is one byte, so e-acute is two", "value:'caf..'", "f:a@1=caf\xc3\xa9",
     "f:a@1=caf\xc3\xa9"},
    {"a dot is not a whole UTF-8 character", "value:'caf.'", "", "f:a@1=caf\xc3\xa9"},
    {"a dot does not match a newline", "value:'a.b'", "f:b@1=axb", "f:a@1=a\nb f:b@1=axb"},
    {"\\C matches any byte", "value:'a\\Cb'",
     "f:a@1=a\nb f:b@1=a\xff"
     "b",
     "f:a@1=a\nb f:b@1=a\xff"
     "b"},
    {"a row regex matches the key as a whole", "row:'.+3'", ROW, NULL},
    {"a row regex drops other rows", "row:'.+4'", "", NULL},
    {"a row regex that is a part of the key drops it", "row:'row'", "", NULL},
    {"a literal row regex passes its row", "row:row3", ROW, NULL},
    {"a row regex in one branch leaves the others", "inter(row:nope,col:b)", "f:b@1000=3", NULL},

    {"a closed column range", "crange:f/[a..b]", "f:a@2000=2 f:a@1000=1 f:b@1000=3", NULL},
    {"a half-open column range", "crange:f/[a..b)", "f:a@2000=2 f:a@1000=1", NULL},
    {"an open column range", "crange:f/(a..b]", "f:b@1000=3", NULL},
    {"a column range without bounds is the family", "crange:g/[*..*]", "g:a@1000=4 g:c@3000=5",
     NULL},
    {"a column range may be empty", "crange:f/[a..a)", "", NULL},
    {"an open end at the empty qualifier is infinity", "crange:g/[b..)", "g:c@3000=5", NULL},
    {"a closed end at the empty qualifier is that qualifier", "crange:f/[..]", "f:@1=x",
     "f:@1=x f:a@1=y"},
    {"an open start at the empty qualifier leaves it out", "crange:f/(..*]", "f:a@1=y",
     "f:@1=x f:a@1=y"},
    {"timestamps from the start, without the end", "ts:1000..2000",
     "f:a@1000=1 f:b@1000=3 g:a@1000=4", NULL},
    {"timestamp bounds need not be whole milliseconds", "ts:1001..1999", "f:a@1500=m",
     "f:a@1999=x f:a@1500=m f:a@1000=y"},
    {"a timestamp end of 0 is open", "ts:2000..0", "f:a@2000=2 g:c@3000=5", NULL},
    {"a timestamp range may be empty", "ts:1000..1000", "", NULL},
    {"a closed value range", "vrange:[2..4]", "f:a@2000=2 f:b@1000=3 g:a@1000=4", NULL},
    {"an open value range", "vrange:(2..4)", "f:b@1000=3", NULL},
    {"an open value end at the empty string is infinity", "vrange:[4..)", "g:a@1000=4 g:c@3000=5",
     NULL},
    {"a closed value end at the empty string is the empty value", "vrange:[..]",
     "f:a@1=", "f:a@1= f:b@1=x"},
    {"a bitmask wants all of its bits", "mask:'\x01'", "f:a@2000=1 f:a@1000=3 f:b@1=5",
     "f:a@2000=1 f:a@1500=2 f:a@1000=3 f:b@3=4 f:b@1=5"},
    {"a bitmask wants the same length", "mask:'\x01'", "", "f:a@1=11 f:b@1="},
};
#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

struct out {
    struct at_buf text;
    uint32_t count;
};

static void collect(void *ctx, const struct at_cell *cell)
{
    struct out *out = ctx;

    out->count++;
    text_put_cell(&out->text, cell);
}

static struct at_filter *compile(const char *text, struct at_arena *arena)
{
    struct at_filter *filter = NULL;
    struct at_error error = {0};

    enum at_code code = at_filter_compile(text_filter(text, arena), &filter, &error);
    if (code != AT_OK)
        fail_msg("%s: %s", text, error.msg);
    return filter;
}

static void run_row(struct at_filter_run *run, const char *row, struct out *out)
{
    static struct at_cell cells[TEXT_CELLS_MAX];
    size_t count = text_row(row, cells);

    at_buf_clear(&out->text);
    (void)at_filter_run_begin(run, AT_LIT("row3"));
    for (size_t i = 0; i < count; i++)
        (void)at_filter_run_push(run, &cells[i], collect, out);
    at_filter_run_end(run, collect, out);
    assert_int_equal(at_filter_run_code(run, NULL), AT_OK);
}

static void filter_lets_through(void **state)
{
    const struct filter_case *c = *state;
    struct out out = {0};
    struct at_arena arena;

    at_arena_init(&arena, 4096);
    at_buf_init(&out.text, AT_MIB);
    struct at_filter *filter = compile(c->filter, &arena);
    struct at_filter_run *run = at_filter_run_new(filter, 1);
    for (int i = 0; i < 3; i++) { /* a run leaves nothing behind for its next row */
        run_row(run, c->row ? c->row : ROW, &out);
        assert_string_equal(at_buf_cstr(&out.text), c->out);
    }
    at_filter_run_free(&run);
    at_filter_free(&filter);
    at_buf_deinit(&out.text);
    at_arena_deinit(&arena);
}

static void sample_keeps_whole_rows_at_its_rate(void **state)
{
    struct out out = {0};
    struct at_arena arena;
    int kept = 0;

    (void)state;
    at_arena_init(&arena, 4096);
    at_buf_init(&out.text, AT_MIB);
    struct at_filter *filter = compile("sample:0.5", &arena);
    struct at_filter_run *run = at_filter_run_new(filter, 42);
    for (int i = 0; i < 4000; i++) {
        out.count = 0;
        run_row(run, ROW, &out);
        assert_true(out.count == 0 || out.count == 5);
        kept += out.count == 5;
    }
    assert_in_range(kept, 1850, 2150);
    at_filter_run_free(&run);
    at_filter_free(&filter);
    at_buf_deinit(&out.text);
    at_arena_deinit(&arena);
}

/* What `text` says to the source about a row: at its begin and then to each cell. */
struct hint_case {
    const char *name;
    const char *filter;
    const char *hints; /* begin, cells: n next, c skip column, r skip row */
};

static const struct hint_case hint_cases[] = {
    {"hint: everything is wanted", "all", "nnnnnn"},
    {"hint: nothing is wanted", "none", "rrrrrr"},
    {"hint: another row", "row:x", "rrrrrr"},
    {"hint: the first cell is enough", "limit:1", "nrrrrr"},
    {"hint: one cell a column", "collimit:1", "nccccc"},
    {"hint: families in front and behind", "fam:f", "nnnnrr"},
    {"hint: a regex of families says nothing about later ones", "fam:'f|h'", "nnnncc"},
    {"hint: the column range has been left", "crange:f/[a..b)", "nnnrrr"},
    {"hint: older cells are outside the timestamp range", "ts:2000..0", "nncccn"},
    {"hint: a row limit must see what is dropped behind it", "chain(limit:9,col:c)", "nnnnnn"},
    {"hint: a full row limit needs to see no more", "chain(limit:1,col:c)", "nrrrrr"},
    {"hint: all branches must agree", "inter(collimit:1,fam:f)", "nnnncc"},
};

static void filter_hints_at(void **state)
{
    static struct at_cell cells[TEXT_CELLS_MAX];
    static const char letters[] = {'n', 'c', 'r'};
    const struct hint_case *c = *state;
    struct out out = {0};
    struct at_arena arena;
    char hints[8] = {0};

    at_arena_init(&arena, 4096);
    at_buf_init(&out.text, AT_MIB);
    struct at_filter *filter = compile(c->filter, &arena);
    struct at_filter_run *run = at_filter_run_new(filter, 1);
    size_t count = text_row(ROW, cells);
    hints[0] = letters[at_filter_run_begin(run, AT_LIT("row3"))];
    for (size_t i = 0; i < count; i++)
        hints[i + 1] = letters[at_filter_run_push(run, &cells[i], collect, &out)];
    assert_string_equal(hints, c->hints);
    at_filter_run_free(&run);
    at_filter_free(&filter);
    at_buf_deinit(&out.text);
    at_arena_deinit(&arena);
}

static void row_too_large_for_its_condition_is_reported_and_the_next_one_served(void **state)
{
    struct at_arena arena;
    struct out out = {0};
    struct at_error error = {0};
    enum at_filter_next next = AT_FILTER_NEXT_CELL;

    (void)state;
    at_arena_init(&arena, 4096);
    at_buf_init(&out.text, AT_MIB);
    struct at_filter *filter = compile("cond(all,limit:1,none)", &arena);
    struct at_filter_run *run = at_filter_run_new(filter, 1);
    AT_CLEANUP(at_free_ptr) uint8_t *value = at_alloc(AT_VALUE_BYTES_MAX);
    struct at_cell cell = {.family = AT_LIT("f"), .value = {value, AT_VALUE_BYTES_MAX}};
    (void)at_filter_run_begin(run, AT_LIT("row3"));
    for (int i = 0; i < 2; i++)
        assert_int_equal(at_filter_run_push(run, &cell, collect, &out), AT_FILTER_NEXT_CELL);
    next = at_filter_run_push(run, &cell, collect, &out);
    assert_int_equal(next, AT_FILTER_SKIP_ROW);
    at_filter_run_end(run, collect, &out);
    assert_int_equal(out.count, 0);
    assert_int_equal(at_filter_run_code(run, &error), AT_FAILED_PRECONDITION);
    run_row(run, ROW, &out);
    assert_string_equal(at_buf_cstr(&out.text), "f:a@2000=2");
    at_filter_run_free(&run);
    at_filter_free(&filter);
    at_buf_deinit(&out.text);
    at_arena_deinit(&arena);
}

int main(void)
{
    enum { HINT_COUNT = sizeof(hint_cases) / sizeof(hint_cases[0]) };
    struct CMUnitTest tests[CASE_COUNT + HINT_COUNT + 2] = {
        cmocka_unit_test(sample_keeps_whole_rows_at_its_rate),
        cmocka_unit_test(row_too_large_for_its_condition_is_reported_and_the_next_one_served),
    };
    size_t count = 2;

    for (size_t i = 0; i < CASE_COUNT; i++, count++) {
        union {
            const void *in;
            void *out;
        } state = {&cases[i]};
        tests[count] = (struct CMUnitTest){
            .name = cases[i].name, .test_func = filter_lets_through, .initial_state = state.out};
    }
    for (size_t i = 0; i < HINT_COUNT; i++, count++) {
        union {
            const void *in;
            void *out;
        } state = {&hint_cases[i]};
        tests[count] = (struct CMUnitTest){
            .name = hint_cases[i].name, .test_func = filter_hints_at, .initial_state = state.out};
    }
    return _cmocka_run_group_tests("filter_run", tests, count, NULL, NULL);
}
