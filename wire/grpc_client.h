/* grpc_client.h: gRPC over HTTP/2, the calling side. ADAPTER (nghttp2, libuv).
 *
 * A channel is one endpoint seen from one loop: it connects on demand, spreads
 * calls over its connections, reconnects with back-off (50 to 250 ms; 10 ms
 * while a peer was never reached and the channel is younger than two seconds), and
 * fails calls at once with UNAVAILABLE while a connection attempt is refused
 * (never queues them behind back-off). Everything here runs on the channel's
 * loop thread.
 *
 * Each call ends with exactly one on_done, never from inside
 * at_grpc_client_start; afterwards the call is gone. */
#ifndef ATOLL_WIRE_GRPC_CLIENT_H
#define ATOLL_WIRE_GRPC_CLIENT_H

#include "base/buf.h"
#include "wire/loop.h"

struct at_grpc_channel;
struct at_grpc_client_call;

struct at_grpc_channel_config {
    const char *host; /* name or numeric address, copied */
    uint16_t port;
    uint32_t connection_count; /* 1..64 */
    uint32_t connect_timeout_ms;
    uint32_t keepalive_ms; /* ping when calls are open and nothing was heard for so long; a ping
                              unanswered for as long again ends the connection. 0: none */
};

AT_MUST_USE enum at_code at_grpc_channel_open(struct at_loop *loop,
                                              const struct at_grpc_channel_config *config,
                                              struct at_grpc_channel **ret_channel,
                                              struct at_error *reterr);
/* at_grpc_channel_close ends open calls with CANCELLED and frees when all is closed. */
void at_grpc_channel_close(struct at_grpc_channel **channel);

/* at_grpc_channel_wake ends back-off: the peer is known to be there. */
void at_grpc_channel_wake(struct at_grpc_channel *channel);

/* True while at least one connection is established. */
bool at_grpc_channel_connected(const struct at_grpc_channel *channel);

struct at_grpc_metadata {
    struct at_slice name;  /* lower case */
    struct at_slice value; /* "-bin" values are sent base64-encoded and received decoded */
    bool varies;           /* sent: the next call's will differ, so the peer need not keep it */
};

struct at_grpc_result {
    enum at_code code;
    struct at_slice message; /* decoded; lives during on_done */
    struct at_slice details; /* google.rpc.Status bytes or empty */
    const struct at_grpc_metadata *trailers;
    size_t trailer_count;
    bool from_peer;   /* the peer sent this status; false: made here (connection lost, deadline) */
    bool unprocessed; /* certain that the peer did not act on the request (not sent, refused
                         stream, beyond GOAWAY's last stream): safe to send again elsewhere */
    bool got_data;    /* response headers without status, or data, had arrived */
};

struct at_grpc_client_handler {
    /* Initial metadata, which lives until the call ends; may be NULL. Not called for a
     * trailers-only answer. */
    void (*on_headers)(void *ctx, const struct at_grpc_metadata *metadata, size_t count);
    /* Exactly one of the two is set.
     * on_message: one whole response message (limit AT_GRPC_MESSAGE_BYTES_MAX).
     * on_framed: bytes of the length-prefixed stream as they come, for a proxy; each byte must be
     * given back with at_grpc_client_consume, else the peer stops sending (window 1 MiB). */
    void (*on_message)(void *ctx, struct at_slice message);
    void (*on_framed)(void *ctx, struct at_slice bytes);
    void (*on_done)(void *ctx, const struct at_grpc_result *result);
};

struct at_grpc_client_request {
    const char *path;        /* copied */
    struct at_slice message; /* borrowed until on_done */
    uint64_t deadline_ns;    /* monotonic; UINT64_MAX: none. Sent as grpc-timeout and kept here */
    const struct at_grpc_metadata *metadata; /* copied */
    size_t metadata_count;
    const struct at_grpc_client_handler *handler; /* borrowed until on_done */
    void *ctx;
};

/* at_grpc_client_start begins a call. Never fails at once: trouble arrives by on_done. */
struct at_grpc_client_call *at_grpc_client_start(struct at_grpc_channel *channel,
                                                 const struct at_grpc_client_request *request);

/* at_grpc_client_consume returns flow-control credit for on_framed bytes. */
void at_grpc_client_consume(struct at_grpc_client_call *call, size_t bytes);

/* at_grpc_client_cancel resets the stream and frees the call without on_done. */
void at_grpc_client_cancel(struct at_grpc_client_call *call);

/* --- for commands: one call at a time, blocking --- */

/* at_grpc_unary runs `loop` (not running elsewhere) until the one response message of `request`
 * is in `response` (its handler and ctx are ignored). Returns the peer's code, with its message
 * in reterr. */
AT_MUST_USE enum at_code at_grpc_unary(struct at_grpc_channel *channel,
                                       const struct at_grpc_client_request *request,
                                       struct at_buf *response,
                                       struct at_error *reterr);

/* at_grpc_stream is the same for a streaming answer: on_message is called for each message and
 * may return false to stop early (the call is cancelled, the result is AT_OK). */
AT_MUST_USE enum at_code at_grpc_stream(struct at_grpc_channel *channel,
                                        const struct at_grpc_client_request *request,
                                        bool (*on_message)(void *ctx, struct at_slice message),
                                        void *ctx,
                                        struct at_error *reterr);

#endif
