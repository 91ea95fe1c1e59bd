/* One list over all instances of a project. The fake clusters answer with their own ids. */
#include "routing/proxy/gather.h"

#include "router_fixture.h"

static const struct at_route_method *method(const char *last)
{
    uint32_t count;
    const struct at_route_method *all = at_route_methods(&count);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(strrchr(all[i].path, '/') + 1, last) == 0)
            return &all[i];
    fail_msg("no method %s", last);
    return NULL;
}

static struct at_slice named(uint32_t field, const char *name)
{
    static uint8_t room[256];
    struct at_buf b = {.data = room, .cap = sizeof(room), .max = sizeof(room)};
    assert_int_equal(at_pb_put_bytes(&b, field, at_slice_cstr(name)), AT_OK);
    return at_buf_slice(&b);
}

static void only_lists_over_a_project_are_gathered(void **state)
{
    (void)state;
    struct at_gather_plan plan;
    static const struct {
        const char *method;
        uint32_t field;
        const char *name;
        bool gathered;
    } CASES[] = {
        {"ListClusters", 1, "projects/p/instances/-", true},
        {"ListClusters", 1, "projects/p/instances/i", false},
        {"ListClusters", 1, "projects/p", false},
        {"ListAppProfiles", 1, "projects/p/instances/-", true},
        {"ListBackups", 1, "projects/p/instances/-/clusters/-", true},
        {"ListBackups", 1, "projects/p/instances/i/clusters/-", false},
        {"ListOperations", 4, "operations/projects/p", true},
        {"ListOperations", 4, "operations/projects/p/operations", true},
        {"ListOperations", 4, "operations/projects/p/instances/-", true},
        {"ListOperations", 4, "operations/projects/p/instances/i", false},
        {"GetTable", 1, "projects/p/instances/-", false},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        bool gathered =
            at_gather_method(method(CASES[i].method), named(CASES[i].field, CASES[i].name), &plan);
        if (gathered != CASES[i].gathered)
            fail_msg("%s of %s", CASES[i].method, CASES[i].name);
        if (gathered)
            assert_true(at_slice_eq_cstr(plan.project, "p"));
    }
}

/* --- real calls: GetInstance of each instance, whole answers --- */

static struct router_fixture r;
static struct got got;

static void on_list(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    const struct at_gather_plan plan = {.fleet = &r.fleet,
                                        .project = AT_LIT("p"),
                                        .path = R_INSTANCES "GetInstance",
                                        .name_field = 1,
                                        .failed_field = 2,
                                        .whole = true,
                                        .more = AT_LIT("\x0a\x01x")};
    at_gather(call, &plan);
}

static void on_paged_list(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    const struct at_gather_plan plan = {.fleet = &r.fleet,
                                        .project = AT_LIT("p"),
                                        .path = R_INSTANCES "ListAppProfiles",
                                        .name_field = 1,
                                        .page_size_field = 3,
                                        .page_token_field = 2};
    at_gather(call, &plan);
}

static const struct at_grpc_method METHODS[] = {{"/list", on_list, NULL},
                                                {"/paged-list", on_paged_list, NULL}};

static int set_up(void **state)
{
    (void)state;
    struct at_error error;
    r_init_clusters(&r);
    r_open_fronts(&r);
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .loops = r.loops,
                                           .loop_count = R_LOOPS,
                                           .methods = METHODS,
                                           .method_count = 2};
    assert_int_equal(at_grpc_server_open(&config, &r.server, &error), AT_OK);
    r_start_loops(&r);
    r.loop = at_loop_new(at_clock_system());
    r.channel = r_open_channel(&r);
    FAKE_WAIT(r_all_up(&r));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    r_got_deinit(&got);
    r_down(&r);
    return 0;
}

static void items_are_joined(void **state)
{
    (void)state;
    (void)r_call(&r, &got, "/list", AT_LIT(""), R_CALL_MS);
    assert_int_equal(got.code, AT_OK);
    assert_true(at_slice_eq(at_buf_slice(&got.body), AT_LIT("\x0a\x01x\x0a\x02"
                                                            "c1")));
    struct fake_record record;
    fake_latest(&r.fakes[0], &record);
    assert_string_equal(record.path, R_INSTANCES "GetInstance");
    assert_memory_equal(record.request, "\x0a\x1aprojects/p/instances/drill", 28);
}

static void the_next_cluster_is_asked_when_one_does_not_answer(void **state)
{
    (void)state;
    atomic_store(&r.fakes[0].behaviour, FAKE_FAIL);
    atomic_store(&r.fakes[0].code, AT_UNAVAILABLE);
    (void)r_call(&r, &got, "/list", AT_LIT(""), R_CALL_MS);
    assert_true(at_slice_eq(at_buf_slice(&got.body), AT_LIT("\x0a\x01x\x0a\x02"
                                                            "c2")));
}

static void an_instance_that_does_not_answer_is_named_by_its_zones(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < R_CLUSTERS; i++) {
        atomic_store(&r.fakes[i].behaviour, FAKE_FAIL);
        atomic_store(&r.fakes[i].code, AT_UNAVAILABLE);
    }
    (void)r_call(&r, &got, "/list", AT_LIT(""), R_CALL_MS);
    assert_int_equal(got.code, AT_OK);
    assert_memory_equal(got.body.data, "\x0a\x01x\x12\x17projects/p/locations/z1", 28);
}

static void all_pages_are_asked_for(void **state)
{
    (void)state;
    atomic_store(&r.fakes[0].behaviour, FAKE_PAGES);
    (void)r_call(&r, &got, "/paged-list", AT_LIT(""), R_CALL_MS);
    assert_int_equal(got.code, AT_OK);
    assert_true(at_slice_eq(at_buf_slice(&got.body), AT_LIT("\x0a\x01"
                                                            "a\x0a\x01"
                                                            "b")));
    assert_int_equal(atomic_load(&r.fakes[0].requests), 2);
}

static void a_client_that_gives_up_leaves_nothing(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < R_CLUSTERS; i++)
        atomic_store(&r.fakes[i].behaviour, FAKE_HANG);
    (void)r_call(&r, &got, "/list", AT_LIT(""), 1500);
    assert_int_equal(got.code, AT_DEADLINE_EXCEEDED);
    FAKE_WAIT(atomic_load(&r.fakes[0].cancelled) == 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_lists_over_a_project_are_gathered),
        CASE(items_are_joined),
        CASE(the_next_cluster_is_asked_when_one_does_not_answer),
        CASE(an_instance_that_does_not_answer_is_named_by_its_zones),
        CASE(all_pages_are_asked_for),
        CASE(a_client_that_gives_up_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
