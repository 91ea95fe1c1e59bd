/* router_fixture.h: fake clusters, the loops of a router in front of them, and a client. */
#ifndef ATOLL_TESTS_UNIT_ROUTING_PROXY_ROUTER_FIXTURE_H
#define ATOLL_TESTS_UNIT_ROUTING_PROXY_ROUTER_FIXTURE_H

#include "base/alloc.h"
#include "routing/proxy/forward.h"
#include "support/fake_cluster.h"

#define R_CLUSTERS 3
#define R_LOOPS 2
#define R_METHODS_MAX 128
/* A heartbeat is lost after three times as long: a busy machine must not lose any. */
#define R_HEARTBEAT_MS 500
/* A call that is to succeed. It goes elsewhere after half of that, so not because of the machine.
 */
#define R_CALL_MS 60000
#define R_DATA "/google.bigtable.v2.Bigtable/"
#define R_INSTANCES "/google.bigtable.admin.v2.BigtableInstanceAdmin/"

/* What one call gave. */
struct got {
    struct at_loop *loop;
    bool done;
    enum at_code code;
    char message[256];
    struct at_buf body;
    size_t body_bytes;
    uint32_t message_count;
    bool discard; /* count the bytes, do not keep them */
    char header_by[32];
    char trailer_by[32];
    char timing[64];
    uint32_t header_by_count;
    bool private_seen;
    uint8_t details[8];
    size_t details_len;
};

struct router_fixture {
    struct fake_cluster fakes[R_CLUSTERS];
    struct at_cluster_config clusters[R_CLUSTERS];
    struct at_instance_config instance;
    struct at_loop *loops[R_LOOPS];
    struct at_fleet fleet;
    struct at_realm *realm; /* of `instance` */
    struct at_board *board;
    struct at_front **fronts;
    struct at_forward_method forwards[R_METHODS_MAX];
    struct at_grpc_method methods[R_METHODS_MAX];
    struct at_grpc_server *server;
    struct at_loop *loop; /* of the client */
    struct at_grpc_channel *channel;
};

static const struct fake_profile R_PROFILES[] = {
    {.id = "default"},
    {.id = "one", .single = "c1"},
    {.id = "tx", .single = "c1", .transactional = true},
    {.id = "pair", .group = {"c2", "c3", NULL}},
    {.id = "gone", .single = "c9"},
};
#define R_PROFILE_COUNT (sizeof(R_PROFILES) / sizeof(R_PROFILES[0]))

static inline void r_note(struct got *g, const struct at_grpc_metadata *m, bool header)
{
    if (at_slice_eq_cstr(m->name, FAKE_SERVED_BY)) {
        fake_copy_text(header ? g->header_by : g->trailer_by, sizeof(g->header_by), m->value);
        g->header_by_count++;
    } else if (at_slice_eq_cstr(m->name, "server-timing")) {
        fake_copy_text(g->timing, sizeof(g->timing), m->value);
    } else if (at_slice_eq_cstr(m->name, "x-private")) {
        g->private_seen = true;
    }
}

static inline void r_on_headers(void *ctx, const struct at_grpc_metadata *metadata, size_t count)
{
    for (size_t i = 0; i < count; i++)
        r_note(ctx, &metadata[i], true);
}

static inline void r_on_message(void *ctx, struct at_slice message)
{
    struct got *g = ctx;
    g->body_bytes += message.len;
    g->message_count++;
    if (!g->discard)
        assert_int_equal(at_buf_append(&g->body, message), AT_OK);
}

static inline void r_on_done(void *ctx, const struct at_grpc_result *result)
{
    struct got *g = ctx;
    g->done = true;
    g->code = result->code;
    fake_copy_text(g->message, sizeof(g->message), result->message);
    for (size_t i = 0; i < result->trailer_count; i++)
        r_note(g, &result->trailers[i], false);
    g->details_len = result->details.len;
    if (result->details.len > 0 && result->details.len <= sizeof(g->details))
        memcpy(g->details, result->details.data, result->details.len);
    at_loop_stop(g->loop);
}

static const struct at_grpc_client_handler R_HANDLER = {
    .on_headers = r_on_headers, .on_message = r_on_message, .on_done = r_on_done};

static inline void r_got_init(struct got *g, struct at_loop *loop)
{
    memset(g, 0, sizeof(*g));
    g->loop = loop;
    at_buf_init(&g->body, AT_GRPC_MESSAGE_BYTES_MAX);
}

static inline struct at_grpc_client_call *r_start(struct router_fixture *r,
                                                  struct got *g,
                                                  const char *path,
                                                  struct at_slice message,
                                                  uint64_t timeout_ms)
{
    static const struct at_grpc_metadata METADATA[] = {
        {AT_LIT_INIT("bigtable-features"), AT_LIT_INIT("CgwKAggB"), false},
        {AT_LIT_INIT("atoll-write-micros"), AT_LIT_INIT("1"), true}, /* not the client's to say */
    };
    r_got_init(g, r->loop);
    uint64_t now_ns = at_clock_mono_ns(at_loop_clock(r->loop));
    struct at_grpc_client_request request = {
        .path = path,
        .message = message,
        .deadline_ns = timeout_ms ? now_ns + timeout_ms * AT_MS_NS : UINT64_MAX,
        .metadata = METADATA,
        .metadata_count = 2,
        .handler = &R_HANDLER,
        .ctx = g};
    return at_grpc_client_start(r->channel, &request);
}

static inline void r_wait(struct got *g)
{
    while (!g->done)
        at_loop_run(g->loop);
}

/* r_call makes one call to its end; returns how long it took. */
static inline uint64_t r_call(struct router_fixture *r,
                              struct got *g,
                              const char *path,
                              struct at_slice message,
                              uint64_t timeout_ms)
{
    uint64_t from_ns = at_clock_mono_ns(at_loop_clock(r->loop));
    (void)r_start(r, g, path, message, timeout_ms);
    r_wait(g);
    return (at_clock_mono_ns(at_loop_clock(r->loop)) - from_ns) / AT_MS_NS;
}

static inline void r_got_deinit(struct got *g)
{
    at_buf_deinit(&g->body);
}

/* R_TURN_UNTIL is FAKE_WAIT while the client's loop turns. */
#define R_TURN_UNTIL(loop, condition) FAKE_WAIT((at_loop_settle(loop), (condition)))

/* Connected when it returns: a server does not wait long for those that say nothing. */
static inline struct at_grpc_channel *r_open_channel(struct router_fixture *r)
{
    struct at_grpc_channel_config config = {.host = "127.0.0.1",
                                            .port = at_grpc_server_port(r->server),
                                            .connection_count = 1,
                                            .connect_timeout_ms = 20000,
                                            .keepalive_ms = 60000};
    struct at_grpc_channel *channel = NULL;
    struct at_error error;
    assert_int_equal(at_grpc_channel_open(r->loop, &config, &channel, &error), AT_OK);
    R_TURN_UNTIL(r->loop, at_grpc_channel_connected(channel));
    return channel;
}

/* Fake clusters c1 (in the router's zone), c2, c3, all up, and an instance that names them. */
static inline void r_init_clusters(struct router_fixture *r)
{
    static const char *const IDS[R_CLUSTERS] = {"c1", "c2", "c3"};
    static const char *const ZONES[R_CLUSTERS] = {"z1", "z2", "z3"};
    static struct at_latency_config latencies[] = {{"z1", "z2", 10}, {"z3", "z1", 30}};
    memset(r, 0, sizeof(*r));
    r->instance = (struct at_instance_config){.project = "p",
                                              .instance = "drill",
                                              .clusters = r->clusters,
                                              .cluster_count = R_CLUSTERS,
                                              .router_zone = "z1",
                                              .latencies = latencies,
                                              .latency_count = 2,
                                              .heartbeat_ms = R_HEARTBEAT_MS,
                                              .return_lag_ms_max = 1000};
    for (uint32_t i = 0; i < R_CLUSTERS; i++) {
        fake_init(&r->fakes[i], IDS[i], ZONES[i]);
        fake_set_profiles(&r->fakes[i], R_PROFILES, R_PROFILE_COUNT, 77);
        fake_up(&r->fakes[i]);
        r->clusters[i] = (struct at_cluster_config){
            .id = IDS[i], .zone = ZONES[i], .host = "127.0.0.1", .grpc_port = r->fakes[i].port};
    }
}

static inline void r_deinit_clusters(struct router_fixture *r)
{
    for (uint32_t i = 0; i < R_CLUSTERS; i++)
        fake_deinit(&r->fakes[i]);
}

static inline void r_open_fronts(struct router_fixture *r)
{
    struct at_error error;
    for (uint32_t i = 0; i < R_LOOPS; i++)
        r->loops[i] = at_loop_new(at_clock_system());
    at_fleet_init(&r->fleet, r->loops, R_LOOPS);
    assert_int_equal(
        at_fleet_add(&r->fleet, &r->instance, NULL, true, (struct at_fleet_done){0}, &error),
        AT_OK);
    r->realm = r->fleet.realms;
    r->board = &r->realm->board;
    r->fronts = r->realm->fronts;
}

static inline void r_start_loops(struct router_fixture *r)
{
    struct at_error error;
    for (uint32_t i = 0; i < R_LOOPS; i++)
        assert_int_equal(at_loop_start(r->loops[i], "router", &error), AT_OK);
}

/* A look at one front, on its loop. */
struct r_look {
    struct at_task task;
    struct at_front *front;
    bool (*holds)(const struct at_front *front, uint32_t i);
    uint32_t i;
    bool held;
    _Atomic bool taken;
};

static inline void r_run_look(struct at_task *task)
{
    struct r_look *look = (struct r_look *)task;
    look->held = look->holds(look->front, look->i);
    atomic_store(&look->taken, true);
}

/* r_on_all says whether `holds` on all loops, which run: the board shows what the first one knows,
 * and the others hear of it at other times. */
static inline bool r_on_all(struct router_fixture *r,
                            bool (*holds)(const struct at_front *front, uint32_t i),
                            uint32_t i)
{
    static struct r_look looks[R_LOOPS]; /* static: a test that fails does not wait for them */
    bool all = true;
    for (uint32_t k = 0; k < R_LOOPS; k++) {
        looks[k] =
            (struct r_look){.task.run = r_run_look, .front = r->fronts[k], .holds = holds, .i = i};
        at_loop_post(r->loops[k], &looks[k].task);
    }
    for (uint32_t k = 0; k < R_LOOPS; k++) {
        FAKE_WAIT(atomic_load(&looks[k].taken));
        all = all && looks[k].held;
    }
    return all;
}

static inline bool r_front_is_up(const struct at_front *front, uint32_t unused)
{
    (void)unused;
    for (uint32_t i = 0; i < front->target_count; i++)
        if (front->targets[i].state == AT_FRONT_MEMBER && !front->targets[i].health.up)
            return false;
    return front->profiles.known;
}

static inline bool r_all_up(struct router_fixture *r)
{
    return r_on_all(r, r_front_is_up, 0);
}

static inline bool r_front_lacks(const struct at_front *front, uint32_t i)
{
    return !front->targets[i].health.up;
}

/* r_all_lack says whether cluster `i` is down for all loops. */
static inline bool r_all_lack(struct router_fixture *r, uint32_t i)
{
    return r_on_all(r, r_front_lacks, i);
}

static inline void r_stop_loops(struct router_fixture *r)
{
    for (uint32_t i = 0; i < R_LOOPS; i++)
        at_loop_stop(r->loops[i]);
    for (uint32_t i = 0; i < R_LOOPS; i++)
        at_loop_join(r->loops[i]);
}

static inline void r_settle(struct router_fixture *r)
{
    for (uint32_t i = 0; i < 2 * R_LOOPS; i++)
        at_loop_settle(r->loops[i % R_LOOPS]);
}

static inline void r_close_fronts(struct router_fixture *r)
{
    r_settle(r);
    at_fleet_close(&r->fleet);
    r_settle(r);
}

static inline void r_free_fronts(struct router_fixture *r)
{
    at_fleet_deinit(&r->fleet);
    for (uint32_t i = 0; i < R_LOOPS; i++)
        at_loop_free(&r->loops[i]);
}

/* r_serve makes a server of `methods` alone, on loops[0], with a client. */
static inline void
r_serve(struct router_fixture *r, const struct at_grpc_method *methods, size_t count)
{
    struct at_error error;
    memset(r, 0, sizeof(*r));
    r->loops[0] = at_loop_new(at_clock_system());
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .loops = r->loops,
                                           .loop_count = 1,
                                           .methods = methods,
                                           .method_count = count};
    assert_int_equal(at_grpc_server_open(&config, &r->server, &error), AT_OK);
    assert_int_equal(at_loop_start(r->loops[0], "server", &error), AT_OK);
    r->loop = at_loop_new(at_clock_system());
    r->channel = r_open_channel(r);
}

static inline void r_serve_end(struct router_fixture *r)
{
    at_grpc_channel_close(&r->channel);
    at_loop_free(&r->loop);
    at_loop_stop(r->loops[0]);
    at_loop_join(r->loops[0]);
    at_grpc_server_close(&r->server);
    at_loop_free(&r->loops[0]);
}

static inline void r_up(struct router_fixture *r)
{
    uint32_t count;
    struct at_error error;
    const struct at_route_method *routes = at_route_methods(&count);
    r_init_clusters(r);
    r_open_fronts(r);
    for (uint32_t i = 0; i < count; i++) {
        r->forwards[i] = (struct at_forward_method){.method = &routes[i], .fleet = &r->fleet};
        r->methods[i] =
            (struct at_grpc_method){routes[i].path, at_forward_request, &r->forwards[i]};
    }
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .loops = r->loops,
                                           .loop_count = R_LOOPS,
                                           .methods = r->methods,
                                           .method_count = count};
    assert_int_equal(at_grpc_server_open(&config, &r->server, &error), AT_OK);
    r_start_loops(r);
    r->loop = at_loop_new(at_clock_system());
    r->channel = r_open_channel(r);
    FAKE_WAIT(r_all_up(r));
}

static inline void r_down(struct router_fixture *r)
{
    at_grpc_channel_close(&r->channel);
    at_loop_free(&r->loop);
    r_stop_loops(r);
    at_grpc_server_close(&r->server);
    r_close_fronts(r);
    r_free_fronts(r);
    r_deinit_clusters(r);
}

#endif
