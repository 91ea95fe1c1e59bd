#include "replication/hlc.h"

#include "base/assert.h"

/* All movement of the clock goes through `advance`, which keeps it below the reservation. */

#define AHEAD_SHARE 4 /* the next reservation is asked for when so much of a step is left */

static void advance(struct at_hlc *c, uint64_t to);
static uint64_t step_from(const struct at_hlc *c, uint64_t from);

void at_hlc_init(struct at_hlc *c, uint64_t step_ns)
{
    *c = (struct at_hlc){.step_ns = step_ns};
}

void at_hlc_restore(struct at_hlc *c, uint64_t reserved)
{
    c->now = reserved;
    c->reserved = reserved;
    c->reserved_durable = reserved;
    c->ahead = reserved;
    c->stored = reserved;
    c->moved = c->ahead_moved = false;
}

uint64_t at_hlc_issue(struct at_hlc *c, uint32_t ticks, uint64_t wall_ns)
{
    AT_ASSERT(ticks > 0);
    uint64_t first = at_hlc_next(c, wall_ns);
    AT_ASSERT(first <= UINT64_MAX - (ticks - 1));
    advance(c, first + (ticks - 1));
    return first;
}

void at_hlc_merge(struct at_hlc *c, uint64_t hlc)
{
    advance(c, hlc);
}

uint64_t at_hlc_promise(struct at_hlc *c, uint64_t wall_ns)
{
    advance(c, wall_ns);
    return c->now;
}

uint64_t at_hlc_next(const struct at_hlc *c, uint64_t wall_ns)
{
    AT_ASSERT(c->now < UINT64_MAX);
    return wall_ns > c->now ? wall_ns : c->now + 1;
}

void at_hlc_stored(struct at_hlc *c)
{
    if (c->moved)
        c->reserved_durable = c->reserved;
    c->stored = c->ahead;
    c->moved = c->ahead_moved = false;
}

void at_hlc_durable(struct at_hlc *c, uint64_t stored)
{
    AT_ASSERT(stored <= c->ahead);
    if (stored > c->reserved)
        c->reserved = stored;
    if (stored > c->reserved_durable)
        c->reserved_durable = stored;
}

static void advance(struct at_hlc *c, uint64_t to)
{
    if (to <= c->now)
        return;
    c->now = to;
    if (to > c->reserved) {
        c->reserved = c->ahead = step_from(c, to);
        c->moved = true;
    } else if (c->ahead == c->reserved && c->reserved - to < c->step_ns / AHEAD_SHARE) {
        c->ahead = step_from(c, to);
        c->ahead_moved = c->ahead > c->reserved;
    }
}

static uint64_t step_from(const struct at_hlc *c, uint64_t from)
{
    return from > UINT64_MAX - c->step_ns ? UINT64_MAX : from + c->step_ns;
}
