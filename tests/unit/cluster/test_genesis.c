#include "cluster/genesis.h"

#include "appprofile/profile.h"
#include "support/test.h"

/* The app profiles of an instance file as the catalog's first records. */

static const char *only_c2[] = {"c2"};
static const char *unknown[] = {"c9"};

static struct at_cluster_config clusters[] = {
    {.id = "c1", .zone = "z1", .member = 1, .host = "127.0.0.1"},
    {.id = "c2", .zone = "z2", .member = 2, .host = "127.0.0.1"},
};

static struct at_profile_config any(const char *id)
{
    return (struct at_profile_config){
        .id = id, .description = "", .routing = "any", .priority = "HIGH"};
}

static enum at_code records_of(struct at_profile_config *profiles,
                               uint32_t count,
                               struct at_arena *arena,
                               struct at_catalog_record **ret_records,
                               uint32_t *ret_count)
{
    struct at_instance_config instance = {
        .project = "p",
        .instance = "i",
        .clusters = clusters,
        .cluster_count = 2,
        .profiles = profiles,
        .profile_count = count,
    };
    struct at_error error = {0};
    enum at_code code = at_genesis_records(&instance, arena, ret_records, ret_count, &error);

    assert_true(code == AT_OK || error.msg[0] != '\0');
    return code;
}

static void profiles_become_records_below_every_real_one(void **state)
{
    struct at_profile_config profiles[] = {any("default"), any("one")};
    struct at_catalog_record *records;
    struct at_profile p;
    struct at_arena arena;
    uint32_t count;

    (void)state;
    profiles[1].routing = "single";
    profiles[1].clusters = only_c2;
    profiles[1].cluster_count = 1;
    profiles[1].transactional_writes = true;
    profiles[1].description = "for one";
    profiles[1].priority = "LOW";
    at_arena_init(&arena, 4096);
    assert_int_equal(records_of(profiles, 2, &arena, &records, &count), AT_OK);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(records[i].kind, AT_CATALOG_PROFILE);
        assert_int_equal(records[i].counter, 1);
        assert_int_equal(records[i].stamp.hlc, 0);
        assert_int_equal(records[i].stamp.origin.v, 0);
    }
    assert_true(at_slice_eq_cstr(records[0].name, "default"));
    assert_int_equal(at_profile_decode(records[0].fields, &arena, &p, NULL), AT_OK);
    assert_int_equal(p.routing, AT_ROUTING_ANY);
    assert_int_equal(p.priority, AT_PRIORITY_HIGH);
    assert_int_equal(p.name.len, 0);
    assert_true(at_slice_eq_cstr(records[1].name, "one"));
    assert_int_equal(at_profile_decode(records[1].fields, &arena, &p, NULL), AT_OK);
    assert_int_equal(p.routing, AT_ROUTING_SINGLE);
    assert_true(at_slice_eq_cstr(p.cluster_id, "c2"));
    assert_true(p.allow_transactional_writes);
    assert_int_equal(p.priority, AT_PRIORITY_LOW);
    assert_true(at_slice_eq_cstr(p.description, "for one"));
    at_arena_deinit(&arena);
}

static void a_group_and_row_affinity_are_kept(void **state)
{
    struct at_profile_config profile = any("near");
    struct at_catalog_record *records;
    struct at_profile p;
    struct at_arena arena;
    uint32_t count;

    (void)state;
    profile.clusters = only_c2;
    profile.cluster_count = 1;
    profile.row_affinity = true;
    at_arena_init(&arena, 4096);
    assert_int_equal(records_of(&profile, 1, &arena, &records, &count), AT_OK);
    assert_int_equal(at_profile_decode(records[0].fields, &arena, &p, NULL), AT_OK);
    assert_true(p.row_affinity);
    assert_int_equal(p.cluster_id_count, 1);
    assert_true(at_slice_eq_cstr(p.cluster_ids[0], "c2"));
    at_arena_deinit(&arena);
}

static void the_same_file_gives_the_same_records_everywhere(void **state)
{
    struct at_profile_config profiles[] = {any("default"), any("two")};
    struct at_catalog_record *a;
    struct at_catalog_record *b;
    struct at_arena arena;
    uint32_t count;

    (void)state;
    at_arena_init(&arena, 4096);
    assert_int_equal(records_of(profiles, 2, &arena, &a, &count), AT_OK);
    assert_int_equal(records_of(profiles, 2, &arena, &b, &count), AT_OK);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(at_slice_eq(a[i].name, b[i].name));
        assert_true(at_slice_eq(a[i].fields, b[i].fields));
    }
    at_arena_deinit(&arena);
}

static void a_profile_that_is_not_valid_is_refused(void **state)
{
    struct at_profile_config bad_id = any("no good");
    struct at_profile_config bad_cluster = any("x");
    struct at_catalog_record *records;
    struct at_arena arena;
    uint32_t count;

    (void)state;
    bad_cluster.clusters = unknown;
    bad_cluster.cluster_count = 1;
    at_arena_init(&arena, 4096);
    assert_int_equal(records_of(&bad_id, 1, &arena, &records, &count), AT_INVALID_ARGUMENT);
    assert_int_equal(records_of(&bad_cluster, 1, &arena, &records, &count), AT_NOT_FOUND);
    at_arena_deinit(&arena);
}

static void an_instance_without_profiles_has_no_records(void **state)
{
    struct at_catalog_record *records;
    struct at_arena arena;
    uint32_t count = 7;

    (void)state;
    at_arena_init(&arena, 4096);
    assert_int_equal(records_of(NULL, 0, &arena, &records, &count), AT_OK);
    assert_int_equal(count, 0);
    at_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_become_records_below_every_real_one),
        cmocka_unit_test(a_group_and_row_affinity_are_kept),
        cmocka_unit_test(the_same_file_gives_the_same_records_everywhere),
        cmocka_unit_test(a_profile_that_is_not_valid_is_refused),
        cmocka_unit_test(an_instance_without_profiles_has_no_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
