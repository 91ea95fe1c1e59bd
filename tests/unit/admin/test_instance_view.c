#include "cluster/admin/instance_view.h"

#include "support/test.h"

/* The catalog's records of the instance and its clusters; without any, the members it was given. */

static const struct at_service_member MEMBERS[] = {{1, "c1", "z1"}, {2, "c2", "z2"}};
static const struct at_service SERVICE = {
    .project = "p", .instance = "i", .display_name = "Lab", .members = MEMBERS, .member_count = 2};

static struct at_catalog *
with(const struct at_catalog *old, enum at_catalog_kind kind, const char *name, struct at_slice f)
{
    const struct at_catalog_record record = {
        .kind = kind, .name = at_slice_cstr(name), .counter = 1, .fields = f};
    struct at_catalog *new = NULL;

    assert_int_equal(at_catalog_apply(old, &record, 1, NULL, &new, NULL), AT_OK);
    return new;
}

static struct at_slice record_bytes(struct at_arena *arena, int state, const char *zone)
{
    Atoll__V1__ClusterRecord record = ATOLL__V1__CLUSTER_RECORD__INIT;
    Google__Bigtable__Admin__V2__Cluster cluster = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
    Atoll__V1__ClusterAddress address = ATOLL__V1__CLUSTER_ADDRESS__INIT;

    cluster.serve_nodes = 3;
    cluster.state = (Google__Bigtable__Admin__V2__Cluster__State)state;
    address.zone = at_arena_printf(arena, "%s", zone);
    record.cluster = &cluster;
    record.address = &address;
    return at_admin_pack(arena, &record.base);
}

static void members_stand_for_clusters_without_records(void **state)
{
    struct at_catalog *empty = at_catalog_new();
    struct at_cluster_entry entry;
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, 1024);
    assert_int_equal(at_cluster_entries(&SERVICE, empty, &arena).count, 2);
    assert_true(at_cluster_entry(&SERVICE, empty, AT_LIT("c2"), &arena, &entry));
    assert_int_equal(entry.generation, 0);
    assert_false(at_cluster_entry(&SERVICE, empty, AT_LIT("c3"), &arena, &entry));
    assert_string_equal(at_instance_view(&SERVICE, AT_LIT(""), empty, &arena)->display_name, "Lab");
    at_catalog_free(&empty);
    at_arena_deinit(&arena);
}

static void records_stand_beside_members(void **state)
{
    const int creating = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__STATE__CREATING;
    struct at_catalog *empty = at_catalog_new();
    struct at_cluster_entry entry;
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, 1024);
    struct at_catalog *one =
        with(empty, AT_CATALOG_CLUSTER, "c9", record_bytes(&arena, creating, "z9"));
    struct at_catalog *two = with(one, AT_CATALOG_CLUSTER, "bad", AT_LIT("\xff"));
    struct at_catalog *deleted = NULL;
    const struct at_catalog_record gone = {
        .kind = AT_CATALOG_CLUSTER, .name = AT_LIT("c1"), .counter = 2};
    assert_int_equal(at_catalog_apply(two, &gone, 1, NULL, &deleted, NULL), AT_OK);
    struct at_cluster_entries all = at_cluster_entries(&SERVICE, deleted, &arena);
    assert_int_equal(all.count, 2);
    assert_true(at_slice_eq_cstr(all.items[0].id, "c2") && at_slice_eq_cstr(all.items[1].id, "c9"));
    at_catalog_free(&deleted);
    assert_true(at_cluster_entry(&SERVICE, two, AT_LIT("c9"), &arena, &entry));
    assert_int_equal(entry.generation, 1);
    assert_true(at_cluster_creating(&entry));
    const Google__Bigtable__Admin__V2__Cluster *view =
        at_cluster_view(&SERVICE, AT_LIT(""), &entry, &arena);
    assert_string_equal(view->name, "projects/p/instances/i/clusters/c9");
    assert_string_equal(view->location, "projects/p/locations/z9");
    assert_int_equal(view->serve_nodes, 3);
    view = at_cluster_view(&SERVICE, AT_LIT("projects/q/instances/j"), &entry, &arena);
    assert_string_equal(view->name, "projects/q/instances/j/clusters/c9");
    assert_string_equal(view->location, "projects/q/locations/z9");
    at_catalog_free(&two);
    at_catalog_free(&one);
    at_catalog_free(&empty);
    at_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_stand_for_clusters_without_records),
        cmocka_unit_test(records_stand_beside_members),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
