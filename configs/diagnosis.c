/* diagnosis.c: from libcyaml's log lines to one message with file, line and column.
 *
 * On a failed load libcyaml logs one line that says why, the word "Backtrace:", and then one line
 * per nesting level, innermost first, each with a line and a column. An unknown key is reported at
 * the value before it; the key itself is then looked up in the text from there on. */
#include "configs/diagnosis.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "configs/schema.h"

#define UNKNOWN_KEY "Unexpected key: "

static void take_place(struct at_diagnosis *d, const char *line);
static bool number_after(const char *line, const char *word, unsigned *ret_number);
static void list_fields(const char *context, struct at_buf *out);

void at_diagnosis_log(cyaml_log_t level, void *ctx, const char *format, va_list args)
{
    struct at_diagnosis *d = ctx;
    char line[256];
    if (level < CYAML_LOG_ERROR)
        return;
    (void)vsnprintf(line, sizeof(line), format, args);
    const char *text = strncmp(line, "Load: ", 6) == 0 ? line + 6 : line;
    size_t len = strcspn(text, "\n");
    if (strncmp(text, "Backtrace", 9) == 0)
        return;
    if (strncmp(text, "  in ", 5) == 0)
        take_place(d, text);
    else if (d->reason[0] == '\0')
        (void)snprintf(d->reason, sizeof(d->reason), "%.*s", (int)len, text);
}

static void take_place(struct at_diagnosis *d, const char *line)
{
    static const char FIELD[] = "in mapping field '";
    if (!d->have_place)
        d->have_place =
            number_after(line, "(line: ", &d->line) && number_after(line, ", column: ", &d->column);
    const char *field = strstr(line, FIELD);
    if (!field || d->context[0] != '\0')
        return;
    char name[64];
    field += sizeof(FIELD) - 1;
    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(field, "'"), field);
    if (at_instance_schema_fields(name))
        (void)snprintf(d->context, sizeof(d->context), "%s", name);
}

static bool number_after(const char *line, const char *word, unsigned *ret_number)
{
    const char *at = strstr(line, word);
    if (!at)
        return false;
    at += strlen(word);
    char *end;
    unsigned long number = strtoul(at, &end, 10);
    if (end == at || number > UINT_MAX)
        return false;
    *ret_number = (unsigned)number;
    return true;
}

enum at_code at_diagnosis_fail(const struct at_diagnosis *d,
                               const char *path,
                               struct at_slice text,
                               struct at_error *reterr)
{
    unsigned line = d->have_place ? d->line : 1;
    unsigned column = d->have_place ? d->column : 1;
    AT_CLEANUP(at_buf_deinit) struct at_buf hint;
    at_buf_init(&hint, 512);
    if (strncmp(d->reason, UNKNOWN_KEY, sizeof(UNKNOWN_KEY) - 1) == 0) {
        const char *key = d->reason + sizeof(UNKNOWN_KEY) - 1;
        (void)at_text_place(text, key, 0, line, &line, &column);
        list_fields(d->context, &hint);
    }
    return at_fail(reterr, AT_INVALID_ARGUMENT, "%s:%u:%u: %s%.*s", path, line, column,
                   d->reason[0] ? d->reason : "not a YAML document",
                   AT_SLICE_ARG(at_buf_slice(&hint)));
}

static void list_fields(const char *context, struct at_buf *out)
{
    const cyaml_schema_field_t *fields = at_instance_schema_fields(context);
    enum at_code code = at_buf_printf(out, "; expected one of");
    for (; code == AT_OK && fields && fields->key; fields++)
        code = at_buf_printf(out, " %s", fields->key);
}

static bool is_word(uint8_t c)
{
    return isalnum(c) || c == '_' || c == '-' || c == '.';
}

bool at_text_place(struct at_slice text,
                   const char *word,
                   unsigned nth,
                   unsigned from_line,
                   unsigned *ret_line,
                   unsigned *ret_column)
{
    size_t len = strlen(word);
    unsigned line = 1;
    size_t line_start = 0;
    for (size_t i = 0; len > 0 && i + len <= text.len; i++) {
        if (text.data[i] == '\n') {
            line++;
            line_start = i + 1;
            continue;
        }
        bool starts = i == 0 || !is_word(text.data[i - 1]);
        bool ends = i + len == text.len || !is_word(text.data[i + len]);
        if (line < from_line || !starts || !ends || memcmp(text.data + i, word, len) != 0)
            continue;
        if (nth-- > 0)
            continue;
        *ret_line = line;
        *ret_column = (unsigned)(i - line_start) + 1;
        return true;
    }
    return false;
}
