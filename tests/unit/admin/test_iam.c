#include "cluster/admin/iam.h"

#include "support/admin_fixture.h"

#define T AFX_INSTANCE "/tables/t"

static struct afx_case cases[] = {
    {"a fresh resource has an empty policy with an etag",
     {{"GetIamPolicy", "1:" AFX_INSTANCE, AT_OK, NULL},
      {"CreateTable", "1:" AFX_INSTANCE " 2:t 3{}", AT_OK, NULL},
      {"GetIamPolicy", "1:" T, AT_OK, NULL}}},
    {"a policy that is set is had back until its table is deleted",
     {{"CreateTable", "1:" AFX_INSTANCE " 2:t 3{}", AT_OK, NULL},
      {"SetIamPolicy", "1:" T " 2{1=1 4{1:roles/x 2:user:a}}", AT_OK, NULL},
      {"SetIamPolicy", "1:" T " 2{1=1 3:stale 4{1:roles/x 2:user:a}}", AT_ABORTED, "concurrent"},
      {"DeleteTable", "1:" T, AT_OK, ""},
      {"GetIamPolicy", "1:" T, AT_NOT_FOUND, T},
      {"CreateTable", "1:" AFX_INSTANCE " 2:t 3{}", AT_OK, NULL},
      {"SetIamPolicy", "1:" T " 2{1=1 3:'\\0 \\1' 4{1:roles/y 2:user:b}}", AT_OK, NULL}}},
    {"an etag is good once",
     {{"SetIamPolicy", "1:" AFX_INSTANCE " 2{3:'\\0 \\1' 4{1:roles/y 2:user:b}}", AT_OK, NULL},
      {"SetIamPolicy", "1:" AFX_INSTANCE " 2{3:'\\0 \\1' 4{1:roles/z 2:user:b}}", AT_ABORTED,
       NULL}}},
    {"what is no resource, or not there, is told",
     {{"GetIamPolicy", "1:x", AT_INVALID_ARGUMENT, "x"},
      {"GetIamPolicy", "1:" AFX_INSTANCE "/", AT_INVALID_ARGUMENT, NULL},
      {"GetIamPolicy", "1:" T, AT_NOT_FOUND, T},
      {"GetIamPolicy", "1:projects/p/instances/j", AT_NOT_FOUND, NULL},
      {"SetIamPolicy", "1:" T " 2{}", AT_NOT_FOUND, NULL},
      {"SetIamPolicy", "1:" AFX_INSTANCE, AT_INVALID_ARGUMENT, "policy"},
      {"SetIamPolicy", "1:" AFX_INSTANCE " 2{1=2}", AT_INVALID_ARGUMENT, "version"},
      {"GetIamPolicy", "1:" AFX_INSTANCE "/clusters/c1/backups/b", AT_NOT_FOUND, NULL}}},
    {"every permission that is asked for is there",
     {{"TestIamPermissions", "1:" AFX_INSTANCE " 2:bigtable.tables.get 2:bigtable.tables.list",
       AT_OK, "permissions:bigtable.tables.get permissions:bigtable.tables.list"},
      {"TestIamPermissions", "1:" AFX_INSTANCE, AT_INVALID_ARGUMENT, "permissions"},
      {"TestIamPermissions", "1:" AFX_INSTANCE " 2:bigtable.*", AT_INVALID_ARGUMENT, NULL}}},
};

static void names_are_those_of_the_home_instance_or_whole(void **state)
{
    struct at_slice name = AT_LIT("projects/q/instances/j/tables/t"), rest = AT_LIT("tables/t");

    (void)state;
    assert_true(at_slice_eq(at_iam_name(AT_LIT(""), name, rest), rest));
    assert_true(at_slice_eq(at_iam_name(AT_LIT("projects/q/instances/j"), name, rest), name));
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(names_are_those_of_the_home_instance_or_whole),
    };

    return afx_main(cases, sizeof(cases) / sizeof(cases[0]), others, 1);
}
