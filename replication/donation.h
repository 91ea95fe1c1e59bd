/* donation.h: what a donor sends in answer to a pull, given what it holds. PURE.
 *
 * Entries of each (origin, epoch) are contiguous and start right behind what the asker has, never
 * beyond what the donor's view had applied. Where the donor's log no longer reaches down to the
 * asker's position it tells a gap and sends no entries. */
#ifndef ATOLL_REPLICATION_DONATION_H
#define ATOLL_REPLICATION_DONATION_H

#include "replication/replica.h"

#define AT_DONATION_PARTS_MAX 64
#define AT_DONATION_GAPS_MAX 64

/* Entries first.seq .. last_seq of one (origin, epoch). */
struct at_donation_part {
    struct at_position first;
    uint64_t last_seq;
};

struct at_donation {
    struct at_donation_part parts[AT_DONATION_PARTS_MAX];
    struct at_gap gaps[AT_DONATION_GAPS_MAX];
    uint32_t part_count;
    uint32_t gap_count;
    bool cut; /* there were more parts than fit */
};

/* at_donation_plan fills `ret_plan`. Parts are ordered by origin, beginning behind `start_after`
 * (0: with the lowest) and going round, so that a size limit starves no origin. A donor that is
 * being filled itself (INIT, COPYING) has nothing to give. */
void at_donation_plan(const struct at_replica_view *view,
                      const struct at_pull *pull,
                      struct at_member_id start_after,
                      struct at_donation *ret_plan);

/* at_donation_news: whether the plan would have a part; false for gaps alone, which the asker can
 * do nothing about at once. */
bool at_donation_news(const struct at_replica_view *view, const struct at_pull *pull);

#endif
