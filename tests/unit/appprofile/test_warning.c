/* Which changes of a profile must be confirmed. */
#include "appprofile/warning.h"

#include "support/test.h"

static struct at_profile single(struct at_slice cluster, bool transactions)
{
    return (struct at_profile){.routing = AT_ROUTING_SINGLE,
                               .cluster_id = cluster,
                               .allow_transactional_writes = transactions};
}

static void moving_transactions_warns(void **state)
{
    (void)state;
    struct at_profile_warning w[AT_PROFILE_WARNINGS_MAX];
    struct at_profile old = single(AT_LIT("c1"), true);
    struct at_profile now = single(AT_LIT("c2"), true);
    assert_int_equal(at_profile_update_warnings(AT_LIT("p"), &old, &now, NULL, 0, w), 1);
    assert_memory_equal(w[0].type, "CLOUD_BIGTABLE_APP_PROFILE_WARNING", 34);
    assert_int_equal(at_profile_update_warnings(AT_LIT("p"), &old, &old, NULL, 0, w), 0);
}

static void changes_without_transactions_do_not_warn(void **state)
{
    (void)state;
    struct at_profile_warning w[AT_PROFILE_WARNINGS_MAX];
    struct at_profile old = single(AT_LIT("c1"), true);
    struct at_profile plain = single(AT_LIT("c2"), false);
    struct at_profile any = {.routing = AT_ROUTING_ANY};
    assert_int_equal(at_profile_update_warnings(AT_LIT("p"), &old, &plain, NULL, 0, w), 0);
    assert_int_equal(at_profile_update_warnings(AT_LIT("p"), &old, &any, NULL, 0, w), 0);
}

static void transactions_on_two_clusters_warn(void **state)
{
    (void)state;
    struct at_profile_warning w[AT_PROFILE_WARNINGS_MAX];
    struct at_profile others[] = {{.routing = AT_ROUTING_ANY}, single(AT_LIT("c1"), true)};
    struct at_profile same = single(AT_LIT("c1"), true);
    struct at_profile other = single(AT_LIT("c2"), true);
    assert_int_equal(at_profile_update_warnings(AT_LIT("p"), NULL, &same, others, 2, w), 0);
    assert_int_equal(at_profile_update_warnings(AT_LIT("p"), NULL, &other, others, 2, w), 1);
}

static void deleting_always_warns(void **state)
{
    (void)state;
    struct at_profile_warning w[AT_PROFILE_WARNINGS_MAX];
    assert_int_equal(at_profile_delete_warnings(AT_LIT("p"), w), 1);
    assert_string_equal(w[0].description,
                        "Deleting an app profile will cause all requests using it to fail.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moving_transactions_warns),
        cmocka_unit_test(changes_without_transactions_do_not_warn),
        cmocka_unit_test(transactions_on_two_clusters_warn),
        cmocka_unit_test(deleting_always_warns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
