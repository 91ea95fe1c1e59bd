/* instance_status.h: asking all processes of an instance how they are. ADAPTER (gRPC). */
#ifndef ATOLL_CLI_INSTANCE_STATUS_H
#define ATOLL_CLI_INSTANCE_STATUS_H

#include "atoll/v1/control.pb-c.h"
#include "cli/state_dir.h"

struct at_cluster_report {
    const char *id;
    const char *zone;
    bool joining; /* of an instance that was there before it */
    struct at_running running;
    Atoll__V1__ClusterStatus *status; /* NULL: did not answer */
    uint64_t asked_ns;                /* monotonic */
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
    const char *name; /* "projects/P/instances/I" */
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

/* at_instance_ask_others fills a report for each instance below the first one's folder, whose
 * report is `first`; in `arena`. Returns how many. */
uint32_t at_instance_ask_others(struct at_state_dir *root,
                                const struct at_instance_report *first,
                                struct at_arena *arena,
                                struct at_instance_report ***ret_reports);

/* at_router_report_of: what the router says of the cluster `id` of this instance, or NULL. */
const Atoll__V1__RouterClusterStatus *at_router_report_of(const struct at_instance_report *r,
                                                          const char *id);

/* The state of a cluster in one word: READY, DOWN, ... */
const char *at_cluster_report_state(const struct at_cluster_report *c);

#endif
