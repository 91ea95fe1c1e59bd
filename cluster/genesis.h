/* genesis.h: the catalog of an instance at its birth: app profiles, the instance itself, its
 * founding clusters, and the operation that made it, of its file. PURE in effect: the same file
 * gives the same records on every member, so they need not be replicated. A cluster that joined
 * later is no founder: its record came with its registration. */
#ifndef ATOLL_CLUSTER_GENESIS_H
#define ATOLL_CLUSTER_GENESIS_H

#include "cluster/model/catalog.h"
#include "configs/instance.h"

/* at_genesis_records fills arena-owned records with counter 1 and stamp 0, below every real one.
 * INVALID_ARGUMENT when a profile of the file, or the request that
 * made the instance, is not valid. */
AT_MUST_USE enum at_code at_genesis_records(const struct at_instance_config *instance,
                                            struct at_arena *arena,
                                            struct at_catalog_record **ret_records,
                                            uint32_t *ret_count,
                                            struct at_error *reterr);

#endif
