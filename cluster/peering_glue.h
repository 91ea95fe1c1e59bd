/* peering_glue.h: joins the store, the peering and the services of one cluster. ADAPTER.
 *
 * Only here do the three know of each other: the store's writer wakes the peering, the peering
 * reads and feeds the store, the services ask the peering. */
#ifndef ATOLL_CLUSTER_PEERING_GLUE_H
#define ATOLL_CLUSTER_PEERING_GLUE_H

#include "cluster/service/service.h"
#include "cluster/tablet/store.h"
#include "configs/instance.h"
#include "replication/peer/peering.h"

struct at_glue {
    struct at_store *store;
    _Atomic(struct at_peering *) peering; /* NULL until started and after it was stopped */
    uint32_t copy_mib_per_s;              /* what it gives as a donor; 0: peering's default */
};

/* For at_store_config: on_commit and its ctx (the glue), on_applied. Writer thread. */
void at_glue_on_commit(void *ctx);
void at_glue_on_applied(struct at_apply *apply);

/* at_glue_member_infos encodes where the clusters of the instance file are, for the replica's
 * config: `ret_infos` by their order, in `arena`. INVALID_ARGUMENT: names are too long. */
AT_MUST_USE enum at_code at_glue_member_infos(const struct at_instance_config *instance,
                                              struct at_arena *arena,
                                              struct at_slice *ret_infos,
                                              struct at_error *reterr);

/* at_glue_start starts the peering of cluster `self` over glue->store; the caller has set that and
 * copy_mib_per_s. */
AT_MUST_USE enum at_code at_glue_start(struct at_glue *glue,
                                       const struct at_cluster_config *self,
                                       struct at_clock clock,
                                       struct at_error *reterr);
void at_glue_stop(struct at_glue *glue);

/* The port that the services use. */
struct at_service_port at_glue_service_port(struct at_glue *glue);

#endif
