/* fake_cluster.h: a cluster process as a router sees it, with scripted behaviour: a gRPC server on
 * a loop of its own that answers heartbeats and every forwarded method.
 *
 * The script may change at any time, from any thread. */
#ifndef ATOLL_TESTS_SUPPORT_FAKE_CLUSTER_H
#define ATOLL_TESTS_SUPPORT_FAKE_CLUSTER_H

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "atoll/v1/control.pb-c.h"
#include "base/limits.h"
#include "routing/method.h"
#include "support/held_port.h"
#include "support/test.h"
#include "wire/grpc_server.h"
#include "wire/grpc_server_impl.h"
#include "wire/proto_alloc.h"

#define FAKE_METHODS_MAX 128
#define FAKE_LIST_MAX 8
#define FAKE_LOW_BYTES ((size_t)256 * 1024)
#define FAKE_SERVED_BY "x-goog-ext-425905942-bin"

enum fake_behaviour {
    FAKE_ANSWER,       /* one message: the id of the cluster */
    FAKE_PAGES,        /* a list: "a", with the token "next"; then "b" */
    FAKE_FAIL,         /* a status of `code`, with served-by and details */
    FAKE_HANG,         /* nothing, until cancelled */
    FAKE_DIE,          /* closes the connection without an answer */
    FAKE_HEAD_AND_DIE, /* initial metadata alone, then closes it */
    FAKE_BYTE_AND_DIE, /* part of an answer, then closes it */
    FAKE_STREAM,       /* `stream_bytes` in messages of 64 KiB, as the router takes them */
};

enum fake_pulse { FAKE_PULSE_OK, FAKE_PULSE_HANG, FAKE_PULSE_FAIL };

struct fake_profile {
    const char *id;
    const char *single;   /* single-cluster routing to it; NULL: any */
    const char *group[4]; /* any: its clusters, NULL-ended */
    bool transactional;
    bool affinity;
};

struct fake_member {
    const char *id;
    const char *zone;
    uint16_t port;
    uint32_t member;
};

/* What a cluster got last. */
struct fake_record {
    uint8_t request[4096]; /* its first bytes */
    size_t request_len;    /* all of them */
    char path[128];
    char write_micros[32];
    char features[64];
};

struct fake_cluster {
    const char *id;
    const char *zone;
    uint16_t port;
    struct held_port held; /* the port, also while nobody listens on it */
    struct at_loop *loop;
    struct at_grpc_server *server;
    struct at_grpc_method methods[FAKE_METHODS_MAX];
    /* the script */
    _Atomic int behaviour;
    _Atomic int code;
    _Atomic int pulse;
    _Atomic int state;
    _Atomic bool lag_known;
    _Atomic uint64_t lag_ms;
    _Atomic bool alone;
    _Atomic size_t stream_bytes;
    /* the record */
    _Atomic uint32_t requests; /* all but heartbeats */
    _Atomic uint32_t heartbeats;
    _Atomic uint32_t cancelled;
    _Atomic size_t sent_bytes;
    pthread_mutex_t lock; /* of what follows */
    struct fake_profile profiles[FAKE_LIST_MAX];
    uint32_t profile_count;
    uint64_t version;
    struct fake_member members[FAKE_LIST_MAX]; /* the cluster list it tells */
    uint32_t member_count;
    uint64_t members_version;
    struct fake_record latest;
};

/* The lists are copied: a heartbeat reads them until the fake is down. */
static inline void fake_set_profiles(struct fake_cluster *f,
                                     const struct fake_profile *profiles,
                                     uint32_t count,
                                     uint64_t version)
{
    assert_true(count <= FAKE_LIST_MAX);
    (void)pthread_mutex_lock(&f->lock);
    for (uint32_t i = 0; i < count; i++)
        f->profiles[i] = profiles[i];
    f->profile_count = count;
    f->version = version;
    (void)pthread_mutex_unlock(&f->lock);
}

static inline void fake_set_members(struct fake_cluster *f,
                                    const struct fake_member *members,
                                    uint32_t count,
                                    uint64_t version)
{
    assert_true(count <= FAKE_LIST_MAX);
    (void)pthread_mutex_lock(&f->lock);
    for (uint32_t i = 0; i < count; i++)
        f->members[i] = members[i];
    f->member_count = count;
    f->members_version = version;
    (void)pthread_mutex_unlock(&f->lock);
}

/* Under the lock. */
static inline void fake_pack_members(struct fake_cluster *f,
                                     struct at_arena *arena,
                                     Atoll__V1__HeartbeatResponse *beat)
{
    beat->clusters = AT_ARENA_ARRAY(arena, Atoll__V1__ClusterAddress *, f->member_count + 1);
    for (uint32_t i = 0; i < f->member_count; i++) {
        Atoll__V1__ClusterAddress *a = AT_ARENA_NEW(arena, Atoll__V1__ClusterAddress);
        atoll__v1__cluster_address__init(a);
        a->cluster_id = at_arena_printf(arena, "%s", f->members[i].id);
        a->zone = at_arena_printf(arena, "%s", f->members[i].zone);
        a->host = at_arena_printf(arena, "127.0.0.1");
        a->grpc_port = f->members[i].port;
        a->member_id = f->members[i].member;
        beat->clusters[i] = a;
    }
    beat->n_clusters = f->member_count;
}

static inline void fake_pack_profile(const struct fake_profile *p,
                                     struct at_arena *arena,
                                     Google__Bigtable__Admin__V2__AppProfile *out)
{
    google__bigtable__admin__v2__app_profile__init(out);
    out->name = at_arena_printf(arena, "%s", p->id);
    if (p->single) {
        Google__Bigtable__Admin__V2__AppProfile__SingleClusterRouting *single =
            AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__AppProfile__SingleClusterRouting);
        google__bigtable__admin__v2__app_profile__single_cluster_routing__init(single);
        single->cluster_id = at_arena_printf(arena, "%s", p->single);
        single->allow_transactional_writes = p->transactional;
        out->routing_policy_case =
            GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_SINGLE_CLUSTER_ROUTING;
        out->single_cluster_routing = single;
        return;
    }
    Google__Bigtable__Admin__V2__AppProfile__MultiClusterRoutingUseAny *any =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__AppProfile__MultiClusterRoutingUseAny);
    google__bigtable__admin__v2__app_profile__multi_cluster_routing_use_any__init(any);
    any->cluster_ids = AT_ARENA_ARRAY(arena, char *, 4);
    while (any->n_cluster_ids < 4 && p->group[any->n_cluster_ids]) {
        any->cluster_ids[any->n_cluster_ids] =
            at_arena_printf(arena, "%s", p->group[any->n_cluster_ids]);
        any->n_cluster_ids++;
    }
    if (p->affinity) {
        any->affinity_case =
            GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__MULTI_CLUSTER_ROUTING_USE_ANY__AFFINITY_ROW_AFFINITY;
        any->row_affinity = AT_ARENA_NEW(
            arena, Google__Bigtable__Admin__V2__AppProfile__MultiClusterRoutingUseAny__RowAffinity);
        google__bigtable__admin__v2__app_profile__multi_cluster_routing_use_any__row_affinity__init(
            any->row_affinity);
    }
    out->routing_policy_case =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_MULTI_CLUSTER_ROUTING_USE_ANY;
    out->multi_cluster_routing_use_any = any;
}

static inline void fake_pack_heartbeat(struct fake_cluster *f,
                                       const Atoll__V1__HeartbeatRequest *request,
                                       struct at_arena *arena,
                                       struct at_buf *out)
{
    Atoll__V1__HeartbeatResponse beat = ATOLL__V1__HEARTBEAT_RESPONSE__INIT;
    beat.cluster_id = at_arena_printf(arena, "%s", f->id);
    beat.zone = at_arena_printf(arena, "%s", f->zone);
    beat.state = (Atoll__V1__ClusterState)atomic_load(&f->state);
    beat.lag_known = atomic_load(&f->lag_known);
    beat.lag_ms = atomic_load(&f->lag_ms);
    beat.alone = atomic_load(&f->alone);
    (void)pthread_mutex_lock(&f->lock);
    beat.catalog_version = f->version;
    if (request->known_catalog_version != f->version) {
        beat.profiles =
            AT_ARENA_ARRAY(arena, Google__Bigtable__Admin__V2__AppProfile *, f->profile_count + 1);
        for (uint32_t i = 0; i < f->profile_count; i++) {
            beat.profiles[i] = AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__AppProfile);
            fake_pack_profile(&f->profiles[i], arena, beat.profiles[i]);
        }
        beat.n_profiles = f->profile_count;
    }
    beat.clusters_version = f->members_version;
    if (request->known_clusters_version != f->members_version)
        fake_pack_members(f, arena, &beat);
    (void)pthread_mutex_unlock(&f->lock);
    assert_int_equal(at_proto_pack(out, &beat.base), AT_OK);
}

static inline void fake_cancelled(struct at_grpc_call *call, void *ctx)
{
    struct fake_cluster *f = ctx;
    atomic_fetch_add(&f->cancelled, 1);
    at_grpc_call_finish(call, AT_CANCELLED, (struct at_slice){0}, (struct at_slice){0});
}

static inline void fake_beat_cancelled(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    at_grpc_call_finish(call, AT_CANCELLED, (struct at_slice){0}, (struct at_slice){0});
}

static inline void fake_on_heartbeat(struct at_grpc_call *call, void *ctx)
{
    struct fake_cluster *f = ctx;
    atomic_fetch_add(&f->heartbeats, 1);
    int pulse = atomic_load(&f->pulse);
    if (pulse == FAKE_PULSE_HANG) {
        at_grpc_call_on_cancel(call, fake_beat_cancelled, f);
        return;
    }
    if (pulse == FAKE_PULSE_FAIL) {
        at_grpc_call_finish(call, AT_INTERNAL, AT_LIT("ill"), (struct at_slice){0});
        return;
    }
    struct at_arena *arena = at_grpc_call_arena(call);
    Atoll__V1__HeartbeatRequest *request = at_proto_unpack(
        arena, &atoll__v1__heartbeat_request__descriptor, at_grpc_call_request(call));
    assert_non_null(request);
    fake_pack_heartbeat(f, request, arena, at_grpc_call_begin(call));
    at_grpc_call_commit(call);
    at_grpc_call_finish(call, AT_OK, (struct at_slice){0}, (struct at_slice){0});
}

struct fake_stream {
    struct fake_cluster *cluster;
    size_t left;
};

static inline void fake_pump(struct at_grpc_call *call, void *ctx)
{
    struct fake_stream *s = ctx;
    enum { PIECE_BYTES = 64 * 1024 };
    while (s->left > 0 && at_grpc_call_pending_bytes(call) < 2 * FAKE_LOW_BYTES) {
        size_t n = s->left < PIECE_BYTES ? s->left : PIECE_BYTES;
        struct at_buf *out = at_grpc_call_begin(call);
        assert_int_equal(at_buf_reserve(out, n), AT_OK);
        memset(out->data + out->len, (int)(s->left & 0xff), n);
        out->len += n;
        at_grpc_call_commit(call);
        s->left -= n;
        atomic_fetch_add(&s->cluster->sent_bytes, n);
    }
    if (s->left == 0)
        at_grpc_call_finish(call, AT_OK, (struct at_slice){0}, (struct at_slice){0});
}

static inline void fake_copy_text(char *text, size_t size, struct at_slice value)
{
    size_t n = value.len < size - 1 ? value.len : size - 1;
    if (n > 0)
        memcpy(text, value.data, n);
    text[n] = '\0';
}

static inline void fake_take_record(struct fake_cluster *f, struct at_grpc_call *call)
{
    struct at_slice request = at_grpc_call_request(call);
    struct fake_record *to = &f->latest;
    (void)pthread_mutex_lock(&f->lock);
    to->request_len = request.len;
    if (request.len > 0)
        memcpy(to->request, request.data,
               request.len < sizeof(to->request) ? request.len : sizeof(to->request));
    fake_copy_text(to->path, sizeof(to->path), at_slice_cstr(at_grpc_call_path(call)));
    fake_copy_text(to->write_micros, sizeof(to->write_micros),
                   at_grpc_call_metadata(call, "atoll-write-micros"));
    fake_copy_text(to->features, sizeof(to->features),
                   at_grpc_call_metadata(call, "bigtable-features"));
    (void)pthread_mutex_unlock(&f->lock);
    atomic_fetch_add(&f->requests, 1);
}

static inline void fake_latest(struct fake_cluster *f, struct fake_record *ret_record)
{
    (void)pthread_mutex_lock(&f->lock);
    *ret_record = f->latest;
    (void)pthread_mutex_unlock(&f->lock);
}

static inline struct at_slice fake_page(struct at_slice request)
{
    bool second = memmem(request.data, request.len, "next", 4) != NULL;
    return second ? AT_LIT("\x0a\x01"
                           "b")
                  : AT_LIT("\x0a\x01"
                           "a\x12\x04next");
}

static inline void fake_on_request(struct at_grpc_call *call, void *ctx)
{
    struct fake_cluster *f = ctx;
    static const uint8_t DETAILS[] = {8, 10, 0, 255};
    struct at_slice id = at_slice_cstr(f->id);
    fake_take_record(f, call);
    at_grpc_call_header(call, FAKE_SERVED_BY, id);
    at_grpc_call_header(call, "x-private", AT_LIT("not for clients"));
    switch ((enum fake_behaviour)atomic_load(&f->behaviour)) {
    case FAKE_ANSWER:
        assert_int_equal(at_grpc_call_send(call, id), AT_OK);
        at_grpc_call_finish(call, AT_OK, (struct at_slice){0}, (struct at_slice){0});
        break;
    case FAKE_PAGES:
        assert_int_equal(at_grpc_call_send(call, fake_page(at_grpc_call_request(call))), AT_OK);
        at_grpc_call_finish(call, AT_OK, (struct at_slice){0}, (struct at_slice){0});
        break;
    case FAKE_FAIL:
        at_grpc_call_finish(call, (enum at_code)atomic_load(&f->code), id,
                            at_slice_make(DETAILS, sizeof(DETAILS)));
        break;
    case FAKE_HANG:
        at_grpc_call_on_cancel(call, fake_cancelled, f);
        break;
    case FAKE_DIE:
        at_grpc_call_on_cancel(call, fake_cancelled, f);
        at_h2_conn_close(&call->conn->h2);
        break;
    case FAKE_HEAD_AND_DIE:
    case FAKE_BYTE_AND_DIE:
        at_grpc_call_on_cancel(call, fake_cancelled, f);
        assert_int_equal(
            at_grpc_call_send_framed(call, atomic_load(&f->behaviour) == FAKE_BYTE_AND_DIE
                                               ? AT_LIT("\0\0")
                                               : (struct at_slice){0}),
            AT_OK);
        at_h2_conn_fail(&call->conn->h2);
        break;
    case FAKE_STREAM: {
        struct fake_stream *s = AT_ARENA_NEW(at_grpc_call_arena(call), struct fake_stream);
        s->cluster = f;
        s->left = atomic_load(&f->stream_bytes);
        at_grpc_call_on_cancel(call, fake_cancelled, f);
        at_grpc_call_on_writable(call, FAKE_LOW_BYTES, fake_pump, s);
        fake_pump(call, s);
        break;
    }
    }
}

static inline void fake_init(struct fake_cluster *f, const char *id, const char *zone)
{
    memset(f, 0, sizeof(*f));
    f->id = id;
    f->zone = zone;
    held_port_take(&f->held);
    f->port = f->held.port;
    atomic_store(&f->state, (int)ATOLL__V1__CLUSTER_STATE__READY);
    atomic_store(&f->lag_known, true);
    (void)pthread_mutex_init(&f->lock, NULL);
}

/* fake_up begins to listen: on the same port each time. */
static inline void fake_up(struct fake_cluster *f)
{
    uint32_t count;
    const struct at_route_method *routes = at_route_methods(&count);
    assert_true(count + 1 <= FAKE_METHODS_MAX);
    for (uint32_t i = 0; i < count; i++)
        f->methods[i] = (struct at_grpc_method){routes[i].path, fake_on_request, f};
    f->methods[count++] =
        (struct at_grpc_method){"/atoll.v1.Cluster/Heartbeat", fake_on_heartbeat, f};
    f->loop = at_loop_new(at_clock_system());
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .port = f->port,
                                           .loops = &f->loop,
                                           .loop_count = 1,
                                           .methods = f->methods,
                                           .method_count = count};
    struct at_error error = {0};
    enum at_code code = at_grpc_server_open(&config, &f->server, &error);
    if (code != AT_OK)
        fail_msg("%s", error.msg);
    assert_int_equal(at_loop_start(f->loop, "fake", &error), AT_OK);
}

/* fake_down is a killed process: all connections break, nothing listens. */
static inline void fake_down(struct fake_cluster *f)
{
    if (!f->server)
        return;
    at_loop_stop(f->loop);
    at_loop_join(f->loop);
    at_grpc_server_close(&f->server);
    at_loop_free(&f->loop);
}

static inline void fake_deinit(struct fake_cluster *f)
{
    fake_down(f);
    held_port_let_go(&f->held);
    (void)pthread_mutex_destroy(&f->lock);
}

static inline uint32_t fake_count(struct fake_cluster *f)
{
    return atomic_load(&f->requests);
}

#define FAKE_PATIENCE_MS 60000

/* FAKE_WAIT lets real time pass until `condition` holds; a minute at most, and more where the
 * machine is slow. */
#define FAKE_WAIT(condition)                                 \
    do {                                                     \
        for (int at_ms_ = 0; !(condition); at_ms_++) {       \
            if (at_ms_ >= FAKE_PATIENCE_MS)                  \
                fail_msg("never came true: %s", #condition); \
            (void)usleep(1000);                              \
        }                                                    \
    } while (0)

/* FAKE_WAIT_BEATS lets heartbeats be answered by `fake`, so many of them that whatever it says now
 * has been heard by all loops of a router. */
#define FAKE_WAIT_BEATS(fake, loops)                                           \
    do {                                                                       \
        uint32_t at_from_ = atomic_load(&(fake)->heartbeats);                  \
        FAKE_WAIT(atomic_load(&(fake)->heartbeats) >= at_from_ + 3 * (loops)); \
    } while (0)

#endif
