#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "replication/replica_state.h"
#include "sim/world.h"

/* One cluster: the order of a commit round is that of replica.h. What the simulator writes down of
 * an entry (its book, 'v' records) goes into the same batch, and is compared with V. */

static void put_record(void *ctx, struct at_slice key, struct at_slice value);
static void book(struct sim_world *w, uint32_t node, struct at_position p);
static void restore(struct sim_world *w, uint32_t node);
static void check_vectors(struct sim_world *w, uint32_t node);
static void check_promises(struct sim_world *w, uint32_t node);
static void
put_log(struct sim_world *w, uint32_t node, struct at_position p, const struct at_entry *e);
static uint32_t delete_log(struct sim_world *w, uint32_t node, struct at_position upto);

void sim_log_key(uint8_t key[17], struct at_position p)
{
    key[0] = 'l';
    at_put_be32(key + 1, p.origin.v);
    at_put_be32(key + 5, p.epoch);
    at_put_be64(key + 9, p.seq);
}

void sim_node_create(struct sim_world *w, uint32_t node, const struct at_replica_config *config)
{
    struct sim_node *n = &w->nodes[node];

    n->state = SIM_UP;
    n->sync_commits = config->sync_commits;
    n->replica = at_replica_new(config);
    n->catalog = at_catalog_new();
    n->boot = w->next_boot++;
    n->first_request = w->next_request;
    at_replica_view_init(&n->view);
    enum at_code code = at_replica_start(n->replica, false, sim_wall(w, node), NULL);
    AT_ASSERT(code == AT_OK);
    sim_commit(w, node, true);
}

void sim_node_stop(struct sim_world *w, uint32_t node, enum sim_node_state state)
{
    struct sim_node *n = &w->nodes[node];

    n->state = state;
    n->round_open = false;
    n->greeters = 0;
    at_replica_free(&n->replica);
    at_catalog_free(&n->catalog);
    sim_copies_forget(w, node);
    for (uint32_t p = 0; p < SIM_NODES_MAX; p++) {
        n->peers[p].in_use = false;
        n->sent[p].request = 0;
        n->asked[p] = 0;
    }
}

void sim_node_crash(struct sim_world *w, uint32_t node, bool lose)
{
    struct sim_node *n = &w->nodes[node];
    uint32_t keep = n->engine.mark_count;

    if (n->round_open) { /* nobody has seen it, and nobody was told that it is done */
        sim_oracle_retract(&w->oracle, node, n->replica->epoch);
        n->stamp_max = n->stamp_shown;
    }
    sim_node_stop(w, node, SIM_DOWN);
    w->stats.crashes++;
    if (lose && keep > 0) {
        keep = sim_below(w, 2) == 0 ? 0 : sim_below(w, keep + 1);
        w->stats.losses++;
    }
    n->tail_lost = n->tail_lost || lose;
    if (lose)
        n->horizon_before = 0; /* lost with the rest */
    struct sim_tear tear = {sim_below(w, 100), sim_below(w, 2) == 0};
    sim_engine_crash(&n->engine, keep, tear);
    sim_load_book(w, node);
    sim_note_losses(w, node);
    sim_trace(w, "cluster %u crashes%s", node, lose ? ", loses its tail" : "");
}

/* `doubt`: the tail may be lost. */
void sim_node_start(struct sim_world *w, uint32_t node, bool doubt)
{
    struct sim_node *n = &w->nodes[node];

    if (!sim_set_back_may_start(w, node))
        return;
    n->boot = w->next_boot++;
    n->first_request = w->next_request;
    restore(w, node);
    enum at_code code = at_replica_start(n->replica, doubt, sim_wall(w, node), NULL);
    if (code != AT_OK || n->replica->epoch >= SIM_EPOCHS_MAX) {
        at_replica_free(&n->replica);
        return; /* too many epochs wait to be closed */
    }
    n->state = SIM_UP;
    n->tail_lost = false;
    sim_rows_load_catalog(w, node);
    sim_load_book(w, node);
    n->coverage_moved = true;
    n->before.count = 0;
    sim_trace(w, "cluster %u starts, epoch %u%s", node, n->replica->epoch,
              doubt ? ", its tail may be lost" : "");
    sim_commit(w, node, true);
    if (n->view.mode == AT_MODE_COPYING) {
        at_replica_copy_drop(n->replica);
        w->stats.copies_dropped++;
        sim_commit(w, node, true);
    }
    sim_rows_check(w, node, true);
}

static void restore(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    struct at_member_id members[AT_MEMBERS_MAX] = {sim_id(node)};
    struct at_replica_config config = {.instance_id = SIM_INSTANCE,
                                       .self = sim_id(node),
                                       .members = members,
                                       .member_count = 1,
                                       .max_skew_ns = SIM_SKEW_MS * SIM_MS,
                                       .reserve_step_ns = SIM_SKEW_MS * SIM_MS / 4,
                                       .sync_commits = n->sync_commits};

    n->replica = at_replica_new(&config);
    for (uint32_t i = sim_records_seek(&n->engine.now, AT_LIT("r")); i < n->engine.now.count; i++) {
        const struct sim_record *r = n->engine.now.items[i];
        struct at_error error;
        if (r->bytes[0] != 'r')
            break;
        if (at_replica_restore(n->replica, sim_record_key(r), sim_record_value(r), &error) != AT_OK)
            sim_fail(w, "restore", "cluster %u: %s", node, error.msg);
    }
}

bool sim_write(struct sim_world *w, uint32_t node, struct sim_op *op, bool leave_open)
{
    struct sim_node *n = &w->nodes[node];
    struct at_error error;

    if (sim_set_back_unsure(w, node))
        return false;
    if (at_replica_may_write(n->replica, sim_wall(w, node), w->now_ns, &error) != AT_OK) {
        w->stats.refused++;
        sim_trace(w, "cluster %u refuses: %s", node, error.msg);
        return false;
    }
    w->stats.writes++;
    n->stamp_shown = n->stamp_max;
    sim_append(w, node, op, NULL);
    if (leave_open)
        n->round_open = true;
    else
        sim_commit(w, node, n->sync_commits);
    return true;
}

void sim_append(struct sim_world *w,
                uint32_t node,
                struct sim_op *op,
                const struct at_removal *removal)
{
    struct sim_node *n = &w->nodes[node];

    op->hlc = at_replica_issue(n->replica, op->ticks, sim_wall(w, node));
    uint64_t last = op->hlc + op->ticks - 1;
    if (op->hlc <= n->stamp_max || op->hlc <= n->promise_max)
        sim_fail(w, "stamp", "cluster %u issues a stamp that is used or promised away", node);
    if (op->hlc <= n->replica->horizon)
        sim_fail(w, "horizon", "cluster %u issues a stamp at or below its horizon", node);
    n->stamp_max = last;
    op->at = at_replica_append(n->replica, last);
    if (op->at.epoch > SIM_EPOCHS_MAX)
        return;
    if (op->at.seq != w->oracle.truth[node][op->at.epoch - 1].count + 1) {
        sim_fail(w, "one meaning", "cluster %u uses (%u, %llu) again", node, op->at.epoch,
                 (unsigned long long)op->at.seq);
        return;
    }
    sim_payload_encode(w, op, removal);
    op->digest = at_buf_slice(&w->payload).len;
    for (size_t i = 0; i < w->payload.len; i++)
        op->digest = op->digest * 31 + w->payload.data[i];
    (void)sim_oracle_add(&w->oracle, op);
    sim_trace(w, "cluster %u writes (%u, %llu) kind %d", node, op->at.epoch,
              (unsigned long long)op->at.seq, (int)op->kind);
    struct at_entry entry = {op->at.seq, op->hlc, op->ticks, at_buf_slice(&w->payload)};
    book(w, node, op->at);
    put_log(w, node, op->at, &entry);
    sim_rows_apply(w, node, op->at, &entry);
}

/* A foreign entry that was admitted. */
void sim_apply_entry(struct sim_world *w,
                     uint32_t node,
                     struct at_position p,
                     const struct at_entry *e)
{
    struct sim_node *n = &w->nodes[node];
    const struct sim_op *op = sim_oracle_op(&w->oracle, p);
    uint64_t digest = e->payload.len;

    for (size_t i = 0; i < e->payload.len; i++)
        digest = digest * 31 + e->payload.data[i];
    if (op == NULL || op->hlc != e->hlc || op->ticks != e->ticks || op->digest != digest) {
        sim_fail(w, "one meaning", "cluster %u takes an entry (%u, %u, %llu) that never was", node,
                 p.origin.v - 1, p.epoch, (unsigned long long)p.seq);
        return;
    }
    if (p.seq != n->coverage[p.origin.v - 1][p.epoch - 1] + 1) {
        sim_fail(w, "order", "cluster %u has %u of (%u, %u) and applies %llu", node,
                 n->coverage[p.origin.v - 1][p.epoch - 1], p.origin.v - 1, p.epoch,
                 (unsigned long long)p.seq);
        return;
    }
    if (e->hlc <= n->replica->horizon)
        sim_fail(w, "horizon", "cluster %u applies (%u, %u, %llu), at or below its horizon", node,
                 p.origin.v - 1, p.epoch, (unsigned long long)p.seq);
    at_replica_apply(n->replica, p, e);
    book(w, node, p);
    put_log(w, node, p, e);
    sim_rows_apply(w, node, p, e);
    w->stats.applied++;
}

static void
put_log(struct sim_world *w, uint32_t node, struct at_position p, const struct at_entry *e)
{
    uint8_t key[17];
    uint8_t head[12];

    sim_log_key(key, p);
    at_put_be64(head, e->hlc);
    at_put_be32(head + 8, e->ticks);
    at_buf_clear(&w->scratch);
    enum at_code code = at_buf_append(&w->scratch, at_slice_make(head, sizeof(head)));
    AT_ASSERT(code == AT_OK);
    code = at_buf_append(&w->scratch, e->payload);
    AT_ASSERT(code == AT_OK);
    sim_engine_put(&w->nodes[node].engine, at_slice_make(key, sizeof(key)),
                   at_buf_slice(&w->scratch));
}

static void book(struct sim_world *w, uint32_t node, struct at_position p)
{
    struct sim_node *n = &w->nodes[node];
    uint8_t key[9] = {'v'};
    uint8_t value[4];

    n->coverage[p.origin.v - 1][p.epoch - 1] = (uint32_t)p.seq;
    n->coverage_moved = true;
    at_put_be32(key + 1, p.origin.v);
    at_put_be32(key + 5, p.epoch);
    at_put_be32(value, (uint32_t)p.seq);
    sim_engine_put(&n->engine, at_slice_make(key, 9), at_slice_make(value, 4));
}

void sim_load_book(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    memset(n->coverage, 0, sizeof(n->coverage));
    for (uint32_t i = sim_records_seek(&n->engine.now, AT_LIT("v")); i < n->engine.now.count; i++) {
        const struct sim_record *r = n->engine.now.items[i];
        if (r->bytes[0] != 'v')
            break;
        n->coverage[at_get_be32(r->bytes + 1) - 1][at_get_be32(r->bytes + 5) - 1] =
            at_get_be32(sim_record_value(r).data);
    }
}

void sim_note_losses(struct sim_world *w, uint32_t node)
{
    for (uint32_t e = 0; e < SIM_EPOCHS_MAX; e++) {
        struct sim_history *h = &w->oracle.truth[node][e];
        for (uint32_t i = w->nodes[node].coverage[node][e]; i < h->count; i++) {
            w->stats.lost_entries += !h->ops[i]->lost;
            h->ops[i]->lost = true;
        }
    }
}

void sim_commit(struct sim_world *w, uint32_t node, bool sync)
{
    struct sim_node *n = &w->nodes[node];

    (void)at_replica_promise(n->replica, sim_wall(w, node));
    sync = at_replica_flush(n->replica, put_record, n) || sync || n->sync_commits;
    sim_engine_commit(&n->engine, sync);
    at_replica_committed(n->replica, sync);
    if (sync)
        at_vector_copy(&n->synced, &n->replica->applied);
    n->round_open = false;
    sim_after(w, node);
}

void sim_idle(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    if (at_replica_promise(n->replica, sim_wall(w, node)))
        sim_commit(w, node, false);
    else
        sim_after(w, node);
    sim_check_lags(w, node);
}

static void put_record(void *ctx, struct at_slice key, struct at_slice value)
{
    struct sim_node *n = ctx;

    if (value.len == 0)
        sim_engine_delete(&n->engine, key);
    else
        sim_engine_put(&n->engine, key, value);
}

/* The view is the new state; then the checks that hold after every event. */
void sim_after(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    at_replica_view_fill(n->replica, &n->view);
    n->epoch_max = n->view.epoch > n->epoch_max ? n->view.epoch : n->epoch_max;
    if (n->view.horizon < n->horizon_before)
        sim_fail(w, "horizon fell", "of cluster %u", node);
    n->horizon_before = n->view.horizon;
    sim_fork_note(w, node);
    check_promises(w, node);
    check_vectors(w, node);
    sim_rows_check(w, node, false);
    sim_hash(w, node + 256 * (uint64_t)n->view.mode);
    sim_hash(w, n->view.horizon ^ n->view.seq);
}

static void check_promises(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    const struct at_positions_facts *f = &n->view.facts;

    for (uint32_t i = 0; i < f->promise_count; i++)
        if (at_member_eq(f->promises[i].origin, sim_id(node)) &&
            f->promises[i].hlc > n->promise_max)
            n->promise_max = f->promises[i].hlc;
}

static void check_vectors(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    const struct at_positions_facts *f = &n->view.facts;

    for (uint32_t i = 0; i < n->before.count; i++) {
        struct at_position p = n->before.items[i];
        if (p.epoch >= at_positions_facts_first_open(f, p.origin) &&
            at_vector_get(&n->view.applied, p.origin, p.epoch) < p.seq)
            sim_fail(w, "position fell", "cluster %u: (%u, %u) was at %llu", node, p.origin.v - 1,
                     p.epoch, (unsigned long long)p.seq);
    }
    at_vector_copy(&n->before, &n->view.applied);
    if (!at_vector_covers(&n->view.applied, &n->view.durable))
        sim_fail(w, "durable", "cluster %u: more is durable than applied", node);
    if (!at_vector_covers(&n->synced, &n->view.durable))
        sim_fail(w, "durable", "cluster %u: more is said to be durable than was synced", node);
    for (uint32_t o = 0; o < w->node_count; o++) {
        uint32_t first_open = at_positions_facts_first_open(f, sim_id(o));
        for (uint32_t e = first_open; e <= SIM_EPOCHS_MAX; e++) {
            uint32_t has = n->coverage[o][e - 1];
            if (at_vector_get(&n->view.applied, sim_id(o), e) != has)
                sim_fail(w, "book", "cluster %u: V of (%u, %u) is %llu, its data %u", node, o, e,
                         (unsigned long long)at_vector_get(&n->view.applied, sim_id(o), e), has);
            if (has == 0 && e > n->view.epoch + 2 && w->oracle.truth[o][e - 1].count == 0)
                break;
        }
    }
}

void sim_trim(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    for (uint32_t i = 0; i < n->view.applied.count; i++) {
        struct at_position p = n->view.applied.items[i];
        uint64_t bound = at_replica_trim_bound(n->replica, p.origin, p.epoch);
        p.seq = bound < p.seq ? bound : p.seq;
        if (p.seq > 0 && delete_log(w, node, p) > 0)
            at_replica_trimmed(n->replica, p);
        else if (p.seq > at_vector_get(&n->view.base, p.origin, p.epoch))
            at_replica_trimmed(n->replica, p);
    }
    if (n->log_full) {
        n->log_full = false;
        at_replica_set_log_full(n->replica, false);
    }
    sim_commit(w, node, false);
}

/* The log is over its cap: all of one (origin, epoch) goes that may go. */
void sim_cap(struct sim_world *w, uint32_t node, struct at_position which)
{
    struct sim_node *n = &w->nodes[node];

    which.seq = at_replica_cap_bound(n->replica, which.origin, which.epoch);
    uint64_t applied = at_vector_get(&n->view.applied, which.origin, which.epoch);
    which.seq = which.seq < applied ? which.seq : applied;
    if (which.seq > 0) {
        (void)delete_log(w, node, which);
        at_replica_trimmed(n->replica, which);
        sim_trace(w, "cluster %u caps the log of (%u, %u) to %llu", node, which.origin.v - 1,
                  which.epoch, (unsigned long long)which.seq);
    }
    sim_commit(w, node, false);
}

static uint32_t delete_log(struct sim_world *w, uint32_t node, struct at_position upto)
{
    struct sim_engine *e = &w->nodes[node].engine;
    struct at_position p = {upto.origin, upto.epoch, 0};
    uint8_t key[17];
    uint32_t count = 0;

    sim_log_key(key, p);
    uint32_t at = sim_records_seek(&e->now, at_slice_make(key, 17));
    while (at < e->now.count) {
        struct at_slice k = sim_record_key(e->now.items[at]);
        if (k.data[0] != 'l' || memcmp(k.data, key, 9) != 0 || at_get_be64(k.data + 9) > upto.seq)
            break;
        uint8_t copy[17];
        memcpy(copy, k.data, 17);
        sim_engine_delete(e, at_slice_make(copy, 17));
        count++;
    }
    return count;
}
