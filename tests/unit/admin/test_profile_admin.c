#include "support/admin_fixture.h"

/* App profiles, the instance and its clusters, from request bytes to answer bytes. */

#define P "1:" AFX_INSTANCE " "
#define NAME(id) AFX_INSTANCE "/appProfiles/" id
#define SINGLE(cluster) "6{1:" cluster "}"
#define TRANSACTIONAL(cluster) "6{1:" cluster " 2=1}"
#define WARNING "CLOUD_BIGTABLE_APP_PROFILE_WARNING"

static struct afx_case cases[] = {
    {"the default profile is there and can be changed",
     {{"GetAppProfile", "1:" NAME("default"), AT_OK, NULL},
      {"UpdateAppProfile", "1{1:" NAME("default") " 3:d} 2{1:description}", AT_OK, NULL}}},
    {"a profile without routing, or to what is not there, is refused",
     {{"CreateAppProfile", P "2:a 3{}", AT_INVALID_ARGUMENT, "routing_policy"},
      {"CreateAppProfile", P "2:a", AT_INVALID_ARGUMENT, "app_profile"},
      {"CreateAppProfile", P "2:a 3{" SINGLE("c9") "}", AT_NOT_FOUND, "c9"},
      {"CreateAppProfile", P "2:'a b' 3{5{}}", AT_INVALID_ARGUMENT, NULL},
      {"CreateAppProfile", "1:projects/p/instances/j 2:a 3{5{}}", AT_NOT_FOUND, NULL},
      {"CreateAppProfile", P "2:a 3{10{} 5{}}", AT_INVALID_ARGUMENT, "data_boost"},
      {"CreateAppProfile", P "2:default 3{5{}}", AT_ALREADY_EXISTS, "default"},
      {"GetAppProfile", "1:" NAME("a"), AT_NOT_FOUND, NAME("a")},
      {"GetAppProfile", "1:a", AT_INVALID_ARGUMENT, NULL}}},
    {"lists go page by page",
     {{"CreateAppProfile", P "2:a 3{5{}}", AT_OK, NULL},
      {"ListAppProfiles", P "3=-1", AT_INVALID_ARGUMENT, "page_size"},
      {"ListAppProfiles", "1:projects/p/instances/- 3=1", AT_OK, NULL},
      {"ListAppProfiles", P "2:GkMR5WRlZmF1bHQ", AT_OK, ""},
      {"ListAppProfiles", P "2:!", AT_INVALID_ARGUMENT, "page_token"}}},
    {"deleting warns, and is done when the warning is ignored",
     {{"DeleteAppProfile", "1:" NAME("default"), AT_FAILED_PRECONDITION,
       "Deleting an app profile will cause all requests using it to fail."},
      {"DeleteAppProfile", "1:" NAME("default") " 2=1", AT_OK, ""},
      {"DeleteAppProfile", "1:" NAME("default") " 2=1", AT_NOT_FOUND, NAME("default")},
      {"CreateAppProfile", P "2:default 3{" SINGLE("c1") "}", AT_OK, NULL},
      {"GetAppProfile", "1:" NAME("default"), AT_OK, NULL}}},
    {"two profiles with transactions on two clusters are a warning",
     {{"CreateAppProfile", P "2:a 3{" TRANSACTIONAL("c1") "}", AT_OK, NULL},
      {"CreateAppProfile", P "2:b 3{" TRANSACTIONAL("c2") "}", AT_FAILED_PRECONDITION, "c1"},
      {"CreateAppProfile", P "2:b 3{" TRANSACTIONAL("c2") "} 4=1", AT_OK, NULL},
      {"UpdateAppProfile",
       "1{1:" NAME("b") " " SINGLE("c1") "} 2{1:singleClusterRouting.clusterId}",
       AT_FAILED_PRECONDITION, "c2"},
      {"UpdateAppProfile",
       "1{1:" NAME("b") " " SINGLE("c1") "} 2{1:singleClusterRouting.clusterId} 3=1", AT_OK, NULL},
      {"UpdateAppProfile", "1{1:" NAME("nosuch") " 5{}}", AT_NOT_FOUND, "nosuch"},
      {"UpdateAppProfile", "1{1:" NAME("b") "} 2{1:nonsense}", AT_INVALID_ARGUMENT, "nonsense"},
      {"UpdateAppProfile", "", AT_INVALID_ARGUMENT, "app_profile"}}},
    {"instance and clusters are those of the instance's file",
     {{"GetInstance", P, AT_OK, "name:" AFX_INSTANCE " display_name:i state:READY type:PRODUCTION"},
      {"GetInstance", "1:projects/p/instances/j", AT_NOT_FOUND, NULL},
      {"ListInstances", "1:projects/p", AT_OK,
       "instances{name:" AFX_INSTANCE " display_name:i state:READY type:PRODUCTION}"},
      {"ListInstances", "1:projects/q", AT_NOT_FOUND, "projects/q"},
      {"ListInstances", "1:p", AT_INVALID_ARGUMENT, NULL},
      {"GetCluster", "1:" AFX_INSTANCE "/clusters/c2", AT_OK,
       "name:" AFX_INSTANCE "/clusters/c2 location:projects/p/locations/z2 state:READY "
       "serve_nodes:1 default_storage_type:SSD"},
      {"GetCluster", "1:" AFX_INSTANCE "/clusters/c3", AT_NOT_FOUND, "c3"},
      {"ListClusters", "1:projects/p/instances/-", AT_OK,
       "clusters{name:" AFX_INSTANCE "/clusters/c1 location:projects/p/locations/z1 state:READY "
       "serve_nodes:1 default_storage_type:SSD} "
       "clusters{name:" AFX_INSTANCE "/clusters/c2 location:projects/p/locations/z2 state:READY "
       "serve_nodes:1 default_storage_type:SSD}"}}},
};

static int setup(void **state)
{
    struct afx *s = at_alloc(sizeof(*s));

    afx_open(s);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    afx_close(*state);
    at_free(*state);
    return 0;
}

/* Calls and copies the answer's bytes into the fixture's arena. */
static struct at_slice run(struct afx *s, const char *rpc, const char *request, enum at_code code)
{
    struct afx_call c;

    afx_call_init(&c, s);
    (void)afx_start(&c, rpc, request, 0);
    afx_finish(&c);
    if (c.code != code)
        print_error("%s %s: %s %s\n", rpc, request, at_code_name(c.code), c.message);
    assert_int_equal(c.code, code);
    struct at_slice bytes =
        at_arena_copy(&s->arena, at_buf_slice(code == AT_OK ? &c.bytes : &c.details));
    afx_call_deinit(&c);
    return bytes;
}

static Google__Bigtable__Admin__V2__AppProfile *profile_of(struct afx *s, struct at_slice bytes)
{
    Google__Bigtable__Admin__V2__AppProfile *p =
        at_proto_unpack(&s->arena, &google__bigtable__admin__v2__app_profile__descriptor, bytes);

    assert_non_null(p);
    return p;
}

static void a_profile_has_a_name_an_etag_and_an_isolation(void **state)
{
    struct afx *s = *state;
    Google__Bigtable__Admin__V2__AppProfile *made = profile_of(
        s, run(s, "CreateAppProfile", P "2:a 3{1:ignored 2:ignored 3:d 5{1:c2}}", AT_OK));
    Google__Bigtable__Admin__V2__AppProfile *got =
        profile_of(s, run(s, "GetAppProfile", "1:" NAME("a"), AT_OK));

    assert_string_equal(got->name, NAME("a"));
    assert_string_equal(got->description, "d");
    assert_true(strlen(got->etag) > 0);
    assert_string_not_equal(got->etag, "ignored");
    assert_string_equal(made->etag, got->etag);
    assert_int_equal(
        got->routing_policy_case,
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_MULTI_CLUSTER_ROUTING_USE_ANY);
    assert_int_equal(got->multi_cluster_routing_use_any->n_cluster_ids, 1);
    assert_int_equal(got->isolation_case,
                     GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ISOLATION_STANDARD_ISOLATION);
    assert_int_equal(got->standard_isolation->priority,
                     GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__PRIORITY__PRIORITY_HIGH);
}

static void a_stale_etag_is_refused(void **state)
{
    struct afx *s = *state;
    const char *etag = profile_of(s, run(s, "CreateAppProfile", P "2:a 3{3:one 5{}}", AT_OK))->etag;
    const char *update =
        at_arena_printf(&s->arena, "1{1:" NAME("a") " 2:%s 3:two} 2{1:description}", etag);

    (void)run(s, "UpdateAppProfile", update, AT_OK);
    (void)run(s, "UpdateAppProfile", update, AT_ABORTED);
    const char *description =
        profile_of(s, run(s, "GetAppProfile", "1:" NAME("a"), AT_OK))->description;
    assert_string_equal(description, "two");
    (void)run(s, "UpdateAppProfile", "1{1:" NAME("a") " 3:three} 2{1:description}", AT_OK);
}

static void an_update_is_an_operation_that_is_done(void **state)
{
    struct afx *s = *state;
    struct at_slice bytes;

    (void)run(s, "CreateAppProfile", P "2:a 3{3:d " TRANSACTIONAL("c1") "}", AT_OK);
    bytes = run(s, "UpdateAppProfile",
                "1{1:" NAME("a") " 6{1:c2}} 2{1:singleClusterRouting.clusterId} 3=1", AT_OK);
    Google__Longrunning__Operation *op =
        at_proto_unpack(&s->arena, &google__longrunning__operation__descriptor, bytes);
    assert_non_null(op);
    assert_true(op->done);
    const char *prefix = "operations/" NAME("a") "/operations/";
    assert_int_equal(strncmp(op->name, prefix, strlen(prefix)), 0);
    assert_string_equal(op->metadata->type_url,
                        "type.googleapis.com/google.bigtable.admin.v2.UpdateAppProfileMetadata");
    assert_string_equal(op->response->type_url,
                        "type.googleapis.com/google.bigtable.admin.v2.AppProfile");
    Google__Bigtable__Admin__V2__AppProfile *p = profile_of(s, at_proto_bytes(op->response->value));
    assert_string_equal(p->description, "d");
    assert_string_equal(p->single_cluster_routing->cluster_id, "c2");
    assert_true(p->single_cluster_routing->allow_transactional_writes);

    /* Asked for again, it is still done; later updates have other names. */
    struct at_slice again =
        run(s, "GetOperation", at_arena_printf(&s->arena, "1:%s", op->name), AT_OK);
    assert_true(at_slice_eq(again, bytes));
    Google__Longrunning__Operation *next = at_proto_unpack(
        &s->arena, &google__longrunning__operation__descriptor,
        run(s, "UpdateAppProfile", "1{1:" NAME("a") " 3:e} 2{1:description}", AT_OK));
    assert_string_not_equal(next->name, op->name);
    (void)run(s, "GetOperation", at_arena_printf(&s->arena, "1:%s", op->name), AT_OK);
    (void)run(s, "GetOperation", at_arena_printf(&s->arena, "1:%s9", op->name), AT_NOT_FOUND);
    (void)run(s, "GetOperation", "1:operations/" NAME("b") "/operations/1", AT_NOT_FOUND);
}

static void warnings_come_as_violations(void **state)
{
    struct afx *s = *state;
    struct at_slice bytes =
        run(s, "DeleteAppProfile", "1:" NAME("default"), AT_FAILED_PRECONDITION);
    Google__Rpc__Status *status =
        at_proto_unpack(&s->arena, &google__rpc__status__descriptor, bytes);

    assert_non_null(status);
    assert_int_equal(status->code, AT_FAILED_PRECONDITION);
    assert_int_equal(status->n_details, 1);
    assert_string_equal(status->details[0]->type_url,
                        "type.googleapis.com/google.rpc.PreconditionFailure");
    Google__Rpc__PreconditionFailure *failure =
        at_proto_unpack(&s->arena, &google__rpc__precondition_failure__descriptor,
                        at_proto_bytes(status->details[0]->value));
    assert_int_equal(failure->n_violations, 1);
    assert_int_equal(strncmp(failure->violations[0]->type, WARNING, strlen(WARNING)), 0);
    assert_string_equal(failure->violations[0]->subject, "default");
    assert_string_equal(failure->violations[0]->description, status->message);
}

static void the_rules_for_requests_follow_the_profile(void **state)
{
    static const struct afx_step steps[] = {
        {"CreateTable", P "2:t 3{3{1:f 2{}}}", AT_OK, NULL},
        {"CreateAppProfile", P "2:there 3{" SINGLE("c2") "}", AT_OK, NULL},
        {"MutateRow", "1:$t 4:there 2:r 3{1{1:f 2:q 4:v}}", AT_FAILED_PRECONDITION, "c1"},
        {"UpdateAppProfile", "1{1:" NAME("there") " " SINGLE("c1") "}", AT_OK, NULL},
        {"MutateRow", "1:$t 4:there 2:r 3{1{1:f 2:q 4:v}}", AT_OK, NULL},
        {"DeleteAppProfile", "1:" NAME("there") " 2=1", AT_OK, NULL},
        {"MutateRow", "1:$t 4:there 2:r 3{1{1:f 2:q 4:v}}", AT_NOT_FOUND, "there"},
    };

    afx_run_steps(*state, steps, sizeof(steps) / sizeof(steps[0]));
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test_setup_teardown(a_profile_has_a_name_an_etag_and_an_isolation, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_stale_etag_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(an_update_is_an_operation_that_is_done, setup, teardown),
        cmocka_unit_test_setup_teardown(warnings_come_as_violations, setup, teardown),
        cmocka_unit_test_setup_teardown(the_rules_for_requests_follow_the_profile, setup, teardown),
    };

    return afx_main(cases, sizeof(cases) / sizeof(cases[0]), others,
                    sizeof(others) / sizeof(others[0]));
}
