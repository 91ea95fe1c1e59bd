/* profile_table.c: loading and searching the table.
 *
 * The profiles of a heartbeat are read from its bytes, so that a profile has one decoder. */
#include "routing/proxy/profile_table.h"

#include <stdlib.h>

#include "base/pbwire.h"

enum { HEARTBEAT_CATALOG_VERSION = 4, HEARTBEAT_PROFILES = 6 };

static int cmp_entries(const void *a, const void *b);

void at_profile_table_init(struct at_profile_table *t)
{
    *t = (struct at_profile_table){0};
    at_arena_init(&t->arena, 4 * AT_KIB);
}

void at_profile_table_deinit(struct at_profile_table *t)
{
    at_arena_deinit(&t->arena);
}

static uint32_t count_profiles(struct at_slice response)
{
    struct at_pb_field field;
    bool bad = false;
    uint32_t count = 0;
    while (at_pb_next(&response, &field, &bad))
        count += field.number == HEARTBEAT_PROFILES && field.type == AT_PB_BYTES;
    return count < AT_PROFILES_MAX ? count : AT_PROFILES_MAX;
}

enum at_code
at_profile_table_load(struct at_profile_table *t, struct at_slice response, struct at_error *reterr)
{
    struct at_profile_table fresh;
    at_profile_table_init(&fresh);
    response = at_arena_copy(&fresh.arena, response);
    uint32_t max = count_profiles(response);
    fresh.entries = AT_ARENA_ARRAY(&fresh.arena, struct at_profile_entry, max + 1);
    struct at_pb_field field;
    bool bad = false;
    enum at_code code = AT_OK;
    while (code == AT_OK && at_pb_next(&response, &field, &bad)) {
        if (field.number == HEARTBEAT_CATALOG_VERSION && field.type == AT_PB_VARINT)
            fresh.version = field.varint;
        if (field.number != HEARTBEAT_PROFILES || field.type != AT_PB_BYTES || fresh.count == max)
            continue;
        struct at_profile_entry *entry = &fresh.entries[fresh.count++];
        code = at_profile_decode(field.bytes, &fresh.arena, &entry->profile, reterr);
        entry->id = entry->profile.name;
    }
    if (bad)
        code = at_fail(reterr, AT_INVALID_ARGUMENT, "malformed heartbeat");
    if (code != AT_OK) {
        at_profile_table_deinit(&fresh);
        return code;
    }
    qsort(fresh.entries, fresh.count, sizeof(*fresh.entries), cmp_entries);
    fresh.known = true;
    at_profile_table_deinit(t);
    *t = fresh;
    return AT_OK;
}

static int cmp_entries(const void *a, const void *b)
{
    return at_slice_cmp(((const struct at_profile_entry *)a)->id,
                        ((const struct at_profile_entry *)b)->id);
}

const struct at_profile *at_profile_table_find(const struct at_profile_table *t, struct at_slice id)
{
    struct at_profile_entry key = {.id = id.len ? id : AT_LIT("default")};
    struct at_profile_entry *found =
        t->count ? bsearch(&key, t->entries, t->count, sizeof(key), cmp_entries) : NULL;
    return found ? &found->profile : NULL;
}
