/* member_end.h: atoll.v1.Cluster/Leave, /Remove and /Release: how clusters end, and what is done
 * about a clock that ran ahead. ADAPTER. `ctx` is the at_service. */
#ifndef ATOLL_CLUSTER_CONTROL_MEMBER_END_H
#define ATOLL_CLUSTER_CONTROL_MEMBER_END_H

#include "cluster/service/service.h"

void at_on_leave(struct at_grpc_call *call, void *ctx);
void at_on_remove(struct at_grpc_call *call, void *ctx);
void at_on_release(struct at_grpc_call *call, void *ctx);

/* at_cluster_named_by: the id of an app profile that names the cluster; empty: none does. Lives
 * with the catalog. */
struct at_slice at_cluster_named_by(const struct at_catalog *catalog,
                                    struct at_slice cluster_id,
                                    struct at_arena *arena);

/* at_cluster_restore, of a decision: the record of a cluster that was to leave and stays is made
 * again of what was kept; nothing when it is there, or nothing is kept. At most 2 records. */
void at_cluster_restore(struct at_write_catalog *write,
                        const struct at_catalog *catalog,
                        struct at_slice id);

#endif
