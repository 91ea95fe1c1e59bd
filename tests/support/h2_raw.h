/* h2_raw.h: a blocking HTTP/2 client that says what no gRPC client would say. */
#ifndef ATOLL_TESTS_SUPPORT_H2_RAW_H
#define ATOLL_TESTS_SUPPORT_H2_RAW_H

#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/slice.h"
#include "support/test.h"

#define H2_RAW_STREAMS_MAX 4096
#define H2_RAW_PATIENCE_MS 60000 /* for whatever the server sends next */

struct h2_raw_stream {
    char status[8];
    char grpc_status[8];
    char grpc_message[256];
    char accept_encoding[32];
    size_t data_bytes;
    size_t body_off;
    uint32_t error_code;
    bool closed;
};

struct h2_raw {
    int fd;
    bool eof;
    bool goaway;
    nghttp2_session *session;
    struct h2_raw_stream streams[H2_RAW_STREAMS_MAX]; /* by (id - 1) / 2 */
    struct at_slice body;                             /* of all requests that have one */
    bool keep_open;                                   /* no END_STREAM behind the body */
};

static inline struct h2_raw_stream *h2_raw_at(struct h2_raw *h, int32_t id)
{
    assert_true(id > 0 && id / 2 < H2_RAW_STREAMS_MAX);
    return &h->streams[id / 2];
}

static inline void h2_raw_copy(char *to, size_t size, const uint8_t *value, size_t len)
{
    size_t n = len < size - 1 ? len : size - 1;
    memcpy(to, value, n);
    to[n] = '\0';
}

static inline int h2_raw_on_header(nghttp2_session *session,
                                   const nghttp2_frame *frame,
                                   const uint8_t *name,
                                   size_t namelen,
                                   const uint8_t *value,
                                   size_t valuelen,
                                   uint8_t flags,
                                   void *user_data)
{
    (void)session;
    (void)flags;
    struct h2_raw_stream *s = h2_raw_at(user_data, frame->hd.stream_id);
    struct at_slice n = at_slice_make(name, namelen);
    if (at_slice_eq_cstr(n, ":status"))
        h2_raw_copy(s->status, sizeof(s->status), value, valuelen);
    if (at_slice_eq_cstr(n, "grpc-status"))
        h2_raw_copy(s->grpc_status, sizeof(s->grpc_status), value, valuelen);
    if (at_slice_eq_cstr(n, "grpc-message"))
        h2_raw_copy(s->grpc_message, sizeof(s->grpc_message), value, valuelen);
    if (at_slice_eq_cstr(n, "grpc-accept-encoding"))
        h2_raw_copy(s->accept_encoding, sizeof(s->accept_encoding), value, valuelen);
    return 0;
}

static inline int h2_raw_on_data(nghttp2_session *session,
                                 uint8_t flags,
                                 int32_t stream_id,
                                 const uint8_t *data,
                                 size_t len,
                                 void *user_data)
{
    (void)session;
    (void)flags;
    (void)data;
    h2_raw_at(user_data, stream_id)->data_bytes += len;
    return 0;
}

static inline int
h2_raw_on_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code, void *user_data)
{
    (void)session;
    h2_raw_at(user_data, stream_id)->closed = true;
    h2_raw_at(user_data, stream_id)->error_code = error_code;
    return 0;
}

static inline int
h2_raw_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    (void)session;
    struct h2_raw *h = user_data;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        h->goaway = true;
    return 0;
}

static inline ssize_t h2_raw_on_read(nghttp2_session *session,
                                     int32_t stream_id,
                                     uint8_t *buf,
                                     size_t length,
                                     uint32_t *data_flags,
                                     nghttp2_data_source *source,
                                     void *user_data)
{
    (void)session;
    (void)source;
    struct h2_raw *h = user_data;
    size_t *off = &h2_raw_at(h, stream_id)->body_off;
    size_t left = h->body.len - *off;
    size_t n = left < length ? left : length;
    if (n == 0 && h->keep_open)
        return NGHTTP2_ERR_DEFERRED;
    if (n > 0)
        memcpy(buf, h->body.data + *off, n);
    *off += n;
    if (*off == h->body.len && !h->keep_open)
        *data_flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static inline int h2_raw_dial(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static inline void h2_raw_flush(struct h2_raw *h)
{
    const uint8_t *data;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(h->session, &data)) > 0)
        for (ssize_t off = 0; off < n;) {
            ssize_t w = send(h->fd, data + off, (size_t)(n - off), MSG_NOSIGNAL);
            if (w <= 0) {
                h->eof = true;
                return;
            }
            off += w;
        }
}

/* Takes the connected socket. `window` is the initial window of streams. */
static inline void h2_raw_open(struct h2_raw *h, int fd, uint32_t window)
{
    nghttp2_session_callbacks *callbacks;
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}};
    memset(h, 0, sizeof(*h));
    h->fd = fd;
    assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, h2_raw_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, h2_raw_on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, h2_raw_on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, h2_raw_on_frame);
    nghttp2_option *option;
    assert_int_equal(nghttp2_option_new(&option), 0);
    nghttp2_option_set_max_send_header_block_length(option, 1024 * 1024);
    assert_int_equal(nghttp2_session_client_new2(&h->session, callbacks, h, option), 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    assert_int_equal(nghttp2_submit_settings(h->session, 0, settings, 1), 0);
    h2_raw_flush(h); /* a server does not wait long for those that say nothing */
}

static inline void h2_raw_close(struct h2_raw *h)
{
    nghttp2_session_del(h->session);
    if (h->fd >= 0)
        (void)close(h->fd);
}

/* Sends what is due and takes what comes within `ms`; false when nothing came. */
static inline bool h2_raw_step(struct h2_raw *h, int ms)
{
    static uint8_t buf[65536];
    h2_raw_flush(h);
    struct pollfd p = {.fd = h->fd, .events = POLLIN};
    if (poll(&p, 1, ms) <= 0)
        return false;
    ssize_t n = recv(h->fd, buf, sizeof(buf), 0);
    if (n <= 0) {
        h->eof = true;
        return false;
    }
    assert_int_equal(nghttp2_session_mem_recv(h->session, buf, (size_t)n), n);
    return true;
}

static inline void h2_raw_wait_closed(struct h2_raw *h, int32_t id)
{
    while (!h2_raw_at(h, id)->closed && !h->eof && h2_raw_step(h, H2_RAW_PATIENCE_MS))
        continue;
    h2_raw_flush(h);
}

static inline void h2_raw_wait_eof(struct h2_raw *h)
{
    while (!h->eof && h2_raw_step(h, H2_RAW_PATIENCE_MS))
        continue;
    assert_true(h->eof);
}

struct h2_raw_request {
    const char *method; /* NULL: POST */
    const char *path;   /* NULL: /t.T/Echo */
    const char *type;   /* NULL: application/grpc */
    const char *name;   /* one more header field */
    const char *value;
    uint32_t repeat; /* how often, 0: once */
};

static inline nghttp2_nv h2_raw_nv(const char *name, const char *value)
{
    union {
        const char *in;
        uint8_t *out;
    } n = {.in = name}, v = {.in = value};
    return (nghttp2_nv){n.out, v.out, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

/* Without a body the request ends with its headers. */
static inline int32_t
h2_raw_submit(struct h2_raw *h, const struct h2_raw_request *r, const struct at_slice *body)
{
    nghttp2_nv nv[16] = {
        h2_raw_nv(":method", r->method ? r->method : "POST"),
        h2_raw_nv(":scheme", "http"),
        h2_raw_nv(":authority", "test"),
        h2_raw_nv(":path", r->path ? r->path : "/t.T/Echo"),
        h2_raw_nv("content-type", r->type ? r->type : "application/grpc"),
    };
    size_t count = 5;
    for (uint32_t i = 0; r->name && i < (r->repeat ? r->repeat : 1); i++)
        nv[count++] = h2_raw_nv(r->name, r->value);
    nghttp2_data_provider provider = {.read_callback = h2_raw_on_read};
    if (body)
        h->body = *body;
    int32_t id = nghttp2_submit_request(h->session, NULL, nv, count, body ? &provider : NULL, NULL);
    assert_true(id > 0);
    return id;
}

#endif
