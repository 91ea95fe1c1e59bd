/* link.h: doubly linked lists of objects that embed their links. PURE. Internal to wire/.
 *
 * A head is a link that points to itself when the list is empty; so is a link in no list. */
#ifndef ATOLL_WIRE_LINK_H
#define ATOLL_WIRE_LINK_H

#include <stdbool.h>
#include <stddef.h>

struct at_link {
    struct at_link *prev;
    struct at_link *next;
};

static inline void at_link_init(struct at_link *l)
{
    l->prev = l;
    l->next = l;
}

static inline bool at_link_empty(const struct at_link *head)
{
    return head->next == head;
}

/* at_link_remove is legal for a link in no list. */
static inline void at_link_remove(struct at_link *l)
{
    l->prev->next = l->next;
    l->next->prev = l->prev;
    at_link_init(l);
}

/* at_link_append puts `l` (in no list) at the end. */
static inline void at_link_append(struct at_link *head, struct at_link *l)
{
    l->prev = head->prev;
    l->next = head;
    head->prev->next = l;
    head->prev = l;
}

/* AT_LINK_OF: the object of `type` whose `member` is at `link`. */
#define AT_LINK_OF(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

#endif
