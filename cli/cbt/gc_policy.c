/* gc_policy.c: recursive descent over tokens. Both directions stop at a depth, since the text
 * and the rule come from outside. */
#include "cli/cbt/gc_policy.h"

#include <ctype.h>
#include <inttypes.h>

#include "cli/cbt/proto.h"

#define S_MS INT64_C(1000)
#define MIN_MS (60 * S_MS)
#define HOUR_MS (60 * MIN_MS)
#define DAY_MS (24 * HOUR_MS)
#define VERSIONS_MAX 65535

typedef Google__Bigtable__Admin__V2__GcRule gc_rule;

struct parser {
    const char *rest;
    struct at_slice token; /* empty: end of input */
    struct at_arena *arena;
    struct at_error *reterr;
    int depth;
    int term_count;
};

static enum at_code parse_expr(struct parser *p, gc_rule **ret_rule);

/* advance reads the next token. */
static enum at_code advance(struct parser *p)
{
    while (isspace((unsigned char)*p->rest))
        p->rest++;
    const char *start = p->rest;
    if (*start == '\0') {
        p->token = at_slice_make(start, 0);
        return AT_OK;
    }
    if (strchr("=()", *start)) {
        p->rest++;
    } else if (*start == '&' || *start == '|') {
        if (start[1] != *start)
            return at_fail(p->reterr, AT_INVALID_ARGUMENT, "expected %c%c", *start, *start);
        p->rest += 2;
    } else if (isalnum((unsigned char)*start)) {
        while (isalnum((unsigned char)*p->rest))
            p->rest++;
    } else {
        return at_fail(p->reterr, AT_INVALID_ARGUMENT, "bad rune '%c'", *start);
    }
    p->token = at_slice_make(start, (size_t)(p->rest - start));
    return AT_OK;
}

static enum at_code expect(struct parser *p, const char *want)
{
    if (!at_slice_eq_cstr(p->token, want))
        return at_fail(p->reterr, AT_INVALID_ARGUMENT, "expected \"%s\", saw \"%.*s\"", want,
                       AT_SLICE_ARG(p->token));
    return advance(p);
}

static enum at_code parse_age(struct parser *p, gc_rule *rule)
{
    static const struct {
        const char *name;
        int64_t ms;
    } UNITS[] = {{"ms", 1}, {"s", S_MS}, {"m", MIN_MS}, {"h", HOUR_MS}, {"d", DAY_MS}};
    size_t digits = 0;
    uint64_t number = 0;
    struct at_slice t = p->token;
    while (digits < t.len && isdigit(t.data[digits]) && number <= UINT32_MAX)
        number = number * 10 + (uint64_t)(t.data[digits++] - '0');
    if (digits == 0 || digits == t.len || number > UINT32_MAX)
        return at_fail(p->reterr, AT_INVALID_ARGUMENT, "invalid duration \"%.*s\"",
                       AT_SLICE_ARG(t));
    struct at_slice unit = at_slice_from(t, digits);
    for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
        if (!at_slice_eq_cstr(unit, UNITS[i].name))
            continue;
        int64_t ms = (int64_t)number * UNITS[i].ms;
        Google__Protobuf__Duration *age = AT_PROTO_NEW(p->arena, google__protobuf__duration);
        age->seconds = ms / S_MS;
        age->nanos = (int32_t)(ms % S_MS) * 1000000;
        rule->rule_case = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_MAX_AGE;
        rule->max_age = age;
        return advance(p);
    }
    return at_fail(p->reterr, AT_INVALID_ARGUMENT, "unknown unit \"%.*s\" in duration \"%.*s\"",
                   AT_SLICE_ARG(unit), AT_SLICE_ARG(t));
}

static enum at_code parse_versions(struct parser *p, gc_rule *rule)
{
    struct at_slice t = p->token;
    uint32_t number = 0;
    for (size_t i = 0; i < t.len; i++) {
        if (!isdigit(t.data[i]))
            return at_fail(p->reterr, AT_INVALID_ARGUMENT, "parsing \"%.*s\": invalid syntax",
                           AT_SLICE_ARG(t));
        number = number * 10 + (uint32_t)(t.data[i] - '0');
        if (number > VERSIONS_MAX)
            return at_fail(p->reterr, AT_INVALID_ARGUMENT, "parsing \"%.*s\": value out of range",
                           AT_SLICE_ARG(t));
    }
    rule->rule_case = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_MAX_NUM_VERSIONS;
    rule->max_num_versions = (int32_t)number;
    return advance(p);
}

/* NOLINTBEGIN(misc-no-recursion): parse_term refuses more than AT_GC_POLICY_DEPTH_MAX brackets. */

static enum at_code parse_term(struct parser *p, gc_rule **ret_rule)
{
    struct at_slice t = p->token;
    if (t.len == 0)
        return at_fail(p->reterr, AT_INVALID_ARGUMENT, "empty GC policy term");
    if (++p->term_count > AT_GC_POLICY_DEPTH_MAX)
        return at_fail(p->reterr, AT_INVALID_ARGUMENT, "too many terms");
    if (at_slice_eq_cstr(t, "(")) {
        if (++p->depth > AT_GC_POLICY_DEPTH_MAX)
            return at_fail(p->reterr, AT_INVALID_ARGUMENT, "too many nested parentheses");
        AT_TRY(advance(p));
        AT_TRY(parse_expr(p, ret_rule));
        p->depth--;
        return expect(p, ")");
    }
    bool age = at_slice_eq_cstr(t, "maxage");
    if (!age && !at_slice_eq_cstr(t, "maxversions"))
        return at_fail(p->reterr, AT_INVALID_ARGUMENT, "unexpected token: \"%.*s\"",
                       AT_SLICE_ARG(t));
    AT_TRY(advance(p));
    AT_TRY(expect(p, "="));
    if (p->token.len == 0)
        return at_fail(p->reterr, AT_INVALID_ARGUMENT, "expected a token after '='");
    *ret_rule = AT_PROTO_NEW(p->arena, google__bigtable__admin__v2__gc_rule);
    return age ? parse_age(p, *ret_rule) : parse_versions(p, *ret_rule);
}

static gc_rule *combine(struct at_arena *arena, bool both, gc_rule *a, gc_rule *b)
{
    gc_rule *rule = AT_PROTO_NEW(arena, google__bigtable__admin__v2__gc_rule);
    gc_rule **rules = AT_ARENA_ARRAY(arena, gc_rule *, 2);
    rules[0] = a;
    rules[1] = b;
    if (both) {
        rule->rule_case = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_INTERSECTION;
        rule->intersection =
            AT_PROTO_NEW(arena, google__bigtable__admin__v2__gc_rule__intersection);
        rule->intersection->n_rules = 2;
        rule->intersection->rules = rules;
    } else {
        rule->rule_case = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_UNION;
        rule->union_ = AT_PROTO_NEW(arena, google__bigtable__admin__v2__gc_rule__union);
        rule->union_->n_rules = 2;
        rule->union_->rules = rules;
    }
    return rule;
}

static enum at_code parse_expr(struct parser *p, gc_rule **ret_rule)
{
    gc_rule *left = NULL;
    AT_TRY(parse_term(p, &left));
    for (;;) {
        bool both = at_slice_eq_cstr(p->token, "and") || at_slice_eq_cstr(p->token, "&&");
        if (!both && !at_slice_eq_cstr(p->token, "or") && !at_slice_eq_cstr(p->token, "||"))
            break;
        gc_rule *right = NULL;
        AT_TRY(advance(p));
        AT_TRY(parse_term(p, &right));
        left = combine(p->arena, both, left, right);
    }
    *ret_rule = left;
    return AT_OK;
}

/* NOLINTEND(misc-no-recursion) */

enum at_code at_gc_policy_parse(const char *text,
                                struct at_arena *arena,
                                gc_rule **ret_rule,
                                struct at_error *reterr)
{
    struct parser p = {.rest = text, .arena = arena, .reterr = reterr};
    enum at_code code = advance(&p);
    if (code == AT_OK && at_slice_eq_cstr(p.token, "never")) {
        *ret_rule = AT_PROTO_NEW(arena, google__bigtable__admin__v2__gc_rule);
        code = advance(&p);
    } else if (code == AT_OK) {
        code = parse_expr(&p, ret_rule);
    }
    if (code == AT_OK && p.token.len > 0)
        code = at_fail(reterr, AT_INVALID_ARGUMENT, "want end of input, got \"%.*s\"",
                       AT_SLICE_ARG(p.token));
    return code == AT_OK ? AT_OK : at_wrap(reterr, code, "invalid GC policy");
}

static enum at_code print_age(const Google__Protobuf__Duration *age, struct at_buf *out)
{
    int64_t seconds = age->seconds;
    if (age->nanos == 0 && seconds > 0 && seconds % 86400 == 0)
        return at_buf_printf(out, "age() > %" PRId64 "d", seconds / 86400);
    if (age->nanos == 0 && seconds > 0 && seconds % 3600 == 0)
        return at_buf_printf(out, "age() > %" PRId64 "h", seconds / 3600);
    if (age->nanos == 0 && seconds > 0 && seconds % 60 == 0)
        return at_buf_printf(out, "age() > %" PRId64 "m", seconds / 60);
    int32_t micros = age->nanos / 1000;
    return at_buf_printf(out, "age() > %.0f", (double)seconds * 1e6 + micros);
}

static enum at_code print_at_depth(const gc_rule *rule, struct at_buf *out, int depth);

/* NOLINTBEGIN(misc-no-recursion): print_at_depth stops at 2 * AT_GC_POLICY_DEPTH_MAX. */

static enum at_code
print_list(gc_rule *const *rules, size_t count, const char *op, struct at_buf *out, int depth)
{
    AT_TRY(at_buf_printf(out, "("));
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            AT_TRY(at_buf_printf(out, " %s ", op));
        AT_TRY(print_at_depth(rules[i], out, depth + 1));
    }
    return at_buf_printf(out, ")");
}

static enum at_code print_at_depth(const gc_rule *rule, struct at_buf *out, int depth)
{
    if (depth > 2 * AT_GC_POLICY_DEPTH_MAX)
        return at_buf_printf(out, "...");
    switch ((int)rule->rule_case) {
    case GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_MAX_NUM_VERSIONS:
        return at_buf_printf(out, "versions() > %d", rule->max_num_versions);
    case GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_MAX_AGE:
        return print_age(rule->max_age, out);
    case GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_INTERSECTION:
        return print_list(rule->intersection->rules, rule->intersection->n_rules, "&&", out, depth);
    case GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_UNION:
        return print_list(rule->union_->rules, rule->union_->n_rules, "||", out, depth);
    case GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE__NOT_SET:
    default:
        return AT_OK;
    }
}

/* NOLINTEND(misc-no-recursion) */

enum at_code at_gc_policy_print(const gc_rule *rule, struct at_buf *out)
{
    return rule ? print_at_depth(rule, out, 0) : AT_OK;
}
