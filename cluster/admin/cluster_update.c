#include "cluster/admin/cluster_update.h"

#include "base/assert.h"
#include "cluster/admin/instance_view.h"
#include "cluster/admin/mask.h"
#include "wire/cluster_fields.h"

/* Node counts and autoscaling limits are kept and reported; the operation is done when it is
 * answered. UpdateCluster sets the node count alone, PartialUpdateCluster what its mask names. A
 * cluster that gets a node count is not autoscaled any more, unless both are given. */

typedef Google__Bigtable__Admin__V2__Cluster cluster_t;
typedef Google__Bigtable__Admin__V2__Cluster__ClusterAutoscalingConfig scaling_t;

enum { LEAF_MIN = 1, LEAF_MAX = 2, LEAF_CPU = 4, LEAF_STORAGE = 8 };

#define SCALING "cluster_config.cluster_autoscaling_config"
static const struct {
    const char *path;
    unsigned leaves;
} LEAVES[] = {
    {SCALING ".autoscaling_limits", LEAF_MIN | LEAF_MAX},
    {SCALING ".autoscaling_limits.min_serve_nodes", LEAF_MIN},
    {SCALING ".autoscaling_limits.max_serve_nodes", LEAF_MAX},
    {SCALING ".autoscaling_targets", LEAF_CPU | LEAF_STORAGE},
    {SCALING ".autoscaling_targets.cpu_utilization_percent", LEAF_CPU},
    {SCALING ".autoscaling_targets.storage_utilization_gib_per_node", LEAF_STORAGE},
};

struct update_cluster {
    struct at_change change; /* first */
    struct at_slice in;      /* as at_service_namespace says */
    struct at_slice id;
    const cluster_t *wanted;
    bool sets_nodes;
    unsigned leaves;       /* of autoscaling that are set */
    bool replaces_scaling; /* the mask names all of autoscaling, which may be off then */
    uint64_t start_ns;     /* wall */
    Google__Bigtable__Admin__V2__PartialUpdateClusterRequest *request; /* NULL: UpdateCluster */
};

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);

static struct at_slice no_bytes(void)
{
    return at_slice_make(NULL, 0);
}

static const ProtobufCMessage *metadata_of(const struct update_cluster *u, struct at_arena *arena)
{
    Google__Protobuf__Timestamp *begun = at_admin_time(arena, u->start_ns);
    Google__Protobuf__Timestamp *ended =
        at_admin_time(arena, at_clock_wall_ns(&u->change.service->clock));

    if (!u->request) {
        Google__Bigtable__Admin__V2__UpdateClusterMetadata *all =
            AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__UpdateClusterMetadata);
        cluster_t *original = AT_ARENA_NEW(arena, cluster_t);
        google__bigtable__admin__v2__update_cluster_metadata__init(all);
        *original = *u->wanted;
        all->original_request = original;
        all->request_time = begun;
        all->finish_time = ended;
        return &all->base;
    }
    Google__Bigtable__Admin__V2__PartialUpdateClusterMetadata *part =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__PartialUpdateClusterMetadata);
    google__bigtable__admin__v2__partial_update_cluster_metadata__init(part);
    part->original_request = u->request;
    part->request_time = begun;
    part->finish_time = ended;
    return &part->base;
}

static enum at_code answer(const struct at_change *change,
                           const struct at_catalog *after,
                           struct at_operation_answer *ret_answer,
                           struct at_error *reterr)
{
    const struct update_cluster *u = (const struct update_cluster *)change;
    struct at_arena *arena = change->write.arena;
    struct at_cluster_entry entry;

    if (!at_cluster_entry(change->service, after, u->id, arena, &entry))
        return at_fail(reterr, AT_NOT_FOUND, "Cluster %s not found", u->wanted->name);
    cluster_t *out = at_cluster_view(change->service, u->in, &entry, arena);
    *ret_answer = (struct at_operation_answer){out->name, &out->base, metadata_of(u, arena)};
    return AT_OK;
}

static enum at_code prepare(struct update_cluster *u, struct at_error *reterr)
{
    struct at_service *service = u->change.service;

    if (!u->wanted)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'cluster' : must be set");
    AT_TRY(at_admin_child(service, u->wanted->name, "/clusters/", &u->id, reterr));
    AT_TRY(at_service_namespace(service, at_slice_cstr(u->wanted->name), &u->in, reterr));
    bool scales = u->leaves != 0 || (u->replaces_scaling && at_cluster_autoscaling(u->wanted));
    if (u->sets_nodes && !scales && u->wanted->serve_nodes <= 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'serve_nodes' : must be greater than 0");
    return AT_OK;
}

static struct update_cluster *update_new(struct at_service *service, struct at_grpc_call *call)
{
    struct update_cluster *u = AT_ARENA_NEW(at_grpc_call_arena(call), struct update_cluster);

    u->start_ns = at_clock_wall_ns(&service->clock);
    u->id = u->in = no_bytes();
    u->change = (struct at_change){.service = service, .call = call, .write.decide = decide};
    return u;
}

void at_on_update_cluster(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const cluster_t *in =
        at_service_unpack(service, call, &google__bigtable__admin__v2__cluster__descriptor);

    if (!in)
        return;
    struct update_cluster *u = update_new(service, call);
    u->wanted = in;
    u->sets_nodes = true;
    if (prepare(u, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_operation_submit(&u->change, answer);
}

static enum at_code read_path(struct update_cluster *u, const char *path, struct at_error *reterr)
{
    for (size_t i = 0; i < sizeof(LEAVES) / sizeof(LEAVES[0]); i++) {
        if (!at_mask_same(path, LEAVES[i].path))
            continue;
        u->leaves |= LEAVES[i].leaves;
        return AT_OK;
    }
    if (at_mask_same(path, "serve_nodes"))
        u->sets_nodes = true;
    else if (at_mask_same(path, "cluster_config") || at_mask_same(path, SCALING))
        u->replaces_scaling = true;
    else
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'update_mask' : '%s' can't be updated", path);
    return AT_OK;
}

static enum at_code prepare_partial(struct update_cluster *u, struct at_error *reterr)
{
    const Google__Protobuf__FieldMask *mask = u->request->update_mask;

    if (!mask || mask->n_paths == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'update_mask' : must be set");
    for (size_t i = 0; i < mask->n_paths; i++)
        AT_TRY(read_path(u, mask->paths[i], reterr));
    u->wanted = u->request->cluster;
    return prepare(u, reterr);
}

void at_on_partial_update_cluster(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    Google__Bigtable__Admin__V2__PartialUpdateClusterRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__partial_update_cluster_request__descriptor);

    if (!in)
        return;
    struct update_cluster *u = update_new(service, call);
    u->request = in;
    if (prepare_partial(u, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_operation_submit(&u->change, answer);
}

/* --- on the writer thread --- */

/* Fills in the parts of autoscaling that are not there, so that leaves can be set. */
static scaling_t *scaling_of(cluster_t *cluster, struct at_arena *arena)
{
    if (!at_cluster_autoscaling(cluster)) {
        cluster->config_case = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CONFIG_CLUSTER_CONFIG;
        cluster->cluster_config =
            AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__Cluster__ClusterConfig);
        google__bigtable__admin__v2__cluster__cluster_config__init(cluster->cluster_config);
        cluster->cluster_config->cluster_autoscaling_config = AT_ARENA_NEW(arena, scaling_t);
        google__bigtable__admin__v2__cluster__cluster_autoscaling_config__init(
            cluster->cluster_config->cluster_autoscaling_config);
    }
    scaling_t *scaling = cluster->cluster_config->cluster_autoscaling_config;
    if (!scaling->autoscaling_limits) {
        scaling->autoscaling_limits =
            AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__AutoscalingLimits);
        google__bigtable__admin__v2__autoscaling_limits__init(scaling->autoscaling_limits);
    }
    if (!scaling->autoscaling_targets) {
        scaling->autoscaling_targets =
            AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__AutoscalingTargets);
        google__bigtable__admin__v2__autoscaling_targets__init(scaling->autoscaling_targets);
    }
    return scaling;
}

static void merge_leaves(unsigned leaves, const cluster_t *from, cluster_t *to, struct at_arena *a)
{
    cluster_t wanted = *from;
    const scaling_t *asked = scaling_of(&wanted, a);
    scaling_t *now = scaling_of(to, a);

    if (leaves & LEAF_MIN)
        now->autoscaling_limits->min_serve_nodes = asked->autoscaling_limits->min_serve_nodes;
    if (leaves & LEAF_MAX)
        now->autoscaling_limits->max_serve_nodes = asked->autoscaling_limits->max_serve_nodes;
    if (leaves & LEAF_CPU)
        now->autoscaling_targets->cpu_utilization_percent =
            asked->autoscaling_targets->cpu_utilization_percent;
    if (leaves & LEAF_STORAGE)
        now->autoscaling_targets->storage_utilization_gib_per_node =
            asked->autoscaling_targets->storage_utilization_gib_per_node;
}

static enum at_code merge(const struct update_cluster *u,
                          cluster_t *stored,
                          struct at_arena *arena,
                          struct at_error *reterr)
{
    bool keeps = !u->replaces_scaling && u->leaves == 0 && !(u->request && u->sets_nodes);

    if (u->sets_nodes)
        stored->serve_nodes = u->wanted->serve_nodes;
    if (u->replaces_scaling && at_cluster_autoscaling(u->wanted)) {
        stored->config_case = u->wanted->config_case;
        stored->cluster_config = u->wanted->cluster_config;
    } else if (u->leaves != 0) {
        merge_leaves(u->leaves, u->wanted, stored, arena);
    } else if (!keeps) {
        stored->config_case = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CONFIG__NOT_SET;
        stored->cluster_config = NULL;
    }
    AT_TRY(at_cluster_fields_check(stored, reterr));
    at_cluster_fields_complete(stored);
    return AT_OK;
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    const struct update_cluster *u = (struct update_cluster *)at_change_of(write);
    struct at_cluster_entry entry;

    if (!at_cluster_entry(u->change.service, catalog, u->id, write->arena, &entry))
        return at_fail(reterr, AT_NOT_FOUND, "Cluster %s not found", u->wanted->name);
    if (at_cluster_creating(&entry))
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "Cannot update cluster that is currently being modified");
    AT_TRY(merge(u, entry.record->cluster, write->arena, reterr));
    *at_change_record(write, 1) = (struct at_catalog_record){
        .kind = AT_CATALOG_CLUSTER,
        .name = u->id,
        .counter = entry.generation | 1,
        .fields = at_admin_pack(write->arena, &entry.record->base),
    };
    return AT_OK;
}
