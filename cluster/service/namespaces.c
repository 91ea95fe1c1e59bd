#include "cluster/service/namespaces.h"

#include <stdlib.h>

#include "base/namespace.h"

#define DEFAULT_PROFILE AT_LIT("default")

static const enum at_catalog_kind NAMED[] = {AT_CATALOG_INSTANCE, AT_CATALOG_PROFILE};

static int compare_slices(const void *a, const void *b)
{
    return at_slice_cmp(*(const struct at_slice *)a, *(const struct at_slice *)b);
}

static void note(struct at_namespaces *found, struct at_slice kept)
{
    struct at_slice name = at_namespace_of(kept);

    /* Names of one instance follow each other. */
    if (name.len > 0 && (found->count == 0 || !at_slice_eq(found->names[found->count - 1], name)))
        found->names[found->count++] = name;
}

struct at_namespaces at_namespaces_used(const struct at_catalog *catalog, struct at_arena *arena)
{
    uint32_t tables = at_catalog_table_count(catalog);
    uint32_t most = tables;
    uint32_t unique = 0;
    struct at_namespaces found = {0};

    for (size_t k = 0; k < sizeof(NAMED) / sizeof(NAMED[0]); k++)
        most += at_catalog_named_count(catalog, NAMED[k]);
    found.names = AT_ARENA_ARRAY(arena, struct at_slice, most + 1);
    for (uint32_t i = 0; i < tables; i++)
        note(&found, at_catalog_table_at(catalog, i)->name);
    for (size_t k = 0; k < sizeof(NAMED) / sizeof(NAMED[0]); k++)
        for (uint32_t i = 0; i < at_catalog_named_count(catalog, NAMED[k]); i++)
            note(&found, at_catalog_named_at(catalog, NAMED[k], i)->name);
    qsort(found.names, found.count, sizeof(found.names[0]), compare_slices);
    for (uint32_t i = 0; i < found.count; i++)
        if (unique == 0 || !at_slice_eq(found.names[unique - 1], found.names[i]))
            found.names[unique++] = at_arena_copy(arena, found.names[i]);
    found.count = unique;
    return found;
}

bool at_namespaces_profile(const struct at_catalog *catalog,
                           struct at_slice kept,
                           struct at_named_record *ret_record)
{
    const struct at_named_record *record = at_catalog_named(catalog, AT_CATALOG_PROFILE, kept);

    if (!record && at_namespace_of(kept).len > 0 &&
        at_slice_eq(at_namespace_id(kept), DEFAULT_PROFILE)) {
        record = at_catalog_named(catalog, AT_CATALOG_PROFILE, DEFAULT_PROFILE);
        if (!record)
            return false;
        *ret_record = *record;
        ret_record->name = kept;
        ret_record->generation = 0;
        return true;
    }
    if (record)
        *ret_record = *record;
    return record != NULL;
}
