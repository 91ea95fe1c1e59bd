/* hlc.h: the hybrid logical clock of one cluster, with its durable reservation. PURE.
 *
 * Invariant: now <= reserved <= ahead. What was issued, seen or promised is at or below `now`;
 * after a crash the clock goes on from what was stored last, which is `reserved` or higher, so none
 * of it can be issued again (rule 2). Whoever moves `reserved` (see `moved`) must make it durable
 * before anything above the old one is shown.
 *
 * A commit with sync is slow, so the next reservation is asked for before this one is used up
 * (`ahead`, see `ahead_moved`). It goes along with any commit, and counts once a sync that began
 * later has ended. If none does in time, `reserved` has to move after all. */
#ifndef ATOLL_REPLICATION_HLC_H
#define ATOLL_REPLICATION_HLC_H

#include <stdbool.h>
#include <stdint.h>

/* No clock goes beyond: the year 2262. A stored reservation beyond it is damage. */
#define AT_HLC_MAX ((uint64_t)INT64_MAX)

struct at_hlc {
    uint64_t now;
    uint64_t reserved;
    uint64_t reserved_durable;
    uint64_t ahead;  /* what is to be reserved next; `reserved` when nothing is */
    uint64_t stored; /* what was put into the store last */
    uint64_t step_ns;
    bool moved;       /* reserved is not stored yet: to be synced with the next commit */
    bool ahead_moved; /* ahead is not stored yet */
};

void at_hlc_init(struct at_hlc *c, uint64_t step_ns);

/* at_hlc_restore continues from a stored reservation. */
void at_hlc_restore(struct at_hlc *c, uint64_t reserved);

/* at_hlc_issue returns the first of `ticks` fresh stamps in a row. */
uint64_t at_hlc_issue(struct at_hlc *c, uint32_t ticks, uint64_t wall_ns);

/* at_hlc_merge: a stamp was seen; nothing is issued at or below it. */
void at_hlc_merge(struct at_hlc *c, uint64_t hlc);

/* at_hlc_promise follows the physical clock and returns H: nothing is issued at or below it. */
uint64_t at_hlc_promise(struct at_hlc *c, uint64_t wall_ns);

/* at_hlc_next is the stamp that would be issued now. */
uint64_t at_hlc_next(const struct at_hlc *c, uint64_t wall_ns);

/* at_hlc_stored: `ahead` was put into the batch at hand, which is synced if `moved`. */
void at_hlc_stored(struct at_hlc *c);

/* at_hlc_durable: a sync has ended that began when `stored` was committed. */
void at_hlc_durable(struct at_hlc *c, uint64_t stored);

#endif
