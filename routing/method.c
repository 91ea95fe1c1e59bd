/* method.c: the RPCs, those of the data API first. Field numbers are those of the public protos.
 *
 * MutateRow and MutateRows are idempotent only because the router supplies the time that
 * server-stamped cells take (sent twice, the request writes the same cells); at_request_peek finds
 * the mutations for which that does not help: adding to or merging into an aggregate cell. */
#include "routing/method.h"

#define DATA "/google.bigtable.v2.Bigtable/"
#define TABLES "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define INSTANCES "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
#define OPERATIONS "/google.longrunning.Operations/"

static const struct at_route_method METHODS[] = {
    {.path = DATA "ReadRows",
     .table_field = 1,
     .view_fields = {9, 11},
     .profile_field = 5,
     .idempotent = true,
     .row_place = AT_ROW_IN_SET,
     .row_field = 2},
    {.path = DATA "SampleRowKeys",
     .table_field = 1,
     .view_fields = {4, 5},
     .profile_field = 2,
     .idempotent = true},
    {.path = DATA "MutateRow",
     .table_field = 1,
     .view_fields = {6},
     .profile_field = 4,
     .idempotent = true,
     .row_place = AT_ROW_PLAIN,
     .row_field = 2,
     .mutations_field = 3},
    {.path = DATA "MutateRows",
     .table_field = 1,
     .view_fields = {5},
     .profile_field = 3,
     .idempotent = true,
     .row_place = AT_ROW_IN_ENTRIES,
     .row_field = 2,
     .mutations_field = 2},
    {.path = DATA "CheckAndMutateRow",
     .table_field = 1,
     .view_fields = {9},
     .profile_field = 7,
     .transaction = true},
    {.path = DATA "ReadModifyWriteRow",
     .table_field = 1,
     .view_fields = {6},
     .profile_field = 4,
     .transaction = true},
    {.path = DATA "PingAndWarm", .table_field = 1, .profile_field = 2, .idempotent = true},
    {.path = DATA "GenerateInitialChangeStreamPartitions",
     .table_field = 1,
     .profile_field = 2,
     .idempotent = true},
    {.path = DATA "ReadChangeStream", .table_field = 1, .profile_field = 2, .idempotent = true},
    {.path = DATA "PrepareQuery", .table_field = 1, .profile_field = 2, .idempotent = true},
    {.path = DATA "ExecuteQuery", .table_field = 1, .profile_field = 2, .idempotent = true},
    {.path = TABLES "CreateTable", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = TABLES "CreateTableFromSnapshot", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = TABLES "ListTables", .route = AT_ROUTE_ADMIN, .table_field = 1, .idempotent = true},
    {.path = TABLES "GetTable", .route = AT_ROUTE_ADMIN, .table_field = 1, .idempotent = true},
    {.path = TABLES "UpdateTable", .route = AT_ROUTE_ADMIN, .table_field = 1, .nested = true},
    {.path = TABLES "DeleteTable", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = TABLES "UndeleteTable", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = TABLES "CreateAuthorizedView", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = TABLES "ListAuthorizedViews",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = TABLES "GetAuthorizedView",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = TABLES "UpdateAuthorizedView",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .nested = true},
    {.path = TABLES "DeleteAuthorizedView", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = TABLES "ModifyColumnFamilies", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = TABLES "DropRowRange", .route = AT_ROUTE_ADMIN, .table_field = 1, .idempotent = true},
    {.path = TABLES "GenerateConsistencyToken",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = TABLES "CheckConsistency",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = TABLES "SnapshotTable", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = TABLES "GetSnapshot", .route = AT_ROUTE_ADMIN, .table_field = 1, .idempotent = true},
    {.path = TABLES "ListSnapshots", .route = AT_ROUTE_ADMIN, .table_field = 1, .idempotent = true},
    {.path = TABLES "DeleteSnapshot", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = TABLES "CreateBackup", .route = AT_ROUTE_CLUSTER, .table_field = 1},
    {.path = TABLES "GetBackup", .route = AT_ROUTE_ADMIN, .table_field = 1, .idempotent = true},
    {.path = TABLES "UpdateBackup", .route = AT_ROUTE_CLUSTER, .table_field = 1, .nested = true},
    {.path = TABLES "DeleteBackup", .route = AT_ROUTE_CLUSTER, .table_field = 1},
    {.path = TABLES "ListBackups",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .gather = AT_GATHER_BACKUPS,
     .idempotent = true},
    {.path = TABLES "RestoreTable",
     .route = AT_ROUTE_CLUSTER,
     .table_field = 1,
     .cluster_field = 3},
    {.path = TABLES "CopyBackup", .route = AT_ROUTE_CLUSTER, .table_field = 1},
    {.path = TABLES "GetIamPolicy", .route = AT_ROUTE_ADMIN, .table_field = 1, .idempotent = true},
    {.path = TABLES "SetIamPolicy", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = TABLES "TestIamPermissions",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = TABLES "CreateSchemaBundle", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = TABLES "UpdateSchemaBundle",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .nested = true},
    {.path = TABLES "GetSchemaBundle",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = TABLES "ListSchemaBundles",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = TABLES "DeleteSchemaBundle", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = INSTANCES "CreateInstance", .route = AT_ROUTE_DESK},
    {.path = INSTANCES "GetInstance",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = INSTANCES "ListInstances", .route = AT_ROUTE_DESK, .idempotent = true},
    {.path = INSTANCES "UpdateInstance", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = INSTANCES "PartialUpdateInstance",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .nested = true},
    {.path = INSTANCES "DeleteInstance", .route = AT_ROUTE_DESK, .table_field = 1},
    {.path = INSTANCES "CreateCluster", .route = AT_ROUTE_DESK, .table_field = 1},
    {.path = INSTANCES "GetCluster", .route = AT_ROUTE_ADMIN, .table_field = 1, .idempotent = true},
    {.path = INSTANCES "ListClusters",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .gather = AT_GATHER_CLUSTERS,
     .idempotent = true},
    {.path = INSTANCES "UpdateCluster", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = INSTANCES "PartialUpdateCluster",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .nested = true},
    {.path = INSTANCES "DeleteCluster", .route = AT_ROUTE_DESK, .table_field = 1},
    {.path = INSTANCES "CreateAppProfile",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .changes_profiles = true},
    {.path = INSTANCES "GetAppProfile",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = INSTANCES "ListAppProfiles",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .gather = AT_GATHER_PROFILES,
     .idempotent = true},
    {.path = INSTANCES "UpdateAppProfile",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .nested = true,
     .changes_profiles = true},
    {.path = INSTANCES "DeleteAppProfile",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .changes_profiles = true},
    {.path = INSTANCES "GetIamPolicy",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = INSTANCES "SetIamPolicy", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = INSTANCES "TestIamPermissions",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = INSTANCES "ListHotTablets",
     .route = AT_ROUTE_CLUSTER,
     .table_field = 1,
     .idempotent = true},
    {.path = INSTANCES "CreateLogicalView", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = INSTANCES "GetLogicalView",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = INSTANCES "ListLogicalViews",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = INSTANCES "UpdateLogicalView",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .nested = true},
    {.path = INSTANCES "DeleteLogicalView", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = INSTANCES "CreateMaterializedView", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = INSTANCES "GetMaterializedView",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = INSTANCES "ListMaterializedViews",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = INSTANCES "UpdateMaterializedView",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .nested = true},
    {.path = INSTANCES "DeleteMaterializedView", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = OPERATIONS "ListOperations",
     .route = AT_ROUTE_ADMIN,
     .table_field = 4,
     .gather = AT_GATHER_OPERATIONS,
     .idempotent = true},
    {.path = OPERATIONS "GetOperation",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = OPERATIONS "DeleteOperation", .route = AT_ROUTE_ADMIN, .table_field = 1},
    {.path = OPERATIONS "CancelOperation",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
    {.path = OPERATIONS "WaitOperation",
     .route = AT_ROUTE_ADMIN,
     .table_field = 1,
     .idempotent = true},
};

static struct at_slice
only_key(const struct at_route_method *method, struct at_slice container, bool *ret_bad);
static bool entry_adds(const struct at_route_method *method, struct at_slice entry, bool *ret_bad);
static struct at_slice first_text(struct at_slice message, bool *ret_bad);
static bool mutation_adds(struct at_slice mutation);

const struct at_route_method *at_route_methods(uint32_t *ret_count)
{
    *ret_count = sizeof(METHODS) / sizeof(METHODS[0]);
    return METHODS;
}

enum at_code at_request_peek(const struct at_route_method *method,
                             struct at_slice message,
                             struct at_request_head *ret_head,
                             struct at_error *reterr)
{
    struct at_request_head head = {0};
    struct at_slice row = {0}, view = {0};
    uint32_t rows = 0;
    struct at_pb_field field;
    bool bad = false;
    bool plain = method->row_place == AT_ROW_PLAIN;
    while (at_pb_next(&message, &field, &bad)) {
        if (field.type != AT_PB_BYTES)
            continue;
        if (field.number == method->table_field) {
            head.table_name = method->nested ? first_text(field.bytes, &bad) : field.bytes;
        } else if (field.number == method->profile_field) {
            head.app_profile_id = field.bytes;
        } else if (method->row_place != AT_ROW_NONE && field.number == method->row_field) {
            row = field.bytes;
            rows++;
            if (method->row_place == AT_ROW_IN_ENTRIES)
                head.adds = head.adds || entry_adds(method, field.bytes, &bad);
        } else if (plain && field.number == method->mutations_field) {
            head.adds = head.adds || mutation_adds(field.bytes);
        } else if (field.number == method->view_fields[0] ||
                   field.number == method->view_fields[1]) {
            view = field.bytes;
        } else if (field.number == method->cluster_field) {
            head.cluster_name = field.bytes;
        }
    }
    if (head.table_name.len == 0)
        head.table_name = view;
    if (method->route == AT_ROUTE_CLUSTER && method->cluster_field == 0)
        head.cluster_name = head.table_name;
    if (plain)
        head.row_key = row;
    else if (rows == 1)
        head.row_key = only_key(method, row, &bad);
    if (bad)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Malformed request message");
    *ret_head = head;
    return AT_OK;
}

/* The first field of a message, which is its name. */
static struct at_slice first_text(struct at_slice message, bool *ret_bad)
{
    struct at_slice name = {0};
    struct at_pb_field field;
    while (at_pb_next(&message, &field, ret_bad))
        if (field.number == 1 && field.type == AT_PB_BYTES)
            name = field.bytes;
    return name;
}

/* The one key of a RowSet (which must have no range) or of an entry; empty when there is none. */
static struct at_slice
only_key(const struct at_route_method *method, struct at_slice container, bool *ret_bad)
{
    struct at_slice key = {0};
    uint32_t items = 0;
    struct at_pb_field field;
    while (at_pb_next(&container, &field, ret_bad)) {
        bool is_key = field.number == 1 && field.type == AT_PB_BYTES;
        if (is_key)
            key = field.bytes;
        if (is_key || method->row_place == AT_ROW_IN_SET)
            items++;
    }
    return items == 1 ? key : (struct at_slice){0};
}

static bool entry_adds(const struct at_route_method *method, struct at_slice entry, bool *ret_bad)
{
    struct at_pb_field field;
    while (at_pb_next(&entry, &field, ret_bad))
        if (field.number == method->mutations_field && field.type == AT_PB_BYTES &&
            mutation_adds(field.bytes))
            return true;
    return false;
}

/* The kind is the oneof's field; bytes that are malformed here are the cluster's to refuse. */
static bool mutation_adds(struct at_slice mutation)
{
    enum { ADD_TO_CELL = 5, MERGE_TO_CELL = 6 };
    struct at_pb_field field;
    bool bad = false;
    while (at_pb_next(&mutation, &field, &bad))
        if (field.number == ADD_TO_CELL || field.number == MERGE_TO_CELL)
            return true;
    return false;
}
