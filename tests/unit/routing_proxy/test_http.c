/* The HTTP port: health for probes, status for people. */
#include "routing/proxy/http.h"

#include <poll.h>
#include <pthread.h>

#include "http_get.h"

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
static struct at_http *http;
static char text[65536];

static int set_up(void **state)
{
    (void)state;
    struct at_error error;
    open_fleet();
    assert_int_equal(at_http_start(&fleet, 0, &http, &error), AT_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    at_http_stop(&http);
    assert_null(http);
    at_http_stop(&http);
    close_fleet();
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
    atomic_store(&fleet.serving, true);
    assert_int_equal(get("/healthz"), 200);
    assert_non_null(strstr(text, "\r\n\r\nok\n"));
    assert_int_equal(http_request(at_http_port(http), "HEAD", "/healthz", text, sizeof(text)), 200);
    atomic_store(&fleet.serving, false);
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

/* There is no gRPC port behind it: what is sent on can't be answered. */
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

static void *get_instances(void *arg)
{
    (void)arg;
    (void)get("/v2/projects/p/instances");
    return NULL;
}

/* The gRPC port is a socket that nobody accepts from: the request waits, other pages do not, and
 * the stop does not wait for it. */
static void requests_under_way_hold_nothing_up(void **state)
{
    (void)state;
    char page[65536];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    at_http_stop(&http);
    fleet.grpc_port = ntohs(address.sin_port);
    struct at_error error;
    assert_int_equal(at_http_start(&fleet, 0, &http, &error), AT_OK);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, get_instances, NULL), 0);
    struct pollfd incoming = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&incoming, 1, 20000), 1); /* the request is on its way */
    assert_int_equal(http_request(at_http_port(http), "GET", "/status", page, sizeof(page)), 200);
    at_http_stop(&http);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)close(fd);
}

static void a_port_in_use_is_named(void **state)
{
    (void)state;
    struct at_http *other = NULL;
    struct at_error error;
    char port[8];
    assert_int_equal(at_http_start(&fleet, at_http_port(http), &other, &error), AT_UNAVAILABLE);
    assert_null(other);
    (void)snprintf(port, sizeof(port), "%u", at_http_port(http));
    assert_non_null(strstr(error.msg, port));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(health_follows_serving),
                                       CASE(status_is_json),
                                       CASE(the_rest_is_refused),
                                       CASE(administration_is_answered_in_json),
                                       CASE(requests_under_way_hold_nothing_up),
                                       CASE(a_port_in_use_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
