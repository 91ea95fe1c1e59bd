#include "base/assert.h"
#include "base/namespace.h"
#include "cluster/admin/backup.h"
#include "cluster/admin/mask.h"

/* UpdateBackup and DeleteBackup. The file goes once the record is gone (backup_worker.h). */

typedef Google__Bigtable__Admin__V2__Backup backup_t;

#define RECORDS_MAX 2

struct backup_change {
    struct at_change change; /* first */
    struct at_backup_name name;
    const backup_t *wanted; /* UpdateBackup */
    bool sets_expiry;
    bool sets_hot;
};

static enum at_code decide_update(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr);
static enum at_code decide_delete(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr);

static struct backup_change *change_new(struct at_service *service, struct at_grpc_call *call)
{
    struct backup_change *b = AT_ARENA_NEW(at_grpc_call_arena(call), struct backup_change);

    b->change = (struct at_change){.service = service, .call = call};
    return b;
}

static enum at_code prepare_update(struct backup_change *b,
                                   const Google__Bigtable__Admin__V2__UpdateBackupRequest *in,
                                   struct at_error *reterr)
{
    if (!in->backup)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'backup' : must be set");
    AT_TRY(at_backup_name_parse(b->change.service, in->backup->name,
                                at_grpc_call_arena(b->change.call), &b->name, reterr));
    if (!in->update_mask || in->update_mask->n_paths == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'update_mask' : must be set");
    for (size_t i = 0; i < in->update_mask->n_paths; i++) {
        const char *path = in->update_mask->paths[i];
        bool expiry = at_mask_same(path, "expire_time");
        bool hot = at_mask_same(path, "hot_to_standard_time");
        if (!expiry && !hot)
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "Error in field 'update_mask' : only expire_time and "
                           "hot_to_standard_time of a backup can be updated, not '%s'",
                           path);
        b->sets_expiry = b->sets_expiry || expiry;
        b->sets_hot = b->sets_hot || hot;
    }
    b->wanted = in->backup;
    return AT_OK;
}

static void on_updated(struct at_change *change)
{
    const struct backup_change *b = (struct backup_change *)change;
    struct at_error error;
    backup_t *backup = NULL;

    /* In the round of the change, a later one may have deleted it. */
    enum at_code code = at_backup_find(change->service, change->write.ret_schema->catalog, &b->name,
                                       at_grpc_call_arena(change->call), &backup, &error);
    if (code != AT_OK)
        at_service_fail(change->service, change->call, &error);
    else
        at_service_reply(change->service, change->call, &backup->base);
}

void at_on_update_backup(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__UpdateBackupRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__update_backup_request__descriptor);

    if (!in)
        return;
    struct backup_change *b = change_new(service, call);
    b->change.write.decide = decide_update;
    b->change.reply = on_updated;
    if (prepare_update(b, in, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_change_submit(&b->change);
}

static enum at_code decide_update(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr)
{
    const struct backup_change *b = (struct backup_change *)at_change_of(write);
    backup_t *backup = NULL;

    AT_TRY(at_backup_find(b->change.service, catalog, &b->name, write->arena, &backup, reterr));
    AT_ASSERT(backup != NULL);
    int64_t created_s = backup->start_time ? backup->start_time->seconds : 0;
    bool copy = backup->source_backup[0] != '\0';
    if (b->sets_expiry) {
        AT_TRY(at_backup_expiry_check(b->wanted->expire_time, created_s,
                                      copy ? AT_BACKUP_COPY_SECONDS_MAX : AT_BACKUP_SECONDS_MAX,
                                      reterr));
        backup->expire_time = b->wanted->expire_time;
    }
    if (b->sets_hot) {
        backup->hot_to_standard_time = b->wanted->hot_to_standard_time;
        AT_TRY(at_backup_type_check(backup, created_s, reterr));
    }
    *at_change_record(write, RECORDS_MAX) = (struct at_catalog_record){
        .kind = AT_CATALOG_BACKUP,
        .name = b->name.kept,
        .counter = at_catalog_named_counter(catalog, AT_CATALOG_BACKUP, b->name.kept),
        .fields = at_backup_pack(write->arena, backup),
    };
    return AT_OK;
}

static void on_deleted(struct at_change *change)
{
    at_admin_reply_empty(change->service, change->call);
}

void at_on_delete_backup(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__DeleteBackupRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__delete_backup_request__descriptor);

    if (!in)
        return;
    struct backup_change *b = change_new(service, call);
    b->change.write.decide = decide_delete;
    b->change.reply = on_deleted;
    if (at_backup_name_parse(service, in->name, at_grpc_call_arena(call), &b->name, &error) !=
        AT_OK)
        at_service_fail(service, call, &error);
    else
        at_change_submit(&b->change);
}

void at_backup_delete(struct at_write_catalog *write,
                      const struct at_catalog *catalog,
                      const struct at_named_record *record,
                      uint32_t count_max)
{
    struct at_backup_name name = at_backup_name_kept(record->name);
    struct at_slice kept = at_arena_copy(write->arena, record->name);

    *at_change_record(write, count_max) = (struct at_catalog_record){
        .kind = AT_CATALOG_BACKUP, .name = kept, .counter = record->generation + 1};
    if (name.in.len == 0)
        kept = at_slice_cstr(at_arena_printf(write->arena, "clusters/%.*s/backups/%.*s",
                                             AT_SLICE_ARG(name.cluster), AT_SLICE_ARG(name.id)));
    const struct at_named_record *policy = at_catalog_named(catalog, AT_CATALOG_POLICY, kept);
    if (policy)
        *at_change_record(write, count_max) = (struct at_catalog_record){
            .kind = AT_CATALOG_POLICY, .name = kept, .counter = policy->generation + 1};
}

static enum at_code decide_delete(struct at_write_catalog *write,
                                  const struct at_catalog *catalog,
                                  struct at_error *reterr)
{
    const struct backup_change *b = (struct backup_change *)at_change_of(write);
    const struct at_named_record *record =
        at_catalog_named(catalog, AT_CATALOG_BACKUP, b->name.kept);

    if (!record)
        return at_fail(reterr, AT_NOT_FOUND, "Backup not found: %s",
                       at_backup_name_full(b->change.service, write->arena, &b->name));
    at_backup_delete(write, catalog, record, RECORDS_MAX);
    return AT_OK;
}
