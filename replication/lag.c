#include "replication/lag.h"

#include "base/clock.h"
#include "base/mutant.h"

static uint64_t entries_missing(const struct at_vector *ends, const struct at_replica_view *view);
static uint64_t behind_ns(const struct at_lag_evidence *e,
                          const struct at_replica_view *view,
                          struct at_member_id peer,
                          uint64_t now_ns);

void at_lag_evidence_init(struct at_lag_evidence *e, uint64_t now_ns)
{
    *e = (struct at_lag_evidence){.since_ns = now_ns};
    at_vector_init(&e->ends);
}

void at_lag_evidence_deinit(struct at_lag_evidence *e)
{
    at_vector_deinit(&e->ends);
}

void at_lag_evidence_note(struct at_lag_evidence *e, const struct at_reply *reply, uint64_t now_ns)
{
    e->ends.count = 0;
    for (uint32_t i = 0; i < reply->ends_known.count; i++)
        if (at_member_eq(reply->ends_known.items[i].origin, reply->from))
            (void)at_vector_raise(&e->ends, reply->ends_known.items[i]);
    /* What has left the peer's vectors is complete with its members, and may be missing here. */
    for (uint32_t i = 0; i < reply->facts.end_count; i++) {
        const struct at_epoch_end *end = &reply->facts.ends[i];
        if (at_member_eq(end->origin, reply->from) && end->end > 0)
            (void)at_vector_raise(&e->ends,
                                  (struct at_position){end->origin, end->epoch, end->end});
    }
    e->hlc = reply->hlc;
    e->reply_ns = now_ns;
}

struct at_lag at_lag_of(const struct at_lag_evidence *e,
                        const struct at_replica_view *view,
                        struct at_member_id peer,
                        struct at_lag_windows windows,
                        uint64_t now_ns)
{
    struct at_lag lag = {.entries = entries_missing(&e->ends, view)};
    uint64_t age_ns = now_ns > e->reply_ns ? now_ns - e->reply_ns : 0;
    bool fresh = e->reply_ns != 0 && age_ns <= windows.fresh_ns;
    bool in_touch = e->reply_ns != 0 && age_ns <= windows.touch_ns;

    if (AT_MUTANT(lag_zero) && !fresh)
        return (struct at_lag){.known = true};
    lag.known = fresh || (in_touch && lag.entries > 0);
    if (fresh && lag.entries == 0)
        return lag;
    uint64_t ms = behind_ns(e, view, peer, now_ns) / AT_MS_NS;
    lag.ms = ms == 0 ? 1 : ms;
    return lag;
}

static uint64_t entries_missing(const struct at_vector *ends, const struct at_replica_view *view)
{
    uint64_t missing = 0;

    for (uint32_t i = 0; i < ends->count; i++) {
        const struct at_position *end = &ends->items[i];
        if (end->epoch < at_positions_facts_first_open(&view->facts, end->origin))
            continue;
        uint64_t has = at_vector_get(&view->applied, end->origin, end->epoch);
        missing += end->seq > has ? end->seq - has : 0;
    }
    return missing;
}

/* The peer promised that all of its entries stamped up to fresh_hlc are applied here, so what is
 * missing is younger. Without a promise (it is closing old epochs) the time since everything was
 * here is as much as can be said. */
static uint64_t behind_ns(const struct at_lag_evidence *e,
                          const struct at_replica_view *view,
                          struct at_member_id peer,
                          uint64_t now_ns)
{
    uint64_t fresh_hlc = 0;

    for (uint32_t i = 0; i < view->member_count; i++)
        if (at_member_eq(view->members[i].id, peer))
            fresh_hlc = view->members[i].fresh_hlc;
    if (fresh_hlc != 0 && e->reply_ns != 0) {
        uint64_t age_ns = now_ns > e->reply_ns ? now_ns - e->reply_ns : 0;
        return (e->hlc > fresh_hlc ? e->hlc - fresh_hlc : 0) + age_ns;
    }
    uint64_t from_ns = e->all_ns != 0 ? e->all_ns : e->since_ns;
    return now_ns > from_ns ? now_ns - from_ns : 0;
}
