#include "cluster/service/profile_cache.h"

#include "appprofile/profile.h"
#include "base/assert.h"

#define ARENA_BYTES 4096

struct at_profile_entry {
    struct at_slice id;
    struct at_profile_grant grant;
};

void at_profile_cache_init(struct at_profile_cache *cache)
{
    *cache = (struct at_profile_cache){0};
    int rc = pthread_mutex_init(&cache->lock, NULL);
    AT_ASSERT(rc == 0);
    at_arena_init(&cache->arena, ARENA_BYTES);
}

void at_profile_cache_deinit(struct at_profile_cache *cache)
{
    at_arena_deinit(&cache->arena);
    pthread_mutex_destroy(&cache->lock);
}

static enum at_profile_found
find(const struct at_profile_cache *cache, struct at_slice id, struct at_profile_grant *ret_grant)
{
    uint32_t low = 0;
    uint32_t high = cache->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int c = at_slice_cmp(cache->entries[middle].id, id);
        if (c == 0) {
            *ret_grant = cache->entries[middle].grant;
            return AT_PROFILE_FOUND;
        }
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return AT_PROFILE_ABSENT;
}

enum at_profile_found at_profile_cache_find(struct at_profile_cache *cache,
                                            uint64_t version,
                                            struct at_slice id,
                                            struct at_profile_grant *ret_grant)
{
    enum at_profile_found found = AT_PROFILE_STALE;

    pthread_mutex_lock(&cache->lock);
    if (cache->filled && cache->version == version)
        found = find(cache, id, ret_grant);
    pthread_mutex_unlock(&cache->lock);
    return found;
}

static struct at_profile_grant
grant_of(struct at_slice fields, struct at_arena *arena, struct at_slice cluster_id)
{
    struct at_profile profile;

    if (at_profile_decode(fields, arena, &profile, NULL) != AT_OK)
        return (struct at_profile_grant){0};
    return (struct at_profile_grant){
        .serves = at_profile_serves(&profile, cluster_id),
        .transactions = at_profile_transactions(&profile, NULL) == AT_OK,
        .read_only = profile.data_boost,
    };
}

static void
fill(struct at_profile_cache *cache, const struct at_catalog *catalog, struct at_slice cluster_id)
{
    at_arena_reset(&cache->arena);
    cache->count = at_catalog_named_count(catalog, AT_CATALOG_PROFILE);
    cache->entries = AT_ARENA_ARRAY(&cache->arena, struct at_profile_entry, cache->count);
    for (uint32_t i = 0; i < cache->count; i++) {
        const struct at_named_record *record = at_catalog_named_at(catalog, AT_CATALOG_PROFILE, i);
        cache->entries[i] = (struct at_profile_entry){
            .id = at_arena_copy(&cache->arena, record->name),
            .grant = grant_of(record->fields, &cache->arena, cluster_id),
        };
        AT_ASSERT(i == 0 || at_slice_cmp(cache->entries[i - 1].id, cache->entries[i].id) < 0);
    }
    cache->version = at_catalog_kind_version(catalog, AT_CATALOG_PROFILE);
    cache->filled = true;
}

enum at_profile_found at_profile_cache_refill(struct at_profile_cache *cache,
                                              const struct at_catalog *catalog,
                                              struct at_slice cluster_id,
                                              struct at_slice id,
                                              struct at_profile_grant *ret_grant)
{
    pthread_mutex_lock(&cache->lock);
    fill(cache, catalog, cluster_id);
    enum at_profile_found found = find(cache, id, ret_grant);
    pthread_mutex_unlock(&cache->lock);
    return found;
}
