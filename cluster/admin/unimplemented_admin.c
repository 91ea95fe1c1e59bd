#include "cluster/admin/admin.h"

/* RPCs of the public API that this server does not offer. Each still says so by name, so that a
 * client learns what is missing and not that there is no server. */

#define INSTANCE(rpc) "/google.bigtable.admin.v2.BigtableInstanceAdmin/" rpc
#define TABLE(rpc) "/google.bigtable.admin.v2.BigtableTableAdmin/" rpc

static const char *const PATHS[] = {
    INSTANCE("CreateCluster"),
    INSTANCE("DeleteCluster"),
    INSTANCE("CreateLogicalView"),
    INSTANCE("GetLogicalView"),
    INSTANCE("ListLogicalViews"),
    INSTANCE("UpdateLogicalView"),
    INSTANCE("DeleteLogicalView"),
    INSTANCE("CreateMaterializedView"),
    INSTANCE("GetMaterializedView"),
    INSTANCE("ListMaterializedViews"),
    INSTANCE("UpdateMaterializedView"),
    INSTANCE("DeleteMaterializedView"),
    TABLE("CreateTableFromSnapshot"),
    TABLE("CreateAuthorizedView"),
    TABLE("ListAuthorizedViews"),
    TABLE("GetAuthorizedView"),
    TABLE("UpdateAuthorizedView"),
    TABLE("DeleteAuthorizedView"),
    TABLE("SnapshotTable"),
    TABLE("GetSnapshot"),
    TABLE("ListSnapshots"),
    TABLE("DeleteSnapshot"),
    TABLE("CreateSchemaBundle"),
    TABLE("UpdateSchemaBundle"),
    TABLE("GetSchemaBundle"),
    TABLE("ListSchemaBundles"),
    TABLE("DeleteSchemaBundle"),
};

size_t at_unimplemented_admin_methods(struct at_service *service,
                                      struct at_grpc_method *methods,
                                      size_t max)
{
    size_t count = sizeof(PATHS) / sizeof(PATHS[0]);

    for (size_t i = 0; i < count; i++) {
        const struct at_admin_method method = {PATHS[i], at_on_unimplemented};
        (void)at_admin_add(service, &method, 1, methods + i, max - i);
    }
    return count;
}
