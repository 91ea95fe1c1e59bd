#include "cluster/model/catalog.h"

#include "base/limits.h"
#include "base/namespace.h"
#include "cluster/model/pack_size.h"

/* [kind, name, table, table_generation, counter, hlc, origin, fields]: one form for all kinds, so
 * that what does not apply is empty or 0. Counters count creations and deletions; they are bounded
 * to 32 bits, the width that mutations carry generations in. */

#define RECORD_ITEMS 8

static enum at_code put_items(const struct at_catalog_record *r, struct at_buf *out);
static enum at_code check_names(const struct at_catalog_record *r);
static size_t name_bytes_max(enum at_catalog_kind kind);
static bool is_name_byte(uint8_t c, bool first);

enum at_code at_catalog_record_encode(const struct at_catalog_record *r, struct at_buf *out)
{
    size_t len = out->len;
    enum at_code code = put_items(r, out);

    if (code != AT_OK)
        out->len = len;
    return code;
}

size_t at_catalog_record_size(const struct at_catalog_record *r)
{
    return at_pack_size_array(RECORD_ITEMS) + at_pack_size_u64((uint64_t)r->kind) +
           at_pack_size_str(r->name) + at_pack_size_str(r->table) +
           at_pack_size_u64(r->table_generation) + at_pack_size_u64(r->counter) +
           at_pack_size_u64(r->stamp.hlc) + at_pack_size_u64(r->stamp.origin.v) +
           at_pack_size_bin(r->fields);
}

enum at_code at_catalog_record_decode(struct at_unpack *in, struct at_catalog_record *ret_record)
{
    struct at_catalog_record r = {0};
    uint32_t items = 0;
    uint32_t kind = 0;

    AT_TRY(at_unpack_array(in, RECORD_ITEMS, &items));
    if (items != RECORD_ITEMS)
        return AT_INVALID_ARGUMENT;
    AT_TRY(at_unpack_u32(in, &kind));
    AT_TRY(at_unpack_bin(in, &r.name));
    AT_TRY(at_unpack_bin(in, &r.table));
    AT_TRY(at_unpack_u64(in, &r.table_generation));
    AT_TRY(at_unpack_u64(in, &r.counter));
    AT_TRY(at_unpack_u64(in, &r.stamp.hlc));
    AT_TRY(at_unpack_u32(in, &r.stamp.origin.v));
    AT_TRY(at_unpack_bin(in, &r.fields));
    if (kind < AT_CATALOG_TABLE || kind > AT_CATALOG_KIND_MAX)
        return AT_INVALID_ARGUMENT;
    r.kind = (enum at_catalog_kind)kind;
    if (r.counter == 0 || r.counter > UINT32_MAX || r.table_generation > UINT32_MAX)
        return AT_INVALID_ARGUMENT;
    AT_TRY(check_names(&r));
    *ret_record = r;
    return AT_OK;
}

enum at_code at_table_id_check(struct at_slice id, struct at_error *reterr)
{
    if (id.len == 0 || id.len > AT_TABLE_ID_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Table ids must have 1 to %d characters, but got %zu", AT_TABLE_ID_BYTES_MAX,
                       id.len);
    for (size_t i = 0; i < id.len; i++)
        if (!is_name_byte(id.data[i], i == 0))
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "Table id must match [_a-zA-Z0-9][-_.a-zA-Z0-9]*, "
                           "but character %zu does not",
                           i + 1);
    return AT_OK;
}

enum at_code at_table_name_check(struct at_slice name, struct at_error *reterr)
{
    struct at_slice collection = AT_LIT("/tables/");
    struct at_slice rest = name;
    struct at_instance_name instance;

    if (!at_namespace_take(&rest, &instance))
        return at_table_id_check(name, reterr);
    AT_TRY(at_namespace_check(&instance, reterr));
    if (!at_slice_has_prefix(rest, collection))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid table name '%.*s': projects/<project>/instances/<instance>/tables/"
                       "<table> is expected",
                       AT_SLICE_ARG(name));
    return at_table_id_check(at_slice_from(rest, collection.len), reterr);
}

enum at_code at_family_name_check(struct at_slice name, struct at_error *reterr)
{
    if (name.len == 0 || name.len > AT_FAMILY_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Family names must have 1 to %d characters, but got %zu",
                       AT_FAMILY_BYTES_MAX, name.len);
    for (size_t i = 0; i < name.len; i++)
        if (!is_name_byte(name.data[i], false))
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "Family name must match [-_.a-zA-Z0-9]+, but character %zu does not",
                           i + 1);
    return AT_OK;
}

static enum at_code put_items(const struct at_catalog_record *r, struct at_buf *out)
{
    AT_TRY(at_pack_array(out, RECORD_ITEMS));
    AT_TRY(at_pack_u64(out, (uint64_t)r->kind));
    AT_TRY(at_pack_str(out, r->name));
    AT_TRY(at_pack_str(out, r->table));
    AT_TRY(at_pack_u64(out, r->table_generation));
    AT_TRY(at_pack_u64(out, r->counter));
    AT_TRY(at_pack_u64(out, r->stamp.hlc));
    AT_TRY(at_pack_u64(out, r->stamp.origin.v));
    return at_pack_bin(out, r->fields);
}

static enum at_code check_names(const struct at_catalog_record *r)
{
    switch (r->kind) {
    case AT_CATALOG_TABLE:
        return at_table_name_check(r->name, NULL);
    case AT_CATALOG_FAMILY:
        AT_TRY(at_family_name_check(r->name, NULL));
        return at_table_name_check(r->table, NULL);
    case AT_CATALOG_POLICY:
        return r->name.len <= AT_RESOURCE_NAME_BYTES_MAX ? AT_OK : AT_INVALID_ARGUMENT;
    case AT_CATALOG_PROFILE: /* its form is appprofile's to check; here it is only bounded */
    case AT_CATALOG_INSTANCE:
    case AT_CATALOG_CLUSTER:
    case AT_CATALOG_OPERATION:
    case AT_CATALOG_BACKUP:
        break;
    }
    return r->name.len > 0 && r->name.len <= name_bytes_max(r->kind) ? AT_OK : AT_INVALID_ARGUMENT;
}

static size_t name_bytes_max(enum at_catalog_kind kind)
{
    /* Of other instances these are kept by their whole names: see base/namespace.h. */
    if (kind == AT_CATALOG_PROFILE || kind == AT_CATALOG_INSTANCE)
        return AT_KEPT_NAME_BYTES_MAX;
    if (kind == AT_CATALOG_OPERATION || kind == AT_CATALOG_BACKUP)
        return AT_RESOURCE_NAME_BYTES_MAX;
    return AT_INSTANCE_ID_BYTES_MAX;
}

static bool is_name_byte(uint8_t c, bool first)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

    return letter || c == '_' || (!first && (c == '-' || c == '.'));
}
