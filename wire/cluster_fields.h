/* cluster_fields.h: what may be asked of a cluster: nodes, autoscaling, storage. PURE. */
#ifndef ATOLL_WIRE_CLUSTER_FIELDS_H
#define ATOLL_WIRE_CLUSTER_FIELDS_H

#include "base/status.h"
#include "google/bigtable/admin/v2/instance.pb-c.h"

/* at_cluster_id_check: production's form, without its least length. INVALID_ARGUMENT. */
AT_MUST_USE enum at_code at_cluster_id_check(const char *id, struct at_error *reterr);

/* at_cluster_fields_check: INVALID_ARGUMENT naming the field that is out of its range. */
AT_MUST_USE enum at_code
at_cluster_fields_check(const Google__Bigtable__Admin__V2__Cluster *cluster,
                        struct at_error *reterr);

/* at_cluster_fields_complete fills in what production does: one node, or the least of autoscaling;
 * SSD; no encryption. */
void at_cluster_fields_complete(Google__Bigtable__Admin__V2__Cluster *cluster);

/* at_cluster_autoscaling: NULL when it is off. */
const Google__Bigtable__Admin__V2__Cluster__ClusterAutoscalingConfig *
at_cluster_autoscaling(const Google__Bigtable__Admin__V2__Cluster *cluster);

#endif
