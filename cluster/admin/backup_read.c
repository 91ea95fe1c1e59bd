#include "atoll/v1/control.pb-c.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/admin/backup.h"
#include "cluster/backup/file.h"

/* atoll.v1.Cluster/ReadBackup: a piece of the file of one of this cluster's own backups. */

typedef Google__Bigtable__Admin__V2__Backup backup_t;

#define PIECE_BYTES_MAX AT_MIB

static enum at_code read_piece(struct at_service *service,
                               struct at_arena *arena,
                               const Atoll__V1__ReadBackupRequest *in,
                               Atoll__V1__ReadBackupResponse *out,
                               struct at_buf *bytes,
                               struct at_error *reterr)
{
    struct at_schema *schema = at_store_schema(service->store);
    struct at_backup_name name;
    backup_t *backup = NULL;

    enum at_code code = at_backup_name_parse(service, in->name, arena, &name, reterr);
    if (code == AT_OK)
        code = at_backup_find(service, schema->catalog, &name, arena, &backup, reterr);
    if (code == AT_OK)
        out->generation = at_catalog_named_counter(schema->catalog, AT_CATALOG_BACKUP, name.kept);
    at_schema_unref(&schema);
    AT_TRY(code);
    AT_ASSERT(backup != NULL);
    if (!at_slice_eq_cstr(name.cluster, service->cluster_id) || !service->backup_dir ||
        backup->state != GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__STATE__READY)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "%s is not to be had here", in->name);
    size_t bytes_max = in->bytes_max < PIECE_BYTES_MAX ? in->bytes_max : PIECE_BYTES_MAX;
    if (in->offset > INT64_MAX - PIECE_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'offset' : is too large");
    AT_TRY(at_backup_file_read(at_backup_path(service, arena, &name, out->generation), in->offset,
                               bytes_max, bytes, &out->size, reterr));
    out->data = (ProtobufCBinaryData){bytes->len, bytes->data};
    return AT_OK;
}

void at_on_read_backup(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    Atoll__V1__ReadBackupResponse out = ATOLL__V1__READ_BACKUP_RESPONSE__INIT;
    const Atoll__V1__ReadBackupRequest *in =
        at_service_unpack(service, call, &atoll__v1__read_backup_request__descriptor);

    at_buf_init(&bytes, PIECE_BYTES_MAX);
    if (!in)
        return;
    if (read_piece(service, at_grpc_call_arena(call), in, &out, &bytes, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_service_reply(service, call, &out.base);
}
