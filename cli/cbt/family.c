/* family.c: the types that cbt knows by a name. */
#include "cli/cbt/family.h"

#include <strings.h>

#include "cli/cbt/gc_policy.h"
#include "cli/cbt/proto.h"

#define INT64_JSON "{\"int64Type\":{\"encoding\":{\"bigEndianBytes\":{}}}}"

typedef Google__Bigtable__Admin__V2__Type value_type;

static value_type *new_aggregate(struct at_arena *arena)
{
    value_type *input = AT_PROTO_NEW(arena, google__bigtable__admin__v2__type);
    input->kind_case = GOOGLE__BIGTABLE__ADMIN__V2__TYPE__KIND_INT64_TYPE;
    input->int64_type = AT_PROTO_NEW(arena, google__bigtable__admin__v2__type__int64);
    input->int64_type->encoding =
        AT_PROTO_NEW(arena, google__bigtable__admin__v2__type__int64__encoding);
    input->int64_type->encoding->encoding_case =
        GOOGLE__BIGTABLE__ADMIN__V2__TYPE__INT64__ENCODING__ENCODING_BIG_ENDIAN_BYTES;
    input->int64_type->encoding->big_endian_bytes =
        AT_PROTO_NEW(arena, google__bigtable__admin__v2__type__int64__encoding__big_endian_bytes);
    value_type *type = AT_PROTO_NEW(arena, google__bigtable__admin__v2__type);
    type->kind_case = GOOGLE__BIGTABLE__ADMIN__V2__TYPE__KIND_AGGREGATE_TYPE;
    type->aggregate_type = AT_PROTO_NEW(arena, google__bigtable__admin__v2__type__aggregate);
    type->aggregate_type->input_type = input;
    return type;
}

static value_type *new_string(struct at_arena *arena)
{
    value_type *type = AT_PROTO_NEW(arena, google__bigtable__admin__v2__type);
    type->kind_case = GOOGLE__BIGTABLE__ADMIN__V2__TYPE__KIND_STRING_TYPE;
    type->string_type = AT_PROTO_NEW(arena, google__bigtable__admin__v2__type__string);
    type->string_type->encoding =
        AT_PROTO_NEW(arena, google__bigtable__admin__v2__type__string__encoding);
    type->string_type->encoding->encoding_case =
        GOOGLE__BIGTABLE__ADMIN__V2__TYPE__STRING__ENCODING__ENCODING_UTF8_BYTES;
    type->string_type->encoding->utf8_bytes =
        AT_PROTO_NEW(arena, google__bigtable__admin__v2__type__string__encoding__utf8_bytes);
    return type;
}

enum at_code at_cbt_type_parse(const char *name,
                               struct at_arena *arena,
                               value_type **ret_type,
                               struct at_error *reterr)
{
    if (strcasecmp(name, "stringutf8bytes") == 0) {
        *ret_type = new_string(arena);
        return AT_OK;
    }
    value_type *type = new_aggregate(arena);
    Google__Bigtable__Admin__V2__Type__Aggregate *a = type->aggregate_type;
    if (strcasecmp(name, "intsum") == 0) {
        a->aggregator_case = GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__AGGREGATOR_SUM;
        a->sum = AT_PROTO_NEW(arena, google__bigtable__admin__v2__type__aggregate__sum);
    } else if (strcasecmp(name, "intmin") == 0) {
        a->aggregator_case = GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__AGGREGATOR_MIN;
        a->min = AT_PROTO_NEW(arena, google__bigtable__admin__v2__type__aggregate__min);
    } else if (strcasecmp(name, "intmax") == 0) {
        a->aggregator_case = GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__AGGREGATOR_MAX;
        a->max = AT_PROTO_NEW(arena, google__bigtable__admin__v2__type__aggregate__max);
    } else if (strcasecmp(name, "inthll") == 0) {
        a->aggregator_case =
            GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__AGGREGATOR_HLLPP_UNIQUE_COUNT;
        a->hllpp_unique_count = AT_PROTO_NEW(
            arena,
            google__bigtable__admin__v2__type__aggregate__hyper_log_log_plus_plus_unique_count);
    } else {
        return at_fail(reterr, AT_INVALID_ARGUMENT, "unknown type %s", name);
    }
    *ret_type = type;
    return AT_OK;
}

/* The part of `text` up to the next colon, NUL-terminated; moves `text` behind the colon. */
static char *next_part(struct at_slice *text, struct at_arena *arena, bool *ret_more)
{
    const uint8_t *colon = text->len ? memchr(text->data, ':', text->len) : NULL;
    size_t len = colon ? (size_t)(colon - text->data) : text->len;
    char *part = at_arena_printf(arena, "%.*s", (int)len, len ? (const char *)text->data : "");
    *ret_more = colon != NULL;
    *text = at_slice_from(*text, colon ? len + 1 : len);
    return part;
}

enum at_code at_cbt_family_parse(struct at_slice text,
                                 struct at_arena *arena,
                                 char **ret_name,
                                 Google__Bigtable__Admin__V2__ColumnFamily **ret_family,
                                 struct at_error *reterr)
{
    Google__Bigtable__Admin__V2__ColumnFamily *family =
        AT_PROTO_NEW(arena, google__bigtable__admin__v2__column_family);
    bool more = false;
    *ret_name = next_part(&text, arena, &more);
    if (more)
        AT_TRY(at_gc_policy_parse(next_part(&text, arena, &more), arena, &family->gc_rule, reterr));
    else
        family->gc_rule = AT_PROTO_NEW(arena, google__bigtable__admin__v2__gc_rule);
    if (more)
        AT_TRY(
            at_cbt_type_parse(next_part(&text, arena, &more), arena, &family->value_type, reterr));
    *ret_family = family;
    return AT_OK;
}

static const char *aggregate_text(const Google__Bigtable__Admin__V2__Type__Aggregate *a)
{
    switch ((int)a->aggregator_case) {
    case GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__AGGREGATOR_SUM:
        return "{\"aggregateType\":{\"inputType\":" INT64_JSON ", \"sum\":{}}}";
    case GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__AGGREGATOR_MIN:
        return "{\"aggregateType\":{\"inputType\":" INT64_JSON ", \"min\":{}}}";
    case GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__AGGREGATOR_MAX:
        return "{\"aggregateType\":{\"inputType\":" INT64_JSON ", \"max\":{}}}";
    case GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__AGGREGATOR_HLLPP_UNIQUE_COUNT:
        return "{\"aggregateType\":{\"inputType\":" INT64_JSON ", \"hllppUniqueCount\":{}}}";
    case GOOGLE__BIGTABLE__ADMIN__V2__TYPE__AGGREGATE__AGGREGATOR__NOT_SET:
    default:
        return "{\"aggregateType\":{}}";
    }
}

static const char *string_text(const Google__Bigtable__Admin__V2__Type__String *type)
{
    bool raw = type->encoding &&
               type->encoding->encoding_case ==
                   GOOGLE__BIGTABLE__ADMIN__V2__TYPE__STRING__ENCODING__ENCODING_UTF8_RAW;
    return raw ? "{\"stringType\":{\"encoding\":{\"utf8Raw\":{}}}}"
               : "{\"stringType\":{\"encoding\":{\"utf8Bytes\":{}}}}";
}

const char *at_cbt_type_text(const value_type *type)
{
    if (!type || (int)type->kind_case == GOOGLE__BIGTABLE__ADMIN__V2__TYPE__KIND__NOT_SET)
        return "{}";
    if ((int)type->kind_case == GOOGLE__BIGTABLE__ADMIN__V2__TYPE__KIND_AGGREGATE_TYPE)
        return aggregate_text(type->aggregate_type);
    if ((int)type->kind_case == GOOGLE__BIGTABLE__ADMIN__V2__TYPE__KIND_STRING_TYPE)
        return string_text(type->string_type);
    if ((int)type->kind_case == GOOGLE__BIGTABLE__ADMIN__V2__TYPE__KIND_INT64_TYPE)
        return INT64_JSON;
    if ((int)type->kind_case == GOOGLE__BIGTABLE__ADMIN__V2__TYPE__KIND_BYTES_TYPE)
        return "{\"bytesType\":{\"encoding\":{\"raw\":{}}}}";
    return "{\"otherType\":{}}";
}
