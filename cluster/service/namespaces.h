/* namespaces.h: the instances beside the home instance that are in use, as a catalog tells. PURE.
 *
 * An instance is in use while it has a table, an app profile, or a record of its own
 * (CreateInstance makes one). Nothing else is kept of it. */
#ifndef ATOLL_CLUSTER_SERVICE_NAMESPACES_H
#define ATOLL_CLUSTER_SERVICE_NAMESPACES_H

#include "base/arena.h"
#include "cluster/model/catalog.h"

struct at_namespaces {
    struct at_slice *names; /* "projects/P/instances/I", ascending, unique; copies in the arena */
    uint32_t count;
};

struct at_namespaces at_namespaces_used(const struct at_catalog *catalog, struct at_arena *arena);

/* at_namespaces_profile: the app profile by this kept name. An instance that never changed its
 * "default" has the home instance's: then `ret_record` is that one under this name, of generation
 * 0. False: there is none. */
bool at_namespaces_profile(const struct at_catalog *catalog,
                           struct at_slice kept,
                           struct at_named_record *ret_record);

#endif
