#include "base/assert.h"
#include "cluster/admin/instance_view.h"
#include "cluster/service/namespaces.h"

/* GetInstance, ListInstances, GetCluster, ListClusters. */

static void
reply_instance(struct at_service *service, struct at_grpc_call *call, struct at_slice in)
{
    struct at_schema *schema = at_store_schema(service->store);

    at_service_reply(
        service, call,
        &at_instance_view(service, in, schema->catalog, at_grpc_call_arena(call))->base);
    at_schema_unref(&schema);
}

void at_on_get_instance(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__GetInstanceRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__get_instance_request__descriptor);

    if (!in)
        return;
    struct at_slice name = at_slice_cstr(in->name);
    struct at_slice instance;
    if (at_service_instance_check(service, name, &error) != AT_OK ||
        at_service_namespace(service, name, &instance, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        reply_instance(service, call, instance);
}

static enum at_code instances_of(struct at_service *service,
                                 struct at_arena *arena,
                                 const char *project,
                                 Google__Bigtable__Admin__V2__ListInstancesResponse *out,
                                 struct at_error *reterr)
{
    struct at_admin_parent parent;
    struct at_slice rest = at_slice_cstr(project);
    struct at_slice prefix = AT_LIT("projects/");

    if (!at_slice_has_prefix(rest, prefix) || rest.len == prefix.len ||
        strchr(project + prefix.len, '/'))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid project name '%s': projects/<project> is expected", project);
    AT_TRY(at_admin_parent(service, at_arena_printf(arena, "%s/instances/-", project), &parent,
                           reterr));
    struct at_schema *schema = at_store_schema(service->store);
    struct at_namespaces used = at_namespaces_used(schema->catalog, arena);
    out->instances = AT_ARENA_ARRAY(arena, Google__Bigtable__Admin__V2__Instance *, used.count + 1);
    if (parent.home)
        out->instances[out->n_instances++] =
            at_instance_view(service, at_slice_make(NULL, 0), schema->catalog, arena);
    for (uint32_t i = 0; i < used.count; i++)
        if (at_admin_parent_holds(&parent, used.names[i]))
            out->instances[out->n_instances++] =
                at_instance_view(service, used.names[i], schema->catalog, arena);
    at_schema_unref(&schema);
    return AT_OK;
}

void at_on_list_instances(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    Google__Bigtable__Admin__V2__ListInstancesResponse out =
        GOOGLE__BIGTABLE__ADMIN__V2__LIST_INSTANCES_RESPONSE__INIT;
    const Google__Bigtable__Admin__V2__ListInstancesRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__list_instances_request__descriptor);

    if (!in)
        return;
    if (instances_of(service, at_grpc_call_arena(call), in->parent, &out, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_service_reply(service, call, &out.base);
}

static enum at_code get_cluster(struct at_service *service,
                                struct at_arena *arena,
                                const char *name,
                                Google__Bigtable__Admin__V2__Cluster **ret_cluster,
                                struct at_error *reterr)
{
    struct at_cluster_entry entry;
    struct at_slice id, in;

    AT_TRY(at_admin_child(service, name, "/clusters/", &id, reterr));
    AT_TRY(at_service_namespace(service, at_slice_cstr(name), &in, reterr));
    struct at_schema *schema = at_store_schema(service->store);
    bool found = at_cluster_entry(service, schema->catalog, id, arena, &entry);
    if (found)
        *ret_cluster = at_cluster_view(service, in, &entry, arena);
    at_schema_unref(&schema);
    return found ? AT_OK : at_fail(reterr, AT_NOT_FOUND, "Cluster %s not found", name);
}

void at_on_get_cluster(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    Google__Bigtable__Admin__V2__Cluster *cluster = NULL;
    const Google__Bigtable__Admin__V2__GetClusterRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__get_cluster_request__descriptor);

    if (!in)
        return;
    if (get_cluster(service, at_grpc_call_arena(call), in->name, &cluster, &error) != AT_OK) {
        at_service_fail(service, call, &error);
        return;
    }
    AT_ASSERT(cluster != NULL);
    at_service_reply(service, call, &cluster->base);
}

/* Of all instances of a project, only the home instance tells its clusters: they are the same. */
static void list_clusters(struct at_service *service,
                          struct at_grpc_call *call,
                          const struct at_admin_parent *parent)
{
    struct at_arena *arena = at_grpc_call_arena(call);
    Google__Bigtable__Admin__V2__ListClustersResponse out =
        GOOGLE__BIGTABLE__ADMIN__V2__LIST_CLUSTERS_RESPONSE__INIT;
    bool none = parent->project.len > 0 && !parent->home;

    struct at_schema *schema = at_store_schema(service->store);
    struct at_cluster_entries all = at_cluster_entries(service, schema->catalog, arena);
    out.clusters = AT_ARENA_ARRAY(arena, Google__Bigtable__Admin__V2__Cluster *, all.count + 1);
    for (uint32_t i = 0; !none && i < all.count; i++)
        out.clusters[out.n_clusters++] = at_cluster_view(service, parent->in, &all.items[i], arena);
    at_service_reply(service, call, &out.base);
    at_schema_unref(&schema);
}

void at_on_list_clusters(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__ListClustersRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__list_clusters_request__descriptor);

    if (!in)
        return;
    struct at_admin_parent parent;
    if (at_admin_parent(service, in->parent, &parent, &error) != AT_OK) {
        at_service_fail(service, call, &error);
        return;
    }
    list_clusters(service, call, &parent);
}
