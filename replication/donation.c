#include "replication/donation.h"

#include "base/assert.h"
#include "base/mutant.h"

/* The view's vector is ordered by (origin, epoch), so going round the origins is two passes over
 * it: the origins behind `start_after`, then the others. */

enum need { NEED_NOTHING, NEED_ENTRIES, NEED_GAP };

static bool donates(const struct at_replica_view *view);
static enum need
need_of(const struct at_replica_view *view, const struct at_pull *pull, struct at_position held);
static bool skips(const struct at_pull *pull, struct at_member_id origin);
static void add_part(struct at_donation *plan, const struct at_pull *pull, struct at_position held);
static void add_gap(struct at_donation *plan, struct at_position base);
static void add_gaps_of_closed(struct at_donation *plan,
                               const struct at_replica_view *view,
                               const struct at_pull *pull);

void at_donation_plan(const struct at_replica_view *view,
                      const struct at_pull *pull,
                      struct at_member_id start_after,
                      struct at_donation *ret_plan)
{
    ret_plan->part_count = 0;
    ret_plan->gap_count = 0;
    ret_plan->cut = false;
    if (!donates(view))
        return;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < view->applied.count; i++) {
            struct at_position held = view->applied.items[i];
            bool behind = held.origin.v > start_after.v;
            if (behind != (pass == 0))
                continue;
            switch (need_of(view, pull, held)) {
            case NEED_NOTHING:
                break;
            case NEED_ENTRIES:
                add_part(ret_plan, pull, held);
                break;
            case NEED_GAP:
                held.seq = at_vector_get(&view->base, held.origin, held.epoch);
                add_gap(ret_plan, held);
                break;
            }
        }
    add_gaps_of_closed(ret_plan, view, pull);
}

bool at_donation_news(const struct at_replica_view *view, const struct at_pull *pull)
{
    if (!donates(view))
        return false;
    for (uint32_t i = 0; i < view->applied.count; i++)
        if (need_of(view, pull, view->applied.items[i]) == NEED_ENTRIES)
            return true;
    return false;
}

static bool donates(const struct at_replica_view *view)
{
    return view->mode != AT_MODE_INIT && view->mode != AT_MODE_COPYING;
}

static enum need
need_of(const struct at_replica_view *view, const struct at_pull *pull, struct at_position held)
{
    if (skips(pull, held.origin) ||
        (AT_MUTANT(relay_off) && !at_member_eq(held.origin, view->self)))
        return NEED_NOTHING;
    uint64_t has = at_vector_get(&pull->applied, held.origin, held.epoch);
    if (held.seq <= has)
        return NEED_NOTHING;
    if (held.epoch < at_positions_facts_first_open(&pull->facts, held.origin))
        return NEED_NOTHING;
    return has < at_vector_get(&view->base, held.origin, held.epoch) ? NEED_GAP : NEED_ENTRIES;
}

static bool skips(const struct at_pull *pull, struct at_member_id origin)
{
    for (uint32_t i = 0; i < pull->skip_count; i++)
        if (at_member_eq(pull->skip[i], origin))
            return true;
    return false;
}

static void add_part(struct at_donation *plan, const struct at_pull *pull, struct at_position held)
{
    if (plan->part_count == AT_DONATION_PARTS_MAX) {
        plan->cut = true;
        return;
    }
    uint64_t has = at_vector_get(&pull->applied, held.origin, held.epoch);
    AT_ASSERT(has < held.seq);
    plan->parts[plan->part_count++] = (struct at_donation_part){
        .first = {.origin = held.origin, .epoch = held.epoch, .seq = has + 1},
        .last_seq = held.seq,
    };
}

/* Gaps beyond the maximum are told when the asker has dealt with these. */
static void add_gap(struct at_donation *plan, struct at_position base)
{
    if (plan->gap_count < AT_DONATION_GAPS_MAX)
        plan->gaps[plan->gap_count++] = (struct at_gap){.base = base};
}

/* An epoch leaves the vector when all active members have it durably. Whoever lacks entries of one
 * all the same (a disk that was rolled back) must learn it: never a silent gap. */
static void add_gaps_of_closed(struct at_donation *plan,
                               const struct at_replica_view *view,
                               const struct at_pull *pull)
{
    for (uint32_t i = 0; i < view->facts.end_count; i++) {
        const struct at_epoch_end *end = &view->facts.ends[i];
        if (skips(pull, end->origin))
            continue;
        if (end->epoch >= at_positions_facts_first_open(&view->facts, end->origin))
            continue; /* still in the vector */
        if (end->epoch < at_positions_facts_first_open(&pull->facts, end->origin))
            continue;
        if (at_vector_get(&pull->applied, end->origin, end->epoch) < end->end)
            add_gap(plan, (struct at_position){end->origin, end->epoch, end->end});
    }
}
