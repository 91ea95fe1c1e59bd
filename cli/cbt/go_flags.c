#include "cli/cbt/go_flags.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_BYTES 512

/* The dashes before a flag's name; 0: the argument is no flag. */
static size_t dashes_of(const char *arg)
{
    if (arg[0] != '-' || arg[1] == '\0')
        return 0;
    if (arg[1] != '-')
        return 1;
    return arg[2] == '\0' ? 0 : 2;
}

static struct at_go_flag *find(struct at_go_flag *flags, size_t count, struct at_slice name)
{
    for (size_t i = 0; i < count; i++)
        if (at_slice_eq_cstr(name, flags[i].name))
            return &flags[i];
    return NULL;
}

static bool is_int(const char *text)
{
    char *end = NULL;

    errno = 0;
    (void)strtoll(text, &end, 0);
    return errno == 0 && text[0] != '\0' && text[0] != ' ' && *end == '\0';
}

static enum at_code set(struct at_go_flag *flag, const char *value, struct at_error *reterr)
{
    if (flag->type == AT_GO_INT && !is_int(value))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "invalid value \"%s\" for flag -%s: parse error", value, flag->name);
    flag->value = value;
    return AT_OK;
}

enum at_code at_go_flags_parse(struct at_go_flag *flags,
                               size_t count,
                               int argc,
                               char *const *argv,
                               bool *ret_help,
                               struct at_error *reterr)
{
    *ret_help = false;
    for (int i = 1; i < argc; i++) {
        size_t dashes = dashes_of(argv[i]);
        if (dashes == 0)
            break;
        const char *text = argv[i] + dashes;
        const char *equals = strchr(text, '=');
        struct at_slice name =
            equals ? at_slice_make(text, (size_t)(equals - text)) : at_slice_cstr(text);
        if (name.len == 0 || name.data[0] == '-')
            return at_fail(reterr, AT_INVALID_ARGUMENT, "bad flag syntax: %s", argv[i]);
        struct at_go_flag *flag = find(flags, count, name);
        *ret_help = !flag && (at_slice_eq_cstr(name, "help") || at_slice_eq_cstr(name, "h"));
        if (*ret_help)
            return AT_OK;
        if (!flag)
            return at_fail(reterr, AT_INVALID_ARGUMENT, "flag provided but not defined: -%.*s",
                           AT_SLICE_ARG(name));
        if (!equals && i + 1 == argc)
            return at_fail(reterr, AT_INVALID_ARGUMENT, "flag needs an argument: -%s", flag->name);
        AT_TRY(set(flag, equals ? equals + 1 : argv[++i], reterr));
    }
    return AT_OK;
}

enum at_code at_go_flags_help(const struct at_go_flag *flags,
                              size_t count,
                              const char *program,
                              struct at_buf *out)
{
    char line[LINE_BYTES];

    (void)snprintf(line, sizeof(line), "Usage of %s:\n", program);
    AT_TRY(at_buf_append(out, at_slice_cstr(line)));
    for (size_t i = 0; i < count; i++) {
        const struct at_go_flag *f = &flags[i];
        bool text = f->type == AT_GO_STRING;
        const char *quote = text ? "\"" : "";
        (void)snprintf(line, sizeof(line), "  -%s %s\n    \t%s", f->name, text ? "string" : "int",
                       f->help);
        AT_TRY(at_buf_append(out, at_slice_cstr(line)));
        (void)snprintf(line, sizeof(line), " (default %s%s%s)", quote,
                       f->fallback ? f->fallback : "", quote);
        AT_TRY(at_buf_append(out, at_slice_cstr(f->fallback ? line : "")));
        AT_TRY(at_buf_append(out, AT_LIT("\n")));
    }
    return AT_OK;
}
