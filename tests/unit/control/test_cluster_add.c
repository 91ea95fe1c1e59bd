#include "cluster/control/cluster_add.h"

#include "support/admin_fixture.h"
#include "wire/proto_alloc.h"

#define ADD(id, zone, member)                         \
    "1:" id " 2{4=2} 3{1:" id " 2:" zone " 3=" member \
    " 4:127.0.0.1 5=7001 6=7002} 4{1:" AFX_INSTANCE " 2:" id "}"
#define C3 AFX_INSTANCE "/clusters/c3"

static struct afx_case cases[] = {
    {"a new cluster is CREATING, with its nodes, and its tables are INITIALIZING there",
     {{"CreateTable", "1:" AFX_INSTANCE " 2:t 3{}", AT_OK, NULL},
      {"AddCluster", ADD("c3", "z3", "3"), AT_OK, NULL},
      {"GetCluster", "1:" C3, AT_OK,
       "name:" C3 " location:projects/p/locations/z3 state:CREATING serve_nodes:2 "
       "default_storage_type:SSD"},
      {"GetTable", "1:" AFX_INSTANCE "/tables/t 2=3", AT_OK,
       "name:" AFX_INSTANCE "/tables/t cluster_states{key:c1 value{replication_state:READY}} "
       "cluster_states{key:c2 value{replication_state:READY}} "
       "cluster_states{key:c3 value{replication_state:INITIALIZING}}"},
      {"UpdateCluster", "1:" C3 " 4=3", AT_FAILED_PRECONDITION,
       "Cannot update cluster that is currently being modified"},
      {"CreateAppProfile", "1:" AFX_INSTANCE " 2:a 3{6{1:c3}}", AT_OK, NULL}}},
    {"one per zone, and each id once",
     {{"AddCluster", ADD("c3", "z2", "3"), AT_FAILED_PRECONDITION,
       "Cannot create multiple clusters in the same zone."},
      {"AddCluster", ADD("c2", "z3", "3"), AT_ALREADY_EXISTS, "c2"},
      {"AddCluster", ADD("c3", "z3", "2"), AT_ALREADY_EXISTS, "Member"},
      {"AddCluster", ADD("c3", "z3", "3"), AT_OK, NULL},
      {"AddCluster", ADD("c3", "z4", "4"), AT_ALREADY_EXISTS, "c3"}}},
    {"at most eight",
     {{"AddCluster", ADD("c3", "z3", "3"), AT_OK, NULL},
      {"AddCluster", ADD("c4", "z4", "4"), AT_OK, NULL},
      {"AddCluster", ADD("c5", "z5", "5"), AT_OK, NULL},
      {"AddCluster", ADD("c6", "z6", "6"), AT_OK, NULL},
      {"AddCluster", ADD("c7", "z7", "7"), AT_OK, NULL},
      {"AddCluster", ADD("c8", "z8", "8"), AT_OK, NULL},
      {"AddCluster", ADD("c9", "z9", "9"), AT_FAILED_PRECONDITION, "at most 8"}}},
    {"what can't be is refused",
     {{"AddCluster", "", AT_INVALID_ARGUMENT, "cluster id"},
      {"AddCluster", "1:c3", AT_INVALID_ARGUMENT, "member_id"},
      {"AddCluster", "1:c3 2{} 3{2:z3 3=3} 4{}", AT_INVALID_ARGUMENT, "address"},
      {"AddCluster", "1:c3 2{} 3{3=3 4:h 5=1 6=1} 4{}", AT_INVALID_ARGUMENT, "zone"},
      {"AddCluster", "1:c3 3{2:z3 3=3 4:h 5=1 6=1} 4{}", AT_INVALID_ARGUMENT, "cluster"},
      {"AddCluster", "1:c3 2{} 3{2:z3 3=3 4:h 5=1 6=1} 4:'\\9'", AT_INVALID_ARGUMENT,
       "original_request"},
      {"AddCluster", "1:c3 2{9=2 4=3} 3{2:z3 3=3 4:h 5=1 6=1} 4{}", AT_INVALID_ARGUMENT, "even"}}},
};

static void the_operation_lists_the_tables_there_are(void **state)
{
    struct afx *s = at_alloc(sizeof(*s));
    struct afx_call c;

    (void)state;
    afx_open(s);
    afx_run_step(s, &(struct afx_step){"CreateTable", "1:" AFX_INSTANCE " 2:t 3{}", AT_OK, NULL});
    afx_call_init(&c, s);
    (void)afx_start(&c, "AddCluster", ADD("c3", "z3", "3"), 0);
    afx_finish(&c);
    assert_int_equal(c.code, AT_OK);
    const Atoll__V1__AddClusterResponse *out = at_proto_unpack(
        &s->arena, &atoll__v1__add_cluster_response__descriptor, at_buf_slice(&c.bytes));
    assert_int_equal(out->members->n_members, 3);
    assert_string_equal(out->members->members[2]->cluster_id, "c3");
    assert_int_equal(out->members->members[2]->peer_port, 7002);
    assert_true(out->members->hlc > 0);
    const Google__Longrunning__Operation *operation =
        at_proto_unpack(&s->arena, &google__longrunning__operation__descriptor,
                        at_slice_make(out->operation.data, out->operation.len));
    assert_false(operation->done);
    const Google__Bigtable__Admin__V2__CreateClusterMetadata *metadata = at_proto_unpack(
        &s->arena, &google__bigtable__admin__v2__create_cluster_metadata__descriptor,
        at_slice_make(operation->metadata->value.data, operation->metadata->value.len));
    assert_int_equal(metadata->n_tables, 1);
    assert_string_equal(metadata->tables[0]->key, AFX_INSTANCE "/tables/t");
    assert_string_equal(metadata->original_request->cluster_id, "c3");
    afx_run_step(s, &(struct afx_step){"DeleteOperation",
                                       at_arena_printf(&s->arena, "1:%s", operation->name),
                                       AT_FAILED_PRECONDITION, "not done"});
    afx_run_step(
        s, &(struct afx_step){"WaitOperation",
                              at_arena_printf(&s->arena, "1:%s 2{2=60000000}", operation->name),
                              AT_OK, NULL});
    afx_call_deinit(&c);
    afx_close(s);
    at_free(s);
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(the_operation_lists_the_tables_there_are),
    };

    return afx_main(cases, sizeof(cases) / sizeof(cases[0]), others, 1);
}
