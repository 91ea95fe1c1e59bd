#include "cluster/admin/admin.h"
#include "cluster/admin/cluster_update.h"
#include "cluster/admin/iam.h"
#include "cluster/admin/instance_update.h"

#define PATH(rpc) "/google.bigtable.admin.v2.BigtableInstanceAdmin/" rpc
#define TABLE(rpc) "/google.bigtable.admin.v2.BigtableTableAdmin/" rpc
#define OPERATIONS(rpc) "/google.longrunning.Operations/" rpc

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
    {OPERATIONS("GetOperation"), at_on_get_operation},
    {OPERATIONS("ListOperations"), at_on_list_operations},
    {OPERATIONS("WaitOperation"), at_on_wait_operation},
    {OPERATIONS("CancelOperation"), at_on_cancel_operation},
    {OPERATIONS("DeleteOperation"), at_on_delete_operation},
    {PATH("UpdateInstance"), at_on_update_instance},
    {PATH("PartialUpdateInstance"), at_on_partial_update_instance},
    {PATH("UpdateCluster"), at_on_update_cluster},
    {PATH("PartialUpdateCluster"), at_on_partial_update_cluster},
    {PATH("ListHotTablets"), at_on_list_hot_tablets},
    {PATH("GetIamPolicy"), at_on_get_iam_policy},
    {PATH("SetIamPolicy"), at_on_set_iam_policy},
    {PATH("TestIamPermissions"), at_on_test_iam_permissions},
    {TABLE("GetIamPolicy"), at_on_get_iam_policy},
    {TABLE("SetIamPolicy"), at_on_set_iam_policy},
    {TABLE("TestIamPermissions"), at_on_test_iam_permissions},
};

size_t
at_profile_admin_methods(struct at_service *service, struct at_grpc_method *methods, size_t max)
{
    size_t count =
        at_admin_add(service, METHODS, sizeof(METHODS) / sizeof(METHODS[0]), methods, max);

    return count + at_unimplemented_admin_methods(service, methods + count, max - count);
}
