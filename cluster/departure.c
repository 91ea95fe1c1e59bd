#include "cluster/departure.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "cluster/control/member_end.h"
#include "replication/peer/peering.h"

#define TURN_MS 100

struct at_departure {
    struct at_departure_config config;
    uv_timer_t timer;
    bool stopped;
    enum at_departure_step step; /* as it stands since `since_ns` */
    uint64_t since_ns;           /* monotonic */
    struct at_arena arena;
    struct at_leave leave;
    struct at_write_catalog write;
    _Atomic bool out; /* one of the two is */
};

static void on_turn(uv_timer_t *timer);
static void start_leave(struct at_departure *d);
static void start_restore(struct at_departure *d);
static void on_left(struct at_leave *leave);
static void on_restored(struct at_write *write);
static enum at_code decide_restore(struct at_write_catalog *write,
                                   const struct at_catalog *catalog,
                                   struct at_error *reterr);

enum at_departure_step at_departure_next(const struct at_replica_view *view, uint64_t counter)
{
    uint32_t active_count = 0;

    if (view->mode == AT_MODE_REMOVED)
        return AT_DEPARTURE_END;
    if (counter == 0 || counter % 2 == 1)
        return AT_DEPARTURE_STAY;
    if (view->mode != AT_MODE_READY || !view->joined)
        return AT_DEPARTURE_STAY; /* LEAVING goes on by itself; whoever is not full can't begin */
    for (uint32_t i = 0; i < view->member_count; i++)
        active_count += view->members[i].active ? 1 : 0;
    return active_count > 1 ? AT_DEPARTURE_LEAVE : AT_DEPARTURE_RESTORE;
}

struct at_departure *at_departure_start(const struct at_departure_config *config,
                                        struct at_loop *loop)
{
    struct at_departure *d = AT_NEW(struct at_departure);

    AT_ASSERT(config->service && config->on_end);
    d->config = *config;
    if (d->config.patience_ms == 0)
        d->config.patience_ms = AT_DEPARTURE_PATIENCE_MS;
    at_arena_init(&d->arena, 4096);
    (void)uv_timer_init(at_loop_uv(loop), &d->timer);
    d->timer.data = d;
    (void)uv_timer_start(&d->timer, on_turn, TURN_MS, TURN_MS);
    return d;
}

void at_departure_stop(struct at_departure *d)
{
    if (d->stopped)
        return;
    d->stopped = true;
    uv_close((uv_handle_t *)&d->timer, NULL);
}

void at_departure_free(struct at_departure **departure)
{
    struct at_departure *d = AT_TAKE(*departure);

    if (!d)
        return;
    AT_ASSERT(!atomic_load(&d->out));
    at_schema_unref(&d->write.ret_schema);
    at_arena_deinit(&d->arena);
    at_free(d);
}

static enum at_departure_step look(const struct at_departure *d, bool *ret_left)
{
    struct at_service *service = d->config.service;
    struct at_schema *schema = at_store_schema(service->store);
    uint64_t counter = at_catalog_named_counter(schema->catalog, AT_CATALOG_CLUSTER,
                                                at_slice_cstr(service->cluster_id));
    struct at_replica_view view;

    at_schema_unref(&schema);
    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    enum at_departure_step step = at_departure_next(&view, counter);
    *ret_left = view.left;
    at_replica_view_deinit(&view);
    return step;
}

static void on_turn(uv_timer_t *timer)
{
    struct at_departure *d = timer->data;
    uint64_t now_ns = at_clock_mono_ns(&d->config.service->clock);
    bool left = false;

    enum at_departure_step step = look(d, &left);
    if (step == AT_DEPARTURE_END) {
        (void)uv_timer_stop(timer);
        d->config.on_end(d->config.ctx, left);
        return;
    }
    if (step != d->step || step == AT_DEPARTURE_STAY) {
        d->step = step;
        d->since_ns = now_ns;
        return;
    }
    if (now_ns - d->since_ns < d->config.patience_ms * AT_MS_NS || atomic_load(&d->out))
        return;
    d->since_ns = now_ns; /* the next try is as late */
    if (step == AT_DEPARTURE_LEAVE)
        start_leave(d);
    else
        start_restore(d);
}

static void start_leave(struct at_departure *d)
{
    struct at_service *service = d->config.service;

    if (!service->port.leave)
        return;
    at_log(AT_LOG_WARN, "the record of this cluster is deleted: it goes on leaving the instance",
           AT_KV_STR("cluster", service->cluster_id));
    d->leave = (struct at_leave){.done = on_left, .ctx = d};
    atomic_store(&d->out, true);
    service->port.leave(service->port.ctx, &d->leave);
}

static void start_restore(struct at_departure *d)
{
    at_schema_unref(&d->write.ret_schema);
    at_arena_reset(&d->arena);
    d->write = (struct at_write_catalog){
        .base = {.kind = AT_WRITE_CATALOG, .done = on_restored, .ctx = d},
        .decide = decide_restore,
        .arena = &d->arena,
    };
    atomic_store(&d->out, true);
    if (at_store_submit(d->config.service->store, &d->write.base) != AT_OK)
        atomic_store(&d->out, false);
}

/* --- on the peering thread --- */

static void on_left(struct at_leave *leave)
{
    struct at_departure *d = leave->ctx;

    if (leave->code != AT_OK)
        at_log(AT_LOG_WARN, "the cluster can't leave yet, trying again",
               AT_KV_STR("reason", leave->error.msg));
    atomic_store(&d->out, false);
}

/* --- on the writer thread --- */

static void on_restored(struct at_write *write)
{
    struct at_departure *d = write->ctx;

    at_log(AT_LOG_WARN, "the last cluster of an instance does not leave: it stays",
           AT_KV_STR("cluster", d->config.service->cluster_id),
           AT_KV_STR("code", at_code_name(write->code)));
    atomic_store(&d->out, false);
}

static enum at_code decide_restore(struct at_write_catalog *write,
                                   const struct at_catalog *catalog,
                                   struct at_error *reterr)
{
    const struct at_departure *d = write->base.ctx;

    (void)reterr;
    at_cluster_restore(write, catalog, at_slice_cstr(d->config.service->cluster_id));
    return AT_OK;
}
