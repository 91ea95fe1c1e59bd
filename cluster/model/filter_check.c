#include "base/limits.h"
#include "cluster/model/filter_impl.h"

/* Checks that need nothing but the tree. The decoder bounds the bytes of a filter; here its depth
 * is bounded before anything recurses deeper. */

static_assert(AT_FILTER_DEPTH_MAX == 20 && AT_LABEL_BYTES_MAX == 15, "named in messages below");

/* What a subtree was found to hold, for the rules that speak about whole chains. */
struct found {
    bool label;
};

static enum at_code check(const struct at_filter_node *n,
                          uint32_t depth,
                          bool in_condition,
                          struct found *ret_found,
                          struct at_error *reterr);

enum at_code at_filter_check(const struct at_filter_node *root, struct at_error *reterr)
{
    struct found found = {0};

    return root ? check(root, 0, false, &found, reterr) : AT_OK;
}

static enum at_code refuse(struct at_error *reterr, const char *field, const char *reason)
{
    return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field '%s' : %s", field, reason);
}

/* NOLINTBEGIN(misc-no-recursion): check refuses what is deeper than AT_FILTER_DEPTH_MAX. */

static enum at_code check_list(const struct at_filter_node *n,
                               uint32_t depth,
                               bool in_condition,
                               struct found *ret_found,
                               struct at_error *reterr)
{
    bool chain = n->kind == AT_FILTER_CHAIN;
    uint32_t label_count = 0;

    if (n->child_count < 2)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "%s must contain at least two RowFilters",
                       chain ? "Chain" : "Interleave");
    for (uint32_t i = 0; i < n->child_count; i++) {
        struct found found = {0};
        AT_TRY(check(n->children[i], depth, in_condition, &found, reterr));
        label_count += found.label;
    }
    if (chain && label_count > 1)
        return refuse(reterr, "apply_label_transformer",
                      "a chain must contain at most one label transformer");
    ret_found->label = label_count > 0;
    return AT_OK;
}

static enum at_code check_condition(const struct at_filter_node *n,
                                    uint32_t depth,
                                    struct found *ret_found,
                                    struct at_error *reterr)
{
    if (n->child_count != 3 || n->children[0] == NULL)
        return refuse(reterr, "condition", "predicate_filter must be set");
    for (uint32_t i = 0; i < n->child_count; i++) {
        if (n->children[i] != NULL)
            AT_TRY(check(n->children[i], depth, true, ret_found, reterr));
    }
    return AT_OK;
}

/* NOLINTEND(misc-no-recursion) */

static enum at_code check_label(struct at_slice label, struct at_error *reterr)
{
    static const char field[] = "apply_label_transformer";

    if (label.len == 0 || label.len > AT_LABEL_BYTES_MAX)
        return refuse(reterr, field, "must have 1 to 15 characters");
    for (size_t i = 0; i < label.len; i++) {
        uint8_t c = label.data[i];
        if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-')
            return refuse(reterr, field, "must match [a-z0-9\\-]+");
    }
    return AT_OK;
}

static bool inverted(const struct at_filter_node *n)
{
    if (!n->start.set || !n->end.set || (n->end.open && n->end.bytes.len == 0))
        return false;
    return at_slice_cmp(n->start.bytes, n->end.bytes) > 0;
}

static enum at_code check_ranges(const struct at_filter_node *n, struct at_error *reterr)
{
    static const char order[] = "the start must not be greater than the end";

    if (n->kind == AT_FILTER_TIMESTAMP_RANGE)
        return n->end_micros != 0 && n->start_micros > n->end_micros
                   ? refuse(reterr, "timestamp_range_filter", order)
                   : AT_OK;
    if (n->kind == AT_FILTER_VALUE_RANGE)
        return inverted(n) ? refuse(reterr, "value_range_filter", order) : AT_OK;
    if (n->bytes.len == 0)
        return refuse(reterr, "column_range_filter", "family_name must be set");
    return inverted(n) ? refuse(reterr, "column_range_filter", order) : AT_OK;
}

static enum at_code check_number(const struct at_filter_node *n, struct at_error *reterr)
{
    if (n->kind == AT_FILTER_CELLS_PER_ROW_OFFSET)
        return n->number < 0
                   ? refuse(reterr, "cells_per_row_offset_filter", "argument must be >= 0")
                   : AT_OK;
    if (n->number > 0)
        return AT_OK;
    return refuse(reterr,
                  n->kind == AT_FILTER_CELLS_PER_ROW_LIMIT ? "cells_per_row_limit_filter"
                                                           : "cells_per_column_limit_filter",
                  "argument must be > 0");
}

/* NOLINTNEXTLINE(misc-no-recursion): the depth is checked first. */
static enum at_code check(const struct at_filter_node *n,
                          uint32_t depth,
                          bool in_condition,
                          struct found *ret_found,
                          struct at_error *reterr)
{
    if (depth > AT_FILTER_DEPTH_MAX)
        return refuse(reterr, "filter", "filters must not be nested deeper than 20");
    switch (n->kind) {
    case AT_FILTER_CHAIN:
    case AT_FILTER_INTERLEAVE:
        return check_list(n, depth + 1, in_condition, ret_found, reterr);
    case AT_FILTER_CONDITION:
        return check_condition(n, depth + 1, ret_found, reterr);
    case AT_FILTER_SINK:
        return in_condition ? refuse(reterr, "sink", "must not be inside a condition") : AT_OK;
    case AT_FILTER_ROW_SAMPLE:
        return n->probability > 0 && n->probability < 1
                   ? AT_OK
                   : refuse(reterr, "row_sample_filter", "argument must be between 0.0 and 1.0");
    case AT_FILTER_FAMILY_REGEX:
        return n->bytes.len > 0 && memchr(n->bytes.data, ':', n->bytes.len)
                   ? refuse(reterr, "family_name_regex_filter", "must not contain ':'")
                   : AT_OK;
    case AT_FILTER_COLUMN_RANGE:
    case AT_FILTER_TIMESTAMP_RANGE:
    case AT_FILTER_VALUE_RANGE:
        return check_ranges(n, reterr);
    case AT_FILTER_CELLS_PER_ROW_OFFSET:
    case AT_FILTER_CELLS_PER_ROW_LIMIT:
    case AT_FILTER_CELLS_PER_COLUMN_LIMIT:
        return check_number(n, reterr);
    case AT_FILTER_APPLY_LABEL:
        ret_found->label = true;
        return check_label(n->bytes, reterr);
    case AT_FILTER_PASS_ALL:
    case AT_FILTER_BLOCK_ALL:
    case AT_FILTER_ROW_KEY_REGEX:
    case AT_FILTER_QUALIFIER_REGEX:
    case AT_FILTER_VALUE_REGEX:
    case AT_FILTER_STRIP_VALUE:
    case AT_FILTER_VALUE_BITMASK:
        return AT_OK;
    }
    return refuse(reterr, "filter", "unknown filter");
}
