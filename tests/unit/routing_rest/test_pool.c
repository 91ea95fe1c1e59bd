/* What operations and errors carry can be shown. */
#include "routing/rest/pool.h"

#include "support/test.h"

static void operations_and_errors_can_be_shown(void **state)
{
    (void)state;
    static const char *const NAMES[] = {
        "google.bigtable.admin.v2.Table",
        "google.bigtable.admin.v2.AppProfile",
        "google.bigtable.admin.v2.Instance",
        "google.bigtable.admin.v2.Cluster",
        "google.bigtable.admin.v2.Backup",
        "google.bigtable.admin.v2.UpdateTableMetadata",
        "google.bigtable.admin.v2.UpdateAppProfileMetadata",
        "google.bigtable.admin.v2.CreateInstanceMetadata",
        "google.rpc.PreconditionFailure",
        "google.rpc.RetryInfo",
        "google.protobuf.Empty",
    };
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
        if (!at_json_pool_find(at_rest_pool(), at_slice_cstr(NAMES[i])))
            fail_msg("%s", NAMES[i]);
    assert_null(at_json_pool_find(at_rest_pool(), AT_LIT("google.bigtable.v2.Row")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(operations_and_errors_can_be_shown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
