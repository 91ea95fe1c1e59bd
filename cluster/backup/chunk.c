#include "cluster/backup/chunk.h"

#include "base/bytes.h"
#include "base/crc32c.h"

#define ITEM_FIELDS 5
#define FIELDS_BYTES_MAX (64 * AT_KIB) /* of one family */

static enum at_code loss(enum at_code code)
{
    return code == AT_OK ? AT_OK : AT_DATA_LOSS;
}

enum at_code at_backup_head_encode(const struct at_backup_head *head, struct at_buf *out)
{
    AT_TRY(at_pack_u64(out, AT_BACKUP_HEAD));
    AT_TRY(at_pack_bin(out, head->source_table));
    AT_TRY(at_pack_i64(out, head->granularity_micros));
    AT_TRY(at_pack_array(out, 2 * head->family_count));
    for (uint32_t i = 0; i < head->family_count; i++) {
        AT_TRY(at_pack_bin(out, head->families[i].name));
        AT_TRY(at_pack_bin(out, head->families[i].fields));
    }
    return AT_OK;
}

enum at_code at_backup_end_encode(const struct at_backup_end *end, struct at_buf *out)
{
    AT_TRY(at_pack_u64(out, AT_BACKUP_END));
    AT_TRY(at_pack_u64(out, end->rows));
    return at_pack_u64(out, end->cells);
}

enum at_code at_backup_cells_begin(struct at_buf *out)
{
    return at_pack_u64(out, AT_BACKUP_CELLS);
}

enum at_code at_backup_item_encode(const struct at_backup_item *item, struct at_buf *out)
{
    size_t len = out->len;
    enum at_code code = at_pack_array(out, ITEM_FIELDS);

    if (code == AT_OK)
        code = item->row.len > 0 ? at_pack_bin(out, item->row) : at_pack_nil(out);
    if (code == AT_OK)
        code = at_pack_u64(out, item->family);
    if (code == AT_OK)
        code = at_pack_bin(out, item->qualifier);
    if (code == AT_OK)
        code = at_pack_i64(out, item->timestamp_micros);
    if (code == AT_OK)
        code = at_pack_bin(out, item->value);
    if (code != AT_OK)
        out->len = len;
    return code;
}

enum at_code at_backup_payload_kind(struct at_slice payload,
                                    enum at_backup_chunk *ret_kind,
                                    struct at_unpack *ret_rest)
{
    uint64_t kind = 0;

    at_unpack_init(ret_rest, payload);
    if (at_unpack_u64(ret_rest, &kind) != AT_OK || kind < AT_BACKUP_HEAD || kind > AT_BACKUP_END)
        return AT_DATA_LOSS;
    *ret_kind = (enum at_backup_chunk)kind;
    return AT_OK;
}

static enum at_code
get_families(struct at_unpack *in, struct at_arena *arena, struct at_backup_head *h)
{
    uint32_t count = 0;

    AT_TRY(at_unpack_array(in, 2 * AT_FAMILIES_MAX, &count));
    h->families = AT_ARENA_ARRAY(arena, struct at_backup_family, count + 1);
    h->family_count = count / 2;
    for (uint32_t i = 0; i < h->family_count; i++) {
        struct at_backup_family *f = &h->families[i];
        AT_TRY(at_unpack_bin(in, &f->name));
        AT_TRY(at_unpack_bin(in, &f->fields));
        if (f->name.len == 0 || f->name.len > AT_FAMILY_BYTES_MAX ||
            f->fields.len > FIELDS_BYTES_MAX)
            return AT_DATA_LOSS;
        if (i > 0 && at_slice_cmp(h->families[i - 1].name, f->name) >= 0)
            return AT_DATA_LOSS;
    }
    return count % 2 == 0 ? AT_OK : AT_DATA_LOSS;
}

enum at_code
at_backup_head_decode(struct at_unpack *in, struct at_arena *arena, struct at_backup_head *ret_head)
{
    *ret_head = (struct at_backup_head){0};
    AT_TRY(loss(at_unpack_bin(in, &ret_head->source_table)));
    AT_TRY(loss(at_unpack_i64(in, &ret_head->granularity_micros)));
    AT_TRY(loss(get_families(in, arena, ret_head)));
    bool right = (ret_head->granularity_micros == 1 || ret_head->granularity_micros == 1000) &&
                 ret_head->source_table.len <= AT_RESOURCE_NAME_BYTES_MAX;
    return right && at_unpack_done(in) ? AT_OK : AT_DATA_LOSS;
}

enum at_code at_backup_end_decode(struct at_unpack *in, struct at_backup_end *ret_end)
{
    AT_TRY(loss(at_unpack_u64(in, &ret_end->rows)));
    AT_TRY(loss(at_unpack_u64(in, &ret_end->cells)));
    return at_unpack_done(in) ? AT_OK : AT_DATA_LOSS;
}

enum at_code
at_backup_item_decode(struct at_unpack *in, uint32_t family_count, struct at_backup_item *ret_item)
{
    uint32_t count = 0;

    *ret_item = (struct at_backup_item){0};
    AT_TRY(loss(at_unpack_array(in, ITEM_FIELDS, &count)));
    if (count != ITEM_FIELDS)
        return AT_DATA_LOSS;
    if (!at_unpack_is_nil(in)) {
        AT_TRY(loss(at_unpack_bin(in, &ret_item->row)));
        if (ret_item->row.len == 0 || ret_item->row.len > AT_ROW_KEY_BYTES_MAX)
            return AT_DATA_LOSS;
    }
    AT_TRY(loss(at_unpack_u32(in, &ret_item->family)));
    AT_TRY(loss(at_unpack_bin(in, &ret_item->qualifier)));
    AT_TRY(loss(at_unpack_i64(in, &ret_item->timestamp_micros)));
    AT_TRY(loss(at_unpack_bin(in, &ret_item->value)));
    bool right = ret_item->family < family_count &&
                 ret_item->qualifier.len <= AT_QUALIFIER_BYTES_MAX &&
                 ret_item->timestamp_micros >= 0 && ret_item->value.len <= AT_VALUE_BYTES_MAX;
    return right ? AT_OK : AT_DATA_LOSS;
}

void at_backup_chunk_head(struct at_slice payload, uint8_t ret_head[AT_BACKUP_CHUNK_HEAD_BYTES])
{
    at_put_be32(ret_head, (uint32_t)payload.len);
    at_put_be32(ret_head + 4, at_crc32c(payload));
}

enum at_code at_backup_chunk_size(const uint8_t head[AT_BACKUP_CHUNK_HEAD_BYTES], size_t *ret_size)
{
    *ret_size = at_get_be32(head);
    return *ret_size > 0 && *ret_size <= AT_BACKUP_PAYLOAD_BYTES_MAX ? AT_OK : AT_DATA_LOSS;
}

bool at_backup_chunk_check(const uint8_t head[AT_BACKUP_CHUNK_HEAD_BYTES], struct at_slice payload)
{
    return at_get_be32(head) == payload.len && at_get_be32(head + 4) == at_crc32c(payload);
}
