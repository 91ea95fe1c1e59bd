/* genesis.c: app profiles of the instance file as catalog records. */
#include "cluster/genesis.h"

#include "appprofile/profile.h"
#include "base/alloc.h"

static enum at_code profile_record(const struct at_instance_config *instance,
                                   const struct at_profile_config *from,
                                   struct at_arena *arena,
                                   struct at_catalog_record *record,
                                   struct at_error *reterr);

enum at_code at_genesis_records(const struct at_instance_config *instance,
                                struct at_arena *arena,
                                struct at_catalog_record **ret_records,
                                uint32_t *ret_count,
                                struct at_error *reterr)
{
    uint32_t count = instance->profile_count;
    struct at_catalog_record *records = AT_ARENA_ARRAY(arena, struct at_catalog_record, count + 1);
    for (uint32_t i = 0; i < count; i++)
        AT_TRY(profile_record(instance, &instance->profiles[i], arena, &records[i], reterr));
    *ret_records = records;
    *ret_count = count;
    return AT_OK;
}

static enum at_priority priority_of(const char *name)
{
    if (strcmp(name, "LOW") == 0)
        return AT_PRIORITY_LOW;
    return strcmp(name, "MEDIUM") == 0 ? AT_PRIORITY_MEDIUM : AT_PRIORITY_HIGH;
}

static enum at_code profile_record(const struct at_instance_config *instance,
                                   const struct at_profile_config *from,
                                   struct at_arena *arena,
                                   struct at_catalog_record *record,
                                   struct at_error *reterr)
{
    struct at_slice clusters[AT_MEMBERS_MAX], named[AT_MEMBERS_MAX];
    for (uint32_t i = 0; i < instance->cluster_count; i++)
        clusters[i] = at_slice_cstr(instance->clusters[i].id);
    for (uint32_t i = 0; i < from->cluster_count; i++)
        named[i] = at_slice_cstr(from->clusters[i]);
    bool single = strcmp(from->routing, "single") == 0;
    struct at_profile profile = {
        .description = at_slice_cstr(from->description),
        .routing = single ? AT_ROUTING_SINGLE : AT_ROUTING_ANY,
        .allow_transactional_writes = from->transactional_writes,
        .row_affinity = from->row_affinity,
        .priority = priority_of(from->priority),
    };
    if (single) {
        profile.cluster_id = named[0];
    } else {
        profile.cluster_ids = named;
        profile.cluster_id_count = from->cluster_count;
    }
    AT_TRY(at_profile_id_check(at_slice_cstr(from->id), reterr));
    AT_TRY(at_profile_check(&profile, clusters, instance->cluster_count, reterr));
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    at_buf_init(&bytes, AT_MIB);
    AT_TRY(at_profile_encode(&profile, &bytes));
    *record = (struct at_catalog_record){
        .kind = AT_CATALOG_PROFILE,
        .name = at_slice_cstr(from->id),
        .counter = 1,
        .fields = at_arena_copy(arena, at_buf_slice(&bytes)),
    };
    return AT_OK;
}
