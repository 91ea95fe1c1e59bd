/* profile_cache.h: what each app profile allows on this cluster, decoded once per change. ADAPTER
 * (one lock, held for a look-up). */
#ifndef ATOLL_CLUSTER_SERVICE_PROFILE_CACHE_H
#define ATOLL_CLUSTER_SERVICE_PROFILE_CACHE_H

#include <pthread.h>

#include "cluster/model/catalog.h"

/* What a request must know of its profile. */
struct at_profile_grant {
    bool serves;       /* routes to this cluster */
    bool transactions; /* read-modify-write and check-and-mutate */
    bool read_only;    /* data boost */
};

struct at_profile_entry;

struct at_profile_cache {
    pthread_mutex_t lock;
    bool filled;
    uint64_t version; /* of the profiles that are in here */
    struct at_arena arena;
    struct at_profile_entry *entries; /* ascending by id */
    uint32_t count;
};

void at_profile_cache_init(struct at_profile_cache *cache);
void at_profile_cache_deinit(struct at_profile_cache *cache);

enum at_profile_found { AT_PROFILE_ABSENT, AT_PROFILE_FOUND, AT_PROFILE_STALE };

/* at_profile_cache_find looks `id` up. STALE: the cache does not hold the profiles of `version`, so
 * that it has to be filled. Any thread. */
enum at_profile_found at_profile_cache_find(struct at_profile_cache *cache,
                                            uint64_t version,
                                            struct at_slice id,
                                            struct at_profile_grant *ret_grant);

/* at_profile_cache_refill takes the profiles of a catalog and then looks `id` up: never STALE. A
 * profile that cannot be read serves nowhere. Any thread. */
enum at_profile_found at_profile_cache_refill(struct at_profile_cache *cache,
                                              const struct at_catalog *catalog,
                                              struct at_slice cluster_id,
                                              struct at_slice id,
                                              struct at_profile_grant *ret_grant);

#endif
