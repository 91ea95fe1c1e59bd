/* test_csv.c: records of CSV text. */
#include "support/test.h"

#include <string.h>

#include "cli/cbt/csv.h"

struct csv_case {
    const char *name;
    const char *text;
    const char *want; /* fields in <>, a record per line; then the error, if any */
};

static const struct csv_case CASES[] = {
    {"plain fields", "a,b\nc,d\n", "<a><b>\n<c><d>\n"},
    {"no line end at the end of the file", "a,b", "<a><b>\n"},
    {"CRLF ends a record", "a,b\r\nc,d\r\n", "<a><b>\n<c><d>\n"},
    {"a CR inside of a field stays", "a\rb,c\n", "<a\rb><c>\n"},
    {"empty lines are skipped", "\n\na,b\n\nc,d\n\n", "<a><b>\n<c><d>\n"},
    {"empty fields are kept", ",,\n", "<><><>\n"},
    {"quotes hide commas, line ends and doubled quotes", "\"a,\n\"\"b\",c\n", "<a,\n\"b><c>\n"},
    {"an empty quoted field", "\"\",x\n", "<><x>\n"},
    {"no text has no record", "", ""},
    {"another number of fields", "a,b\nc\n", "<a><b>\nrecord on line 2: wrong number of fields"},
    {"a quote within a field", "a\"b\n", "parse error on line 1: bare \" in non-quoted-field"},
    {"text behind a closing quote", "\"a\"b\n",
     "parse error on line 1: extraneous or missing \" in quoted-field"},
    {"a quote that is never closed", "\"a\n",
     "record on line 1: extraneous or missing \" in quoted-field"},
    {"lines are counted within quotes", "\"x\ny\"\n\"a\"b\n",
     "<x\ny>\nparse error on line 3: extraneous or missing \" in quoted-field"},
};

static void read_all(FILE *in, struct at_buf *got)
{
    struct at_csv csv;
    struct at_error error = {0};
    size_t count = 0;
    enum at_code code;
    at_csv_init(&csv, in);
    while ((code = at_csv_read(&csv, &count, &error)) == AT_OK && count > 0) {
        for (size_t i = 0; i < count; i++)
            assert_int_equal(at_buf_printf(got, "<%.*s>", AT_SLICE_ARG(csv.fields[i])), AT_OK);
        assert_int_equal(at_buf_printf(got, "\n"), AT_OK);
    }
    if (code != AT_OK) {
        assert_int_equal(code, AT_INVALID_ARGUMENT);
        assert_int_equal(at_buf_printf(got, "%s", error.msg), AT_OK);
    }
    at_csv_deinit(&csv);
}

static void reads_records(void **state)
{
    const struct csv_case *c = *state;
    struct at_buf got;
    FILE *in = tmpfile();
    assert_non_null(in);
    assert_true(fputs(c->text, in) >= 0);
    rewind(in);
    at_buf_init(&got, 4096);
    read_all(in, &got);
    assert_string_equal(at_buf_cstr(&got), c->want);
    at_buf_deinit(&got);
    (void)fclose(in);
}

int main(void)
{
    enum { COUNT = sizeof(CASES) / sizeof(CASES[0]) };
    struct CMUnitTest tests[COUNT] = {{0}};
    for (size_t i = 0; i < COUNT; i++) {
        union {
            const struct csv_case *from;
            void *to;
        } c = {.from = &CASES[i]};
        tests[i] = (struct CMUnitTest){CASES[i].name, reads_records, NULL, NULL, c.to};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
