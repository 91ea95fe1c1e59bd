/* inquiry.c: packing, sending, keeping the answer. */
#include "routing/proxy/inquiry.h"

#define BYTES_MAX (64 * AT_MIB)

static void on_message(void *ctx, struct at_slice message)
{
    struct at_inquiry *q = ctx;
    at_buf_clear(&q->answer);
    if (at_buf_append(&q->answer, message) != AT_OK)
        at_buf_clear(&q->answer);
}

static void on_done(void *ctx, const struct at_grpc_result *result)
{
    struct at_inquiry *q = ctx;
    at_front_outcome(q->front, q->target, result);
    at_front_unuse(q->front, q->target);
    q->done(q, result);
}

static const struct at_grpc_client_handler HANDLER = {.on_message = on_message, .on_done = on_done};

void at_inquiry_init(struct at_inquiry *inquiry)
{
    at_buf_init(&inquiry->message, BYTES_MAX);
    at_buf_init(&inquiry->answer, BYTES_MAX);
}

void at_inquiry_deinit(struct at_inquiry *inquiry)
{
    at_buf_deinit(&inquiry->message);
    at_buf_deinit(&inquiry->answer);
}

void at_inquire(struct at_inquiry *inquiry,
                struct at_front_pick pick,
                const struct at_inquiry_question *question)
{
    struct at_front *front = inquiry->front;
    at_buf_clear(&inquiry->message);
    at_buf_clear(&inquiry->answer);
    enum at_code code = at_proto_pack(&inquiry->message, question->request);
    struct at_grpc_channel *channel = code == AT_OK ? at_front_use(front, pick) : NULL;
    if (!channel) {
        const struct at_grpc_result gone = {.code = code == AT_OK ? AT_UNAVAILABLE : code,
                                            .message = AT_LIT("The cluster has just left")};
        inquiry->done(inquiry, &gone);
        return;
    }
    inquiry->target = pick.index;
    struct at_grpc_client_request request = {
        .path = question->path,
        .message = at_buf_slice(&inquiry->message),
        .deadline_ns = at_loop_now_ns(front->loop) + question->timeout_ns,
        .handler = &HANDLER,
        .ctx = inquiry,
    };
    (void)at_grpc_client_start(channel, &request);
}
