/* heat.h: which stretches of rows this cluster's requests go to. ADAPTER (a lock). Any thread.
 *
 * One request of AT_HEAT_SAMPLE_EVERY is looked at. Of each minute's samples a bounded number is
 * kept at random; when the minute is over they are sorted and cut into stretches of about equal
 * traffic, which are narrow where the traffic is; a row that has much of it is a stretch by itself.
 * The hottest stretches of each minute are kept for an hour. */
#ifndef ATOLL_CLUSTER_SERVICE_HEAT_H
#define ATOLL_CLUSTER_SERVICE_HEAT_H

#include "base/arena.h"

#define AT_HEAT_SAMPLE_EVERY 16
#define AT_HEAT_WINDOW_NS UINT64_C(60000000000)
#define AT_HEAT_WINDOWS 60
#define AT_HEAT_KEY_BYTES_MAX 64 /* of a row key, what is kept */
#define AT_HEAT_STRETCHES_MAX 64 /* of a minute */

struct at_heat;

struct at_heat_stretch {
    struct at_slice table;     /* the name it is kept by */
    struct at_slice first_row; /* both inclusive, cut after AT_HEAT_KEY_BYTES_MAX bytes */
    struct at_slice last_row;
    uint64_t start_ns; /* wall clock */
    uint64_t end_ns;
    double percent; /* of this cluster's requests in that time */
};

struct at_heat *at_heat_new(void);
void at_heat_free(struct at_heat **heat);

/* at_heat_due: is this request one to be noted? Cheap. */
bool at_heat_due(struct at_heat *heat);
/* at_heat_note counts a request; never waits: when another thread is here it is left out. */
void at_heat_note(struct at_heat *heat,
                  struct at_slice table,
                  struct at_slice row,
                  uint64_t wall_ns);

/* at_heat_report: arena-owned, the newest minute first, the hottest of each first; the minute that
 * is not over is among them. Returns the count. */
uint32_t at_heat_report(struct at_heat *heat,
                        uint64_t wall_ns,
                        struct at_arena *arena,
                        struct at_heat_stretch **ret_stretches);

#endif
