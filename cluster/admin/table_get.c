#include "cluster/admin/admin.h"

/* GetTable and ListTables. */

#define VIEW(name) GOOGLE__BIGTABLE__ADMIN__V2__TABLE__VIEW__##name

static enum at_code get_in(struct at_service *service,
                           struct at_arena *arena,
                           const Google__Bigtable__Admin__V2__GetTableRequest *in,
                           const struct at_catalog *catalog,
                           Google__Bigtable__Admin__V2__Table **ret_table,
                           struct at_error *reterr)
{
    struct at_table_view view;
    struct at_slice id;

    AT_TRY(at_service_table_id(service, at_slice_cstr(in->name), &id, reterr));
    AT_TRY(at_table_view_init(&view, service, arena, (int)in->view, VIEW(SCHEMA_VIEW), reterr));
    const struct at_table *table = at_catalog_table(catalog, id);
    if (!table)
        return at_admin_no_table(service, id, reterr);
    return at_table_view_render(&view, table, ret_table, reterr);
}

void at_on_get_table(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    Google__Bigtable__Admin__V2__Table *table = NULL;
    const Google__Bigtable__Admin__V2__GetTableRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__get_table_request__descriptor);

    if (!in)
        return;
    struct at_schema *schema = at_store_schema(service->store);
    enum at_code code =
        get_in(service, at_grpc_call_arena(call), in, schema->catalog, &table, &error);
    if (code != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_service_reply(service, call, &table->base);
    at_schema_unref(&schema);
}

static enum at_code list_in(struct at_service *service,
                            struct at_arena *arena,
                            const Google__Bigtable__Admin__V2__ListTablesRequest *in,
                            const struct at_catalog *catalog,
                            Google__Bigtable__Admin__V2__ListTablesResponse *out,
                            struct at_error *reterr)
{
    struct at_table_view view;
    struct at_admin_page page;
    struct at_admin_parent parent;
    uint32_t count = at_catalog_table_count(catalog);

    AT_TRY(at_admin_parent(service, in->parent, &parent, reterr));
    AT_TRY(at_admin_page_decode(in->page_size, in->page_token, arena, &page, reterr));
    AT_TRY(at_table_view_init(&view, service, arena, (int)in->view, VIEW(NAME_ONLY), reterr));
    out->tables = AT_ARENA_ARRAY(arena, Google__Bigtable__Admin__V2__Table *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct at_table *table = at_catalog_table_at(catalog, i);
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
    return AT_OK;
}

void at_on_list_tables(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    Google__Bigtable__Admin__V2__ListTablesResponse out =
        GOOGLE__BIGTABLE__ADMIN__V2__LIST_TABLES_RESPONSE__INIT;
    const Google__Bigtable__Admin__V2__ListTablesRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__list_tables_request__descriptor);

    if (!in)
        return;
    struct at_schema *schema = at_store_schema(service->store);
    if (list_in(service, at_grpc_call_arena(call), in, schema->catalog, &out, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_service_reply(service, call, &out.base);
    at_schema_unref(&schema);
}
