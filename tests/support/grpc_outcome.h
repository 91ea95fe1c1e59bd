/* grpc_outcome.h: calls to the server of a grpc_fixture, and all that each of them gave. */
#ifndef ATOLL_TESTS_SUPPORT_GRPC_OUTCOME_H
#define ATOLL_TESTS_SUPPORT_GRPC_OUTCOME_H

#include "support/grpc_fixture.h"

/* What one call gave. */
struct outcome {
    struct grpc_fixture *f;
    struct at_grpc_client_call *call;
    struct at_buf body;
    uint32_t message_count;
    uint64_t byte_count;
    uint32_t header_count;
    char header_text[64];
    uint8_t header_bin[16];
    size_t header_bin_len;
    struct at_grpc_result result;
    char message[20000];
    uint8_t details[16];
    uint8_t trailer_bin[16];
    size_t trailer_bin_len;
    uint32_t done_count;
    uint32_t cancel_after; /* messages; 0: never */
    size_t framed_held;
};

static const uint8_t RAW[] = {0, 1, 2, 254, 255};

static inline void on_headers(void *ctx, const struct at_grpc_metadata *metadata, size_t count)
{
    struct outcome *o = ctx;
    o->header_count++;
    for (size_t i = 0; i < count; i++) {
        if (at_slice_eq_cstr(metadata[i].name, "x-text"))
            memcpy(o->header_text, metadata[i].value.data, metadata[i].value.len);
        if (at_slice_eq_cstr(metadata[i].name, "x-raw-bin")) {
            o->header_bin_len = metadata[i].value.len;
            memcpy(o->header_bin, metadata[i].value.data, metadata[i].value.len);
        }
    }
}

static inline void on_message(void *ctx, struct at_slice message)
{
    struct outcome *o = ctx;
    o->message_count++;
    o->byte_count += message.len;
    if (o->message_count == 1)
        assert_int_equal(at_buf_append(&o->body, message), AT_OK);
    if (o->message_count == o->cancel_after) {
        at_grpc_client_cancel(o->call);
        at_loop_stop(o->f->loop);
    }
}

static inline void on_done(void *ctx, const struct at_grpc_result *result)
{
    struct outcome *o = ctx;
    o->result = *result;
    memcpy(o->message, result->message.data ? result->message.data : RAW, result->message.len);
    if (result->details.len > 0 && result->details.len <= sizeof(o->details))
        memcpy(o->details, result->details.data, result->details.len);
    for (size_t i = 0; i < result->trailer_count; i++) {
        if (!at_slice_eq_cstr(result->trailers[i].name, "x-trail-bin"))
            continue;
        o->trailer_bin_len = result->trailers[i].value.len;
        memcpy(o->trailer_bin, result->trailers[i].value.data, o->trailer_bin_len);
    }
    o->done_count++;
    at_loop_stop(o->f->loop);
}

static const struct at_grpc_client_handler HANDLER = {
    .on_headers = on_headers, .on_message = on_message, .on_done = on_done};

#define PATIENCE_NS (60 * AT_S_NS) /* for calls that are to end by themselves */

static inline void begin(struct outcome *o, struct grpc_fixture *f)
{
    memset(o, 0, sizeof(*o));
    o->f = f;
    at_buf_init(&o->body, AT_GRPC_MESSAGE_BYTES_MAX);
}

static inline void end(struct outcome *o)
{
    at_buf_deinit(&o->body);
}

static inline void
start(struct outcome *o, const char *path, struct at_slice message, uint64_t timeout_ns)
{
    struct at_grpc_metadata metadata[] = {
        {AT_LIT("x-text"), AT_LIT("hello"), true},
        {AT_LIT("x-raw-bin"), at_slice_make(RAW, sizeof(RAW)), false},
    };
    struct at_grpc_client_request request = {
        .path = path,
        .message = message,
        .deadline_ns =
            timeout_ns ? at_clock_mono_ns(at_loop_clock(o->f->loop)) + timeout_ns : UINT64_MAX,
        .metadata = metadata,
        .metadata_count = 2,
        .handler = &HANDLER,
        .ctx = o,
    };
    o->call = at_grpc_client_start(o->f->channel, &request);
    assert_int_equal(o->done_count, 0);
}

static inline void wait_done(struct outcome *o)
{
    while (o->done_count == 0)
        at_loop_run(o->f->loop);
    assert_int_equal(o->done_count, 1);
}

static inline void
call(struct outcome *o, const char *path, struct at_slice message, uint64_t timeout_ns)
{
    start(o, path, message, timeout_ns);
    wait_done(o);
}

/* Runs the test's loop for a while. */
struct pause {
    uv_timer_t timer;
    struct at_loop *loop;
};

static inline void on_pause_over(uv_timer_t *timer)
{
    struct pause *p = timer->data;
    at_loop_stop(p->loop);
}

static inline void run_for(struct grpc_fixture *f, uint64_t ms)
{
    struct pause *p = AT_NEW(struct pause);
    p->loop = f->loop;
    assert_int_equal(uv_timer_init(at_loop_uv(f->loop), &p->timer), 0);
    p->timer.data = p;
    assert_int_equal(uv_timer_start(&p->timer, on_pause_over, ms, 0), 0);
    at_loop_run(f->loop); /* a call that is done ends it early */
    uv_close((uv_handle_t *)&p->timer, NULL);
    at_loop_settle(f->loop);
    at_free(p);
}

static inline void wait_count(struct grpc_fixture *f, atomic_uint *count, uint32_t wanted)
{
    for (int i = 0; i < 6000 && atomic_load(count) < wanted; i++)
        run_for(f, 10);
    assert_int_equal(atomic_load(count), wanted);
}

/* A fixture with one call under way that the server does not answer. */
static inline void begin_hanging(struct outcome *o, struct grpc_fixture *f)
{
    fixture_up(f, 1);
    begin(o, f);
    start(o, "/t.T/Hang", AT_LIT("x"), 0);
    wait_count(f, &f->hanging_count, 1);
}

#endif
