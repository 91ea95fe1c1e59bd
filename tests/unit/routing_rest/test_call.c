/* A REST call through a real gRPC port: answers, errors, and the end. */
#include "routing/rest/call.h"

#include <sched.h>
#include <stdatomic.h>

#include "support/test.h"
#include "wire/grpc_server.h"

#define TABLES "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define PATH "/v2/projects/p/instances/i/tables"

static struct at_loop *loop;
static struct at_grpc_server *server;
static struct at_rest *rest;
static struct at_rest_call call;
static atomic_uint done_count;
static atomic_uint hanging_count;

static const struct at_slice NONE = {NULL, 0};

/* A Table's first field is its name, as a GetTableRequest's is. */
static void get_table(struct at_grpc_call *c, void *ctx)
{
    (void)ctx;
    enum at_code code = at_grpc_call_send(c, at_grpc_call_request(c));
    at_grpc_call_finish(c, code, NONE, NONE);
}

static void delete_table(struct at_grpc_call *c, void *ctx)
{
    (void)ctx;
    at_grpc_call_finish(c, AT_FAILED_PRECONDITION, AT_LIT("protected"), NONE);
}

static void malformed(struct at_grpc_call *c, void *ctx)
{
    (void)ctx;
    enum at_code code = at_grpc_call_send(c, AT_LIT("\xff\xff"));
    at_grpc_call_finish(c, code, NONE, NONE);
}

static void on_cancel(struct at_grpc_call *c, void *ctx)
{
    (void)ctx;
    at_grpc_call_finish(c, AT_CANCELLED, NONE, NONE);
}

static void hang(struct at_grpc_call *c, void *ctx)
{
    (void)ctx;
    at_grpc_call_on_cancel(c, on_cancel, NULL);
    atomic_fetch_add(&hanging_count, 1);
}

static const struct at_grpc_method METHODS[] = {
    {.path = TABLES "GetTable", .on_request = get_table},
    {.path = TABLES "DeleteTable", .on_request = delete_table},
    {.path = TABLES "CreateTable", .on_request = malformed},
    {.path = TABLES "ListTables", .on_request = hang},
};

static void on_done(struct at_rest_call *c)
{
    assert_ptr_equal(c, &call);
    atomic_fetch_add(&done_count, 1);
}

static int set_up(void **state)
{
    (void)state;
    struct at_error error;
    atomic_store(&done_count, 0);
    atomic_store(&hanging_count, 0);
    loop = at_loop_new(at_clock_system());
    const struct at_grpc_server_config config = {.host = "127.0.0.1",
                                                 .loops = &loop,
                                                 .loop_count = 1,
                                                 .methods = METHODS,
                                                 .method_count = 4};
    assert_int_equal(at_grpc_server_open(&config, &server, &error), AT_OK);
    assert_int_equal(at_loop_start(loop, "server", &error), AT_OK);
    assert_int_equal(at_rest_start(at_grpc_server_port(server), &rest, &error), AT_OK);
    at_rest_call_init(&call, rest, on_done);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    at_rest_call_deinit(&call);
    at_rest_stop(rest);
    at_rest_free(&rest);
    assert_null(rest);
    at_loop_stop(loop);
    at_loop_join(loop);
    at_grpc_server_close(&server);
    at_loop_settle(loop);
    at_loop_free(&loop);
    return 0;
}

static bool prepare(const char *verb, const char *path)
{
    const struct at_rest_input input = {.verb = verb, .path = at_slice_cstr(path)};
    return at_rest_call_prepare(&call, &input);
}

static void wait_for(atomic_uint *count)
{
    while (atomic_load(count) == 0)
        (void)sched_yield();
}

static void run(const char *verb, const char *path)
{
    assert_true(prepare(verb, path));
    at_rest_call_start(&call);
    wait_for(&done_count);
    assert_int_equal(atomic_load(&done_count), 1);
}

static void check(uint32_t status, const char *body)
{
    assert_int_equal(call.http_status, status);
    assert_string_equal(at_buf_cstr(&call.answer), body);
}

static void an_answer_is_json(void **state)
{
    (void)state;
    run("GET", PATH "/t");
    check(200, "{\"name\":\"projects/p/instances/i/tables/t\"}\n");
}

static void an_error_is_googles_body(void **state)
{
    (void)state;
    run("DELETE", PATH "/t");
    check(400, "{\"error\":{\"code\":400,\"message\":\"protected\",\"status\":"
               "\"FAILED_PRECONDITION\"}}\n");
}

static void what_the_router_does_not_serve_is_unimplemented(void **state)
{
    (void)state;
    run("POST", PATH "/t:undelete");
    assert_int_equal(call.http_status, 501);
    assert_non_null(strstr(at_buf_cstr(&call.answer), "UNIMPLEMENTED"));
}

static void a_malformed_answer_is_an_error(void **state)
{
    (void)state;
    run("POST", PATH);
    assert_int_equal(call.http_status, 500);
    assert_non_null(strstr(at_buf_cstr(&call.answer), "INTERNAL"));
}

static void a_bad_request_is_answered_without_being_sent(void **state)
{
    (void)state;
    assert_false(prepare("GET", "/v2/nothing"));
    assert_int_equal(call.http_status, 404);
    assert_non_null(strstr(at_buf_cstr(&call.answer), "/v2/nothing"));
}

static void stopping_ends_what_is_under_way(void **state)
{
    (void)state;
    assert_true(prepare("GET", PATH));
    at_rest_call_start(&call);
    wait_for(&hanging_count);
    assert_int_equal(atomic_load(&done_count), 0);
    at_rest_stop(rest);
    assert_int_equal(atomic_load(&done_count), 1);
    assert_true(call.http_status >= 400);
}

static void after_the_stop_calls_are_refused_at_once(void **state)
{
    (void)state;
    at_rest_stop(rest);
    assert_true(prepare("GET", PATH "/t"));
    at_rest_call_start(&call);
    assert_int_equal(atomic_load(&done_count), 1);
    assert_int_equal(call.http_status, 503);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_is_json),
        TEST(an_error_is_googles_body),
        TEST(what_the_router_does_not_serve_is_unimplemented),
        TEST(a_malformed_answer_is_an_error),
        TEST(a_bad_request_is_answered_without_being_sent),
        TEST(stopping_ends_what_is_under_way),
        TEST(after_the_stop_calls_are_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
