/* choice.c: sorting at most AT_MEMBERS_MAX clusters for one request. */
#include "routing/choice.h"

#include "base/assert.h"
#include "base/hash.h"

static bool in_group(const struct at_choice_rule *rule, struct at_slice id);
static bool
before(const struct at_choice_rule *rule, const struct at_target *a, const struct at_target *b);
static int cmp_u64(uint64_t a, uint64_t b);
static uint64_t distance_us(const struct at_target *t);

uint32_t at_choice_order(const struct at_choice_rule *rule,
                         const struct at_target *targets,
                         uint32_t target_count,
                         uint32_t ret_order[AT_MEMBERS_MAX])
{
    AT_ASSERT(target_count <= AT_MEMBERS_MAX);
    AT_ASSERT(!rule->single || rule->group_count == 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < target_count; i++) {
        if (!in_group(rule, targets[i].id))
            continue;
        uint32_t at = count++;
        for (; at > 0 && before(rule, &targets[i], &targets[ret_order[at - 1]]); at--)
            ret_order[at] = ret_order[at - 1];
        ret_order[at] = i;
    }
    return count;
}

static bool in_group(const struct at_choice_rule *rule, struct at_slice id)
{
    for (uint32_t i = 0; i < rule->group_count; i++)
        if (at_slice_eq(rule->group[i], id))
            return true;
    return rule->group_count == 0;
}

/* Rendezvous hashing: each (row, cluster) pair has a weight, and the heaviest cluster of the group
 * comes first. Adding or removing one cluster moves only the rows that it wins or had won. */
static uint64_t affinity(const struct at_choice_rule *rule, const struct at_target *t)
{
    return at_hash64(rule->affinity_row, at_hash64(t->id, 0));
}

static bool
before(const struct at_choice_rule *rule, const struct at_target *a, const struct at_target *b)
{
    if (a->up != b->up)
        return a->up;
    int c = 0;
    if (rule->affinity_row.len > 0)
        c = cmp_u64(affinity(rule, b), affinity(rule, a));
    if (c == 0) {
        bool a_here = at_slice_eq(a->zone, rule->router_zone);
        bool b_here = at_slice_eq(b->zone, rule->router_zone);
        if (a_here != b_here)
            return a_here;
    }
    if (c == 0)
        c = cmp_u64(distance_us(a), distance_us(b));
    if (c == 0)
        c = at_slice_cmp(a->id, b->id);
    return c < 0;
}

static int cmp_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* A configured latency decides; else the measured one in steps of 1 ms, so that noise between
 * clusters that are equally far does not make requests wander; unmeasured is farthest. */
static uint64_t distance_us(const struct at_target *t)
{
    if (t->latency_us >= 0)
        return (uint64_t)t->latency_us;
    return t->rtt_us == 0 ? UINT64_MAX : t->rtt_us / 1000 * 1000;
}
