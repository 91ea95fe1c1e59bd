/* peering_glue.c: thin functions between three rooms that must not include each other. */
#include "cluster/peering_glue.h"

#include "cluster/tablet/copy.h"

#include <stdatomic.h>

#define PULL_WAIT_MS 250

static struct at_peering_port peering_port(struct at_store *store);
static uint32_t links(void *ctx, struct at_link_status *ret_links, uint32_t count_max);
static struct at_service_lag lag(void *ctx);

void at_glue_on_commit(void *ctx)
{
    struct at_glue *glue = ctx;
    struct at_peering *peering = atomic_load_explicit(&glue->peering, memory_order_acquire);
    if (peering)
        at_peering_committed(peering);
}

void at_glue_on_applied(struct at_apply *apply)
{
    at_peering_applied(apply);
}

enum at_code at_glue_member_infos(const struct at_instance_config *instance,
                                  struct at_arena *arena,
                                  struct at_slice *ret_infos,
                                  struct at_error *reterr)
{
    struct at_buf bytes;
    enum at_code code = AT_OK;
    at_buf_init(&bytes, AT_MEMBER_INFO_BYTES_MAX);
    for (uint32_t i = 0; i < instance->cluster_count && code == AT_OK; i++) {
        const struct at_cluster_config *c = &instance->clusters[i];
        struct at_member_info info = {.cluster_id = at_slice_cstr(c->id),
                                      .zone = at_slice_cstr(c->zone),
                                      .host = at_slice_cstr(c->host),
                                      .grpc_port = c->grpc_port,
                                      .peer_port = c->peer_port};
        at_buf_clear(&bytes);
        code = at_member_info_encode(&info, &bytes);
        ret_infos[i] = at_arena_copy(arena, at_buf_slice(&bytes));
    }
    at_buf_deinit(&bytes);
    if (code != AT_OK)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "id, zone and host of a cluster are too long");
    return AT_OK;
}

enum at_code at_glue_start(struct at_glue *glue,
                           const struct at_cluster_config *self,
                           struct at_clock clock,
                           struct at_error *reterr)
{
    struct at_peering_config config = {
        .clock = clock,
        .listen_host = self->host,
        .listen_port = self->peer_port,
        .wait_ms = PULL_WAIT_MS,
        .copy_mib_per_s = glue->copy_mib_per_s,
        .port = peering_port(glue->store),
    };
    struct at_peering *peering;
    AT_TRY(at_peering_start(&config, &peering, reterr));
    atomic_store_explicit(&glue->peering, peering, memory_order_release);
    return AT_OK;
}

void at_glue_stop(struct at_glue *glue)
{
    /* First out of the writer's sight, then away: see at_peering_stop. */
    struct at_peering *peering = atomic_exchange(&glue->peering, NULL);
    at_peering_stop(&peering);
}

static void port_view(void *ctx, struct at_replica_view *view)
{
    at_store_view(ctx, view);
}

static enum at_code port_read_log(void *ctx,
                                  const struct at_log_read *what,
                                  struct at_buf *out,
                                  uint32_t *sizes,
                                  uint32_t *ret_count,
                                  struct at_error *reterr)
{
    return at_store_read_log(ctx, what, out, sizes, ret_count, reterr);
}

static bool port_apply(void *ctx, struct at_apply *apply)
{
    return at_store_apply(ctx, apply);
}

static bool port_call(void *ctx, struct at_replica_call *call)
{
    return at_store_call(ctx, call);
}

static bool port_act(void *ctx, struct at_act_write *write)
{
    return at_store_act(ctx, write);
}

static enum at_code source_open(void *ctx,
                                struct at_member_id receiver,
                                const struct at_vector *needs,
                                void **ret_source,
                                struct at_copy_offer *ret_offer,
                                struct at_error *reterr)
{
    struct at_copy_source *source = NULL;

    AT_TRY(at_copy_source_open(ctx, receiver, needs, &source, reterr));
    *ret_source = source;
    *ret_offer = at_copy_source_offer(source);
    return AT_OK;
}

static enum at_code source_read(void *source, struct at_copy_read *read, struct at_error *reterr)
{
    return at_copy_source_read(source, read, reterr);
}

static void source_close(void *source)
{
    struct at_copy_source *s = source;
    at_copy_source_close(&s);
}

static enum at_code sink_open(void *ctx,
                              const struct at_copy_state *donor,
                              uint32_t part_count,
                              void **ret_sink,
                              struct at_error *reterr)
{
    struct at_copy_sink *sink = NULL;

    AT_TRY(at_copy_sink_open(ctx, donor, part_count, &sink, reterr));
    *ret_sink = sink;
    return AT_OK;
}

static enum at_code sink_take(void *sink,
                              uint32_t part,
                              struct at_slice cursor,
                              bool last,
                              struct at_slice items,
                              struct at_error *reterr)
{
    return at_copy_sink_take(sink, part, cursor, last, items, reterr);
}

static enum at_code sink_finish(void *sink, struct at_error *reterr)
{
    struct at_copy_sink *s = sink;
    return at_copy_sink_finish(&s, reterr);
}

static void sink_abort(void *sink)
{
    struct at_copy_sink *s = sink;
    at_copy_sink_abort(&s);
}

static struct at_copy_port copy_port(struct at_store *store)
{
    return (struct at_copy_port){
        .ctx = store,
        .source_open = source_open,
        .source_read = source_read,
        .source_close = source_close,
        .sink_open = sink_open,
        .sink_take = sink_take,
        .sink_finish = sink_finish,
        .sink_abort = sink_abort,
    };
}

static struct at_peering_port peering_port(struct at_store *store)
{
    return (struct at_peering_port){.ctx = store,
                                    .view = port_view,
                                    .read_log = port_read_log,
                                    .apply = port_apply,
                                    .call = port_call,
                                    .act = port_act,
                                    .copy = copy_port(store)};
}

static void survey(void *ctx, struct at_survey *survey)
{
    struct at_glue *glue = ctx;
    at_peering_survey(atomic_load(&glue->peering), survey);
}

static void wait_spread(void *ctx, struct at_spread_wait *wait)
{
    struct at_glue *glue = ctx;
    at_peering_wait_spread(atomic_load(&glue->peering), wait);
}

static void leave(void *ctx, struct at_leave *leave)
{
    struct at_glue *glue = ctx;
    at_peering_leave(atomic_load(&glue->peering), leave);
}

static void remove_members(void *ctx, struct at_remove *remove)
{
    struct at_glue *glue = ctx;
    at_peering_remove(atomic_load(&glue->peering), remove);
}

static void cut(void *ctx, struct at_member_id member, bool asking, bool answering)
{
    struct at_glue *glue = ctx;
    at_peering_cut(atomic_load(&glue->peering), member, asking, answering);
}

static uint32_t progress(void *ctx, struct at_member_progress *ret_members, uint32_t count_max)
{
    struct at_glue *glue = ctx;
    return at_peering_progress(atomic_load(&glue->peering), ret_members, count_max);
}

static uint32_t
copy_progress(void *ctx, struct at_copy_table_progress *ret_tables, uint32_t count_max)
{
    struct at_glue *glue = ctx;
    return at_store_copy_progress(glue->store, ret_tables, count_max);
}

struct at_service_port at_glue_service_port(struct at_glue *glue)
{
    return (struct at_service_port){.ctx = glue,
                                    .survey = survey,
                                    .wait_spread = wait_spread,
                                    .links = links,
                                    .lag = lag,
                                    .leave = leave,
                                    .remove = remove_members,
                                    .cut = cut,
                                    .progress = progress,
                                    .copy_progress = copy_progress};
}

static uint32_t links(void *ctx, struct at_link_status *ret_links, uint32_t count_max)
{
    struct at_glue *glue = ctx;
    return at_peering_links(atomic_load(&glue->peering), ret_links, count_max);
}

static struct at_service_lag lag(void *ctx)
{
    struct at_link_status all[AT_MEMBERS_MAX];
    uint32_t count = links(ctx, all, AT_MEMBERS_MAX);
    struct at_service_lag result = {.alone = true, .known = true};
    for (uint32_t i = 0; i < count; i++) {
        if (all[i].state == AT_LINK_CUT)
            continue;
        result.alone = false;
        result.known = result.known && all[i].lag_known;
        if (all[i].lag_ms > result.ms)
            result.ms = all[i].lag_ms;
    }
    return result;
}
