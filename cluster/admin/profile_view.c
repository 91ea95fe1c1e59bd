#include "cluster/admin/admin.h"

#include "base/alloc.h"
#include "cluster/service/namespaces.h"

/* GetAppProfile and ListAppProfiles. Name and etag are not stored: they are made here. */

#define ETAG_BYTES_MAX 64

enum at_code at_profile_view_render(const struct at_service *service,
                                    const struct at_named_record *record,
                                    struct at_arena *arena,
                                    Google__Bigtable__Admin__V2__AppProfile **ret_profile,
                                    struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf etag;
    struct at_profile plain;

    at_buf_init(&etag, ETAG_BYTES_MAX);
    Google__Bigtable__Admin__V2__AppProfile *out = at_proto_unpack(
        arena, &google__bigtable__admin__v2__app_profile__descriptor, record->fields);
    if (!out || at_profile_decode(record->fields, arena, &plain, NULL) != AT_OK ||
        at_profile_etag(&plain, &etag) != AT_OK)
        return at_fail(reterr, AT_DATA_LOSS, "What is stored of app profile '%.*s' is damaged",
                       AT_SLICE_ARG(record->name));
    out->name = at_admin_profile_name(service, arena, record->name);
    out->etag = at_admin_text(arena, at_buf_slice(&etag));
    *ret_profile = out;
    return AT_OK;
}

static enum at_code get_in(struct at_service *service,
                           struct at_arena *arena,
                           const char *name,
                           const struct at_catalog *catalog,
                           Google__Bigtable__Admin__V2__AppProfile **ret_profile,
                           struct at_error *reterr)
{
    struct at_slice id;

    AT_TRY(at_admin_child(service, name, "/appProfiles/", &id, reterr));
    struct at_named_record record;
    if (!at_namespaces_profile(catalog, id, &record))
        return at_fail(reterr, AT_NOT_FOUND, "App profile %s not found", name);
    return at_profile_view_render(service, &record, arena, ret_profile, reterr);
}

void at_on_get_app_profile(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    Google__Bigtable__Admin__V2__AppProfile *profile = NULL;
    const Google__Bigtable__Admin__V2__GetAppProfileRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__get_app_profile_request__descriptor);

    if (!in)
        return;
    struct at_schema *schema = at_store_schema(service->store);
    if (get_in(service, at_grpc_call_arena(call), in->name, schema->catalog, &profile, &error) !=
        AT_OK)
        at_service_fail(service, call, &error);
    else
        at_service_reply(service, call, &profile->base);
    at_schema_unref(&schema);
}

/* An instance beside the home instance has a "default" without keeping it: on the first page. */
static enum at_code list_default(struct at_service *service,
                                 struct at_arena *arena,
                                 const struct at_admin_parent *parent,
                                 const struct at_catalog *catalog,
                                 Google__Bigtable__Admin__V2__ListAppProfilesResponse *out,
                                 struct at_error *reterr)
{
    struct at_named_record record;
    struct at_slice kept = at_admin_keep(arena, parent->in, "appProfiles", AT_LIT("default"));

    if (parent->in.len == 0 || !at_namespaces_profile(catalog, kept, &record) ||
        record.generation > 0)
        return AT_OK;
    return at_profile_view_render(service, &record, arena,
                                  &out->app_profiles[out->n_app_profiles++], reterr);
}

static enum at_code list_in(struct at_service *service,
                            struct at_arena *arena,
                            const Google__Bigtable__Admin__V2__ListAppProfilesRequest *in,
                            const struct at_catalog *catalog,
                            Google__Bigtable__Admin__V2__ListAppProfilesResponse *out,
                            struct at_error *reterr)
{
    struct at_admin_page page;
    struct at_admin_parent parent;
    uint32_t count = at_catalog_named_count(catalog, AT_CATALOG_PROFILE);

    AT_TRY(at_admin_parent(service, in->parent, &parent, reterr));
    AT_TRY(at_admin_page_decode(in->page_size, in->page_token, arena, &page, reterr));
    out->app_profiles = AT_ARENA_ARRAY(arena, Google__Bigtable__Admin__V2__AppProfile *, count + 2);
    if (page.after.len == 0)
        AT_TRY(list_default(service, arena, &parent, catalog, out, reterr));
    for (uint32_t i = 0; i < count; i++) {
        const struct at_named_record *record = at_catalog_named_at(catalog, AT_CATALOG_PROFILE, i);
        if (!at_admin_parent_holds(&parent, record->name) ||
            at_slice_cmp(record->name, page.after) <= 0)
            continue;
        if (out->n_app_profiles >= page.size && page.after.len > 0) {
            out->next_page_token = at_admin_page_token(arena, page.after);
            break;
        }
        AT_TRY(at_profile_view_render(service, record, arena,
                                      &out->app_profiles[out->n_app_profiles++], reterr));
        page.after = record->name;
    }
    return AT_OK;
}

void at_on_list_app_profiles(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    Google__Bigtable__Admin__V2__ListAppProfilesResponse out =
        GOOGLE__BIGTABLE__ADMIN__V2__LIST_APP_PROFILES_RESPONSE__INIT;
    const Google__Bigtable__Admin__V2__ListAppProfilesRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__list_app_profiles_request__descriptor);

    if (!in)
        return;
    struct at_schema *schema = at_store_schema(service->store);
    if (list_in(service, at_grpc_call_arena(call), in, schema->catalog, &out, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_service_reply(service, call, &out.base);
    at_schema_unref(&schema);
}
