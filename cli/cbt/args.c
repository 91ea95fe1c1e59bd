/* args.c: Go's strconv.ParseInt with base 0 and ParseBool, as far as people type them. */
#include "cli/cbt/args.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define NUMBER_BYTES_MAX 80
#define SERVER_TIME (-1)

enum at_code at_cbt_args_parse(char *const *args,
                               int count,
                               struct at_cbt_option *options,
                               struct at_error *reterr)
{
    for (int i = 0; i < count; i++) {
        const char *equals = strchr(args[i], '=');
        if (!equals)
            return at_fail(reterr, AT_INVALID_ARGUMENT, "bad arg \"%s\"", args[i]);
        struct at_slice key = at_slice_make(args[i], (size_t)(equals - args[i]));
        struct at_cbt_option *o = options;
        while (o->key && !at_slice_eq_cstr(key, o->key))
            o++;
        if (!o->key)
            return at_fail(reterr, AT_INVALID_ARGUMENT, "unknown arg key \"%.*s\"",
                           AT_SLICE_ARG(key));
        o->value = equals + 1;
    }
    return AT_OK;
}

bool at_cbt_int(struct at_slice text, int64_t *ret_value)
{
    char copy[NUMBER_BYTES_MAX];
    char *end = NULL;
    if (text.len == 0 || text.len >= sizeof(copy) || isspace(text.data[0]))
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    errno = 0;
    long long value = strtoll(copy, &end, 0);
    if (errno != 0 || end != copy + text.len)
        return false;
    *ret_value = value;
    return true;
}

bool at_cbt_bool(const char *text, bool *ret_value)
{
    static const char *const WORDS[2][6] = {{"0", "f", "F", "FALSE", "false", "False"},
                                            {"1", "t", "T", "TRUE", "true", "True"}};
    for (size_t i = 0; i < 12; i++) {
        if (strcmp(text, WORDS[i / 6][i % 6]) != 0)
            continue;
        *ret_value = i >= 6;
        return true;
    }
    return false;
}

bool at_cbt_split_timestamp(struct at_slice *value, int64_t *ret_micros)
{
    for (size_t i = value->len; i > 0; i--) {
        if (value->data[i - 1] != '@')
            continue;
        if (!at_cbt_int(at_slice_from(*value, i), ret_micros))
            return false;
        value->len = i - 1;
        if (*ret_micros != SERVER_TIME)
            *ret_micros -= *ret_micros % 1000;
        return true;
    }
    return false;
}

enum at_code
at_cbt_cell_parse(const char *arg, struct at_cbt_cell *ret_cell, struct at_error *reterr)
{
    const char *start = arg + strspn(arg, ":");
    const char *colon = strchr(start, ':');
    const char *equals = colon ? strchr(colon + 1, '=') : NULL;
    if (!equals || colon == start)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Bad set arg \"%s\"", arg);
    *ret_cell = (struct at_cbt_cell){
        .family = at_slice_make(start, (size_t)(colon - start)),
        .qualifier = at_slice_make(colon + 1, (size_t)(equals - colon - 1)),
        .value = at_slice_cstr(equals + 1),
    };
    ret_cell->has_timestamp = at_cbt_split_timestamp(&ret_cell->value, &ret_cell->timestamp_micros);
    return AT_OK;
}
