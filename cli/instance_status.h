/* instance_status.h: asking all processes of an instance how they are. ADAPTER (gRPC). */
#ifndef ATOLL_CLI_INSTANCE_STATUS_H
#define ATOLL_CLI_INSTANCE_STATUS_H

#include "atoll/v1/control.pb-c.h"
#include "cli/state_dir.h"

struct at_cluster_report {
    const char *id;
    const char *zone;
    struct at_running running;
    Atoll__V1__ClusterStatus *status; /* NULL: did not answer */
};

/* What one cluster lacks of another's own entries. */
struct at_lag_report {
    bool known; /* false: one of the two did not answer, or hears nothing of the other */
    uint64_t entries;
    uint64_t ms;
    uint64_t bytes;         /* estimate */
    uint64_t entries_per_s; /* what comes over the link, */
    uint64_t bytes_per_s;
    int64_t skew_ms;  /* and the other's clock minus the lagging side's; all 0 unless heard */
    const char *link; /* state of the link as the lagging side sees it */
};

struct at_instance_report {
    struct at_running router_running;
    Atoll__V1__RouterStatus *router; /* NULL: did not answer */
    struct at_cluster_report clusters[AT_MEMBERS_MAX];
    uint32_t cluster_count;
    struct at_lag_report lag[AT_MEMBERS_MAX][AT_MEMBERS_MAX]; /* [behind][ahead] */
};

/* at_instance_ask fills the report; all of it lives in `arena`. Processes that do not answer within
 * a second are reported so. */
void at_instance_ask(struct at_state_dir *s,
                     struct at_arena *arena,
                     struct at_instance_report *ret_report);

/* The state of a cluster in one word: READY, DOWN, ... */
const char *at_cluster_report_state(const struct at_cluster_report *c);

#endif
