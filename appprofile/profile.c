/* profile.c: the wire form of app profiles, and what makes one valid.
 *
 * The serialized form is read field by field with base/pbwire.h rather than by generated code,
 * because this folder is PURE and links only base. Field numbers are those of
 * google/bigtable/admin/v2/instance.proto, message AppProfile. */
#include "appprofile/profile.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "base/hash.h"
#include "base/pbwire.h"

enum {
    FIELD_NAME = 1,
    FIELD_ETAG = 2,
    FIELD_DESCRIPTION = 3,
    FIELD_MULTI = 5,
    FIELD_SINGLE = 6,
    FIELD_OLD_PRIORITY = 7,
    FIELD_DATA_BOOST = 10,
    FIELD_STANDARD = 11,
};
enum { MULTI_CLUSTER_IDS = 1, MULTI_ROW_AFFINITY = 3 };
enum { SINGLE_CLUSTER_ID = 1, SINGLE_TRANSACTIONS = 2 };
enum { STANDARD_PRIORITY = 1 };
enum { DATA_BOOST_OWNER = 1 };

/* More clusters than an instance can have would be a mistake or an attack. */
#define CLUSTER_IDS_MAX 64

static enum at_code decode_multi(struct at_slice bytes,
                                 struct at_arena *arena,
                                 struct at_profile *p,
                                 struct at_error *reterr);
static enum at_code
decode_single(struct at_slice bytes, struct at_profile *p, struct at_error *reterr);
static enum at_code
decode_isolation(const struct at_pb_field *field, struct at_profile *p, struct at_error *reterr);
static enum at_code encode_routing(const struct at_profile *p, struct at_buf *out);
static enum at_code encode_isolation(const struct at_profile *p, struct at_buf *out);
static enum at_code encode_body(const struct at_profile *p, struct at_buf *out);
static enum at_code check_clusters(const struct at_slice *named,
                                   uint32_t named_count,
                                   const struct at_slice *clusters,
                                   uint32_t cluster_count,
                                   struct at_error *reterr);

static enum at_code malformed(struct at_error *reterr)
{
    return at_fail(reterr, AT_INVALID_ARGUMENT, "Malformed app profile");
}

static enum at_priority priority_from(uint64_t wire)
{
    return wire >= AT_PRIORITY_LOW && wire <= AT_PRIORITY_HIGH ? (enum at_priority)wire
                                                               : AT_PRIORITY_HIGH;
}

enum at_code at_profile_decode(struct at_slice bytes,
                               struct at_arena *arena,
                               struct at_profile *ret_profile,
                               struct at_error *reterr)
{
    struct at_profile p = {.priority = AT_PRIORITY_HIGH};
    struct at_pb_field field;
    bool bad = false;
    while (at_pb_next(&bytes, &field, &bad)) {
        bool is_bytes = field.type == AT_PB_BYTES;
        if (field.number == FIELD_NAME && is_bytes)
            p.name = field.bytes;
        else if (field.number == FIELD_ETAG && is_bytes)
            p.etag = field.bytes;
        else if (field.number == FIELD_DESCRIPTION && is_bytes)
            p.description = field.bytes;
        else if (field.number == FIELD_MULTI && is_bytes)
            AT_TRY(decode_multi(field.bytes, arena, &p, reterr));
        else if (field.number == FIELD_SINGLE && is_bytes)
            AT_TRY(decode_single(field.bytes, &p, reterr));
        else
            AT_TRY(decode_isolation(&field, &p, reterr));
    }
    if (bad)
        return malformed(reterr);
    *ret_profile = p;
    return AT_OK;
}

static enum at_code decode_multi(struct at_slice bytes,
                                 struct at_arena *arena,
                                 struct at_profile *p,
                                 struct at_error *reterr)
{
    struct at_slice *ids = AT_ARENA_ARRAY(arena, struct at_slice, CLUSTER_IDS_MAX);
    struct at_pb_field field;
    bool bad = false;
    p->routing = AT_ROUTING_ANY;
    p->cluster_ids = ids;
    p->cluster_id_count = 0;
    p->row_affinity = false;
    while (at_pb_next(&bytes, &field, &bad)) {
        if (field.number == MULTI_ROW_AFFINITY && field.type == AT_PB_BYTES)
            p->row_affinity = true;
        if (field.number != MULTI_CLUSTER_IDS || field.type != AT_PB_BYTES)
            continue;
        if (p->cluster_id_count == CLUSTER_IDS_MAX)
            return at_fail(
                reterr, AT_INVALID_ARGUMENT,
                "Error in field 'multi_cluster_routing_use_any' : at most %d cluster_ids",
                CLUSTER_IDS_MAX);
        ids[p->cluster_id_count++] = field.bytes;
    }
    return bad ? malformed(reterr) : AT_OK;
}

static enum at_code
decode_single(struct at_slice bytes, struct at_profile *p, struct at_error *reterr)
{
    struct at_pb_field field;
    bool bad = false;
    p->routing = AT_ROUTING_SINGLE;
    p->cluster_id = (struct at_slice){0};
    p->allow_transactional_writes = false;
    while (at_pb_next(&bytes, &field, &bad)) {
        if (field.number == SINGLE_CLUSTER_ID && field.type == AT_PB_BYTES)
            p->cluster_id = field.bytes;
        if (field.number == SINGLE_TRANSACTIONS && field.type == AT_PB_VARINT)
            p->allow_transactional_writes = field.varint != 0;
    }
    return bad ? malformed(reterr) : AT_OK;
}

static enum at_code
decode_isolation(const struct at_pb_field *field, struct at_profile *p, struct at_error *reterr)
{
    if (field->number == FIELD_OLD_PRIORITY && field->type == AT_PB_VARINT) {
        p->data_boost = false;
        p->priority = priority_from(field->varint);
        return AT_OK;
    }
    bool boost = field->number == FIELD_DATA_BOOST && field->type == AT_PB_BYTES;
    bool standard = field->number == FIELD_STANDARD && field->type == AT_PB_BYTES;
    if (!boost && !standard)
        return AT_OK;
    p->data_boost = boost;
    p->compute_billing_owner = 0;
    struct at_slice bytes = field->bytes;
    struct at_pb_field inner;
    bool bad = false;
    while (at_pb_next(&bytes, &inner, &bad)) {
        if (inner.type != AT_PB_VARINT)
            continue;
        if (boost && inner.number == DATA_BOOST_OWNER)
            p->compute_billing_owner = (uint32_t)inner.varint;
        if (standard && inner.number == STANDARD_PRIORITY)
            p->priority = priority_from(inner.varint);
    }
    return bad ? malformed(reterr) : AT_OK;
}

enum at_code at_profile_encode(const struct at_profile *p, struct at_buf *out)
{
    if (p->name.len)
        AT_TRY(at_pb_put_bytes(out, FIELD_NAME, p->name));
    if (p->etag.len)
        AT_TRY(at_pb_put_bytes(out, FIELD_ETAG, p->etag));
    return encode_body(p, out);
}

static enum at_code encode_body(const struct at_profile *p, struct at_buf *out)
{
    if (p->description.len)
        AT_TRY(at_pb_put_bytes(out, FIELD_DESCRIPTION, p->description));
    AT_TRY(encode_routing(p, out));
    return encode_isolation(p, out);
}

static enum at_code encode_routing(const struct at_profile *p, struct at_buf *out)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf inner;
    at_buf_init(&inner, CLUSTER_IDS_MAX * AT_RESOURCE_NAME_BYTES_MAX);
    if (p->routing == AT_ROUTING_SINGLE) {
        if (p->cluster_id.len)
            AT_TRY(at_pb_put_bytes(&inner, SINGLE_CLUSTER_ID, p->cluster_id));
        if (p->allow_transactional_writes)
            AT_TRY(at_pb_put_varint(&inner, SINGLE_TRANSACTIONS, 1));
        return at_pb_put_bytes(out, FIELD_SINGLE, at_buf_slice(&inner));
    }
    if (p->routing == AT_ROUTING_NONE)
        return AT_OK;
    for (uint32_t i = 0; i < p->cluster_id_count; i++)
        AT_TRY(at_pb_put_bytes(&inner, MULTI_CLUSTER_IDS, p->cluster_ids[i]));
    if (p->row_affinity)
        AT_TRY(at_pb_put_bytes(&inner, MULTI_ROW_AFFINITY, (struct at_slice){0}));
    return at_pb_put_bytes(out, FIELD_MULTI, at_buf_slice(&inner));
}

static enum at_code encode_isolation(const struct at_profile *p, struct at_buf *out)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf inner;
    at_buf_init(&inner, 64);
    if (p->data_boost) {
        if (p->compute_billing_owner)
            AT_TRY(at_pb_put_varint(&inner, DATA_BOOST_OWNER, p->compute_billing_owner));
        return at_pb_put_bytes(out, FIELD_DATA_BOOST, at_buf_slice(&inner));
    }
    enum at_priority priority = p->priority ? p->priority : AT_PRIORITY_HIGH;
    AT_TRY(at_pb_put_varint(&inner, STANDARD_PRIORITY, priority));
    return at_pb_put_bytes(out, FIELD_STANDARD, at_buf_slice(&inner));
}

enum at_code at_profile_etag(const struct at_profile *p, struct at_buf *out)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf body;
    at_buf_init(&body, AT_MIB);
    AT_TRY(encode_body(p, &body));
    return at_buf_printf(out, "%016llx", (unsigned long long)at_hash64(at_buf_slice(&body), 0));
}

enum at_code at_profile_id_check(struct at_slice id, struct at_error *reterr)
{
    bool ok = id.len > 0 && id.len <= AT_PROFILE_ID_BYTES_MAX;
    for (size_t i = 0; ok && i < id.len; i++) {
        uint8_t c = id.data[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        ok = word || c == '_' || (i > 0 && (c == '-' || c == '.'));
    }
    if (ok)
        return AT_OK;
    return at_fail(reterr, AT_INVALID_ARGUMENT,
                   "Error in field 'app_profile_id' : must match [_a-zA-Z0-9][-_.a-zA-Z0-9]* and "
                   "have 1 to %d characters",
                   AT_PROFILE_ID_BYTES_MAX);
}

enum at_code at_profile_check(const struct at_profile *p,
                              const struct at_slice *clusters,
                              uint32_t cluster_count,
                              struct at_error *reterr)
{
    if (!at_utf8_valid(p->description))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'description' : not UTF-8");
    if (p->routing == AT_ROUTING_NONE)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'routing_policy' : exactly one of "
                       "'multi_cluster_routing_use_any' and 'single_cluster_routing' must be set");
    bool single = p->routing == AT_ROUTING_SINGLE;
    if (single && p->cluster_id.len == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'single_cluster_routing.cluster_id' : must be set");
    if (p->data_boost && (!single || p->allow_transactional_writes))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'data_boost_isolation_read_only' : needs single-cluster "
                       "routing without transactional writes");
    if (single)
        return check_clusters(&p->cluster_id, 1, clusters, cluster_count, reterr);
    return check_clusters(p->cluster_ids, p->cluster_id_count, clusters, cluster_count, reterr);
}

static enum at_code check_clusters(const struct at_slice *named,
                                   uint32_t named_count,
                                   const struct at_slice *clusters,
                                   uint32_t cluster_count,
                                   struct at_error *reterr)
{
    for (uint32_t i = 0; i < named_count; i++) {
        bool known = false;
        for (uint32_t j = 0; j < cluster_count && !known; j++)
            known = at_slice_eq(named[i], clusters[j]);
        if (!known)
            return at_fail(reterr, AT_NOT_FOUND, "Cluster '%.*s' not found in this instance",
                           AT_SLICE_ARG(named[i]));
        for (uint32_t j = 0; j < i; j++)
            if (at_slice_eq(named[i], named[j]))
                return at_fail(reterr, AT_INVALID_ARGUMENT, "Cluster '%.*s' is named twice",
                               AT_SLICE_ARG(named[i]));
    }
    return AT_OK;
}

enum at_code at_profile_transactions(const struct at_profile *p, struct at_error *reterr)
{
    if (p->routing == AT_ROUTING_SINGLE && p->allow_transactional_writes && !p->data_boost)
        return AT_OK;
    return at_fail(reterr, AT_FAILED_PRECONDITION,
                   "Single-row transactions are not allowed by this app profile");
}

bool at_profile_serves(const struct at_profile *p, struct at_slice cluster)
{
    if (p->routing == AT_ROUTING_SINGLE)
        return at_slice_eq(p->cluster_id, cluster);
    if (p->routing != AT_ROUTING_ANY)
        return false;
    for (uint32_t i = 0; i < p->cluster_id_count; i++)
        if (at_slice_eq(p->cluster_ids[i], cluster))
            return true;
    return p->cluster_id_count == 0;
}
