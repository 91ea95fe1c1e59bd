/* instance_view.h: the instance and its clusters as the catalog has them, as clients see them.
 * ADAPTER.
 *
 * Members that the service was given stand for clusters of which the catalog never had a record (a
 * store that is not part of a process with an instance file). */
#ifndef ATOLL_CLUSTER_ADMIN_INSTANCE_VIEW_H
#define ATOLL_CLUSTER_ADMIN_INSTANCE_VIEW_H

#include "atoll/v1/control.pb-c.h"
#include "cluster/admin/admin.h"

/* The stored form, arena-owned. `id` borrows the catalog. */
struct at_cluster_entry {
    struct at_slice id;
    uint64_t generation; /* 0: not of the catalog */
    Atoll__V1__ClusterRecord *record;
};
struct at_cluster_entries {
    struct at_cluster_entry *items; /* by id */
    uint32_t count;
};
struct at_cluster_entries at_cluster_entries(const struct at_service *service,
                                             const struct at_catalog *catalog,
                                             struct at_arena *arena);
/* at_cluster_entry: false when there is none of this id. */
bool at_cluster_entry(const struct at_service *service,
                      const struct at_catalog *catalog,
                      struct at_slice id,
                      struct at_arena *arena,
                      struct at_cluster_entry *ret_entry);
/* at_cluster_of_member: the id of a member's cluster; "?" when it is not known. */
const char *at_cluster_of_member(struct at_service *service, uint32_t member, struct at_arena *a);
bool at_cluster_creating(const struct at_cluster_entry *entry);

/* `in`: as at_service_namespace says. */
Google__Bigtable__Admin__V2__Cluster *at_cluster_view(const struct at_service *service,
                                                      struct at_slice in,
                                                      const struct at_cluster_entry *entry,
                                                      struct at_arena *arena);

/* The name that an instance is kept by in the catalog. Borrows. */
struct at_slice at_instance_kept(const struct at_service *service, struct at_slice in);
Google__Bigtable__Admin__V2__Instance *at_instance_view(const struct at_service *service,
                                                        struct at_slice in,
                                                        const struct at_catalog *catalog,
                                                        struct at_arena *arena);

#endif
