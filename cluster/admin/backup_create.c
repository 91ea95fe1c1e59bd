#include "base/assert.h"
#include "cluster/admin/backup.h"
#include "cluster/admin/instance_view.h"

/* CreateBackup and CopyBackup: a record in state CREATING and an operation, in one change. The
 * worker of the backup's cluster does the rest. */

typedef Google__Bigtable__Admin__V2__Backup backup_t;

#define CREATING GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__STATE__CREATING
#define READY GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__STATE__READY

struct create_backup {
    struct at_change change; /* first */
    struct at_backup_name name;
    struct at_backup_name source; /* of a copy */
    bool copies;
    struct at_slice table; /* the name it is kept by, unless it copies */
    backup_t *backup;      /* as it will be stored, with its name */
    uint64_t start_ns;     /* wall */
};

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);

static struct create_backup *create_new(struct at_service *service, struct at_grpc_call *call)
{
    struct at_arena *arena = at_grpc_call_arena(call);
    struct create_backup *c = AT_ARENA_NEW(arena, struct create_backup);

    c->start_ns = at_clock_wall_ns(&service->clock);
    c->change = (struct at_change){
        .service = service, .call = call, .write.decide = decide, .reply = at_operation_reply};
    c->backup = AT_ARENA_NEW(arena, backup_t);
    google__bigtable__admin__v2__backup__init(c->backup);
    c->backup->start_time = at_admin_time(arena, c->start_ns);
    c->backup->state = CREATING;
    c->backup->backup_type = GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__BACKUP_TYPE__STANDARD;
    return c;
}

static void submit(struct create_backup *c, enum at_code code, const struct at_error *error)
{
    if (code != AT_OK)
        at_service_fail(c->change.service, c->change.call, error);
    else
        at_change_submit(&c->change);
}

static enum at_code prepare_create(struct create_backup *c,
                                   const Google__Bigtable__Admin__V2__CreateBackupRequest *in,
                                   struct at_error *reterr)
{
    const struct at_service *service = c->change.service;
    struct at_arena *arena = at_grpc_call_arena(c->change.call);
    int64_t now_s = (int64_t)(c->start_ns / AT_S_NS);

    AT_TRY(at_backup_name_of(service, in->parent, in->backup_id, arena, &c->name, reterr));
    if (!in->backup)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'backup' : must be set");
    AT_TRY(at_backup_same_instance(in->backup->source_table, in->parent, reterr));
    AT_TRY(
        at_service_table_id(service, at_slice_cstr(in->backup->source_table), &c->table, reterr));
    AT_TRY(at_backup_expiry_check(in->backup->expire_time, now_s, AT_BACKUP_SECONDS_MAX, reterr));
    AT_TRY(at_backup_type_check(in->backup, now_s, reterr));
    c->backup->name = at_backup_name_full(service, arena, &c->name);
    c->backup->source_table = in->backup->source_table;
    c->backup->expire_time = in->backup->expire_time;
    if ((int)in->backup->backup_type != 0)
        c->backup->backup_type = in->backup->backup_type;
    c->backup->hot_to_standard_time = in->backup->hot_to_standard_time;
    return AT_OK;
}

void at_on_create_backup(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__CreateBackupRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__create_backup_request__descriptor);

    if (!in)
        return;
    struct create_backup *c = create_new(service, call);
    submit(c, prepare_create(c, in, &error), &error);
}

static enum at_code prepare_copy(struct create_backup *c,
                                 const Google__Bigtable__Admin__V2__CopyBackupRequest *in,
                                 struct at_error *reterr)
{
    const struct at_service *service = c->change.service;
    struct at_arena *arena = at_grpc_call_arena(c->change.call);

    c->copies = true;
    AT_TRY(at_backup_same_instance(in->source_backup, in->parent, reterr));
    AT_TRY(at_backup_name_of(service, in->parent, in->backup_id, arena, &c->name, reterr));
    AT_TRY(at_backup_name_parse(service, in->source_backup, arena, &c->source, reterr));
    AT_TRY(at_backup_expiry_check(in->expire_time, (int64_t)(c->start_ns / AT_S_NS),
                                  AT_BACKUP_COPY_SECONDS_MAX, reterr));
    c->backup->name = at_backup_name_full(service, arena, &c->name);
    c->backup->source_backup = at_backup_name_full(service, arena, &c->source);
    c->backup->expire_time = in->expire_time;
    return AT_OK;
}

void at_on_copy_backup(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__CopyBackupRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__copy_backup_request__descriptor);

    if (!in)
        return;
    struct create_backup *c = create_new(service, call);
    submit(c, prepare_copy(c, in, &error), &error);
}

/* --- on the writer thread --- */

static enum at_code
check_room(const struct create_backup *c, const struct at_catalog *catalog, struct at_error *reterr)
{
    struct at_cluster_entry entry;

    if (!at_cluster_entry(c->change.service, catalog, c->name.cluster, c->change.write.arena,
                          &entry))
        return at_fail(reterr, AT_NOT_FOUND, "Cluster not found: %.*s",
                       AT_SLICE_ARG(c->name.cluster));
    if (at_catalog_named(catalog, AT_CATALOG_BACKUP, c->name.kept))
        return at_fail(reterr, AT_ALREADY_EXISTS, "Backup %s already exists", c->backup->name);
    if (at_catalog_named_count(catalog, AT_CATALOG_BACKUP) >= AT_BACKUPS_MAX)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "An instance has at most %d backups",
                       AT_BACKUPS_MAX);
    return AT_OK;
}

static enum at_code check_table(const struct create_backup *c,
                                const struct at_catalog *catalog,
                                struct at_error *reterr)
{
    const struct at_table *table = at_catalog_table(catalog, c->table);

    if (!table)
        return at_admin_no_table(c->change.service, c->table, reterr);
    return at_admin_whole(c->change.service, table, reterr);
}

static enum at_code check_source(struct create_backup *c,
                                 const struct at_catalog *catalog,
                                 backup_t **ret_source,
                                 struct at_error *reterr)
{
    AT_TRY(at_backup_find(c->change.service, catalog, &c->source, c->change.write.arena, ret_source,
                          reterr));
    const backup_t *source = *ret_source;
    AT_ASSERT(source != NULL);
    if (source->source_backup[0] != '\0')
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "%s is a copy itself: a copied backup can't be copied", source->name);
    if (source->state != READY)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "%s is not ready yet", source->name);
    return AT_OK;
}

static void begin_create(struct create_backup *c)
{
    Google__Bigtable__Admin__V2__CreateBackupMetadata metadata =
        GOOGLE__BIGTABLE__ADMIN__V2__CREATE_BACKUP_METADATA__INIT;

    metadata.name = c->backup->name;
    metadata.source_table = c->backup->source_table;
    metadata.start_time = c->backup->start_time;
    at_operation_begin(&c->change, c->backup->name, c->start_ns, &metadata.base);
}

static void begin_copy(struct create_backup *c, const backup_t *source)
{
    Google__Bigtable__Admin__V2__OperationProgress progress =
        GOOGLE__BIGTABLE__ADMIN__V2__OPERATION_PROGRESS__INIT;
    Google__Bigtable__Admin__V2__CopyBackupMetadata metadata =
        GOOGLE__BIGTABLE__ADMIN__V2__COPY_BACKUP_METADATA__INIT;

    progress.start_time = c->backup->start_time;
    metadata.name = c->backup->name;
    metadata.source_backup_info = at_backup_info(c->change.write.arena, source);
    metadata.progress = &progress;
    at_operation_begin(&c->change, c->backup->name, c->start_ns, &metadata.base);
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    struct create_backup *c = (struct create_backup *)at_change_of(write);
    backup_t *source = NULL; /* of a copy */

    AT_TRY(check_room(c, catalog, reterr));
    if (c->copies) {
        AT_TRY(check_source(c, catalog, &source, reterr));
        c->backup->source_table = source->source_table;
    } else {
        AT_TRY(check_table(c, catalog, reterr));
    }
    *at_change_record(write, 1) = (struct at_catalog_record){
        .kind = AT_CATALOG_BACKUP,
        .name = c->name.kept,
        .counter = at_catalog_named_counter(catalog, AT_CATALOG_BACKUP, c->name.kept) + 1,
        .fields = at_backup_pack(write->arena, c->backup),
    };
    if (source)
        begin_copy(c, source);
    else
        begin_create(c);
    return AT_OK;
}
