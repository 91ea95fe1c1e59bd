/* grpc_server.h: gRPC over HTTP/2, the serving side. ADAPTER (nghttp2, libuv).
 *
 * Serves calls with one request message and any number of response messages
 * (all that Bigtable's API needs; a second request message is refused). A
 * handler runs on the loop thread of the connection once the whole request has
 * arrived, and answers at once or later, always on that same loop thread.
 * Only methods that are listed in `streams` take a stream of messages.
 *
 * Life of a call:   OPEN --at_grpc_call_finish--> gone
 *                    \--client reset, deadline, connection lost--> CANCELLED --finish--> gone
 * A handler calls at_grpc_call_finish exactly once in every case; until then
 * the request bytes, metadata and arena stay valid, also after cancellation, so
 * that another thread may still be working on them. On a cancelled call sends
 * are accepted and dropped.
 *
 * What the server does by itself: grpc-timeout (DEADLINE_EXCEEDED), limits of
 * base/limits.h (RESOURCE_EXHAUSTED), a compressed request (UNIMPLEMENTED), an
 * unknown path (UNIMPLEMENTED naming it), percent-encoding of grpc-message,
 * flow control, ping, GOAWAY, one socket write per connection and loop turn.
 * Malformed HTTP/2 ends that connection, never the process. */
#ifndef ATOLL_WIRE_GRPC_SERVER_H
#define ATOLL_WIRE_GRPC_SERVER_H

#include "base/arena.h"
#include "base/buf.h"
#include "wire/loop.h"

struct at_grpc_server;
struct at_grpc_call;

struct at_grpc_method {
    const char *path; /* "/google.bigtable.v2.Bigtable/MutateRow", static */
    void (*on_request)(struct at_grpc_call *call, void *ctx);
    void *ctx;
};

/* A method that takes a stream of messages: on_message gets each one as it comes, with the method's
 * `ctx`, and may send; `message` lives until it returns. A code that is not OK ends the call with
 * it. The method's on_request follows when the stream ends, and finishes the call; a call that is
 * cancelled before is gone without a word. Must not block or keep `call`. */
struct at_grpc_stream {
    const char *path; /* of one of the methods */
    enum at_code (*on_message)(struct at_grpc_call *call, struct at_slice message, void *ctx);
};

struct at_grpc_server_config {
    const char *host; /* numeric address to listen on, e.g. "127.0.0.1" */
    uint16_t port;    /* 0: a free one */
    struct at_loop **loops;
    uint32_t loop_count;                  /* connections are spread over the loops */
    const struct at_grpc_method *methods; /* borrowed for the server's life */
    size_t method_count;
    const struct at_grpc_stream *streams; /* likewise; may be NULL */
    size_t stream_count;
};

/* at_grpc_server_open listens; call it before the loops run. UNAVAILABLE when the address is in use
 * or not ours, with the address in the message. */
AT_MUST_USE enum at_code at_grpc_server_open(const struct at_grpc_server_config *config,
                                             struct at_grpc_server **ret_server,
                                             struct at_error *reterr);

/* at_grpc_server_port: the port in use. */
uint16_t at_grpc_server_port(const struct at_grpc_server *server);

/* at_grpc_server_drain stops listening and sends GOAWAY on every connection; open calls go on for
 * up to grace_ms, then are reset. `on_drained` runs on the first loop when no call is left. Any
 * thread, once. */
void at_grpc_server_drain(struct at_grpc_server *server,
                          uint32_t grace_ms,
                          void (*on_drained)(void *ctx),
                          void *ctx);

/* at_grpc_server_close frees everything; the loops must have stopped. */
void at_grpc_server_close(struct at_grpc_server **server);

/* --- a call; all functions: loop thread of the call, unless said otherwise --- */

/* The request message, without the 5-byte prefix. Lives until finish. Any thread. */
struct at_slice at_grpc_call_request(const struct at_grpc_call *call);
const char *at_grpc_call_path(const struct at_grpc_call *call);

/* at_grpc_call_metadata returns the value of request metadata `name` (lower case), or an empty
 * slice with NULL data when absent. Lives until finish. */
struct at_slice at_grpc_call_metadata(const struct at_grpc_call *call, const char *name);

/* Monotonic deadline in ns; UINT64_MAX when the client set none. */
uint64_t at_grpc_call_deadline_ns(const struct at_grpc_call *call);
/* Monotonic time of the turn in which the request was complete. */
uint64_t at_grpc_call_start_ns(const struct at_grpc_call *call);

struct at_loop *at_grpc_call_loop(const struct at_grpc_call *call);
/* The call's arena: freed at finish. Used by one thread at a time. */
struct at_arena *at_grpc_call_arena(struct at_grpc_call *call);

/* at_grpc_call_on_cancel sets what runs (once, loop thread) when the call is cancelled. It may call
 * finish. */
void at_grpc_call_on_cancel(struct at_grpc_call *call,
                            void (*on_cancel)(struct at_grpc_call *call, void *ctx),
                            void *ctx);
bool at_grpc_call_cancelled(const struct at_grpc_call *call);

/* at_grpc_call_header adds initial metadata (before the first send; also part of a trailers-only
 * answer); at_grpc_call_trailer adds trailing metadata. Both copy. A name ending in "-bin" takes
 * raw bytes and is base64-encoded here. At most 16 of each. */
void at_grpc_call_header(struct at_grpc_call *call, const char *name, struct at_slice value);
void at_grpc_call_trailer(struct at_grpc_call *call, const char *name, struct at_slice value);
/* at_grpc_call_has_header tells whether `name` was added to the initial metadata. */
bool at_grpc_call_has_header(const struct at_grpc_call *call, const char *name);

/* at_grpc_call_send queues one response message (copied). RESOURCE_EXHAUSTED when more than
 * AT_GRPC_MESSAGE_BYTES_MAX would wait. */
AT_MUST_USE enum at_code at_grpc_call_send(struct at_grpc_call *call, struct at_slice message);

/* at_grpc_call_begin returns the call's output buffer with room for the prefix already taken:
 * append the message's bytes to it, then call at_grpc_call_commit (or at_grpc_call_abandon, which
 * cuts the buffer back). Saves the copy of at_grpc_call_send. */
struct at_buf *at_grpc_call_begin(struct at_grpc_call *call);
void at_grpc_call_commit(struct at_grpc_call *call);
void at_grpc_call_abandon(struct at_grpc_call *call);

/* at_grpc_call_send_framed queues bytes of the length-prefixed message stream as they are: what a
 * proxy forwards. Prefix and message may come in any pieces. */
AT_MUST_USE enum at_code at_grpc_call_send_framed(struct at_grpc_call *call, struct at_slice bytes);

/* Bytes queued and not yet taken by the socket or by the client's flow-control window. */
size_t at_grpc_call_pending_bytes(const struct at_grpc_call *call);

/* at_grpc_call_share_bytes: how many bytes of this answer should wait at most: `bytes_max`, or less
 * when many calls are open, so that clients that do not read can't fill the memory together. */
size_t at_grpc_call_share_bytes(const struct at_grpc_call *call, size_t bytes_max);

/* at_grpc_call_on_writable sets what runs (loop thread) each time pending bytes fall below
 * `low_bytes` after having been at or above it. */
void at_grpc_call_on_writable(struct at_grpc_call *call,
                              size_t low_bytes,
                              void (*on_writable)(struct at_grpc_call *call, void *ctx),
                              void *ctx);

/* at_grpc_call_finish ends the call with a status and lets go of it. `message` is raw text (it is
 * percent-encoded here, cut at 8 KiB); `details` (may be empty) is a serialized google.rpc.Status
 * for grpc-status-details-bin. `call` is invalid afterwards. */
void at_grpc_call_finish(struct at_grpc_call *call,
                         enum at_code code,
                         struct at_slice message,
                         struct at_slice details);

/* at_grpc_call_fail finishes with the error's code and message. */
void at_grpc_call_fail(struct at_grpc_call *call, const struct at_error *error);

#endif
