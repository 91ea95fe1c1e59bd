#include "cluster/service/filter_decode.h"

#include "base/limits.h"
#include "base/pbwire.h"
#include "wire/proto_alloc.h"

/* The tree is walked with a list of what is still to be decoded, not by recursion. Fields that the
 * schema in use does not know are kept by protobuf-c and looked at: the value bitmask, which is
 * newer than the schema, is decoded by hand; any other is refused by its number. */

#define FIELD_VALUE_BITMASK 20
#define FIELD_BITMASK_MASK 1

typedef Google__Bigtable__V2__RowFilter row_filter;

struct todo {
    struct todo *next;
    const row_filter *in;
    struct at_filter_node *out;
    uint32_t depth;
};

struct walk {
    struct at_arena *arena;
    struct todo *first;
};

static enum at_code decode_node(struct walk *w, const struct todo *t, struct at_error *reterr);
static enum at_code decode_unknown(const struct todo *t, struct at_error *reterr);
static enum at_code decode_flag(bool value, const char *field, struct at_error *reterr);
static void decode_column_range(const Google__Bigtable__V2__ColumnRange *in,
                                struct at_filter_node *out);
static void decode_value_range(const Google__Bigtable__V2__ValueRange *in,
                               struct at_filter_node *out);
static void decode_children(struct walk *w, const struct todo *t, row_filter *const *in, size_t n);

static struct at_filter_node *later(struct walk *w, const row_filter *in, uint32_t depth)
{
    struct todo *t = AT_ARENA_NEW(w->arena, struct todo);

    *t = (struct todo){w->first, in, AT_ARENA_NEW(w->arena, struct at_filter_node), depth};
    w->first = t;
    return t->out;
}

enum at_code at_filter_decode(const row_filter *filter,
                              struct at_arena *arena,
                              struct at_filter_node **ret_root,
                              struct at_error *reterr)
{
    struct walk w = {arena, NULL};

    *ret_root = NULL;
    if (!filter)
        return AT_OK;
    size_t size = protobuf_c_message_get_packed_size(&filter->base);
    if (size > AT_FILTER_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'filter' : at most %d bytes are allowed, but got %zu",
                       AT_FILTER_BYTES_MAX, size);
    struct at_filter_node *root = later(&w, filter, 0);
    while (w.first) {
        const struct todo *t = w.first;
        w.first = t->next;
        AT_TRY(decode_node(&w, t, reterr));
    }
    *ret_root = root;
    return AT_OK;
}

static void set_bytes(struct at_filter_node *out, enum at_filter_kind kind, struct at_slice bytes)
{
    out->kind = kind;
    out->bytes = bytes;
}

static void set_number(struct at_filter_node *out, enum at_filter_kind kind, int64_t number)
{
    out->kind = kind;
    out->number = number;
}

/* Filters that hold nothing but a few plain fields. */
static enum at_code decode_leaf(const struct todo *t, struct at_error *reterr)
{
    const row_filter *in = t->in;
    struct at_filter_node *out = t->out;

    switch ((int)in->filter_case) {
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_ROW_KEY_REGEX_FILTER:
        set_bytes(out, AT_FILTER_ROW_KEY_REGEX, at_proto_bytes(in->row_key_regex_filter));
        break;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_FAMILY_NAME_REGEX_FILTER:
        set_bytes(out, AT_FILTER_FAMILY_REGEX, at_slice_cstr(in->family_name_regex_filter));
        break;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_COLUMN_QUALIFIER_REGEX_FILTER:
        set_bytes(out, AT_FILTER_QUALIFIER_REGEX,
                  at_proto_bytes(in->column_qualifier_regex_filter));
        break;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_VALUE_REGEX_FILTER:
        set_bytes(out, AT_FILTER_VALUE_REGEX, at_proto_bytes(in->value_regex_filter));
        break;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_APPLY_LABEL_TRANSFORMER:
        set_bytes(out, AT_FILTER_APPLY_LABEL, at_slice_cstr(in->apply_label_transformer));
        break;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_ROW_SAMPLE_FILTER:
        out->kind = AT_FILTER_ROW_SAMPLE;
        out->probability = in->row_sample_filter;
        break;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_CELLS_PER_ROW_OFFSET_FILTER:
        set_number(out, AT_FILTER_CELLS_PER_ROW_OFFSET, in->cells_per_row_offset_filter);
        break;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_CELLS_PER_ROW_LIMIT_FILTER:
        set_number(out, AT_FILTER_CELLS_PER_ROW_LIMIT, in->cells_per_row_limit_filter);
        break;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_CELLS_PER_COLUMN_LIMIT_FILTER:
        set_number(out, AT_FILTER_CELLS_PER_COLUMN_LIMIT, in->cells_per_column_limit_filter);
        break;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_COLUMN_RANGE_FILTER:
        decode_column_range(in->column_range_filter, out);
        break;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_VALUE_RANGE_FILTER:
        decode_value_range(in->value_range_filter, out);
        break;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_TIMESTAMP_RANGE_FILTER:
        out->kind = AT_FILTER_TIMESTAMP_RANGE;
        out->start_micros = in->timestamp_range_filter->start_timestamp_micros;
        out->end_micros = in->timestamp_range_filter->end_timestamp_micros;
        break;
    default:
        return at_fail(reterr, AT_UNIMPLEMENTED, "field %d of RowFilter is not supported",
                       (int)in->filter_case);
    }
    return AT_OK;
}

static enum at_code decode_node(struct walk *w, const struct todo *t, struct at_error *reterr)
{
    const row_filter *in = t->in;

    if (t->depth > AT_FILTER_DEPTH_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'filter' : filters must not be nested deeper than %d",
                       AT_FILTER_DEPTH_MAX);
    if (in->base.n_unknown_fields > 0)
        return decode_unknown(t, reterr);
    switch ((int)in->filter_case) {
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER__NOT_SET:
        t->out->kind = AT_FILTER_PASS_ALL;
        return AT_OK;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_CHAIN:
        t->out->kind = AT_FILTER_CHAIN;
        decode_children(w, t, in->chain->filters, in->chain->n_filters);
        return AT_OK;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_INTERLEAVE:
        t->out->kind = AT_FILTER_INTERLEAVE;
        decode_children(w, t, in->interleave->filters, in->interleave->n_filters);
        return AT_OK;
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_CONDITION: {
        row_filter *const branches[] = {in->condition->predicate_filter, in->condition->true_filter,
                                        in->condition->false_filter};
        t->out->kind = AT_FILTER_CONDITION;
        decode_children(w, t, branches, 3);
        return AT_OK;
    }
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_SINK:
        t->out->kind = AT_FILTER_SINK;
        return decode_flag(in->sink, "sink", reterr);
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_PASS_ALL_FILTER:
        t->out->kind = AT_FILTER_PASS_ALL;
        return decode_flag(in->pass_all_filter, "pass_all_filter", reterr);
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_BLOCK_ALL_FILTER:
        t->out->kind = AT_FILTER_BLOCK_ALL;
        return decode_flag(in->block_all_filter, "block_all_filter", reterr);
    case GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_STRIP_VALUE_TRANSFORMER:
        t->out->kind = AT_FILTER_STRIP_VALUE;
        return decode_flag(in->strip_value_transformer, "strip_value_transformer", reterr);
    default:
        return decode_leaf(t, reterr);
    }
}

static enum at_code decode_flag(bool value, const char *field, struct at_error *reterr)
{
    if (!value)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "%s must be true if set", field);
    return AT_OK;
}

static void decode_children(struct walk *w, const struct todo *t, row_filter *const *in, size_t n)
{
    t->out->children = AT_ARENA_ARRAY(w->arena, struct at_filter_node *, n);
    t->out->child_count = (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        if (in[i])
            t->out->children[i] = later(w, in[i], t->depth + 1);
}

/* protobuf-c keeps an unknown field of length-delimited type with its length before it. */
static bool read_bitmask(const ProtobufCMessageUnknownField *field, struct at_slice *ret_mask)
{
    struct at_slice rest = {field->data, field->len};
    uint64_t len = 0;
    unsigned shift = 0;
    size_t at = 0;

    if (field->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
        return false;
    for (; at < rest.len && at < 5; at++, shift += 7) {
        len |= (uint64_t)(rest.data[at] & 0x7f) << shift;
        if (!(rest.data[at] & 0x80))
            break;
    }
    if (at >= rest.len || at == 5 || len != rest.len - at - 1)
        return false;
    rest = at_slice_from(rest, at + 1);
    struct at_pb_field inner;
    bool bad = false;
    *ret_mask = at_slice_make(NULL, 0);
    while (at_pb_next(&rest, &inner, &bad)) {
        if (inner.number != FIELD_BITMASK_MASK || inner.type != AT_PB_BYTES)
            return false;
        *ret_mask = inner.bytes;
    }
    return !bad;
}

static enum at_code decode_unknown(const struct todo *t, struct at_error *reterr)
{
    const ProtobufCMessage *base = &t->in->base;
    const ProtobufCMessageUnknownField *last = &base->unknown_fields[base->n_unknown_fields - 1];

    for (unsigned i = 0; i < base->n_unknown_fields; i++)
        if (base->unknown_fields[i].tag != FIELD_VALUE_BITMASK)
            return at_fail(reterr, AT_UNIMPLEMENTED, "field %u of RowFilter is not supported",
                           base->unknown_fields[i].tag);
    if (t->in->filter_case != GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER__NOT_SET)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Only one filter of a RowFilter may be set");
    t->out->kind = AT_FILTER_VALUE_BITMASK;
    if (!read_bitmask(last, &t->out->bytes))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'value_bitmask_filter' : it is malformed");
    return AT_OK;
}

static struct at_filter_bound bound(bool open, ProtobufCBinaryData bytes)
{
    return (struct at_filter_bound){.set = true, .open = open, .bytes = at_proto_bytes(bytes)};
}

static void decode_column_range(const Google__Bigtable__V2__ColumnRange *in,
                                struct at_filter_node *out)
{
    set_bytes(out, AT_FILTER_COLUMN_RANGE, at_slice_cstr(in->family_name));
    if (in->start_qualifier_case ==
        GOOGLE__BIGTABLE__V2__COLUMN_RANGE__START_QUALIFIER_START_QUALIFIER_CLOSED)
        out->start = bound(false, in->start_qualifier_closed);
    if (in->start_qualifier_case ==
        GOOGLE__BIGTABLE__V2__COLUMN_RANGE__START_QUALIFIER_START_QUALIFIER_OPEN)
        out->start = bound(true, in->start_qualifier_open);
    if (in->end_qualifier_case ==
        GOOGLE__BIGTABLE__V2__COLUMN_RANGE__END_QUALIFIER_END_QUALIFIER_CLOSED)
        out->end = bound(false, in->end_qualifier_closed);
    if (in->end_qualifier_case ==
        GOOGLE__BIGTABLE__V2__COLUMN_RANGE__END_QUALIFIER_END_QUALIFIER_OPEN)
        out->end = bound(true, in->end_qualifier_open);
}

static void decode_value_range(const Google__Bigtable__V2__ValueRange *in,
                               struct at_filter_node *out)
{
    out->kind = AT_FILTER_VALUE_RANGE;
    if (in->start_value_case == GOOGLE__BIGTABLE__V2__VALUE_RANGE__START_VALUE_START_VALUE_CLOSED)
        out->start = bound(false, in->start_value_closed);
    if (in->start_value_case == GOOGLE__BIGTABLE__V2__VALUE_RANGE__START_VALUE_START_VALUE_OPEN)
        out->start = bound(true, in->start_value_open);
    if (in->end_value_case == GOOGLE__BIGTABLE__V2__VALUE_RANGE__END_VALUE_END_VALUE_CLOSED)
        out->end = bound(false, in->end_value_closed);
    if (in->end_value_case == GOOGLE__BIGTABLE__V2__VALUE_RANGE__END_VALUE_END_VALUE_OPEN)
        out->end = bound(true, in->end_value_open);
}
