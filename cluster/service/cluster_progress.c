#include "cluster/service/cluster_progress.h"

#include "base/bytes.h"
#include "base/namespace.h"
#include "cluster/model/key.h"
#include "cluster/service/instance_view.h"
#include "cluster/tablet/copy.h"
#include "replication/peer/peering.h"

/* The newcomer knows each table's bytes. Others know how many bytes it has of how many, and how
 * large tables are here: they tell the same part of each. */

#define COPY_TABLES_MAX 1024
#define PROGRESS(name) GOOGLE__BIGTABLE__ADMIN__V2__CREATE_CLUSTER_METADATA__TABLE_PROGRESS__##name
#define STATE(name) PROGRESS(STATE__##name)

typedef Google__Bigtable__Admin__V2__CreateClusterMetadata metadata_t;
typedef Google__Bigtable__Admin__V2__CreateClusterMetadata__TableProgress progress_t;

static metadata_t *metadata_of(const Google__Longrunning__Operation *operation, struct at_arena *a)
{
    const ProtobufCMessageDescriptor *type =
        &google__bigtable__admin__v2__create_cluster_metadata__descriptor;
    const Google__Protobuf__Any *any = operation->metadata;
    const char *name = any ? strrchr(any->type_url, '/') : NULL;

    if (!name || strcmp(name + 1, type->name) != 0)
        return NULL;
    return at_proto_unpack(a, type, at_slice_make(any->value.data, any->value.len));
}

static const struct at_table *
table_of(const struct at_service *service, const struct at_catalog *catalog, const char *name)
{
    struct at_slice id;

    if (at_service_table_id(service, at_slice_cstr(name), &id, NULL) != AT_OK)
        return NULL;
    return at_catalog_table(catalog, id);
}

static uint64_t table_bytes(const struct at_service *service, const struct at_table *table)
{
    uint8_t start[AT_KEY_PREFIX_BYTES] = {0}, end[AT_KEY_PREFIX_BYTES] = {0};

    at_put_be32(start, table->id);
    at_put_be32(end, table->id + 1);
    return at_engine_range_bytes(at_store_engine(service->store), AT_SPACE_CELLS,
                                 at_slice_make(start, sizeof(start)),
                                 at_slice_make(end, sizeof(end)));
}

static void tell(progress_t *p, uint64_t bytes, uint64_t copied)
{
    copied = copied < bytes ? copied : bytes;
    p->estimated_size_bytes = (int64_t)bytes;
    p->estimated_copied_bytes = (int64_t)copied;
    if (copied == bytes)
        p->state = STATE(COMPLETED);
    else
        p->state = copied > 0 ? STATE(COPYING) : STATE(PENDING);
}

static void fill_own(struct at_service *service, metadata_t *metadata, struct at_arena *arena)
{
    struct at_copy_table_progress *all =
        AT_ARENA_ARRAY(arena, struct at_copy_table_progress, COPY_TABLES_MAX);
    uint32_t count = service->port.copy_progress(service->port.ctx, all, COPY_TABLES_MAX);

    for (size_t i = 0; i < metadata->n_tables; i++) {
        struct at_slice id;
        if (at_service_table_id(service, at_slice_cstr(metadata->tables[i]->key), &id, NULL) !=
            AT_OK)
            continue;
        for (uint32_t k = 0; k < count; k++)
            if (at_slice_eq_cstr(id, all[k].table))
                tell(metadata->tables[i]->value, all[k].bytes, all[k].copied_bytes);
    }
}

static void fill_other(struct at_service *service,
                       const struct at_catalog *catalog,
                       uint32_t member,
                       metadata_t *metadata)
{
    struct at_member_progress all[AT_MEMBERS_MAX];
    const struct at_member_progress *p = NULL;
    uint32_t count = service->port.progress(service->port.ctx, all, AT_MEMBERS_MAX);

    for (uint32_t i = 0; i < count; i++)
        if (all[i].member.v == member)
            p = &all[i];
    bool filled = p && (p->caught_up || p->mode == AT_MODE_READY);
    for (size_t i = 0; p && i < metadata->n_tables; i++) {
        const struct at_table *table = table_of(service, catalog, metadata->tables[i]->key);
        uint64_t bytes = table ? table_bytes(service, table) : 0;
        double part = filled ? 1 : 0;
        if (!filled && p->copy_bytes > 0)
            part = (double)p->copied_bytes / (double)p->copy_bytes;
        tell(metadata->tables[i]->value, bytes, (uint64_t)((double)bytes * (part < 1 ? part : 1)));
        if (!filled && bytes == 0)
            metadata->tables[i]->value->state = STATE(PENDING);
    }
}

void at_cluster_progress_fill(struct at_service *service,
                              const struct at_catalog *catalog,
                              Google__Longrunning__Operation *operation,
                              struct at_arena *arena)
{
    struct at_cluster_entry entry;
    metadata_t *metadata = metadata_of(operation, arena);

    if (!metadata || !metadata->original_request)
        return;
    struct at_slice id = at_slice_cstr(metadata->original_request->cluster_id);
    if (!at_cluster_entry(service, catalog, id, arena, &entry))
        return;
    uint32_t member = entry.record->address->member_id;
    if (member == service->member && service->port.copy_progress)
        fill_own(service, metadata, arena);
    else if (member != service->member && service->port.progress)
        fill_other(service, catalog, member, metadata);
    operation->metadata = at_admin_any(arena, &metadata->base);
}
