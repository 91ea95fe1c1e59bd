/* rate.h: how much passed per second, over the last seconds. PURE. */
#ifndef ATOLL_REPLICATION_RATE_H
#define ATOLL_REPLICATION_RATE_H

#include <stdint.h>

/* Times are monotonic nanoseconds. All zero is a fresh one. */
struct at_rate {
    uint64_t from_ns; /* of the window that is open; 0: none */
    uint64_t sum;     /* in it */
    uint64_t last_ns; /* when something was last added */
    uint64_t per_s;   /* of the window before */
};

void at_rate_add(struct at_rate *r, uint64_t amount, uint64_t now_ns);
/* at_rate_of is 0 when nothing was added for some seconds. */
uint64_t at_rate_of(const struct at_rate *r, uint64_t now_ns);

#endif
