#include "cluster/service/admin.h"

#include "base/assert.h"

/* The instance and its clusters, as its file has them: read only. */

static Google__Bigtable__Admin__V2__Instance *instance_of(const struct at_service *service,
                                                          struct at_arena *arena)
{
    Google__Bigtable__Admin__V2__Instance *out =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__Instance);

    google__bigtable__admin__v2__instance__init(out);
    out->name = at_admin_instance_name(service, arena);
    out->display_name = at_arena_printf(
        arena, "%s", service->display_name ? service->display_name : service->instance);
    out->state = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__STATE__READY;
    out->type = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__PRODUCTION;
    return out;
}

static Google__Bigtable__Admin__V2__Cluster *cluster_of(const struct at_service *service,
                                                        const struct at_service_member *member,
                                                        struct at_arena *arena)
{
    Google__Bigtable__Admin__V2__Cluster *out =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__Cluster);

    google__bigtable__admin__v2__cluster__init(out);
    out->name = at_arena_printf(arena, "projects/%s/instances/%s/clusters/%s", service->project,
                                service->instance, member->cluster_id);
    out->location =
        at_arena_printf(arena, "projects/%s/locations/%s", service->project, member->zone);
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
    if (at_service_instance_check(service, at_slice_cstr(in->name), &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_service_reply(service, call, &instance_of(service, at_grpc_call_arena(call))->base);
}

static enum at_code
check_project(const struct at_service *service, const char *parent, struct at_error *reterr)
{
    struct at_slice rest = at_slice_cstr(parent);
    struct at_slice prefix = AT_LIT("projects/");

    if (!at_slice_has_prefix(rest, prefix) || rest.len == prefix.len ||
        strchr(parent + prefix.len, '/'))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid project name '%s': projects/<project> is expected", parent);
    if (strcmp(parent + prefix.len, service->project) != 0)
        return at_fail(reterr, AT_NOT_FOUND, "Project %s not found", parent);
    return AT_OK;
}

void at_on_list_instances(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    Google__Bigtable__Admin__V2__Instance *all[1];
    Google__Bigtable__Admin__V2__ListInstancesResponse out =
        GOOGLE__BIGTABLE__ADMIN__V2__LIST_INSTANCES_RESPONSE__INIT;
    const Google__Bigtable__Admin__V2__ListInstancesRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__list_instances_request__descriptor);

    if (!in)
        return;
    if (check_project(service, in->parent, &error) != AT_OK) {
        at_service_fail(service, call, &error);
        return;
    }
    all[0] = instance_of(service, at_grpc_call_arena(call));
    out.n_instances = 1;
    out.instances = all;
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
    at_service_reply(service, call, &cluster_of(service, member, at_grpc_call_arena(call))->base);
}

void at_on_list_clusters(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    Google__Bigtable__Admin__V2__Cluster *all[AT_MEMBERS_MAX];
    Google__Bigtable__Admin__V2__ListClustersResponse out =
        GOOGLE__BIGTABLE__ADMIN__V2__LIST_CLUSTERS_RESPONSE__INIT;
    const Google__Bigtable__Admin__V2__ListClustersRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__list_clusters_request__descriptor);

    if (!in)
        return;
    if (at_admin_parent_check(service, in->parent, &error) != AT_OK) {
        at_service_fail(service, call, &error);
        return;
    }
    for (uint32_t i = 0; i < service->member_count; i++)
        all[out.n_clusters++] = cluster_of(service, &service->members[i], at_grpc_call_arena(call));
    out.clusters = all;
    at_service_reply(service, call, &out.base);
}
