/* go_flags.h: command lines in the form of Go's flag package, for commands that stand in for Go
 * programs. PURE.
 *
 * "-name value", "-name=value", and the same with two dashes; "--" or the first argument that is no
 * flag ends them, and what follows is ignored. */
#ifndef ATOLL_CLI_CBT_GO_FLAGS_H
#define ATOLL_CLI_CBT_GO_FLAGS_H

#include "base/buf.h"

enum at_go_flag_type { AT_GO_STRING, AT_GO_INT };

struct at_go_flag {
    const char *name;
    enum at_go_flag_type type;
    const char *help;
    const char *value; /* set by the command line; what it is before is the default, NULL: none */
    const char *fallback; /* the default as help shows it; NULL: not shown */
};

/* at_go_flags_parse: argv[0] is the program. INVALID_ARGUMENT with Go's message. `*ret_help`: help
 * is asked for, and nothing else counts. Values borrow argv. */
AT_MUST_USE enum at_code at_go_flags_parse(struct at_go_flag *flags,
                                           size_t count,
                                           int argc,
                                           char *const *argv,
                                           bool *ret_help,
                                           struct at_error *reterr);

/* at_go_flags_help appends Go's usage text. RESOURCE_EXHAUSTED from the buffer. */
AT_MUST_USE enum at_code at_go_flags_help(const struct at_go_flag *flags,
                                          size_t count,
                                          const char *program,
                                          struct at_buf *out);

#endif
