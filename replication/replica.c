#include "base/alloc.h"
#include "base/assert.h"
#include "base/mutant.h"
#include "replication/replica_state.h"

#include <inttypes.h>

/* The replica is split by subject:
 *     replica.c        birth, start, local operations, promise and horizon, commit
 *     replica_pull.c   entries and replies of others, gaps
 *     replica_epoch.c  epochs: opening, closing, leaving the vectors; what may be trimmed
 *     replica_member.c entries that change members
 *     replica_join.c, replica_leave.c, replica_fence.c   the ways to come and to go
 *     replica_fill.c   copies
 *     replica_store.c  the stored records
 *     replica_view.c   what others may see
 *
 * Of the members' promises, acknowledgements and positions nothing is stored: they are facts that
 * are told again, and not knowing them only holds things back. F and V are stored, so what was
 * concluded from them is not lost. */

#define SCRATCH_BYTES_MAX (256 * AT_KIB)

static void take_config_infos(struct at_replica *r);
static bool holds_horizon(const struct at_replica *r, uint32_t index);
static struct at_slice cut_info(struct at_slice info);
static void set_config_info(struct at_config_info *c, struct at_slice info);
static enum at_code refuse_by_clock(const struct at_replica *r,
                                    const struct at_guard_finding *f,
                                    struct at_error *reterr);

struct at_replica *at_replica_new(const struct at_replica_config *config)
{
    struct at_replica *r = AT_NEW(struct at_replica);

    AT_ASSERT(config->self.v != 0);
    AT_ASSERT(config->member_count <= AT_MEMBERS_MAX);
    r->instance_id = config->instance_id;
    r->self = config->self;
    r->max_skew_ns = config->max_skew_ns;
    r->sync_commits = config->sync_commits;
    r->born_id = config->instance_id;
    r->mode = config->newcomer ? AT_MODE_INIT : AT_MODE_READY;
    r->mode_before = r->mode;
    r->joined = !config->newcomer;
    r->caught_up = !config->newcomer;
    r->epoch = 1;
    r->closed_below = 1;
    r->dirty = AT_DIRTY_ID | AT_DIRTY_EPOCH | AT_DIRTY_MODE;
    r->need_sync = true;
    at_hlc_init(&r->hlc, config->reserve_step_ns);
    at_guard_init(&r->guard, config->max_skew_ns);
    at_buf_init(&r->scratch, SCRATCH_BYTES_MAX);

    r->self_index = at_replica_add_origin(r, config->self);
    r->origins[r->self_index].state = AT_ORIGIN_ACTIVE;
    for (uint32_t i = 0; i < config->member_count; i++) {
        uint32_t at = at_replica_add_origin(r, config->members[i]);
        r->origins[at].state = AT_ORIGIN_ACTIVE;
        if (config->infos != NULL)
            at_origin_set_info(&r->origins[at], cut_info(config->infos[i]));
        r->config_infos[i] = (struct at_config_info){.id = config->members[i]};
        if (config->infos != NULL)
            set_config_info(&r->config_infos[i], cut_info(config->infos[i]));
    }
    r->config_info_count = config->member_count;
    r->origins[r->self_index].registered = config->registered;
    r->config_registered = config->registered;
    if (config->newcomer)
        at_hlc_merge(&r->hlc, config->join_hlc);
    for (uint32_t i = 0; i < r->origin_count; i++)
        r->origins[i].dirty = true;
    return r;
}

void at_replica_free(struct at_replica **replica)
{
    struct at_replica *r = *replica;

    if (r == NULL)
        return;
    at_replica_forget_origins(r);
    at_positions_facts_deinit(&r->closing);
    at_positions_facts_deinit(&r->removal.vouches);
    for (uint32_t i = 0; i < sizeof(r->removal.positions) / sizeof(r->removal.positions[0]); i++)
        at_vector_deinit(&r->removal.positions[i]);
    at_vector_deinit(&r->fork_upto);
    at_vector_deinit(&r->applied);
    at_vector_deinit(&r->durable);
    at_vector_deinit(&r->base);
    at_vector_deinit(&r->stored_applied);
    at_vector_deinit(&r->stored_base);
    at_buf_deinit(&r->scratch);
    at_free(r);
    *replica = NULL;
}

enum at_code at_replica_start(struct at_replica *r,
                              bool tail_may_be_lost,
                              uint64_t wall_ns,
                              struct at_error *reterr)
{
    if (!r->restored) {
        (void)at_hlc_promise(&r->hlc, wall_ns);
        return AT_OK;
    }
    if (r->restored_instance_id == 0)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "the store does not say whose it is");
    if (r->restored_instance_id != r->instance_id &&
        (r->fork_id == 0 || (r->fork_id != r->instance_id && r->fork_from != r->instance_id)))
        return at_fail(reterr, AT_FAILED_PRECONDITION, "the store belongs to another instance");
    r->born_id = r->restored_instance_id;
    r->instance_id = r->fork_id == 0 ? r->born_id : r->forked ? r->fork_id : r->fork_from;
    if (!at_member_eq(r->restored_self, r->self))
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "the store belongs to member %" PRIu32 ", not %" PRIu32, r->restored_self.v,
                       r->self.v);
    uint32_t self_index = at_replica_find_origin(r, r->self);
    if (self_index == AT_NO_ORIGIN)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "the store lacks its own member");

    r->self_index = self_index;
    r->seq = at_vector_get(&r->applied, r->self, r->epoch);
    r->need_sync = true;
    take_config_infos(r);
    at_vector_copy(&r->fork_upto, &r->applied);
    /* Nothing may follow LEAVE, and nothing can be lost behind it: it was synced. */
    if (at_replica_has_left(r) || r->mode == AT_MODE_REMOVED)
        return AT_OK;
    if (AT_MUTANT(epoch_kept)) {
        r->closed_below = r->epoch;
        return AT_OK;
    }
    if (tail_may_be_lost && !at_replica_open_epoch(r, r->epoch + 1))
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "more than %d lost tails wait for the other members: start them first",
                       AT_OPEN_EPOCHS_MAX);
    at_replica_close_when_answered(r);
    at_replica_leave_settle(r);
    return AT_OK;
}

enum at_code at_replica_may_write(struct at_replica *r,
                                  uint64_t wall_ns,
                                  uint64_t mono_ns,
                                  struct at_error *reterr)
{
    struct at_guard_finding f = at_replica_judge_clock(r, wall_ns, mono_ns);

    switch (r->mode) {
    case AT_MODE_READY:
        break;
    case AT_MODE_INIT:
        return at_fail(reterr, AT_UNAVAILABLE, "this cluster is initialising");
    case AT_MODE_NEEDS_COPY:
        return at_fail(reterr, AT_UNAVAILABLE, "this cluster lacks data and needs a copy");
    case AT_MODE_COPYING:
        return at_fail(reterr, AT_UNAVAILABLE, "this cluster is being copied to");
    case AT_MODE_LEAVING:
        return at_fail(reterr, AT_UNAVAILABLE, "this cluster is leaving the instance");
    case AT_MODE_REMOVED:
        return at_fail(reterr, AT_UNAVAILABLE, "this cluster was removed from the instance");
    }
    if (!r->joined)
        return at_fail(reterr, AT_UNAVAILABLE, "not all members know this cluster yet");
    if (r->rolled_back)
        return at_fail(reterr, AT_UNAVAILABLE, "the store of this cluster was rolled back");
    if (r->log_full)
        return at_fail(reterr, AT_UNAVAILABLE,
                       "the log is full of entries that no other cluster has");
    return refuse_by_clock(r, &f, reterr);
}

uint64_t at_replica_issue(struct at_replica *r, uint32_t ticks, uint64_t wall_ns)
{
    return at_hlc_issue(&r->hlc, ticks, wall_ns);
}

struct at_position at_replica_append(struct at_replica *r, uint64_t hlc_last)
{
    struct at_position p = {r->self, r->epoch, r->seq + 1};

    AT_ASSERT(!at_replica_has_left(r)); /* LEAVE is the last entry ever */
    AT_ASSERT(hlc_last <= r->hlc.now);
    AT_ASSERT(hlc_last > r->promise.hlc);
    bool raised = at_vector_raise(&r->applied, p);
    AT_ASSERT(raised);
    r->seq = p.seq;
    return p;
}

bool at_replica_promise(struct at_replica *r, uint64_t wall_ns)
{
    uint64_t hlc = at_hlc_promise(&r->hlc, wall_ns);

    if (r->closed_below == r->epoch || AT_MUTANT(promise_unclosed))
        r->promise = (struct at_promise){.origin = r->self,
                                         .epoch = r->epoch,
                                         .seq = r->seq,
                                         .hlc = hlc,
                                         .closed_from = AT_MUTANT(promise_unclosed)
                                                            ? r->epoch
                                                            : r->origins[r->self_index].first_open};
    at_replica_advance_horizon(r);
    return r->hlc.moved || r->hlc.ahead_moved;
}

void at_replica_committed(struct at_replica *r, bool synced)
{
    AT_ASSERT(synced || !r->flushed_sync);
    if (!synced && !AT_MUTANT(durable_early))
        return;
    at_vector_copy(&r->durable, &r->applied);
    if (synced)
        at_hlc_durable(&r->hlc, r->hlc.stored);
    r->flushed_sync = false;
}

uint64_t at_replica_clock_stored(const struct at_replica *r)
{
    return r->hlc.stored;
}

bool at_replica_wants_sync(const struct at_replica *r)
{
    return r->hlc.stored > r->hlc.reserved;
}

void at_replica_synced(struct at_replica *r, const struct at_vector *upto, uint64_t clock_stored)
{
    at_hlc_durable(&r->hlc, clock_stored);
    for (uint32_t i = 0; i < upto->count; i++) {
        struct at_position p = upto->items[i];
        /* Epochs may have left the vectors since the sync began. */
        if (at_vector_get(&r->applied, p.origin, p.epoch) >= p.seq)
            (void)at_vector_raise(&r->durable, p);
    }
}

void at_replica_set_log_full(struct at_replica *r, bool full)
{
    r->log_full = full;
}

uint32_t at_replica_find_origin(const struct at_replica *r, struct at_member_id id)
{
    for (uint32_t i = 0; i < r->origin_count; i++)
        if (at_member_eq(r->origins[i].id, id))
            return i;
    return AT_NO_ORIGIN;
}

uint32_t at_replica_add_origin(struct at_replica *r, struct at_member_id id)
{
    uint32_t at = at_replica_find_origin(r, id);

    if (at != AT_NO_ORIGIN || r->origin_count == AT_ORIGINS_MAX)
        return at;
    at = r->origin_count++;
    at_origin_init(&r->origins[at], id, AT_ORIGIN_KNOWN);
    r->peers[at] = (struct at_peer){0};
    return at;
}

void at_replica_forget_origins(struct at_replica *r)
{
    for (uint32_t i = 0; i < r->origin_count; i++) {
        at_origin_deinit(&r->origins[i]);
        at_vector_deinit(&r->peers[i].acked);
        at_vector_deinit(&r->peers[i].known);
    }
    r->origin_count = 0;
}

uint32_t at_replica_active_count(const struct at_replica *r)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < r->origin_count; i++)
        count += at_replica_is_active(r, i);
    return count;
}

uint64_t at_replica_store_horizon(struct at_replica *r)
{
    r->store_horizon = true;
    return r->horizon;
}

void at_replica_advance_horizon(struct at_replica *r)
{
    const struct at_origin *own = &r->origins[r->self_index];
    uint64_t horizon = r->promise.hlc;

    /* A copy is merged by what F was when it began. */
    if (r->mode == AT_MODE_INIT || r->mode == AT_MODE_COPYING)
        return;
    if (horizon == 0 || !at_origin_counts(own, &r->promise, &r->applied))
        return;
    for (uint32_t i = 0; i < r->origin_count; i++) {
        if (i == r->self_index || !holds_horizon(r, i))
            continue;
        if (AT_MUTANT(horizon_skips_silent) && r->origins[i].best.hlc == 0)
            continue;
        if (r->origins[i].best.hlc < horizon)
            horizon = r->origins[i].best.hlc;
    }
    if (horizon > r->horizon)
        r->horizon = horizon;
}

/* One that left or was removed holds it until all that there ever will be of it is here. */
static bool holds_horizon(const struct at_replica *r, uint32_t index)
{
    if (at_replica_is_active(r, index))
        return true;
    if (!at_replica_is_gone(r, index) || AT_MUTANT(final_ignored))
        return false;
    return !at_origin_final_applied(&r->origins[index], &r->applied);
}

void at_replica_set_mode(struct at_replica *r, enum at_replica_mode mode)
{
    if (mode == r->mode)
        return;
    r->mode = mode;
    r->dirty |= AT_DIRTY_MODE;
}

/* Addresses may have changed since they were stored. */
static void take_config_infos(struct at_replica *r)
{
    for (uint32_t i = 0; i < r->config_info_count; i++) {
        const struct at_config_info *c = &r->config_infos[i];
        uint32_t at = at_replica_find_origin(r, c->id);
        if (at != AT_NO_ORIGIN && at_replica_is_active(r, at))
            at_origin_set_info(&r->origins[at], at_slice_make(c->bytes, c->len));
    }
    struct at_origin *own = &r->origins[r->self_index];
    if (own->registered.epoch == 0 && r->config_registered.epoch != 0) {
        own->registered = r->config_registered;
        own->dirty = true;
    }
}

static struct at_slice cut_info(struct at_slice info)
{
    return info.len <= AT_MEMBER_INFO_BYTES_MAX ? info : at_slice_make(info.data, 0);
}

static void set_config_info(struct at_config_info *c, struct at_slice info)
{
    c->len = (uint32_t)info.len;
    if (info.len > 0)
        memcpy(c->bytes, info.data, info.len);
}

struct at_guard_finding
at_replica_judge_clock(struct at_replica *r, uint64_t wall_ns, uint64_t mono_ns)
{
    struct at_guard_finding f =
        at_guard_judge(&r->guard, at_hlc_next(&r->hlc, wall_ns), r->released, wall_ns, mono_ns,
                       at_replica_active_count(r) < 2);
    r->verdict = f.verdict;
    return f;
}

static enum at_code refuse_by_clock(const struct at_replica *r,
                                    const struct at_guard_finding *f,
                                    struct at_error *reterr)
{
    uint64_t off_ms = f->off_ns / AT_MS_NS;
    uint64_t limit_ms = r->max_skew_ns / AT_MS_NS;

    if (f->verdict == AT_GUARD_JUMPED)
        return at_fail(reterr, AT_UNAVAILABLE,
                       "the wall clock jumped ahead by %" PRIu64 " ms (limit %" PRIu64
                       ") and no other cluster is heard",
                       off_ms, limit_ms);
    if (f->verdict != AT_GUARD_AHEAD)
        return AT_OK;
    if (f->heard_count == 1)
        return at_fail(reterr, AT_UNAVAILABLE,
                       "the clock is %" PRIu64 " ms (limit %" PRIu64 ") ahead of member %" PRIu32
                       ": one of the two is wrong",
                       off_ms, limit_ms, f->other.v);
    return at_fail(reterr, AT_UNAVAILABLE,
                   "the clock is %" PRIu64 " ms (limit %" PRIu64 ") ahead of the other clusters'",
                   off_ms, limit_ms);
}
