#include "cluster/control/member_end.h"

#include "replication/peer/peering.h"
#include "support/admin_fixture.h"

/* Leaving, removing and releasing, with a replication that answers at once as it is told to. */

static enum at_code outcome;
static uint32_t asked;
static bool survives; /* the last removal: also without a majority */

static void fake_leave(void *ctx, struct at_leave *leave)
{
    (void)ctx;
    asked++;
    leave->code = outcome;
    if (outcome != AT_OK)
        leave->code = at_fail(&leave->error, outcome, "not now");
    leave->done(leave);
}

static void fake_remove(void *ctx, struct at_remove *remove)
{
    (void)ctx;
    asked += remove->member_count;
    survives = remove->minority_survives;
    remove->code = outcome;
    remove->lost_count_min = 7;
    if (outcome != AT_OK)
        remove->code = at_fail(&remove->error, outcome, "not now");
    remove->done(remove);
}

static struct afx *opened(enum at_code code)
{
    struct afx *s = at_alloc(sizeof(*s));

    afx_open(s);
    s->service.port.leave = fake_leave;
    s->service.port.remove = fake_remove;
    outcome = code;
    asked = 0;
    return s;
}

static void closed(struct afx *s)
{
    afx_close(s);
    at_free(s);
}

static void
run(struct afx *s, const char *rpc, const char *request, enum at_code code, const char *o)
{
    afx_run_step(s, &(struct afx_step){rpc, request, code, o});
}

static void who_leaves_is_no_cluster_any_more(void **state)
{
    struct afx *s = opened(AT_OK);

    (void)state;
    run(s, "UpdateCluster", "1:" AFX_INSTANCE "/clusters/c1 4=3", AT_OK, NULL);
    run(s, "Leave", "", AT_OK, "");
    assert_int_equal(asked, 1);
    run(s, "GetCluster", "1:" AFX_INSTANCE "/clusters/c1", AT_NOT_FOUND, "c1");
    run(s, "Leave", "", AT_OK, ""); /* asked again */
    closed(s);
}

static void who_may_not_leave_is_as_it_was(void **state)
{
    struct afx *s = opened(AT_FAILED_PRECONDITION);

    (void)state;
    run(s, "UpdateCluster", "1:" AFX_INSTANCE "/clusters/c1 4=3", AT_OK, NULL);
    run(s, "Leave", "", AT_FAILED_PRECONDITION, "not now");
    assert_int_equal(asked, 1);
    run(s, "GetCluster", "1:" AFX_INSTANCE "/clusters/c1", AT_OK,
        "name:" AFX_INSTANCE "/clusters/c1 location:projects/p/locations/z1 state:READY "
        "serve_nodes:3 default_storage_type:SSD");
    closed(s);
}

static void one_that_a_profile_names_stays(void **state)
{
    struct afx *s = opened(AT_OK);

    (void)state;
    run(s, "CreateAppProfile", "1:" AFX_INSTANCE " 2:one 3{6{1:c1}}", AT_OK, NULL);
    run(s, "Leave", "", AT_FAILED_PRECONDITION, "app profile 'one'");
    run(s, "DeleteAppProfile", "1:" AFX_INSTANCE "/appProfiles/one 2=1", AT_OK, NULL);
    run(s, "CreateAppProfile", "1:" AFX_INSTANCE " 2:some 3{5{1:c1 1:c2}}", AT_OK, NULL);
    run(s, "Leave", "", AT_FAILED_PRECONDITION, "app profile 'some'");
    assert_int_equal(asked, 0);
    closed(s);
}

static void the_last_one_stays(void **state)
{
    struct afx *s = opened(AT_OK);

    (void)state;
    run(s, "Remove", "1:c2", AT_OK, "lost_count_min:7");
    assert_int_equal(asked, 1);
    run(s, "GetCluster", "1:" AFX_INSTANCE "/clusters/c2", AT_NOT_FOUND, "c2");
    run(s, "Leave", "", AT_FAILED_PRECONDITION, "last cluster");
    assert_int_equal(asked, 1);
    closed(s);
}

static void what_can_not_be_removed_is_told(void **state)
{
    struct afx *s = opened(AT_DEADLINE_EXCEEDED);

    (void)state;
    run(s, "Remove", "", AT_INVALID_ARGUMENT, "cluster_ids");
    run(s, "Remove", "1:c9", AT_NOT_FOUND, "c9");
    run(s, "Remove", "1:c1", AT_FAILED_PRECONDITION, "itself");
    assert_int_equal(asked, 0);
    run(s, "Remove", "1:c2", AT_DEADLINE_EXCEEDED, "not now");
    run(s, "GetCluster", "1:" AFX_INSTANCE "/clusters/c2", AT_OK, NULL);
    closed(s);
}

/* c3 is CREATING, c2 is not. */
static void add_c3(struct afx *s)
{
    run(s, "AddCluster",
        "1:c3 2{4=2} 3{1:c3 2:z3 3=33 4:127.0.0.1 5=7001 6=7002} 4{1:" AFX_INSTANCE " 2:c3}", AT_OK,
        NULL);
}

static void one_that_is_being_created_is_removed_with_its_operation(void **state)
{
    struct afx *s = opened(AT_OK);

    (void)state;
    add_c3(s);
    run(s, "Remove", "1:c2 1:c3 3=1", AT_ABORTED, "c2 is not CREATING");
    assert_int_equal(asked, 0);
    run(s, "CreateAppProfile", "1:" AFX_INSTANCE " 2:one 3{6{1:c3}}", AT_OK, NULL);
    run(s, "Remove", "1:c3 3=1", AT_FAILED_PRECONDITION, "app profile 'one'");
    run(s, "DeleteAppProfile", "1:" AFX_INSTANCE "/appProfiles/one 2=1", AT_OK, NULL);
    assert_int_equal(asked, 0);
    survives = false;
    run(s, "Remove", "1:c3 3=1", AT_OK, "lost_count_min:7");
    assert_int_equal(asked, 1);
    assert_true(survives);
    run(s, "GetCluster", "1:" AFX_INSTANCE "/clusters/c3", AT_NOT_FOUND, "c3");
    struct at_schema *schema = at_store_schema(s->fx.store);
    const struct at_named_record *record =
        at_catalog_named_at(schema->catalog, AT_CATALOG_OPERATION, 0);
    const char *name = at_arena_printf(&s->arena, "1:%.*s", AT_SLICE_ARG(record->name));
    at_schema_unref(&schema);
    struct afx_call c;
    afx_call_init(&c, s);
    (void)afx_start(&c, "GetOperation", name, 0);
    afx_finish(&c);
    assert_non_null(
        strstr(at_buf_cstr(&c.text), "done:true error{code:10 message:The cluster was"));
    afx_call_deinit(&c);
    run(s, "Remove", "1:c3 3=1", AT_NOT_FOUND, "c3");
    closed(s);
}

static void without_membership_nothing_leaves(void **state)
{
    struct afx *s = opened(AT_OK);

    (void)state;
    s->service.port.leave = NULL;
    s->service.port.remove = NULL;
    run(s, "Leave", "", AT_UNIMPLEMENTED, NULL);
    run(s, "Remove", "1:c2", AT_UNIMPLEMENTED, NULL);
    closed(s);
}

static void a_release_is_bounded(void **state)
{
    struct afx *s = opened(AT_OK);

    (void)state;
    run(s, "Release", "1=1000", AT_OK, NULL);
    run(s, "Release", "1=99999999999999", AT_INVALID_ARGUMENT, "span_ms");
    run(s, "Release", "2=2999999999999999999", AT_INVALID_ARGUMENT, "at_least_hlc"); /* in 2065 */
    closed(s);
}

/* Clusters whose clocks are right have to accept what one has stamped whose clock is not. */
static void a_release_goes_as_far_as_it_is_asked_to(void **state)
{
    struct afx *s = opened(AT_OK);
    struct at_clock clock = at_clock_system();
    uint64_t later = at_clock_wall_ns(&clock) + 3600 * AT_S_NS;
    char request[32];
    char answer[64];

    (void)state;
    snprintf(request, sizeof(request), "2=%llu", (unsigned long long)later);
    snprintf(answer, sizeof(answer), "released_hlc:%llu", (unsigned long long)later);
    run(s, "Release", request, AT_OK, answer);
    closed(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_leaves_is_no_cluster_any_more),
        cmocka_unit_test(who_may_not_leave_is_as_it_was),
        cmocka_unit_test(one_that_a_profile_names_stays),
        cmocka_unit_test(the_last_one_stays),
        cmocka_unit_test(what_can_not_be_removed_is_told),
        cmocka_unit_test(one_that_is_being_created_is_removed_with_its_operation),
        cmocka_unit_test(without_membership_nothing_leaves),
        cmocka_unit_test(a_release_is_bounded),
        cmocka_unit_test(a_release_goes_as_far_as_it_is_asked_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
