/* deadlines.h: which of many calls is due first. PURE.
 *
 * A binary heap of pointers to at_deadline, which its owner embeds. */
#ifndef ATOLL_WIRE_DEADLINES_H
#define ATOLL_WIRE_DEADLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed memory is a deadline that is not queued. */
struct at_deadline {
    uint64_t due_ns;
    size_t place; /* index in the heap plus one; 0: not queued */
};

/* Invariant: items[i]->due_ns >= items[(i - 1) / 2]->due_ns, items[i]->place == i + 1. */
struct at_deadlines {
    struct at_deadline **items;
    size_t count;
    size_t cap;
};

void at_deadlines_deinit(struct at_deadlines *d);

/* at_deadlines_add queues `item` (not queued) for `due_ns`. */
void at_deadlines_add(struct at_deadlines *d, struct at_deadline *item, uint64_t due_ns);

/* at_deadlines_remove is legal for an item that is not queued. */
void at_deadlines_remove(struct at_deadlines *d, struct at_deadline *item);

/* at_deadlines_first borrows the one due first; NULL when empty. */
static inline struct at_deadline *at_deadlines_first(const struct at_deadlines *d)
{
    return d->count ? d->items[0] : NULL;
}

#endif
