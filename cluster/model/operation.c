#include "cluster/model/operation.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "cluster/model/pack_size.h"

/* A mutation is an array whose kind decides its length and fields:
 *     SET, ADD, MERGE   [kind, family, family_generation, qualifier, timestamp, value]
 *     DELETE_COLUMN     [kind, family, family_generation, qualifier, start, end]
 *     DELETE_FAMILY     [kind, family, family_generation]
 *     DELETE_ROW        [kind]
 * The kinds' numbers are those of at_mutation_kind: they are stored, so they never change.
 *
 * An entry that a cluster wrote has passed at_mutation_check there. Decoding applies it again with
 * the finest granularity, so what the applier stores can always be read back. */

#define ROW_ITEMS 5
#define ROW_ITEMS_MAX 6 /* with a token */
#define CATALOG_ITEMS 2
#define DROP_RANGE_ITEMS 4
#define MEMBER_ITEMS 3
#define LEAVE_ITEMS 1
#define REMOVE_ITEMS 4
#define RELEASE_ITEMS 2
#define VOUCH_ITEMS 4
#define TOKEN_BYTES 16

_Static_assert(AT_MUTATION_SET == 0 && AT_MUTATION_MERGE == 5 && AT_MUTATION_KIND_COUNT == 6,
               "mutation kinds are stored");

static enum at_code put_mutation(const struct at_mutation *m, struct at_buf *out);
static enum at_code put_members(const struct at_operation *op, struct at_buf *out);
static enum at_code put_removal(const struct at_operation *op, struct at_buf *out);
static size_t members_size(const struct at_operation *op);
static enum at_code get_members(struct at_unpack *in,
                                uint32_t items,
                                struct at_arena *arena,
                                struct at_operation *ret_op);
static enum at_code get_member(struct at_unpack *in, struct at_member_id *ret_id);
static enum at_code
get_removal(struct at_unpack *in, struct at_arena *arena, struct at_operation *ret_op);
static enum at_code get_vouch(struct at_unpack *in, struct at_operation_vouch *ret_vouch);
static enum at_code put_token(struct at_hash128 token, struct at_buf *out);
static enum at_code get_token(struct at_unpack *in, struct at_operation *ret_op);
static enum at_code put_items(const struct at_operation *op, struct at_buf *out);
static uint32_t item_count(enum at_mutation_kind kind);
static size_t mutation_size(const struct at_mutation *m);
static enum at_code
get_row(struct at_unpack *in, struct at_arena *arena, struct at_operation *ret_op);
static enum at_code
get_catalog(struct at_unpack *in, struct at_arena *arena, struct at_operation *ret_op);
static enum at_code get_table(struct at_unpack *in, struct at_operation *ret_op);
static enum at_code get_mutation(struct at_unpack *in, struct at_mutation *ret_m);

enum at_code at_operation_encode(const struct at_operation *op, struct at_buf *out)
{
    size_t len = out->len;
    enum at_code code = put_items(op, out);

    if (code != AT_OK)
        out->len = len;
    AT_INVARIANT(code != AT_OK || out->len - len <= at_operation_size_max(op));
    return code;
}

size_t at_operation_size_max(const struct at_operation *op)
{
    size_t size = 2; /* the array and the kind */

    switch (op->kind) {
    case AT_OPERATION_ROW:
        size += at_pack_size_str(op->table) + at_pack_size_u64(op->table_generation) +
                at_pack_size_bin(op->row) + at_pack_size_array(op->mutation_count);
        for (uint32_t i = 0; i < op->mutation_count; i++)
            size += mutation_size(&op->mutations[i]);
        if (op->has_token)
            size += 2 + TOKEN_BYTES;
        break;
    case AT_OPERATION_CATALOG:
        size += at_pack_size_array(op->record_count);
        for (uint32_t i = 0; i < op->record_count; i++)
            size += at_catalog_record_size(&op->records[i]);
        break;
    case AT_OPERATION_DROP_RANGE:
        size += at_pack_size_str(op->table) + at_pack_size_u64(op->table_generation) +
                at_pack_size_bin(op->row);
        break;
    case AT_OPERATION_MEMBER:
    case AT_OPERATION_LEAVE:
    case AT_OPERATION_REMOVE:
    case AT_OPERATION_RELEASE:
        size += members_size(op);
        break;
    }
    return size;
}

enum at_code
at_operation_decode(struct at_slice payload, struct at_arena *arena, struct at_operation *ret_op)
{
    struct at_unpack in;
    uint32_t items = 0;
    uint32_t kind = 0;

    *ret_op = (struct at_operation){0};
    at_unpack_init(&in, payload);
    AT_TRY(at_unpack_array(&in, ROW_ITEMS_MAX, &items));
    AT_TRY(at_unpack_u32(&in, &kind));
    if (kind >= AT_OPERATION_MEMBER && kind <= AT_OPERATION_RELEASE) {
        ret_op->kind = (enum at_operation_kind)kind;
        AT_TRY(get_members(&in, items, arena, ret_op));
    } else if (kind == AT_OPERATION_ROW && items >= ROW_ITEMS) {
        AT_TRY(get_row(&in, arena, ret_op));
        if (items == ROW_ITEMS_MAX)
            AT_TRY(get_token(&in, ret_op));
    } else if (kind == AT_OPERATION_CATALOG && items == CATALOG_ITEMS) {
        AT_TRY(get_catalog(&in, arena, ret_op));
    } else if (kind == AT_OPERATION_DROP_RANGE && items == DROP_RANGE_ITEMS) {
        ret_op->kind = AT_OPERATION_DROP_RANGE;
        AT_TRY(get_table(&in, ret_op));
        if (ret_op->row.len > AT_ROW_KEY_BYTES_MAX)
            return AT_INVALID_ARGUMENT;
    } else {
        return AT_INVALID_ARGUMENT;
    }
    return at_unpack_done(&in) ? AT_OK : AT_INVALID_ARGUMENT;
}

static enum at_code put_items(const struct at_operation *op, struct at_buf *out)
{
    switch (op->kind) {
    case AT_OPERATION_ROW:
        AT_TRY(at_pack_array(out, op->has_token ? ROW_ITEMS_MAX : ROW_ITEMS));
        break;
    case AT_OPERATION_CATALOG:
        AT_TRY(at_pack_array(out, CATALOG_ITEMS));
        AT_TRY(at_pack_u64(out, AT_OPERATION_CATALOG));
        AT_TRY(at_pack_array(out, op->record_count));
        for (uint32_t i = 0; i < op->record_count; i++)
            AT_TRY(at_catalog_record_encode(&op->records[i], out));
        return AT_OK;
    case AT_OPERATION_DROP_RANGE:
        AT_TRY(at_pack_array(out, DROP_RANGE_ITEMS));
        break;
    case AT_OPERATION_MEMBER:
    case AT_OPERATION_LEAVE:
    case AT_OPERATION_REMOVE:
    case AT_OPERATION_RELEASE:
        return put_members(op, out);
    }
    AT_TRY(at_pack_u64(out, (uint64_t)op->kind));
    AT_TRY(at_pack_str(out, op->table));
    AT_TRY(at_pack_u64(out, op->table_generation));
    AT_TRY(at_pack_bin(out, op->row));
    if (op->kind == AT_OPERATION_DROP_RANGE)
        return AT_OK;
    AT_TRY(at_pack_array(out, op->mutation_count));
    for (uint32_t i = 0; i < op->mutation_count; i++)
        AT_TRY(put_mutation(&op->mutations[i], out));
    return op->has_token ? put_token(op->token, out) : AT_OK;
}

static enum at_code put_members(const struct at_operation *op, struct at_buf *out)
{
    static const uint32_t items[] = {MEMBER_ITEMS, LEAVE_ITEMS, REMOVE_ITEMS, RELEASE_ITEMS};

    AT_TRY(at_pack_array(out, items[op->kind - AT_OPERATION_MEMBER]));
    AT_TRY(at_pack_u64(out, (uint64_t)op->kind));
    if (op->kind == AT_OPERATION_MEMBER) {
        AT_TRY(at_pack_u64(out, op->members[0].v));
        return at_pack_bin(out, op->info);
    }
    if (op->kind == AT_OPERATION_REMOVE)
        return put_removal(op, out);
    return op->kind == AT_OPERATION_RELEASE ? at_pack_u64(out, op->hlc) : AT_OK;
}

static enum at_code put_removal(const struct at_operation *op, struct at_buf *out)
{
    AT_TRY(at_pack_array(out, op->member_count));
    for (uint32_t i = 0; i < op->member_count; i++)
        AT_TRY(at_pack_u64(out, op->members[i].v));
    AT_TRY(at_pack_array(out, op->vouch_count));
    for (uint32_t i = 0; i < op->vouch_count; i++) {
        const struct at_operation_vouch *v = &op->vouches[i];
        AT_TRY(at_pack_array(out, VOUCH_ITEMS));
        AT_TRY(at_pack_u64(out, v->voucher.v));
        AT_TRY(at_pack_u64(out, v->position.origin.v));
        AT_TRY(at_pack_u64(out, v->position.epoch));
        AT_TRY(at_pack_u64(out, v->position.seq));
    }
    return at_pack_u64(out, op->fork_id);
}

/* Without the array's head and the kind. */
static size_t members_size(const struct at_operation *op)
{
    size_t size = 0;

    if (op->kind == AT_OPERATION_MEMBER)
        return at_pack_size_u64(op->members[0].v) + at_pack_size_bin(op->info);
    if (op->kind == AT_OPERATION_RELEASE)
        return at_pack_size_u64(op->hlc);
    if (op->kind == AT_OPERATION_LEAVE)
        return 0;
    size = at_pack_size_array(op->member_count) + at_pack_size_array(op->vouch_count) +
           at_pack_size_u64(op->fork_id);
    for (uint32_t i = 0; i < op->member_count; i++)
        size += at_pack_size_u64(op->members[i].v);
    for (uint32_t i = 0; i < op->vouch_count; i++) {
        const struct at_operation_vouch *v = &op->vouches[i];
        size += 1 + at_pack_size_u64(v->voucher.v) + at_pack_size_u64(v->position.origin.v) +
                at_pack_size_u64(v->position.epoch) + at_pack_size_u64(v->position.seq);
    }
    return size;
}

static enum at_code put_token(struct at_hash128 token, struct at_buf *out)
{
    uint8_t bytes[TOKEN_BYTES];

    at_put_be64(bytes, token.high);
    at_put_be64(bytes + 8, token.low);
    return at_pack_bin(out, at_slice_make(bytes, sizeof(bytes)));
}

static enum at_code put_mutation(const struct at_mutation *m, struct at_buf *out)
{
    AT_TRY(at_pack_array(out, item_count(m->kind)));
    AT_TRY(at_pack_u64(out, (uint64_t)m->kind));
    if (m->kind == AT_MUTATION_DELETE_ROW)
        return AT_OK;
    AT_TRY(at_pack_str(out, m->family));
    AT_TRY(at_pack_u64(out, m->family_generation));
    if (m->kind == AT_MUTATION_DELETE_FAMILY)
        return AT_OK;
    AT_TRY(at_pack_bin(out, m->qualifier));
    if (m->kind == AT_MUTATION_DELETE_COLUMN) {
        AT_TRY(at_pack_i64(out, m->start_micros));
        return at_pack_i64(out, m->end_micros);
    }
    AT_ASSERT(m->timestamp_micros >= 0);
    AT_TRY(at_pack_i64(out, m->timestamp_micros));
    return at_pack_bin(out, m->value);
}

static uint32_t item_count(enum at_mutation_kind kind)
{
    switch (kind) {
    case AT_MUTATION_DELETE_ROW:
        return 1;
    case AT_MUTATION_DELETE_FAMILY:
        return 3;
    case AT_MUTATION_SET:
    case AT_MUTATION_ADD:
    case AT_MUTATION_MERGE:
    case AT_MUTATION_DELETE_COLUMN:
        break;
    }
    return 6;
}

static size_t mutation_size(const struct at_mutation *m)
{
    size_t size = 2; /* the array and the kind */

    if (m->kind == AT_MUTATION_DELETE_ROW)
        return size;
    size += at_pack_size_str(m->family) + at_pack_size_u64(m->family_generation);
    if (m->kind == AT_MUTATION_DELETE_FAMILY)
        return size;
    size += at_pack_size_bin(m->qualifier);
    if (m->kind == AT_MUTATION_DELETE_COLUMN)
        return size + at_pack_size_i64(m->start_micros) + at_pack_size_i64(m->end_micros);
    return size + at_pack_size_i64(m->timestamp_micros) + at_pack_size_bin(m->value);
}

static enum at_code
get_row(struct at_unpack *in, struct at_arena *arena, struct at_operation *ret_op)
{
    uint32_t count = 0;

    ret_op->kind = AT_OPERATION_ROW;
    AT_TRY(get_table(in, ret_op));
    AT_TRY(at_row_key_check(ret_op->row, NULL));
    AT_TRY(at_unpack_array(in, AT_MUTATIONS_MAX, &count));
    if (count == 0)
        return AT_INVALID_ARGUMENT;
    ret_op->mutations = AT_ARENA_ARRAY(arena, struct at_mutation, count);
    ret_op->mutation_count = count;
    for (uint32_t i = 0; i < count; i++)
        AT_TRY(get_mutation(in, &ret_op->mutations[i]));
    return AT_OK;
}

static enum at_code get_token(struct at_unpack *in, struct at_operation *ret_op)
{
    struct at_slice bytes;

    AT_TRY(at_unpack_bin(in, &bytes));
    if (bytes.len != TOKEN_BYTES)
        return AT_INVALID_ARGUMENT;
    ret_op->has_token = true;
    ret_op->token.high = at_get_be64(bytes.data);
    ret_op->token.low = at_get_be64(bytes.data + 8);
    return (ret_op->token.high | ret_op->token.low) != 0 ? AT_OK : AT_INVALID_ARGUMENT;
}

static enum at_code
get_catalog(struct at_unpack *in, struct at_arena *arena, struct at_operation *ret_op)
{
    uint32_t count = 0;

    ret_op->kind = AT_OPERATION_CATALOG;
    AT_TRY(at_unpack_array(in, AT_OPERATION_RECORDS_MAX, &count));
    if (count == 0)
        return AT_INVALID_ARGUMENT;
    ret_op->records = AT_ARENA_ARRAY(arena, struct at_catalog_record, count);
    ret_op->record_count = count;
    for (uint32_t i = 0; i < count; i++)
        AT_TRY(at_catalog_record_decode(in, &ret_op->records[i]));
    return AT_OK;
}

static enum at_code get_members(struct at_unpack *in,
                                uint32_t items,
                                struct at_arena *arena,
                                struct at_operation *ret_op)
{
    switch (ret_op->kind) {
    case AT_OPERATION_MEMBER:
        ret_op->member_count = 1;
        AT_TRY(get_member(in, &ret_op->members[0]));
        AT_TRY(at_unpack_bin(in, &ret_op->info));
        return items == MEMBER_ITEMS && ret_op->info.len <= AT_OPERATION_INFO_BYTES_MAX
                   ? AT_OK
                   : AT_INVALID_ARGUMENT;
    case AT_OPERATION_REMOVE:
        return items == REMOVE_ITEMS ? get_removal(in, arena, ret_op) : AT_INVALID_ARGUMENT;
    case AT_OPERATION_RELEASE:
        AT_TRY(at_unpack_u64(in, &ret_op->hlc));
        return items == RELEASE_ITEMS ? AT_OK : AT_INVALID_ARGUMENT;
    case AT_OPERATION_LEAVE:
    case AT_OPERATION_ROW:
    case AT_OPERATION_CATALOG:
    case AT_OPERATION_DROP_RANGE:
        break;
    }
    return items == LEAVE_ITEMS ? AT_OK : AT_INVALID_ARGUMENT;
}

static enum at_code get_member(struct at_unpack *in, struct at_member_id *ret_id)
{
    AT_TRY(at_unpack_u32(in, &ret_id->v));
    return ret_id->v != 0 ? AT_OK : AT_INVALID_ARGUMENT;
}

static enum at_code
get_removal(struct at_unpack *in, struct at_arena *arena, struct at_operation *ret_op)
{
    AT_TRY(at_unpack_array(in, AT_MEMBERS_MAX, &ret_op->member_count));
    if (ret_op->member_count == 0)
        return AT_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < ret_op->member_count; i++)
        AT_TRY(get_member(in, &ret_op->members[i]));
    AT_TRY(at_unpack_array(in, AT_FACTS_MAX, &ret_op->vouch_count));
    ret_op->vouches = AT_ARENA_ARRAY(arena, struct at_operation_vouch, ret_op->vouch_count);
    for (uint32_t i = 0; i < ret_op->vouch_count; i++)
        AT_TRY(get_vouch(in, &ret_op->vouches[i]));
    return at_unpack_u64(in, &ret_op->fork_id);
}

static enum at_code get_vouch(struct at_unpack *in, struct at_operation_vouch *ret_vouch)
{
    uint32_t items = 0;

    AT_TRY(at_unpack_array(in, VOUCH_ITEMS, &items));
    AT_TRY(get_member(in, &ret_vouch->voucher));
    AT_TRY(get_member(in, &ret_vouch->position.origin));
    AT_TRY(at_unpack_u32(in, &ret_vouch->position.epoch));
    AT_TRY(at_unpack_u64(in, &ret_vouch->position.seq));
    return items == VOUCH_ITEMS && ret_vouch->position.epoch != 0 ? AT_OK : AT_INVALID_ARGUMENT;
}

/* Table, its generation, and the row or prefix. */
static enum at_code get_table(struct at_unpack *in, struct at_operation *ret_op)
{
    AT_TRY(at_unpack_bin(in, &ret_op->table));
    AT_TRY(at_table_name_check(ret_op->table, NULL));
    AT_TRY(at_unpack_u64(in, &ret_op->table_generation));
    return at_unpack_bin(in, &ret_op->row);
}

static enum at_code get_mutation(struct at_unpack *in, struct at_mutation *ret_m)
{
    uint32_t items = 0;
    uint32_t kind = 0;

    AT_TRY(at_unpack_array(in, 6, &items));
    AT_TRY(at_unpack_u32(in, &kind));
    if (kind >= AT_MUTATION_KIND_COUNT || items != item_count((enum at_mutation_kind)kind))
        return AT_INVALID_ARGUMENT;
    ret_m->kind = (enum at_mutation_kind)kind;
    if (ret_m->kind == AT_MUTATION_DELETE_ROW)
        return AT_OK;
    AT_TRY(at_unpack_bin(in, &ret_m->family));
    AT_TRY(at_unpack_u32(in, &ret_m->family_generation));
    if (ret_m->kind == AT_MUTATION_DELETE_FAMILY)
        return at_mutation_check(ret_m, 0, 1, NULL);
    AT_TRY(at_unpack_bin(in, &ret_m->qualifier));
    if (ret_m->kind == AT_MUTATION_DELETE_COLUMN) {
        AT_TRY(at_unpack_i64(in, &ret_m->start_micros));
        AT_TRY(at_unpack_i64(in, &ret_m->end_micros));
    } else {
        AT_TRY(at_unpack_i64(in, &ret_m->timestamp_micros));
        AT_TRY(at_unpack_bin(in, &ret_m->value));
        if (ret_m->timestamp_micros < 0)
            return AT_INVALID_ARGUMENT;
    }
    return at_mutation_check(ret_m, 0, 1, NULL);
}
