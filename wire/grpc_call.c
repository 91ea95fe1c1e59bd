/* grpc_call.c: the life of a served call.
 *
 * Calls are pooled per loop with their arena and buffers, so that in steady state a call allocates
 * nothing here. Everything that ends a call goes through at_grpc_call_settle. */
#include "base/alloc.h"
#include "base/assert.h"
#include "wire/grpc_request.h"
#include "wire/grpc_server_impl.h"
#include "wire/grpc_status.h"

#define ARENA_BYTES ((size_t)4096) /* a MutateRow with its headers and answer fits */
#define POOL_COUNT_MAX 4096
#define POOL_KEEP_BYTES ((size_t)32 * 1024) /* buffers beyond this are not pooled */
/* Room for the bytes that wait and for what was sent and not yet cut off. */
#define OUT_BYTES_MAX (2 * (AT_GRPC_MESSAGE_BYTES_MAX + AT_MIB))

static void link_call(struct at_grpc_call **head, struct at_grpc_call *call)
{
    call->next = *head;
    call->prev_next = head;
    if (*head)
        (*head)->prev_next = &call->next;
    *head = call;
}

static void unlink_call(struct at_grpc_call *call)
{
    *call->prev_next = call->next;
    if (call->next)
        call->next->prev_next = call->prev_next;
    call->next = NULL;
    call->prev_next = NULL;
}

static void on_expiry(struct at_alarm *alarm);

static void unlink_writable(struct at_grpc_call *call)
{
    if (!call->prev_next_writable)
        return;
    *call->prev_next_writable = call->next_writable;
    if (call->next_writable)
        call->next_writable->prev_next_writable = call->prev_next_writable;
    call->next_writable = NULL;
    call->prev_next_writable = NULL;
}

struct at_grpc_call *at_grpc_call_new(struct at_grpc_conn *conn, int32_t stream_id)
{
    struct at_grpc_home *home = conn->home;
    struct at_grpc_call *call = home->pool;
    if (call) {
        home->pool = call->next;
        home->pool_count--;
    } else {
        call = AT_NEW(struct at_grpc_call);
        at_arena_init(&call->arena, ARENA_BYTES);
        at_grpc_frame_init(&call->frame, AT_GRPC_MESSAGE_BYTES_MAX, true);
        at_buf_init(&call->out.buf, OUT_BYTES_MAX);
    }
    call->home = home;
    call->conn = conn;
    call->stream_id = stream_id;
    call->stream_open = true;
    call->deadline_ns = UINT64_MAX;
    call->expiry.ring = on_expiry;
    link_call(&conn->calls, call);
    conn->call_count++;
    home->call_count++;
    return call;
}

void at_grpc_call_free(struct at_grpc_call *call)
{
    at_arena_deinit(&call->arena);
    at_grpc_frame_deinit(&call->frame);
    at_buf_deinit(&call->out.buf);
    at_free(call);
}

/* Wipes all but the reusable memory. */
static void recycle(struct at_grpc_call *call)
{
    at_arena_reset(&call->arena);
    at_grpc_frame_reset(&call->frame, POOL_KEEP_BYTES);
    if (call->out.buf.cap > POOL_KEEP_BYTES) {
        at_buf_deinit(&call->out.buf);
        at_buf_init(&call->out.buf, OUT_BYTES_MAX);
    }
    at_buf_clear(&call->out.buf);
    struct at_arena arena = call->arena;
    struct at_grpc_frame frame = call->frame;
    struct at_buf out = call->out.buf;
    memset(call, 0, sizeof(*call));
    call->arena = arena;
    call->frame = frame;
    call->out.buf = out;
}

void at_grpc_call_settle(struct at_grpc_call *call)
{
    if (call->stream_open || (call->dispatched && !call->finished))
        return;
    struct at_grpc_home *home = call->home;
    struct at_grpc_conn *conn = call->conn;
    at_alarms_clear(&home->alarms, &call->expiry);
    at_grpc_call_release_request(call);
    unlink_writable(call);
    unlink_call(call);
    home->call_count--;
    if (conn) {
        conn->call_count--;
        if (conn->current == call)
            conn->current = NULL;
        if (home->draining)
            at_grpc_conn_check_idle(conn);
    }
    if (home->pool_count < POOL_COUNT_MAX) {
        recycle(call);
        call->next = home->pool;
        home->pool = call;
        home->pool_count++;
    } else {
        at_grpc_call_free(call);
    }
    if (home->draining)
        at_grpc_home_check_drained(home);
}

void at_grpc_call_release_request(struct at_grpc_call *call)
{
    size_t bytes = call->held_bytes;
    call->held_bytes = 0;
    if (bytes == 0)
        return;
    atomic_fetch_sub_explicit(&call->home->server->request_bytes, bytes, memory_order_relaxed);
    if (!call->conn)
        return;
    AT_ASSERT(call->conn->held_bytes >= bytes);
    bool was_tight = call->conn->held_bytes >= AT_GRPC_BUFFERED_BYTES_MAX / 2;
    call->conn->held_bytes -= bytes;
    if (was_tight)
        at_grpc_request_credit(call->conn);
}

void at_grpc_call_cancel(struct at_grpc_call *call)
{
    if (call->cancelled || call->finished)
        return;
    call->cancelled = true;
    call->answered = true;
    at_alarms_clear(&call->home->alarms, &call->expiry);
    unlink_writable(call);
    at_grpc_answer_drop_output(call);
    if (call->dispatched && call->on_cancel)
        call->on_cancel(call, call->on_cancel_ctx); /* may finish: `call` may be gone now */
}

static void on_expiry(struct at_alarm *alarm)
{
    struct at_grpc_call *call =
        (struct at_grpc_call *)((char *)alarm - offsetof(struct at_grpc_call, expiry));
    if (call->answered)
        return;
    /* Behind bytes that wait for the client's window a status would wait, too. */
    bool stuck = call->stream_open && at_grpc_call_pending_bytes(call) > 0;
    at_grpc_answer_drop_output(call);
    if (stuck)
        at_grpc_answer_reset(call, NGHTTP2_CANCEL);
    else
        at_grpc_answer(call, AT_DEADLINE_EXCEEDED, AT_LIT("the call's deadline has passed"),
                       (struct at_slice){0});
    at_grpc_call_cancel(call);
}

void at_grpc_call_stream_closed(struct at_grpc_call *call)
{
    call->stream_open = false;
    if (call->dispatched && !call->finished)
        at_grpc_call_cancel(call);
    else
        at_grpc_call_settle(call);
}

void at_grpc_call_conn_lost(struct at_grpc_call *call)
{
    unlink_call(call);
    link_call(&call->home->orphans, call);
    unlink_writable(call);
    call->conn = NULL; /* held_bytes still count for the server */
    at_grpc_call_stream_closed(call);
}

/* --- what handlers ask --- */

size_t at_grpc_call_share_bytes(const struct at_grpc_call *call, size_t bytes_max)
{
    AT_ASSERT(call->home->call_count > 0 && bytes_max >= AT_GRPC_WAITING_BYTES_MIN);
    size_t share = AT_GRPC_WAITING_BYTES_MAX / call->home->call_count;

    share = share > AT_GRPC_WAITING_BYTES_MIN ? share : AT_GRPC_WAITING_BYTES_MIN;
    return share < bytes_max ? share : bytes_max;
}

struct at_slice at_grpc_call_request(const struct at_grpc_call *call)
{
    return call->request;
}

const char *at_grpc_call_path(const struct at_grpc_call *call)
{
    return (const char *)call->path.data;
}

struct at_slice at_grpc_call_metadata(const struct at_grpc_call *call, const char *name)
{
    struct at_slice wanted = at_slice_cstr(name);
    for (const struct at_grpc_field *f = call->metadata; f; f = f->next)
        if (at_slice_eq(f->name, wanted))
            return f->value;
    return at_slice_make(NULL, 0);
}

uint64_t at_grpc_call_deadline_ns(const struct at_grpc_call *call)
{
    return call->deadline_ns;
}

uint64_t at_grpc_call_start_ns(const struct at_grpc_call *call)
{
    return call->start_ns;
}

struct at_loop *at_grpc_call_loop(const struct at_grpc_call *call)
{
    return call->home->loop;
}

struct at_arena *at_grpc_call_arena(struct at_grpc_call *call)
{
    return &call->arena;
}

void at_grpc_call_on_cancel(struct at_grpc_call *call,
                            void (*on_cancel)(struct at_grpc_call *call, void *ctx),
                            void *ctx)
{
    call->on_cancel = on_cancel;
    call->on_cancel_ctx = ctx;
}

bool at_grpc_call_cancelled(const struct at_grpc_call *call)
{
    return call->cancelled;
}

void at_grpc_call_finish(struct at_grpc_call *call,
                         enum at_code code,
                         struct at_slice message,
                         struct at_slice details)
{
    AT_ASSERT(call->dispatched && !call->finished);
    call->finished = true;
    at_alarms_clear(&call->home->alarms, &call->expiry);
    unlink_writable(call);
    call->on_writable = NULL;
    at_grpc_call_release_request(call);
    if (!call->answered)
        at_grpc_answer(call, code, message, details);
    at_grpc_call_settle(call);
}

void at_grpc_call_fail(struct at_grpc_call *call, const struct at_error *error)
{
    size_t len = strnlen(error->msg, sizeof(error->msg));
    at_grpc_call_finish(call, error->code, at_slice_make(error->msg, len), (struct at_slice){0});
}
