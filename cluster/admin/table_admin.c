#include "cluster/admin/admin.h"

#define PATH(rpc) "/google.bigtable.admin.v2.BigtableTableAdmin/" rpc

static const struct at_admin_method METHODS[] = {
    {PATH("CreateTable"), at_on_create_table},
    {PATH("GetTable"), at_on_get_table},
    {PATH("ListTables"), at_on_list_tables},
    {PATH("UpdateTable"), at_on_update_table},
    {PATH("DeleteTable"), at_on_delete_table},
    {PATH("UndeleteTable"), at_on_undelete_table},
    {PATH("ModifyColumnFamilies"), at_on_modify_column_families},
    {PATH("DropRowRange"), at_on_drop_row_range},
    {PATH("GenerateConsistencyToken"), at_on_generate_consistency_token},
    {PATH("CheckConsistency"), at_on_check_consistency},
};

size_t
at_table_admin_methods(struct at_service *service, struct at_grpc_method *methods, size_t max)
{
    return at_admin_add(service, METHODS, sizeof(METHODS) / sizeof(METHODS[0]), methods, max);
}
