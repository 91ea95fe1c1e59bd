/* What a router answers itself, without a launcher. */
#include "routing/proxy/desk.h"

#include "google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h"
#include "router_fixture.h"

static struct router_fixture r;
static struct at_desk desk;
static struct at_desk_method own[R_METHODS_MAX];
static struct got got;

static int set_up(void **state)
{
    (void)state;
    uint32_t count;
    struct at_error error;
    const struct at_route_method *routes = at_route_methods(&count);
    r_init_clusters(&r);
    r_open_fronts(&r);
    at_desk_init(&desk, &r.fleet, NULL, NULL);
    for (uint32_t i = 0; i < count; i++) {
        void (*handler)(struct at_grpc_call * call, void *ctx) = at_desk_handler(&routes[i]);
        own[i] = (struct at_desk_method){{&routes[i], &r.fleet}, &desk};
        r.methods[i] =
            (struct at_grpc_method){routes[i].path, handler ? handler : at_forward_request,
                                    handler ? (void *)&own[i] : (void *)&own[i].forward};
    }
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .loops = r.loops,
                                           .loop_count = R_LOOPS,
                                           .methods = r.methods,
                                           .method_count = count};
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
    at_desk_close(&desk);
    at_desk_deinit(&desk);
    r_down(&r);
    return 0;
}

static enum at_code call(const char *name, uint32_t field, const char *text)
{
    uint8_t room[256];
    char path[128];
    struct at_buf b = {.data = room, .cap = sizeof(room), .max = sizeof(room)};
    assert_int_equal(at_pb_put_bytes(&b, field, at_slice_cstr(text)), AT_OK);
    (void)snprintf(path, sizeof(path), R_INSTANCES "%s", name);
    r_got_deinit(&got);
    (void)r_call(&r, &got, path, at_buf_slice(&b), R_CALL_MS);
    return got.code;
}

static void instances_are_listed_by_project(void **state)
{
    (void)state;
    assert_int_equal(call("ListInstances", 1, "projects/p"), AT_OK);
    assert_true(at_slice_eq(at_buf_slice(&got.body), AT_LIT("\x0a\x02"
                                                            "c1")));
    assert_int_equal(call("ListInstances", 1, "projects/q"), AT_OK);
    assert_int_equal(got.body.len, 0);
    assert_int_equal(call("ListInstances", 1, "projects/"), AT_INVALID_ARGUMENT);
    assert_int_equal(call("ListInstances", 1, ""), AT_INVALID_ARGUMENT);
}

static void what_needs_processes_is_refused_with_a_sentence(void **state)
{
    (void)state;
    assert_int_equal(call("CreateInstance", 1, "projects/p"), AT_INVALID_ARGUMENT);
    assert_int_equal(call("DeleteInstance", 1, "projects/p/instances/drill"),
                     AT_FAILED_PRECONDITION);
    assert_non_null(strstr(got.message, "router's own"));
    assert_int_equal(call("DeleteInstance", 1, "projects/p/instances/none"), AT_NOT_FOUND);
    assert_int_equal(call("DeleteInstance", 1, "projects/p"), AT_INVALID_ARGUMENT);
    assert_int_equal(call("DeleteCluster", 1, "projects/p/instances/drill/clusters/none"),
                     AT_NOT_FOUND);
    assert_int_equal(call("DeleteCluster", 1, "projects/p/instances/none/clusters/c1"),
                     AT_NOT_FOUND);
    assert_int_equal(call("DeleteCluster", 1, "projects/p/instances/drill"), AT_INVALID_ARGUMENT);
    assert_int_equal(call("CreateCluster", 1, "projects/p/instances/drill"), AT_INVALID_ARGUMENT);
}

static void an_instance_being_made_is_told_of(void **state)
{
    (void)state;
    const struct at_ledger_item item = {
        .operation = AT_LIT("operations/projects/p/instances/new/operations/5"),
        .instance = AT_LIT("projects/p/instances/new"),
        .state = AT_LIT("\x0a\x01o"),
        .resource = AT_LIT("\x0a\x01n")};
    assert_int_equal(at_ledger_open(&desk.ledger, &item, NULL), AT_OK);
    assert_int_equal(call("GetInstance", 1, "projects/p/instances/new"), AT_OK);
    assert_true(at_slice_eq(at_buf_slice(&got.body), item.resource));
    assert_int_equal(call("ListInstances", 1, "projects/p"), AT_OK);
    assert_true(at_slice_eq(at_buf_slice(&got.body), AT_LIT("\x0a\x03\x0a\x01n\x0a\x02"
                                                            "c1")));
    at_ledger_close(&desk.ledger, item.operation, AT_LIT("\x18\x01"));
    assert_int_equal(call("GetInstance", 1, "projects/p/instances/new"), AT_NOT_FOUND);
}

static void one_act_at_a_time_on_one_name(void **state)
{
    (void)state;
    assert_int_equal(at_desk_begin(&desk, AT_LIT("a"), NULL), AT_OK);
    assert_int_equal(at_desk_begin(&desk, AT_LIT("b"), NULL), AT_OK);
    assert_int_equal(at_desk_begin(&desk, AT_LIT("a"), NULL), AT_FAILED_PRECONDITION);
    at_desk_end(&desk, AT_LIT("a"));
    assert_int_equal(at_desk_begin(&desk, AT_LIT("a"), NULL), AT_OK);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(instances_are_listed_by_project),
        CASE(what_needs_processes_is_refused_with_a_sentence),
        CASE(an_instance_being_made_is_told_of),
        CASE(one_act_at_a_time_on_one_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
