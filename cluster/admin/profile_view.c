#include "cluster/admin/admin.h"

#include "base/alloc.h"
#include "cluster/admin/lookup.h"
#include "cluster/service/namespaces.h"

/* GetAppProfile and ListAppProfiles. Name and etag are not stored: they are made here. */

typedef Google__Bigtable__Admin__V2__AppProfile profile_t;
typedef Google__Bigtable__Admin__V2__ListAppProfilesResponse list_t;

#define ETAG_BYTES_MAX 64

enum at_code at_profile_view_render(const struct at_service *service,
                                    const struct at_named_record *record,
                                    struct at_arena *arena,
                                    profile_t **ret_profile,
                                    struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf etag;
    struct at_profile plain;

    at_buf_init(&etag, ETAG_BYTES_MAX);
    profile_t *out = at_proto_unpack(arena, &google__bigtable__admin__v2__app_profile__descriptor,
                                     record->fields);
    if (!out || at_profile_decode(record->fields, arena, &plain, NULL) != AT_OK ||
        at_profile_etag(&plain, &etag) != AT_OK)
        return at_fail(reterr, AT_DATA_LOSS, "What is stored of app profile '%.*s' is damaged",
                       AT_SLICE_ARG(record->name));
    out->name = at_admin_profile_name(service, arena, record->name);
    out->etag = at_admin_text(arena, at_buf_slice(&etag));
    *ret_profile = out;
    return AT_OK;
}

static enum at_code get(const struct at_lookup *lookup,
                        const void *request,
                        const ProtobufCMessage **ret_answer,
                        struct at_error *reterr)
{
    const Google__Bigtable__Admin__V2__GetAppProfileRequest *in = request;
    struct at_named_record record;
    struct at_slice id;
    profile_t *out;

    AT_TRY(at_admin_child(lookup->service, in->name, "/appProfiles/", &id, reterr));
    if (!at_namespaces_profile(lookup->catalog, id, &record))
        return at_fail(reterr, AT_NOT_FOUND, "App profile %s not found", in->name);
    AT_TRY(at_profile_view_render(lookup->service, &record, lookup->arena, &out, reterr));
    *ret_answer = &out->base;
    return AT_OK;
}

void at_on_get_app_profile(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__bigtable__admin__v2__get_app_profile_request__descriptor,
                     get);
}

/* An instance beside the home instance has a "default" without keeping it: on the first page. */
static enum at_code list_default(const struct at_lookup *lookup,
                                 const struct at_admin_parent *parent,
                                 list_t *out,
                                 struct at_error *reterr)
{
    struct at_named_record record;
    struct at_slice kept =
        at_admin_keep(lookup->arena, parent->in, "appProfiles", AT_LIT("default"));

    if (parent->in.len == 0 || !at_namespaces_profile(lookup->catalog, kept, &record) ||
        record.generation > 0)
        return AT_OK;
    return at_profile_view_render(lookup->service, &record, lookup->arena,
                                  &out->app_profiles[out->n_app_profiles++], reterr);
}

static enum at_code list(const struct at_lookup *lookup,
                         const void *request,
                         const ProtobufCMessage **ret_answer,
                         struct at_error *reterr)
{
    const Google__Bigtable__Admin__V2__ListAppProfilesRequest *in = request;
    const struct at_catalog *catalog = lookup->catalog;
    struct at_arena *arena = lookup->arena;
    list_t *out = AT_ARENA_NEW(arena, list_t);
    struct at_admin_page page;
    struct at_admin_parent parent;
    uint32_t count = at_catalog_named_count(catalog, AT_CATALOG_PROFILE);

    google__bigtable__admin__v2__list_app_profiles_response__init(out);
    AT_TRY(at_admin_parent(lookup->service, in->parent, &parent, reterr));
    AT_TRY(at_admin_page_decode(in->page_size, in->page_token, arena, &page, reterr));
    out->app_profiles = AT_ARENA_ARRAY(arena, profile_t *, count + 2);
    if (page.after.len == 0)
        AT_TRY(list_default(lookup, &parent, out, reterr));
    for (uint32_t i = 0; i < count; i++) {
        const struct at_named_record *record = at_catalog_named_at(catalog, AT_CATALOG_PROFILE, i);
        if (!at_admin_parent_holds(&parent, record->name) ||
            at_slice_cmp(record->name, page.after) <= 0)
            continue;
        if (out->n_app_profiles >= page.size && page.after.len > 0) {
            out->next_page_token = at_admin_page_token(arena, page.after);
            break;
        }
        AT_TRY(at_profile_view_render(lookup->service, record, arena,
                                      &out->app_profiles[out->n_app_profiles++], reterr));
        page.after = record->name;
    }
    *ret_answer = &out->base;
    return AT_OK;
}

void at_on_list_app_profiles(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__bigtable__admin__v2__list_app_profiles_request__descriptor,
                     list);
}
