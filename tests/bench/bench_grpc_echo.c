/* bench_grpc_echo: how many unary calls a second the gRPC server answers.
 *
 *   bench_grpc_echo [port [loops]]
 *   h2load -c 4 -m 32 -n 1000000 -d message.bin -H 'content-type: application/grpc' \
 *          -H 'te: trailers' http://127.0.0.1:PORT/bench.Echo/Echo
 *
 * message.bin is one framed message, e.g. printf '\0\0\0\0\5hello'. Methods: Echo answers the
 * request at once; Stream answers with 100000 messages of 1000 bytes. Ends on SIGINT or SIGTERM. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "wire/grpc_server.h"

#define LOOPS_MAX 16
#define STREAM_MESSAGES 100000
#define STREAM_LOW_BYTES ((size_t)256 * 1024)

struct stream_state {
    uint32_t left;
};

static const uint8_t PAYLOAD[1000];

static void on_echo(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    struct at_slice none = {0};
    enum at_code code = at_grpc_call_send(call, at_grpc_call_request(call));
    at_grpc_call_finish(call, code, none, none);
}

static void pump(struct at_grpc_call *call, void *ctx)
{
    struct stream_state *state = ctx;
    while (state->left > 0 && at_grpc_call_pending_bytes(call) < 2 * STREAM_LOW_BYTES) {
        if (at_grpc_call_send(call, at_slice_make(PAYLOAD, sizeof(PAYLOAD))) != AT_OK)
            break;
        state->left--;
    }
    if (state->left == 0)
        at_grpc_call_finish(call, AT_OK, (struct at_slice){0}, (struct at_slice){0});
}

static void on_stream_cancel(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    at_grpc_call_finish(call, AT_CANCELLED, (struct at_slice){0}, (struct at_slice){0});
}

static void on_stream(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    struct stream_state *state = AT_ARENA_NEW(at_grpc_call_arena(call), struct stream_state);
    state->left = STREAM_MESSAGES;
    at_grpc_call_on_cancel(call, on_stream_cancel, NULL);
    at_grpc_call_on_writable(call, STREAM_LOW_BYTES, pump, state);
    pump(call, state);
}

static void on_drained(void *ctx)
{
    at_loop_stop(ctx);
}

static void wait_for_signal(void)
{
    sigset_t set;
    int got;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    (void)sigwait(&set, &got);
}

static void block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int main(int argc, char **argv)
{
    static const struct at_grpc_method METHODS[] = {{"/bench.Echo/Echo", on_echo, NULL},
                                                    {"/bench.Echo/Stream", on_stream, NULL}};
    uint16_t port = argc > 1 ? (uint16_t)strtoul(argv[1], NULL, 10) : 0;
    uint32_t loop_count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
    if (loop_count < 1 || loop_count > LOOPS_MAX)
        return 2;
    block_signals();
    struct at_loop *loops[LOOPS_MAX];
    for (uint32_t i = 0; i < loop_count; i++)
        loops[i] = at_loop_new(at_clock_system());
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .port = port,
                                           .loops = loops,
                                           .loop_count = loop_count,
                                           .methods = METHODS,
                                           .method_count = 2};
    struct at_grpc_server *server;
    struct at_error error;
    if (at_grpc_server_open(&config, &server, &error) != AT_OK) {
        (void)fprintf(stderr, "%s\n", error.msg);
        return 1;
    }
    for (uint32_t i = 0; i < loop_count; i++)
        if (at_loop_start(loops[i], "bench", &error) != AT_OK)
            return 1;
    (void)printf("listening on %u\n", (unsigned)at_grpc_server_port(server));
    (void)fflush(stdout);
    wait_for_signal();
    at_grpc_server_drain(server, 100, on_drained, loops[0]);
    at_loop_join(loops[0]);
    for (uint32_t i = 1; i < loop_count; i++) {
        at_loop_stop(loops[i]);
        at_loop_join(loops[i]);
    }
    at_grpc_server_close(&server);
    for (uint32_t i = 0; i < loop_count; i++)
        at_loop_free(&loops[i]);
    return 0;
}
