#include "cluster/admin/admin.h"
#include "cluster/admin/backup.h"
#include "cluster/admin/backup_progress.h"

/* CancelOperation, of work on backups: what it makes is deleted, and the operation ends, in one
 * change; whoever works on it sees that within 100 ms and stops, or does not begin after a crash.
 * That a cluster is no longer to be created is the router's to ask, by the Remove of another member
 * (control/member_end.c). Of one that is done nothing changes. */

#define RECORDS_MAX 3
/* A table that is being restored gets a new generation whenever that begins anew, and who does it
 * may be about to: its deletion is to count more. */
#define BEGINNINGS 8

typedef Google__Bigtable__Admin__V2__Backup backup_t;

struct cancel_operation {
    struct at_change change; /* first */
    const char *name;
};

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);

static void on_cancelled(struct at_change *change)
{
    at_admin_reply_empty(change->service, change->call);
}

void at_on_cancel_operation(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    const Google__Longrunning__CancelOperationRequest *in = at_service_unpack(
        service, call, &google__longrunning__cancel_operation_request__descriptor);

    if (!in)
        return;
    const Google__Longrunning__Operation *operation =
        at_operation_find(service, at_grpc_call_arena(call), in->name);
    if (!operation) {
        at_operation_fail_unknown(service, call, in->name);
    } else if (operation->done) {
        at_admin_reply_empty(service, call);
    } else {
        struct cancel_operation *c =
            AT_ARENA_NEW(at_grpc_call_arena(call), struct cancel_operation);
        c->name = in->name;
        c->change = (struct at_change){
            .service = service, .call = call, .write.decide = decide, .reply = on_cancelled};
        at_change_submit(&c->change);
    }
}

/* --- on the writer thread --- */

/* What stands between "operations/" and "/operations/<number>". */
static char *resource_of(const char *name, struct at_arena *arena)
{
    static const char BEFORE[] = "operations/", AFTER[] = "/operations/";
    const char *at = NULL;

    for (const char *next = strstr(name, AFTER); next; next = strstr(next + 1, AFTER))
        at = next;
    if (!at || strncmp(name, BEFORE, strlen(BEFORE)) != 0)
        return NULL;
    const char *from = name + strlen(BEFORE);
    return at > from ? at_arena_printf(arena, "%.*s", (int)(at - from), from) : NULL;
}

static void drop_backup(const struct cancel_operation *c,
                        struct at_write_catalog *write,
                        const struct at_catalog *catalog,
                        const char *resource)
{
    struct at_backup_name name;

    if (at_backup_name_parse(c->change.service, resource, write->arena, &name, NULL) != AT_OK)
        return;
    const struct at_named_record *record = at_catalog_named(catalog, AT_CATALOG_BACKUP, name.kept);
    const backup_t *backup =
        record ? at_backup_read(c->change.service, record, write->arena) : NULL;
    if (backup && backup->state == GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__STATE__CREATING)
        at_backup_delete(write, catalog, record, RECORDS_MAX);
}

static void drop_table(const struct cancel_operation *c,
                       struct at_write_catalog *write,
                       const struct at_catalog *catalog,
                       const char *resource)
{
    struct at_slice id;

    if (at_service_table_id(c->change.service, at_slice_cstr(resource), &id, NULL) != AT_OK)
        return;
    const struct at_table *table = at_catalog_table(catalog, id);
    if (table && table->fields.restoring)
        *at_change_record(write, RECORDS_MAX) =
            (struct at_catalog_record){.kind = AT_CATALOG_TABLE,
                                       .name = at_arena_copy(write->arena, id),
                                       .counter = table->counter + 2 * BEGINNINGS + 1};
}

static bool is_about(const Google__Longrunning__Operation *operation,
                     const ProtobufCMessageDescriptor *metadata)
{
    const char *slash = operation->metadata ? strrchr(operation->metadata->type_url, '/') : NULL;

    return slash && strcmp(slash + 1, metadata->name) == 0;
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    const struct cancel_operation *c = (struct cancel_operation *)at_change_of(write);
    const struct at_named_record *record =
        at_catalog_named(catalog, AT_CATALOG_OPERATION, at_slice_cstr(c->name));
    Google__Longrunning__Operation *operation =
        record ? at_proto_unpack(write->arena, &google__longrunning__operation__descriptor,
                                 at_arena_copy(write->arena, record->fields))
               : NULL;
    const char *resource = resource_of(c->name, write->arena);

    if (!operation || !resource)
        return at_fail(reterr, AT_NOT_FOUND, "Operation not found: %s", c->name);
    if (operation->done)
        return AT_OK;
    if (is_about(operation, &google__bigtable__admin__v2__create_backup_metadata__descriptor) ||
        is_about(operation, &google__bigtable__admin__v2__copy_backup_metadata__descriptor))
        drop_backup(c, write, catalog, resource);
    else if (is_about(operation, &google__bigtable__admin__v2__restore_table_metadata__descriptor))
        drop_table(c, write, catalog, resource);
    else
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "Operation %s can't be cancelled: delete what it makes instead", c->name);
    at_backup_progress_end(operation, at_clock_wall_ns(&c->change.service->clock), false,
                           write->arena);
    const struct at_named_record ending = {.name = record->name,
                                           .fields = at_admin_pack(write->arena, &operation->base)};
    *at_change_record(write, RECORDS_MAX) =
        (struct at_catalog_record){.kind = AT_CATALOG_OPERATION,
                                   .name = at_slice_cstr(c->name),
                                   .counter = record->generation,
                                   .fields = at_operation_ended(&ending, write->arena, AT_CANCELLED,
                                                                "The operation was cancelled")};
    return AT_OK;
}
