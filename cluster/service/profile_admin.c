#include "cluster/service/admin.h"

#define PATH(rpc) "/google.bigtable.admin.v2.BigtableInstanceAdmin/" rpc

static const struct at_admin_method METHODS[] = {
    {PATH("CreateAppProfile"), at_on_create_app_profile},
    {PATH("GetAppProfile"), at_on_get_app_profile},
    {PATH("ListAppProfiles"), at_on_list_app_profiles},
    {PATH("UpdateAppProfile"), at_on_update_app_profile},
    {PATH("DeleteAppProfile"), at_on_delete_app_profile},
    {PATH("GetInstance"), at_on_get_instance},
    {PATH("ListInstances"), at_on_list_instances},
    {PATH("GetCluster"), at_on_get_cluster},
    {PATH("ListClusters"), at_on_list_clusters},
    {"/google.longrunning.Operations/GetOperation", at_on_get_operation},
};

size_t
at_profile_admin_methods(struct at_service *service, struct at_grpc_method *methods, size_t max)
{
    size_t count =
        at_admin_add(service, METHODS, sizeof(METHODS) / sizeof(METHODS[0]), methods, max);

    return count + at_unimplemented_admin_methods(service, methods + count, max - count);
}
