/* h2_conn.h: one TCP connection that speaks HTTP/2, either side. ADAPTER (nghttp2, libuv).
 *
 * Moves bytes between the socket and an nghttp2 session, and gathers all that a turn produced into
 * one write. Embedded in the server's and the client's connection.
 *
 * Life:  init -> start -> close (by anyone, or by itself when the peer, the protocol or the
 * session ended it; on_lost runs) -> on_free (nothing refers to it any more).
 * Internal to wire/. Loop thread. */
#ifndef ATOLL_WIRE_H2_CONN_H
#define ATOLL_WIRE_H2_CONN_H

#include <nghttp2/nghttp2.h>

#include "base/buf.h"
#include "wire/h2_memory.h"
#include "wire/loop.h"

#define AT_H2_READ_BYTES ((size_t)256 * 1024)
#define AT_H2_GATHER_BYTES ((size_t)256 * 1024) /* a write is begun when so much is gathered */

/* Memory that the connections of one loop share: read and out each for the length of a callback. */
struct at_h2_scratch {
    uint8_t *read;
    struct at_buf out;
    struct at_h2_memory memory; /* of their sessions */
};

struct at_h2_conn;

struct at_h2_conn_ops {
    /* The connection is gone; the session exists until on_lost returns. Once, and not from inside
     * an nghttp2 callback. */
    void (*on_lost)(struct at_h2_conn *conn);
    /* All that could be written for now has been taken from the session. */
    void (*on_flushed)(struct at_h2_conn *conn);
    /* The last callback: the memory may go. */
    void (*on_free)(struct at_h2_conn *conn);
};

struct at_h2_conn {
    uv_tcp_t tcp;
    uv_write_t write;
    struct at_loop *loop;
    nghttp2_session *session;
    struct at_h2_scratch *scratch;
    const struct at_h2_conn_ops *ops;
    struct at_deferred flush;
    struct at_buf held; /* bytes of a write that the socket did not take at once */
    uint64_t heard_ns;  /* when bytes last came */
    bool writing;
    bool ending; /* to be closed once all output has gone */
    bool failed; /* to be closed at the next chance outside of nghttp2's callbacks */
    bool lost;
    bool handle_closed;
};

void at_h2_scratch_init(struct at_h2_scratch *s);
void at_h2_scratch_deinit(struct at_h2_scratch *s);

/* at_h2_conn_init prepares the handle; `conn` must be zeroed and is not moved any more. */
void at_h2_conn_init(struct at_h2_conn *conn,
                     struct at_loop *loop,
                     struct at_h2_scratch *scratch,
                     const struct at_h2_conn_ops *ops);

/* at_h2_conn_start begins to read; the handle is connected and `session` (taken) exists. */
void at_h2_conn_start(struct at_h2_conn *conn, nghttp2_session *session);

/* at_h2_conn_wake has the session's output written at the end of this turn. */
static inline void at_h2_conn_wake(struct at_h2_conn *conn)
{
    at_loop_defer(conn->loop, &conn->flush);
}

/* at_h2_conn_fail closes the connection soon; legal inside nghttp2's callbacks. */
void at_h2_conn_fail(struct at_h2_conn *conn);

/* at_h2_conn_end closes the connection once its output is written. */
static inline void at_h2_conn_end(struct at_h2_conn *conn)
{
    conn->ending = true;
    at_h2_conn_wake(conn);
}

/* at_h2_conn_close closes it now, outside of nghttp2's callbacks. More than once is legal. */
void at_h2_conn_close(struct at_h2_conn *conn);

/* at_h2_conn_put_data is nghttp2's send_data for a DATA frame: its head, and its payload in two
 * pieces. Returns what the callback has to return; then nothing was taken unless it is 0. */
int at_h2_conn_put_data(struct at_h2_conn *conn,
                        const uint8_t *head,
                        struct at_slice first,
                        struct at_slice second);

#endif
