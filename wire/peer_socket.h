/* peer_socket.h: requests and replies between clusters over nng (req0/rep0). ADAPTER.
 *
 * nng calls back on its own threads, where nothing may wait or be freed: the
 * callbacks given here must only enqueue. Message contents are opaque bytes, answers at most
 * AT_PEER_MESSAGE_BYTES_MAX, questions at most AT_PEER_QUESTION_BYTES_MAX.
 *
 * Who asks and does not read, or asks without end, takes nothing from others: an answer that its
 * connection does not take in time is given up, and of one connection only a few requests are taken
 * at a time; what is beyond is not answered. */
#ifndef ATOLL_WIRE_PEER_SOCKET_H
#define ATOLL_WIRE_PEER_SOCKET_H

#include "base/buf.h"
#include "base/mailbox.h"

/* --- the answering side --- */

struct at_peer_server;

/* One request that waits for its answer. Owned by the receiver of on_request until it calls
 * at_peer_request_reply or at_peer_request_drop. */
struct at_peer_request {
    struct at_mail mail; /* for the receiver's use */
    struct at_slice body;
};

struct at_peer_server_config {
    const char *host;
    uint16_t port;          /* 0: a free one */
    uint32_t in_flight_max; /* requests taken and not yet answered */
    /* nng thread: only enqueue. */
    void (*on_request)(void *ctx, struct at_peer_request *request);
    void *ctx;
};

AT_MUST_USE enum at_code at_peer_server_open(const struct at_peer_server_config *config,
                                             struct at_peer_server **ret_server,
                                             struct at_error *reterr);
uint16_t at_peer_server_port(const struct at_peer_server *server);
/* at_peer_server_close waits for nng's threads; requests not yet answered are dropped and must
 * have been given back (reply or drop) before. Not from an nng thread. */
void at_peer_server_close(struct at_peer_server **server);

/* at_peer_request_reply answers (bytes are copied into the message) and gives the request back.
 * Any thread but nng's. */
void at_peer_request_reply(struct at_peer_request *request, struct at_slice reply);
void at_peer_request_drop(struct at_peer_request *request);

/* --- the asking side --- */

struct at_peer_client;

/* One question; storage is the caller's, valid until on_reply ran. */
struct at_peer_question {
    struct at_mail mail;   /* for the receiver's use */
    enum at_code code;     /* AT_OK, DEADLINE_EXCEEDED, UNAVAILABLE, CANCELLED (client closed) */
    struct at_slice reply; /* valid until at_peer_question_done */
    void *impl;
};

struct at_peer_client_config {
    const char *host;
    uint16_t port;
    uint32_t in_flight_max; /* questions at a time */
    /* nng thread: only enqueue. */
    void (*on_reply)(void *ctx, struct at_peer_question *question);
    void *ctx;
};

/* at_peer_client_open starts dialling and goes on doing so; a peer that is down only makes
 * questions time out. */
AT_MUST_USE enum at_code at_peer_client_open(const struct at_peer_client_config *config,
                                             struct at_peer_client **ret_client,
                                             struct at_error *reterr);
/* at_peer_client_close ends open questions with CANCELLED (on_reply runs) and waits. */
void at_peer_client_close(struct at_peer_client **client);

/* at_peer_client_ask sends `body` (copied). RESOURCE_EXHAUSTED when in_flight_max are open or the
 * body is too large; then on_reply is not called. */
AT_MUST_USE enum at_code at_peer_client_ask(struct at_peer_client *client,
                                            struct at_peer_question *question,
                                            struct at_slice body,
                                            uint32_t timeout_ms);

/* at_peer_question_done frees the reply's bytes. */
void at_peer_question_done(struct at_peer_question *question);

/* at_peer_sockets_end frees what nng keeps for the whole process: for tests, so that leak checkers
 * see a clean end. Last of all, from main; no peer socket may be open. */
void at_peer_sockets_end(void);

#endif
