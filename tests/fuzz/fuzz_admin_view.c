/* fuzz_admin_view.c: records of instances, clusters, profiles and operations come in peers' logs,
 * and a catalog takes their fields as they are. The first byte picks the kind, the rest are the
 * fields of a record of each name that is looked for; whatever they are, views are made of them. */
#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/admin/cluster_progress.h"
#include "cluster/admin/instance_view.h"
#include "cluster/control/member_end.h"
#include "cluster/service/namespaces.h"
#include "cluster/service/profile_cache.h"
#include "replication/peer/peering.h"
#include "wire/proto_alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID AT_LIT("c3")

/* c3, if it is member 3, is being filled. */
static uint32_t progress(void *ctx, struct at_member_progress *ret_members, uint32_t count_max)
{
    (void)ctx;
    AT_ASSERT(count_max > 0);
    ret_members[0] =
        (struct at_member_progress){.member = {3}, .copied_bytes = 7, .copy_bytes = 70};
    return 1;
}

static void
view_clusters(struct at_service *service, const struct at_catalog *c, struct at_arena *a)
{
    struct at_cluster_entries all = at_cluster_entries(service, c, a);

    AT_ASSERT(all.count >= 1);
    for (uint32_t i = 0; i < all.count; i++) {
        (void)at_cluster_creating(&all.items[i]);
        const Google__Bigtable__Admin__V2__Cluster *out =
            at_cluster_view(service, at_slice_make(NULL, 0), &all.items[i], a);
        (void)at_admin_pack(a, &out->base);
    }
    const Google__Bigtable__Admin__V2__Instance *instance =
        at_instance_view(service, at_slice_make(NULL, 0), c, a);
    (void)at_admin_pack(a, &instance->base);
    (void)at_cluster_named_by(c, ID, a);
}

static void
view_operation(struct at_service *service, const struct at_catalog *c, struct at_arena *a)
{
    const struct at_named_record *record = at_catalog_named(c, AT_CATALOG_OPERATION, ID);
    Google__Longrunning__Operation *operation =
        record ? at_proto_unpack(a, &google__longrunning__operation__descriptor, record->fields)
               : NULL;

    if (!operation)
        return;
    at_cluster_progress_fill(service, c, operation, a);
    (void)at_admin_pack(a, &operation->base);
    struct at_slice ended = at_operation_ended(record, a, AT_ABORTED, "ended");
    operation = at_proto_unpack(a, &google__longrunning__operation__descriptor, ended);
    AT_ASSERT(ended.len == 0 || (operation && operation->done && operation->error));
}

static void view_profile(struct at_service *service, const struct at_catalog *c, struct at_arena *a)
{
    Google__Bigtable__Admin__V2__AppProfile *out;
    struct at_profile_cache cache;
    struct at_profile_grant grant;
    struct at_named_record record;

    if (at_namespaces_profile(c, ID, &record) &&
        at_profile_view_render(service, &record, a, &out, NULL) == AT_OK)
        (void)at_admin_pack(a, &out->base);
    at_profile_cache_init(&cache);
    (void)at_profile_cache_refill(&cache, c, ID, ID, &grant);
    at_profile_cache_deinit(&cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct at_service service = {.project = "p",
                                 .instance = "c3",
                                 .cluster_id = "c1",
                                 .zone = "z1",
                                 .member = 1,
                                 .port = {.progress = progress}};
    struct at_service_member self = {1, "c1", "z1"};
    struct at_catalog *empty = at_catalog_new();
    struct at_catalog *catalog = NULL;
    struct at_arena arena;

    at_arena_init(&arena, 4096);
    service.members = &self;
    service.member_count = 1;
    struct at_slice fields = size > 0 ? at_slice_make(data + 1, size - 1) : at_slice_make(NULL, 0);
    struct at_catalog_record records[] = {
        {.name = ID, .counter = 1, .fields = fields},
        /* c3, for the progress of its creation */
        {.kind = AT_CATALOG_CLUSTER,
         .name = ID,
         .counter = 1,
         .fields = AT_LIT("\x0a\x02\x18\x02\x12\x02\x18\x03")},
    };
    records[0].kind = (enum at_catalog_kind)(AT_CATALOG_PROFILE + (size > 0 ? data[0] % 6 : 0));
    bool other = records[0].kind != AT_CATALOG_CLUSTER;
    AT_ASSERT(at_catalog_record_readable(&records[0]));
    enum at_code code = at_catalog_apply(empty, records, other ? 2 : 1, NULL, &catalog, NULL);
    AT_ASSERT(code == AT_OK);
    view_clusters(&service, catalog, &arena);
    view_operation(&service, catalog, &arena);
    view_profile(&service, catalog, &arena);
    at_catalog_free(&catalog);
    at_catalog_free(&empty);
    at_arena_deinit(&arena);
    return 0;
}
