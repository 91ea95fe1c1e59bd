/* gc_rule.h: garbage collection rules: parse, check, decide. PURE.
 *
 * Stored as serialized google.bigtable.admin.v2.GcRule; parsed here into a small tree. */
#ifndef ATOLL_CLUSTER_MODEL_GC_RULE_H
#define ATOLL_CLUSTER_MODEL_GC_RULE_H

#include "base/arena.h"
#include "base/status.h"

enum at_gc_kind { AT_GC_NEVER, AT_GC_MAX_VERSIONS, AT_GC_MAX_AGE, AT_GC_INTERSECTION, AT_GC_UNION };

struct at_gc_rule {
    enum at_gc_kind kind;
    int32_t versions_max;
    int64_t age_micros_max;
    struct at_gc_rule *rules;
    uint32_t rule_count;
};

/* at_gc_rule_parse builds the tree in the arena. INVALID_ARGUMENT: malformed, longer than
 * AT_GC_RULE_BYTES_MAX, versions < 1, age < 1 ms, empty union or intersection, nested deeper
 * than 16. */
AT_MUST_USE enum at_code at_gc_rule_parse(struct at_slice serialized,
                                          struct at_arena *arena,
                                          struct at_gc_rule *ret_rule,
                                          struct at_error *reterr);

/* at_gc_rule_condemns tells whether the cell that is `version` (1 = newest) of its column with this
 * timestamp is eligible for removal at now_micros. */
bool at_gc_rule_condemns(const struct at_gc_rule *rule,
                         uint32_t version,
                         int64_t timestamp_micros,
                         int64_t now_micros);

/* at_gc_rule_kept_micros_max: the longest that a cell can be safe from the rule, INT64_MAX for
 * ever. An older cell is condemned by its age alone, whatever other versions there are. */
int64_t at_gc_rule_kept_micros_max(const struct at_gc_rule *rule);

/* at_gc_rule_ages: what it condemns may change by time alone. */
bool at_gc_rule_ages(const struct at_gc_rule *rule);

/* at_gc_rule_relaxes_age: `from` is purely by age and `to` keeps cells longer, or for ever. */
bool at_gc_rule_relaxes_age(const struct at_gc_rule *from, const struct at_gc_rule *to);

#endif
