/* A whole router, from its run file to its end by SIGTERM. */
#include "routing/proxy/router.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "http_get.h"
#include "router_fixture.h"
#include "support/test_path.h"

struct runner {
    struct router_fixture r; /* clusters and the client */
    struct at_router_config config;
    pthread_t thread;
    int exit_code;
    _Atomic bool ended;
    char dir[TEST_PATH_BYTES];
    char run_file[TEST_PATH_BYTES + 16];
    uint16_t grpc;
    uint16_t http;
};

static struct runner t;
static struct got got;
static char text[65536];

static void *run(void *arg)
{
    struct runner *runner = arg;
    runner->exit_code = at_router_main(&runner->config);
    atomic_store(&runner->ended, true);
    return NULL;
}

static int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    r_init_clusters(&t.r);
    (void)test_path(t.dir, sizeof(t.dir), "atoll-test");
    assert_non_null(mkdtemp(t.dir));
    (void)snprintf(t.run_file, sizeof(t.run_file), "%s/router.json", t.dir);
    t.config = (struct at_router_config){
        .instance = &t.r.instance, .loop_count = 2, .run_file = t.run_file};
    t.r.loop = at_loop_new(at_clock_system());
    r_got_init(&got, t.r.loop);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    r_got_deinit(&got);
    at_grpc_channel_close(&t.r.channel);
    at_loop_free(&t.r.loop);
    r_deinit_clusters(&t.r);
    (void)unlink(t.run_file);
    (void)rmdir(t.dir);
    return 0;
}

static void begin(void)
{
    assert_int_equal(pthread_create(&t.thread, NULL, run, &t), 0);
}

static int end(void)
{
    FAKE_WAIT(atomic_load(&t.ended));
    assert_int_equal(pthread_join(t.thread, NULL), 0);
    return t.exit_code;
}

static bool read_run_file(void)
{
    unsigned pid, grpc, http;
    FILE *file = fopen(t.run_file, "re");
    if (!file)
        return false;
    int n = fscanf(file, "{\"pid\": %u, \"grpc\": %u, \"http\": %u}", &pid, &grpc, &http);
    (void)fclose(file);
    assert_int_equal(n, 3);
    assert_int_equal(pid, (unsigned)getpid());
    t.grpc = (uint16_t)grpc;
    t.http = (uint16_t)http;
    return true;
}

static void connect_client(void)
{
    struct at_grpc_channel_config config = {.host = "127.0.0.1",
                                            .port = t.grpc,
                                            .connection_count = 1,
                                            .connect_timeout_ms = 20000,
                                            .keepalive_ms = 60000};
    struct at_error error;
    assert_int_equal(at_grpc_channel_open(t.r.loop, &config, &t.r.channel, &error), AT_OK);
}

static void call(const char *path, uint64_t timeout_ms)
{
    r_got_deinit(&got);
    (void)r_call(&t.r, &got, path, AT_LIT(""), timeout_ms);
}

/* The loops hear of the clusters one after the other, and ready is who knows of one. */
static void call_until_nearest(void)
{
    for (int i = 0; i < FAKE_PATIENCE_MS / 10; i++) {
        call(R_DATA "MutateRow", R_CALL_MS);
        assert_int_equal(got.code, AT_OK);
        if (strcmp(got.header_by, "c1") == 0)
            return;
        (void)usleep(10 * 1000);
    }
    fail_msg("served by %s", got.header_by);
}

static void serves_and_ends_by_sigterm(void **state)
{
    (void)state;
    begin();
    FAKE_WAIT(read_run_file());
    connect_client();
    call_until_nearest();
    call("/atoll.v1.Router/Status", R_CALL_MS);
    assert_int_equal(got.code, AT_OK);
    call("/grpc.health.v1.Health/Check", R_CALL_MS);
    assert_int_equal(got.code, AT_OK);
    call("/google.bigtable.v2.Bigtable/NoSuchMethod", R_CALL_MS);
    assert_int_equal(got.code, AT_UNIMPLEMENTED);
    assert_int_equal(http_request(t.http, "GET", "/healthz", text, sizeof(text)), 200);
    assert_int_equal(http_request(t.http, "GET", "/status", text, sizeof(text)), 200);
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    R_TURN_UNTIL(t.r.loop, atomic_load(&t.ended));
    assert_int_equal(end(), 0);
    assert_int_equal(http_request(t.http, "GET", "/healthz", text, sizeof(text)), 0);
}

static void open_calls_end_before_it_does(void **state)
{
    (void)state;
    /* More than windows and sockets hold; little enough for the five seconds that a drain takes. */
    enum { STREAM_BYTES = 12 * 1024 * 1024 };
    begin();
    FAKE_WAIT(read_run_file());
    connect_client();
    call_until_nearest();
    uint32_t before = fake_count(&t.r.fakes[0]);
    atomic_store(&t.r.fakes[0].behaviour, FAKE_STREAM);
    atomic_store(&t.r.fakes[0].stream_bytes, STREAM_BYTES);
    r_got_deinit(&got);
    (void)r_start(&t.r, &got, R_DATA "ReadRows", AT_LIT(""), R_CALL_MS);
    R_TURN_UNTIL(t.r.loop, fake_count(&t.r.fakes[0]) > before);
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    FAKE_WAIT(http_request(t.http, "GET", "/healthz", text, sizeof(text)) == 503);
    assert_false(atomic_load(&t.ended));
    assert_int_equal(kill(getpid(), SIGTERM), 0); /* impatience changes nothing */
    r_wait(&got);
    assert_int_equal(got.code, AT_OK);
    assert_int_equal(got.body_bytes, STREAM_BYTES);
    at_loop_settle(t.r.loop);
    assert_int_equal(end(), 0);
}

static void one_cluster_will_do_to_start(void **state)
{
    (void)state;
    fake_down(&t.r.fakes[0]);
    fake_down(&t.r.fakes[2]);
    begin();
    FAKE_WAIT(read_run_file());
    connect_client();
    call(R_DATA "MutateRow", R_CALL_MS);
    assert_int_equal(got.code, AT_OK);
    assert_string_equal(got.header_by, "c2");
    at_grpc_channel_close(&t.r.channel);
    at_loop_settle(t.r.loop);
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    assert_int_equal(end(), 0);
}

static void without_clusters_it_waits_and_can_be_stopped(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < R_CLUSTERS; i++)
        fake_down(&t.r.fakes[i]);
    begin();
    (void)usleep(2500 * 1000);
    assert_false(atomic_load(&t.ended));
    assert_false(read_run_file());
    fake_up(&t.r.fakes[1]);
    FAKE_WAIT(read_run_file());
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    assert_int_equal(end(), 0);
}

static void a_port_in_use_fails(void **state)
{
    (void)state;
    t.r.instance.grpc_port = t.r.fakes[0].port;
    begin();
    assert_int_equal(end(), 1);
    t.r.instance.grpc_port = 0;
    t.r.instance.http_port = t.r.fakes[0].port;
    atomic_store(&t.ended, false);
    begin();
    assert_int_equal(end(), 1);
    assert_false(read_run_file());
}

static void a_file_without_ports_fails(void **state)
{
    (void)state;
    t.r.clusters[1].grpc_port = 0;
    begin();
    assert_int_equal(end(), 1);
}

static void a_run_file_that_cannot_be_written_fails(void **state)
{
    (void)state;
    t.config.run_file = "/nonexistent/router.json";
    begin();
    assert_int_equal(end(), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(serves_and_ends_by_sigterm),
        CASE(open_calls_end_before_it_does),
        CASE(one_cluster_will_do_to_start),
        CASE(without_clusters_it_waits_and_can_be_stopped),
        CASE(a_port_in_use_fails),
        CASE(a_file_without_ports_fails),
        CASE(a_run_file_that_cannot_be_written_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
