#include "cluster/admin/instance_view.h"

#include "base/assert.h"
#include "base/namespace.h"

static Atoll__V1__ClusterRecord *record_of_member(const struct at_service *service,
                                                  const struct at_service_member *member,
                                                  struct at_arena *arena)
{
    Atoll__V1__ClusterRecord *record = AT_ARENA_NEW(arena, Atoll__V1__ClusterRecord);
    Google__Bigtable__Admin__V2__Cluster *cluster =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__Cluster);
    Atoll__V1__ClusterAddress *address = AT_ARENA_NEW(arena, Atoll__V1__ClusterAddress);

    atoll__v1__cluster_record__init(record);
    google__bigtable__admin__v2__cluster__init(cluster);
    atoll__v1__cluster_address__init(address);
    cluster->location =
        at_arena_printf(arena, "projects/%s/locations/%s", service->project, member->zone);
    cluster->state = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__STATE__READY;
    cluster->serve_nodes = 1;
    cluster->default_storage_type = GOOGLE__BIGTABLE__ADMIN__V2__STORAGE_TYPE__SSD;
    address->cluster_id = at_arena_printf(arena, "%s", member->cluster_id);
    address->zone = at_arena_printf(arena, "%s", member->zone);
    address->member_id = member->member;
    record->cluster = cluster;
    record->address = address;
    return record;
}

static bool read_record(const struct at_named_record *from,
                        struct at_arena *arena,
                        struct at_cluster_entry *ret_entry)
{
    Atoll__V1__ClusterRecord *record = at_proto_unpack(
        arena, &atoll__v1__cluster_record__descriptor, at_arena_copy(arena, from->fields));

    *ret_entry = (struct at_cluster_entry){from->name, from->generation, record};
    return record && record->cluster && record->address;
}

/* In its place. */
static void put_entry(struct at_cluster_entries *all, struct at_cluster_entry entry)
{
    uint32_t at = all->count++;

    for (; at > 0 && at_slice_cmp(all->items[at - 1].id, entry.id) > 0; at--)
        all->items[at] = all->items[at - 1];
    all->items[at] = entry;
}

struct at_cluster_entries at_cluster_entries(const struct at_service *service,
                                             const struct at_catalog *catalog,
                                             struct at_arena *arena)
{
    uint32_t count = at_catalog_named_count(catalog, AT_CATALOG_CLUSTER);
    struct at_cluster_entries all = {0};

    all.items = AT_ARENA_ARRAY(arena, struct at_cluster_entry, count + service->member_count + 1);
    for (uint32_t i = 0; i < count; i++)
        if (read_record(at_catalog_named_at(catalog, AT_CATALOG_CLUSTER, i), arena,
                        &all.items[all.count]))
            all.count++;
    for (uint32_t i = 0; i < service->member_count; i++) {
        struct at_slice id = at_slice_cstr(service->members[i].cluster_id);
        if (at_catalog_named_counter(catalog, AT_CATALOG_CLUSTER, id) == 0)
            put_entry(&all, (struct at_cluster_entry){
                                .id = id,
                                .record = record_of_member(service, &service->members[i], arena)});
    }
    return all;
}

bool at_cluster_entry(const struct at_service *service,
                      const struct at_catalog *catalog,
                      struct at_slice id,
                      struct at_arena *arena,
                      struct at_cluster_entry *ret_entry)
{
    struct at_cluster_entries all = at_cluster_entries(service, catalog, arena);

    for (uint32_t i = 0; i < all.count; i++) {
        *ret_entry = all.items[i];
        if (at_slice_eq(all.items[i].id, id))
            return true;
    }
    return false;
}

const char *at_cluster_of_member(struct at_service *service, uint32_t member, struct at_arena *a)
{
    const char *id = member == service->member ? service->cluster_id : NULL;

    for (uint32_t i = 0; i < service->member_count && !id; i++)
        if (service->members[i].member == member)
            id = service->members[i].cluster_id;
    if (id)
        return id;
    struct at_schema *schema = at_store_schema(service->store);
    struct at_cluster_entries all = at_cluster_entries(service, schema->catalog, a);
    for (uint32_t i = 0; i < all.count && !id; i++)
        if (all.items[i].record->address->member_id == member)
            id = at_admin_text(a, all.items[i].id);
    at_schema_unref(&schema);
    return id ? id : "?";
}

bool at_cluster_creating(const struct at_cluster_entry *entry)
{
    return entry->record->cluster->state == GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__STATE__CREATING;
}

Google__Bigtable__Admin__V2__Cluster *at_cluster_view(const struct at_service *service,
                                                      struct at_slice in,
                                                      const struct at_cluster_entry *entry,
                                                      struct at_arena *arena)
{
    Google__Bigtable__Admin__V2__Cluster *out =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__Cluster);
    struct at_slice home = at_slice_cstr(at_admin_instance_name(service, arena));
    struct at_slice name = in.len > 0 ? in : home;
    struct at_slice rest = name;
    struct at_instance_name parts;
    bool well_formed = at_namespace_take(&rest, &parts);

    AT_ASSERT(well_formed);
    *out = *entry->record->cluster;
    out->name =
        at_arena_printf(arena, "%.*s/clusters/%.*s", AT_SLICE_ARG(name), AT_SLICE_ARG(entry->id));
    out->location = at_arena_printf(arena, "projects/%.*s/locations/%s",
                                    AT_SLICE_ARG(parts.project), entry->record->address->zone);
    return out;
}

struct at_slice at_instance_kept(const struct at_service *service, struct at_slice in)
{
    return in.len > 0 ? in : at_slice_cstr(service->instance);
}

Google__Bigtable__Admin__V2__Instance *at_instance_view(const struct at_service *service,
                                                        struct at_slice in,
                                                        const struct at_catalog *catalog,
                                                        struct at_arena *arena)
{
    const struct at_named_record *record =
        at_catalog_named(catalog, AT_CATALOG_INSTANCE, at_instance_kept(service, in));
    Google__Bigtable__Admin__V2__Instance *out = NULL;

    if (record)
        out = at_proto_unpack(arena, &google__bigtable__admin__v2__instance__descriptor,
                              at_arena_copy(arena, record->fields));
    if (!out) {
        out = AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__Instance);
        google__bigtable__admin__v2__instance__init(out);
        const char *display = service->display_name ? service->display_name : service->instance;
        out->display_name = in.len > 0 ? at_admin_text(arena, at_namespace_id(in))
                                       : at_arena_printf(arena, "%s", display);
        out->type = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__PRODUCTION;
    }
    out->state = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__STATE__READY;
    out->name = in.len > 0 ? at_admin_text(arena, in) : at_admin_instance_name(service, arena);
    return out;
}
