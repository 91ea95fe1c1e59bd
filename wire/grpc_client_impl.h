/* grpc_client_impl.h: what the files of the gRPC client share. Internal to wire/.
 *
 *   at_grpc_channel       picks connections, queues, reconnects (grpc_channel.c)
 *   at_grpc_client_conn   one connection: nghttp2's callbacks (grpc_client_conn.c)
 *   at_grpc_client_call   one call (grpc_client_call.c), its answer (grpc_response.c)
 *
 * A call is in one list at a time: channel->waiting (for a connection), channel->doomed (its
 * on_done is due at the end of the turn), conn->calls, conn->ended. It ends once (`ended`: on_done
 * ran, or it was cancelled); its memory stays until nghttp2 has closed the stream, and while one of
 * its callbacks runs. */
#ifndef ATOLL_WIRE_GRPC_CLIENT_IMPL_H
#define ATOLL_WIRE_GRPC_CLIENT_IMPL_H

#include "base/arena.h"
#include "base/limits.h"
#include "wire/alarms.h"
#include "wire/grpc_client.h"
#include "wire/grpc_frame.h"
#include "wire/h2_conn.h"
#include "wire/link.h"

struct at_grpc_client_conn;

/* Header fields of one block, in the call's arena. */
struct at_grpc_block {
    struct at_grpc_metadata *items;
    size_t count;
    size_t cap;
};

struct at_grpc_client_call {
    struct at_link link;
    struct at_grpc_channel *channel;
    struct at_grpc_client_conn *conn; /* NULL: waiting, doomed, or its connection is gone */
    int32_t stream_id;
    bool stream_open;
    bool ended;
    bool waiting;     /* counted in channel->waiting_count */
    bool sent;        /* its HEADERS frame has left nghttp2 */
    bool saw_headers; /* the initial metadata is complete */
    bool got_data;
    bool peer_ended;     /* END_STREAM came */
    bool has_status;     /* grpc-status came */
    bool bad_content;    /* not a gRPC answer */
    uint32_t busy_count; /* callbacks of this call that are running */
    const struct at_grpc_client_handler *handler;
    void *ctx;
    struct at_slice request;
    size_t request_off; /* of prefix plus message */
    uint64_t deadline_ns;
    struct at_alarm expiry;
    nghttp2_nv *fields; /* of the request, but for grpc-timeout */
    size_t field_count;

    uint32_t http_status;
    size_t block_bytes; /* received header bytes */
    struct at_grpc_block block;
    struct at_slice status_text;
    struct at_slice message_text;
    struct at_slice details_text;
    struct at_grpc_frame frame;

    enum at_code doom_code;
    const char *doom_message;

    struct at_arena arena;
};

enum at_grpc_slot_state {
    AT_GRPC_SLOT_IDLE,       /* never tried */
    AT_GRPC_SLOT_CONNECTING, /* resolving, connecting, or waiting for the peer's SETTINGS */
    AT_GRPC_SLOT_READY,
    AT_GRPC_SLOT_BACKOFF,
};

struct at_grpc_slot {
    struct at_grpc_channel *channel;
    struct at_grpc_client_conn *conn; /* CONNECTING (after resolving) and READY */
    enum at_grpc_slot_state state;
    bool failing; /* the last attempt failed: calls do not wait for this one */
    uint32_t backoff_ms;
    uint64_t ready_ns;
    struct at_alarm alarm; /* connect timeout, or end of the back-off */
    uv_getaddrinfo_t resolve;
    bool resolving;
};

struct at_grpc_client_conn {
    struct at_h2_conn h2;
    uv_connect_t connect;
    struct at_link link; /* in channel->conns */
    struct at_grpc_channel *channel;
    struct at_grpc_slot *slot; /* NULL once it takes no new calls */
    struct at_link calls;
    struct at_link ended; /* calls whose stream is not closed yet */
    uint32_t call_count;  /* streams open in nghttp2: both lists */
    struct at_alarm keepalive;
    uint64_t quiet_ns; /* when keepalive began to count */
    uint64_t ping_ns;  /* 0: no ping is out */
};

struct at_grpc_channel {
    struct at_loop *loop;
    char *host;
    char *authority;
    uint16_t port;
    uint32_t connect_timeout_ms;
    uint64_t young_until_ns; /* never reached so far: tried often until then */
    uint32_t keepalive_ms;
    struct at_grpc_slot *slots;
    uint32_t slot_count;
    struct at_link conns;
    struct at_link waiting;
    uint32_t waiting_count;
    struct at_link doomed;
    struct at_deferred doom;
    struct at_link pool;
    uint32_t pool_count;
    struct at_alarms alarms;
    struct at_h2_scratch scratch;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    char last_error[96];
    uint32_t refs; /* handles, requests and calls that libuv or nghttp2 still hold */
    bool closing;
};

/* --- grpc_channel.c --- */
struct at_grpc_client_conn *at_grpc_channel_pick(struct at_grpc_channel *channel);
/* at_grpc_channel_enqueue has the call wait for a connection, or dooms it when there is no hope. */
void at_grpc_channel_enqueue(struct at_grpc_channel *channel, struct at_grpc_client_call *call);
void at_grpc_channel_doom_soon(struct at_grpc_channel *channel);
/* at_grpc_channel_pump sends waiting calls, or fails them when there is no hope. */
void at_grpc_channel_pump(struct at_grpc_channel *channel);
void at_grpc_channel_conn_ready(struct at_grpc_client_conn *conn);
/* at_grpc_channel_conn_leaves: the connection takes no new calls any more. */
void at_grpc_channel_conn_leaves(struct at_grpc_client_conn *conn, const char *why);
void at_grpc_channel_ref(struct at_grpc_channel *channel);
void at_grpc_channel_unref(struct at_grpc_channel *channel);

/* --- grpc_client_conn.c --- */
void at_grpc_client_conn_set_callbacks(nghttp2_session_callbacks *callbacks);
struct at_grpc_client_conn *at_grpc_client_conn_open(struct at_grpc_slot *slot,
                                                     const struct sockaddr *address);
bool at_grpc_client_conn_has_room(const struct at_grpc_client_conn *conn);
/* at_grpc_client_conn_calls_changed sets keepalive going, or ends a connection that has left. */
void at_grpc_client_conn_calls_changed(struct at_grpc_client_conn *conn);

/* --- grpc_client_call.c --- */
/* at_grpc_client_call_submit gives the call to a connection. False: that one cannot take it. */
bool at_grpc_client_call_submit(struct at_grpc_client_call *call, struct at_grpc_client_conn *conn);
/* at_grpc_client_call_end runs on_done with a status made here. */
void at_grpc_client_call_end(struct at_grpc_client_call *call,
                             enum at_code code,
                             const char *message,
                             bool unprocessed);
/* at_grpc_client_call_deliver runs on_done with any result, resets the stream if it is open. */
void at_grpc_client_call_deliver(struct at_grpc_client_call *call,
                                 const struct at_grpc_result *result);
/* at_grpc_client_call_doom is the same at the end of the turn. */
void at_grpc_client_call_doom(struct at_grpc_client_call *call,
                              enum at_code code,
                              const char *message);
void at_grpc_client_call_stream_closed(struct at_grpc_client_call *call, uint32_t h2_error);
void at_grpc_client_call_conn_lost(struct at_grpc_client_call *call);
int at_grpc_client_call_send_data(struct at_grpc_client_call *call,
                                  struct at_grpc_client_conn *conn,
                                  const uint8_t *head,
                                  size_t length);
void at_grpc_client_call_free(struct at_grpc_client_call *call);
void at_grpc_client_call_settle(struct at_grpc_client_call *call);

/* --- grpc_response.c --- */
void at_grpc_response_field(struct at_grpc_client_call *call,
                            struct at_slice name,
                            struct at_slice value);
void at_grpc_response_headers_done(struct at_grpc_client_call *call, bool end);
void at_grpc_response_data(struct at_grpc_client_call *call, struct at_slice bytes);
void at_grpc_response_end(struct at_grpc_client_call *call);

#endif
