/* grpc_blocking.c: calls for commands: start, run the loop until it is done, return the result. */
#include "base/assert.h"
#include "wire/grpc_client_impl.h"

struct blocking {
    struct at_loop *loop;
    struct at_grpc_client_call *call;
    struct at_buf *response; /* unary */
    bool (*on_message)(void *ctx, struct at_slice message);
    void *ctx;
    uint32_t message_count;
    bool done;
    enum at_code code;
    struct at_error *reterr;
};

static void on_unary_message(void *ctx, struct at_slice message)
{
    struct blocking *b = ctx;
    if (b->message_count++ > 0 || at_buf_append(b->response, message) == AT_OK)
        return;
    b->code = at_fail(b->reterr, AT_RESOURCE_EXHAUSTED, "the answer is larger than its buffer");
    b->done = true;
    at_grpc_client_cancel(b->call);
    at_loop_stop(b->loop);
}

static void on_stream_message(void *ctx, struct at_slice message)
{
    struct blocking *b = ctx;
    if (b->on_message(b->ctx, message))
        return;
    b->code = AT_OK;
    b->done = true;
    at_grpc_client_cancel(b->call);
    at_loop_stop(b->loop);
}

static void on_done(void *ctx, const struct at_grpc_result *result)
{
    struct blocking *b = ctx;
    b->done = true;
    b->code = result->code;
    if (result->code != AT_OK)
        (void)at_fail(b->reterr, result->code, "%.*s", AT_SLICE_ARG(result->message));
    else if (b->response && b->message_count != 1)
        b->code = at_fail(b->reterr, AT_INTERNAL, "%u messages came where one was due",
                          (unsigned)b->message_count);
    at_loop_stop(b->loop);
}

static enum at_code run(struct at_grpc_channel *channel,
                        const struct at_grpc_client_request *request,
                        const struct at_grpc_client_handler *handler,
                        struct blocking *b)
{
    struct at_grpc_client_request mine = *request;
    mine.handler = handler;
    mine.ctx = b;
    b->loop = channel->loop;
    b->call = at_grpc_client_start(channel, &mine);
    while (!b->done)
        at_loop_run(b->loop);
    return b->code;
}

enum at_code at_grpc_unary(struct at_grpc_channel *channel,
                           const struct at_grpc_client_request *request,
                           struct at_buf *response,
                           struct at_error *reterr)
{
    static const struct at_grpc_client_handler HANDLER = {.on_message = on_unary_message,
                                                          .on_done = on_done};
    struct blocking b = {.response = response, .reterr = reterr};
    return run(channel, request, &HANDLER, &b);
}

enum at_code at_grpc_stream(struct at_grpc_channel *channel,
                            const struct at_grpc_client_request *request,
                            bool (*on_message)(void *ctx, struct at_slice message),
                            void *ctx,
                            struct at_error *reterr)
{
    static const struct at_grpc_client_handler HANDLER = {.on_message = on_stream_message,
                                                          .on_done = on_done};
    struct blocking b = {.on_message = on_message, .ctx = ctx, .reterr = reterr};
    return run(channel, request, &HANDLER, &b);
}
