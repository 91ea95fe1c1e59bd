#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/tablet/copy.h"
#include "cluster/tablet/writer.h"
#include "replication/member_info.h"
#include "sim/real_world.h"

#include <stdio.h>
#include <sys/stat.h>

/* One cluster: its machine's clocks, its store on a disk that may lose its tail, its peering. */

struct port_ctx {
    struct real_world *w;
    uint32_t node;
};

static struct port_ctx g_ctx[SIM_NODES_MAX];

static struct real_node *node_of(const struct port_ctx *c)
{
    return &c->w->nodes[c->node];
}

/* --- clocks --- */

static uint64_t node_time(const struct real_node *n)
{
    uint64_t now = g_fake_net.now_ns;

    return now + (uint64_t)((int64_t)(now / 1000000) * n->drift_ppm);
}

static uint64_t clock_wall(void *ctx)
{
    const struct real_node *n = node_of(ctx);

    return REAL_START_NS + node_time(n) + (uint64_t)n->wall_offset_ns;
}

static uint64_t clock_mono(void *ctx)
{
    struct real_node *n = node_of(ctx);

    if (n->dying)
        n->dying_ticks += 50 * AT_MS_NS;
    return n->mono_start_ns + g_fake_net.now_ns + n->dying_ticks;
}

/* --- the port: as cluster/peering_glue.c joins the two --- */

static void hold(struct real_node *n, enum real_held_kind kind, void *item)
{
    AT_ASSERT(n->held_count < REAL_HELD_MAX);
    n->held[n->held_count++] = (struct real_held){kind, item};
}

static void let_go(struct real_node *n, const void *item)
{
    uint32_t i = 0;

    while (i < n->held_count && n->held[i].item != item)
        i++;
    AT_ASSERT(i < n->held_count);
    n->held[i] = n->held[--n->held_count];
}

static void on_commit(void *lossy)
{
    struct real_node *n = (struct real_node *)((char *)lossy - offsetof(struct real_node, disk));

    if (n->peering != NULL)
        at_peering_committed(n->peering);
}

static void port_view(void *ctx, struct at_replica_view *view)
{
    at_store_view(node_of(ctx)->disk.store, view);
}

static enum at_code port_read_log(void *ctx,
                                  const struct at_log_read *what,
                                  struct at_buf *out,
                                  uint32_t *sizes,
                                  uint32_t *ret_count,
                                  struct at_error *reterr)
{
    return at_store_read_log(node_of(ctx)->disk.store, what, out, sizes, ret_count, reterr);
}

/* What comes back is told apart by its address, since callbacks have no room for more. */
static struct real_node *holder_of(const void *item)
{
    for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
        struct real_node *n = g_ctx[i].w != NULL ? node_of(&g_ctx[i]) : NULL;
        for (uint32_t k = 0; n != NULL && k < n->held_count; k++)
            if (n->held[k].item == item)
                return n;
    }
    AT_ASSERT(!"nobody holds it");
    return NULL;
}

static void on_applied(struct at_apply *apply)
{
    let_go(holder_of(apply), apply);
    at_peering_applied(apply);
}

static bool port_apply(void *ctx, struct at_apply *apply)
{
    struct real_node *n = node_of(ctx);

    if (n->dying || !at_store_apply(n->disk.store, apply))
        return false;
    hold(n, REAL_HELD_APPLY, apply);
    return true;
}

/* Calls and acts have a `done` of the peering's: it is called when they are found to be over. */
static bool port_call(void *ctx, struct at_replica_call *call)
{
    struct real_node *n = node_of(ctx);

    return !n->dying && at_store_call(n->disk.store, call);
}

static bool port_act(void *ctx, struct at_act_write *act)
{
    struct real_node *n = node_of(ctx);

    return !n->dying && at_store_act(n->disk.store, act);
}

static enum at_code source_open(void *ctx,
                                struct at_member_id receiver,
                                const struct at_vector *needs,
                                void **ret_source,
                                struct at_copy_offer *ret_offer,
                                struct at_error *reterr)
{
    struct at_copy_source *source = NULL;

    AT_TRY(at_copy_source_open(node_of(ctx)->disk.store, receiver, needs, &source, reterr));
    *ret_source = source;
    *ret_offer = at_copy_source_offer(source);
    return AT_OK;
}

static enum at_code source_read(void *source, struct at_copy_read *read, struct at_error *reterr)
{
    read->max_bytes = 200; /* so that there are chunks at all */
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
    struct port_ctx *c = ctx;
    struct at_copy_sink *sink = NULL;

    c->w->stats.copies_begun++;
    AT_TRY(at_copy_sink_open(node_of(ctx)->disk.store, donor, part_count, &sink, reterr));
    real_trace(c->w, "cluster %u: a copy from %u begins", c->node, donor->from.v - 1);
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
    enum at_code code = at_copy_sink_finish(&s, reterr);

    if (code == AT_OK)
        g_ctx[0].w->stats.copies++;
    real_trace(g_ctx[0].w, "a copy is finished: %s", at_code_name(code));
    return code;
}

static void sink_abort(void *sink)
{
    struct at_copy_sink *s = sink;
    at_copy_sink_abort(&s);
    g_ctx[0].w->stats.copies_cut++;
}

struct at_slice real_info(uint32_t node, uint8_t *bytes, size_t size)
{
    char id[16];
    struct at_buf out;

    (void)snprintf(id, sizeof(id), "c%u", node);
    at_buf_init(&out, AT_MEMBER_INFO_BYTES_MAX);
    struct at_member_info info = {.cluster_id = at_slice_cstr(id),
                                  .zone = at_slice_cstr(id),
                                  .host = AT_LIT("sim"),
                                  .grpc_port = 1,
                                  .peer_port = (uint16_t)(1 + node)};
    enum at_code code = at_member_info_encode(&info, &out);
    AT_ASSERT(code == AT_OK && out.len <= size);
    memcpy(bytes, out.data, out.len);
    struct at_slice result = at_slice_make(bytes, out.len);
    at_buf_deinit(&out);
    return result;
}

/* --- life --- */

void real_nodes_reset(void)
{
    memset(g_ctx, 0, sizeof(g_ctx));
}

void real_node_prepare(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];

    g_ctx[node] = (struct port_ctx){w, node};
    (void)snprintf(n->dir, sizeof(n->dir), "%s/%u", w->root, node);
    int rc = mkdir(n->dir, 0700);
    AT_ASSERT(rc == 0);
    n->mono_start_ns = (1 + real_below(w, 1000)) * AT_S_NS;
    at_replica_view_init(&n->view);
    at_replica_view_init(&n->last);
    for (uint32_t i = 0; i < REAL_WRITES_MAX; i++)
        at_arena_init(&n->writes[i].arena, 1024);
    struct at_store_config config = {
        .dir = n->dir,
        .block_cache_bytes = 2 * AT_MIB,
        .memtable_bytes = 4 * AT_MIB,
        .log_bytes_max = w->log_cap,
        .sync_commits = w->sync_commits,
        .gc_delay_s = w->gc_delay_s,
        .clock = {clock_wall, clock_mono, &g_ctx[node]},
        .replica = {.instance_id = REAL_INSTANCE,
                    .self = real_id(node),
                    .members = n->members,
                    .infos = n->infos,
                    .member_count = n->member_count,
                    .newcomer = n->newcomer,
                    .join_hlc = n->join_hlc,
                    .max_skew_ns = REAL_SKEW_MS * AT_MS_NS,
                    .reserve_step_ns = REAL_SKEW_MS / 5 * AT_MS_NS,
                    .sync_commits = w->sync_commits},
        .on_commit = on_commit,
        .on_applied = on_applied,
    };
    lossy_store_init(&n->disk, &config);
    n->state = REAL_DOWN;
}

void real_node_start(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];
    struct at_error error = {0};
    struct at_peering_config config = {
        .clock = {clock_wall, clock_mono, &g_ctx[node]},
        .listen_host = "sim",
        .wait_ms = 250,
        .manual = true,
        .port = {.ctx = &g_ctx[node],
                 .view = port_view,
                 .read_log = port_read_log,
                 .apply = port_apply,
                 .call = port_call,
                 .act = port_act,
                 .copy = {.ctx = &g_ctx[node],
                          .source_open = source_open,
                          .source_read = source_read,
                          .source_close = source_close,
                          .sink_open = sink_open,
                          .sink_take = sink_take,
                          .sink_finish = sink_finish,
                          .sink_abort = sink_abort}},
    };

    AT_ASSERT(n->state == REAL_DOWN);
    g_fake_net.here = node;
    if (lossy_store_up(&n->disk, &error) != AT_OK) {
        real_fail(w, "start", "cluster %u does not start: %s", node, error.msg);
        return;
    }
    enum at_code code = at_peering_start(&config, &n->peering, &error);
    AT_ASSERT(code == AT_OK);
    n->state = REAL_UP;
    n->copying = false;
    n->wake_ns = g_fake_net.now_ns;
    at_store_view(n->disk.store, &n->view);
    real_trace(w, "cluster %u starts in epoch %u, mode %d", node, n->view.epoch, (int)n->view.mode);
    real_check_start(w, node);
    at_replica_view_copy(&n->last, &n->view);
}

/* All that the writer holds comes back, as from one that was cut off. The store is not to run any
 * more, so nothing of it happens. */
static void give_back(struct real_node *n)
{
    struct at_store *s = n->disk.store;
    struct at_mail *lists[2] = {at_mailbox_take(&s->calls), at_mailbox_take(&s->acts)};

    for (struct at_mail *m = lists[0]; m != NULL;) {
        struct at_replica_call *call = (struct at_replica_call *)m;
        m = m->next;
        call->failed = true;
        call->done(call);
    }
    for (struct at_mail *m = lists[1]; m != NULL;) {
        struct at_act_write *act = (struct at_act_write *)m;
        m = m->next;
        act->code = AT_UNAVAILABLE;
        act->done(act);
    }
    while (n->held_count > 0) {
        struct at_apply *apply = n->held[--n->held_count].item;
        apply->dropped = true;
        at_peering_applied(apply);
    }
}

static void end_peering(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];

    g_fake_net.here = node;
    fake_net_kill(node);
    n->dying = true;
    at_peering_stop(&n->peering);
    n->dying = false;
    n->mono_start_ns += n->dying_ticks;
    n->dying_ticks = 0;
}

void real_node_end(struct real_world *w, uint32_t node, enum real_end how, enum real_state then)
{
    struct real_node *n = &w->nodes[node];
    struct at_store *s = n->disk.store;

    AT_ASSERT(n->state == REAL_UP);
    at_vector_merge(&n->durable_floor, &n->view.durable);
    at_vector_copy(&n->disk_floor, &n->view.applied);
    n->power_lost = how == REAL_END_POWER;
    real_trace(w, "cluster %u ends: %s", node,
               how == REAL_END_ORDERLY  ? "in order"
               : how == REAL_END_KILLED ? "killed"
                                        : "power cut");
    if (how == REAL_END_ORDERLY) {
        for (int i = 0; i < 100 && (s->mailbox.count > 0 || n->held_count > 0); i++)
            at_store_turn(s); /* what waits is done and told */
        AT_ASSERT(n->held_count == 0);
        real_truth_read(w, node);
        real_clients_take(w, node);
    } else {
        /* Nothing more is taken, so that what ends below leaves no trace on the disk. */
        atomic_store(&s->closing, true);
        at_mailbox_close(&s->mailbox);
    }
    give_back(n);
    end_peering(w, node);
    real_members_take(w, node);
    real_tokens_take(w);
    if (how == REAL_END_ORDERLY) {
        lossy_store_down(&n->disk);
    } else if (how == REAL_END_KILLED) {
        w->stats.kills++;
        lossy_store_kill(&n->disk);
    } else {
        uint64_t unsynced = lossy_store_unsynced(&n->disk);
        uint64_t kept = real_percent(w, 30) ? 0 : real_below(w, (uint32_t)unsynced + 1);
        w->stats.power_cuts++;
        lossy_store_power_cut(&n->disk, kept);
    }
    real_clients_forget(w, node);
    n->state = then;
}

void real_node_turn(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];
    struct at_store *s = n->disk.store;

    g_fake_net.here = node;
    w->stats.turns++;
    uint64_t wake_ns = 0;
    for (int i = 0; i < 4; i++) {
        at_store_turn(s);
        real_truth_read(w, node);
        wake_ns = at_peering_turn(n->peering);
        if (s->mailbox.count == 0)
            break;
    }
    uint64_t mono_ns = clock_mono(&g_ctx[node]);
    n->wake_ns = g_fake_net.now_ns + (wake_ns > mono_ns ? wake_ns - mono_ns : 0);
    uint64_t most_ns = g_fake_net.now_ns + (s->mailbox.count > 0 ? 1 : 80) * AT_MS_NS;
    uint64_t least_ns = g_fake_net.now_ns + AT_MS_NS / 2;
    n->wake_ns = n->wake_ns > most_ns ? most_ns : n->wake_ns < least_ns ? least_ns : n->wake_ns;
    if (real_percent(w, w->resting ? 50 : 8))
        (void)at_store_sync_now(s);
    at_store_view(s, &n->view);
    real_clients_take(w, node);
    real_members_take(w, node);
    real_check_view(w, node);
}
