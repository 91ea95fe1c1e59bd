/* The connection under a session that writes more than the peer reads. */
#include "support/test.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/h2_conn.h"

struct probe {
    struct at_h2_conn conn;
    struct at_h2_scratch scratch;
    struct at_loop *loop;
    int fd;
    uint32_t lost;
    uint32_t freed;
    uint32_t flushed;
    size_t data_left;
};

static struct probe *of(struct at_h2_conn *conn)
{
    return (struct probe *)((char *)conn - offsetof(struct probe, conn));
}

static void on_lost(struct at_h2_conn *conn)
{
    assert_non_null(conn->session);
    of(conn)->lost++;
}

static void on_flushed(struct at_h2_conn *conn)
{
    of(conn)->flushed++;
}

static void on_free(struct at_h2_conn *conn)
{
    of(conn)->freed++;
}

static const struct at_h2_conn_ops OPS = {
    .on_lost = on_lost, .on_flushed = on_flushed, .on_free = on_free};

static ssize_t on_read_data(nghttp2_session *session,
                            int32_t stream_id,
                            uint8_t *buf,
                            size_t length,
                            uint32_t *data_flags,
                            nghttp2_data_source *source,
                            void *user_data)
{
    (void)session;
    (void)stream_id;
    (void)buf;
    (void)source;
    struct probe *p = user_data;
    size_t n = p->data_left < length ? p->data_left : length;
    *data_flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (n == p->data_left)
        *data_flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
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
    (void)source;
    static const uint8_t BYTES[16384];
    struct probe *p = user_data;
    struct at_slice first = at_slice_make(BYTES, length / 2);
    struct at_slice second = at_slice_make(BYTES, length - length / 2);
    int rc = at_h2_conn_put_data(&p->conn, framehd, first, second);
    if (rc == 0)
        p->data_left -= length;
    return rc;
}

static void up(struct probe *p)
{
    int pair[2];
    nghttp2_session *session;
    nghttp2_session_callbacks *callbacks;
    memset(p, 0, sizeof(*p));
    p->loop = at_loop_new(at_clock_system());
    at_h2_scratch_init(&p->scratch);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    p->fd = pair[0];
    at_h2_conn_init(&p->conn, p->loop, &p->scratch, &OPS);
    assert_int_equal(uv_tcp_open(&p->conn.tcp, pair[1]), 0);
    assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, on_send_data);
    assert_int_equal(nghttp2_session_client_new(&session, callbacks, p), 0);
    nghttp2_session_callbacks_del(callbacks);
    assert_int_equal(nghttp2_submit_settings(session, 0, NULL, 0), 0);
    at_h2_conn_start(&p->conn, session);
}

static void down(struct probe *p)
{
    at_h2_conn_close(&p->conn);
    at_h2_conn_close(&p->conn);
    at_loop_settle(p->loop);
    assert_int_equal(p->lost, 1);
    assert_int_equal(p->freed, 1);
    (void)close(p->fd);
    at_h2_scratch_deinit(&p->scratch);
    at_loop_free(&p->loop);
}

static size_t drain(struct probe *p)
{
    static uint8_t buf[65536];
    size_t total = 0;
    ssize_t n;
    while ((n = recv(p->fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
        total += (size_t)n;
    return total;
}

static void frame(struct probe *p, uint8_t type, const uint8_t *payload, uint8_t len)
{
    uint8_t head[9] = {0, 0, len, type, 0, 0, 0, 0, 0};
    assert_int_equal(send(p->fd, head, sizeof(head), 0), sizeof(head));
    if (len > 0)
        assert_int_equal(send(p->fd, payload, len, 0), len);
}

/* The peer's SETTINGS (a window that never ends) and a big connection window. */
static void open_windows(struct probe *p)
{
    static const uint8_t SETTINGS[] = {0, 4, 0x7f, 0xff, 0xff, 0xff};
    static const uint8_t WINDOW[] = {0x3f, 0xff, 0xff, 0xff};
    frame(p, 4, SETTINGS, sizeof(SETTINGS));
    frame(p, 8, WINDOW, sizeof(WINDOW));
    at_loop_settle(p->loop);
}

static void submit(struct probe *p, size_t bytes)
{
    static uint8_t names[] = ":method:path:schemePOST/xhttp";
    const nghttp2_nv nv[] = {{names, names + 19, 7, 4, 0},
                             {names + 7, names + 23, 5, 2, 0},
                             {names + 12, names + 25, 7, 4, 0}};
    nghttp2_data_provider provider = {.read_callback = on_read_data};
    p->data_left = bytes;
    assert_true(nghttp2_submit_request(p->conn.session, NULL, nv, 3, &provider, NULL) > 0);
    at_h2_conn_wake(&p->conn);
}

static void what_a_turn_produced_leaves_in_that_turn(void **state)
{
    (void)state;
    struct probe p;
    up(&p);
    open_windows(&p);
    (void)drain(&p);
    uint32_t flushed = p.flushed;
    submit(&p, 1000);
    submit(&p, 1000);
    assert_int_equal(drain(&p), 0);
    at_loop_settle(p.loop);
    assert_int_equal(p.flushed, flushed + 1);
    assert_true(drain(&p) > 0);
    assert_int_equal(p.conn.held.cap, 0);
    down(&p);
}

static void a_peer_that_does_not_read_makes_us_hold_one_gathering(void **state)
{
    (void)state;
    struct probe p;
    size_t total = 50 * 1000 * 1000;
    up(&p);
    open_windows(&p);
    submit(&p, total);
    for (int i = 0; i < 10; i++)
        at_loop_settle(p.loop);
    assert_true(p.conn.writing);
    assert_true(p.conn.held.len <= 2 * AT_H2_GATHER_BYTES);
    assert_true(p.data_left > total / 2);
    size_t got = 0;
    for (int i = 0; i < 100000 && (p.data_left > 0 || p.conn.writing); i++) {
        got += drain(&p);
        at_loop_settle(p.loop);
    }
    got += drain(&p);
    assert_int_equal(p.data_left, 0);
    assert_true(got > total);
    assert_int_equal(p.conn.held.cap, 0);
    down(&p);
}

static void ending_waits_until_all_is_written(void **state)
{
    (void)state;
    struct probe p;
    up(&p);
    open_windows(&p);
    submit(&p, 5 * 1000 * 1000);
    at_h2_conn_end(&p.conn);
    at_loop_settle(p.loop);
    assert_int_equal(p.lost, 0);
    size_t got = 0;
    for (int i = 0; i < 100000 && p.lost == 0; i++) {
        got += drain(&p);
        at_loop_settle(p.loop);
    }
    got += drain(&p);
    assert_int_equal(p.lost, 1);
    assert_true(got > 5 * 1000 * 1000);
    down(&p);
}

static void a_peer_that_closes_is_noticed_once(void **state)
{
    (void)state;
    struct probe p;
    up(&p);
    at_loop_settle(p.loop);
    assert_int_equal(shutdown(p.fd, SHUT_RDWR), 0);
    at_loop_settle(p.loop);
    assert_int_equal(p.lost, 1);
    down(&p);
}

static void writing_to_a_peer_that_is_gone_ends_the_connection_only(void **state)
{
    (void)state;
    struct probe p;
    up(&p);
    open_windows(&p);
    (void)drain(&p);
    submit(&p, 1000);
    (void)close(p.fd);
    p.fd = -1;
    p.conn.flush.run(&p.conn.flush); /* before the loop notices that the peer has closed */
    at_loop_settle(p.loop);
    assert_int_equal(p.lost, 1);
    down(&p);
}

static void bytes_that_break_the_protocol_end_the_connection(void **state)
{
    (void)state;
    struct probe p;
    up(&p);
    at_loop_settle(p.loop);
    static const uint8_t BAD[] = {1, 2, 3};
    frame(&p, 4, BAD, sizeof(BAD)); /* SETTINGS whose length is no multiple of 6 */
    for (int i = 0; i < 5; i++)
        at_loop_settle(p.loop);
    assert_int_equal(p.lost, 1);
    down(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_turn_produced_leaves_in_that_turn),
        cmocka_unit_test(a_peer_that_does_not_read_makes_us_hold_one_gathering),
        cmocka_unit_test(ending_waits_until_all_is_written),
        cmocka_unit_test(a_peer_that_closes_is_noticed_once),
        cmocka_unit_test(writing_to_a_peer_that_is_gone_ends_the_connection_only),
        cmocka_unit_test(bytes_that_break_the_protocol_end_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
