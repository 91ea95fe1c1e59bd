/* grpc_fixture.h: a gRPC server on its own loops and a channel on the test's thread, over loopback.
 *
 * Methods: Echo (answers the request and its metadata), Fail (status from the request), Stream
 * (messages with back-pressure), Hang (answers only when cancelled), Later (answers from another
 * thread), Orphan (never finishes by itself, see grpc_fixture_release). */
#ifndef ATOLL_TESTS_SUPPORT_GRPC_FIXTURE_H
#define ATOLL_TESTS_SUPPORT_GRPC_FIXTURE_H

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "support/test.h"
#include "wire/grpc_client.h"
#include "wire/grpc_server.h"

#define FIXTURE_LOOPS 3
#define FIXTURE_LOW_BYTES ((size_t)256 * 1024)

struct grpc_fixture {
    struct at_loop *loops[FIXTURE_LOOPS];
    struct at_grpc_server *server;
    struct at_loop *loop; /* of the test */
    struct at_grpc_channel *channel;
    atomic_uint cancelled_count;
    atomic_uint hanging_count;
    atomic_size_t pending_max;
    atomic_uint drained_count;
    atomic_uint later_count; /* threads of Later that run */
};

static const struct at_slice FIXTURE_NONE = {NULL, 0};

static inline void fixture_echo(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    struct at_slice text = at_grpc_call_metadata(call, "x-text");
    struct at_slice bin = at_grpc_call_metadata(call, "x-raw-bin");
    if (text.data)
        at_grpc_call_header(call, "x-text", text);
    if (bin.data)
        at_grpc_call_header(call, "x-raw-bin", bin);
    if (bin.data)
        at_grpc_call_trailer(call, "x-trail-bin", bin);
    enum at_code code = at_grpc_call_send(call, at_grpc_call_request(call));
    at_grpc_call_finish(call, code, FIXTURE_NONE, FIXTURE_NONE);
}

static inline void fixture_fail(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    static const uint8_t DETAILS[] = {8, 10, 0, 255};
    at_grpc_call_trailer(call, "x-why", AT_LIT("because"));
    at_grpc_call_finish(call, AT_ABORTED, at_grpc_call_request(call),
                        at_slice_make(DETAILS, sizeof(DETAILS)));
}

struct fixture_stream {
    struct grpc_fixture *fixture;
    unsigned long left;
    size_t size;
    uint64_t next;
};

static inline void fixture_pump(struct at_grpc_call *call, void *ctx)
{
    struct fixture_stream *s = ctx;
    while (s->left > 0 && at_grpc_call_pending_bytes(call) < 2 * FIXTURE_LOW_BYTES) {
        struct at_buf *out = at_grpc_call_begin(call);
        assert_int_equal(at_buf_reserve(out, s->size), AT_OK);
        memset(out->data + out->len, (int)(s->next++ & 0xff), s->size);
        out->len += s->size;
        at_grpc_call_commit(call);
        s->left--;
    }
    size_t pending = at_grpc_call_pending_bytes(call);
    if (pending > atomic_load(&s->fixture->pending_max))
        atomic_store(&s->fixture->pending_max, pending);
    if (s->left == 0)
        at_grpc_call_finish(call, AT_OK, FIXTURE_NONE, FIXTURE_NONE);
}

static inline void fixture_cancelled(struct at_grpc_call *call, void *ctx)
{
    struct grpc_fixture *f = ctx;
    assert_true(at_grpc_call_cancelled(call));
    atomic_fetch_add(&f->cancelled_count, 1);
    at_grpc_call_finish(call, AT_CANCELLED, FIXTURE_NONE, FIXTURE_NONE);
}

/* The request is "count size". */
static inline void fixture_stream(struct at_grpc_call *call, void *ctx)
{
    struct fixture_stream *s = AT_ARENA_NEW(at_grpc_call_arena(call), struct fixture_stream);
    struct at_slice text = at_arena_copy(at_grpc_call_arena(call), at_grpc_call_request(call));
    char *end;
    s->fixture = ctx;
    s->left = strtoul((const char *)text.data, &end, 10);
    s->size = strtoul(end, NULL, 10);
    at_grpc_call_on_cancel(call, fixture_cancelled, ctx);
    at_grpc_call_on_writable(call, FIXTURE_LOW_BYTES, fixture_pump, s);
    fixture_pump(call, s);
}

static inline void fixture_hang(struct at_grpc_call *call, void *ctx)
{
    struct grpc_fixture *f = ctx;
    at_grpc_call_on_cancel(call, fixture_cancelled, ctx);
    atomic_fetch_add(&f->hanging_count, 1);
}

struct fixture_later {
    struct at_task task;
    struct at_grpc_call *call;
    struct grpc_fixture *fixture;
};

static inline void fixture_later_done(struct at_task *task)
{
    struct fixture_later *l = (struct fixture_later *)task;
    enum at_code code = at_grpc_call_send(l->call, at_grpc_call_request(l->call));
    at_grpc_call_finish(l->call, code, FIXTURE_NONE, FIXTURE_NONE);
}

static inline void *fixture_later_thread(void *arg)
{
    struct fixture_later *l = arg;
    struct grpc_fixture *f = l->fixture; /* the call may end before the post has returned */
    at_loop_post(at_grpc_call_loop(l->call), &l->task);
    atomic_fetch_sub(&f->later_count, 1);
    return NULL;
}

static inline void fixture_later(struct at_grpc_call *call, void *ctx)
{
    struct grpc_fixture *f = ctx;
    pthread_t thread;
    struct fixture_later *l = AT_ARENA_NEW(at_grpc_call_arena(call), struct fixture_later);
    l->task.run = fixture_later_done;
    l->call = call;
    l->fixture = f;
    atomic_fetch_add(&f->later_count, 1);
    assert_int_equal(pthread_create(&thread, NULL, fixture_later_thread, l), 0);
    (void)pthread_detach(thread);
}

static inline void fixture_open_channel(struct grpc_fixture *f, uint32_t connections)
{
    struct at_grpc_channel_config config = {.host = "127.0.0.1",
                                            .port = at_grpc_server_port(f->server),
                                            .connection_count = connections,
                                            .connect_timeout_ms = 20000,
                                            .keepalive_ms = 60000};
    struct at_error error;
    assert_int_equal(at_grpc_channel_open(f->loop, &config, &f->channel, &error), AT_OK);
    /* A server does not wait long for those that say nothing. */
    for (int i = 0; i < 60000 && !at_grpc_channel_connected(f->channel); i++) {
        at_loop_settle(f->loop);
        (void)usleep(1000);
    }
}

static inline void fixture_up(struct grpc_fixture *f, uint32_t connections)
{
    static struct at_grpc_method methods[5];
    memset(f, 0, sizeof(*f));
    methods[0] = (struct at_grpc_method){"/t.T/Echo", fixture_echo, f};
    methods[1] = (struct at_grpc_method){"/t.T/Fail", fixture_fail, f};
    methods[2] = (struct at_grpc_method){"/t.T/Stream", fixture_stream, f};
    methods[3] = (struct at_grpc_method){"/t.T/Hang", fixture_hang, f};
    methods[4] = (struct at_grpc_method){"/t.T/Later", fixture_later, f};
    for (int i = 0; i < FIXTURE_LOOPS; i++)
        f->loops[i] = at_loop_new(at_clock_system());
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .loops = f->loops,
                                           .loop_count = FIXTURE_LOOPS,
                                           .methods = methods,
                                           .method_count = 5};
    struct at_error error;
    assert_int_equal(at_grpc_server_open(&config, &f->server, &error), AT_OK);
    for (int i = 0; i < FIXTURE_LOOPS; i++)
        assert_int_equal(at_loop_start(f->loops[i], "server", &error), AT_OK);
    f->loop = at_loop_new(at_clock_system());
    fixture_open_channel(f, connections);
}

static inline void fixture_stop_server(struct grpc_fixture *f)
{
    if (!f->server)
        return;
    for (int i = 0; i < FIXTURE_LOOPS; i++)
        at_loop_stop(f->loops[i]);
    for (int i = 0; i < FIXTURE_LOOPS; i++)
        at_loop_join(f->loops[i]);
    while (atomic_load(&f->later_count) > 0)
        (void)usleep(100);
    at_grpc_server_close(&f->server);
    for (int i = 0; i < FIXTURE_LOOPS; i++)
        at_loop_free(&f->loops[i]);
}

static inline void fixture_down(struct grpc_fixture *f)
{
    at_grpc_channel_close(&f->channel);
    at_loop_free(&f->loop);
    fixture_stop_server(f);
}

#endif
