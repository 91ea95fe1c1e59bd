/* grpc_server.c: listening, and handing connections to the loops in turn.
 *
 * The first loop accepts for all: with the few connections that a gRPC client opens, taking turns
 * spreads them better than the kernel's hashing over several listening sockets would. */
#include "wire/grpc_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/log.h"
#include "wire/grpc_server_impl.h"

#define BACKLOG 1024
#define ACCEPTS_PER_TURN 64
#define LISTEN_AGAIN_MS 100
#define RESETS_BURST 10000 /* streams reset by the client, before nghttp2 ends the connection */
#define RESETS_PER_S 2000

struct adoption {
    struct at_task task;
    struct at_grpc_home *home;
    int fd;
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static enum at_code
listen_on(const struct at_grpc_server_config *config, int *ret_fd, struct at_error *reterr);
static void index_methods(struct at_grpc_server *server);
static void make_session_template(struct at_grpc_server *server);
static void start_listening(struct at_grpc_server *server, struct at_loop *loop);
static void on_acceptable(uv_poll_t *poll, int status, int events);
static void on_listen_again(uv_timer_t *timer);
static void on_all_drained(struct at_task *task);

/* Half of the descriptors are left to all else: a flood of connections must not keep the database
 * from opening its files. */
static uint32_t conn_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / 2 >= AT_GRPC_CONNECTIONS_MAX)
        return AT_GRPC_CONNECTIONS_MAX;
    return (uint32_t)(limit.rlim_cur / 2);
}

static uint16_t port_of(int fd)
{
    union address address;
    socklen_t len = sizeof(address);
    memset(&address, 0, sizeof(address));
    if (getsockname(fd, &address.any, &len) != 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

enum at_code at_grpc_server_open(const struct at_grpc_server_config *config,
                                 struct at_grpc_server **ret_server,
                                 struct at_error *reterr)
{
    AT_ASSERT(config->loop_count > 0);
    int fd = -1;
    AT_TRY(listen_on(config, &fd, reterr));
    struct at_grpc_server *server = AT_NEW(struct at_grpc_server);
    server->methods = config->methods;
    server->method_count = config->method_count;
    server->streams = config->streams;
    server->stream_count = config->stream_count;
    server->listen_fd = fd;
    server->port = port_of(fd);
    server->drained_task.run = on_all_drained;
    server->conn_count_max = conn_limit();
    index_methods(server);
    make_session_template(server);
    server->home_count = config->loop_count;
    server->homes = at_alloc(config->loop_count * sizeof(*server->homes));
    for (uint32_t i = 0; i < config->loop_count; i++)
        at_grpc_home_init(&server->homes[i], server, config->loops[i]);
    start_listening(server, config->loops[0]);
    *ret_server = server;
    return AT_OK;
}

static enum at_code
listen_on(const struct at_grpc_server_config *config, int *ret_fd, struct at_error *reterr)
{
    union address address;
    socklen_t len;
    memset(&address, 0, sizeof(address));
    if (inet_pton(AF_INET, config->host, &address.v4.sin_addr) == 1) {
        address.v4.sin_family = AF_INET;
        address.v4.sin_port = htons(config->port);
        len = sizeof(address.v4);
    } else if (inet_pton(AF_INET6, config->host, &address.v6.sin6_addr) == 1) {
        address.v6.sin6_family = AF_INET6;
        address.v6.sin6_port = htons(config->port);
        len = sizeof(address.v6);
    } else {
        return at_fail(reterr, AT_UNAVAILABLE, "%s is not a numeric address", config->host);
    }
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, &address.any, len) != 0 || listen(fd, BACKLOG) != 0) {
        int error = errno;
        if (fd >= 0)
            (void)close(fd);
        return at_fail(reterr, AT_UNAVAILABLE, "cannot listen on %s:%u: %s", config->host,
                       (unsigned)config->port, uv_strerror(-error));
    }
    *ret_fd = fd;
    return AT_OK;
}

static void index_methods(struct at_grpc_server *server)
{
    size_t slots = 16;
    while (slots < 2 * server->method_count)
        slots *= 2;
    server->slots = at_alloc(slots * sizeof(const struct at_grpc_method *));
    server->slot_mask = slots - 1;
    for (size_t i = 0; i < server->method_count; i++) {
        struct at_slice path = at_slice_cstr(server->methods[i].path);
        size_t at = at_hash64(path, 0) & server->slot_mask;
        while (server->slots[at])
            at = (at + 1) & server->slot_mask;
        server->slots[at] = &server->methods[i];
    }
}

const struct at_grpc_method *at_grpc_server_find(const struct at_grpc_server *server,
                                                 struct at_slice path)
{
    size_t at = at_hash64(path, 0) & server->slot_mask;
    while (server->slots[at] && !at_slice_eq_cstr(path, server->slots[at]->path))
        at = (at + 1) & server->slot_mask;
    return server->slots[at];
}

static void make_session_template(struct at_grpc_server *server)
{
    int rc = nghttp2_session_callbacks_new(&server->callbacks);
    AT_ASSERT(rc == 0);
    at_grpc_conn_set_callbacks(server->callbacks);
    rc = nghttp2_option_new(&server->option);
    AT_ASSERT(rc == 0);
    nghttp2_option_set_no_auto_window_update(server->option, 1);
    nghttp2_option_set_no_closed_streams(server->option, 1);
    nghttp2_option_set_server_fallback_rfc7540_priorities(server->option, 0);
    nghttp2_option_set_stream_reset_rate_limit(server->option, RESETS_BURST, RESETS_PER_S);
}

static void start_listening(struct at_grpc_server *server, struct at_loop *loop)
{
    int rc = uv_poll_init(at_loop_uv(loop), &server->listener, server->listen_fd);
    AT_ASSERT(rc == 0);
    server->listener.data = server;
    rc = uv_timer_init(at_loop_uv(loop), &server->listen_again);
    AT_ASSERT(rc == 0);
    server->listen_again.data = server;
    rc = uv_poll_start(&server->listener, UV_READABLE, on_acceptable);
    AT_ASSERT(rc == 0);
}

void at_grpc_server_stop_listening(struct at_grpc_server *server)
{
    if (server->listen_fd < 0)
        return;
    uv_close((uv_handle_t *)&server->listener, NULL);
    uv_close((uv_handle_t *)&server->listen_again, NULL);
    (void)close(server->listen_fd);
    server->listen_fd = -1;
}

uint16_t at_grpc_server_port(const struct at_grpc_server *server)
{
    return server->port;
}

static void run_adoption(struct at_task *task)
{
    struct adoption *adoption = (struct adoption *)task;
    at_grpc_home_adopt(adoption->home, adoption->fd);
    at_free(adoption);
}

static void hand_over(struct at_grpc_server *server, int fd)
{
    struct at_grpc_home *home = &server->homes[server->next_home];
    server->next_home = (server->next_home + 1) % server->home_count;
    if (home == server->homes) {
        at_grpc_home_adopt(home, fd);
        return;
    }
    struct adoption *adoption = AT_NEW(struct adoption);
    adoption->task.run = run_adoption;
    adoption->home = home;
    adoption->fd = fd;
    at_loop_post(home->loop, &adoption->task);
}

static void on_acceptable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct at_grpc_server *server = poll->data;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(server->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
            at_log(AT_LOG_WARN, "cannot accept, retrying", AT_KV_STR("error", uv_strerror(-errno)));
            (void)uv_poll_stop(poll);
            (void)uv_timer_start(&server->listen_again, on_listen_again, LISTEN_AGAIN_MS, 0);
            return;
        }
        if (fd < 0)
            return; /* none waits, or it has gone already */
        if (atomic_fetch_add_explicit(&server->conn_count, 1, memory_order_relaxed) >=
            server->conn_count_max) {
            atomic_fetch_sub_explicit(&server->conn_count, 1, memory_order_relaxed);
            (void)close(fd);
            continue;
        }
        hand_over(server, fd);
    }
}

static void on_listen_again(uv_timer_t *timer)
{
    struct at_grpc_server *server = timer->data;
    (void)uv_poll_start(&server->listener, UV_READABLE, on_acceptable);
}

void at_grpc_server_drain(struct at_grpc_server *server,
                          uint32_t grace_ms,
                          void (*on_drained)(void *ctx),
                          void *ctx)
{
    bool begun = atomic_exchange(&server->drain_begun, true);
    AT_ASSERT(!begun);
    server->grace_ms = grace_ms;
    server->on_drained = on_drained;
    server->on_drained_ctx = ctx;
    atomic_store(&server->undrained_count, server->home_count);
    for (uint32_t i = 0; i < server->home_count; i++)
        at_loop_post(server->homes[i].loop, &server->homes[i].drain_task);
}

void at_grpc_server_home_drained(struct at_grpc_server *server)
{
    if (atomic_fetch_sub(&server->undrained_count, 1) == 1)
        at_loop_post(server->homes[0].loop, &server->drained_task);
}

static void on_all_drained(struct at_task *task)
{
    struct at_grpc_server *server =
        (struct at_grpc_server *)((char *)task - offsetof(struct at_grpc_server, drained_task));
    if (server->on_drained)
        server->on_drained(server->on_drained_ctx);
}

void at_grpc_server_close(struct at_grpc_server **server_ptr)
{
    struct at_grpc_server *server = AT_TAKE(*server_ptr);
    if (!server)
        return;
    at_grpc_server_stop_listening(server);
    for (uint32_t i = 0; i < server->home_count; i++) {
        struct at_grpc_home *home = &server->homes[i];
        at_loop_settle(home->loop); /* takes over what was posted before the loops stopped */
        at_grpc_home_close(home);
        at_loop_settle(home->loop);
        at_grpc_home_deinit(home);
    }
    nghttp2_session_callbacks_del(server->callbacks);
    nghttp2_option_del(server->option);
    at_free(server->slots);
    at_free(server->homes);
    at_free(server);
}
