/* asking.h: when a cluster asks one peer for its log: a step machine. PURE.
 *
 *     IDLE --begin--> OPEN --replied--> APPLYING --applied--> IDLE
 *                      '----failed (later: back-off)--------->'
 *
 * At most one question is open. After a reply that moved something the next question follows at
 * once (the donor lets it wait until there is news); after a failure, or a reply of which nothing
 * could be applied, it waits 50 ms, doubling up to 1 s. Times are monotonic nanoseconds. */
#ifndef ATOLL_REPLICATION_ASKING_H
#define ATOLL_REPLICATION_ASKING_H

#include "base/status.h"

#include <stdbool.h>

enum at_asking_step { AT_ASKING_IDLE, AT_ASKING_OPEN, AT_ASKING_APPLYING };

struct at_asking {
    enum at_asking_step step;
    uint64_t due_ns;   /* IDLE: when to ask */
    uint64_t asked_ns; /* of the last question */
    uint64_t good_ns;  /* when the last good reply came; 0: never */
    uint32_t back_off_ms;
    uint32_t timeout_count; /* deadlines that passed since the last good reply */
    bool stalled;           /* the last reply had entries, and none could be applied */
};

void at_asking_init(struct at_asking *a, uint64_t now_ns);

/* at_asking_due: IDLE, and it is time. */
bool at_asking_due(const struct at_asking *a, uint64_t now_ns);
void at_asking_begin(struct at_asking *a, uint64_t now_ns);

/* at_asking_timeout_ms: how long to wait for the reply to a question that waits at the donor for
 * wait_ms. Grows with each timeout, for replies that are large or links that are slow. */
uint32_t at_asking_timeout_ms(const struct at_asking *a, uint32_t wait_ms);

/* at_asking_replied: a good reply came. OPEN -> APPLYING. */
void at_asking_replied(struct at_asking *a, uint64_t now_ns);

/* at_asking_failed: no reply, or none to use. OPEN -> IDLE. True when the connection should be
 * made anew: it let several deadlines pass. */
bool at_asking_failed(struct at_asking *a, enum at_code code, uint64_t now_ns);

enum at_asking_result {
    AT_ASKING_MOVED,   /* something was applied, or applied by another link meanwhile */
    AT_ASKING_EMPTY,   /* there was nothing in it */
    AT_ASKING_STALLED, /* entries, and none of them could be applied */
};
/* at_asking_applied: the reply is through. APPLYING -> IDLE. */
void at_asking_applied(struct at_asking *a, enum at_asking_result result, uint64_t now_ns);

/* at_asking_in_touch: a good reply came within window_ns. */
bool at_asking_in_touch(const struct at_asking *a, uint64_t now_ns, uint64_t window_ns);

#endif
