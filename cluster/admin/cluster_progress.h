/* cluster_progress.h: how far clusters that are being made are filled. ADAPTER. */
#ifndef ATOLL_CLUSTER_ADMIN_CLUSTER_PROGRESS_H
#define ATOLL_CLUSTER_ADMIN_CLUSTER_PROGRESS_H

#include "cluster/model/catalog.h"
#include "cluster/service/service.h"
#include "google/longrunning/operations.pb-c.h"

/* at_cluster_progress_fill puts what is known of the copy into the metadata of a CreateCluster that
 * is under way; of any other operation it leaves everything as it is. */
void at_cluster_progress_fill(struct at_service *service,
                              const struct at_catalog *catalog,
                              Google__Longrunning__Operation *operation,
                              struct at_arena *arena);

/* at_cluster_table_bytes: an estimate of what this cluster has of a table; never 0 when there are
 * rows. Any thread. */
uint64_t at_cluster_table_bytes(const struct at_service *service, const struct at_table *table);

#endif
