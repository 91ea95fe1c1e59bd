/* fuzz_h2_server: a hostile client against a server connection.
 *
 * The input is a script of one-byte actions with their arguments: canned good frames, frames with
 * any head, raw bytes, reading (or not) what the server says, time passing, handlers finishing.
 * Whatever the script, the server must neither crash, leak, nor keep a call. */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "wire/grpc_server_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HUNG_MAX 64
#define NAPS_MAX 2
#define NAP_US 2200

struct actor {
    struct at_slice script;
    uint64_t now_ns;
    struct at_loop *loop;
    struct at_grpc_server *server;
    int fd;
    uint32_t next_stream;
    struct at_grpc_call *hung[HUNG_MAX];
    uint32_t hung_count;
    uint32_t nap_count;
};

static uint64_t fake_now(void *ctx)
{
    return ((const struct actor *)ctx)->now_ns;
}

static const struct at_slice NONE = {NULL, 0};

/* --- the server's handlers --- */

static void on_echo(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    at_grpc_call_header(call, "x-raw-bin", at_grpc_call_metadata(call, "x-raw-bin"));
    enum at_code code = at_grpc_call_send(call, at_grpc_call_request(call));
    at_grpc_call_finish(call, code, at_grpc_call_request(call), at_grpc_call_request(call));
}

static void forget(struct actor *a, const struct at_grpc_call *call)
{
    for (uint32_t i = 0; i < a->hung_count; i++)
        if (a->hung[i] == call)
            a->hung[i] = a->hung[--a->hung_count];
}

static void on_cancel(struct at_grpc_call *call, void *ctx)
{
    struct actor *a = ctx;
    if (at_grpc_call_request(call).len % 2 == 0)
        return; /* finished later, though cancelled */
    forget(a, call);
    at_grpc_call_finish(call, AT_CANCELLED, NONE, NONE);
}

static void on_hang(struct at_grpc_call *call, void *ctx)
{
    struct actor *a = ctx;
    if (a->hung_count == HUNG_MAX) {
        at_grpc_call_finish(call, AT_RESOURCE_EXHAUSTED, NONE, NONE);
        return;
    }
    a->hung[a->hung_count++] = call;
    at_grpc_call_on_cancel(call, on_cancel, a);
}

static void pump(struct at_grpc_call *call, void *ctx)
{
    struct actor *a = ctx;
    static const uint8_t PAYLOAD[3000];
    for (int i = 0; i < 20; i++) {
        struct at_buf *out = at_grpc_call_begin(call);
        if (at_buf_append(out, at_slice_make(PAYLOAD, sizeof(PAYLOAD))) == AT_OK)
            at_grpc_call_commit(call);
        else
            at_grpc_call_abandon(call);
    }
    if (a->now_ns % 3 == 0) {
        forget(a, call);
        at_grpc_call_finish(call, AT_OK, NONE, NONE);
    }
}

static void on_stream(struct at_grpc_call *call, void *ctx)
{
    struct actor *a = ctx;
    on_hang(call, ctx);
    if (a->hung_count > 0 && a->hung[a->hung_count - 1] == call) {
        at_grpc_call_on_writable(call, 10000, pump, a);
        pump(call, a);
    }
}

/* --- what the client does --- */

static uint8_t next_byte(struct actor *a)
{
    if (a->script.len == 0)
        return 0;
    uint8_t b = a->script.data[0];
    a->script = at_slice_from(a->script, 1);
    return b;
}

static struct at_slice next_bytes(struct actor *a, size_t n)
{
    struct at_slice s = at_slice_make(a->script.data, n < a->script.len ? n : a->script.len);
    a->script = at_slice_from(a->script, s.len);
    return s;
}

static void say(struct actor *a, const void *bytes, size_t len)
{
    if (len > 0)
        (void)!send(a->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void frame(struct actor *a, uint8_t type, uint8_t flags, uint32_t stream, struct at_slice p)
{
    uint8_t head[9] = {(uint8_t)(p.len >> 16),
                       (uint8_t)(p.len >> 8),
                       (uint8_t)p.len,
                       type,
                       flags,
                       (uint8_t)(stream >> 24),
                       (uint8_t)(stream >> 16),
                       (uint8_t)(stream >> 8),
                       (uint8_t)stream};
    say(a, head, sizeof(head));
    say(a, p.data, p.len);
}

static size_t put_field(uint8_t *to, const char *name, const char *value)
{
    size_t n = strlen(name);
    size_t v = strlen(value);
    to[0] = 0; /* literal, not indexed */
    to[1] = (uint8_t)n;
    memcpy(to + 2, name, n);
    to[2 + n] = (uint8_t)v;
    memcpy(to + 3 + n, value, v);
    return 3 + n + v;
}

static void good_headers(struct actor *a, uint8_t kind)
{
    static const char *const PATHS[] = {"/t/Echo", "/t/Hang", "/t/Stream", "/t/None"};
    static const char *const TIMEOUTS[] = {"1m", "50u", "99999999H", "x"};
    uint8_t block[256];
    size_t n = 0;
    n += put_field(block + n, ":method", kind & 64 ? "GET" : "POST");
    n += put_field(block + n, ":scheme", "http");
    n += put_field(block + n, ":path", PATHS[kind & 3]);
    n += put_field(block + n, "content-type", kind & 128 ? "text/html" : "application/grpc");
    n += put_field(block + n, "x-raw-bin", "AAEC/w");
    if (kind & 4)
        n += put_field(block + n, "grpc-timeout", TIMEOUTS[kind >> 4 & 3]);
    a->next_stream += 2;
    frame(a, 1, (uint8_t)(4 | (kind & 8 ? 1 : 0)), a->next_stream, at_slice_make(block, n));
}

static void good_data(struct actor *a)
{
    uint8_t payload[5 + 255] = {0};
    uint8_t flags = next_byte(a) & 1;
    struct at_slice body = next_bytes(a, next_byte(a));
    payload[4] = (uint8_t)body.len;
    if (body.len > 0)
        memcpy(payload + 5, body.data, body.len);
    frame(a, 0, flags, a->next_stream, at_slice_make(payload, 5 + body.len));
}

static void listen_to_it(struct actor *a)
{
    uint8_t buf[65536];
    while (recv(a->fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
        ;
}

static void settle(struct actor *a)
{
    for (int i = 0; i < 3; i++)
        at_loop_settle(a->loop);
}

static void finish_one(struct actor *a)
{
    if (a->hung_count == 0)
        return;
    struct at_grpc_call *call = a->hung[--a->hung_count];
    at_grpc_call_finish(call, AT_OK, AT_LIT("100% done"), NONE);
}

static void act(struct actor *a, uint8_t action)
{
    static const char MAGIC[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    switch (action % 12) {
    case 0:
        say(a, MAGIC, sizeof(MAGIC) - 1);
        frame(a, 4, 0, 0, NONE);
        break;
    case 1:
        good_headers(a, next_byte(a));
        break;
    case 2:
        good_data(a);
        break;
    case 3: { /* any frame */
        uint8_t type = next_byte(a);
        uint8_t flags = next_byte(a);
        uint8_t stream = next_byte(a);
        frame(a, type, flags, stream, next_bytes(a, next_byte(a)));
        break;
    }
    case 4: { /* any bytes */
        struct at_slice bytes = next_bytes(a, next_byte(a));
        say(a, bytes.data, bytes.len);
        break;
    }
    case 5:
        listen_to_it(a);
        break;
    case 6:
        a->now_ns += next_byte(a) * AT_MS_NS;
        if (a->nap_count++ < NAPS_MAX) /* libuv's timer goes by the real clock */
            (void)usleep(NAP_US);
        break;
    case 7:
        finish_one(a);
        break;
    case 8:
        frame(a, 3, 0, a->next_stream, AT_LIT("\0\0\0\x08"));
        break;
    case 9:
        frame(a, 8, 0, next_byte(a) & 1 ? a->next_stream : 0, AT_LIT("\0\1\0\0"));
        break;
    case 10:
        settle(a);
        break;
    default:
        frame(a, 4, 0, 0, AT_LIT("\0\4\0\0\0\0")); /* no window */
        break;
    }
}

static void setup(struct actor *a)
{
    static struct at_grpc_method methods[3];
    int pair[2];
    methods[0] = (struct at_grpc_method){"/t/Echo", on_echo, a};
    methods[1] = (struct at_grpc_method){"/t/Hang", on_hang, a};
    methods[2] = (struct at_grpc_method){"/t/Stream", on_stream, a};
    a->loop = at_loop_new((struct at_clock){.wall_ns = fake_now, .mono_ns = fake_now, .ctx = a});
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .loops = &a->loop,
                                           .loop_count = 1,
                                           .methods = methods,
                                           .method_count = 3};
    enum at_code code = at_grpc_server_open(&config, &a->server, NULL);
    AT_ASSERT(code == AT_OK);
    int rc = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair);
    AT_ASSERT(rc == 0);
    a->fd = pair[0];
    at_grpc_home_adopt(&a->server->homes[0], pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct actor a = {.script = {data, size}, .now_ns = AT_S_NS, .next_stream = UINT32_MAX};
    setup(&a);
    for (uint32_t steps = 0; a.script.len > 0 && steps < 2000; steps++) {
        act(&a, next_byte(&a));
        if (steps % 4 == 3)
            settle(&a);
    }
    settle(&a);
    (void)close(a.fd);
    settle(&a);
    while (a.hung_count > 0)
        finish_one(&a);
    settle(&a);
    AT_ASSERT(a.server->homes[0].call_count == 0);
    AT_ASSERT(a.server->homes[0].conns == NULL);
    at_grpc_server_close(&a.server);
    at_loop_free(&a.loop);
    return 0;
}
