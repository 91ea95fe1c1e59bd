#include "cluster/admin/admin.h"
#include "cluster/admin/lookup.h"

/* GetTable and ListTables. */

typedef Google__Bigtable__Admin__V2__Table table_t;

#define VIEW(name) GOOGLE__BIGTABLE__ADMIN__V2__TABLE__VIEW__##name

static enum at_code get(const struct at_lookup *lookup,
                        const void *request,
                        const ProtobufCMessage **ret_answer,
                        struct at_error *reterr)
{
    const Google__Bigtable__Admin__V2__GetTableRequest *in = request;
    struct at_service *service = lookup->service;
    struct at_table_view view;
    struct at_slice id;
    table_t *out;

    AT_TRY(at_service_table_id(service, at_slice_cstr(in->name), &id, reterr));
    AT_TRY(at_table_view_init(&view, service, lookup->arena, (int)in->view, VIEW(SCHEMA_VIEW),
                              reterr));
    const struct at_table *table = at_catalog_table(lookup->catalog, id);
    if (!table)
        return at_admin_no_table(service, id, reterr);
    AT_TRY(at_table_view_render(&view, table, &out, reterr));
    *ret_answer = &out->base;
    return AT_OK;
}

void at_on_get_table(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__bigtable__admin__v2__get_table_request__descriptor, get);
}

static enum at_code list(const struct at_lookup *lookup,
                         const void *request,
                         const ProtobufCMessage **ret_answer,
                         struct at_error *reterr)
{
    const Google__Bigtable__Admin__V2__ListTablesRequest *in = request;
    struct at_arena *arena = lookup->arena;
    Google__Bigtable__Admin__V2__ListTablesResponse *out =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__ListTablesResponse);
    struct at_table_view view;
    struct at_admin_page page;
    struct at_admin_parent parent;
    uint32_t count = at_catalog_table_count(lookup->catalog);

    google__bigtable__admin__v2__list_tables_response__init(out);
    AT_TRY(at_admin_parent(lookup->service, in->parent, &parent, reterr));
    AT_TRY(at_admin_page_decode(in->page_size, in->page_token, arena, &page, reterr));
    AT_TRY(
        at_table_view_init(&view, lookup->service, arena, (int)in->view, VIEW(NAME_ONLY), reterr));
    out->tables = AT_ARENA_ARRAY(arena, table_t *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct at_table *table = at_catalog_table_at(lookup->catalog, i);
        if (!at_admin_parent_holds(&parent, table->name) ||
            at_slice_cmp(table->name, page.after) <= 0)
            continue;
        if (out->n_tables == page.size) {
            out->next_page_token = at_admin_page_token(arena, page.after);
            break;
        }
        AT_TRY(at_table_view_render(&view, table, &out->tables[out->n_tables++], reterr));
        page.after = table->name;
    }
    *ret_answer = &out->base;
    return AT_OK;
}

void at_on_list_tables(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__bigtable__admin__v2__list_tables_request__descriptor,
                     list);
}
