/* pace.h: work in the background takes at most half of a thread. ADAPTER (clock, sleeps). */
#ifndef ATOLL_CLUSTER_BACKUP_PACE_H
#define ATOLL_CLUSTER_BACKUP_PACE_H

#include <stdint.h>

struct at_pace {
    uint64_t worked_from_ns;
};

void at_pace_start(struct at_pace *pace);
/* at_pace_rest sleeps as long as was worked since the last rest, 50 ms at most. */
void at_pace_rest(struct at_pace *pace);

#endif
