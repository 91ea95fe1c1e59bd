/* The server against clients that break the rules. */
#include <sys/resource.h>

#include "base/bytes.h"
#include "support/grpc_fixture.h"
#include "support/h2_raw.h"
#include "wire/grpc_server_impl.h"

static const uint8_t HELLO[] = {0, 0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o'};
static const uint8_t TWO[] = {0, 0, 0, 0, 1, 'a', 0, 0, 0, 0, 1, 'b'};
static const uint8_t HALF[] = {0, 0, 0, 0, 5, 'h', 'e'};
static const uint8_t COMPRESSED[] = {1, 0, 0, 0, 1, 'x'};
static const uint8_t BAD_FLAG[] = {7, 0, 0, 0, 1, 'x'};
static const uint8_t HUGE_PREFIX[] = {0, 0x10, 0, 0, 1, 'x'};
static const uint8_t PREFIX_PART[] = {0, 0};

#define INIT(array)            \
    {                          \
        (array), sizeof(array) \
    }
#define BYTES(array) ((struct at_slice){(array), sizeof(array)})

struct refusal_case {
    const char *name;
    struct h2_raw_request request;
    struct at_slice body;
    bool no_body;
    const char *status;      /* HTTP */
    const char *grpc_status; /* "": none */
    const char *message_part;
};

static const struct refusal_case REFUSALS[] = {
    {"answers a plain echo", {0}, INIT(HELLO), false, "200", "0", ""},
    {"accepts +proto", {.type = "application/grpc+proto"}, INIT(HELLO), false, "200", "0", ""},
    {"accepts identity",
     {.name = "grpc-encoding", .value = "identity"},
     INIT(HELLO),
     false,
     "200",
     "0",
     ""},
    {"ignores a malformed timeout",
     {.name = "grpc-timeout", .value = "soon"},
     INIT(HELLO),
     false,
     "200",
     "0",
     ""},
    {"refuses GET", {.method = "GET"}, INIT(HELLO), false, "405", "", ""},
    {"refuses json", {.type = "application/json"}, INIT(HELLO), false, "415", "", ""},
    {"refuses grpc-web", {.type = "application/grpc-web"}, INIT(HELLO), false, "415", "", ""},
    {"names an unknown path", {.path = "/a/B"}, INIT(HELLO), false, "200", "12", "/a/B"},
    {"refuses gzip",
     {.name = "grpc-encoding", .value = "gzip"},
     INIT(HELLO),
     false,
     "200",
     "12",
     "compressed"},
    {"refuses a compressed message", {0}, INIT(COMPRESSED), false, "200", "12", "compressed"},
    {"refuses an unknown flag", {0}, INIT(BAD_FLAG), false, "200", "13", "prefix"},
    {"refuses a second message", {0}, INIT(TWO), false, "200", "12", "one request"},
    {"refuses half a message", {0}, INIT(HALF), false, "200", "13", "no whole"},
    {"refuses a part of a prefix", {0}, INIT(PREFIX_PART), false, "200", "13", "no whole"},
    {"refuses no message", {0}, {NULL, 0}, true, "200", "13", "no whole"},
    {"refuses a huge prefix", {0}, INIT(HUGE_PREFIX), false, "200", "8", "larger"},
};
#define REFUSAL_COUNT (sizeof(REFUSALS) / sizeof(REFUSALS[0]))

static struct grpc_fixture fixture;
static struct h2_raw raw;

static int up(void **state)
{
    (void)state;
    fixture_up(&fixture, 1);
    h2_raw_open(&raw, h2_raw_dial(at_grpc_server_port(fixture.server)), 65535);
    return 0;
}

static int down(void **state)
{
    (void)state;
    h2_raw_close(&raw);
    fixture_down(&fixture);
    return 0;
}

static void a_request_gets_the_answer_it_deserves(void **state)
{
    (void)state;
    for (size_t i = 0; i < REFUSAL_COUNT; i++) {
        const struct refusal_case *c = &REFUSALS[i];
        int32_t id = h2_raw_submit(&raw, &c->request, c->no_body ? NULL : &c->body);
        h2_raw_wait_closed(&raw, id);
        const struct h2_raw_stream *s = h2_raw_at(&raw, id);
        if (!s->closed || strcmp(s->status, c->status) != 0 ||
            strcmp(s->grpc_status, c->grpc_status) != 0 ||
            !strstr(s->grpc_message, c->message_part))
            fail_msg("%s: closed %d HTTP %s status %s %s", c->name, s->closed, s->status,
                     s->grpc_status, s->grpc_message);
        assert_int_equal(s->error_code, NGHTTP2_NO_ERROR);
        if (strstr(s->grpc_message, "compressed"))
            assert_string_equal(s->accept_encoding, "identity");
    }
}

static void a_refused_request_that_goes_on_is_reset_after_its_answer(void **state)
{
    (void)state;
    struct at_slice body = BYTES(HUGE_PREFIX);
    raw.keep_open = true;
    struct h2_raw_request request = {0};
    int32_t id = h2_raw_submit(&raw, &request, &body);
    h2_raw_wait_closed(&raw, id);
    assert_true(h2_raw_at(&raw, id)->closed);
    assert_string_equal(h2_raw_at(&raw, id)->grpc_status, "8");
}

static void too_much_metadata_is_refused(void **state)
{
    (void)state;
    static char text[30000];
    memset(text, 'v', sizeof(text) - 1);
    struct at_slice body = BYTES(HELLO);
    struct h2_raw_request request = {.name = "x-big", .value = text, .repeat = 2};
    int32_t id = h2_raw_submit(&raw, &request, &body);
    h2_raw_wait_closed(&raw, id);
    assert_string_equal(h2_raw_at(&raw, id)->grpc_status, "0");
    request.repeat = 3;
    id = h2_raw_submit(&raw, &request, &body);
    h2_raw_wait_closed(&raw, id);
    assert_string_equal(h2_raw_at(&raw, id)->grpc_status, "8");
}

static void a_timeout_ends_a_call_that_no_client_gives_up(void **state)
{
    (void)state;
    struct at_slice body = BYTES(HELLO);
    struct h2_raw_request request = {.path = "/t.T/Hang", .name = "grpc-timeout", .value = "200m"};
    int32_t id = h2_raw_submit(&raw, &request, &body);
    h2_raw_wait_closed(&raw, id);
    assert_string_equal(h2_raw_at(&raw, id)->grpc_status, "4");
    assert_int_equal(atomic_load(&fixture.cancelled_count), 1);
}

static void a_timeout_ends_a_request_that_never_comes_whole(void **state)
{
    (void)state;
    struct at_slice body = BYTES(HALF);
    struct h2_raw_request request = {.name = "grpc-timeout", .value = "200m"};
    raw.keep_open = true;
    int32_t id = h2_raw_submit(&raw, &request, &body);
    h2_raw_wait_closed(&raw, id);
    assert_string_equal(h2_raw_at(&raw, id)->grpc_status, "4");
}

static void a_timeout_ends_a_stream_whose_window_is_shut(void **state)
{
    (void)state;
    static const uint8_t STREAM[] = {0,   0,   0,   0,   10,  '1', '0', '0',
                                     '0', '0', ' ', '1', '0', '0', '0'};
    struct h2_raw shut;
    struct at_slice body = BYTES(STREAM);
    struct h2_raw_request request = {
        .path = "/t.T/Stream", .name = "grpc-timeout", .value = "200m"};
    h2_raw_open(&shut, h2_raw_dial(at_grpc_server_port(fixture.server)), 0);
    int32_t id = h2_raw_submit(&shut, &request, &body);
    h2_raw_wait_closed(&shut, id);
    assert_int_equal(h2_raw_at(&shut, id)->error_code, NGHTTP2_CANCEL);
    assert_int_equal(atomic_load(&fixture.cancelled_count), 1);
    assert_true(atomic_load(&fixture.pending_max) < 4 * FIXTURE_LOW_BYTES);
    h2_raw_close(&shut);
}

static void streams_beyond_the_limit_are_refused(void **state)
{
    (void)state;
    struct at_slice body = BYTES(HELLO);
    struct h2_raw_request request = {.path = "/t.T/Hang"};
    int32_t id = 0;
    for (uint32_t i = 0; i < AT_GRPC_STREAMS_MAX; i++) {
        id = h2_raw_submit(&raw, &request, &body);
        (void)h2_raw_step(&raw, 0);
    }
    for (int i = 0; i < 60000 && atomic_load(&fixture.hanging_count) < AT_GRPC_STREAMS_MAX; i++)
        (void)h2_raw_step(&raw, 10);
    assert_int_equal(atomic_load(&fixture.hanging_count), AT_GRPC_STREAMS_MAX);
    request.path = "/t.T/Echo";
    id = h2_raw_submit(&raw, &request, &body); /* nghttp2 holds it back until one has ended */
    (void)nghttp2_submit_rst_stream(raw.session, 0, 1, NGHTTP2_CANCEL);
    h2_raw_wait_closed(&raw, id);
    assert_string_equal(h2_raw_at(&raw, id)->grpc_status, "0");
}

static void resetting_fast_ends_the_connection_not_the_server(void **state)
{
    (void)state;
    static struct h2_raw flood;
    struct at_slice body = BYTES(HELLO);
    struct h2_raw_request request = {.path = "/t.T/Hang"};
    for (int round = 0; round < 6 && !flood.goaway && !flood.eof; round++) {
        if (flood.session)
            h2_raw_close(&flood);
        h2_raw_open(&flood, h2_raw_dial(at_grpc_server_port(fixture.server)), 65535);
        for (int i = 0; i < 4000 && !flood.eof; i++) {
            int32_t id = h2_raw_submit(&flood, &request, &body);
            h2_raw_flush(&flood);
            (void)nghttp2_submit_rst_stream(flood.session, 0, id, NGHTTP2_CANCEL);
            (void)h2_raw_step(&flood, 0);
        }
    }
    h2_raw_close(&flood);
    int32_t id = h2_raw_submit(&raw, &(struct h2_raw_request){0}, &body);
    h2_raw_wait_closed(&raw, id);
    assert_string_equal(h2_raw_at(&raw, id)->grpc_status, "0");
}

static void bytes_that_are_not_http2_close_the_connection(void **state)
{
    (void)state;
    static const char HTTP1[] = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    char buf[512];
    int fd = h2_raw_dial(at_grpc_server_port(fixture.server));
    assert_int_equal(send(fd, HTTP1, strlen(HTTP1), MSG_NOSIGNAL), strlen(HTTP1));
    while (recv(fd, buf, sizeof(buf), 0) > 0)
        ;
    (void)close(fd);
    struct at_slice body = BYTES(HELLO);
    int32_t id = h2_raw_submit(&raw, &(struct h2_raw_request){0}, &body);
    h2_raw_wait_closed(&raw, id);
    assert_string_equal(h2_raw_at(&raw, id)->grpc_status, "0");
}

static void who_does_not_begin_to_speak_is_cut_off_and_who_is_silent_later_is_not(void **state)
{
    static const char PART[] = "PRI * HTTP/2.0\r\n";
    struct at_slice body = BYTES(HELLO);
    int fds[2];
    char buf[512];
    (void)state;
    (void)h2_raw_step(&raw, 0);
    for (int i = 0; i < 2; i++)
        fds[i] = h2_raw_dial(at_grpc_server_port(fixture.server));
    assert_int_equal(send(fds[1], PART, strlen(PART), MSG_NOSIGNAL), strlen(PART));
    for (int i = 0; i < 2; i++) {
        struct pollfd p = {.fd = fds[i], .events = POLLIN};
        ssize_t n = 1;
        while (n > 0 && poll(&p, 1, 60000) == 1)
            n = recv(fds[i], buf, sizeof(buf), 0);
        assert_true(n <= 0);
        (void)close(fds[i]);
    }
    int32_t id = h2_raw_submit(&raw, &(struct h2_raw_request){0}, &body);
    h2_raw_wait_closed(&raw, id);
    assert_string_equal(h2_raw_at(&raw, id)->grpc_status, "0");
}

static _Atomic int standing_still;

static void stand_still(struct at_task *task)
{
    (void)task;
    atomic_fetch_add(&standing_still, 1);
    (void)usleep(5500 * 1000);
}

static void a_server_that_stood_still_reads_what_came_meanwhile(void **state)
{
    static struct h2_raw late;
    static struct at_task tasks[FIXTURE_LOOPS];
    struct at_slice body = BYTES(HELLO);
    (void)state;
    (void)h2_raw_step(&raw, 0);
    int fd = h2_raw_dial(at_grpc_server_port(fixture.server));
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 60000), 1); /* the server's SETTINGS: it waits for ours */
    for (int i = 0; i < FIXTURE_LOOPS; i++) {
        tasks[i].run = stand_still;
        at_loop_post(fixture.loops[i], &tasks[i]);
    }
    while (atomic_load(&standing_still) < FIXTURE_LOOPS)
        (void)usleep(1000);
    h2_raw_open(&late, fd, 65535);
    int32_t id = h2_raw_submit(&late, &(struct h2_raw_request){0}, &body);
    h2_raw_wait_closed(&late, id);
    assert_string_equal(h2_raw_at(&late, id)->grpc_status, "0");
    h2_raw_close(&late);
}

static void a_taken_port_is_unavailable_and_named(void **state)
{
    (void)state;
    char port[16];
    struct at_grpc_server *server = NULL;
    struct at_error error;
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .port = at_grpc_server_port(fixture.server),
                                           .loops = &fixture.loop,
                                           .loop_count = 1};
    assert_int_equal(at_grpc_server_open(&config, &server, &error), AT_UNAVAILABLE);
    (void)snprintf(port, sizeof(port), ":%u", (unsigned)config.port);
    assert_non_null(strstr(error.msg, port));
    config.host = "example";
    assert_int_equal(at_grpc_server_open(&config, &server, &error), AT_UNAVAILABLE);
    assert_null(server);
}

/* The limit is of the process: half of it stays for files. */
static void connections_leave_descriptors_for_all_else(void **state)
{
    enum { LIMIT = 200, COUNT = 150 };
    struct rlimit before;
    int fds[COUNT];
    int cut = 0;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit low = {LIMIT, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    fixture_up(&fixture, 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0); /* for this side of the connections */
    for (int i = 0; i < COUNT; i++)
        fds[i] = h2_raw_dial(at_grpc_server_port(fixture.server));
    for (int i = 0; i < COUNT; i++) {
        char byte;
        struct pollfd p = {.fd = fds[i], .events = POLLIN};
        (void)poll(&p, 1, 20000); /* served ones begin with SETTINGS */
        cut += recv(fds[i], &byte, 1, MSG_DONTWAIT) <= 0;
    }
    for (int i = 0; i < COUNT; i++)
        (void)close(fds[i]);
    assert_in_range(cut, COUNT - LIMIT / 2, COUNT - LIMIT / 2 + 2);
    fixture_down(&fixture);
}

static void answers_that_wait_share_the_memory(void **state)
{
    static const struct {
        uint32_t calls;
        size_t bytes;
    } cases[] = {
        {1, AT_MIB},
        {256, AT_MIB},
        {1024, AT_MIB / 4},
        {1000000, AT_GRPC_WAITING_BYTES_MIN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct at_grpc_home home = {.call_count = cases[i].calls};
        struct at_grpc_call call = {.home = &home};
        assert_int_equal(at_grpc_call_share_bytes(&call, AT_MIB), cases[i].bytes);
    }
}

/* The limit is for all connections: what others hold is put in by hand. */
static void large_requests_beyond_the_server_s_limit_are_told_to_try_again(void **state)
{
    static uint8_t bytes[5 + 100000] = {0, 0, 1, 0x86, 0xa0};
    static const struct {
        size_t others;
        size_t size; /* of the message */
        const char *status;
    } cases[] = {
        {AT_GRPC_REQUESTS_BYTES_MAX - 200000, 100000, "0"},
        {AT_GRPC_REQUESTS_BYTES_MAX, 100000, "14"},
        {AT_GRPC_REQUESTS_BYTES_MAX, 1000, "0"},
        {2 * AT_GRPC_REQUESTS_BYTES_MAX, 1000, "14"},
        {0, 100000, "0"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct at_slice body = at_slice_make(bytes, 5 + cases[i].size);
        at_put_be32(bytes + 1, (uint32_t)cases[i].size);
        atomic_fetch_add(&fixture.server->request_bytes, cases[i].others);
        int32_t id = h2_raw_submit(&raw, &(struct h2_raw_request){0}, &body);
        h2_raw_wait_closed(&raw, id);
        if (strcmp(h2_raw_at(&raw, id)->grpc_status, cases[i].status) != 0)
            fail_msg("case %zu: status %s", i, h2_raw_at(&raw, id)->grpc_status);
        atomic_fetch_sub(&fixture.server->request_bytes, cases[i].others);
    }
    assert_int_equal(atomic_load(&fixture.server->request_bytes), 0);
}

static void a_request_of_a_lost_connection_is_counted_until_its_handler_ends(void **state)
{
    static uint8_t bytes[5 + 1000] = {0, 0, 0, 0x03, 0xe8};
    struct at_slice body = BYTES(bytes);
    struct h2_raw lost;
    (void)state;
    h2_raw_open(&lost, h2_raw_dial(at_grpc_server_port(fixture.server)), 65535);
    (void)h2_raw_submit(&lost, &(struct h2_raw_request){.path = "/t.T/Hang"}, &body);
    for (int i = 0; i < 60000 && atomic_load(&fixture.hanging_count) == 0; i++)
        (void)h2_raw_step(&lost, 10);
    assert_int_equal(atomic_load(&fixture.server->request_bytes), sizeof(bytes));
    h2_raw_close(&lost);
    for (int i = 0; i < 60000 && atomic_load(&fixture.server->request_bytes) > 0; i++)
        (void)h2_raw_step(&raw, 10);
    assert_int_equal(atomic_load(&fixture.server->request_bytes), 0);
}

int main(void)
{
#define WITH_SERVER(f) cmocka_unit_test_setup_teardown(f, up, down)
    const struct CMUnitTest tests[] = {
        WITH_SERVER(a_request_gets_the_answer_it_deserves),
        WITH_SERVER(a_refused_request_that_goes_on_is_reset_after_its_answer),
        WITH_SERVER(too_much_metadata_is_refused),
        WITH_SERVER(a_timeout_ends_a_call_that_no_client_gives_up),
        WITH_SERVER(a_timeout_ends_a_request_that_never_comes_whole),
        WITH_SERVER(a_timeout_ends_a_stream_whose_window_is_shut),
        WITH_SERVER(streams_beyond_the_limit_are_refused),
        WITH_SERVER(resetting_fast_ends_the_connection_not_the_server),
        WITH_SERVER(bytes_that_are_not_http2_close_the_connection),
        WITH_SERVER(who_does_not_begin_to_speak_is_cut_off_and_who_is_silent_later_is_not),
        WITH_SERVER(a_server_that_stood_still_reads_what_came_meanwhile),
        WITH_SERVER(a_taken_port_is_unavailable_and_named),
        cmocka_unit_test(connections_leave_descriptors_for_all_else),
        cmocka_unit_test(answers_that_wait_share_the_memory),
        WITH_SERVER(large_requests_beyond_the_server_s_limit_are_told_to_try_again),
        WITH_SERVER(a_request_of_a_lost_connection_is_counted_until_its_handler_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
