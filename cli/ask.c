/* ask.c: a loop, a channel and one call, made and taken down. */
#include "cli/ask.h"

#include "atoll/v1/control.pb-c.h"
#include "base/alloc.h"
#include "base/limits.h"

#define ANSWER_BYTES_MAX (64 * AT_MIB)

enum at_code at_ask_unary(const struct at_ask *ask,
                          const ProtobufCMessage *request,
                          const ProtobufCMessageDescriptor *answer,
                          struct at_arena *arena,
                          void **ret_answer,
                          struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    AT_CLEANUP(at_buf_deinit) struct at_buf response;
    at_buf_init(&bytes, ANSWER_BYTES_MAX);
    at_buf_init(&response, ANSWER_BYTES_MAX);
    AT_TRY(at_proto_pack(&bytes, request));
    struct at_loop *loop = at_loop_new(at_clock_system());
    struct at_grpc_channel *channel = NULL;
    struct at_grpc_channel_config config = {.host = ask->host,
                                            .port = ask->port,
                                            .connection_count = 1,
                                            .connect_timeout_ms = ask->timeout_ms};
    enum at_code code = at_grpc_channel_open(loop, &config, &channel, reterr);
    if (code == AT_OK) {
        struct at_grpc_client_request call = {
            .path = ask->path,
            .message = at_buf_slice(&bytes),
            .deadline_ns = at_clock_mono_ns(at_loop_clock(loop)) + ask->timeout_ms * AT_MS_NS,
        };
        code = at_grpc_unary(channel, &call, &response, reterr);
        at_grpc_channel_close(&channel);
        at_loop_settle(loop);
    }
    at_loop_free(&loop);
    AT_TRY(code);
    *ret_answer = at_proto_unpack(arena, answer, at_buf_slice(&response));
    if (!*ret_answer)
        return at_fail(reterr, AT_DATA_LOSS, "%s: the answer is malformed", ask->path);
    return AT_OK;
}

enum at_code at_ask_alive(const char *host,
                          uint16_t port,
                          uint32_t timeout_ms,
                          struct at_arena *arena,
                          struct at_error *reterr)
{
    Atoll__V1__StatusRequest request = ATOLL__V1__STATUS_REQUEST__INIT;
    struct at_ask ask = {host, port, "/atoll.v1.Cluster/Status", timeout_ms};
    void *answer;

    return at_ask_unary(&ask, &request.base, &atoll__v1__cluster_status__descriptor, arena, &answer,
                        reterr);
}
