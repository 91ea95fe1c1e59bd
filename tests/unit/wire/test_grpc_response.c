/* The client against a server that answers in odd ways, by the path that is called. */
#include "support/test.h"

#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/grpc_client.h"

/* --- the odd server: one thread, one connection at a time --- */

struct odd_server {
    int listen_fd;
    uint16_t port;
    pthread_t thread;
    atomic_bool stop;
    bool mute;   /* accepts and says nothing */
    bool silent; /* from now on */
    char path[64];
};

static nghttp2_nv nv(const char *name, const char *value)
{
    union {
        const char *in;
        uint8_t *out;
    } n = {.in = name}, v = {.in = value};
    return (nghttp2_nv){n.out, v.out, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static int on_header(nghttp2_session *session,
                     const nghttp2_frame *frame,
                     const uint8_t *name,
                     size_t namelen,
                     const uint8_t *value,
                     size_t valuelen,
                     uint8_t flags,
                     void *user_data)
{
    (void)session;
    (void)frame;
    (void)flags;
    struct odd_server *s = user_data;
    if (namelen == 5 && memcmp(name, ":path", 5) == 0 && valuelen < sizeof(s->path)) {
        memcpy(s->path, value, valuelen);
        s->path[valuelen] = '\0';
    }
    return 0;
}

struct body {
    const uint8_t *bytes;
    size_t len;
    bool trailers;
};

static ssize_t on_read_body(nghttp2_session *session,
                            int32_t stream_id,
                            uint8_t *buf,
                            size_t length,
                            uint32_t *data_flags,
                            nghttp2_data_source *source,
                            void *user_data)
{
    (void)length;
    (void)user_data;
    const struct body *b = source->ptr;
    memcpy(buf, b->bytes, b->len);
    *data_flags |= NGHTTP2_DATA_FLAG_EOF;
    if (b->trailers) {
        const nghttp2_nv ok = nv("grpc-status", "0");
        *data_flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        (void)nghttp2_submit_trailer(session, stream_id, &ok, 1);
    }
    return (ssize_t)b->len;
}

static void respond(nghttp2_session *session,
                    int32_t id,
                    const char *status,
                    const char *type,
                    const struct body *body)
{
    const nghttp2_nv head[] = {nv(":status", status), nv("content-type", type)};
    union {
        const struct body *in;
        void *out;
    } b = {.in = body};
    nghttp2_data_provider provider = {.source.ptr = b.out, .read_callback = on_read_body};
    (void)nghttp2_submit_response(session, id, head, 2, body ? &provider : NULL);
}

static void answer(struct odd_server *s, nghttp2_session *session, int32_t id)
{
    static const uint8_t MESSAGE[] = {0, 0, 0, 0, 2, 'o', 'k'};
    static const struct body GOOD = {MESSAGE, 7, true};
    static const struct body CUT = {MESSAGE, 6, true};
    static const struct body NO_STATUS = {MESSAGE, 7, false};
    static const struct body HTML = {(const uint8_t *)"<html>", 6, false};
    static const struct body ZIPPED = {(const uint8_t *)"\1\0\0\0\1x", 6, true};
    static const struct body HUGE = {(const uint8_t *)"\0\xff\0\0\0", 5, true};
    const char *type = "application/grpc";
    if (strcmp(s->path, "/refuse") == 0)
        (void)nghttp2_submit_rst_stream(session, 0, id, NGHTTP2_REFUSED_STREAM);
    else if (strcmp(s->path, "/reset") == 0)
        (void)nghttp2_submit_rst_stream(session, 0, id, NGHTTP2_INTERNAL_ERROR);
    else if (strcmp(s->path, "/calm") == 0)
        (void)nghttp2_submit_rst_stream(session, 0, id, NGHTTP2_ENHANCE_YOUR_CALM);
    else if (strcmp(s->path, "/goaway") == 0)
        (void)nghttp2_submit_goaway(session, 0, 0, NGHTTP2_NO_ERROR, NULL, 0);
    else if (strcmp(s->path, "/503") == 0)
        respond(session, id, "503", "text/html", &HTML);
    else if (strcmp(s->path, "/401") == 0)
        respond(session, id, "401", "text/html", NULL);
    else if (strcmp(s->path, "/html") == 0)
        respond(session, id, "200", "text/html", &HTML);
    else if (strcmp(s->path, "/nostatus") == 0)
        respond(session, id, "200", type, &NO_STATUS);
    else if (strcmp(s->path, "/cut") == 0)
        respond(session, id, "200", type, &CUT);
    else if (strcmp(s->path, "/zipped") == 0)
        respond(session, id, "200", type, &ZIPPED);
    else if (strcmp(s->path, "/huge") == 0)
        respond(session, id, "200", type, &HUGE);
    else if (strcmp(s->path, "/good") == 0)
        respond(session, id, "200", type, &GOOD);
    else
        s->silent = true;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    struct odd_server *s = user_data;
    bool asks = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (asks && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        answer(s, session, frame->hd.stream_id);
    return 0;
}

static void serve(struct odd_server *s, int fd)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    (void)nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    (void)nghttp2_session_server_new(&session, callbacks, s);
    nghttp2_session_callbacks_del(callbacks);
    (void)nghttp2_submit_settings(session, 0, NULL, 0);
    for (;;) {
        uint8_t buf[4096];
        const uint8_t *out;
        ssize_t n;
        while (!s->silent && (n = nghttp2_session_mem_send(session, &out)) > 0)
            (void)!send(fd, out, (size_t)n, MSG_NOSIGNAL);
        n = recv(fd, buf, sizeof(buf), 0);
        if (n <= 0 || nghttp2_session_mem_recv(session, buf, (size_t)n) < 0)
            break;
    }
    nghttp2_session_del(session);
    s->silent = false;
}

static void *odd_main(void *arg)
{
    struct odd_server *s = arg;
    while (!atomic_load(&s->stop)) {
        struct pollfd p = {.fd = s->listen_fd, .events = POLLIN};
        if (s->mute || poll(&p, 1, 10) <= 0) {
            (void)usleep(1000);
            continue;
        }
        int fd = accept(s->listen_fd, NULL, NULL);
        serve(s, fd);
        (void)close(fd);
    }
    return NULL;
}

static void odd_up(struct odd_server *s, bool mute)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof(address);
    memset(s, 0, sizeof(*s));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->mute = mute;
    s->listen_fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(s->listen_fd, (const struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(s->listen_fd, 10), 0);
    assert_int_equal(getsockname(s->listen_fd, (struct sockaddr *)&address, &len), 0);
    s->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, odd_main, s), 0);
}

static void odd_down(struct odd_server *s)
{
    atomic_store(&s->stop, true);
    (void)pthread_join(s->thread, NULL);
    (void)close(s->listen_fd);
}

/* --- the client --- */

struct outcome {
    struct at_loop *loop;
    struct at_grpc_result result;
    uint32_t message_count;
    bool done;
};

static void on_message(void *ctx, struct at_slice message)
{
    (void)message;
    ((struct outcome *)ctx)->message_count++;
}

static void on_done(void *ctx, const struct at_grpc_result *result)
{
    struct outcome *o = ctx;
    o->result = *result;
    o->done = true;
    at_loop_stop(o->loop);
}

static const struct at_grpc_client_handler HANDLER = {.on_message = on_message, .on_done = on_done};

struct client {
    struct at_loop *loop;
    struct at_grpc_channel *channel;
};

static void client_up(struct client *c, uint16_t port, uint32_t timeout_ms, uint32_t keepalive_ms)
{
    struct at_grpc_channel_config config = {.host = "127.0.0.1",
                                            .port = port,
                                            .connection_count = 1,
                                            .connect_timeout_ms = timeout_ms,
                                            .keepalive_ms = keepalive_ms};
    c->loop = at_loop_new(at_clock_system());
    assert_int_equal(at_grpc_channel_open(c->loop, &config, &c->channel, NULL), AT_OK);
}

static void client_down(struct client *c)
{
    at_grpc_channel_close(&c->channel);
    at_loop_free(&c->loop);
}

static struct outcome call(struct client *c, const char *path)
{
    struct outcome o = {.loop = c->loop};
    struct at_grpc_client_request request = {
        .path = path, .deadline_ns = UINT64_MAX, .handler = &HANDLER, .ctx = &o};
    (void)at_grpc_client_start(c->channel, &request);
    while (!o.done)
        at_loop_run(c->loop);
    return o;
}

struct answer_case {
    const char *path;
    enum at_code code;
    bool from_peer;
    bool unprocessed;
    bool got_data;
};

static const struct answer_case ANSWERS[] = {
    {"/good", AT_OK, true, false, true},
    {"/refuse", AT_UNAVAILABLE, false, true, false},
    {"/reset", AT_INTERNAL, false, false, false},
    {"/calm", AT_RESOURCE_EXHAUSTED, false, false, false},
    {"/503", AT_UNAVAILABLE, false, false, true},
    {"/401", AT_UNAUTHENTICATED, false, false, false},
    {"/html", AT_UNKNOWN, false, false, true},
    {"/nostatus", AT_INTERNAL, false, false, true},
    {"/cut", AT_INTERNAL, false, false, true},
    {"/zipped", AT_INTERNAL, false, false, true},
    {"/huge", AT_RESOURCE_EXHAUSTED, false, false, true},
    {"/goaway", AT_UNAVAILABLE, false, true, false},
};

static void an_odd_answer_becomes_the_right_status(void **state)
{
    (void)state;
    struct odd_server s;
    struct client c;
    odd_up(&s, false);
    for (size_t i = 0; i < sizeof(ANSWERS) / sizeof(ANSWERS[0]); i++) {
        const struct answer_case *a = &ANSWERS[i];
        client_up(&c, s.port, 20000, 0);
        struct outcome o = call(&c, a->path);
        if (o.result.code != a->code || o.result.from_peer != a->from_peer ||
            o.result.unprocessed != a->unprocessed || o.result.got_data != a->got_data)
            fail_msg("%s: %s, from peer %d, unprocessed %d, got data %d", a->path,
                     at_code_name(o.result.code), o.result.from_peer, o.result.unprocessed,
                     o.result.got_data);
        client_down(&c);
    }
    odd_down(&s);
}

static void a_connection_serves_on_after_odd_answers(void **state)
{
    (void)state;
    struct odd_server s;
    struct client c;
    odd_up(&s, false);
    client_up(&c, s.port, 20000, 0);
    for (size_t i = 0; i < sizeof(ANSWERS) / sizeof(ANSWERS[0]) - 1; i++) {
        (void)call(&c, ANSWERS[i].path);
        struct outcome o = call(&c, "/good");
        assert_int_equal(o.result.code, AT_OK);
        assert_int_equal(o.message_count, 1);
    }
    client_down(&c);
    odd_down(&s);
}

static void keepalive_ends_calls_on_a_peer_that_went_silent(void **state)
{
    (void)state;
    struct odd_server s;
    struct client c;
    odd_up(&s, false);
    client_up(&c, s.port, 20000, 1000);
    assert_int_equal(call(&c, "/good").result.code, AT_OK);
    uint64_t from_ns = at_clock_mono_ns(at_loop_clock(c.loop));
    struct outcome o = call(&c, "/silent");
    uint64_t took_ns = at_clock_mono_ns(at_loop_clock(c.loop)) - from_ns;
    assert_int_equal(o.result.code, AT_UNAVAILABLE);
    assert_false(o.result.unprocessed);
    assert_true(took_ns >= 1900 * AT_MS_NS);
    client_down(&c);
    odd_down(&s);
}

static void a_peer_that_never_greets_is_no_connection(void **state)
{
    (void)state;
    struct odd_server s;
    struct client c;
    odd_up(&s, true);
    client_up(&c, s.port, 80, 0);
    struct outcome o = call(&c, "/good");
    assert_int_equal(o.result.code, AT_UNAVAILABLE);
    assert_true(o.result.unprocessed);
    assert_false(at_grpc_channel_connected(c.channel));
    client_down(&c);
    odd_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_odd_answer_becomes_the_right_status),
        cmocka_unit_test(a_connection_serves_on_after_odd_answers),
        cmocka_unit_test(keepalive_ends_calls_on_a_peer_that_went_silent),
        cmocka_unit_test(a_peer_that_never_greets_is_no_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
