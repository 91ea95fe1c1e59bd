#include "replication/guard.h"

/* A clock that was heard goes on by the monotonic clock. Of an even number of clocks the lower
 * middle is the median, so of two the one ahead refuses. The anchor of the cut-off check drifts
 * with the wall clock, by at most 1 ms per second: slewing is no jump. */

#define DRIFT_DIVISOR 1000

static uint64_t lower_median(uint64_t *clocks, uint32_t count);
static void anchor(struct at_guard *g, uint64_t wall_ns, uint64_t mono_ns);
static struct at_guard_finding
judge_alone(struct at_guard *g, uint64_t wall_ns, uint64_t mono_ns, bool alone);

void at_guard_init(struct at_guard *g, uint64_t max_skew_ns)
{
    *g = (struct at_guard){.max_skew_ns = max_skew_ns};
}

void at_guard_hear(struct at_guard *g, struct at_member_id member, uint64_t hlc, uint64_t mono_ns)
{
    struct at_guard_clock *slot = &g->clocks[0];

    for (uint32_t i = 0; i < AT_MEMBERS_MAX; i++) {
        struct at_guard_clock *c = &g->clocks[i];
        if (at_member_eq(c->member, member)) {
            slot = c;
            break;
        }
        if (c->mono_ns < slot->mono_ns)
            slot = c; /* the one not heard for longest, or a free one */
    }
    *slot = (struct at_guard_clock){.member = member, .hlc = hlc, .mono_ns = mono_ns};
}

void at_guard_forget(struct at_guard *g, struct at_member_id member)
{
    for (uint32_t i = 0; i < AT_MEMBERS_MAX; i++)
        if (at_member_eq(g->clocks[i].member, member))
            g->clocks[i] = (struct at_guard_clock){0};
}

struct at_guard_finding at_guard_judge(struct at_guard *g,
                                       uint64_t next,
                                       uint64_t released,
                                       uint64_t wall_ns,
                                       uint64_t mono_ns,
                                       bool alone)
{
    struct at_guard_finding f = {.verdict = AT_GUARD_FINE};
    uint64_t clocks[AT_MEMBERS_MAX + 1];
    uint32_t count = 0;

    for (uint32_t i = 0; i < AT_MEMBERS_MAX; i++) {
        const struct at_guard_clock *c = &g->clocks[i];
        if (c->member.v == 0)
            continue;
        uint64_t age_ns = mono_ns > c->mono_ns ? mono_ns - c->mono_ns : 0;
        if (age_ns > AT_GUARD_HEARD_NS_MAX)
            continue;
        clocks[count++] = c->hlc > UINT64_MAX - age_ns ? UINT64_MAX : c->hlc + age_ns;
        f.other = c->member;
    }
    if (count == 0)
        return judge_alone(g, wall_ns, mono_ns, alone);

    f.heard_count = count;
    clocks[count++] = next;
    uint64_t median = lower_median(clocks, count);
    uint64_t floor = median > released ? median : released;
    if (next > floor && next - floor > g->max_skew_ns) {
        f.verdict = AT_GUARD_AHEAD;
        f.off_ns = next - floor;
    } else if (next < median && median - next > g->max_skew_ns) {
        f.verdict = AT_GUARD_BEHIND;
        f.off_ns = median - next;
    } else {
        anchor(g, wall_ns, mono_ns);
    }
    return f;
}

static struct at_guard_finding
judge_alone(struct at_guard *g, uint64_t wall_ns, uint64_t mono_ns, bool alone)
{
    struct at_guard_finding f = {.verdict = AT_GUARD_FINE};

    if (!g->anchored || alone) {
        anchor(g, wall_ns, mono_ns);
        return f;
    }
    int64_t off = (int64_t)(wall_ns - mono_ns) - g->anchor_offset_ns;
    uint64_t passed_ns = mono_ns > g->anchor_mono_ns ? mono_ns - g->anchor_mono_ns : 0;
    int64_t drift = (int64_t)(passed_ns / DRIFT_DIVISOR);
    if (off > drift && (uint64_t)(off - drift) > g->max_skew_ns) {
        f.verdict = AT_GUARD_JUMPED;
        f.off_ns = (uint64_t)off;
    }
    return f;
}

static void anchor(struct at_guard *g, uint64_t wall_ns, uint64_t mono_ns)
{
    g->anchored = true;
    g->anchor_mono_ns = mono_ns;
    g->anchor_offset_ns = (int64_t)(wall_ns - mono_ns);
}

static uint64_t lower_median(uint64_t *clocks, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint64_t v = clocks[i];
        uint32_t at = i;
        for (; at > 0 && clocks[at - 1] > v; at--)
            clocks[at] = clocks[at - 1];
        clocks[at] = v;
    }
    return clocks[(count - 1) / 2];
}
