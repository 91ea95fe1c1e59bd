/* service_fixture.h: a cluster's data service over loopback: a real store with a clock that stands
 * still, a gRPC server on two loops, and a channel on the test's thread. Requests are wire_text. */
#ifndef ATOLL_TESTS_SUPPORT_SERVICE_FIXTURE_H
#define ATOLL_TESTS_SUPPORT_SERVICE_FIXTURE_H

#include <stdatomic.h>

#include "appprofile/profile.h"
#include "cluster/service/data.h"
#include "cluster/service/service.h"
#include "cluster/service/state.h"
#include "support/row_reader.h"
#include "support/store_fixture.h"
#include "support/test.h"
#include "support/wire_text.h"
#include "wire/grpc_client.h"

#define SFX_LOOPS 2
#define SFX_METHODS_MAX 32
#define SFX_WALL_NS UINT64_C(1700000000123456789)
#define SFX_NOW "1700000000123000" /* as a cell's timestamp */
#define SFX_BIGTABLE "/google.bigtable.v2.Bigtable/"
#define SFX_PROFILES 5

struct sfx {
    struct fx fx;
    struct at_arena arena; /* of the profiles */
    struct at_catalog_record profiles[SFX_PROFILES];
    struct at_service service;
    struct at_grpc_method methods[SFX_METHODS_MAX];
    struct at_loop *loops[SFX_LOOPS];
    struct at_grpc_server *server;
    struct at_loop *loop; /* of the test */
    struct at_grpc_channel *channel;
};

/* One call and what came of it. */
struct sfx_call {
    struct sfx *s;
    struct at_arena arena;
    bool done;
    enum at_code code;
    char message[512];
    unsigned message_count;
    struct at_buf first; /* the first message */
    struct row_reader rows;
    bool read_rows;
    struct at_slice response_params;
    struct at_slice details;                                         /* google.rpc.Status */
    void (*on_message)(struct sfx_call *c, struct at_slice message); /* NULL: none */
    void *ctx;
};

static inline uint64_t sfx_wall_ns(void *ctx)
{
    (void)ctx;
    return SFX_WALL_NS;
}

static inline void
sfx_profile(struct sfx *s, unsigned index, const char *name, const struct at_profile *profile)
{
    struct at_buf bytes;

    at_buf_init(&bytes, AT_KIB);
    assert_int_equal(at_profile_encode(profile, &bytes), AT_OK);
    s->profiles[index] = (struct at_catalog_record){
        .kind = AT_CATALOG_PROFILE,
        .name = at_slice_cstr(name),
        .counter = 1,
        .fields = at_arena_copy(&s->arena, at_buf_slice(&bytes)),
    };
    at_buf_deinit(&bytes);
}

/* The profiles: default (this cluster, transactions), plain (this cluster), any, other (another
 * cluster) and boost (read-only). */
static inline void sfx_make_profiles(struct sfx *s)
{
    struct at_profile p = {.routing = AT_ROUTING_SINGLE,
                           .cluster_id = AT_LIT("c1"),
                           .allow_transactional_writes = true,
                           .priority = AT_PRIORITY_HIGH};
    const struct at_profile any = {.routing = AT_ROUTING_ANY, .priority = AT_PRIORITY_HIGH};

    sfx_profile(s, 0, "default", &p);
    p.allow_transactional_writes = false;
    sfx_profile(s, 1, "plain", &p);
    sfx_profile(s, 2, "any", &any);
    p.data_boost = true;
    sfx_profile(s, 3, "boost", &p);
    p.data_boost = false;
    p.cluster_id = AT_LIT("c2");
    sfx_profile(s, 4, "other", &p);
    s->fx.config.genesis = s->profiles;
    s->fx.config.genesis_count = SFX_PROFILES;
}

static inline void sfx_serve(struct sfx *s)
{
    struct at_error error;
    struct at_grpc_server_config config = {
        .host = "127.0.0.1", .loops = s->loops, .loop_count = SFX_LOOPS, .methods = s->methods};

    s->service = (struct at_service){.store = s->fx.store,
                                     .clock = at_clock_system(),
                                     .project = "p",
                                     .instance = "i",
                                     .cluster_id = "c1",
                                     .zone = "z1",
                                     .response_params = "\x0a\x02z1\x12\x02"
                                                        "c1",
                                     .response_params_size = 8};
    s->service.state = at_service_state_new();
    config.method_count = at_data_methods(&s->service, s->methods, SFX_METHODS_MAX);
    for (int i = 0; i < SFX_LOOPS; i++)
        s->loops[i] = at_loop_new(at_clock_system());
    assert_int_equal(at_grpc_server_open(&config, &s->server, &error), AT_OK);
    for (int i = 0; i < SFX_LOOPS; i++)
        assert_int_equal(at_loop_start(s->loops[i], "server", &error), AT_OK);
    s->loop = at_loop_new(at_clock_system());
    struct at_grpc_channel_config channel = {.host = "127.0.0.1",
                                             .port = at_grpc_server_port(s->server),
                                             .connection_count = 2,
                                             .connect_timeout_ms = 20000};
    assert_int_equal(at_grpc_channel_open(s->loop, &channel, &s->channel, &error), AT_OK);
}

/* Tables: t and tt with plain families f and g; a with aggregate families sum, min, max
 * and hll. */
static inline void sfx_open(struct sfx *s)
{
    struct at_slice none = {NULL, 0};

    memset(s, 0, sizeof(*s));
    at_arena_init(&s->arena, 4096);
    fx_prepare(&s->fx, 1, 1);
    s->fx.config.clock.wall_ns = sfx_wall_ns;
    sfx_make_profiles(s);
    fx_reopen(&s->fx);
    fx_make_table(&s->fx);
    assert_int_equal(fx_change(&s->fx, "tt", NULL, none, true), AT_OK);
    assert_int_equal(fx_change(&s->fx, "tt", "f", none, true), AT_OK);
    assert_int_equal(fx_change(&s->fx, "a", NULL, none, true), AT_OK);
    assert_int_equal(fx_change(&s->fx, "a", "sum", FX_FIELDS(FX_SUM), true), AT_OK);
    assert_int_equal(fx_change(&s->fx, "a", "max", FX_FIELDS(FX_MAX), true), AT_OK);
    assert_int_equal(fx_change(&s->fx, "a", "min", FX_FIELDS(FX_MIN), true), AT_OK);
    assert_int_equal(fx_change(&s->fx, "a", "hll", FX_FIELDS(FX_HLL), true), AT_OK);
    sfx_serve(s);
}

static inline void sfx_close(struct sfx *s)
{
    at_grpc_channel_close(&s->channel);
    at_loop_free(&s->loop);
    for (int i = 0; i < SFX_LOOPS; i++)
        at_loop_stop(s->loops[i]);
    for (int i = 0; i < SFX_LOOPS; i++)
        at_loop_join(s->loops[i]);
    at_store_close(&s->fx.store); /* answers what it was given, by the loops */
    at_grpc_server_close(&s->server);
    for (int i = 0; i < SFX_LOOPS; i++)
        at_loop_free(&s->loops[i]);
    at_service_state_free(&s->service.state);
    fx_close(&s->fx);
    at_arena_deinit(&s->arena);
}

static inline void sfx_clear(struct sfx *s)
{
    assert_int_equal(fx_drop(&s->fx, "t", ""), AT_OK);
    assert_int_equal(fx_drop(&s->fx, "tt", ""), AT_OK);
    assert_int_equal(fx_drop(&s->fx, "a", ""), AT_OK);
}

/* --- calling --- */

static inline void sfx_on_headers(void *ctx, const struct at_grpc_metadata *metadata, size_t count)
{
    struct sfx_call *c = ctx;

    for (size_t i = 0; i < count; i++)
        if (at_slice_eq_cstr(metadata[i].name, "x-goog-ext-425905942-bin"))
            c->response_params = at_arena_copy(&c->arena, metadata[i].value);
}

static inline void sfx_on_message(void *ctx, struct at_slice message)
{
    struct sfx_call *c = ctx;

    if (c->message_count++ == 0)
        assert_int_equal(at_buf_append(&c->first, message), AT_OK);
    if (c->read_rows)
        row_reader_message(&c->rows, message);
    if (c->on_message)
        c->on_message(c, message);
}

static inline void sfx_on_done(void *ctx, const struct at_grpc_result *result)
{
    struct sfx_call *c = ctx;

    c->done = true;
    c->code = result->code;
    c->details = at_arena_copy(&c->arena, result->details);
    (void)snprintf(c->message, sizeof(c->message), "%.*s", AT_SLICE_ARG(result->message));
    if (!c->response_params.data)
        sfx_on_headers(c, result->trailers, result->trailer_count);
    at_loop_stop(c->s->loop);
}

static inline void sfx_call_init(struct sfx_call *c, struct sfx *s)
{
    *c = (struct sfx_call){.s = s};
    at_arena_init(&c->arena, 4096);
    at_buf_init(&c->first, 256 * AT_MIB);
    row_reader_init(&c->rows);
}

static inline void sfx_call_deinit(struct sfx_call *c)
{
    row_reader_deinit(&c->rows);
    at_buf_deinit(&c->first);
    at_arena_deinit(&c->arena);
}

/* sfx_start begins a call of `rpc` with "name value" as metadata (NULL: none). */
static inline struct at_grpc_client_call *
sfx_start(struct sfx_call *c, const char *rpc, struct at_slice request, const char *metadata)
{
    static const struct at_grpc_client_handler HANDLER = {
        .on_headers = sfx_on_headers, .on_message = sfx_on_message, .on_done = sfx_on_done};
    struct at_grpc_metadata header = {0};
    const char *space = metadata ? strchr(metadata, ' ') : NULL;

    c->read_rows = strcmp(rpc, "ReadRows") == 0;
    if (space) {
        header.name = at_slice_make(metadata, (size_t)(space - metadata));
        header.value = at_slice_cstr(space + 1);
    }
    struct at_grpc_client_request r = {.path = at_arena_printf(&c->arena, SFX_BIGTABLE "%s", rpc),
                                       .message = request,
                                       .deadline_ns = UINT64_MAX,
                                       .metadata = &header,
                                       .metadata_count = space ? 1 : 0,
                                       .handler = &HANDLER,
                                       .ctx = c};
    return at_grpc_client_start(c->s->channel, &r);
}

static inline void sfx_finish(struct sfx_call *c)
{
    while (!c->done)
        at_loop_run(c->s->loop);
    if (c->read_rows && c->code == AT_OK)
        row_reader_finish(&c->rows);
}

static inline void sfx_run(struct sfx_call *c, const char *rpc, const char *text)
{
    (void)sfx_start(c, rpc, wire_text(text, &c->arena), NULL);
    sfx_finish(c);
}

#endif
