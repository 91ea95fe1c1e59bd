#include "property/request.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/pbwire.h"

static void must(enum at_code code)
{
    AT_ASSERT(code == AT_OK);
}

static void start(struct at_buf *b)
{
    at_buf_init(b, AT_MIB);
}

static void put_int(struct at_buf *b, uint32_t field, int64_t v)
{
    must(at_pb_put_varint(b, field, (uint64_t)v));
}

static void put_bytes(struct at_buf *b, uint32_t field, struct at_slice s)
{
    must(at_pb_put_bytes(b, field, s));
}

/* Ends a message begun with start, as a field of another. */
static void put_message(struct at_buf *b, uint32_t field, struct at_buf *message)
{
    put_bytes(b, field, at_buf_slice(message));
    at_buf_deinit(message);
}

static void put_double(struct at_buf *b, uint32_t field, double d)
{
    uint8_t tag = (uint8_t)(field << 3 | AT_PB_FIXED64);

    must(at_buf_append(b, at_slice_make(&tag, 1)));
    must(at_buf_append(b, at_slice_make(&d, sizeof(d))));
}

/* --- filters --- */

static void put_filter(struct at_buf *b, uint32_t field, const struct at_filter_node *n);

static void put_list(struct at_buf *b, uint32_t field, const struct at_filter_node *n)
{
    struct at_buf list;

    start(&list);
    for (uint32_t i = 0; i < n->child_count; i++)
        if (n->children[i])
            put_filter(&list, n->kind == AT_FILTER_CONDITION ? i + 1 : 1, n->children[i]);
    put_message(b, field, &list);
}

static void put_range(struct at_buf *b, uint32_t field, const struct at_filter_node *n)
{
    bool column = n->kind == AT_FILTER_COLUMN_RANGE;
    uint32_t first = column ? 2 : 1; /* of the bounds: start closed, open, end closed, open */
    struct at_buf range;

    start(&range);
    if (column)
        put_bytes(&range, 1, n->bytes);
    if (n->start.set)
        put_bytes(&range, first + n->start.open, n->start.bytes);
    if (n->end.set)
        put_bytes(&range, first + 2 + n->end.open, n->end.bytes);
    put_message(b, field, &range);
}

static void put_wrapped(struct at_buf *b, const struct at_filter_node *n)
{
    struct at_buf inner;

    start(&inner);
    if (n->kind == AT_FILTER_TIMESTAMP_RANGE) {
        put_int(&inner, 1, n->start_micros);
        put_int(&inner, 2, n->end_micros);
        put_message(b, 8, &inner);
    } else {
        put_bytes(&inner, 1, n->bytes);
        put_message(b, 20, &inner);
    }
}

static void put_filter(struct at_buf *b, uint32_t field, const struct at_filter_node *n)
{
    static const uint32_t fields[] = {
        [AT_FILTER_PASS_ALL] = 17,
        [AT_FILTER_BLOCK_ALL] = 18,
        [AT_FILTER_CHAIN] = 1,
        [AT_FILTER_INTERLEAVE] = 2,
        [AT_FILTER_CONDITION] = 3,
        [AT_FILTER_SINK] = 16,
        [AT_FILTER_ROW_KEY_REGEX] = 4,
        [AT_FILTER_ROW_SAMPLE] = 14,
        [AT_FILTER_FAMILY_REGEX] = 5,
        [AT_FILTER_QUALIFIER_REGEX] = 6,
        [AT_FILTER_COLUMN_RANGE] = 7,
        [AT_FILTER_TIMESTAMP_RANGE] = 8,
        [AT_FILTER_VALUE_REGEX] = 9,
        [AT_FILTER_VALUE_RANGE] = 15,
        [AT_FILTER_CELLS_PER_ROW_OFFSET] = 10,
        [AT_FILTER_CELLS_PER_ROW_LIMIT] = 11,
        [AT_FILTER_CELLS_PER_COLUMN_LIMIT] = 12,
        [AT_FILTER_STRIP_VALUE] = 13,
        [AT_FILTER_APPLY_LABEL] = 19,
        [AT_FILTER_VALUE_BITMASK] = 20,
    };
    struct at_buf filter;

    start(&filter);
    if (n->child_count > 0 || n->kind == AT_FILTER_CHAIN || n->kind == AT_FILTER_INTERLEAVE)
        put_list(&filter, fields[n->kind], n);
    else if (n->kind == AT_FILTER_COLUMN_RANGE || n->kind == AT_FILTER_VALUE_RANGE)
        put_range(&filter, fields[n->kind], n);
    else if (n->kind == AT_FILTER_TIMESTAMP_RANGE || n->kind == AT_FILTER_VALUE_BITMASK)
        put_wrapped(&filter, n);
    else if (n->kind == AT_FILTER_ROW_SAMPLE)
        put_double(&filter, fields[n->kind], n->probability);
    else if (n->kind >= AT_FILTER_CELLS_PER_ROW_OFFSET &&
             n->kind <= AT_FILTER_CELLS_PER_COLUMN_LIMIT)
        put_int(&filter, fields[n->kind], n->number);
    else if (n->kind == AT_FILTER_PASS_ALL || n->kind == AT_FILTER_BLOCK_ALL ||
             n->kind == AT_FILTER_SINK || n->kind == AT_FILTER_STRIP_VALUE)
        put_int(&filter, fields[n->kind], 1);
    else
        put_bytes(&filter, fields[n->kind], n->bytes);
    put_message(b, field, &filter);
}

/* --- mutations --- */

static void put_raw(struct at_buf *b, uint32_t field, struct at_slice s)
{
    struct at_buf value;

    start(&value);
    put_bytes(&value, 8, s);
    put_message(b, field, &value);
}

/* AddToCell and MergeToCell. */
static void put_aggregate(struct at_buf *b, const struct at_mutation *m)
{
    struct at_buf value;

    put_bytes(b, 1, m->family);
    put_raw(b, 2, m->qualifier);
    start(&value);
    put_int(&value, 9, m->timestamp_micros);
    put_message(b, 3, &value);
    if (m->kind == AT_MUTATION_MERGE) {
        put_raw(b, 4, m->value);
        return;
    }
    start(&value);
    put_int(&value, 6, (int64_t)at_get_be64(m->value.data));
    put_message(b, 4, &value);
}

static void put_mutation(struct at_buf *b, uint32_t field, const struct at_mutation *m)
{
    static const uint32_t fields[AT_MUTATION_KIND_COUNT] = {
        [AT_MUTATION_SET] = 1,           [AT_MUTATION_DELETE_COLUMN] = 2,
        [AT_MUTATION_DELETE_FAMILY] = 3, [AT_MUTATION_DELETE_ROW] = 4,
        [AT_MUTATION_ADD] = 5,           [AT_MUTATION_MERGE] = 6,
    };
    struct at_buf mutation;
    struct at_buf inner;
    struct at_buf range;

    start(&mutation);
    start(&inner);
    if (m->kind == AT_MUTATION_ADD || m->kind == AT_MUTATION_MERGE)
        put_aggregate(&inner, m);
    else if (m->kind != AT_MUTATION_DELETE_ROW)
        put_bytes(&inner, 1, m->family);
    if (m->kind == AT_MUTATION_SET || m->kind == AT_MUTATION_DELETE_COLUMN)
        put_bytes(&inner, 2, m->qualifier);
    if (m->kind == AT_MUTATION_SET) {
        put_int(&inner, 3, m->timestamp_micros);
        put_bytes(&inner, 4, m->value);
    }
    if (m->kind == AT_MUTATION_DELETE_COLUMN && (m->start_micros || m->end_micros)) {
        start(&range);
        put_int(&range, 1, m->start_micros);
        put_int(&range, 2, m->end_micros);
        put_message(&inner, 3, &range);
    }
    put_message(&mutation, fields[m->kind], &inner);
    put_message(b, field, &mutation);
}

static void put_mutations(struct at_buf *b, uint32_t field, const struct op_row *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        put_mutation(b, field, &r->mutations[i]);
}

/* --- requests --- */

static void put_rules(struct at_buf *b, const struct op *op)
{
    for (uint32_t i = 0; i < op->rule_count; i++) {
        const struct at_modify_rule *r = &op->rules[i];
        struct at_buf rule;
        start(&rule);
        put_bytes(&rule, 1, r->family);
        put_bytes(&rule, 2, r->qualifier);
        if (r->kind == AT_RULE_APPEND)
            put_bytes(&rule, 3, r->append);
        else
            put_int(&rule, 4, r->increment);
        put_message(b, 3, &rule);
    }
}

static void put_row_set(struct at_buf *b, const struct op *op)
{
    struct at_buf set;

    start(&set);
    for (uint32_t i = 0; i < op->key_count; i++)
        put_bytes(&set, 1, op->keys[i]);
    for (uint32_t i = 0; i < op->range_count; i++) {
        const struct op_range *r = &op->ranges[i];
        struct at_buf range;
        start(&range);
        if (r->start.kind != AT_BOUND_NONE)
            put_bytes(&range, r->start.kind == AT_BOUND_CLOSED ? 1 : 2, r->start.key);
        if (r->end.kind != AT_BOUND_NONE)
            put_bytes(&range, r->end.kind == AT_BOUND_OPEN ? 3 : 4, r->end.key);
        put_message(&set, 2, &range);
    }
    put_message(b, 2, &set);
}

static void put_token(struct at_buf *b, uint32_t field, uint64_t token)
{
    struct at_buf idempotency;
    uint8_t bytes[8];

    if (token == 0)
        return;
    start(&idempotency);
    at_put_be64(bytes, token);
    put_bytes(&idempotency, 1, at_slice_make(bytes, sizeof(bytes)));
    put_message(b, field, &idempotency);
}

static const char *put_request(struct at_buf *b, const struct op *op)
{
    switch (op->kind) {
    case OP_MUTATE_ROW:
    case OP_KILL: /* what is under way */
        put_bytes(b, 2, op->rows[0].row);
        put_mutations(b, 3, &op->rows[0]);
        put_token(b, 8, op->rows[0].token);
        return "MutateRow";
    case OP_MUTATE_ROWS:
        for (uint32_t i = 0; i < op->row_count; i++) {
            struct at_buf entry;
            start(&entry);
            put_bytes(&entry, 1, op->rows[i].row);
            put_mutations(&entry, 2, &op->rows[i]);
            put_token(&entry, 3, op->rows[i].token);
            put_message(b, 2, &entry);
        }
        return "MutateRows";
    case OP_CHECK:
        put_bytes(b, 2, op->rows[0].row);
        put_mutations(b, 4, &op->rows[0]);
        put_mutations(b, 5, &op->rows[1]);
        if (op->filter)
            put_filter(b, 6, op->filter);
        return "CheckAndMutateRow";
    case OP_MODIFY:
        put_bytes(b, 2, op->rows[0].row);
        put_rules(b, op);
        return "ReadModifyWriteRow";
    case OP_READ:
        if (op->key_count || op->range_count)
            put_row_set(b, op);
        if (op->filter)
            put_filter(b, 3, op->filter);
        put_int(b, 4, op->limit);
        put_int(b, 7, op->reversed);
        return "ReadRows";
    case OP_DROP:
    case OP_COLLECT:
    case OP_EXCHANGE:
    case OP_TICK:
        break;
    }
    return NULL;
}

const char *request_encode(const struct op *op,
                           const char *table_name,
                           struct at_arena *arena,
                           struct at_slice *ret)
{
    struct at_buf request;

    start(&request);
    put_bytes(&request, 1, at_slice_cstr(table_name));
    const char *rpc = put_request(&request, op);
    *ret = at_arena_copy(arena, at_buf_slice(&request));
    at_buf_deinit(&request);
    return rpc;
}
