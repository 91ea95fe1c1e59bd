/* call.c: the life of a REST call.
 *
 *   HTTP thread: prepare -> start --post--> REST loop: unary gRPC call -> JSON -> on_done
 *
 * After at_rest_stop has set `closed` under the lock, nothing is posted any more; what was posted
 * before it is run before the channel closes, which ends all calls. */
#include "routing/rest/call.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "routing/rest/error.h"
#include "routing/rest/pool.h"
#include "wire/grpc_client.h"
#include "wire/json/encode.h"
#include "wire/proto_alloc.h"

#define DEADLINE_NS (120 * AT_S_NS)
#define CONNECT_TIMEOUT_MS 2000
#define KEEPALIVE_MS 10000
#define FIRST_BLOCK_BYTES (4 * AT_KIB)

struct at_rest {
    struct at_loop *loop;
    struct at_grpc_channel *channel;
    struct at_task close_task;
    uint32_t open_count; /* loop thread */
    bool started;
    pthread_mutex_t lock;
    bool closed; /* under the lock */
};

static void on_start(struct at_task *task);
static void on_close(struct at_task *task);
static void on_message(void *ctx, struct at_slice message);
static void on_result(void *ctx, const struct at_grpc_result *result);

static const struct at_grpc_client_handler HANDLER = {.on_message = on_message,
                                                      .on_done = on_result};

enum at_code at_rest_start(uint16_t grpc_port, struct at_rest **ret_rest, struct at_error *reterr)
{
    struct at_rest *rest = AT_NEW(struct at_rest);
    (void)pthread_mutex_init(&rest->lock, NULL);
    rest->loop = at_loop_new(at_clock_system());
    *ret_rest = rest;
    const struct at_grpc_channel_config config = {.host = "127.0.0.1",
                                                  .port = grpc_port,
                                                  .connection_count = 1,
                                                  .connect_timeout_ms = CONNECT_TIMEOUT_MS,
                                                  .keepalive_ms = KEEPALIVE_MS};
    enum at_code code = at_grpc_channel_open(rest->loop, &config, &rest->channel, reterr);
    if (code == AT_OK)
        code = at_loop_start(rest->loop, "atoll-rest", reterr);
    rest->started = code == AT_OK;
    if (code != AT_OK) {
        at_rest_stop(rest);
        at_rest_free(ret_rest);
    }
    return code;
}

void at_rest_stop(struct at_rest *rest)
{
    if (!rest)
        return;
    (void)pthread_mutex_lock(&rest->lock);
    bool first = !rest->closed;
    rest->closed = true;
    (void)pthread_mutex_unlock(&rest->lock);
    if (!first)
        return;
    rest->close_task.run = on_close;
    at_loop_post(rest->loop, &rest->close_task);
    if (rest->started) {
        at_loop_stop(rest->loop);
        at_loop_join(rest->loop);
    }
    do
        at_loop_settle(rest->loop);
    while (rest->open_count > 0);
}

void at_rest_free(struct at_rest **rest)
{
    if (!*rest)
        return;
    AT_ASSERT((*rest)->closed);
    at_loop_free(&(*rest)->loop);
    (void)pthread_mutex_destroy(&(*rest)->lock);
    at_free(*rest);
    *rest = NULL;
}

void at_rest_call_init(struct at_rest_call *call,
                       struct at_rest *rest,
                       void (*on_done)(struct at_rest_call *call))
{
    *call = (struct at_rest_call){.rest = rest, .on_done = on_done};
    at_arena_init(&call->arena, FIRST_BLOCK_BYTES);
    at_buf_init(&call->answer, AT_REST_ANSWER_BYTES_MAX);
}

void at_rest_call_deinit(struct at_rest_call *call)
{
    at_arena_deinit(&call->arena);
    at_buf_deinit(&call->answer);
}

static void refuse(struct at_rest_call *call,
                   enum at_code code,
                   struct at_slice message,
                   struct at_slice status)
{
    call->answered = true;
    call->http_status = at_rest_http_status(code);
    at_buf_clear(&call->answer);
    if (at_rest_error_write(code, message, status, &call->arena, &call->answer) != AT_OK) {
        call->http_status = 500;
        at_buf_clear(&call->answer);
    }
}

void at_rest_call_refuse(struct at_rest_call *call, const struct at_error *error)
{
    refuse(call, error->code, at_slice_cstr(error->msg), (struct at_slice){0});
}

bool at_rest_call_prepare(struct at_rest_call *call, const struct at_rest_input *input)
{
    struct at_error error;
    enum at_code code;
    if (!at_rest_route_find(input->verb, input->path, &call->match))
        code = at_fail(&error, AT_NOT_FOUND, "Nothing is served at %s %.*s", input->verb,
                       AT_SLICE_ARG(input->path));
    else
        code = at_rest_request_build(&call->match, input, &call->arena, &call->message, &error);
    if (code != AT_OK)
        at_rest_call_refuse(call, &error);
    return code == AT_OK;
}

void at_rest_call_start(struct at_rest_call *call)
{
    struct at_rest *rest = call->rest;
    call->task.run = on_start;
    (void)pthread_mutex_lock(&rest->lock);
    bool closed = rest->closed;
    if (!closed)
        at_loop_post(rest->loop, &call->task);
    (void)pthread_mutex_unlock(&rest->lock);
    if (!closed)
        return;
    refuse(call, AT_UNAVAILABLE, AT_LIT("The router is stopping"), (struct at_slice){0});
    call->on_done(call);
}

static void on_start(struct at_task *task)
{
    struct at_rest_call *call =
        (struct at_rest_call *)(void *)((char *)task - offsetof(struct at_rest_call, task));
    struct at_rest *rest = call->rest;
    rest->open_count++;
    const struct at_grpc_client_request request = {
        .path = call->match.route->rpc,
        .message = call->message,
        .deadline_ns = at_loop_now_ns(rest->loop) + DEADLINE_NS,
        .handler = &HANDLER,
        .ctx = call,
    };
    (void)at_grpc_client_start(rest->channel, &request);
}

static void on_close(struct at_task *task)
{
    struct at_rest *rest =
        (struct at_rest *)(void *)((char *)task - offsetof(struct at_rest, close_task));
    if (rest->channel)
        at_grpc_channel_close(&rest->channel);
}

static void on_message(void *ctx, struct at_slice message)
{
    struct at_rest_call *call = ctx;
    const ProtobufCMessage *response =
        at_proto_unpack(&call->arena, call->match.route->response, message);
    enum at_code code = AT_INTERNAL;
    at_buf_clear(&call->answer);
    if (response)
        code = at_json_encode(at_rest_pool(), response, &call->arena, &call->answer);
    if (code == AT_OK)
        code = at_buf_append(&call->answer, AT_LIT("\n"));
    call->http_status = 200;
    call->answered = true;
    if (code != AT_OK)
        refuse(call, code, AT_LIT("The answer cannot be shown as JSON"), (struct at_slice){0});
}

static void on_result(void *ctx, const struct at_grpc_result *result)
{
    struct at_rest_call *call = ctx;
    call->rest->open_count--;
    if (result->code != AT_OK)
        refuse(call, result->code, result->message, result->details);
    else if (!call->answered)
        refuse(call, AT_INTERNAL, AT_LIT("An answer without a message"), (struct at_slice){0});
    call->on_done(call);
}
