#include "cluster/admin/admin.h"

#include "cluster/model/gc_rule.h"

/* Of a ColumnFamily, gc_rule and value_type are kept; the rest is output only. */

static enum at_code check_type(const Google__Bigtable__Admin__V2__Type *type,
                               struct at_error *reterr);

enum at_code at_family_fields_make(const Google__Bigtable__Admin__V2__ColumnFamily *in,
                                   struct at_arena *arena,
                                   struct at_slice *ret_fields,
                                   struct at_error *reterr)
{
    Google__Bigtable__Admin__V2__ColumnFamily kept =
        GOOGLE__BIGTABLE__ADMIN__V2__COLUMN_FAMILY__INIT;

    if (in) {
        kept.gc_rule = in->gc_rule;
        kept.value_type = in->value_type;
    }
    if (kept.gc_rule) {
        struct at_gc_rule rule;
        AT_TRY(at_gc_rule_parse(at_admin_pack(arena, &kept.gc_rule->base), arena, &rule, reterr));
    }
    if (kept.value_type)
        AT_TRY(check_type(kept.value_type, reterr));
    *ret_fields = at_admin_pack(arena, &kept.base);
    return AT_OK;
}

static enum at_code check_type(const Google__Bigtable__Admin__V2__Type *type,
                               struct at_error *reterr)
{
    if (type->kind_case != GOOGLE__BIGTABLE__ADMIN__V2__TYPE__KIND_AGGREGATE_TYPE)
        return AT_OK;
    const Google__Bigtable__Admin__V2__Type__Aggregate *aggregate = type->aggregate_type;
    int aggregator = aggregate ? (int)aggregate->aggregator_case : 0;
    if (aggregator == GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__AGGREGATOR__NOT_SET)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'value_type.aggregate_type' : an aggregator must be set");
    bool counts =
        aggregator == GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__AGGREGATOR_HLLPP_UNIQUE_COUNT;
    if (!counts && aggregate->input_type &&
        aggregate->input_type->kind_case != GOOGLE__BIGTABLE__ADMIN__V2__TYPE__KIND_INT64_TYPE)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'value_type.aggregate_type.input_type' : sum, min and max "
                       "take int64_type");
    return AT_OK;
}
