#include "cluster/model/gc_rule.h"

#include "base/limits.h"
#include "base/pbwire.h"

/* A rule is a oneof: of several fields in one message the last one counts, as protobuf has it.
 * Fields that are not known are skipped, so a rule made of them alone reads as "never": data is
 * kept rather than lost. */

#define DEPTH_MAX 16
#define AGE_SECONDS_MAX INT64_C(315576000000) /* protobuf's own limit of a Duration */
#define AGE_MICROS_MIN 1000
#define MICROS_PER_SECOND INT64_C(1000000)

enum { FIELD_VERSIONS = 1, FIELD_AGE = 2, FIELD_INTERSECTION = 3, FIELD_UNION = 4 };

static enum at_code parse(struct at_slice bytes,
                          uint32_t depth,
                          struct at_arena *arena,
                          struct at_gc_rule *ret_rule,
                          struct at_error *reterr);

enum at_code at_gc_rule_parse(struct at_slice serialized,
                              struct at_arena *arena,
                              struct at_gc_rule *ret_rule,
                              struct at_error *reterr)
{
    if (serialized.len > AT_GC_RULE_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'gc_rule' : must be at most %d bytes, has %zu",
                       AT_GC_RULE_BYTES_MAX, serialized.len);
    return parse(serialized, 1, arena, ret_rule, reterr);
}

static enum at_code malformed(struct at_error *reterr)
{
    return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'gc_rule' : malformed message");
}

static enum at_code
parse_versions(uint64_t number, struct at_gc_rule *ret_rule, struct at_error *reterr)
{
    int32_t versions = (int32_t)(uint32_t)number;

    if (versions < 1)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'max_num_versions' : must be at least 1");
    *ret_rule = (struct at_gc_rule){.kind = AT_GC_MAX_VERSIONS, .versions_max = versions};
    return AT_OK;
}

static enum at_code
parse_age(struct at_slice bytes, struct at_gc_rule *ret_rule, struct at_error *reterr)
{
    struct at_pb_field field;
    bool bad = false;
    int64_t seconds = 0;
    int64_t nanos = 0;

    while (at_pb_next(&bytes, &field, &bad)) {
        if (field.number == 1 && field.type == AT_PB_VARINT)
            seconds = (int64_t)field.varint;
        else if (field.number == 2 && field.type == AT_PB_VARINT)
            nanos = (int32_t)(uint32_t)field.varint;
    }
    if (bad)
        return malformed(reterr);
    if (seconds < 0 || seconds > AGE_SECONDS_MAX || nanos < 0 || nanos > 999999999)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'max_age' : not a positive duration");
    int64_t micros = seconds * MICROS_PER_SECOND + nanos / 1000;
    if (micros < AGE_MICROS_MIN)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'max_age' : must be at least one millisecond");
    *ret_rule = (struct at_gc_rule){.kind = AT_GC_MAX_AGE, .age_micros_max = micros};
    return AT_OK;
}

/* NOLINTBEGIN(misc-no-recursion): parse refuses what is deeper than DEPTH_MAX, so that no rule is
 * deeper. */

/* parse_list reads an Intersection or a Union: both hold rules in field 1. */
static enum at_code parse_list(struct at_slice bytes,
                               uint32_t depth,
                               struct at_arena *arena,
                               struct at_gc_rule *ret_rule,
                               struct at_error *reterr)
{
    struct at_pb_field field;
    bool bad = false;
    uint32_t count = 0;

    for (struct at_slice rest = bytes; at_pb_next(&rest, &field, &bad);)
        count += field.number == 1 && field.type == AT_PB_BYTES;
    if (bad)
        return malformed(reterr);
    if (count == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'gc_rule' : a union or intersection must contain a rule");
    ret_rule->rules = AT_ARENA_ARRAY(arena, struct at_gc_rule, count);
    ret_rule->rule_count = 0;
    while (at_pb_next(&bytes, &field, &bad)) {
        if (field.number != 1 || field.type != AT_PB_BYTES)
            continue;
        struct at_gc_rule *rule = &ret_rule->rules[ret_rule->rule_count++];
        AT_TRY(parse(field.bytes, depth + 1, arena, rule, reterr));
    }
    return AT_OK;
}

static enum at_code parse(struct at_slice bytes,
                          uint32_t depth,
                          struct at_arena *arena,
                          struct at_gc_rule *ret_rule,
                          struct at_error *reterr)
{
    struct at_pb_field field;
    bool bad = false;

    if (depth > DEPTH_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'gc_rule' : nested deeper than %d", DEPTH_MAX);
    *ret_rule = (struct at_gc_rule){.kind = AT_GC_NEVER};
    while (at_pb_next(&bytes, &field, &bad)) {
        if (field.number < FIELD_VERSIONS || field.number > FIELD_UNION)
            continue;
        if (field.type != (field.number == FIELD_VERSIONS ? AT_PB_VARINT : AT_PB_BYTES))
            return malformed(reterr);
        *ret_rule = (struct at_gc_rule){0};
        if (field.number == FIELD_VERSIONS) {
            AT_TRY(parse_versions(field.varint, ret_rule, reterr));
        } else if (field.number == FIELD_AGE) {
            AT_TRY(parse_age(field.bytes, ret_rule, reterr));
        } else {
            AT_TRY(parse_list(field.bytes, depth, arena, ret_rule, reterr));
            ret_rule->kind = field.number == FIELD_UNION ? AT_GC_UNION : AT_GC_INTERSECTION;
        }
    }
    return bad ? malformed(reterr) : AT_OK;
}

bool at_gc_rule_condemns(const struct at_gc_rule *rule,
                         uint32_t version,
                         int64_t timestamp_micros,
                         int64_t now_micros)
{
    switch (rule->kind) {
    case AT_GC_NEVER:
        return false;
    case AT_GC_MAX_VERSIONS:
        return version > (uint32_t)rule->versions_max;
    case AT_GC_MAX_AGE:
        return timestamp_micros < now_micros - rule->age_micros_max;
    case AT_GC_INTERSECTION:
    case AT_GC_UNION:
        break;
    }
    bool any = rule->kind == AT_GC_UNION;
    for (uint32_t i = 0; i < rule->rule_count; i++) {
        if (at_gc_rule_condemns(&rule->rules[i], version, timestamp_micros, now_micros) == any)
            return any;
    }
    return !any;
}

/* Versions keep the newest cell for ever. */
int64_t at_gc_rule_kept_micros_max(const struct at_gc_rule *rule)
{
    if (rule->kind == AT_GC_MAX_AGE)
        return rule->age_micros_max;
    if (rule->kind != AT_GC_UNION && rule->kind != AT_GC_INTERSECTION)
        return INT64_MAX;

    int64_t kept = at_gc_rule_kept_micros_max(&rule->rules[0]);
    for (uint32_t i = 1; i < rule->rule_count; i++) {
        int64_t other = at_gc_rule_kept_micros_max(&rule->rules[i]);
        if (rule->kind == AT_GC_UNION ? other < kept : other > kept)
            kept = other;
    }
    return kept;
}

bool at_gc_rule_ages(const struct at_gc_rule *rule)
{
    for (uint32_t i = 0; i < rule->rule_count; i++) {
        if (at_gc_rule_ages(&rule->rules[i]))
            return true;
    }
    return rule->kind == AT_GC_MAX_AGE;
}

static bool counts_versions(const struct at_gc_rule *rule)
{
    for (uint32_t i = 0; i < rule->rule_count; i++) {
        if (counts_versions(&rule->rules[i]))
            return true;
    }
    return rule->kind == AT_GC_MAX_VERSIONS;
}

/* NOLINTEND(misc-no-recursion) */

bool at_gc_rule_relaxes_age(const struct at_gc_rule *from, const struct at_gc_rule *to)
{
    return !counts_versions(from) &&
           at_gc_rule_kept_micros_max(from) < at_gc_rule_kept_micros_max(to);
}
