/* h2_conn.c: one write per connection and turn.
 *
 * Output is gathered in a buffer that all connections of the loop share. What the socket does not
 * take moves to the connection's own `held` buffer, and the session is not asked for more until
 * that has gone: so a connection holds at most one gathering, and idle ones hold nothing. */
#include "wire/h2_conn.h"

#include "base/alloc.h"
#include "base/assert.h"

#define OUT_BYTES_MAX (AT_H2_GATHER_BYTES + (size_t)256 * 1024)
#define H2_HEAD_BYTES 9
#define TCP_KEEPALIVE_S 60

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf);
static void on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf);
static void on_flush(struct at_deferred *deferred);
static void on_written(uv_write_t *req, int status);
static void on_closed(uv_handle_t *handle);

void at_h2_scratch_init(struct at_h2_scratch *s)
{
    s->read = at_realloc(NULL, AT_H2_READ_BYTES);
    at_buf_init(&s->out, OUT_BYTES_MAX);
    at_h2_memory_init(&s->memory);
}

void at_h2_scratch_deinit(struct at_h2_scratch *s)
{
    at_free(AT_TAKE(s->read));
    at_buf_deinit(&s->out);
    at_h2_memory_deinit(&s->memory);
}

static struct at_h2_conn *of_flush(struct at_deferred *deferred)
{
    return (struct at_h2_conn *)((char *)deferred - offsetof(struct at_h2_conn, flush));
}

void at_h2_conn_init(struct at_h2_conn *conn,
                     struct at_loop *loop,
                     struct at_h2_scratch *scratch,
                     const struct at_h2_conn_ops *ops)
{
    conn->loop = loop;
    conn->scratch = scratch;
    conn->ops = ops;
    conn->flush.run = on_flush;
    at_buf_init(&conn->held, OUT_BYTES_MAX);
    int rc = uv_tcp_init(at_loop_uv(loop), &conn->tcp);
    AT_ASSERT(rc == 0);
    conn->tcp.data = conn;
    conn->heard_ns = at_loop_now_ns(loop);
}

void at_h2_conn_start(struct at_h2_conn *conn, nghttp2_session *session)
{
    AT_ASSERT(!conn->session && !conn->lost);
    conn->session = session;
    conn->heard_ns = at_loop_now_ns(conn->loop);
    (void)uv_tcp_nodelay(&conn->tcp, 1);
    (void)uv_tcp_keepalive(&conn->tcp, 1, TCP_KEEPALIVE_S); /* peers that vanish without a word */
    if (uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read) != 0)
        at_h2_conn_fail(conn);
    at_h2_conn_wake(conn);
}

void at_h2_conn_fail(struct at_h2_conn *conn)
{
    conn->failed = true;
    at_h2_conn_wake(conn);
}

void at_h2_conn_close(struct at_h2_conn *conn)
{
    if (conn->lost)
        return;
    conn->lost = true;
    conn->ops->on_lost(conn);
    nghttp2_session_del(conn->session);
    conn->session = NULL;
    uv_close((uv_handle_t *)&conn->tcp, on_closed);
}

static void release(struct at_h2_conn *conn)
{
    at_buf_deinit(&conn->held);
    conn->ops->on_free(conn);
}

static void on_closed(uv_handle_t *handle)
{
    struct at_h2_conn *conn = handle->data;
    conn->handle_closed = true;
    if (!conn->flush.queued) /* else on_flush does it */
        release(conn);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    (void)suggested;
    const struct at_h2_conn *conn = handle->data;
    *ret_buf = uv_buf_init((char *)conn->scratch->read, (unsigned)AT_H2_READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
    struct at_h2_conn *conn = stream->data;
    if (nread == 0 || conn->lost)
        return;
    if (nread < 0) {
        at_h2_conn_close(conn);
        return;
    }
    conn->heard_ns = at_loop_now_ns(conn->loop);
    ssize_t n = nghttp2_session_mem_recv(conn->session, (uint8_t *)buf->base, (size_t)nread);
    if (n < 0)
        at_h2_conn_fail(conn);
    at_h2_conn_wake(conn);
}

/* Moves the session's output into the shared buffer, up to one gathering. False: it broke. */
static bool gather(struct at_h2_conn *conn)
{
    struct at_buf *out = &conn->scratch->out;
    while (out->len < AT_H2_GATHER_BYTES) {
        const uint8_t *data;
        ssize_t n = nghttp2_session_mem_send(conn->session, &data);
        if (n < 0)
            return false;
        if (n == 0)
            return true; /* what send_data put directly is in `out` already */
        if (at_buf_append(out, at_slice_make(data, (size_t)n)) != AT_OK)
            return false;
    }
    return true;
}

int at_h2_conn_put_data(struct at_h2_conn *conn,
                        const uint8_t *head,
                        struct at_slice first,
                        struct at_slice second)
{
    struct at_buf *out = &conn->scratch->out;
    if (out->len >= AT_H2_GATHER_BYTES)
        return NGHTTP2_ERR_WOULDBLOCK; /* nghttp2 keeps the frame and asks again */
    if (at_buf_append(out, at_slice_make(head, H2_HEAD_BYTES)) != AT_OK ||
        at_buf_append(out, first) != AT_OK || at_buf_append(out, second) != AT_OK)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    return 0;
}

/* Writes the shared buffer. False when the rest of it is on its way and the session must wait. */
static bool write_out(struct at_h2_conn *conn)
{
    struct at_buf *out = &conn->scratch->out;
    uv_buf_t piece = uv_buf_init((char *)out->data, (unsigned)out->len);
    int n = uv_try_write((uv_stream_t *)&conn->tcp, &piece, 1);
    if (n < 0 && n != UV_EAGAIN) {
        conn->failed = true;
        return false;
    }
    size_t taken = n > 0 ? (size_t)n : 0;
    if (taken == out->len)
        return true;
    at_buf_clear(&conn->held);
    struct at_slice rest = at_slice_from(at_buf_slice(out), taken);
    if (at_buf_append(&conn->held, rest) != AT_OK) {
        conn->failed = true;
        return false;
    }
    piece = uv_buf_init((char *)conn->held.data, (unsigned)conn->held.len);
    int rc = uv_write(&conn->write, (uv_stream_t *)&conn->tcp, &piece, 1, on_written);
    conn->writing = rc == 0;
    conn->failed = conn->failed || rc != 0;
    return false;
}

static void on_written(uv_write_t *req, int status)
{
    struct at_h2_conn *conn = (struct at_h2_conn *)req->handle->data;
    conn->writing = false;
    at_buf_deinit(&conn->held);
    at_buf_init(&conn->held, OUT_BYTES_MAX);
    if (conn->lost)
        return;
    if (status < 0)
        conn->failed = true;
    at_h2_conn_wake(conn);
}

/* Sends until the session has nothing more or the socket takes no more. */
static void send_all(struct at_h2_conn *conn)
{
    struct at_buf *out = &conn->scratch->out;
    bool more = true;
    while (more) {
        at_buf_clear(out);
        if (!gather(conn))
            conn->failed = true;
        more = out->len >= AT_H2_GATHER_BYTES && !conn->failed;
        if (out->len > 0 && !write_out(conn))
            more = false;
    }
    at_buf_clear(out);
}

static void on_flush(struct at_deferred *deferred)
{
    struct at_h2_conn *conn = of_flush(deferred);
    if (conn->lost) {
        if (conn->handle_closed)
            release(conn);
        return;
    }
    if (!conn->session) {
        if (conn->failed)
            at_h2_conn_close(conn);
        return;
    }
    if (!conn->writing)
        send_all(conn); /* also when failed: a last GOAWAY may say why */
    bool idle = !conn->writing && !nghttp2_session_want_write(conn->session);
    if (idle && (conn->ending || !nghttp2_session_want_read(conn->session)))
        conn->failed = true;
    if (conn->failed) {
        at_h2_conn_close(conn);
        return;
    }
    conn->ops->on_flushed(conn);
}
