/* grpc_client_conn.c: a connection of the calling side: nghttp2's callbacks and keepalive.
 *
 * It counts as established when the peer's SETTINGS have come, not when TCP says so: a process
 * that hangs still has the kernel accept for it. After GOAWAY it leaves its slot, finishes its
 * calls and closes.
 *
 * Keepalive: while calls are open and nothing was heard for keepalive_ms, a PING is sent; anything
 * heard is an answer; silence for as long again ends the connection. */
#include "base/alloc.h"
#include "base/assert.h"
#include "wire/grpc_client_impl.h"

#define STREAM_WINDOW_BYTES ((uint32_t)1024 * 1024)
#define CONNECTION_WINDOW_BYTES (64 * 1024 * 1024)

static const uint8_t KEEPALIVE_PING[8] = {'a', 't', 'a', 'l', 'i', 'v', 'e', 0};

static void on_lost(struct at_h2_conn *h2);
static void on_flushed(struct at_h2_conn *h2);
static void on_free(struct at_h2_conn *h2);
static void on_connected(uv_connect_t *req, int status);
static void on_keepalive(struct at_alarm *alarm);

static const struct at_h2_conn_ops OPS = {
    .on_lost = on_lost, .on_flushed = on_flushed, .on_free = on_free};

static struct at_grpc_client_conn *of_h2(struct at_h2_conn *h2)
{
    return AT_LINK_OF(h2, struct at_grpc_client_conn, h2);
}

struct at_grpc_client_conn *at_grpc_client_conn_open(struct at_grpc_slot *slot,
                                                     const struct sockaddr *address)
{
    struct at_grpc_channel *channel = slot->channel;
    struct at_grpc_client_conn *conn = AT_NEW(struct at_grpc_client_conn);
    conn->channel = channel;
    conn->keepalive.ring = on_keepalive;
    at_link_init(&conn->calls);
    at_link_init(&conn->ended);
    at_link_init(&conn->link);
    at_link_append(&channel->conns, &conn->link);
    at_grpc_channel_ref(channel);
    at_h2_conn_init(&conn->h2, channel->loop, &channel->scratch, &OPS);
    if (uv_tcp_connect(&conn->connect, &conn->h2.tcp, address, on_connected) != 0) {
        at_h2_conn_close(&conn->h2);
        return NULL;
    }
    conn->slot = slot;
    return conn;
}

static bool start_session(struct at_grpc_client_conn *conn)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)AT_GRPC_METADATA_BYTES_MAX},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    struct at_grpc_channel *channel = conn->channel;
    nghttp2_session *session;
    if (nghttp2_session_client_new3(&session, channel->callbacks, conn, channel->option,
                                    &channel->scratch.memory.mem) != 0)
        return false;
    if (nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings,
                                sizeof(settings) / sizeof(settings[0])) != 0 ||
        nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                              CONNECTION_WINDOW_BYTES) != 0) {
        nghttp2_session_del(session);
        return false;
    }
    at_h2_conn_start(&conn->h2, session);
    return true;
}

static void on_connected(uv_connect_t *req, int status)
{
    struct at_grpc_client_conn *conn = AT_LINK_OF(req, struct at_grpc_client_conn, connect);
    if (conn->h2.lost)
        return;
    if (status != 0 || !start_session(conn))
        at_h2_conn_close(&conn->h2);
}

static void on_lost(struct at_h2_conn *h2)
{
    struct at_grpc_client_conn *conn = of_h2(h2);
    struct at_grpc_channel *channel = conn->channel;
    at_link_remove(&conn->link);
    at_alarms_clear(&channel->alarms, &conn->keepalive);
    at_grpc_channel_conn_leaves(conn, h2->session ? "connection lost" : "connection refused");
    while (!at_link_empty(&conn->ended))
        at_grpc_client_call_conn_lost(
            AT_LINK_OF(conn->ended.next, struct at_grpc_client_call, link));
    while (!at_link_empty(&conn->calls))
        at_grpc_client_call_conn_lost(
            AT_LINK_OF(conn->calls.next, struct at_grpc_client_call, link));
}

static void on_flushed(struct at_h2_conn *h2)
{
    (void)h2;
}

static void on_free(struct at_h2_conn *h2)
{
    struct at_grpc_client_conn *conn = of_h2(h2);
    struct at_grpc_channel *channel = conn->channel;
    at_free(conn);
    at_grpc_channel_unref(channel);
}

bool at_grpc_client_conn_has_room(const struct at_grpc_client_conn *conn)
{
    uint32_t max = nghttp2_session_get_remote_settings(conn->h2.session,
                                                       NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    return !conn->h2.failed && conn->call_count < max;
}

void at_grpc_client_conn_calls_changed(struct at_grpc_client_conn *conn)
{
    struct at_grpc_channel *channel = conn->channel;
    if (conn->h2.lost)
        return;
    if (!conn->slot && conn->call_count == 0) {
        at_h2_conn_end(&conn->h2);
    } else if (conn->call_count == 0) {
        at_alarms_clear(&channel->alarms, &conn->keepalive);
    } else if (channel->keepalive_ms > 0 && conn->keepalive.deadline.place == 0) {
        conn->quiet_ns = at_loop_now_ns(channel->loop);
        conn->ping_ns = 0;
        at_alarms_set(&channel->alarms, &conn->keepalive,
                      conn->quiet_ns + channel->keepalive_ms * AT_MS_NS);
    }
}

static void on_keepalive(struct at_alarm *alarm)
{
    struct at_grpc_client_conn *conn = AT_LINK_OF(alarm, struct at_grpc_client_conn, keepalive);
    struct at_grpc_channel *channel = conn->channel;
    uint64_t now_ns = at_loop_now_ns(channel->loop);
    uint64_t wait_ns = channel->keepalive_ms * AT_MS_NS;
    if (conn->h2.heard_ns > conn->quiet_ns) {
        conn->quiet_ns = conn->h2.heard_ns;
        conn->ping_ns = 0;
    }
    if (conn->ping_ns != 0 && now_ns - conn->ping_ns >= wait_ns) {
        at_h2_conn_close(&conn->h2);
        return;
    }
    if (conn->ping_ns == 0 && now_ns - conn->quiet_ns >= wait_ns) {
        (void)nghttp2_submit_ping(conn->h2.session, NGHTTP2_FLAG_NONE, KEEPALIVE_PING);
        at_h2_conn_wake(&conn->h2);
        conn->ping_ns = now_ns;
    }
    uint64_t from_ns = conn->ping_ns ? conn->ping_ns : conn->quiet_ns;
    at_alarms_set(&channel->alarms, &conn->keepalive, from_ns + wait_ns);
}

/* --- nghttp2's callbacks --- */

static struct at_grpc_client_call *call_of(nghttp2_session *session, int32_t stream_id)
{
    return nghttp2_session_get_stream_user_data(session, stream_id);
}

static int on_header(nghttp2_session *session,
                     const nghttp2_frame *frame,
                     nghttp2_rcbuf *name,
                     nghttp2_rcbuf *value,
                     uint8_t flags,
                     void *user_data)
{
    (void)flags;
    (void)user_data;
    struct at_grpc_client_call *call = call_of(session, frame->hd.stream_id);
    if (!call || call->ended)
        return 0;
    nghttp2_vec n = nghttp2_rcbuf_get_buf(name);
    nghttp2_vec v = nghttp2_rcbuf_get_buf(value);
    at_grpc_response_field(call, at_slice_make(n.base, n.len), at_slice_make(v.base, v.len));
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
    (void)user_data;
    (void)nghttp2_session_consume_connection(session, len);
    struct at_grpc_client_call *call = call_of(session, stream_id);
    if (call && !call->ended)
        at_grpc_response_data(call, at_slice_make(data, len));
    return 0;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    struct at_grpc_client_conn *conn = user_data;
    if (frame->hd.type == NGHTTP2_SETTINGS && !(frame->hd.flags & NGHTTP2_FLAG_ACK)) {
        at_grpc_channel_conn_ready(conn);
        if (conn->slot)
            at_grpc_channel_pump(conn->channel); /* there may be more room now */
        return 0;
    }
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        at_grpc_channel_conn_leaves(conn, "the peer goes away");
        at_grpc_client_conn_calls_changed(conn);
        return 0;
    }
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    struct at_grpc_client_call *call = call_of(session, frame->hd.stream_id);
    if (!call || call->ended)
        return 0;
    bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (frame->hd.type == NGHTTP2_HEADERS)
        at_grpc_response_headers_done(call, end);
    else if (end)
        at_grpc_response_end(call);
    return 0;
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    (void)user_data;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    struct at_grpc_client_call *call = call_of(session, frame->hd.stream_id);
    if (call)
        call->sent = true;
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
    return at_grpc_client_call_send_data(source->ptr, user_data, framehd, length);
}

static int
on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code, void *user_data)
{
    struct at_grpc_client_conn *conn = user_data;
    struct at_grpc_client_call *call = call_of(session, stream_id);
    if (!call)
        return 0;
    at_grpc_client_call_stream_closed(call, error_code);
    at_grpc_client_conn_calls_changed(conn);
    at_grpc_channel_pump(conn->channel);
    return 0;
}

void at_grpc_client_conn_set_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_on_header_callback2(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, on_send_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
}
