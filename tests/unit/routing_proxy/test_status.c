/* The board as people and programs see it. */
#include "routing/proxy/status.h"

#include <jansson.h>

#include "router_fixture.h"

static struct at_cluster_config clusters[] = {{.id = "c1", .zone = "z1"},
                                              {.id = "c2", .zone = "z2"}};
static const struct at_instance_config INSTANCE = {.clusters = clusters, .cluster_count = 2};
static struct at_board board;

static int set_up(void **state)
{
    (void)state;
    at_board_init(&board, &INSTANCE);
    board.grpc_port = 1234;
    board.http_port = 5678;
    atomic_store(&board.targets[0].up, true);
    atomic_store(&board.targets[0].served, UINT64_C(5000000000));
    atomic_store(&board.targets[1].failed, 7);
    atomic_store(&board.targets[1].rtt_us, 321);
    atomic_store(&board.failovers, 3);
    at_board_switch(&board, 0, true, "healthy", AT_S_NS);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    at_board_deinit(&board);
    return 0;
}

static void tells_the_board_by_grpc(void **state)
{
    (void)state;
    struct router_fixture r;
    struct got g;
    struct at_grpc_method method;
    struct at_arena arena;
    at_status_method(&board, &method);
    assert_string_equal(method.path, "/atoll.v1.Router/Status");
    r_serve(&r, &method, 1);
    (void)r_call(&r, &g, method.path, AT_LIT(""), 5000);
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
    assert_int_equal(at_status_json(&board, &out), AT_OK);
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
    assert_int_equal(at_status_json(&board, &out), AT_RESOURCE_EXHAUSTED);
    at_buf_deinit(&out);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(tells_the_board_by_grpc), CASE(tells_the_same_as_json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
