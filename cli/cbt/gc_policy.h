/* gc_policy.h: garbage-collection policies as cbt writes and prints them. PURE.
 *
 *   policy ::= "never" | expr
 *   expr   ::= term (("and" | "&&" | "or" | "||") term)*       from left to right
 *   term   ::= "maxage" "=" duration | "maxversions" "=" number | "(" expr ")"
 *   duration: a number with ms, s, m, h or d */
#ifndef ATOLL_CLI_CBT_GC_POLICY_H
#define ATOLL_CLI_CBT_GC_POLICY_H

#include "base/arena.h"
#include "base/buf.h"
#include "google/bigtable/admin/v2/table.pb-c.h"

#define AT_GC_POLICY_DEPTH_MAX 64 /* nesting, and terms of one policy */

/* at_gc_policy_parse makes the rule in the arena; "never" is a rule with nothing set.
 * INVALID_ARGUMENT for anything else. */
AT_MUST_USE enum at_code at_gc_policy_parse(const char *text,
                                            struct at_arena *arena,
                                            Google__Bigtable__Admin__V2__GcRule **ret_rule,
                                            struct at_error *reterr);

/* at_gc_policy_print appends e.g. "(age() > 10d || versions() > 1)", nothing for NULL and for an
 * empty rule. RESOURCE_EXHAUSTED from the buffer. */
AT_MUST_USE enum at_code at_gc_policy_print(const Google__Bigtable__Admin__V2__GcRule *rule,
                                            struct at_buf *out);

#endif
