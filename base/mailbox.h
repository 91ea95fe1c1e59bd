/* mailbox.h: a bounded queue of intrusive messages from many threads to one. ADAPTER (pthreads).
 *
 * Messages are linked through an at_mail that the sender embeds; the mailbox
 * never allocates. The reader takes the whole queue at once, in order of
 * arrival, so a burst costs one lock. */
#ifndef ATOLL_BASE_MAILBOX_H
#define ATOLL_BASE_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct at_mail {
    struct at_mail *next;
};

struct at_mailbox {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    struct at_mail *head;
    struct at_mail **tail;
    uint32_t count;
    uint32_t count_max;
    bool closed;
};

void at_mailbox_init(struct at_mailbox *m, uint32_t count_max);
void at_mailbox_deinit(struct at_mailbox *m);

/* at_mailbox_push queues `mail`, which must stay valid until the reader took it. Returns false,
 * and takes nothing, when full or closed. `ret_was_empty` (may be NULL) tells whether the reader
 * may be asleep. Any thread; never blocks for long. */
bool at_mailbox_push(struct at_mailbox *m, struct at_mail *mail, bool *ret_was_empty);

/* at_mailbox_push_list queues a chain of `count` mails linked by next, with one wake-up: all of
 * them, or none when they do not all fit. Any thread. */
bool at_mailbox_push_list(struct at_mailbox *m, struct at_mail *first, uint32_t count);

/* at_mailbox_take returns the whole queue as a list (NULL: empty). Reader thread. Never blocks. */
struct at_mail *at_mailbox_take(struct at_mailbox *m);

/* at_mailbox_wait is at_mailbox_take that first waits up to timeout_ms for a message. Returns
 * NULL on timeout or once closed and empty. Reader thread; blocks. */
struct at_mail *at_mailbox_wait(struct at_mailbox *m, uint32_t timeout_ms);

/* at_mailbox_close refuses further messages and wakes the reader. Any thread. */
void at_mailbox_close(struct at_mailbox *m);

#endif
