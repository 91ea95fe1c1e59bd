/* iam.h: IAM policies of instances, tables and backups: kept and given back, not enforced. ADAPTER.
 * `ctx` is the at_service. */
#ifndef ATOLL_CLUSTER_ADMIN_IAM_H
#define ATOLL_CLUSTER_ADMIN_IAM_H

#include "cluster/service/service.h"

void at_on_get_iam_policy(struct at_grpc_call *call, void *ctx);
void at_on_set_iam_policy(struct at_grpc_call *call, void *ctx);
void at_on_test_iam_permissions(struct at_grpc_call *call, void *ctx);

/* at_iam_name: what the policy of "<kept instance>/<rest>" is kept by: `rest` of the home instance,
 * the whole name of another. Borrows. */
struct at_slice at_iam_name(struct at_slice in, struct at_slice name, struct at_slice rest);

#endif
