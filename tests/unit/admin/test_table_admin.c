#include "support/admin_fixture.h"

/* Tables, from request bytes to answer bytes. */

#define P "1:" AFX_INSTANCE " "
#define CREATE_T "CreateTable", P "2:t 3{}"
#define T_PLAIN "name:" AFX_T " granularity:MILLIS"
#define FAMILY(name, fields) "3{1:" name " 2{" fields "}}"
#define GC_AGE_1S "1{2{1=1}}"
#define X60 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define TEN(x) x x x x x x x x x x
#define X50 TEN("xxxxx")
#define X64 TEN("xxxxxx") "xxxx"
/* A union of rules of 4 and of 5 bytes, with 3 bytes around: 500 bytes, and 501. */
#define RULE4 "1{1=1}"
#define RULE5 "1{1=200}"
#define RULES_110 TEN(TEN(RULE4)) TEN(RULE4)
#define RULES_117 RULES_110 RULE4 RULE4 RULE4 RULE4 RULE4 RULE4 RULE4
#define GC_500 "1{4{" RULES_117 RULE4 RULE5 RULE5 RULE5 RULE5 RULE5 "}}"
#define GC_501 "1{4{" RULES_117 RULE5 RULE5 RULE5 RULE5 RULE5 RULE5 "}}"
#define TABLE_NAME(id) AFX_INSTANCE "/tables/" id

static struct afx_case cases[] = {
    {"a table is created once, found, listed and deleted",
     {{CREATE_T, AT_OK, T_PLAIN},
      {CREATE_T, AT_ALREADY_EXISTS, "table \"" AFX_T "\" already exists"},
      {"GetTable", "1:$t", AT_OK, T_PLAIN},
      {"ListTables", P, AT_OK, "tables{name:" AFX_T "}"},
      {"DeleteTable", "1:$t", AT_OK, ""},
      {"GetTable", "1:$t", AT_NOT_FOUND, "Table not found: " AFX_T},
      {"DeleteTable", "1:$t", AT_NOT_FOUND, AFX_T},
      {"ListTables", P, AT_OK, ""},
      {CREATE_T, AT_OK, T_PLAIN}}},
    {"families come with their rules and types",
     {{"CreateTable",
       P "2:t 3{" FAMILY("g", GC_AGE_1S) FAMILY("f", "") "3{1:e}" FAMILY("s", "3{6{4{}}}") "}",
       AT_OK,
       "name:" AFX_T " column_families{key:e value{}} column_families{key:f value{}} "
       "column_families{key:g value{gc_rule{max_age{seconds:1}}}} "
       "column_families{key:s value{value_type{aggregate_type{sum{}}}}} granularity:MILLIS"}}},
    {"a granularity of microseconds is kept, and cells are that fine",
     {{"CreateTable", P "2:t 3{4=2 " FAMILY("f", "") "}", AT_OK, NULL},
      {"MutateRow", "1:$t 2:r 3{1{1:f 2:q 3=1001 4:v}}", AT_OK, NULL},
      {"GetTable", "1:$t", AT_OK, "name:" AFX_T " column_families{key:f value{}} granularity:2"},
      {"rows", "t", AT_OK, "r: f:q@1001=v|"},
      {"CreateTable", P "2:u 3{4=3}", AT_INVALID_ARGUMENT, "granularity"}}},
    {"each view shows its part",
     {{"CreateTable", P "2:t 3{" FAMILY("f", "") "}", AT_OK, NULL},
      {"GetTable", "1:$t 2=1", AT_OK, "name:" AFX_T},
      {"GetTable", "1:$t 2=2", AT_OK,
       "name:" AFX_T " column_families{key:f value{}} granularity:MILLIS"},
      {"GetTable", "1:$t 2=3", AT_OK,
       "name:" AFX_T " cluster_states{key:c1 value{replication_state:READY}} "
       "cluster_states{key:c2 value{replication_state:READY}}"},
      {"GetTable", "1:$t 2=4", AT_OK,
       "name:" AFX_T " cluster_states{key:c1 value{replication_state:READY}} "
       "cluster_states{key:c2 value{replication_state:READY}} "
       "column_families{key:f value{}} granularity:MILLIS"},
      {"ListTables", P "2=2", AT_OK,
       "tables{name:" AFX_T " column_families{key:f value{}} granularity:MILLIS}"},
      {"GetTable", "1:$t 2=9", AT_INVALID_ARGUMENT, "view"}}},
    {"a table id follows the rule",
     {{"CreateTable", P "2: 3{}", AT_INVALID_ARGUMENT, "Table id"},
      {"CreateTable", P "2:'a b/c' 3{}", AT_INVALID_ARGUMENT, "Table id"},
      {"CreateTable", P "2:-a 3{}", AT_INVALID_ARGUMENT, "Table id"},
      {"CreateTable", P "2:" X60 " 3{}", AT_INVALID_ARGUMENT, "Table id"},
      {"CreateTable", P "2:_A-z.9 3{}", AT_OK, NULL},
      {"CreateTable", P "2:t 3{1:$t}", AT_INVALID_ARGUMENT, "table.name"},
      {"CreateTable", P "2:t 3{3{1:'a b:c' 2{}}}", AT_INVALID_ARGUMENT, "Family name"},
      {"CreateTable", P "2:t 3{3{1: 2{}}}", AT_INVALID_ARGUMENT, "Family name"}}},
    {"names and rules at their limits and beyond",
     {{"CreateTable", P "2:" X50 " 3{}", AT_OK, NULL},
      {"CreateTable", P "2:" X50 "x 3{}", AT_INVALID_ARGUMENT, "50"},
      {"CreateTable", P "2:f64 3{" FAMILY(X64, "") "}", AT_OK, NULL},
      {"CreateTable", P "2:f65 3{" FAMILY(X64 "x", "") "}", AT_INVALID_ARGUMENT, "64"},
      {"CreateTable", P "2:r500 3{" FAMILY("f", GC_500) "}", AT_OK, NULL},
      {"CreateTable", P "2:r501 3{" FAMILY("f", GC_501) "}", AT_INVALID_ARGUMENT, "500"}}},
    {"a parent that is not this instance is not found, or no name",
     {{"CreateTable", "1:projects/p/instances/other 2:t 3{}", AT_NOT_FOUND, "other"},
      {"CreateTable", "1:projects/x/instances/i 2:t 3{}", AT_NOT_FOUND, "projects/x"},
      {"CreateTable", "1:i 2:t 3{}", AT_INVALID_ARGUMENT, "instance name"},
      {"CreateTable", "2:t 3{}", AT_INVALID_ARGUMENT, "instance name"},
      {"ListTables", "1:projects/p/instances/-", AT_OK, ""},
      {"ListTables", "1:projects/p/instances/other", AT_NOT_FOUND, NULL},
      {"GetTable", "1:projects/p/instances/i/t", AT_INVALID_ARGUMENT, NULL}}},
    {"splits are sorted, taken once, and are samples of the empty table",
     {{"CreateTable", P "2:t 3{} 4{1:t} 4{1:m} 4{1:t}", AT_OK, T_PLAIN},
      {"SampleRowKeys", "1:$t", AT_OK, "\\x0a\\x01m\\x10\\x01;\\x0a\\x01t\\x10\\x02;\\x10\\x03"},
      {"CreateTable", P "2:u 3{} 4{1:t} 4{1:}", AT_INVALID_ARGUMENT, "initial_splits"},
      {"CreateTable", P "2:u 3{} 4{1:*4097}", AT_INVALID_ARGUMENT, "initial_splits"}}},
    {"garbage collection rules without sense are refused",
     {{"CreateTable", P "2:t 3{" FAMILY("f", "1{1=0}") "}", AT_INVALID_ARGUMENT,
       "max_num_versions"},
      {"CreateTable", P "2:t 3{" FAMILY("f", "1{2{1=-5}}") "}", AT_INVALID_ARGUMENT, "max_age"},
      {"CreateTable", P "2:t 3{" FAMILY("f", "1{4{}}") "}", AT_INVALID_ARGUMENT, "union"},
      {"CreateTable", P "2:t 3{" FAMILY("f", "1{3{}}") "}", AT_INVALID_ARGUMENT, "intersection"},
      {"CreateTable", P "2:t 3{" FAMILY("f", "3{6{}}") "}", AT_INVALID_ARGUMENT, "aggregator"},
      {"CreateTable", P "2:t 3{" FAMILY("f", "3{6{1{2{}} 4{}}}") "}", AT_INVALID_ARGUMENT,
       "input_type"},
      {"ListTables", P, AT_OK, ""},
      {"CreateTable", P "2:t 3{" FAMILY("f", "1{}") "}", AT_OK,
       "name:" AFX_T " column_families{key:f value{gc_rule{}}} granularity:MILLIS"}}},
    {"lists go page by page, in the order of the names",
     {{"CreateTable", P "2:b 3{}", AT_OK, NULL},
      {"CreateTable", P "2:c 3{}", AT_OK, NULL},
      {"CreateTable", P "2:a 3{}", AT_OK, NULL},
      {"ListTables", P "4=2", AT_OK,
       "tables{name:" TABLE_NAME("a") "} tables{name:" TABLE_NAME("b") "} next_page_token:0oCwxGI"},
      {"ListTables", P "4=2 3:0oCwxGI", AT_OK, "tables{name:" TABLE_NAME("c") "}"},
      {"ListTables", P "4=3", AT_OK,
       "tables{name:" TABLE_NAME("a") "} tables{name:" TABLE_NAME("b") "} tables{name:" TABLE_NAME(
           "c") "}"},
      {"ListTables", P "4=-1", AT_INVALID_ARGUMENT, "page_size"},
      {"ListTables", P "3:garbage", AT_INVALID_ARGUMENT, "page_token"},
      {"ListTables", P "3:!!", AT_INVALID_ARGUMENT, "page_token"}}},
    {"a protected table is not deleted until the protection is lifted",
     {{"CreateTable", P "2:t 3{9=1 " FAMILY("f", "") "}", AT_OK,
       "name:" AFX_T " column_families{key:f value{}} granularity:MILLIS deletion_protection:true"},
      {"DeleteTable", "1:$t", AT_FAILED_PRECONDITION, "protected"},
      {"ModifyColumnFamilies", "1:$t 2{1:f 4=1}", AT_FAILED_PRECONDITION, "protected"},
      {"UpdateTable", "1{1:$t} 2{1:column_families}", AT_UNIMPLEMENTED, "column_families"},
      {"UpdateTable", "1{1:$t} 2{1:nonsense}", AT_INVALID_ARGUMENT, "nonsense"},
      {"UpdateTable", "1{1:$t}", AT_INVALID_ARGUMENT, "update_mask"},
      {"UpdateTable", "1{1:$t} 2{1:deletion_protection}", AT_OK, NULL},
      {"DeleteTable", "1:$t", AT_OK, ""},
      {"UpdateTable", "1{1:$t} 2{1:deletion_protection}", AT_NOT_FOUND, AFX_T}}},
    {"a change stream is stored, shown, and holds its table",
     {{"CreateTable", P "2:t 3{8{1{1=86400}}}", AT_OK,
       "name:" AFX_T " granularity:MILLIS change_stream_config{retention_period{seconds:86400}}"},
      {"DeleteTable", "1:$t", AT_FAILED_PRECONDITION, "change stream"},
      {"UpdateTable", "1{1:$t 8{1{1=172800}}} 2{1:change_stream_config.retention_period}", AT_OK,
       NULL},
      {"GetTable", "1:$t", AT_OK,
       "name:" AFX_T " granularity:MILLIS change_stream_config{retention_period{seconds:172800}}"},
      {"UpdateTable", "1{1:$t 8{1{1=5}}} 2{1:change_stream_config}", AT_INVALID_ARGUMENT, "7 days"},
      {"UpdateTable", "1{1:$t} 2{1:change_stream_config}", AT_OK, NULL},
      {"DeleteTable", "1:$t", AT_OK, ""},
      {"CreateTable", P "2:t 3{8{}}", AT_INVALID_ARGUMENT, "7 days"}}},
    {"what is not offered says so by name",
     {{"CreateInstance", "", AT_UNIMPLEMENTED, "CreateInstance"},
      {"CreateTable", P "2:t 3{13{}}", AT_UNIMPLEMENTED, "automated_backup_policy"},
      {"CreateTable", P "2:t 3{15{}}", AT_UNIMPLEMENTED, "row_key_schema"}}},
    {"a deleted table is had back with its data, families and configuration",
     {{"CreateTable", P "2:t 3{" FAMILY("f", "") " 9=0} 4{1:m}", AT_OK, NULL},
      {"MutateRow", "1:$t 2:r 3{1{1:f 2:q 3=1000 4:v}}", AT_OK, NULL},
      {"UndeleteTable", "1:$t", AT_ALREADY_EXISTS, "already exists"},
      {"DeleteTable", "1:$t", AT_OK, ""},
      {"GetTable", "1:$t", AT_NOT_FOUND, NULL},
      {"UndeleteTable", "1:$t", AT_OK, NULL},
      {"rows", "t", AT_OK, "r: f:q@1000=v|"},
      {"MutateRow", "1:$t 2:s 3{1{1:f 2:q 3=1000 4:w}}", AT_OK, NULL},
      {"rows", "t", AT_OK, "r: f:q@1000=v|s: f:q@1000=w|"},
      {"UndeleteTable", "1:$u", AT_NOT_FOUND, "u"}}},
    {"a table made anew stands before the deleted one, and is had back in its turn",
     {{"CreateTable", P "2:t 3{" FAMILY("f", "") "}", AT_OK, NULL},
      {"MutateRow", "1:$t 2:old 3{1{1:f 2:q 3=1000 4:v}}", AT_OK, NULL},
      {"DeleteTable", "1:$t", AT_OK, ""},
      {"CreateTable", P "2:t 3{" FAMILY("f", "") "}", AT_OK, NULL},
      {"rows", "t", AT_OK, ""},
      {"MutateRow", "1:$t 2:new 3{1{1:f 2:q 3=1000 4:v}}", AT_OK, NULL},
      {"UndeleteTable", "1:$t", AT_ALREADY_EXISTS, NULL},
      {"DeleteTable", "1:$t", AT_OK, ""},
      {"UndeleteTable", "1:$t", AT_OK, NULL},
      {"rows", "t", AT_OK, "new: f:q@1000=v|"}}},
    {"a table that was had back is deleted and had back again",
     {{"CreateTable", P "2:t 3{" FAMILY("f", "") "}", AT_OK, NULL},
      {"MutateRow", "1:$t 2:r 3{1{1:f 2:q 3=1000 4:v}}", AT_OK, NULL},
      {"DeleteTable", "1:$t", AT_OK, ""},
      {"UndeleteTable", "1:$t", AT_OK, NULL},
      {"UpdateTable", "1{1:$t 9=1} 2{1:deletion_protection}", AT_OK, NULL},
      {"DeleteTable", "1:$t", AT_FAILED_PRECONDITION, "protected"},
      {"UpdateTable", "1{1:$t} 2{1:deletion_protection}", AT_OK, NULL},
      {"DeleteTable", "1:$t", AT_OK, ""},
      {"UndeleteTable", "1:$t", AT_OK, NULL},
      {"rows", "t", AT_OK, "r: f:q@1000=v|"}}},
    {"a table made anew does not show old data",
     {{"CreateTable", P "2:t 3{" FAMILY("f", "") "}", AT_OK, NULL},
      {"MutateRow", "1:$t 2:r 3{1{1:f 2:q 3=1000 4:v}}", AT_OK, NULL},
      {"DeleteTable", "1:$t", AT_OK, NULL},
      {"MutateRow", "1:$t 2:r 3{1{1:f 2:q 3=1000 4:v}}", AT_NOT_FOUND, AFX_T},
      {"CreateTable", P "2:t 3{" FAMILY("f", "") "}", AT_OK, NULL},
      {"rows", "t", AT_OK, ""}}},
};

static void *open_fixture(void)
{
    struct afx *s = at_alloc(sizeof(*s));

    afx_open(s);
    return s;
}

static int setup(void **state)
{
    *state = open_fixture();
    return 0;
}

static int teardown(void **state)
{
    afx_close(*state);
    at_free(*state);
    return 0;
}

static void a_member_out_of_touch_is_not_shown_as_ready(void **state)
{
    struct afx *s = *state;
    const struct afx_step steps[] = {
        {CREATE_T, AT_OK, NULL},
        {"GetTable", "1:$t 2=3", AT_OK,
         "name:" AFX_T " cluster_states{key:c1 value{replication_state:READY}} "
         "cluster_states{key:c2 value{replication_state:UNPLANNED_MAINTENANCE}}"},
    };

    atomic_store(&s->peer, AFX_PEER_GONE);
    afx_run_steps(s, steps, 2);
}

static void a_change_is_answered_when_the_members_in_touch_have_it(void **state)
{
    struct afx *s = *state;
    struct afx_call c;

    afx_call_init(&c, s);
    atomic_store(&s->peer, AFX_PEER_HOLDS);
    (void)afx_start(&c, CREATE_T, 0);
    while (sem_trywait(&s->asked) != 0)
        (void)uv_run(at_loop_uv(s->loop), UV_RUN_NOWAIT);
    for (int i = 0; i < 20; i++) {
        (void)uv_run(at_loop_uv(s->loop), UV_RUN_NOWAIT);
        usleep(1000);
    }
    assert_false(c.done);
    afx_release(s, AFX_PEER_FOLLOWS);
    afx_finish(&c);
    assert_int_equal(c.code, AT_OK);
    assert_string_equal(at_buf_cstr(&c.text), T_PLAIN);
    afx_call_deinit(&c);
}

static void a_change_that_could_not_spread_is_answered_all_the_same(void **state)
{
    struct afx *s = *state;
    const struct afx_step steps[] = {{CREATE_T, AT_OK, T_PLAIN}};

    atomic_store(&s->peer, AFX_PEER_GONE);
    afx_run_steps(s, steps, 1);
    assert_int_equal(atomic_load(&s->wait_count), 1);
}

static void an_updated_table_is_told_by_its_operation(void **state)
{
    struct afx *s = *state;
    struct afx_call c;
    const struct afx_step steps[] = {{CREATE_T, AT_OK, NULL}};

    afx_run_steps(s, steps, 1);
    afx_call_init(&c, s);
    (void)afx_start(&c, "UpdateTable", "1{1:$t 9=1} 2{1:deletion_protection}", 0);
    afx_finish(&c);
    assert_int_equal(c.code, AT_OK);
    Google__Longrunning__Operation *op =
        google__longrunning__operation__unpack(NULL, c.bytes.len, c.bytes.data);
    assert_non_null(op);
    assert_true(op->done);
    assert_int_equal(strncmp(op->name, "operations/" AFX_T "/operations/", 39), 0);
    assert_non_null(strstr(at_buf_cstr(&c.text), "deletion_protection:true"));
    const struct afx_step again[] = {
        {"GetOperation", at_arena_printf(&s->arena, "1:%s", op->name), AT_OK, NULL},
        {"GetOperation", at_arena_printf(&s->arena, "1:%s9", op->name), AT_NOT_FOUND, "Operation"},
        {"GetOperation", "1:operations/x", AT_NOT_FOUND, "operations/x"},
    };
    afx_run_steps(s, again, 3);
    google__longrunning__operation__free_unpacked(op, NULL);
    afx_call_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test_setup_teardown(a_member_out_of_touch_is_not_shown_as_ready, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_change_is_answered_when_the_members_in_touch_have_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_change_that_could_not_spread_is_answered_all_the_same,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(an_updated_table_is_told_by_its_operation, setup, teardown),
    };

    return afx_main(cases, sizeof(cases) / sizeof(cases[0]), others,
                    sizeof(others) / sizeof(others[0]));
}
