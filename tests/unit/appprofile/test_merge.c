/* Update masks: both spellings, sub-fields, and switching the routing branch. */
#include "appprofile/profile.h"

#include "support/test.h"

static struct at_profile tx_on_c1(void)
{
    return (struct at_profile){.name = AT_LIT("n"),
                               .description = AT_LIT("old"),
                               .routing = AT_ROUTING_SINGLE,
                               .cluster_id = AT_LIT("c1"),
                               .allow_transactional_writes = true};
}

static struct at_profile merge(struct at_arena *arena,
                               const struct at_profile *change,
                               const struct at_slice *paths,
                               uint32_t count)
{
    struct at_profile old = tx_on_c1();
    struct at_profile merged;
    struct at_profile_mask mask = {paths, count};
    assert_int_equal(at_profile_merge(&old, change, mask, arena, &merged, NULL), AT_OK);
    return merged;
}

static void a_sub_field_leaves_its_siblings(void **state)
{
    struct at_slice path[] = {AT_LIT("singleClusterRouting.clusterId")};
    struct at_profile change = {.routing = AT_ROUTING_SINGLE, .cluster_id = AT_LIT("c2")};
    struct at_profile p = merge(*state, &change, path, 1);
    assert_true(at_slice_eq_cstr(p.cluster_id, "c2"));
    assert_true(p.allow_transactional_writes);
    assert_true(at_slice_eq_cstr(p.description, "old"));
}

static void a_whole_field_replaces_all_below_it(void **state)
{
    struct at_slice path[] = {AT_LIT("single_cluster_routing")};
    struct at_profile change = {.routing = AT_ROUTING_SINGLE, .cluster_id = AT_LIT("c2")};
    struct at_profile p = merge(*state, &change, path, 1);
    assert_true(at_slice_eq_cstr(p.cluster_id, "c2"));
    assert_false(p.allow_transactional_writes);
}

static void a_path_of_the_other_branch_switches_to_it(void **state)
{
    struct at_slice path[] = {AT_LIT("multiClusterRoutingUseAny.clusterIds")};
    struct at_slice ids[] = {AT_LIT("c2"), AT_LIT("c3")};
    struct at_profile change = {
        .routing = AT_ROUTING_ANY, .cluster_ids = ids, .cluster_id_count = 2};
    struct at_profile p = merge(*state, &change, path, 1);
    assert_int_equal(p.routing, AT_ROUTING_ANY);
    assert_int_equal(p.cluster_id_count, 2);
    assert_int_equal(p.cluster_id.len, 0);
    assert_false(p.allow_transactional_writes);
}

static void no_mask_replaces_every_field(void **state)
{
    struct at_profile change = {.routing = AT_ROUTING_ANY, .row_affinity = true};
    struct at_profile p = merge(*state, &change, NULL, 0);
    assert_int_equal(p.routing, AT_ROUTING_ANY);
    assert_true(p.row_affinity);
    assert_int_equal(p.description.len, 0);
    assert_true(at_slice_eq_cstr(p.name, "n"));
}

static void both_spellings_name_the_description(void **state)
{
    struct at_slice path[] = {AT_LIT("description"), AT_LIT("standard_isolation"),
                              AT_LIT("standardIsolation.priority")};
    struct at_profile change = {.description = AT_LIT("new"), .priority = AT_PRIORITY_LOW};
    struct at_profile p = merge(*state, &change, path, 3);
    assert_true(at_slice_eq_cstr(p.description, "new"));
    assert_int_equal(p.priority, AT_PRIORITY_LOW);
    assert_true(at_slice_eq_cstr(p.cluster_id, "c1"));
}

static void an_unknown_path_is_refused(void **state)
{
    struct at_profile old = tx_on_c1();
    struct at_profile merged;
    struct at_slice paths[] = {AT_LIT("descriptio"), AT_LIT("descriptions"), AT_LIT(""),
                               AT_LIT("single_cluster_routing.zone")};
    for (size_t i = 0; i < 4; i++) {
        struct at_profile_mask mask = {&paths[i], 1};
        assert_int_equal(at_profile_merge(&old, &old, mask, *state, &merged, NULL),
                         AT_INVALID_ARGUMENT);
    }
}

static int set_up(void **state)
{
    static struct at_arena arena;
    at_arena_init(&arena, 4096);
    *state = &arena;
    return 0;
}

static int tear_down(void **state)
{
    at_arena_deinit(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sub_field_leaves_its_siblings),
        cmocka_unit_test(a_whole_field_replaces_all_below_it),
        cmocka_unit_test(a_path_of_the_other_branch_switches_to_it),
        cmocka_unit_test(no_mask_replaces_every_field),
        cmocka_unit_test(both_spellings_name_the_description),
        cmocka_unit_test(an_unknown_path_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
