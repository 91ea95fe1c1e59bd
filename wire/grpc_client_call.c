/* grpc_client_call.c: one call of the calling side, from start to its one on_done.
 *
 * The request's bytes are borrowed until on_done. A DATA frame that nghttp2 had begun when the call
 * ended early is filled with zeros: the stream is being reset, nobody reads them. */
#include "base/alloc.h"
#include "base/assert.h"
#include "wire/grpc_client_impl.h"
#include "wire/grpc_status.h"

#define ARENA_BYTES ((size_t)2048)
#define POOL_COUNT_MAX 1024
#define POOL_KEEP_BYTES ((size_t)32 * 1024)
#define FIXED_FIELDS 8
#define NV_STATIC (NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE)
#define FRAME_BYTES_MAX 16384

static void set_fields(struct at_grpc_client_call *call,
                       const struct at_grpc_client_request *request);
static void on_expiry(struct at_alarm *alarm);
static ssize_t on_read_request(nghttp2_session *session,
                               int32_t stream_id,
                               uint8_t *buf,
                               size_t length,
                               uint32_t *data_flags,
                               nghttp2_data_source *source,
                               void *user_data);

static struct at_grpc_client_call *take_call(struct at_grpc_channel *channel)
{
    struct at_grpc_client_call *call;
    if (!at_link_empty(&channel->pool)) {
        call = AT_LINK_OF(channel->pool.next, struct at_grpc_client_call, link);
        at_link_remove(&call->link);
        channel->pool_count--;
    } else {
        call = AT_NEW(struct at_grpc_client_call);
        at_link_init(&call->link);
        at_arena_init(&call->arena, ARENA_BYTES);
        at_grpc_frame_init(&call->frame, AT_GRPC_MESSAGE_BYTES_MAX, false);
    }
    call->channel = channel;
    call->expiry.ring = on_expiry;
    at_grpc_channel_ref(channel);
    return call;
}

void at_grpc_client_call_free(struct at_grpc_client_call *call)
{
    at_arena_deinit(&call->arena);
    at_grpc_frame_deinit(&call->frame);
    at_free(call);
}

void at_grpc_client_call_settle(struct at_grpc_client_call *call)
{
    if (!call->ended || call->stream_open || call->busy_count > 0)
        return;
    struct at_grpc_channel *channel = call->channel;
    at_link_remove(&call->link);
    if (channel->pool_count >= POOL_COUNT_MAX) {
        at_grpc_client_call_free(call);
    } else {
        at_arena_reset(&call->arena);
        at_grpc_frame_reset(&call->frame, POOL_KEEP_BYTES);
        struct at_arena arena = call->arena;
        struct at_grpc_frame frame = call->frame;
        memset(call, 0, sizeof(*call));
        call->arena = arena;
        call->frame = frame;
        at_link_init(&call->link);
        at_link_append(&channel->pool, &call->link);
        channel->pool_count++;
    }
    at_grpc_channel_unref(channel);
}

struct at_grpc_client_call *at_grpc_client_start(struct at_grpc_channel *channel,
                                                 const struct at_grpc_client_request *request)
{
    AT_ASSERT(!request->handler->on_message != !request->handler->on_framed);
    struct at_grpc_client_call *call = take_call(channel);
    call->handler = request->handler;
    call->ctx = request->ctx;
    call->request = request->message;
    call->deadline_ns = request->deadline_ns;
    set_fields(call, request);
    if (request->message.len > AT_GRPC_MESSAGE_BYTES_MAX) {
        at_grpc_client_call_doom(call, AT_RESOURCE_EXHAUSTED, "the request is too large");
        return call;
    }
    at_alarms_set(&channel->alarms, &call->expiry, call->deadline_ns);
    for (;;) {
        struct at_grpc_client_conn *conn = at_grpc_channel_pick(channel);
        if (!conn) {
            at_grpc_channel_enqueue(channel, call);
            return call;
        }
        if (at_grpc_client_call_submit(call, conn))
            return call;
    }
}

static nghttp2_nv nv_of(struct at_slice name, struct at_slice value)
{
    union {
        const uint8_t *in;
        uint8_t *out;
    } n = {.in = name.data}, v = {.in = value.len ? value.data : (const uint8_t *)""};
    return (nghttp2_nv){.name = n.out,
                        .namelen = name.len,
                        .value = v.out,
                        .valuelen = value.len,
                        .flags = NV_STATIC};
}

/* A value that every call has another of would fill the connection's header table with entries that
 * are never used and yet compared with for each call. */
static nghttp2_nv nv_varying(struct at_slice name, struct at_slice value)
{
    nghttp2_nv nv = nv_of(name, value);
    nv.flags |= NGHTTP2_NV_FLAG_NO_INDEX;
    return nv;
}

/* What HTTP/2 and gRPC say themselves is not the caller's to say. */
static bool is_reserved(struct at_slice name)
{
    return name.len == 0 || name.data[0] == ':' || at_slice_eq_cstr(name, "te") ||
           at_slice_eq_cstr(name, "content-type") || at_slice_eq_cstr(name, "grpc-timeout") ||
           at_slice_eq_cstr(name, "grpc-encoding") ||
           at_slice_eq_cstr(name, "grpc-accept-encoding") || at_slice_eq_cstr(name, "connection") ||
           at_slice_eq_cstr(name, "host");
}

static void set_fields(struct at_grpc_client_call *call,
                       const struct at_grpc_client_request *request)
{
    struct at_arena *arena = &call->arena;
    size_t n = 0;
    bool has_agent = false;
    call->fields = AT_ARENA_ARRAY(arena, nghttp2_nv, request->metadata_count + FIXED_FIELDS);
    struct at_slice path = at_arena_copy(arena, at_slice_cstr(request->path));
    call->fields[n++] = nv_of(AT_LIT(":method"), AT_LIT("POST"));
    call->fields[n++] = nv_of(AT_LIT(":scheme"), AT_LIT("http"));
    call->fields[n++] = nv_of(AT_LIT(":path"), path);
    call->fields[n++] = nv_of(AT_LIT(":authority"), at_slice_cstr(call->channel->authority));
    call->fields[n++] = nv_of(AT_LIT("te"), AT_LIT("trailers"));
    call->fields[n++] = nv_of(AT_LIT("content-type"), AT_LIT("application/grpc"));
    for (size_t i = 0; i < request->metadata_count; i++) {
        const struct at_grpc_metadata *m = &request->metadata[i];
        if (is_reserved(m->name))
            continue;
        has_agent = has_agent || at_slice_eq_cstr(m->name, "user-agent");
        struct at_slice name = at_arena_copy(arena, m->name);
        struct at_slice value = at_grpc_is_bin(m->name) ? at_grpc_bin_encode(arena, m->value)
                                                        : at_arena_copy(arena, m->value);
        call->fields[n++] = m->varies ? nv_varying(name, value) : nv_of(name, value);
    }
    if (!has_agent)
        call->fields[n++] = nv_of(AT_LIT("user-agent"), AT_LIT("atoll"));
    call->field_count = n;
}

/* The remaining time is known only now, so this field comes last. */
static void add_timeout(struct at_grpc_client_call *call)
{
    if (call->deadline_ns == UINT64_MAX)
        return;
    uint64_t now_ns = at_loop_now_ns(call->channel->loop);
    uint64_t left_ns = call->deadline_ns > now_ns ? call->deadline_ns - now_ns : 1;
    char *text = at_arena_alloc(&call->arena, AT_GRPC_TIMEOUT_TEXT_BYTES);
    size_t len = at_grpc_timeout_format(left_ns, text);
    call->fields[call->field_count++] =
        nv_varying(AT_LIT("grpc-timeout"), at_slice_make(text, len));
}

static void leave_waiting(struct at_grpc_client_call *call)
{
    at_link_remove(&call->link);
    if (call->waiting)
        call->channel->waiting_count--;
    call->waiting = false;
}

bool at_grpc_client_call_submit(struct at_grpc_client_call *call, struct at_grpc_client_conn *conn)
{
    size_t field_count = call->field_count;
    nghttp2_data_provider provider = {.source.ptr = call, .read_callback = on_read_request};
    add_timeout(call);
    int32_t id = nghttp2_submit_request(conn->h2.session, NULL, call->fields, call->field_count,
                                        &provider, call);
    if (id < 0) { /* out of stream ids, most likely */
        call->field_count = field_count;
        at_grpc_channel_conn_leaves(conn, "the connection is used up");
        at_grpc_client_conn_calls_changed(conn);
        return false;
    }
    leave_waiting(call);
    call->conn = conn;
    call->stream_id = id;
    call->stream_open = true;
    at_link_append(&conn->calls, &call->link);
    conn->call_count++;
    at_grpc_client_conn_calls_changed(conn);
    at_h2_conn_wake(&conn->h2);
    return true;
}

/* NOLINTBEGIN(readability-function-size,readability-non-const-parameter): nghttp2's signature */
static ssize_t on_read_request(nghttp2_session *session,
                               int32_t stream_id,
                               uint8_t *buf,
                               size_t length,
                               uint32_t *data_flags,
                               nghttp2_data_source *source,
                               void *user_data)
{
    (void)session;
    (void)stream_id;
    (void)buf;
    (void)user_data;
    const struct at_grpc_client_call *call = source->ptr;
    if (call->ended)
        return NGHTTP2_ERR_DEFERRED; /* the reset is queued */
    size_t left = AT_GRPC_PREFIX_BYTES + call->request.len - call->request_off;
    size_t n = left < length ? left : length;
    if (n > FRAME_BYTES_MAX)
        n = FRAME_BYTES_MAX;
    *data_flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (n == left)
        *data_flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}
/* NOLINTEND(readability-function-size,readability-non-const-parameter) */

int at_grpc_client_call_send_data(struct at_grpc_client_call *call,
                                  struct at_grpc_client_conn *conn,
                                  const uint8_t *head,
                                  size_t length)
{
    static const uint8_t ZEROS[FRAME_BYTES_MAX];
    AT_ASSERT(length <= FRAME_BYTES_MAX);
    struct at_slice none = at_slice_make(NULL, 0);
    if (call->ended)
        return at_h2_conn_put_data(&conn->h2, head, at_slice_make(ZEROS, length), none);
    uint8_t prefix[AT_GRPC_PREFIX_BYTES];
    at_grpc_frame_prefix(prefix, call->request.len);
    struct at_slice first = none;
    size_t off = call->request_off;
    if (off < sizeof(prefix)) {
        size_t n = sizeof(prefix) - off;
        first = at_slice_make(prefix + off, n < length ? n : length);
    }
    struct at_slice second = none;
    if (first.len < length)
        second = at_slice_make(call->request.data + (off + first.len - sizeof(prefix)),
                               length - first.len);
    int rc = at_h2_conn_put_data(&conn->h2, head, first, second);
    if (rc == 0)
        call->request_off += length;
    return rc;
}

/* --- how a call ends --- */

static void detach(struct at_grpc_client_call *call)
{
    call->ended = true;
    at_alarms_clear(&call->channel->alarms, &call->expiry);
    leave_waiting(call);
    if (call->stream_open)
        at_link_append(&call->conn->ended, &call->link);
}

static void reset_stream(struct at_grpc_client_call *call)
{
    if (!call->stream_open)
        return;
    nghttp2_session *session = call->conn->h2.session;
    if (call->peer_ended && nghttp2_session_get_stream_local_close(session, call->stream_id) == 1)
        return; /* nghttp2 is about to close it */
    (void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream_id, NGHTTP2_CANCEL);
    at_h2_conn_wake(&call->conn->h2);
}

void at_grpc_client_call_deliver(struct at_grpc_client_call *call,
                                 const struct at_grpc_result *result)
{
    AT_ASSERT(!call->ended);
    detach(call);
    reset_stream(call);
    call->busy_count++;
    call->handler->on_done(call->ctx, result);
    call->busy_count--;
    at_grpc_client_call_settle(call);
}

void at_grpc_client_call_end(struct at_grpc_client_call *call,
                             enum at_code code,
                             const char *message,
                             bool unprocessed)
{
    struct at_grpc_result result = {
        .code = code,
        .message = at_slice_cstr(message),
        .unprocessed = unprocessed || !call->sent,
        .got_data = call->got_data,
    };
    at_grpc_client_call_deliver(call, &result);
}

void at_grpc_client_call_doom(struct at_grpc_client_call *call,
                              enum at_code code,
                              const char *message)
{
    call->doom_code = code;
    call->doom_message = message;
    at_link_append(&call->channel->doomed, &call->link);
    at_grpc_channel_doom_soon(call->channel);
}

static void on_expiry(struct at_alarm *alarm)
{
    struct at_grpc_client_call *call = AT_LINK_OF(alarm, struct at_grpc_client_call, expiry);
    at_grpc_client_call_end(call, AT_DEADLINE_EXCEEDED,
                            "the deadline passed before the answer came", false);
}

void at_grpc_client_call_stream_closed(struct at_grpc_client_call *call, uint32_t h2_error)
{
    call->stream_open = false;
    call->conn->call_count--;
    call->conn = NULL;
    if (call->ended) {
        at_grpc_client_call_settle(call);
        return;
    }
    if (!call->sent)
        at_grpc_client_call_end(call, AT_UNAVAILABLE, "the connection takes no more calls", true);
    else if (h2_error == NGHTTP2_REFUSED_STREAM)
        at_grpc_client_call_end(call, AT_UNAVAILABLE, "the peer refused the stream", true);
    else if (h2_error == NGHTTP2_NO_ERROR)
        at_grpc_client_call_end(call, AT_INTERNAL, "the stream ended without a status", false);
    else
        at_grpc_client_call_end(call, at_grpc_status_from_reset(h2_error),
                                "the peer reset the stream", false);
}

void at_grpc_client_call_conn_lost(struct at_grpc_client_call *call)
{
    at_link_remove(&call->link);
    call->stream_open = false;
    call->conn->call_count--;
    call->conn = NULL;
    if (call->ended)
        at_grpc_client_call_settle(call);
    else
        at_grpc_client_call_end(call, AT_UNAVAILABLE, "the connection was lost", false);
}

void at_grpc_client_cancel(struct at_grpc_client_call *call)
{
    AT_ASSERT(!call->ended);
    detach(call);
    reset_stream(call);
    at_grpc_client_call_settle(call);
}

void at_grpc_client_consume(struct at_grpc_client_call *call, size_t bytes)
{
    if (!call->stream_open || call->ended)
        return;
    (void)nghttp2_session_consume_stream(call->conn->h2.session, call->stream_id, bytes);
    at_h2_conn_wake(&call->conn->h2);
}
