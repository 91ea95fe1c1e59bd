/* genesis.c: what the instance file has as catalog records.
 *
 * What CreateInstance was asked for beyond what a file can say (node counts, labels) is read of the
 * request that the file keeps. */
#include "cluster/genesis.h"

#include <stdlib.h>

#include "appprofile/profile.h"
#include "atoll/v1/control.pb-c.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/escape.h"
#include "google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h"
#include "google/longrunning/operations.pb-c.h"
#include "wire/cluster_fields.h"
#include "wire/proto_alloc.h"

#define TYPE_PREFIX "type.googleapis.com/"
#define RECORD_BYTES_MAX AT_MIB

typedef Google__Bigtable__Admin__V2__CreateInstanceRequest request_t;

struct genesis {
    const struct at_instance_config *instance;
    struct at_arena *arena;
    const request_t *request; /* NULL: the instance was made by its file alone */
    struct at_catalog_record *records;
    uint32_t count;
};

static enum at_code read_request(struct genesis *g, struct at_error *reterr);
static void add(struct genesis *g,
                enum at_catalog_kind kind,
                const char *name,
                const ProtobufCMessage *message);
static void add_cluster(struct genesis *g, const struct at_cluster_config *from);
static void add_operation(struct genesis *g, Google__Bigtable__Admin__V2__Instance *instance);
static Google__Bigtable__Admin__V2__Instance *instance_of(const struct genesis *g);
static Google__Protobuf__Timestamp *begin_of(const struct genesis *g, const char *operation);

static enum at_code profile_record(const struct at_instance_config *instance,
                                   const struct at_profile_config *from,
                                   struct at_arena *arena,
                                   struct at_catalog_record *record,
                                   struct at_error *reterr);

enum at_code at_genesis_records(const struct at_instance_config *instance,
                                struct at_arena *arena,
                                struct at_catalog_record **ret_records,
                                uint32_t *ret_count,
                                struct at_error *reterr)
{
    struct genesis g = {.instance = instance, .arena = arena};

    g.records = AT_ARENA_ARRAY(arena, struct at_catalog_record,
                               instance->profile_count + instance->cluster_count + 2);
    for (uint32_t i = 0; i < instance->profile_count; i++)
        AT_TRY(
            profile_record(instance, &instance->profiles[i], arena, &g.records[g.count++], reterr));
    AT_TRY(read_request(&g, reterr));
    Google__Bigtable__Admin__V2__Instance *own = instance_of(&g);
    add(&g, AT_CATALOG_INSTANCE, instance->instance, &own->base);
    for (uint32_t i = 0; i < instance->cluster_count; i++)
        if (instance->clusters[i].join_hlc == 0 && !instance->clusters[i].joining)
            add_cluster(&g, &instance->clusters[i]);
    if (g.request)
        add_operation(&g, own);
    *ret_records = g.records;
    *ret_count = g.count;
    return AT_OK;
}

static enum at_code read_request(struct genesis *g, struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    const char *text = g->instance->created_request;

    at_buf_init(&bytes, RECORD_BYTES_MAX);
    if (!text || text[0] == '\0')
        return AT_OK;
    if (at_unescape_base64(&bytes, at_slice_cstr(text)) == AT_OK)
        g->request = at_proto_unpack(
            g->arena, &google__bigtable__admin__v2__create_instance_request__descriptor,
            at_arena_copy(g->arena, at_buf_slice(&bytes)));
    return g->request ? AT_OK
                      : at_fail(reterr, AT_INVALID_ARGUMENT,
                                "created_request of the instance file is no CreateInstanceRequest");
}

static struct at_slice pack(struct at_arena *arena, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = at_arena_alloc_raw(arena, size + 1);

    return at_slice_make(bytes, protobuf_c_message_pack(message, bytes));
}

static void
add(struct genesis *g, enum at_catalog_kind kind, const char *name, const ProtobufCMessage *message)
{
    g->records[g->count++] = (struct at_catalog_record){
        .kind = kind,
        .name = at_slice_cstr(name),
        .counter = 1,
        .fields = pack(g->arena, message),
    };
}

static char *text(const struct genesis *g, const char *from)
{
    return at_arena_printf(g->arena, "%s", from ? from : "");
}

static Google__Bigtable__Admin__V2__Instance *instance_of(const struct genesis *g)
{
    Google__Bigtable__Admin__V2__Instance *out =
        AT_ARENA_NEW(g->arena, Google__Bigtable__Admin__V2__Instance);
    const Google__Bigtable__Admin__V2__Instance *asked = g->request ? g->request->instance : NULL;
    const char *display = g->instance->display_name;

    google__bigtable__admin__v2__instance__init(out);
    out->display_name = text(g, display && display[0] ? display : g->instance->instance);
    out->state = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__STATE__READY;
    out->type = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__PRODUCTION;
    if (!asked)
        return out;
    if (asked->type != GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__TYPE_UNSPECIFIED)
        out->type = asked->type;
    out->n_labels = asked->n_labels;
    out->labels = asked->labels;
    if (g->instance->created_operation && g->instance->created_operation[0] != '\0')
        out->create_time = begin_of(g, g->instance->created_operation);
    return out;
}

static const Google__Bigtable__Admin__V2__Cluster *asked_of(const struct genesis *g, const char *id)
{
    for (size_t i = 0; g->request && i < g->request->n_clusters; i++)
        if (strcmp(g->request->clusters[i]->key, id) == 0)
            return g->request->clusters[i]->value;
    return NULL;
}

static void add_cluster(struct genesis *g, const struct at_cluster_config *from)
{
    Google__Bigtable__Admin__V2__Cluster cluster = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
    Atoll__V1__ClusterAddress address = ATOLL__V1__CLUSTER_ADDRESS__INIT;
    Atoll__V1__ClusterRecord record = ATOLL__V1__CLUSTER_RECORD__INIT;
    const Google__Bigtable__Admin__V2__Cluster *asked = asked_of(g, from->id);

    if (asked)
        cluster = *asked;
    cluster.name = text(g, "");
    cluster.location =
        at_arena_printf(g->arena, "projects/%s/locations/%s", g->instance->project, from->zone);
    cluster.state = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__STATE__READY;
    at_cluster_fields_complete(&cluster);
    address.cluster_id = text(g, from->id);
    address.zone = text(g, from->zone);
    address.member_id = from->member;
    address.host = text(g, from->host);
    address.grpc_port = from->grpc_port;
    address.peer_port = from->peer_port;
    record.cluster = &cluster;
    record.address = &address;
    add(g, AT_CATALOG_CLUSTER, from->id, &record.base);
}

static Google__Protobuf__Any *any_of(const struct genesis *g, const ProtobufCMessage *message)
{
    Google__Protobuf__Any *any = AT_ARENA_NEW(g->arena, Google__Protobuf__Any);
    struct at_slice bytes = pack(g->arena, message);
    uint8_t *data = at_arena_alloc_raw(g->arena, bytes.len + 1);

    memcpy(data, bytes.data, bytes.len);
    google__protobuf__any__init(any);
    any->type_url = at_arena_printf(g->arena, TYPE_PREFIX "%s", message->descriptor->name);
    any->value = (ProtobufCBinaryData){bytes.len, data};
    return any;
}

/* The number that ends an operation's name is when it began. */
static Google__Protobuf__Timestamp *begin_of(const struct genesis *g, const char *operation)
{
    Google__Protobuf__Timestamp *at = AT_ARENA_NEW(g->arena, Google__Protobuf__Timestamp);
    const char *last = strrchr(operation, '/');
    unsigned long long ns = last ? strtoull(last + 1, NULL, 10) : 0;

    google__protobuf__timestamp__init(at);
    at->seconds = (int64_t)(ns / AT_S_NS);
    at->nanos = (int32_t)(ns % AT_S_NS);
    return at;
}

/* The operation is done: who reads this record reads it in an instance that is there. All clusters
 * must make the same record, so it ends when it began: a moment later, none knows which. */
static void add_operation(struct genesis *g, Google__Bigtable__Admin__V2__Instance *instance)
{
    Google__Bigtable__Admin__V2__CreateInstanceMetadata metadata =
        GOOGLE__BIGTABLE__ADMIN__V2__CREATE_INSTANCE_METADATA__INIT;
    Google__Longrunning__Operation operation = GOOGLE__LONGRUNNING__OPERATION__INIT;
    const char *name = g->instance->created_operation;
    request_t request = *g->request;

    if (!name || name[0] == '\0')
        return;
    metadata.original_request = &request;
    metadata.request_time = metadata.finish_time = begin_of(g, name);
    instance->name = at_arena_printf(g->arena, "projects/%s/instances/%s", g->instance->project,
                                     g->instance->instance);
    operation.name = text(g, name);
    operation.done = true;
    operation.metadata = any_of(g, &metadata.base);
    operation.result_case = GOOGLE__LONGRUNNING__OPERATION__RESULT_RESPONSE;
    operation.response = any_of(g, &instance->base);
    add(g, AT_CATALOG_OPERATION, name, &operation.base);
}

static enum at_priority priority_of(const char *name)
{
    if (strcmp(name, "LOW") == 0)
        return AT_PRIORITY_LOW;
    return strcmp(name, "MEDIUM") == 0 ? AT_PRIORITY_MEDIUM : AT_PRIORITY_HIGH;
}

static enum at_code profile_record(const struct at_instance_config *instance,
                                   const struct at_profile_config *from,
                                   struct at_arena *arena,
                                   struct at_catalog_record *record,
                                   struct at_error *reterr)
{
    struct at_slice clusters[AT_MEMBERS_MAX], named[AT_MEMBERS_MAX];
    for (uint32_t i = 0; i < instance->cluster_count; i++)
        clusters[i] = at_slice_cstr(instance->clusters[i].id);
    for (uint32_t i = 0; i < from->cluster_count; i++)
        named[i] = at_slice_cstr(from->clusters[i]);
    bool single = strcmp(from->routing, "single") == 0;
    struct at_profile profile = {
        .description = at_slice_cstr(from->description),
        .routing = single ? AT_ROUTING_SINGLE : AT_ROUTING_ANY,
        .allow_transactional_writes = from->transactional_writes,
        .row_affinity = from->row_affinity,
        .priority = priority_of(from->priority),
    };
    if (single) {
        profile.cluster_id = named[0];
    } else {
        profile.cluster_ids = named;
        profile.cluster_id_count = from->cluster_count;
    }
    AT_TRY(at_profile_id_check(at_slice_cstr(from->id), reterr));
    AT_TRY(at_profile_check(&profile, clusters, instance->cluster_count, reterr));
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    at_buf_init(&bytes, AT_MIB);
    AT_TRY(at_profile_encode(&profile, &bytes));
    *record = (struct at_catalog_record){
        .kind = AT_CATALOG_PROFILE,
        .name = at_slice_cstr(from->id),
        .counter = 1,
        .fields = at_arena_copy(arena, at_buf_slice(&bytes)),
    };
    return AT_OK;
}
