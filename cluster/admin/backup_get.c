#include <stdlib.h>

#include "base/assert.h"
#include "base/namespace.h"
#include "cluster/admin/backup.h"
#include "cluster/admin/backup_filter.h"
#include "cluster/admin/backup_order.h"

/* GetBackup and ListBackups. Any cluster knows all backups; only its own it has. A page's token is
 * the name of the last backup on it; lists are sorted anew for each page. */

typedef Google__Bigtable__Admin__V2__Backup backup_t;

#define CLUSTERS "/clusters/"

struct backup_list {
    struct at_service *service;
    struct at_arena *arena;
    struct at_admin_parent parent;
    struct at_slice cluster; /* empty: all */
    struct at_backup_filter filter;
    struct at_backup_order order;
    struct at_admin_page page;
    backup_t **items;
    size_t count;
};

static enum at_code get_in(struct at_service *service,
                           struct at_arena *arena,
                           const char *full,
                           const struct at_catalog *catalog,
                           backup_t **ret_backup,
                           struct at_error *reterr)
{
    struct at_backup_name name;

    AT_TRY(at_backup_name_parse(service, full, arena, &name, reterr));
    return at_backup_find(service, catalog, &name, arena, NULL, ret_backup, reterr);
}

void at_on_get_backup(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    backup_t *backup = NULL;
    const Google__Bigtable__Admin__V2__GetBackupRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__get_backup_request__descriptor);

    if (!in)
        return;
    struct at_schema *schema = at_store_schema(service->store);
    enum at_code code =
        get_in(service, at_grpc_call_arena(call), in->name, schema->catalog, &backup, &error);
    if (code != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_service_reply(service, call, &backup->base);
    at_schema_unref(&schema);
}

/* "projects/P/instances/I/clusters/C", with "-" for instance or cluster. */
static enum at_code
parse_parent(struct backup_list *list, const char *parent, struct at_error *reterr)
{
    const char *middle = strstr(parent, CLUSTERS);
    const char *cluster = middle ? middle + strlen(CLUSTERS) : "";

    if (cluster[0] == '\0' || strchr(cluster, '/'))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid name '%s': projects/<project>/instances/<instance>/clusters/"
                       "<cluster> is expected",
                       parent);
    char *instance = at_arena_printf(list->arena, "%.*s", (int)(middle - parent), parent);
    if (strcmp(cluster, "-") != 0)
        list->cluster = at_slice_cstr(cluster);
    return at_admin_parent(list->service, instance, &list->parent, reterr);
}

static int compare(const void *a, const void *b, void *ctx)
{
    backup_t *const *x = a;
    backup_t *const *y = b;

    return at_backup_order_cmp(ctx, *x, *y);
}

static enum at_code
collect(struct backup_list *list, const struct at_catalog *catalog, struct at_error *reterr)
{
    uint32_t count = at_catalog_named_count(catalog, AT_CATALOG_BACKUP);

    list->items = AT_ARENA_ARRAY(list->arena, backup_t *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct at_named_record *record = at_catalog_named_at(catalog, AT_CATALOG_BACKUP, i);
        struct at_backup_name name = at_backup_name_kept(record->name);
        if (!at_admin_parent_holds(&list->parent, record->name) ||
            (list->cluster.len > 0 && !at_slice_eq(list->cluster, name.cluster)))
            continue;
        backup_t *backup = at_backup_read(list->service, record, list->arena);
        if (!backup)
            return at_fail(reterr, AT_DATA_LOSS, "What is stored of backup %.*s is damaged",
                           AT_SLICE_ARG(record->name));
        if (at_backup_filter_matches(&list->filter, backup))
            list->items[list->count++] = backup;
    }
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    qsort_r(list->items, list->count, sizeof(list->items[0]), compare, &list->order);
    return AT_OK;
}

/* Behind the one that the token names; one that is gone meanwhile ends the list, rather than that
 * it begins again. */
static void cut_page(const struct backup_list *list,
                     Google__Bigtable__Admin__V2__ListBackupsResponse *out)
{
    size_t from = 0;

    if (list->page.after.len > 0) {
        while (from < list->count &&
               !at_slice_eq(at_slice_cstr(list->items[from]->name), list->page.after))
            from++;
        from += from < list->count;
    }
    out->backups = list->items + from;
    out->n_backups = list->count - from;
    if (out->n_backups <= list->page.size)
        return;
    out->n_backups = list->page.size;
    out->next_page_token =
        at_admin_page_token(list->arena, at_slice_cstr(out->backups[out->n_backups - 1]->name));
}

static enum at_code list_in(struct backup_list *list,
                            const Google__Bigtable__Admin__V2__ListBackupsRequest *in,
                            const struct at_catalog *catalog,
                            Google__Bigtable__Admin__V2__ListBackupsResponse *out,
                            struct at_error *reterr)
{
    AT_TRY(parse_parent(list, in->parent, reterr));
    AT_TRY(at_backup_filter_parse(in->filter, list->arena, &list->filter, reterr));
    AT_TRY(at_backup_order_parse(in->order_by, &list->order, reterr));
    AT_TRY(at_admin_page_decode(in->page_size, in->page_token, list->arena, &list->page, reterr));
    AT_TRY(collect(list, catalog, reterr));
    cut_page(list, out);
    return AT_OK;
}

void at_on_list_backups(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    Google__Bigtable__Admin__V2__ListBackupsResponse out =
        GOOGLE__BIGTABLE__ADMIN__V2__LIST_BACKUPS_RESPONSE__INIT;
    const Google__Bigtable__Admin__V2__ListBackupsRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__list_backups_request__descriptor);

    if (!in)
        return;
    struct backup_list *list = AT_ARENA_NEW(at_grpc_call_arena(call), struct backup_list);
    list->service = service;
    list->arena = at_grpc_call_arena(call);
    struct at_schema *schema = at_store_schema(service->store);
    if (list_in(list, in, schema->catalog, &out, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_service_reply(service, call, &out.base);
    at_schema_unref(&schema);
}
