#include "cluster/genesis.h"

#include "appprofile/profile.h"
#include "atoll/v1/control.pb-c.h"
#include "base/escape.h"
#include "base/limits.h"
#include "google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h"
#include "google/longrunning/operations.pb-c.h"
#include "support/test.h"
#include "wire/proto_alloc.h"

/* What an instance file has as the catalog's first records: app profiles first. */

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
    assert_int_equal(count, 5);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(records[i].kind, i < 2    ? AT_CATALOG_PROFILE
                                          : i == 2 ? AT_CATALOG_INSTANCE
                                                   : AT_CATALOG_CLUSTER);
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

/* The base64 of a CreateInstanceRequest for two clusters, the second one of 3 nodes. */
static const char *request_text(struct at_arena *arena)
{
    Google__Bigtable__Admin__V2__CreateInstanceRequest in =
        GOOGLE__BIGTABLE__ADMIN__V2__CREATE_INSTANCE_REQUEST__INIT;
    Google__Bigtable__Admin__V2__Instance instance = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__INIT;
    Google__Bigtable__Admin__V2__Instance__LabelsEntry label =
        GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__LABELS_ENTRY__INIT;
    Google__Bigtable__Admin__V2__CreateInstanceRequest__ClustersEntry entry =
        GOOGLE__BIGTABLE__ADMIN__V2__CREATE_INSTANCE_REQUEST__CLUSTERS_ENTRY__INIT;
    Google__Bigtable__Admin__V2__Cluster cluster = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
    Google__Bigtable__Admin__V2__Instance__LabelsEntry *labels[] = {&label};
    Google__Bigtable__Admin__V2__CreateInstanceRequest__ClustersEntry *entries[] = {&entry};
    uint8_t bytes[512];
    struct at_buf out;

    label.key = at_arena_printf(arena, "env");
    label.value = at_arena_printf(arena, "test");
    instance.labels = labels;
    instance.n_labels = 1;
    entry.key = at_arena_printf(arena, "c2");
    entry.value = &cluster;
    cluster.serve_nodes = 3;
    in.instance = &instance;
    in.clusters = entries;
    in.n_clusters = 1;
    at_buf_init(&out, AT_KIB);
    size_t len = protobuf_c_message_pack(&in.base, bytes);
    assert_int_equal(at_escape_base64(&out, at_slice_make(bytes, len), false, true), AT_OK);
    const char *text = at_arena_printf(arena, "%.*s", AT_SLICE_ARG(at_buf_slice(&out)));
    at_buf_deinit(&out);
    return text;
}

static enum at_code born_of(const char *request,
                            struct at_arena *arena,
                            struct at_catalog_record **ret_records,
                            uint32_t *ret_count)
{
    const struct at_instance_config instance = {
        .project = "p",
        .instance = "i",
        .created_operation = "operations/projects/p/instances/i/operations/1700000000000000007",
        .created_request = request,
        .clusters = clusters,
        .cluster_count = 2,
    };

    return at_genesis_records(&instance, arena, ret_records, ret_count, NULL);
}

static void the_request_that_made_the_instance_counts(void **state)
{
    struct at_catalog_record *r;
    struct at_arena arena;
    uint32_t count;

    (void)state;
    at_arena_init(&arena, 4096);
    assert_int_equal(born_of(request_text(&arena), &arena, &r, &count), AT_OK);
    assert_int_equal(count, 4);
    const Google__Bigtable__Admin__V2__Instance *instance =
        at_proto_unpack(&arena, &google__bigtable__admin__v2__instance__descriptor, r[0].fields);
    assert_string_equal(instance->display_name, "i");
    assert_int_equal(instance->n_labels, 1);
    const Atoll__V1__ClusterRecord *c2 =
        at_proto_unpack(&arena, &atoll__v1__cluster_record__descriptor, r[2].fields);
    assert_int_equal(c2->cluster->serve_nodes, 3);
    assert_string_equal(c2->cluster->location, "projects/p/locations/z2");
    assert_int_equal(c2->address->member_id, 2);
    assert_int_equal(r[3].kind, AT_CATALOG_OPERATION);
    const Google__Longrunning__Operation *operation =
        at_proto_unpack(&arena, &google__longrunning__operation__descriptor, r[3].fields);
    assert_true(operation->done);
    assert_string_equal(operation->response->type_url,
                        "type.googleapis.com/google.bigtable.admin.v2.Instance");
    const Google__Bigtable__Admin__V2__CreateInstanceMetadata *metadata = at_proto_unpack(
        &arena, &google__bigtable__admin__v2__create_instance_metadata__descriptor,
        at_slice_make(operation->metadata->value.data, operation->metadata->value.len));
    assert_int_equal(metadata->original_request->n_clusters, 1);
    assert_int_equal(metadata->request_time->seconds, 1700000000);
    assert_int_equal(metadata->request_time->nanos, 7);
    assert_int_equal(metadata->finish_time->seconds, 1700000000);
    assert_int_equal(born_of("?", &arena, &r, &count), AT_INVALID_ARGUMENT);
    at_arena_deinit(&arena);
}

static void a_cluster_that_joined_later_is_no_founder(void **state)
{
    struct at_cluster_config all[] = {clusters[0], clusters[1]};
    const struct at_instance_config instance = {
        .project = "p", .instance = "i", .clusters = all, .cluster_count = 2};
    struct at_catalog_record *r;
    struct at_arena arena;
    uint32_t count;

    (void)state;
    all[1].join_hlc = 5;
    at_arena_init(&arena, 4096);
    assert_int_equal(at_genesis_records(&instance, &arena, &r, &count, NULL), AT_OK);
    assert_int_equal(count, 2);
    assert_true(at_slice_eq_cstr(r[1].name, "c1"));
    at_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_become_records_below_every_real_one),
        cmocka_unit_test(a_group_and_row_affinity_are_kept),
        cmocka_unit_test(the_same_file_gives_the_same_records_everywhere),
        cmocka_unit_test(a_profile_that_is_not_valid_is_refused),
        cmocka_unit_test(the_request_that_made_the_instance_counts),
        cmocka_unit_test(a_cluster_that_joined_later_is_no_founder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
