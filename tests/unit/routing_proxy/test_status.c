/* The board as people and programs see it. */
#include "routing/proxy/status.h"

#include <jansson.h>

#include "router_fixture.h"

static struct at_cluster_config clusters[] = {{.id = "c1", .zone = "z1"},
                                              {.id = "c2", .zone = "z2"}};
static const struct at_instance_config INSTANCE = {
    .project = "p", .instance = "i", .clusters = clusters, .cluster_count = 2};
static struct at_loop *loop; /* never runs: lines of the board are taken by hand */
static struct at_fleet fleet;
static struct at_board *board;

static void open_fleet(void)
{
    struct at_error error;
    loop = at_loop_new(at_clock_system());
    at_fleet_init(&fleet, &loop, 1);
    assert_int_equal(at_fleet_add(&fleet, &INSTANCE, NULL, true, (struct at_fleet_done){0}, &error),
                     AT_OK);
    board = &fleet.realms->board;
    for (uint32_t i = 0; i < 2; i++)
        assert_non_null(
            at_board_take(board, at_slice_cstr(clusters[i].id), at_slice_cstr(clusters[i].zone)));
}

static void close_fleet(void)
{
    at_fleet_close(&fleet);
    at_loop_settle(loop);
    at_fleet_deinit(&fleet);
    at_loop_free(&loop);
}

static int set_up(void **state)
{
    (void)state;
    open_fleet();
    fleet.grpc_port = 1234;
    fleet.http_port = 5678;
    atomic_store(&board->targets[0].up, true);
    atomic_store(&board->targets[0].served, UINT64_C(5000000000));
    atomic_store(&board->targets[1].failed, 7);
    atomic_store(&board->targets[1].rtt_us, 321);
    atomic_store(&board->failovers, 3);
    at_board_switch(board, &board->targets[0], true, "healthy", AT_S_NS);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close_fleet();
    return 0;
}

static void tells_the_board_by_grpc(void **state)
{
    (void)state;
    struct router_fixture r;
    struct got g;
    struct at_grpc_method method;
    struct at_arena arena;
    at_status_method(&fleet, &method);
    assert_string_equal(method.path, "/atoll.v1.Router/Status");
    r_serve(&r, &method, 1);
    (void)r_call(&r, &g, method.path, AT_LIT(""), R_CALL_MS);
    r_serve_end(&r);
    assert_int_equal(g.code, AT_OK);
    at_arena_init(&arena, 4096);
    Atoll__V1__RouterStatus *s =
        at_proto_unpack(&arena, &atoll__v1__router_status__descriptor, at_buf_slice(&g.body));
    assert_non_null(s);
    assert_int_equal(s->pid, getpid());
    assert_int_equal(s->grpc_port, 1234);
    assert_int_equal(s->http_port, 5678);
    assert_int_equal(s->failovers, 3);
    assert_int_equal(s->n_clusters, 2);
    assert_string_equal(s->clusters[0]->cluster_id, "c1");
    assert_string_equal(s->clusters[0]->instance, "projects/p/instances/i");
    assert_true(s->clusters[0]->healthy);
    assert_true(s->clusters[0]->served == UINT64_C(5000000000));
    assert_string_equal(s->clusters[1]->zone, "z2");
    assert_string_equal(s->clusters[1]->reason, "not heard yet");
    assert_int_equal(s->clusters[1]->failed, 7);
    assert_int_equal(s->clusters[1]->rtt_us, 321);
    assert_int_equal(s->n_switches, 1);
    assert_string_equal(s->switches[0], "1970-01-01T00:00:01.000Z c1 up: healthy");
    at_arena_deinit(&arena);
    r_got_deinit(&g);
}

static void tells_the_same_as_json(void **state)
{
    (void)state;
    struct at_buf out;
    at_buf_init(&out, AT_MIB);
    assert_int_equal(at_status_json(&fleet, &out), AT_OK);
    json_t *root = json_loadb((const char *)out.data, out.len, 0, NULL);
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "grpc")), 1234);
    assert_int_equal(json_integer_value(json_object_get(root, "failovers")), 3);
    assert_true(json_is_false(json_object_get(root, "serving")));
    json_t *list = json_object_get(root, "clusters");
    assert_int_equal(json_array_size(list), 2);
    json_t *c1 = json_array_get(list, 0);
    assert_true(json_is_true(json_object_get(c1, "healthy")));
    assert_true(json_integer_value(json_object_get(c1, "served")) == INT64_C(5000000000));
    assert_int_equal(json_array_size(json_object_get(root, "switches")), 1);
    json_decref(root);
    at_buf_deinit(&out);
    at_buf_init(&out, 10);
    assert_int_equal(at_status_json(&fleet, &out), AT_RESOURCE_EXHAUSTED);
    at_buf_deinit(&out);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(tells_the_board_by_grpc), CASE(tells_the_same_as_json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
