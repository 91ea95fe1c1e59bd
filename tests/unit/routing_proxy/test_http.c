/* The HTTP port: health for probes, status for people. */
#include "routing/proxy/http.h"

#include "http_get.h"

static struct at_cluster_config clusters[] = {{.id = "c1", .zone = "z1"}};
static const struct at_instance_config INSTANCE = {.clusters = clusters, .cluster_count = 1};
static struct at_board board;
static struct at_http *http;
static char text[65536];

static int set_up(void **state)
{
    (void)state;
    struct at_error error;
    at_board_init(&board, &INSTANCE);
    assert_int_equal(at_http_start(&board, 0, &http, &error), AT_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    at_http_stop(&http);
    assert_null(http);
    at_http_stop(&http);
    at_board_deinit(&board);
    return 0;
}

static int get(const char *path)
{
    return http_request(at_http_port(http), "GET", path, text, sizeof(text));
}

static void health_follows_serving(void **state)
{
    (void)state;
    assert_int_equal(get("/healthz"), 503);
    atomic_store(&board.serving, true);
    assert_int_equal(get("/healthz"), 200);
    assert_non_null(strstr(text, "\r\n\r\nok\n"));
    assert_int_equal(http_request(at_http_port(http), "HEAD", "/healthz", text, sizeof(text)), 200);
    atomic_store(&board.serving, false);
    assert_int_equal(get("/healthz"), 503);
}

static void status_is_json(void **state)
{
    (void)state;
    assert_int_equal(get("/status"), 200);
    assert_non_null(strstr(text, "application/json"));
    assert_non_null(strstr(text, "\"id\": \"c1\""));
}

static void the_rest_is_refused(void **state)
{
    (void)state;
    assert_int_equal(get("/"), 404);
    assert_int_equal(get("/statusx"), 404);
    assert_int_equal(http_request(at_http_port(http), "POST", "/status", text, sizeof(text)), 405);
    assert_int_equal(http_request(at_http_port(http), "DELETE", "/", text, sizeof(text)), 405);
}

/* There is no gRPC port behind this board: what is sent on can't be answered. */
static void administration_is_answered_in_json(void **state)
{
    (void)state;
    assert_int_equal(get("/v2/nothing"), 404);
    assert_non_null(strstr(text, "\"status\":\"NOT_FOUND\""));
    assert_int_equal(get("/v2/projects/p/instances?view=1"), 400);
    assert_int_equal(get("/v2/projects/p/instances?alt=json"), 503);
    assert_non_null(strstr(text, "\"status\":\"UNAVAILABLE\""));
    assert_non_null(strstr(text, "application/json"));
}

static void a_port_in_use_is_named(void **state)
{
    (void)state;
    struct at_http *other = NULL;
    struct at_error error;
    char port[8];
    assert_int_equal(at_http_start(&board, at_http_port(http), &other, &error), AT_UNAVAILABLE);
    assert_null(other);
    (void)snprintf(port, sizeof(port), "%u", at_http_port(http));
    assert_non_null(strstr(error.msg, port));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(health_follows_serving), CASE(status_is_json), CASE(the_rest_is_refused),
        CASE(administration_is_answered_in_json), CASE(a_port_in_use_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
