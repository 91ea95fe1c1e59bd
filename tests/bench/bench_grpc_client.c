/* bench_grpc_client: how many unary calls a second the gRPC client makes.
 *
 *   bench_grpc_client PORT [seconds [connections [outstanding]]]
 *
 * Calls /bench.Echo/Echo of bench_grpc_echo on one loop; prints calls per second. */
#include <stdio.h>
#include <stdlib.h>

#include "wire/grpc_client.h"

struct bench {
    struct at_loop *loop;
    struct at_grpc_channel *channel;
    uint64_t end_ns;
    uint64_t done;
    uint64_t failed;
    uint64_t open;
};

static void start(struct bench *b);

static void on_message(void *ctx, struct at_slice message)
{
    (void)ctx;
    (void)message;
}

static void on_done(void *ctx, const struct at_grpc_result *result)
{
    struct bench *b = ctx;
    b->done++;
    b->failed += result->code != AT_OK;
    b->open--;
    if (at_loop_now_ns(b->loop) < b->end_ns)
        start(b);
    else if (b->open == 0)
        at_loop_stop(b->loop);
}

static void start(struct bench *b)
{
    static const struct at_grpc_client_handler HANDLER = {.on_message = on_message,
                                                          .on_done = on_done};
    struct at_grpc_client_request request = {.path = "/bench.Echo/Echo",
                                             .message = AT_LIT("hello"),
                                             .deadline_ns = b->end_ns + 5 * AT_S_NS,
                                             .handler = &HANDLER,
                                             .ctx = b};
    b->open++;
    (void)at_grpc_client_start(b->channel, &request);
}

static uint32_t argument(int argc, char **argv, int i, uint32_t otherwise)
{
    return argc > i ? (uint32_t)strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    struct bench b = {.loop = at_loop_new(at_clock_system())};
    uint32_t seconds = argument(argc, argv, 2, 2);
    struct at_grpc_channel_config config = {.host = "127.0.0.1",
                                            .port = (uint16_t)argument(argc, argv, 1, 0),
                                            .connection_count = argument(argc, argv, 3, 4),
                                            .connect_timeout_ms = 1000};
    struct at_error error;
    if (at_grpc_channel_open(b.loop, &config, &b.channel, &error) != AT_OK) {
        (void)fprintf(stderr, "%s\n", error.msg);
        return 1;
    }
    b.end_ns = at_loop_now_ns(b.loop) + seconds * AT_S_NS;
    for (uint32_t i = argument(argc, argv, 4, 128); i > 0; i--)
        start(&b);
    at_loop_run(b.loop);
    (void)printf("%llu calls/s, %llu failed\n",
                 (unsigned long long)(b.done / (seconds ? seconds : 1)),
                 (unsigned long long)b.failed);
    at_grpc_channel_close(&b.channel);
    at_loop_free(&b.loop);
    return 0;
}
