#include "cluster/control/cluster_add.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/admin/cluster_progress.h"
#include "cluster/admin/instance_view.h"
#include "cluster/model/operation.h"
#include "replication/member_info.h"
#include "wire/cluster_fields.h"

struct add_cluster {
    struct at_change change; /* first */
    const Atoll__V1__AddClusterRequest *in;
    struct at_slice id;
    struct at_slice info; /* of the member, encoded */
    Google__Bigtable__Admin__V2__CreateClusterRequest *original;
    uint64_t start_ns; /* wall */
    struct at_operation act;
};

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);

Atoll__V1__MembersResponse *at_members_response(struct at_service *service, struct at_arena *arena)
{
    Atoll__V1__MembersResponse *out = AT_ARENA_NEW(arena, Atoll__V1__MembersResponse);
    struct at_schema *schema = at_store_schema(service->store);
    struct at_cluster_entries all = at_cluster_entries(service, schema->catalog, arena);
    struct at_replica_view view;

    atoll__v1__members_response__init(out);
    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    out->instance_id = view.instance_id;
    out->hlc = view.hlc;
    out->settings = (Atoll__V1__InstanceSettings *)(uintptr_t)service->settings;
    at_replica_view_deinit(&view);
    out->members = AT_ARENA_ARRAY(arena, Atoll__V1__ClusterAddress *, all.count + 1);
    for (uint32_t i = 0; i < all.count; i++)
        out->members[out->n_members++] = all.items[i].record->address;
    at_schema_unref(&schema);
    return out;
}

void at_on_members(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;

    if (at_service_unpack(service, call, &atoll__v1__members_request__descriptor))
        at_service_reply(service, call,
                         &at_members_response(service, at_grpc_call_arena(call))->base);
}

static void on_added(struct at_change *change)
{
    struct at_arena *arena = at_grpc_call_arena(change->call);
    Atoll__V1__AddClusterResponse out = ATOLL__V1__ADD_CLUSTER_RESPONSE__INIT;
    struct at_slice bytes = at_admin_pack(arena, &change->operation->base);

    out.operation.len = bytes.len;
    out.operation.data = at_arena_alloc_raw(arena, bytes.len + 1);
    memcpy(out.operation.data, bytes.data, bytes.len);
    out.members = at_members_response(change->service, arena);
    at_service_reply(change->service, change->call, &out.base);
}

/* Nobody starts it: it is to join by itself, and is no member before. */
static bool is_planned(const Atoll__V1__ClusterAddress *address)
{
    return address->member_id == 0 && address->host[0] == '\0' && address->grpc_port == 0 &&
           address->peer_port == 0;
}

static enum at_code check_place(const Atoll__V1__ClusterAddress *address, struct at_error *reterr)
{
    if (address->member_id == 0 || address->member_id == UINT32_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'address.member_id'");
    if (address->host[0] == '\0' || address->grpc_port == 0 || address->grpc_port > UINT16_MAX ||
        address->peer_port == 0 || address->peer_port > UINT16_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'address' : host and both ports must be set");
    return AT_OK;
}

static enum at_code check_address(const Atoll__V1__ClusterAddress *address, struct at_error *reterr)
{
    if (!address)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'address.member_id'");
    if (!is_planned(address))
        AT_TRY(check_place(address, reterr));
    if (address->zone[0] == '\0' || strlen(address->zone) > AT_INSTANCE_ID_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'address.zone'");
    return AT_OK;
}

enum at_code at_cluster_address_info(struct at_slice id,
                                     const Atoll__V1__ClusterAddress *address,
                                     struct at_arena *arena,
                                     struct at_slice *ret_info,
                                     struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    const struct at_member_info info = {
        .cluster_id = id,
        .zone = at_slice_cstr(address->zone),
        .host = at_slice_cstr(address->host),
        .grpc_port = (uint16_t)address->grpc_port,
        .peer_port = (uint16_t)address->peer_port,
    };

    at_buf_init(&bytes, AT_MEMBER_INFO_BYTES_MAX);
    if (at_member_info_encode(&info, &bytes) != AT_OK)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'address' : too long");
    *ret_info = at_arena_copy(arena, at_buf_slice(&bytes));
    return AT_OK;
}

static enum at_code prepare(struct add_cluster *a, struct at_error *reterr)
{
    const Atoll__V1__AddClusterRequest *in = a->in;
    struct at_arena *arena = at_grpc_call_arena(a->change.call);

    AT_TRY(at_cluster_id_check(in->cluster_id, reterr));
    AT_TRY(check_address(in->address, reterr));
    if (!in->cluster)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'cluster' : must be set");
    AT_TRY(at_cluster_fields_check(in->cluster, reterr));
    a->id = at_slice_cstr(in->cluster_id);
    a->original =
        at_proto_unpack(arena, &google__bigtable__admin__v2__create_cluster_request__descriptor,
                        at_slice_make(in->original_request.data, in->original_request.len));
    if (!a->original)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'original_request' : is no CreateClusterRequest");
    a->original->cluster_id = in->cluster_id; /* by which progress is found */
    return at_cluster_address_info(a->id, a->in->address, arena, &a->info, reterr);
}

void at_on_add_cluster(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Atoll__V1__AddClusterRequest *in =
        at_service_unpack(service, call, &atoll__v1__add_cluster_request__descriptor);

    if (!in)
        return;
    struct add_cluster *a = AT_ARENA_NEW(at_grpc_call_arena(call), struct add_cluster);
    a->in = in;
    a->start_ns = at_clock_wall_ns(&service->clock);
    a->change = (struct at_change){
        .service = service, .call = call, .write.decide = decide, .reply = on_added};
    if (prepare(a, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_change_submit(&a->change);
}

/* --- on the writer thread --- */

static enum at_code check_room(const struct add_cluster *a,
                               const struct at_cluster_entries *all,
                               struct at_error *reterr)
{
    const struct at_service *service = a->change.service;

    for (uint32_t i = 0; i < all->count; i++)
        if (at_slice_eq(all->items[i].id, a->id))
            return at_fail(reterr, AT_ALREADY_EXISTS,
                           "Cluster projects/%s/instances/%s/clusters/%s already exists",
                           service->project, service->instance, a->in->cluster_id);
    for (uint32_t i = 0; i < all->count; i++) {
        const Atoll__V1__ClusterAddress *there = all->items[i].record->address;
        if (strcmp(there->zone, a->in->address->zone) == 0)
            return at_fail(reterr, AT_FAILED_PRECONDITION,
                           "Cannot create multiple clusters in the same zone.");
        if (there->member_id == a->in->address->member_id && there->member_id != 0)
            return at_fail(reterr, AT_ALREADY_EXISTS, "Member %u is there already",
                           there->member_id);
    }
    if (all->count >= AT_CLUSTERS_MAX)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "An instance has at most %d clusters",
                       AT_CLUSTERS_MAX);
    return AT_OK;
}

/* All tables that there are now will be copied; later ones come by the log and are not listed. */
static void list_tables(const struct add_cluster *a,
                        const struct at_catalog *catalog,
                        Google__Bigtable__Admin__V2__CreateClusterMetadata *metadata)
{
    struct at_arena *arena = a->change.write.arena;
    uint32_t count = at_catalog_table_count(catalog);

    metadata->tables = AT_ARENA_ARRAY(
        arena, Google__Bigtable__Admin__V2__CreateClusterMetadata__TablesEntry *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        Google__Bigtable__Admin__V2__CreateClusterMetadata__TablesEntry *entry =
            AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__CreateClusterMetadata__TablesEntry);
        google__bigtable__admin__v2__create_cluster_metadata__tables_entry__init(entry);
        const struct at_table *table = at_catalog_table_at(catalog, i);
        entry->key = at_admin_table_name(a->change.service, arena, table->name);
        entry->value =
            AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__CreateClusterMetadata__TableProgress);
        google__bigtable__admin__v2__create_cluster_metadata__table_progress__init(entry->value);
        entry->value->estimated_size_bytes =
            (int64_t)at_cluster_table_bytes(a->change.service, table);
        entry->value->state =
            GOOGLE__BIGTABLE__ADMIN__V2__CREATE_CLUSTER_METADATA__TABLE_PROGRESS__STATE__PENDING;
        metadata->tables[metadata->n_tables++] = entry;
    }
}

static void begin(struct add_cluster *a, const struct at_catalog *catalog)
{
    const struct at_service *service = a->change.service;
    struct at_arena *arena = a->change.write.arena;
    Google__Bigtable__Admin__V2__CreateClusterMetadata metadata =
        GOOGLE__BIGTABLE__ADMIN__V2__CREATE_CLUSTER_METADATA__INIT;

    metadata.original_request = a->original;
    metadata.request_time = at_admin_time(arena, a->start_ns);
    list_tables(a, catalog, &metadata);
    at_operation_begin(&a->change,
                       at_arena_printf(arena, "projects/%s/instances/%s/clusters/%s",
                                       service->project, service->instance, a->in->cluster_id),
                       a->start_ns, &metadata.base);
}

static struct at_slice record_bytes(const struct add_cluster *a)
{
    struct at_arena *arena = a->change.write.arena;
    Google__Bigtable__Admin__V2__Cluster cluster = *a->in->cluster;
    Atoll__V1__ClusterAddress address = *a->in->address;
    Atoll__V1__ClusterRecord record = ATOLL__V1__CLUSTER_RECORD__INIT;
    char empty[] = "";

    at_cluster_fields_complete(&cluster);
    cluster.name = empty;
    cluster.location = at_arena_printf(arena, "projects/%s/locations/%s",
                                       a->change.service->project, address.zone);
    cluster.state = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__STATE__CREATING;
    address.cluster_id = a->in->cluster_id;
    record.cluster = &cluster;
    record.address = &address;
    record.operation = a->change.operation->name;
    return at_admin_pack(arena, &record.base);
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    struct add_cluster *a = (struct add_cluster *)at_change_of(write);
    struct at_cluster_entries all = at_cluster_entries(a->change.service, catalog, write->arena);

    AT_TRY(check_room(a, &all, reterr));
    struct at_catalog_record *record = at_change_record(write, 1);
    begin(a, catalog); /* the record names the operation */
    *record = (struct at_catalog_record){
        .kind = AT_CATALOG_CLUSTER,
        .name = a->id,
        .counter = at_catalog_named_counter(catalog, AT_CATALOG_CLUSTER, a->id) + 1,
        .fields = record_bytes(a),
    };
    if (is_planned(a->in->address))
        return AT_OK;
    a->act = (struct at_operation){
        .kind = AT_OPERATION_MEMBER,
        .members = {{a->in->address->member_id}},
        .member_count = 1,
        .info = a->info,
    };
    write->acts = &a->act;
    write->act_count = 1;
    return AT_OK;
}
