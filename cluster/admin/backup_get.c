#include <stdlib.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/namespace.h"
#include "cluster/admin/backup.h"
#include "cluster/admin/backup_filter.h"
#include "cluster/admin/backup_order.h"
#include "cluster/admin/instance_view.h"
#include "cluster/admin/lookup.h"

/* GetBackup and ListBackups. Any cluster knows all backups; only its own it has. A page's token is
 * what the last backup on it is sorted by; lists are sorted anew for each page. */

typedef Google__Bigtable__Admin__V2__Backup backup_t;
typedef Google__Bigtable__Admin__V2__ListBackupsResponse list_t;

#define CLUSTERS "/clusters/"

struct backup_list {
    const struct at_lookup *lookup;
    struct at_admin_parent parent;
    struct at_slice cluster; /* empty: all */
    struct at_backup_filter filter;
    struct at_backup_order order;
    struct at_admin_page page;
    const backup_t *after; /* NULL: from the start */
    backup_t **items;
    size_t count;
};

static enum at_code get_backup(const struct at_lookup *lookup,
                               const void *request,
                               const ProtobufCMessage **ret_answer,
                               struct at_error *reterr)
{
    const Google__Bigtable__Admin__V2__GetBackupRequest *in = request;
    struct at_backup_name name;
    backup_t *out;

    AT_TRY(at_backup_name_parse(lookup->service, in->name, lookup->arena, &name, reterr));
    AT_TRY(at_backup_find(lookup->service, lookup->catalog, &name, lookup->arena, &out, reterr));
    *ret_answer = &out->base;
    return AT_OK;
}

void at_on_get_backup(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__bigtable__admin__v2__get_backup_request__descriptor,
                     get_backup);
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
    char *instance = at_arena_printf(list->lookup->arena, "%.*s", (int)(middle - parent), parent);
    AT_TRY(at_admin_parent(list->lookup->service, instance, &list->parent, reterr));
    if (strcmp(cluster, "-") == 0)
        return AT_OK;
    list->cluster = at_slice_cstr(cluster);
    struct at_cluster_entry entry;
    if (list->parent.project.len == 0 && /* of all instances: some have none of this name */
        !at_cluster_entry(list->lookup->service, list->lookup->catalog, list->cluster,
                          list->lookup->arena, &entry))
        return at_fail(reterr, AT_NOT_FOUND, "Cluster not found: %s", cluster);
    return AT_OK;
}

static int compare(const void *a, const void *b, void *ctx)
{
    backup_t *const *x = a;
    backup_t *const *y = b;

    return at_backup_order_cmp(ctx, *x, *y);
}

static enum at_code collect(struct backup_list *list, struct at_error *reterr)
{
    const struct at_catalog *catalog = list->lookup->catalog;
    struct at_arena *arena = list->lookup->arena;
    uint32_t count = at_catalog_named_count(catalog, AT_CATALOG_BACKUP);

    list->items = AT_ARENA_ARRAY(arena, backup_t *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct at_named_record *record = at_catalog_named_at(catalog, AT_CATALOG_BACKUP, i);
        struct at_backup_name name = at_backup_name_kept(record->name);
        if (!at_admin_parent_holds(&list->parent, record->name) ||
            (list->cluster.len > 0 && !at_slice_eq(list->cluster, name.cluster)))
            continue;
        backup_t *backup = at_backup_read(list->lookup->service, record, arena);
        if (!backup)
            return at_fail(reterr, AT_DATA_LOSS, "What is stored of backup %.*s is damaged",
                           AT_SLICE_ARG(record->name));
        if (at_backup_filter_matches(&list->filter, backup))
            list->items[list->count++] = backup;
    }
    qsort_r(list->items, list->count, sizeof(backup_t *), compare, &list->order);
    return AT_OK;
}

/* All that a backup may be sorted by goes into the token: it may be gone by the next page, as one
 * who deletes page by page sees to, and the list goes on behind it all the same. */
static enum at_code
make_token(struct at_arena *arena, const backup_t *last, char **ret_token, struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    backup_t key = *last;

    key.encryption_info = NULL;
    key.hot_to_standard_time = NULL;
    at_buf_init(&bytes, AT_ADMIN_PAGE_KEY_BYTES_MAX);
    if (at_proto_pack(&bytes, &key.base) != AT_OK)
        return at_fail(reterr, AT_DATA_LOSS, "What is stored of backup %s is damaged", last->name);
    *ret_token = at_admin_page_token(arena, at_buf_slice(&bytes));
    return AT_OK;
}

static enum at_code read_token(struct backup_list *list, struct at_error *reterr)
{
    if (list->page.after.len == 0)
        return AT_OK;
    list->after = at_proto_unpack(
        list->lookup->arena, &google__bigtable__admin__v2__backup__descriptor, list->page.after);
    return list->after ? AT_OK
                       : at_fail(reterr, AT_INVALID_ARGUMENT,
                                 "Error in field 'page_token' : not one of a list of backups");
}

static enum at_code cut_page(const struct backup_list *list, list_t *out, struct at_error *reterr)
{
    size_t from = 0;

    while (list->after && from < list->count &&
           at_backup_order_cmp(&list->order, list->items[from], list->after) <= 0)
        from++;
    out->backups = list->items + from;
    out->n_backups = list->count - from;
    if (out->n_backups <= list->page.size)
        return AT_OK;
    out->n_backups = list->page.size;
    return make_token(list->lookup->arena, out->backups[out->n_backups - 1], &out->next_page_token,
                      reterr);
}

static enum at_code list_backups(const struct at_lookup *lookup,
                                 const void *request,
                                 const ProtobufCMessage **ret_answer,
                                 struct at_error *reterr)
{
    const Google__Bigtable__Admin__V2__ListBackupsRequest *in = request;
    struct at_arena *arena = lookup->arena;
    struct backup_list *list = AT_ARENA_NEW(arena, struct backup_list);
    list_t *out = AT_ARENA_NEW(arena, list_t);

    google__bigtable__admin__v2__list_backups_response__init(out);
    list->lookup = lookup;
    AT_TRY(parse_parent(list, in->parent, reterr));
    AT_TRY(at_backup_filter_parse(in->filter, arena, &list->filter, reterr));
    AT_TRY(at_backup_order_parse(in->order_by, &list->order, reterr));
    AT_TRY(at_admin_page_decode(in->page_size, in->page_token, arena, &list->page, reterr));
    AT_TRY(read_token(list, reterr));
    AT_TRY(collect(list, reterr));
    AT_TRY(cut_page(list, out, reterr));
    *ret_answer = &out->base;
    return AT_OK;
}

void at_on_list_backups(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__bigtable__admin__v2__list_backups_request__descriptor,
                     list_backups);
}
