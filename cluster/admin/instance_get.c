#include "cluster/admin/instance_view.h"
#include "cluster/admin/lookup.h"
#include "cluster/service/namespaces.h"

/* GetInstance, ListInstances, GetCluster, ListClusters. */

typedef Google__Bigtable__Admin__V2__Instance instance_t;
typedef Google__Bigtable__Admin__V2__Cluster cluster_t;

static enum at_code get_instance(const struct at_lookup *lookup,
                                 const void *request,
                                 const ProtobufCMessage **ret_answer,
                                 struct at_error *reterr)
{
    const Google__Bigtable__Admin__V2__GetInstanceRequest *in = request;
    struct at_slice name = at_slice_cstr(in->name);
    struct at_slice instance;

    AT_TRY(at_service_instance_check(lookup->service, name, reterr));
    AT_TRY(at_service_namespace(lookup->service, name, &instance, reterr));
    *ret_answer =
        &at_instance_view(lookup->service, instance, lookup->catalog, lookup->arena)->base;
    return AT_OK;
}

void at_on_get_instance(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__bigtable__admin__v2__get_instance_request__descriptor,
                     get_instance);
}

/* "projects/P": all of its instances. */
static enum at_code parse_project(const struct at_lookup *lookup,
                                  const char *project,
                                  struct at_admin_parent *ret_parent,
                                  struct at_error *reterr)
{
    struct at_slice name = at_slice_cstr(project);
    struct at_slice prefix = AT_LIT("projects/");

    if (!at_slice_has_prefix(name, prefix) || name.len == prefix.len ||
        strchr(project + prefix.len, '/'))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid project name '%s': projects/<project> is expected", project);
    return at_admin_parent(lookup->service,
                           at_arena_printf(lookup->arena, "%s/instances/-", project), ret_parent,
                           reterr);
}

static enum at_code list_instances(const struct at_lookup *lookup,
                                   const void *request,
                                   const ProtobufCMessage **ret_answer,
                                   struct at_error *reterr)
{
    const Google__Bigtable__Admin__V2__ListInstancesRequest *in = request;
    struct at_service *service = lookup->service;
    struct at_arena *arena = lookup->arena;
    Google__Bigtable__Admin__V2__ListInstancesResponse *out =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__ListInstancesResponse);
    struct at_admin_parent parent;

    google__bigtable__admin__v2__list_instances_response__init(out);
    AT_TRY(parse_project(lookup, in->parent, &parent, reterr));
    struct at_namespaces used = at_namespaces_used(lookup->catalog, arena);
    out->instances = AT_ARENA_ARRAY(arena, instance_t *, used.count + 1);
    if (parent.home)
        out->instances[out->n_instances++] =
            at_instance_view(service, at_slice_make(NULL, 0), lookup->catalog, arena);
    for (uint32_t i = 0; i < used.count; i++)
        if (at_admin_parent_holds(&parent, used.names[i]))
            out->instances[out->n_instances++] =
                at_instance_view(service, used.names[i], lookup->catalog, arena);
    *ret_answer = &out->base;
    return AT_OK;
}

void at_on_list_instances(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__bigtable__admin__v2__list_instances_request__descriptor,
                     list_instances);
}

static enum at_code get_cluster(const struct at_lookup *lookup,
                                const void *request,
                                const ProtobufCMessage **ret_answer,
                                struct at_error *reterr)
{
    const Google__Bigtable__Admin__V2__GetClusterRequest *in = request;
    struct at_cluster_entry entry;
    struct at_slice id, instance;

    AT_TRY(at_admin_child(lookup->service, in->name, "/clusters/", &id, reterr));
    AT_TRY(at_service_namespace(lookup->service, at_slice_cstr(in->name), &instance, reterr));
    if (!at_cluster_entry(lookup->service, lookup->catalog, id, lookup->arena, &entry))
        return at_fail(reterr, AT_NOT_FOUND, "Cluster %s not found", in->name);
    *ret_answer = &at_cluster_view(lookup->service, instance, &entry, lookup->arena)->base;
    return AT_OK;
}

void at_on_get_cluster(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__bigtable__admin__v2__get_cluster_request__descriptor,
                     get_cluster);
}

/* Of all instances of a project, only the home instance tells its clusters: they are the same. */
static enum at_code list_clusters(const struct at_lookup *lookup,
                                  const void *request,
                                  const ProtobufCMessage **ret_answer,
                                  struct at_error *reterr)
{
    const Google__Bigtable__Admin__V2__ListClustersRequest *in = request;
    struct at_arena *arena = lookup->arena;
    Google__Bigtable__Admin__V2__ListClustersResponse *out =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__ListClustersResponse);
    struct at_admin_parent parent;

    google__bigtable__admin__v2__list_clusters_response__init(out);
    AT_TRY(at_admin_parent(lookup->service, in->parent, &parent, reterr));
    struct at_cluster_entries all = at_cluster_entries(lookup->service, lookup->catalog, arena);
    bool none = parent.project.len > 0 && !parent.home;
    out->clusters = AT_ARENA_ARRAY(arena, cluster_t *, all.count + 1);
    for (uint32_t i = 0; !none && i < all.count; i++)
        out->clusters[out->n_clusters++] =
            at_cluster_view(lookup->service, parent.in, &all.items[i], arena);
    *ret_answer = &out->base;
    return AT_OK;
}

void at_on_list_clusters(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__bigtable__admin__v2__list_clusters_request__descriptor,
                     list_clusters);
}
