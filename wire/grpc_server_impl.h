/* grpc_server_impl.h: what the files of the gRPC server share. Internal to wire/.
 *
 *   at_grpc_server  listens (grpc_server.c); one
 *   at_grpc_home    per loop: its connections, pooled calls, deadlines (grpc_home.c)
 *   at_grpc_conn    per connection: nghttp2's callbacks (grpc_conn.c)
 *   at_grpc_call    per stream (grpc_call.c: life; grpc_answer.c: what is sent)
 *
 * A call is held by its stream (`stream_open`) and, once dispatched, by its handler (until
 * `finished`). It goes back to the pool when neither holds it. A call whose connection is gone
 * but whose handler is not done is an orphan of its home. */
#ifndef ATOLL_WIRE_GRPC_SERVER_IMPL_H
#define ATOLL_WIRE_GRPC_SERVER_IMPL_H

#include <stdatomic.h>

#include "base/limits.h"
#include "wire/alarms.h"
#include "wire/grpc_frame.h"
#include "wire/grpc_server.h"
#include "wire/h2_conn.h"

#define AT_GRPC_OWN_HEADERS_MAX 16 /* added by a handler; as many trailers */

struct at_grpc_home;
struct at_grpc_conn;

struct at_grpc_field {
    struct at_grpc_field *next;
    struct at_slice name;
    struct at_slice value;
};

/* Response fields, in the call's arena. */
struct at_grpc_fields {
    nghttp2_nv *items; /* AT_GRPC_OWN_HEADERS_MAX of them, made when the first is added */
    size_t count;
};

/* Length-prefixed bytes on their way out: data[off, end) is committed and waits; the first
 * `promised` of them are in a DATA frame that nghttp2 has begun. */
struct at_grpc_out {
    struct at_buf buf;
    size_t off;
    size_t end;
    size_t promised;
    bool building; /* between begin and commit */
};

struct at_grpc_call {
    struct at_grpc_call *next; /* in conn->calls, home->orphans or home->pool */
    struct at_grpc_call **prev_next;
    struct at_grpc_call *next_writable;
    struct at_grpc_call **prev_next_writable; /* NULL: not in conn->writable */
    struct at_grpc_home *home;
    struct at_grpc_conn *conn; /* NULL once the connection is gone */
    int32_t stream_id;

    bool stream_open;
    bool is_post;
    bool good_type;
    bool bad_encoding;
    bool headers_done;
    bool has_message;
    bool dispatched; /* a handler has it */
    bool finished;   /* the handler has let go */
    bool answered;   /* a status is decided: nothing more is sent but what waits */
    bool cancelled;
    bool responded; /* response headers are submitted */
    bool deferred;  /* nghttp2 waits until there is output again */
    bool above_low;

    const struct at_grpc_method *method; /* NULL: unknown path */
    const struct at_grpc_stream *stream; /* NULL: takes one message */
    struct at_slice path;
    struct at_grpc_field *metadata;
    size_t metadata_bytes;
    uint64_t deadline_ns;
    uint64_t start_ns;
    struct at_alarm expiry;

    struct at_grpc_frame frame;
    struct at_slice request;
    size_t held_bytes;       /* counted in conn->held_bytes and server->request_bytes */
    size_t uncredited_bytes; /* taken from the stream's window and not given back yet */

    struct at_grpc_out out;
    struct at_grpc_fields headers;
    struct at_grpc_fields trailers;
    enum at_code status;
    struct at_slice status_message; /* percent-encoded */
    struct at_slice status_details; /* base64 */

    void (*on_cancel)(struct at_grpc_call *call, void *ctx);
    void *on_cancel_ctx;
    void (*on_writable)(struct at_grpc_call *call, void *ctx);
    void *on_writable_ctx;
    size_t low_bytes;

    struct at_arena arena;
};

struct at_grpc_conn {
    struct at_h2_conn h2;
    struct at_grpc_home *home;
    struct at_grpc_conn *next;
    struct at_grpc_conn **prev_next;
    struct at_grpc_call *calls;
    struct at_grpc_call *writable; /* owed an on_writable */
    uint32_t call_count;
    uint32_t refused_count;
    struct at_grpc_call *current; /* of the frame that is coming in */
    size_t held_bytes;            /* request bytes of its calls */
    bool goaway_sent;             /* the final one */
    struct at_alarm hello;        /* until the client's SETTINGS have come */
    bool hello_late;              /* it rang once */
};

struct at_grpc_home {
    struct at_grpc_server *server;
    struct at_loop *loop;
    struct at_h2_scratch scratch;
    struct at_grpc_conn *conns;
    struct at_grpc_call *orphans;
    struct at_grpc_call *pool;
    uint32_t pool_count;
    uint32_t call_count; /* in use, with or without a connection */
    struct at_alarms alarms;
    bool draining;
    bool drained;
    struct at_alarm grace;
    struct at_task drain_task;
};

struct at_grpc_server {
    const struct at_grpc_method *methods;
    size_t method_count;
    const struct at_grpc_stream *streams;
    size_t stream_count;
    const struct at_grpc_method **slots; /* open addressing by hash of the path */
    size_t slot_mask;
    struct at_grpc_home *homes;
    uint32_t home_count;
    int listen_fd;
    uint16_t port;
    uv_poll_t listener;      /* on the first loop */
    uv_timer_t listen_again; /* after running out of file descriptors */
    uint32_t next_home;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    atomic_uint conn_count;
    uint32_t conn_count_max;
    atomic_size_t request_bytes; /* held by all calls, with or without a connection */
    atomic_uint undrained_count;
    atomic_bool drain_begun;
    uint32_t grace_ms;
    void (*on_drained)(void *ctx);
    void *on_drained_ctx;
    struct at_task drained_task;
};

/* --- grpc_server.c --- */
const struct at_grpc_method *at_grpc_server_find(const struct at_grpc_server *server,
                                                 struct at_slice path);
void at_grpc_server_home_drained(struct at_grpc_server *server);
void at_grpc_server_stop_listening(struct at_grpc_server *server);

/* --- grpc_home.c --- */
void at_grpc_home_init(struct at_grpc_home *home,
                       struct at_grpc_server *server,
                       struct at_loop *loop);
/* at_grpc_home_close closes handles and connections; the memory goes with at_grpc_home_deinit once
 * libuv has run the callbacks. */
void at_grpc_home_close(struct at_grpc_home *home);
void at_grpc_home_deinit(struct at_grpc_home *home);
/* at_grpc_home_adopt makes a connection of an accepted socket (taken). Loop thread. */
void at_grpc_home_adopt(struct at_grpc_home *home, int fd);
void at_grpc_home_check_drained(struct at_grpc_home *home);

/* --- grpc_conn.c --- */
extern const struct at_h2_conn_ops at_grpc_conn_ops;
void at_grpc_conn_set_callbacks(nghttp2_session_callbacks *callbacks);
bool at_grpc_conn_start(struct at_grpc_conn *conn);
void at_grpc_conn_drain(struct at_grpc_conn *conn);
/* at_grpc_conn_check_idle ends a draining connection that has no calls left. */
void at_grpc_conn_check_idle(struct at_grpc_conn *conn);

/* --- grpc_call.c --- */
struct at_grpc_call *at_grpc_call_new(struct at_grpc_conn *conn, int32_t stream_id);
/* at_grpc_call_settle gives the call back to the pool when nothing holds it. */
void at_grpc_call_settle(struct at_grpc_call *call);
void at_grpc_call_free(struct at_grpc_call *call);
void at_grpc_call_cancel(struct at_grpc_call *call);
void at_grpc_call_release_request(struct at_grpc_call *call);
void at_grpc_call_stream_closed(struct at_grpc_call *call);
void at_grpc_call_conn_lost(struct at_grpc_call *call);

/* --- grpc_answer.c --- */
/* at_grpc_answer decides the call's status and has it sent after what waits. */
void at_grpc_answer(struct at_grpc_call *call,
                    enum at_code code,
                    struct at_slice message,
                    struct at_slice details);
void at_grpc_answer_http(struct at_grpc_call *call, const char *http_status);
void at_grpc_answer_reset(struct at_grpc_call *call, uint32_t h2_error);
void at_grpc_answer_drop_output(struct at_grpc_call *call);
int at_grpc_answer_send_data(struct at_grpc_call *call, const uint8_t *head, size_t length);

static inline size_t at_grpc_out_pending(const struct at_grpc_out *out)
{
    return out->end - out->off;
}

#endif
