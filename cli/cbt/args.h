/* args.h: KEY=VALUE arguments, numbers and cells as cbt reads them. PURE. */
#ifndef ATOLL_CLI_CBT_ARGS_H
#define ATOLL_CLI_CBT_ARGS_H

#include "base/slice.h"
#include "base/status.h"

/* at_cbt_option: one KEY that a command takes; `value` borrows the argument, NULL: not given. */
struct at_cbt_option {
    const char *key;
    const char *value;
};

/* at_cbt_args_parse fills the options (ended by a NULL key) from `args`. INVALID_ARGUMENT for an
 * argument without '=' and for another key. */
AT_MUST_USE enum at_code at_cbt_args_parse(char *const *args,
                                           int count,
                                           struct at_cbt_option *options,
                                           struct at_error *reterr);

/* at_cbt_args_given tells whether an option has a value that is not empty. */
static inline bool at_cbt_args_given(const struct at_cbt_option *option)
{
    return option->value && option->value[0] != '\0';
}

/* at_cbt_int reads a whole string as a decimal, 0x or 0 octal number of 64 bits. */
bool at_cbt_int(struct at_slice text, int64_t *ret_value);

/* at_cbt_bool reads 1, t, T, TRUE, true, True and their opposites. */
bool at_cbt_bool(const char *text, bool *ret_value);

/* at_cbt_cell: family:qualifier=value[@timestamp]. Borrows the argument. */
struct at_cbt_cell {
    struct at_slice family;
    struct at_slice qualifier;
    struct at_slice value;
    bool has_timestamp;
    int64_t timestamp_micros;
};

/* at_cbt_cell_parse. INVALID_ARGUMENT when it is not of that form. What follows the last '@' is a
 * timestamp only if it is a number. */
AT_MUST_USE enum at_code
at_cbt_cell_parse(const char *arg, struct at_cbt_cell *ret_cell, struct at_error *reterr);

/* at_cbt_split_timestamp cuts "@number" off the end of a value; false: there is none. Times are cut
 * to milliseconds, as tables keep them; -1 stays: the server's time. */
bool at_cbt_split_timestamp(struct at_slice *value, int64_t *ret_micros);

#endif
