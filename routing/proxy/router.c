/* router.c: the life of a router process.
 *
 *   fronts (channels, heartbeats) -> listen for gRPC and HTTP -> first profiles heard -> run file
 *   SIGTERM: NOT_SERVING, GOAWAY, let open calls end (5 s at most), close
 *
 * The run file is written once the router knows app profiles from a cluster that is up: from then
 * on a request can be answered. Until then requests get UNAVAILABLE. */
#include "routing/proxy/router.h"

#include <signal.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "base/runfile.h"
#include "routing/proxy/desk.h"
#include "routing/proxy/http.h"
#include "routing/proxy/status.h"
#include "wire/grpc_health.h"
#include "wire/grpc_reflection.h"

#define DRAIN_MS 5000
#define READY_POLL_MS 2
#define PATIENCE_MS 2000
#define LOOPS_MAX AT_FLEET_LOOPS_MAX
#define METHODS_MAX 128

struct at_router {
    const struct at_router_config *config;
    struct at_clock clock;
    struct at_fleet fleet;
    struct at_loop *loops[LOOPS_MAX];
    uint32_t loop_count;
    struct at_desk desk;
    struct at_desk_method own[METHODS_MAX];
    struct at_grpc_method methods[METHODS_MAX];
    size_t method_count;
    struct at_grpc_health health;
    struct at_grpc_reflection reflection;
    struct at_grpc_server *server;
    struct at_http *http;
    uv_signal_t signals[2];
    uv_timer_t ready_timer;
    uint32_t polls;
    bool failed; /* the run file could not be written */
};

static enum at_code open_fleet(struct at_router *r, struct at_error *reterr);
static void fill_methods(struct at_router *r);
static enum at_code listen_all(struct at_router *r, struct at_error *reterr);
static void on_ready_timer(uv_timer_t *timer);
static void on_signal(uv_signal_t *handle, int number);
static void begin_drain(struct at_router *r);
static void on_drained(void *ctx);
static void shut_down(struct at_router *r);
static enum at_code run(struct at_router *r, struct at_error *reterr);

int at_router_main(const struct at_router_config *config)
{
    struct at_error error = {0};
    struct at_router *r = AT_NEW(struct at_router);
    r->config = config;
    r->clock = at_clock_system();
    enum at_code code = run(r, &error);
    if (code != AT_OK)
        (void)fprintf(stderr, "atoll router: %s: %s\n", at_code_name(code), error.msg);
    shut_down(r);
    bool ok = code == AT_OK && !r->failed;
    at_free(r);
    return ok ? 0 : 1;
}

static enum at_code run(struct at_router *r, struct at_error *reterr)
{
    r->loop_count = r->config->loop_count;
    AT_ASSERT(r->loop_count >= 1 && r->loop_count <= LOOPS_MAX);
    for (uint32_t i = 0; i < r->config->instance->cluster_count; i++)
        if (r->config->instance->clusters[i].grpc_port == 0)
            return at_fail(reterr, AT_FAILED_PRECONDITION,
                           "the instance file is not resolved; it is what `atoll up` writes");
    AT_TRY(open_fleet(r, reterr));
    fill_methods(r);
    AT_TRY(listen_all(r, reterr));
    for (uint32_t i = 1; i < r->loop_count; i++)
        AT_TRY(at_loop_start(r->loops[i], "atoll-loop", reterr));
    at_loop_run(r->loops[0]);
    return AT_OK;
}

static enum at_code open_fleet(struct at_router *r, struct at_error *reterr)
{
    for (uint32_t i = 0; i < r->loop_count; i++)
        r->loops[i] = at_loop_new(r->clock);
    at_fleet_init(&r->fleet, r->loops, r->loop_count);
    at_desk_init(&r->desk, &r->fleet, r->config->program, r->config->state_dir);
    AT_TRY(at_fleet_add(&r->fleet, r->config->instance, NULL, true, (struct at_fleet_done){0},
                        reterr));
    at_desk_resume(&r->desk);
    return AT_OK;
}

static bool is_serving(void *ctx)
{
    struct at_fleet *fleet = ctx;
    return atomic_load(&fleet->serving);
}

static void fill_methods(struct at_router *r)
{
    static const char *const SERVICES[] = {"google.bigtable.v2.Bigtable",
                                           "google.bigtable.admin.v2.BigtableTableAdmin",
                                           "google.bigtable.admin.v2.BigtableInstanceAdmin"};
    uint32_t count;
    const struct at_route_method *routes = at_route_methods(&count);
    AT_ASSERT(count + 1 + AT_GRPC_HEALTH_METHODS + AT_GRPC_REFLECTION_METHODS <= METHODS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        r->own[i] = (struct at_desk_method){.forward = {.method = &routes[i], .fleet = &r->fleet},
                                            .desk = &r->desk};
        void (*handler)(struct at_grpc_call * call, void *ctx) = at_desk_handler(&routes[i]);
        r->methods[i] = (struct at_grpc_method){
            .path = routes[i].path,
            .on_request = handler ? handler : at_forward_request,
            .ctx = handler ? (void *)&r->own[i] : (void *)&r->own[i].forward};
    }
    at_status_method(&r->fleet, &r->methods[count++]);
    r->health = (struct at_grpc_health){.serving = is_serving,
                                        .ctx = &r->fleet,
                                        .services = SERVICES,
                                        .service_count = sizeof(SERVICES) / sizeof(SERVICES[0])};
    at_grpc_health_methods(&r->health, &r->methods[count]);
    count += AT_GRPC_HEALTH_METHODS;
    at_grpc_reflection_methods(&r->reflection, &r->methods[count]);
    r->method_count = count + AT_GRPC_REFLECTION_METHODS;
    r->reflection =
        (struct at_grpc_reflection){.methods = r->methods, .method_count = r->method_count};
}

static enum at_code listen_all(struct at_router *r, struct at_error *reterr)
{
    const struct at_instance_config *instance = r->config->instance;
    struct at_grpc_server_config server = {
        .host = "127.0.0.1",
        .port = instance->grpc_port,
        .loops = r->loops,
        .loop_count = r->loop_count,
        .methods = r->methods,
        .method_count = r->method_count,
        .streams = at_grpc_reflection_streams(),
        .stream_count = AT_GRPC_REFLECTION_METHODS,
    };
    AT_TRY(at_grpc_server_open(&server, &r->server, reterr));
    r->fleet.grpc_port = at_grpc_server_port(r->server);
    AT_TRY(at_http_start(&r->fleet, instance->http_port, &r->http, reterr));
    r->fleet.http_port = at_http_port(r->http);
    uv_loop_t *uv = at_loop_uv(r->loops[0]);
    const int numbers[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
        (void)uv_signal_init(uv, &r->signals[i]);
        r->signals[i].data = r;
        (void)uv_signal_start(&r->signals[i], on_signal, numbers[i]);
    }
    (void)uv_timer_init(uv, &r->ready_timer);
    r->ready_timer.data = r;
    (void)uv_timer_start(&r->ready_timer, on_ready_timer, 0, READY_POLL_MS);
    return AT_OK;
}

/* Does every loop know the profiles, and are all clusters up? When patience is over, one that is
 * up will do, and instances beside the router's own are waited for no longer. */
static bool is_ready(struct at_router *r, struct at_realm *realm, bool patient)
{
    struct at_board_view views[AT_BOARD_TARGETS_MAX];
    uint32_t up = 0, count = at_board_views(&realm->board, views);
    for (uint32_t i = 0; i < count; i++)
        up += views[i].up;
    if (!patient && !realm->primary)
        return true;
    bool enough = (up == count && count > 0) || (up > 0 && !patient);
    return enough && atomic_load(&realm->board.informed) >= r->loop_count;
}

static void on_ready_timer(uv_timer_t *timer)
{
    struct at_router *r = timer->data;
    r->polls++;
    bool patient = r->polls * READY_POLL_MS < PATIENCE_MS;
    for (struct at_realm *realm = r->fleet.realms; realm; realm = realm->next)
        if (!is_ready(r, realm, patient))
            return;
    (void)uv_timer_stop(timer);
    atomic_store(&r->fleet.serving, true);
    struct at_runfile_port ports[] = {{"grpc", r->fleet.grpc_port}, {"http", r->fleet.http_port}};
    struct at_error error;
    if (at_runfile_write(r->config->run_file, ports, 2, &error) != AT_OK) {
        at_log(AT_LOG_ERROR, "run file not written", AT_KV_STR("error", error.msg));
        r->failed = true;
        begin_drain(r);
        return;
    }
    at_log(AT_LOG_INFO, "serving", AT_KV_U64("grpc_port", r->fleet.grpc_port),
           AT_KV_U64("http_port", r->fleet.http_port));
}

static void on_signal(uv_signal_t *handle, int number)
{
    at_log(AT_LOG_INFO, "draining", AT_KV_I64("signal", number));
    begin_drain(handle->data);
}

static void begin_drain(struct at_router *r)
{
    if (uv_is_closing((uv_handle_t *)&r->ready_timer))
        return; /* draining already; it is bounded */
    uv_close((uv_handle_t *)&r->ready_timer, NULL);
    atomic_store(&r->fleet.serving, false);
    at_grpc_server_drain(r->server, DRAIN_MS, on_drained, r);
}

static void on_drained(void *ctx)
{
    struct at_router *r = ctx;
    for (uint32_t i = 0; i < r->loop_count; i++)
        at_loop_stop(r->loops[i]);
}

/* Twice: what runs on one loop may post to another. */
static void settle_all(struct at_router *r)
{
    for (uint32_t i = 0; i < 2 * r->loop_count; i++)
        if (r->loops[i % r->loop_count])
            at_loop_settle(r->loops[i % r->loop_count]);
}

/* Also after a start that failed half way. */
static void shut_down(struct at_router *r)
{
    for (uint32_t i = 1; i < r->loop_count; i++) {
        if (!r->loops[i])
            continue;
        at_loop_stop(r->loops[i]);
        at_loop_join(r->loops[i]);
    }
    at_http_stop(&r->http);
    uv_handle_t *handles[] = {(uv_handle_t *)&r->ready_timer, (uv_handle_t *)&r->signals[0],
                              (uv_handle_t *)&r->signals[1]};
    for (int i = 0; i < 3; i++)
        if (handles[i]->data && !uv_is_closing(handles[i]))
            uv_close(handles[i], NULL);
    at_grpc_server_close(&r->server); /* before the fronts: calls that are left give up there */
    settle_all(r);
    if (r->fleet.lanes) {
        at_desk_close(&r->desk);
        settle_all(r);
        at_fleet_close(&r->fleet);
        settle_all(r);
        at_desk_deinit(&r->desk);
        at_fleet_deinit(&r->fleet);
    }
    for (uint32_t i = 0; i < r->loop_count; i++)
        if (r->loops[i])
            at_loop_free(&r->loops[i]);
    at_log(AT_LOG_INFO, "stopped");
}
