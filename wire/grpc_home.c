/* grpc_home.c: the server's part on one loop. */
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "wire/grpc_server_impl.h"

static void on_grace_over(struct at_alarm *alarm);
static void on_drain(struct at_task *task);

void at_grpc_home_init(struct at_grpc_home *home,
                       struct at_grpc_server *server,
                       struct at_loop *loop)
{
    home->server = server;
    home->loop = loop;
    home->drain_task.run = on_drain;
    at_h2_scratch_init(&home->scratch);
    home->grace.ring = on_grace_over;
    at_alarms_init(&home->alarms, loop);
}

void at_grpc_home_close(struct at_grpc_home *home)
{
    home->drained = true; /* nobody is to be told any more */
    while (home->conns)
        at_h2_conn_close(&home->conns->h2);
    at_alarms_close(&home->alarms, NULL);
}

void at_grpc_home_deinit(struct at_grpc_home *home)
{
    AT_ASSERT(!home->conns);
    while (home->orphans) { /* whose handlers never finished */
        struct at_grpc_call *call = home->orphans;
        home->orphans = call->next;
        at_grpc_call_free(call);
    }
    while (home->pool) {
        struct at_grpc_call *call = home->pool;
        home->pool = call->next;
        at_grpc_call_free(call);
    }
    at_alarms_deinit(&home->alarms);
    at_h2_scratch_deinit(&home->scratch);
}

void at_grpc_home_adopt(struct at_grpc_home *home, int fd)
{
    struct at_grpc_conn *conn = AT_NEW(struct at_grpc_conn);
    conn->home = home;
    conn->next = home->conns;
    conn->prev_next = &home->conns;
    if (conn->next)
        conn->next->prev_next = &conn->next;
    home->conns = conn;
    at_h2_conn_init(&conn->h2, home->loop, &home->scratch, &at_grpc_conn_ops);
    if (uv_tcp_open(&conn->h2.tcp, fd) != 0) {
        (void)close(fd);
        at_h2_conn_close(&conn->h2);
    } else if (home->draining || !at_grpc_conn_start(conn)) {
        at_h2_conn_close(&conn->h2);
    }
}

/* The grace of a drain is over: what is still open ends now. */
static void on_grace_over(struct at_alarm *alarm)
{
    struct at_grpc_home *home =
        (struct at_grpc_home *)((char *)alarm - offsetof(struct at_grpc_home, grace));
    struct at_grpc_conn *next;
    for (struct at_grpc_conn *conn = home->conns; conn; conn = next) {
        next = conn->next;
        (void)nghttp2_session_terminate_session(conn->h2.session, NGHTTP2_CANCEL);
        at_h2_conn_fail(&conn->h2);
    }
}

void at_grpc_home_check_drained(struct at_grpc_home *home)
{
    if (home->drained || home->call_count > 0 || home->conns)
        return;
    home->drained = true;
    at_alarms_clear(&home->alarms, &home->grace);
    at_grpc_server_home_drained(home->server);
}

static void on_drain(struct at_task *task)
{
    struct at_grpc_home *home =
        (struct at_grpc_home *)((char *)task - offsetof(struct at_grpc_home, drain_task));
    home->draining = true;
    if (home == home->server->homes)
        at_grpc_server_stop_listening(home->server);
    for (struct at_grpc_conn *conn = home->conns; conn; conn = conn->next)
        at_grpc_conn_drain(conn);
    uint64_t grace_ns = home->server->grace_ms * AT_MS_NS;
    at_alarms_set(&home->alarms, &home->grace, at_loop_now_ns(home->loop) + grace_ns);
    at_grpc_home_check_drained(home);
}
