#include "cluster/admin/cluster_progress.h"

#include "base/bytes.h"
#include "base/namespace.h"
#include "cluster/admin/instance_view.h"
#include "cluster/model/key.h"
#include "cluster/tablet/copy.h"
#include "replication/peer/peering.h"

/* How large tables are was written down when the cluster was registered, so that the whole does not
 * change while it is filled. The newcomer knows which part of each it has; others know which part
 * it has of all, and tell the same of each. */

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

uint64_t at_cluster_table_bytes(const struct at_service *service, const struct at_table *table)
{
    uint8_t start[AT_KEY_PREFIX_BYTES] = {0}, end[AT_KEY_PREFIX_BYTES] = {0};

    at_put_be32(start, table->id);
    at_put_be32(end, table->id + 1);
    return at_engine_range_bytes(at_store_engine(service->store), AT_SPACE_CELLS,
                                 at_slice_make(start, sizeof(start)),
                                 at_slice_make(end, sizeof(end)));
}

static void tell(progress_t *p, double part)
{
    if (!p)
        return; /* a record of a peer may have a key alone */
    double bytes = (double)p->estimated_size_bytes;
    if (part >= 1) {
        p->estimated_copied_bytes = p->estimated_size_bytes;
        p->state = STATE(COMPLETED);
        return;
    }
    p->estimated_copied_bytes = (int64_t)(bytes * part);
    p->state = part > 0 ? STATE(COPYING) : STATE(PENDING);
}

static void tell_all(metadata_t *metadata, double part)
{
    for (size_t i = 0; i < metadata->n_tables; i++)
        tell(metadata->tables[i]->value, part);
}

static double part_of(uint64_t copied, uint64_t bytes)
{
    /* It was an estimate: only the switch at the end makes it whole. */
    const double almost = 0.999;

    if (bytes == 0)
        return 0;
    double part = (double)copied / (double)bytes;
    return part < almost ? part : almost;
}

static bool is_filled(const struct at_service *service)
{
    struct at_replica_view view;

    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    bool filled = view.mode == AT_MODE_READY;
    at_replica_view_deinit(&view);
    return filled;
}

static void fill_own(struct at_service *service, metadata_t *metadata, struct at_arena *arena)
{
    struct at_copy_table_progress *all =
        AT_ARENA_ARRAY(arena, struct at_copy_table_progress, COPY_TABLES_MAX);
    uint32_t count = service->port.copy_progress(service->port.ctx, all, COPY_TABLES_MAX);

    if (count == 0 && is_filled(service))
        tell_all(metadata, 1);
    for (size_t i = 0; i < metadata->n_tables; i++) {
        struct at_slice id;
        if (at_service_table_id(service, at_slice_cstr(metadata->tables[i]->key), &id, NULL) !=
            AT_OK)
            continue;
        for (uint32_t k = 0; k < count; k++)
            if (at_slice_eq_cstr(id, all[k].table))
                tell(metadata->tables[i]->value, part_of(all[k].copied_bytes, all[k].bytes));
    }
}

static void fill_other(struct at_service *service, uint32_t member, metadata_t *metadata)
{
    struct at_member_progress all[AT_MEMBERS_MAX];
    uint32_t count = service->port.progress(service->port.ctx, all, AT_MEMBERS_MAX);

    for (uint32_t i = 0; i < count; i++) {
        const struct at_member_progress *p = &all[i];
        if (p->member.v != member)
            continue;
        bool filled = p->caught_up || p->mode == AT_MODE_READY;
        tell_all(metadata, filled ? 1 : part_of(p->copied_bytes, p->copy_bytes));
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
        fill_other(service, member, metadata);
    operation->metadata = at_admin_any(arena, &metadata->base);
}
