/* csv.c: one pass over the bytes; fields are gathered in one buffer and told apart by their ends,
 * since the buffer may move while it grows. */
#include "cli/cbt/csv.h"

#include <inttypes.h>

#include "base/alloc.h"

void at_csv_init(struct at_csv *csv, FILE *in)
{
    *csv = (struct at_csv){.in = in, .line = 1};
    at_buf_init(&csv->text, AT_CSV_RECORD_BYTES_MAX);
}

void at_csv_deinit(struct at_csv *csv)
{
    at_buf_deinit(&csv->text);
    at_free(csv->ends);
    at_free(csv->fields);
    *csv = (struct at_csv){0};
}

static enum at_code put(struct at_csv *csv, int c, struct at_error *reterr)
{
    uint8_t byte = (uint8_t)c;
    if (at_buf_append(&csv->text, at_slice_make(&byte, 1)) == AT_OK)
        return AT_OK;
    return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "record on line %" PRIu64 ": too large",
                   csv->line);
}

/* A byte, with CRLF read as LF. */
static int next(struct at_csv *csv)
{
    int c = getc_unlocked(csv->in);
    if (c != '\r')
        return c;
    c = getc_unlocked(csv->in);
    if (c == '\n' || c == EOF)
        return c;
    (void)ungetc(c, csv->in);
    return '\r';
}

/* Reads behind an opening quote up to what follows the closing one, which is `*ret_after`. */
static enum at_code read_quoted(struct at_csv *csv, int *ret_after, struct at_error *reterr)
{
    uint64_t first_line = csv->line;
    for (;;) {
        int c = next(csv);
        if (c == EOF)
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "record on line %" PRIu64 ": extraneous or missing \" in quoted-field",
                           first_line);
        if (c == '"') {
            c = next(csv);
            if (c == ',' || c == '\n' || c == EOF) {
                *ret_after = c;
                return AT_OK;
            }
            if (c != '"')
                return at_fail(reterr, AT_INVALID_ARGUMENT,
                               "parse error on line %" PRIu64
                               ": extraneous or missing \" in quoted-field",
                               csv->line);
        }
        if (c == '\n')
            csv->line++;
        AT_TRY(put(csv, c, reterr));
    }
}

/* Reads a field that starts with `c` and sets `*ret_after` to what ended it. */
static enum at_code read_field(struct at_csv *csv, int c, int *ret_after, struct at_error *reterr)
{
    if (c == '"')
        return read_quoted(csv, ret_after, reterr);
    while (c != ',' && c != '\n' && c != EOF) {
        if (c == '"')
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "parse error on line %" PRIu64 ": bare \" in non-quoted-field",
                           csv->line);
        AT_TRY(put(csv, c, reterr));
        c = next(csv);
    }
    *ret_after = c;
    return AT_OK;
}

static void end_field(struct at_csv *csv, size_t index)
{
    if (index == csv->ends_cap) {
        csv->ends_cap = csv->ends_cap ? csv->ends_cap * 2 : 16;
        csv->ends = at_realloc(csv->ends, csv->ends_cap * sizeof(*csv->ends));
        csv->fields = at_realloc(csv->fields, csv->ends_cap * sizeof(*csv->fields));
    }
    csv->ends[index] = csv->text.len;
}

enum at_code at_csv_read(struct at_csv *csv, size_t *ret_count, struct at_error *reterr)
{
    size_t count = 0;
    int c = next(csv);
    *ret_count = 0;
    for (; c == '\n'; c = next(csv))
        csv->line++;
    if (c == EOF)
        return ferror(csv->in) ? at_fail(reterr, AT_DATA_LOSS, "the file cannot be read") : AT_OK;

    uint64_t first_line = csv->line;
    at_buf_clear(&csv->text);
    for (;;) {
        int after = EOF;
        AT_TRY(read_field(csv, c, &after, reterr));
        end_field(csv, count++);
        if (after != ',')
            break;
        c = next(csv);
    }
    csv->line++;
    if (csv->field_count == 0)
        csv->field_count = count;
    if (count != csv->field_count)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "record on line %" PRIu64 ": wrong number of fields", first_line);
    for (size_t i = 0, start = 0; i < count; start = csv->ends[i++])
        csv->fields[i] =
            at_slice_make(csv->text.data ? csv->text.data + start : NULL, csv->ends[i] - start);
    *ret_count = count;
    return AT_OK;
}
