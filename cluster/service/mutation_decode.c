#include "cluster/service/mutation_decode.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "wire/proto_alloc.h"

/* Where a list is wrong, production's newer wording names the field in quotes; the model speaks of
 * "Mutation list" without them. The prefix is replaced here, so that all messages look alike. */

#define MODEL_PREFIX "Error in Mutation list : "
#define LIST_PREFIX "Error in field 'Mutation list' : "
#define REFUSE(reterr, code, index, format, ...) \
    at_fail((reterr), (code), LIST_PREFIX "Error in element #%zu : " format, (index), __VA_ARGS__)

/* Mutation.timestamp_origin, a field newer than the schema in use: a client that made up the
 * timestamp itself wants it cut to the table's granularity rather than refused. */
#define FIELD_TIMESTAMP_ORIGIN 7
#define ORIGIN_CLIENT_AUTO_GENERATED 2

#define TOKEN_BYTES_MIN 8
#define SECONDS_MAX INT64_C(253402300799) /* of google.protobuf.Timestamp: the year 9999 */
#define NANOS_PER_S 1000000000

struct element {
    const Google__Bigtable__V2__Mutation *in;
    size_t index;
    int64_t granularity_micros;
    struct at_arena *arena;
};

static enum at_code
decode_one(const struct element *e, struct at_mutation *out, struct at_error *reterr);
static enum at_code decode_add(const struct element *e,
                               const Google__Bigtable__V2__Mutation__AddToCell *add,
                               struct at_mutation *out,
                               struct at_error *reterr);
static enum at_code decode_merge(const struct element *e,
                                 const Google__Bigtable__V2__Mutation__MergeToCell *merge,
                                 struct at_mutation *out,
                                 struct at_error *reterr);
static void reword(struct at_error *error);

enum at_code at_mutation_decode_list(Google__Bigtable__V2__Mutation *const *mutations,
                                     size_t count,
                                     int64_t granularity_micros,
                                     struct at_arena *arena,
                                     struct at_mutation_list *ret_list,
                                     struct at_error *reterr)
{
    if (count == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "No mutations provided");
    if (count > AT_MUTATIONS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Too many mutations: at most %d are allowed, but got %zu", AT_MUTATIONS_MAX,
                       count);
    struct at_mutation *items = AT_ARENA_ARRAY(arena, struct at_mutation, count);
    for (size_t i = 0; i < count; i++) {
        const struct element e = {mutations[i], i, granularity_micros, arena};
        AT_TRY(decode_one(&e, &items[i], reterr));
        enum at_code code = at_mutation_check(&items[i], (uint32_t)i, granularity_micros, reterr);
        if (code != AT_OK) {
            reword(reterr);
            return code;
        }
    }
    *ret_list = (struct at_mutation_list){items, (uint32_t)count};
    return AT_OK;
}

enum at_code at_idempotency_decode(const Google__Bigtable__V2__Idempotency *in,
                                   struct at_slice *ret_token,
                                   int64_t *ret_start_micros,
                                   struct at_error *reterr)
{
    *ret_token = at_slice_make(NULL, 0);
    *ret_start_micros = 0;
    if (!in)
        return AT_OK;
    if (in->token.len < TOKEN_BYTES_MIN)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'idempotency' : the token must have at least %d bytes, but "
                       "got %zu",
                       TOKEN_BYTES_MIN, in->token.len);
    *ret_token = at_proto_bytes(in->token);
    const Google__Protobuf__Timestamp *start = in->start_time;
    if (!start)
        return AT_OK;
    if (start->nanos < 0 || start->nanos >= NANOS_PER_S || start->seconds > SECONDS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'idempotency' : start_time is no valid timestamp");
    /* Whatever lies before is as old as can be; 0 means that none was given. */
    *ret_start_micros = start->seconds <= 0 ? 1 : start->seconds * 1000000 + start->nanos / 1000;
    return AT_OK;
}

static void put_before(struct at_error *error, const char *prefix, const char *message)
{
    struct at_error copy = *error;
    enum at_code code =
        at_fail_at(error, copy.code, copy.where, "%s%s", prefix, copy.msg + (message - error->msg));
    AT_ASSERT(code == copy.code);
    error->retry_after_ms = copy.retry_after_ms;
}

static void reword(struct at_error *error)
{
    if (error && strncmp(error->msg, MODEL_PREFIX, strlen(MODEL_PREFIX)) == 0)
        put_before(error, LIST_PREFIX, error->msg + strlen(MODEL_PREFIX));
}

enum at_code at_mutation_in_entry(struct at_error *error, size_t index)
{
    char prefix[80];

    (void)snprintf(prefix, sizeof(prefix),
                   "Error in field 'Entry list' : Error in element #%zu : ", index);
    put_before(error, prefix, error->msg);
    return error->code;
}

static void decode_delete_column(const Google__Bigtable__V2__Mutation__DeleteFromColumn *in,
                                 struct at_mutation *out)
{
    out->kind = AT_MUTATION_DELETE_COLUMN;
    out->family = at_slice_cstr(in->family_name);
    out->qualifier = at_proto_bytes(in->column_qualifier);
    if (in->time_range) {
        out->start_micros = in->time_range->start_timestamp_micros;
        out->end_micros = in->time_range->end_timestamp_micros;
    }
}

/* Fields of a mutation that the schema in use lacks: either timestamp_origin, or a kind of mutation
 * that must not be taken for none. */
static enum at_code
check_unknown(const struct element *e, bool *ret_truncate, struct at_error *reterr)
{
    for (unsigned i = 0; i < e->in->base.n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *field = &e->in->base.unknown_fields[i];
        if (field->tag != FIELD_TIMESTAMP_ORIGIN)
            return REFUSE(reterr, AT_UNIMPLEMENTED, e->index,
                          "field %u of Mutation is not supported", field->tag);
        *ret_truncate = field->len == 1 && field->data[0] == ORIGIN_CLIENT_AUTO_GENERATED;
    }
    return AT_OK;
}

static void decode_set(const struct element *e,
                       const Google__Bigtable__V2__Mutation__SetCell *in,
                       bool truncate,
                       struct at_mutation *out)
{
    out->kind = AT_MUTATION_SET;
    out->family = at_slice_cstr(in->family_name);
    out->qualifier = at_proto_bytes(in->column_qualifier);
    out->timestamp_micros = in->timestamp_micros;
    out->value = at_proto_bytes(in->value);
    if (truncate && out->timestamp_micros > 0)
        out->timestamp_micros -= out->timestamp_micros % e->granularity_micros;
}

static enum at_code
decode_one(const struct element *e, struct at_mutation *out, struct at_error *reterr)
{
    bool truncate = false;

    if (e->in->base.n_unknown_fields > 0)
        AT_TRY(check_unknown(e, &truncate, reterr));
    switch (e->in->mutation_case) {
    case GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_SET_CELL:
        decode_set(e, e->in->set_cell, truncate, out);
        return AT_OK;
    case GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_DELETE_FROM_COLUMN:
        decode_delete_column(e->in->delete_from_column, out);
        return AT_OK;
    case GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_DELETE_FROM_FAMILY:
        out->kind = AT_MUTATION_DELETE_FAMILY;
        out->family = at_slice_cstr(e->in->delete_from_family->family_name);
        return AT_OK;
    case GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_DELETE_FROM_ROW:
        out->kind = AT_MUTATION_DELETE_ROW;
        return AT_OK;
    case GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_ADD_TO_CELL:
        return decode_add(e, e->in->add_to_cell, out, reterr);
    case GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_MERGE_TO_CELL:
        return decode_merge(e, e->in->merge_to_cell, out, reterr);
    case GOOGLE__BIGTABLE__V2__MUTATION__MUTATION__NOT_SET:
    default:
        return REFUSE(reterr, AT_INVALID_ARGUMENT, e->index, "%s", "No mutation is set");
    }
}

/* Returns false when the value is of no kind that can be added. */
static bool
take_input(const Google__Bigtable__V2__Value *v, struct at_arena *arena, struct at_mutation *out)
{
    if (!v)
        return false;
    switch ((int)v->kind_case) {
    case GOOGLE__BIGTABLE__V2__VALUE__KIND_RAW_VALUE:
        out->input = AT_INPUT_RAW;
        out->value = at_proto_bytes(v->raw_value);
        return true;
    case GOOGLE__BIGTABLE__V2__VALUE__KIND_BYTES_VALUE:
        out->input = AT_INPUT_BYTES;
        out->value = at_proto_bytes(v->bytes_value);
        return true;
    case GOOGLE__BIGTABLE__V2__VALUE__KIND_STRING_VALUE:
        out->input = AT_INPUT_STRING;
        out->value = at_slice_cstr(v->string_value);
        return true;
    case GOOGLE__BIGTABLE__V2__VALUE__KIND_INT_VALUE: {
        uint8_t *bytes = at_arena_alloc_raw(arena, 8);
        at_put_be64(bytes, (uint64_t)v->int_value);
        out->input = AT_INPUT_INT;
        out->value = at_slice_make(bytes, 8);
        return true;
    }
    default:
        return false;
    }
}

static enum at_code decode_cell_values(const struct element *e,
                                       const Google__Bigtable__V2__Value *qualifier,
                                       const Google__Bigtable__V2__Value *timestamp,
                                       struct at_mutation *out,
                                       struct at_error *reterr)
{
    if (!qualifier || qualifier->kind_case != GOOGLE__BIGTABLE__V2__VALUE__KIND_RAW_VALUE)
        return REFUSE(reterr, AT_INVALID_ARGUMENT, e->index, "%s",
                      "column_qualifier must be a raw_value");
    if (!timestamp ||
        timestamp->kind_case != GOOGLE__BIGTABLE__V2__VALUE__KIND_RAW_TIMESTAMP_MICROS)
        return REFUSE(reterr, AT_INVALID_ARGUMENT, e->index, "%s",
                      "timestamp must be a raw_timestamp_micros");
    out->qualifier = at_proto_bytes(qualifier->raw_value);
    out->timestamp_micros = timestamp->raw_timestamp_micros;
    return AT_OK;
}

static enum at_code decode_add(const struct element *e,
                               const Google__Bigtable__V2__Mutation__AddToCell *add,
                               struct at_mutation *out,
                               struct at_error *reterr)
{
    out->kind = AT_MUTATION_ADD;
    out->family = at_slice_cstr(add->family_name);
    AT_TRY(decode_cell_values(e, add->column_qualifier, add->timestamp, out, reterr));
    if (!take_input(add->input, e->arena, out))
        return REFUSE(reterr, AT_INVALID_ARGUMENT, e->index, "%s",
                      "input must be an int_value, raw_value, bytes_value or string_value");
    return AT_OK;
}

static enum at_code decode_merge(const struct element *e,
                                 const Google__Bigtable__V2__Mutation__MergeToCell *merge,
                                 struct at_mutation *out,
                                 struct at_error *reterr)
{
    out->kind = AT_MUTATION_MERGE;
    out->family = at_slice_cstr(merge->family_name);
    AT_TRY(decode_cell_values(e, merge->column_qualifier, merge->timestamp, out, reterr));
    if (merge->input && merge->input->kind_case == GOOGLE__BIGTABLE__V2__VALUE__KIND__NOT_SET)
        return AT_OK; /* NULL: no bytes, merging nothing */
    if (!take_input(merge->input, e->arena, out))
        return REFUSE(reterr, AT_INVALID_ARGUMENT, e->index, "%s",
                      "input must be a raw_value, bytes_value, string_value or int_value");
    return AT_OK;
}
