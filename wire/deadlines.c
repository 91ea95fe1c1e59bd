/* deadlines.c: most calls end long before they are due, and come in order of their deadlines, so
 * both adding and removing usually move few items. */
#include "wire/deadlines.h"

#include "base/alloc.h"
#include "base/assert.h"

static void sift_up(struct at_deadlines *d, size_t i);
static void sift_down(struct at_deadlines *d, size_t i);

void at_deadlines_deinit(struct at_deadlines *d)
{
    at_free(d->items);
    d->items = NULL;
    d->count = 0;
    d->cap = 0;
}

static void put(struct at_deadlines *d, size_t i, struct at_deadline *item)
{
    d->items[i] = item;
    item->place = i + 1;
}

void at_deadlines_add(struct at_deadlines *d, struct at_deadline *item, uint64_t due_ns)
{
    AT_ASSERT(item->place == 0);
    if (d->count == d->cap) {
        d->cap = d->cap ? d->cap * 2 : 64;
        d->items = at_realloc(d->items, d->cap * sizeof(void *));
    }
    item->due_ns = due_ns;
    put(d, d->count++, item);
    sift_up(d, d->count - 1);
}

void at_deadlines_remove(struct at_deadlines *d, struct at_deadline *item)
{
    if (item->place == 0)
        return;
    size_t i = item->place - 1;
    AT_ASSERT(i < d->count && d->items[i] == item);
    item->place = 0;
    struct at_deadline *last = d->items[--d->count];
    if (last == item)
        return;
    put(d, i, last);
    sift_up(d, i);
    sift_down(d, last->place - 1);
}

static void sift_up(struct at_deadlines *d, size_t i)
{
    struct at_deadline *item = d->items[i];
    while (i > 0) {
        size_t parent = (i - 1) / 2;
        if (d->items[parent]->due_ns <= item->due_ns)
            break;
        put(d, i, d->items[parent]);
        i = parent;
    }
    put(d, i, item);
}

static void sift_down(struct at_deadlines *d, size_t i)
{
    struct at_deadline *item = d->items[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= d->count)
            break;
        if (child + 1 < d->count && d->items[child + 1]->due_ns < d->items[child]->due_ns)
            child++;
        if (item->due_ns <= d->items[child]->due_ns)
            break;
        put(d, i, d->items[child]);
        i = child;
    }
    put(d, i, item);
}
