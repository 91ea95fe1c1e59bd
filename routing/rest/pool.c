/* pool.c: responses and metadata of operations, details of errors. */
#include "routing/rest/pool.h"

#include "google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h"
#include "google/bigtable/admin/v2/bigtable_table_admin.pb-c.h"
#include "google/protobuf/empty.pb-c.h"
#include "google/rpc/error_details.pb-c.h"

#define ADMIN(message) &google__bigtable__admin__v2__##message##__descriptor
#define RPC(message) &google__rpc__##message##__descriptor

static const ProtobufCMessageDescriptor *const MESSAGES[] = {
    ADMIN(instance),
    ADMIN(cluster),
    ADMIN(app_profile),
    ADMIN(logical_view),
    ADMIN(materialized_view),
    ADMIN(table),
    ADMIN(backup),
    ADMIN(snapshot),
    ADMIN(authorized_view),
    ADMIN(schema_bundle),
    ADMIN(create_instance_metadata),
    ADMIN(update_instance_metadata),
    ADMIN(create_cluster_metadata),
    ADMIN(update_cluster_metadata),
    ADMIN(partial_update_cluster_metadata),
    ADMIN(update_app_profile_metadata),
    ADMIN(create_logical_view_metadata),
    ADMIN(update_logical_view_metadata),
    ADMIN(create_materialized_view_metadata),
    ADMIN(update_materialized_view_metadata),
    ADMIN(update_table_metadata),
    ADMIN(undelete_table_metadata),
    ADMIN(restore_table_metadata),
    ADMIN(optimize_restored_table_metadata),
    ADMIN(snapshot_table_metadata),
    ADMIN(create_table_from_snapshot_metadata),
    ADMIN(create_backup_metadata),
    ADMIN(copy_backup_metadata),
    ADMIN(create_authorized_view_metadata),
    ADMIN(update_authorized_view_metadata),
    ADMIN(create_schema_bundle_metadata),
    ADMIN(update_schema_bundle_metadata),
    RPC(error_info),
    RPC(retry_info),
    RPC(debug_info),
    RPC(quota_failure),
    RPC(precondition_failure),
    RPC(bad_request),
    RPC(request_info),
    RPC(resource_info),
    RPC(help),
    RPC(localized_message),
    &google__protobuf__empty__descriptor,
};

static const struct at_json_pool POOL = {MESSAGES, sizeof(MESSAGES) / sizeof(MESSAGES[0])};

const struct at_json_pool *at_rest_pool(void)
{
    return &POOL;
}
