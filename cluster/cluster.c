/* cluster.c: the life of a cluster process.
 *
 *   open the store -> start peering -> await the clock -> listen for gRPC -> write the run file ->
 *   serve
 *   SIGTERM: say DRAINING, GOAWAY, let open calls end (5 s at most), stop peering, close the store
 *
 * Ports are bound before anything is announced, so a run file is a promise that the process serves.
 * kill -9 at any point is a start from the store's last committed batch.
 *
 * The clock then goes on from its reserved mark, which may be ahead of the wall clock by one step.
 * A write stamped from there would beat what other clusters accept after it, if this one were
 * killed again before they saw it: a row deleted there would be back. So nothing is accepted until
 * the wall clock has come up. */
#include "cluster/cluster.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "atoll/v1/control.pb-c.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "base/runfile.h"
#include "cluster/admin/backup_worker.h"
#include "cluster/departure.h"
#include "cluster/genesis.h"
#include "cluster/graduation.h"
#include "cluster/methods.h"
#include "cluster/peering_glue.h"
#include "google/bigtable/v2/response_params.pb-c.h"
#include "wire/grpc_reflection.h"

#define DRAIN_MS 5000
#define LOOPS_MAX 16
/* How far the clock is reserved ahead: the longest wait after a crash. Each step is one commit with
 * sync. */
#define CLOCK_STEP_NS (250 * AT_MS_NS)

struct process {
    const struct at_cluster_options *options;
    const struct at_cluster_config *self;
    struct at_clock clock;
    struct at_arena arena;
    struct at_glue glue;
    struct at_service service;
    struct at_service_member members[AT_MEMBERS_MAX];
    struct at_loop *loops[LOOPS_MAX];
    const struct at_grpc_method *methods;
    struct at_grpc_server *server;
    uv_signal_t term;
    uv_signal_t interrupt;
    struct at_graduation *graduation;
    struct at_backup_worker *backups;
    struct at_departure *departure;
};

static enum at_code open_store(struct process *p, struct at_error *reterr);
static enum at_code open_service(struct process *p, struct at_error *reterr);
static void await_clock(const struct process *p);
static enum at_code listen_and_announce(struct process *p, struct at_error *reterr);
static void on_signal(uv_signal_t *handle, int number);
static void on_membership_end(void *ctx, bool left);
static void on_drained(void *ctx);
static void shut_down(struct process *p);
static enum at_code run(struct process *p, struct at_error *reterr);

static const struct at_cluster_config *find_self(const struct at_cluster_options *options)
{
    for (uint32_t i = 0; i < options->instance->cluster_count; i++)
        if (strcmp(options->instance->clusters[i].id, options->cluster_id) == 0)
            return &options->instance->clusters[i];
    return NULL;
}

int at_cluster_main(const struct at_cluster_options *options)
{
    struct at_error error = {0};
    struct process *p = AT_NEW(struct process);
    p->options = options;
    p->clock = at_clock_system();
    at_arena_init(&p->arena, 64 * AT_KIB);
    enum at_code code = run(p, &error);
    if (code != AT_OK && options->name)
        (void)fprintf(stderr, "%s: %s\n", options->name, error.msg);
    else if (code != AT_OK)
        (void)fprintf(stderr, "atoll cluster %s: %s: %s\n", options->cluster_id, at_code_name(code),
                      error.msg);
    shut_down(p);
    at_arena_deinit(&p->arena);
    at_free(p);
    return code == AT_OK ? 0 : 1;
}

static enum at_code run(struct process *p, struct at_error *reterr)
{
    p->self = find_self(p->options);
    if (!p->self)
        return at_fail(reterr, AT_NOT_FOUND, "the instance file has no cluster of this id");
    if (p->self->member == 0 || p->options->instance->instance_id == 0)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "the instance file is not resolved; it is what `atoll up` writes");
    AT_TRY(open_store(p, reterr));
    p->glue.copy_mib_per_s = p->options->instance->copy_mib_per_s;
    AT_TRY(at_glue_start(&p->glue, p->self, p->clock, reterr));
    AT_TRY(open_service(p, reterr));
    await_clock(p);
    AT_TRY(at_backup_worker_start(&p->service, &p->backups, reterr));
    AT_TRY(listen_and_announce(p, reterr));
    at_loop_run(p->loops[0]);
    return AT_OK;
}

static uint64_t clock_step_ns(const struct at_instance_config *instance)
{
    uint64_t most_ns = instance->max_skew_ms * AT_MS_NS / 5; /* it must be below half */
    return CLOCK_STEP_NS < most_ns ? CLOCK_STEP_NS : most_ns;
}

static enum at_code open_store(struct process *p, struct at_error *reterr)
{
    const struct at_instance_config *instance = p->options->instance;
    struct at_member_id members[AT_MEMBERS_MAX];
    for (uint32_t i = 0; i < instance->cluster_count; i++)
        members[i].v = instance->clusters[i].member;
    struct at_slice infos[AT_MEMBERS_MAX];
    AT_TRY(at_glue_member_infos(instance, &p->arena, infos, reterr));
    uint64_t max_skew_ns = instance->max_skew_ms * AT_MS_NS;
    struct at_store_config config = {
        .dir = p->options->data_dir,
        .block_cache_bytes = instance->block_cache_mib * AT_MIB,
        .memtable_bytes = instance->memtable_mib * AT_MIB,
        .log_bytes_max = instance->log_cap_mib * AT_MIB,
        .sync_commits = instance->sync,
        .gc_delay_s = instance->gc_max_delay_s,
        .gc_strict = instance->gc_strict,
        .clock = p->clock,
        .replica = {.instance_id = instance->instance_id,
                    .self = {p->self->member},
                    .members = members,
                    .infos = infos,
                    .member_count = instance->cluster_count,
                    .newcomer = p->self->joining,
                    .join_hlc = p->self->join_hlc,
                    .max_skew_ns = max_skew_ns,
                    .reserve_step_ns = clock_step_ns(instance),
                    .sync_commits = instance->sync},
        .on_commit = at_glue_on_commit,
        .on_applied = at_glue_on_applied,
        .ctx = &p->glue,
    };
    struct at_catalog_record *genesis;
    AT_TRY(at_genesis_records(instance, &p->arena, &genesis, &config.genesis_count, reterr));
    config.genesis = genesis;
    return at_store_open(&config, &p->glue.store, reterr);
}

/* What clusters that join are told. */
static Atoll__V1__InstanceSettings *settings_of(const struct at_instance_config *instance,
                                                struct at_arena *arena)
{
    Atoll__V1__InstanceSettings *out = AT_ARENA_NEW(arena, Atoll__V1__InstanceSettings);
    atoll__v1__instance_settings__init(out);
    out->project = at_arena_printf(arena, "%s", instance->project);
    out->instance = at_arena_printf(arena, "%s", instance->instance);
    out->display_name =
        at_arena_printf(arena, "%s", instance->display_name ? instance->display_name : "");
    out->sync = instance->sync;
    out->accept_any_instance = instance->accept_any_instance;
    out->block_cache_mib = instance->block_cache_mib;
    out->memtable_mib = instance->memtable_mib;
    out->log_cap_mib = instance->log_cap_mib;
    out->copy_mib_per_s = instance->copy_mib_per_s;
    out->max_skew_ms = instance->max_skew_ms;
    out->gc_max_delay_s = instance->gc_max_delay_s;
    out->gc_strict = instance->gc_strict;
    out->undelete_retention_s = instance->undelete_retention_s;
    out->heartbeat_ms = instance->heartbeat_ms;
    out->return_lag_ms_max = instance->return_lag_ms_max;
    return out;
}

static enum at_code open_service(struct process *p, struct at_error *reterr)
{
    const struct at_instance_config *instance = p->options->instance;
    for (uint32_t i = 0; i < instance->cluster_count; i++)
        p->members[i] = (struct at_service_member){.member = instance->clusters[i].member,
                                                   .cluster_id = instance->clusters[i].id,
                                                   .zone = instance->clusters[i].zone};
    struct at_service *s = &p->service;
    s->store = p->glue.store;
    s->clock = p->clock;
    s->project = instance->project;
    s->backup_dir = at_arena_printf(&p->arena, "%s/backups", p->options->data_dir);
    s->undelete_retention_s = instance->undelete_retention_s;
    s->instance = instance->instance;
    s->display_name = instance->display_name;
    s->settings = settings_of(instance, &p->arena);
    s->accept_any_instance = instance->accept_any_instance;
    s->cluster_id = p->self->id;
    s->zone = p->self->zone;
    s->member = p->self->member;
    s->peer_port = at_peering_port(atomic_load(&p->glue.peering));
    s->members = p->members;
    s->member_count = instance->cluster_count;
    s->port = at_glue_service_port(&p->glue);
    Google__Bigtable__V2__ResponseParams params = GOOGLE__BIGTABLE__V2__RESPONSE_PARAMS__INIT;
    params._zone_id_case = GOOGLE__BIGTABLE__V2__RESPONSE_PARAMS___ZONE_ID_ZONE_ID;
    params.zone_id = at_arena_printf(&p->arena, "%s", p->self->zone);
    params._cluster_id_case = GOOGLE__BIGTABLE__V2__RESPONSE_PARAMS___CLUSTER_ID_CLUSTER_ID;
    params.cluster_id = at_arena_printf(&p->arena, "%s", p->self->id);
    if (protobuf_c_message_get_packed_size(&params.base) > sizeof(s->response_params))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "cluster id and zone are too long");
    s->response_params_size = protobuf_c_message_pack(&params.base, s->response_params);
    return AT_OK;
}

/* A clock that is further ahead than a step was moved by others, or the wall clock was set back:
 * that is the guard's matter. */
static void await_clock(const struct process *p)
{
    struct at_replica_view view;
    at_replica_view_init(&view);
    at_store_view(p->glue.store, &view);
    uint64_t wall_ns = at_clock_wall_ns(&p->clock), step_ns = clock_step_ns(p->options->instance);
    uint64_t wait_ns = view.hlc > wall_ns ? view.hlc - wall_ns : 0;
    wait_ns = wait_ns < step_ns ? wait_ns : step_ns;
    at_replica_view_deinit(&view);
    struct timespec wait = {.tv_nsec = (long)wait_ns};
    while (wait_ns > 0 && nanosleep(&wait, &wait) != 0)
        ; /* interrupted: what is left */
}

static enum at_code listen_and_announce(struct process *p, struct at_error *reterr)
{
    uint32_t loop_count = p->options->loop_count;
    AT_ASSERT(loop_count >= 1 && loop_count <= LOOPS_MAX);
    for (uint32_t i = 0; i < loop_count; i++)
        p->loops[i] = at_loop_new(p->clock);
    size_t method_count;
    p->methods = at_service_methods(&p->service, &method_count);
    struct at_grpc_server_config config = {
        .host = p->options->grpc_host ? p->options->grpc_host : p->self->host,
        .port = p->self->grpc_port,
        .loops = p->loops,
        .loop_count = loop_count,
        .methods = p->methods,
        .method_count = method_count,
        .streams = at_grpc_reflection_streams(),
        .stream_count = AT_GRPC_REFLECTION_METHODS,
    };
    AT_TRY(at_grpc_server_open(&config, &p->server, reterr));
    p->service.grpc_port = at_grpc_server_port(p->server);
    uv_loop_t *uv = at_loop_uv(p->loops[0]);
    uv_signal_t *signals[] = {&p->term, &p->interrupt};
    const int numbers[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
        (void)uv_signal_init(uv, signals[i]);
        signals[i]->data = p;
        (void)uv_signal_start(signals[i], on_signal, numbers[i]);
    }
    for (uint32_t i = 1; i < loop_count; i++)
        AT_TRY(at_loop_start(p->loops[i], "atoll-loop", reterr));
    struct at_runfile_port ports[] = {{"grpc", p->service.grpc_port},
                                      {"peer", p->service.peer_port}};
    AT_TRY(at_runfile_write(p->options->run_file, ports, 2, reterr));
    if (p->options->on_serving)
        p->options->on_serving(p->options->ctx, p->service.grpc_port);
    p->graduation = at_graduation_start(&p->service, p->loops[0]);
    p->departure = at_departure_start(&(struct at_departure_config){.service = &p->service,
                                                                    .on_end = on_membership_end,
                                                                    .ctx = p},
                                      p->loops[0]);
    at_log(AT_LOG_INFO, "serving", AT_KV_U64("grpc_port", p->service.grpc_port),
           AT_KV_U64("peer_port", p->service.peer_port));
    return AT_OK;
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct process *p = handle->data;
    if (atomic_exchange(&p->service.draining, true))
        return; /* a second signal changes nothing: the drain is bounded */
    at_log(AT_LOG_INFO, "draining", AT_KV_I64("signal", number));
    at_grpc_server_drain(p->server, DRAIN_MS, on_drained, p);
}

/* One that has left, or was removed, can do nothing more for anybody. */
static void on_membership_end(void *ctx, bool left)
{
    struct process *p = ctx;
    if (atomic_exchange(&p->service.draining, true))
        return;
    at_log(AT_LOG_INFO,
           left ? "this cluster has left the instance: the process ends"
                : "this cluster is no member of the instance any more: the process ends",
           AT_KV_STR("cluster", p->self->id));
    at_grpc_server_drain(p->server, DRAIN_MS, on_drained, p);
}

static void on_drained(void *ctx)
{
    struct process *p = ctx;
    uv_close((uv_handle_t *)&p->term, NULL);
    uv_close((uv_handle_t *)&p->interrupt, NULL);
    at_departure_stop(p->departure);
    at_graduation_stop(p->graduation);
    for (uint32_t i = 0; i < p->options->loop_count; i++)
        at_loop_stop(p->loops[i]);
}

/* Also after a start that failed half way: every step is allowed on what was never begun. */
static void shut_down(struct process *p)
{
    for (uint32_t i = 1; i < LOOPS_MAX; i++) {
        if (!p->loops[i])
            continue;
        at_loop_stop(p->loops[i]);
        at_loop_join(p->loops[i]);
    }
    at_backup_worker_stop(&p->backups);
    /* The writer and the peering may still answer calls: they end before what they answer to. */
    at_glue_stop(&p->glue);
    if (p->glue.store)
        at_store_close(&p->glue.store);
    if (p->server)
        at_grpc_server_close(&p->server);
    for (uint32_t i = 0; i < LOOPS_MAX; i++)
        if (p->loops[i])
            at_loop_free(&p->loops[i]);
    at_graduation_free(&p->graduation);
    at_departure_free(&p->departure);
    if (p->methods)
        at_service_methods_free(&p->methods);
    at_log(AT_LOG_INFO, "stopped");
}
