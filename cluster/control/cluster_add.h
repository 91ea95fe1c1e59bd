/* cluster_add.h: atoll.v1.Cluster/Members and /AddCluster: what a new cluster begins with. ADAPTER.
 *
 * This cluster is the registrar: the new one's record, the operation that makes it and its
 * membership are one commit, which the others have before the router starts the new process. The
 * newcomer ends the operation itself, once it may write (cluster/graduation.h). */
#ifndef ATOLL_CLUSTER_CONTROL_CLUSTER_ADD_H
#define ATOLL_CLUSTER_CONTROL_CLUSTER_ADD_H

#include "atoll/v1/control.pb-c.h"
#include "cluster/service/service.h"

/* `ctx` is the at_service. */
void at_on_members(struct at_grpc_call *call, void *ctx);
void at_on_add_cluster(struct at_grpc_call *call, void *ctx);

/* at_members_response: the members as this cluster knows them, with what is the same for all. */
Atoll__V1__MembersResponse *at_members_response(struct at_service *service, struct at_arena *arena);

/* at_cluster_address_info: how a member is told to the others (replication/member_info.h), in the
 * arena. INVALID_ARGUMENT: the address is too long. */
AT_MUST_USE enum at_code at_cluster_address_info(struct at_slice id,
                                                 const Atoll__V1__ClusterAddress *address,
                                                 struct at_arena *arena,
                                                 struct at_slice *ret_info,
                                                 struct at_error *reterr);

#endif
