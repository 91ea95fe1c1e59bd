#include "cluster/model/copy_item.h"

#include "base/bytes.h"

/* A receiver trusts its donor with the data, not with the form: what it took would be read for
 * ever. So keys and the values of markers are checked as if they came from a client. */

#define ITEMS_MAX 8
#define CATALOG_ITEMS 2
#define DROP_ITEMS 6
#define TOKEN_ITEMS 3
#define PART_ITEMS 8
#define TOKEN_BYTES 16
#define BIN_HEAD_BYTES_MAX 5
#define COLUMN_MARKER_BYTES 16

static enum at_code put_item(const struct at_copy_item *item, struct at_buf *out);
static enum at_code put_drop(const struct at_copy_drop *drop, struct at_buf *out);
static enum at_code put_token(const struct at_copy_token *token, struct at_buf *out);
static enum at_code put_part(const struct at_copy_part *part, struct at_buf *out);
static enum at_code get_drop(struct at_unpack *in, struct at_copy_drop *ret_drop);
static enum at_code get_token(struct at_unpack *in, struct at_copy_token *ret_token);
static enum at_code get_part(struct at_unpack *in, struct at_copy_part *ret_part);
static enum at_code
get_table(struct at_unpack *in, struct at_slice *ret_table, uint64_t *ret_generation);

enum at_code at_copy_item_encode(const struct at_copy_item *item, struct at_buf *out)
{
    size_t len = out->len;
    enum at_code code = put_item(item, out);

    if (code != AT_OK)
        out->len = len;
    return code;
}

enum at_code at_copy_item_decode(struct at_unpack *in, struct at_copy_item *ret_item)
{
    uint32_t items = 0;
    uint32_t kind = 0;

    *ret_item = (struct at_copy_item){0};
    AT_TRY(at_unpack_array(in, ITEMS_MAX, &items));
    AT_TRY(at_unpack_u32(in, &kind));
    ret_item->kind = (enum at_copy_item_kind)kind;
    if (kind == AT_COPY_CATALOG && items == CATALOG_ITEMS)
        return at_catalog_record_decode(in, &ret_item->u.record);
    if (kind == AT_COPY_DROP && items == DROP_ITEMS)
        return get_drop(in, &ret_item->u.drop);
    if (kind == AT_COPY_TOKEN && items == TOKEN_ITEMS)
        return get_token(in, &ret_item->u.token);
    if (kind == AT_COPY_PART && items == PART_ITEMS)
        return get_part(in, &ret_item->u.part);
    return AT_INVALID_ARGUMENT;
}

size_t at_copy_cell_size_max(const struct at_copy_cell *cell)
{
    return 2 * BIN_HEAD_BYTES_MAX + cell->key.len + cell->value.len;
}

enum at_code at_copy_cell_encode(const struct at_copy_cell *cell, struct at_buf *out)
{
    size_t len = out->len;
    enum at_code code = at_pack_bin(out, cell->key);

    if (code == AT_OK)
        code = at_pack_bin(out, cell->value);
    if (code != AT_OK)
        out->len = len;
    return code;
}

enum at_code at_copy_cell_decode(struct at_unpack *in, struct at_copy_cell *ret_cell)
{
    AT_TRY(at_unpack_bin(in, &ret_cell->key));
    AT_TRY(at_unpack_bin(in, &ret_cell->value));
    if (ret_cell->key.len == 0 ||
        ret_cell->key.len > (size_t)(AT_KEY_BYTES_MAX - AT_KEY_PREFIX_BYTES) ||
        ret_cell->value.len > AT_VALUE_BYTES_MAX)
        return AT_INVALID_ARGUMENT;
    return AT_OK;
}

enum at_code at_copy_cell_check(struct at_slice stored,
                                struct at_slice value,
                                struct at_buf *scratch,
                                struct at_key *ret_key)
{
    if (at_key_decode(stored, scratch, ret_key) != AT_OK || ret_key->stamp.hlc == 0 ||
        ret_key->row.len == 0 || ret_key->row.len > AT_ROW_KEY_BYTES_MAX ||
        ret_key->qualifier.len > AT_QUALIFIER_BYTES_MAX)
        return AT_INVALID_ARGUMENT;
    switch (ret_key->kind) {
    case AT_KEY_ROW_MARKER:
    case AT_KEY_FAMILY_MARKER:
        return value.len == 0 ? AT_OK : AT_INVALID_ARGUMENT;
    case AT_KEY_COLUMN_MARKER:
        return value.len == COLUMN_MARKER_BYTES ? AT_OK : AT_INVALID_ARGUMENT;
    case AT_KEY_CELL:
    case AT_KEY_PARTIAL:
        break;
    }
    return ret_key->timestamp_micros >= 0 ? AT_OK : AT_INVALID_ARGUMENT;
}

static enum at_code put_item(const struct at_copy_item *item, struct at_buf *out)
{
    switch (item->kind) {
    case AT_COPY_CATALOG:
        AT_TRY(at_pack_array(out, CATALOG_ITEMS));
        AT_TRY(at_pack_u64(out, AT_COPY_CATALOG));
        return at_catalog_record_encode(&item->u.record, out);
    case AT_COPY_DROP:
        return put_drop(&item->u.drop, out);
    case AT_COPY_TOKEN:
        return put_token(&item->u.token, out);
    case AT_COPY_PART:
        break;
    }
    return put_part(&item->u.part, out);
}

static enum at_code put_drop(const struct at_copy_drop *drop, struct at_buf *out)
{
    AT_TRY(at_pack_array(out, DROP_ITEMS));
    AT_TRY(at_pack_u64(out, AT_COPY_DROP));
    AT_TRY(at_pack_str(out, drop->table));
    AT_TRY(at_pack_u64(out, drop->table_generation));
    AT_TRY(at_pack_bin(out, drop->prefix));
    AT_TRY(at_pack_u64(out, drop->stamp.hlc));
    return at_pack_u64(out, drop->stamp.origin.v);
}

static enum at_code put_token(const struct at_copy_token *token, struct at_buf *out)
{
    uint8_t bytes[TOKEN_BYTES];

    at_put_be64(bytes, token->id.high);
    at_put_be64(bytes + 8, token->id.low);
    AT_TRY(at_pack_array(out, TOKEN_ITEMS));
    AT_TRY(at_pack_u64(out, AT_COPY_TOKEN));
    AT_TRY(at_pack_u64(out, token->span));
    return at_pack_bin(out, at_slice_make(bytes, sizeof(bytes)));
}

static enum at_code put_part(const struct at_copy_part *part, struct at_buf *out)
{
    AT_TRY(at_pack_array(out, PART_ITEMS));
    AT_TRY(at_pack_u64(out, AT_COPY_PART));
    AT_TRY(at_pack_str(out, part->table));
    AT_TRY(at_pack_u64(out, part->table_generation));
    AT_TRY(at_pack_str(out, part->family));
    AT_TRY(at_pack_u64(out, part->family_generation));
    AT_TRY(at_pack_u64(out, part->bytes));
    AT_TRY(at_pack_bin(out, part->start));
    return at_pack_bin(out, part->end);
}

static enum at_code get_drop(struct at_unpack *in, struct at_copy_drop *ret_drop)
{
    AT_TRY(get_table(in, &ret_drop->table, &ret_drop->table_generation));
    AT_TRY(at_unpack_bin(in, &ret_drop->prefix));
    AT_TRY(at_unpack_u64(in, &ret_drop->stamp.hlc));
    AT_TRY(at_unpack_u32(in, &ret_drop->stamp.origin.v));
    return ret_drop->prefix.len <= AT_ROW_KEY_BYTES_MAX && ret_drop->stamp.hlc > 0
               ? AT_OK
               : AT_INVALID_ARGUMENT;
}

static enum at_code get_token(struct at_unpack *in, struct at_copy_token *ret_token)
{
    struct at_slice id;

    AT_TRY(at_unpack_u64(in, &ret_token->span));
    AT_TRY(at_unpack_bin(in, &id));
    if (id.len != TOKEN_BYTES)
        return AT_INVALID_ARGUMENT;
    ret_token->id.high = at_get_be64(id.data);
    ret_token->id.low = at_get_be64(id.data + 8);
    return (ret_token->id.high | ret_token->id.low) != 0 ? AT_OK : AT_INVALID_ARGUMENT;
}

static enum at_code get_part(struct at_unpack *in, struct at_copy_part *ret_part)
{
    AT_TRY(get_table(in, &ret_part->table, &ret_part->table_generation));
    AT_TRY(at_unpack_bin(in, &ret_part->family));
    AT_TRY(at_unpack_u64(in, &ret_part->family_generation));
    AT_TRY(at_unpack_u64(in, &ret_part->bytes));
    AT_TRY(at_unpack_bin(in, &ret_part->start));
    AT_TRY(at_unpack_bin(in, &ret_part->end));
    if (ret_part->family.len > 0)
        AT_TRY(at_family_name_check(ret_part->family, NULL));
    if ((ret_part->family.len == 0) != (ret_part->family_generation == 0) ||
        ret_part->family_generation > UINT32_MAX)
        return AT_INVALID_ARGUMENT;
    if (ret_part->start.len > AT_ROW_KEY_BYTES_MAX || ret_part->end.len > AT_ROW_KEY_BYTES_MAX)
        return AT_INVALID_ARGUMENT;
    if (ret_part->end.len > 0 && at_slice_cmp(ret_part->start, ret_part->end) >= 0)
        return AT_INVALID_ARGUMENT;
    return AT_OK;
}

static enum at_code
get_table(struct at_unpack *in, struct at_slice *ret_table, uint64_t *ret_generation)
{
    AT_TRY(at_unpack_bin(in, ret_table));
    AT_TRY(at_table_name_check(*ret_table, NULL));
    AT_TRY(at_unpack_u64(in, ret_generation));
    return *ret_generation > 0 && *ret_generation <= UINT32_MAX ? AT_OK : AT_INVALID_ARGUMENT;
}
