#include "cluster/service/admin.h"

#include "base/assert.h"
#include "base/namespace.h"
#include "cluster/service/namespaces.h"

/* The instance and its clusters, as its file has them: read only. */

/* `in` is the instance's whole name, empty: the home instance. */
static Google__Bigtable__Admin__V2__Instance *
instance_of(const struct at_service *service, struct at_slice in, struct at_arena *arena)
{
    Google__Bigtable__Admin__V2__Instance *out =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__Instance);

    google__bigtable__admin__v2__instance__init(out);
    out->name = in.len > 0 ? at_admin_text(arena, in) : at_admin_instance_name(service, arena);
    out->display_name = at_arena_printf(
        arena, "%s", service->display_name ? service->display_name : service->instance);
    if (in.len > 0)
        out->display_name = at_admin_text(arena, at_namespace_id(in));
    out->state = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__STATE__READY;
    out->type = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__PRODUCTION;
    return out;
}

static Google__Bigtable__Admin__V2__Cluster *cluster_of(const struct at_service *service,
                                                        struct at_slice in,
                                                        const struct at_service_member *member,
                                                        struct at_arena *arena)
{
    Google__Bigtable__Admin__V2__Cluster *out =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__Cluster);
    struct at_slice home = at_slice_cstr(at_admin_instance_name(service, arena));
    struct at_slice name = in.len > 0 ? in : home;
    struct at_slice rest = name;
    struct at_instance_name parts;
    bool well_formed = at_namespace_take(&rest, &parts);

    AT_ASSERT(well_formed);
    google__bigtable__admin__v2__cluster__init(out);
    out->name = at_arena_printf(arena, "%.*s/clusters/%s", AT_SLICE_ARG(name), member->cluster_id);
    out->location = at_arena_printf(arena, "projects/%.*s/locations/%s",
                                    AT_SLICE_ARG(parts.project), member->zone);
    out->state = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__STATE__READY;
    out->serve_nodes = 1;
    out->default_storage_type = GOOGLE__BIGTABLE__ADMIN__V2__STORAGE_TYPE__SSD;
    return out;
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
        at_service_reply(service, call,
                         &instance_of(service, instance, at_grpc_call_arena(call))->base);
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
        out->instances[out->n_instances++] = instance_of(service, at_slice_make(NULL, 0), arena);
    for (uint32_t i = 0; i < used.count; i++)
        if (at_admin_parent_holds(&parent, used.names[i]))
            out->instances[out->n_instances++] = instance_of(service, used.names[i], arena);
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

static enum at_code find_cluster(const struct at_service *service,
                                 const char *name,
                                 const struct at_service_member **ret_member,
                                 struct at_error *reterr)
{
    struct at_slice id;

    AT_TRY(at_admin_child(service, name, "/clusters/", &id, reterr));
    for (uint32_t i = 0; i < service->member_count; i++) {
        *ret_member = &service->members[i];
        if (at_slice_eq_cstr(id, service->members[i].cluster_id))
            return AT_OK;
    }
    return at_fail(reterr, AT_NOT_FOUND, "Cluster %s not found", name);
}

void at_on_get_cluster(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const struct at_service_member *member = NULL;
    const Google__Bigtable__Admin__V2__GetClusterRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__get_cluster_request__descriptor);

    if (!in)
        return;
    if (find_cluster(service, in->name, &member, &error) != AT_OK) {
        at_service_fail(service, call, &error);
        return;
    }
    AT_ASSERT(member != NULL);
    struct at_slice instance;
    enum at_code code = at_service_namespace(service, at_slice_cstr(in->name), &instance, &error);
    AT_ASSERT(code == AT_OK); /* as it was a cluster's name */
    at_service_reply(service, call,
                     &cluster_of(service, instance, member, at_grpc_call_arena(call))->base);
}

/* Of all instances of a project, only the home instance tells its clusters: they are the same. */
static void list_clusters(struct at_service *service,
                          struct at_grpc_call *call,
                          const struct at_admin_parent *parent)
{
    Google__Bigtable__Admin__V2__Cluster *all[AT_MEMBERS_MAX];
    Google__Bigtable__Admin__V2__ListClustersResponse out =
        GOOGLE__BIGTABLE__ADMIN__V2__LIST_CLUSTERS_RESPONSE__INIT;
    bool none = parent->project.len > 0 && !parent->home;

    for (uint32_t i = 0; !none && i < service->member_count; i++)
        all[out.n_clusters++] =
            cluster_of(service, parent->in, &service->members[i], at_grpc_call_arena(call));
    out.clusters = all;
    at_service_reply(service, call, &out.base);
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
