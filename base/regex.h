/* regex.h: RE2 on Latin-1 bytes with full match, as Bigtable's filters are. PURE.
 * The one C++ shim of the project (regex.cc). Compiled patterns are immutable: any thread. */
#ifndef ATOLL_BASE_REGEX_H
#define ATOLL_BASE_REGEX_H

#include "base/slice.h"
#include "base/status.h"

struct at_regex;

/* at_regex_new compiles. INVALID_ARGUMENT with RE2's own words in reterr when it does not parse
 * or would need more than 8 MiB. The pattern is copied. */
AT_MUST_USE enum at_code
at_regex_new(struct at_slice pattern, struct at_regex **ret_regex, struct at_error *reterr);
void at_regex_free(struct at_regex **regex);

/* at_regex_matches tells whether the whole of `text` matches. */
bool at_regex_matches(const struct at_regex *regex, struct at_slice text);

/* at_regex_literal: true when the pattern can match exactly one string, which it returns (it lives
 * as long as the regex). Lets a reader turn `^abc$` into a look-up. */
bool at_regex_literal(const struct at_regex *regex, struct at_slice *ret_literal);

#endif
