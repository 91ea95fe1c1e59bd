/* grpc_conn.c: a served connection: nghttp2's callbacks and the drain.
 *
 * Abuse is bounded by nghttp2's own limits (queued ACKs, settings, resets per second) and by
 * call_count: a stream that the client reset still counts while its handler works, so resetting
 * fast does not buy more work than AT_GRPC_STREAMS_MAX. Who goes on opening refused streams is
 * told to calm down, and cut off. Who connects and does not begin to speak HTTP/2 is cut off soon,
 * so that connections which cost their client nothing do not use up the server's.
 *
 * Drain: a first GOAWAY says "open no more" without closing anything, and a PING. When its answer
 * comes, all streams opened before are known, and the final GOAWAY names the last one. */
#include "base/alloc.h"
#include "base/assert.h"
#include "wire/grpc_request.h"
#include "wire/grpc_server_impl.h"

#define STREAM_WINDOW_BYTES ((uint32_t)1024 * 1024)
#define CONNECTION_WINDOW_BYTES (64 * 1024 * 1024)
#define HELLO_NS (5 * AT_S_NS) /* and once more, see on_no_hello */
#define REFUSED_MAX 20000      /* streams over the limit, until the connection is cut */

static const uint8_t DRAIN_PING[8] = {'a', 't', 'd', 'r', 'a', 'i', 'n', 0};

static struct at_grpc_conn *of_h2(struct at_h2_conn *h2)
{
    return (struct at_grpc_conn *)((char *)h2 - offsetof(struct at_grpc_conn, h2));
}

static void await_hello(struct at_grpc_conn *conn)
{
    at_alarms_set(&conn->home->alarms, &conn->hello, at_loop_now_ns(conn->home->loop) + HELLO_NS);
}

/* Twice: after a standstill of this process the alarm rings before what has come is read. */
static void on_no_hello(struct at_alarm *alarm)
{
    struct at_grpc_conn *conn =
        (struct at_grpc_conn *)((char *)alarm - offsetof(struct at_grpc_conn, hello));
    if (conn->hello_late) {
        at_h2_conn_fail(&conn->h2);
        return;
    }
    conn->hello_late = true;
    await_hello(conn);
}

bool at_grpc_conn_start(struct at_grpc_conn *conn)
{
    const struct at_grpc_server *server = conn->home->server;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, AT_GRPC_STREAMS_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)AT_GRPC_METADATA_BYTES_MAX},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    nghttp2_session *session;
    if (nghttp2_session_server_new3(&session, server->callbacks, conn, server->option,
                                    &conn->home->scratch.memory.mem) != 0)
        return false;
    if (nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings,
                                sizeof(settings) / sizeof(settings[0])) != 0 ||
        nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                              CONNECTION_WINDOW_BYTES) != 0) {
        nghttp2_session_del(session);
        return false;
    }
    conn->hello.ring = on_no_hello;
    await_hello(conn);
    at_h2_conn_start(&conn->h2, session);
    return true;
}

static void on_lost(struct at_h2_conn *h2)
{
    struct at_grpc_conn *conn = of_h2(h2);
    conn->current = NULL;
    at_alarms_clear(&conn->home->alarms, &conn->hello);
    while (conn->calls)
        at_grpc_call_conn_lost(conn->calls);
    conn->call_count = 0;
    *conn->prev_next = conn->next;
    if (conn->next)
        conn->next->prev_next = conn->prev_next;
    if (conn->home->draining)
        at_grpc_home_check_drained(conn->home);
}

static void on_flushed(struct at_h2_conn *h2)
{
    struct at_grpc_conn *conn = of_h2(h2);
    while (conn->writable) {
        struct at_grpc_call *call = conn->writable;
        conn->writable = call->next_writable;
        if (conn->writable)
            conn->writable->prev_next_writable = &conn->writable;
        call->next_writable = NULL;
        call->prev_next_writable = NULL;
        if (call->on_writable && !call->answered)
            call->on_writable(call, call->on_writable_ctx);
    }
}

static void on_free(struct at_h2_conn *h2)
{
    struct at_grpc_conn *conn = of_h2(h2);
    atomic_fetch_sub_explicit(&conn->home->server->conn_count, 1, memory_order_relaxed);
    at_free(conn);
}

const struct at_h2_conn_ops at_grpc_conn_ops = {
    .on_lost = on_lost, .on_flushed = on_flushed, .on_free = on_free};

void at_grpc_conn_drain(struct at_grpc_conn *conn)
{
    (void)nghttp2_submit_shutdown_notice(conn->h2.session);
    (void)nghttp2_submit_ping(conn->h2.session, NGHTTP2_FLAG_NONE, DRAIN_PING);
    at_h2_conn_wake(&conn->h2);
}

void at_grpc_conn_check_idle(struct at_grpc_conn *conn)
{
    if (conn->goaway_sent && conn->call_count == 0 && !conn->h2.lost)
        at_h2_conn_end(&conn->h2);
}

static void send_final_goaway(struct at_grpc_conn *conn)
{
    nghttp2_session *session = conn->h2.session;
    int32_t last = nghttp2_session_get_last_proc_stream_id(session);
    conn->goaway_sent = true;
    (void)nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
    at_grpc_conn_check_idle(conn);
}

/* --- nghttp2's callbacks; all run inside mem_recv or mem_send of this connection --- */

static struct at_grpc_call *call_of(struct at_grpc_conn *conn, int32_t stream_id)
{
    if (conn->current && conn->current->stream_id == stream_id)
        return conn->current;
    return nghttp2_session_get_stream_user_data(conn->h2.session, stream_id);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    struct at_grpc_conn *conn = user_data;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    if (conn->call_count >= AT_GRPC_STREAMS_MAX) {
        (void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                        NGHTTP2_REFUSED_STREAM);
        if (++conn->refused_count == REFUSED_MAX)
            (void)nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
        return 0;
    }
    struct at_grpc_call *call = at_grpc_call_new(conn, frame->hd.stream_id);
    conn->current = call;
    (void)nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
    return 0;
}

static int on_header(nghttp2_session *session,
                     const nghttp2_frame *frame,
                     nghttp2_rcbuf *name,
                     nghttp2_rcbuf *value,
                     uint8_t flags,
                     void *user_data)
{
    (void)session;
    (void)flags;
    struct at_grpc_call *call = call_of(user_data, frame->hd.stream_id);
    if (!call || call->headers_done)
        return 0; /* a refused stream, or request trailers, which mean nothing here */
    nghttp2_vec n = nghttp2_rcbuf_get_buf(name);
    nghttp2_vec v = nghttp2_rcbuf_get_buf(value);
    at_grpc_request_field(call, at_slice_make(n.base, n.len), at_slice_make(v.base, v.len));
    return 0;
}

static int on_data_chunk(nghttp2_session *session,
                         uint8_t flags,
                         int32_t stream_id,
                         const uint8_t *data,
                         size_t len,
                         void *user_data)
{
    (void)flags;
    struct at_grpc_conn *conn = user_data;
    (void)nghttp2_session_consume_connection(session, len);
    struct at_grpc_call *call = call_of(conn, stream_id);
    if (call) {
        conn->current = call;
        at_grpc_request_data(call, at_slice_make(data, len));
    }
    return 0;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    (void)session;
    struct at_grpc_conn *conn = user_data;
    if (frame->hd.type == NGHTTP2_SETTINGS)
        at_alarms_clear(&conn->home->alarms, &conn->hello);
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) &&
        memcmp(frame->ping.opaque_data, DRAIN_PING, sizeof(DRAIN_PING)) == 0 &&
        conn->home->draining && !conn->goaway_sent)
        send_final_goaway(conn);
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    struct at_grpc_call *call = call_of(conn, frame->hd.stream_id);
    if (!call)
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && !call->headers_done)
        at_grpc_request_headers_done(call);
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
        at_grpc_request_end(call);
    return 0;
}

/* An answer that came before the request's end makes the rest of the request pointless. */
static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    (void)user_data;
    if (frame->hd.type == NGHTTP2_HEADERS && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
        nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0)
        (void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                        NGHTTP2_NO_ERROR);
    return 0;
}

/* Headers that cannot be sent (too large) would leave the client waiting. */
static int on_frame_not_send(nghttp2_session *session,
                             const nghttp2_frame *frame,
                             int lib_error_code,
                             void *user_data)
{
    (void)lib_error_code;
    (void)user_data;
    if (frame->hd.type == NGHTTP2_HEADERS)
        (void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                        NGHTTP2_INTERNAL_ERROR);
    return 0;
}

static int on_send_data(nghttp2_session *session,
                        nghttp2_frame *frame,
                        const uint8_t *framehd,
                        size_t length,
                        nghttp2_data_source *source,
                        void *user_data)
{
    (void)session;
    (void)frame;
    (void)user_data;
    return at_grpc_answer_send_data(source->ptr, framehd, length);
}

static int
on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code, void *user_data)
{
    (void)session;
    (void)error_code;
    struct at_grpc_call *call = call_of(user_data, stream_id);
    if (call)
        at_grpc_call_stream_closed(call);
    return 0;
}

void at_grpc_conn_set_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_send);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, on_send_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
}
