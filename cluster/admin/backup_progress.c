#include "cluster/admin/backup_progress.h"

#include "google/bigtable/admin/v2/bigtable_table_admin.pb-c.h"

typedef Google__Bigtable__Admin__V2__CreateBackupMetadata create_t;
typedef Google__Bigtable__Admin__V2__CopyBackupMetadata copy_t;
typedef Google__Bigtable__Admin__V2__RestoreTableMetadata restore_t;
typedef Google__Bigtable__Admin__V2__OperationProgress progress_t;

static void *unpack(const Google__Longrunning__Operation *operation,
                    const ProtobufCMessageDescriptor *type,
                    struct at_arena *arena)
{
    const char *slash = strrchr(operation->metadata->type_url, '/');

    if (!slash || strcmp(slash + 1, type->name) != 0)
        return NULL;
    return at_proto_unpack(arena, type, at_proto_bytes(operation->metadata->value));
}

/* Sets what is not NULL in the message's progress, which is made if it has none. */
static void change(progress_t **progress,
                   const uint32_t *percent,
                   const uint64_t *end_ns,
                   struct at_arena *arena)
{
    if (!*progress) {
        *progress = AT_ARENA_NEW(arena, progress_t);
        google__bigtable__admin__v2__operation_progress__init(*progress);
    }
    if (percent)
        (*progress)->progress_percent = (int32_t)*percent;
    if (end_ns)
        (*progress)->end_time = at_admin_time(arena, *end_ns);
}

static ProtobufCMessage *changed(const Google__Longrunning__Operation *operation,
                                 const uint32_t *percent,
                                 const uint64_t *end_ns,
                                 struct at_arena *arena)
{
    copy_t *copy =
        unpack(operation, &google__bigtable__admin__v2__copy_backup_metadata__descriptor, arena);
    restore_t *restore =
        unpack(operation, &google__bigtable__admin__v2__restore_table_metadata__descriptor, arena);
    create_t *create =
        unpack(operation, &google__bigtable__admin__v2__create_backup_metadata__descriptor, arena);

    if (copy) {
        change(&copy->progress, percent, end_ns, arena);
        return &copy->base;
    }
    if (restore) {
        change(&restore->progress, percent, end_ns, arena);
        return &restore->base;
    }
    if (!create || !end_ns)
        return NULL;
    create->end_time = at_admin_time(arena, *end_ns);
    return &create->base;
}

bool at_backup_progress_set(Google__Longrunning__Operation *operation,
                            uint32_t percent,
                            struct at_arena *arena)
{
    struct at_slice before = at_proto_bytes(operation->metadata->value);
    const ProtobufCMessage *message = changed(operation, &percent, NULL, arena);

    if (!message)
        return false;
    operation->metadata = at_admin_any(arena, message);
    return !at_slice_eq(before, at_proto_bytes(operation->metadata->value));
}

void at_backup_progress_end(Google__Longrunning__Operation *operation,
                            uint64_t end_ns,
                            bool well,
                            struct at_arena *arena)
{
    const uint32_t all = 100;
    const ProtobufCMessage *message = changed(operation, well ? &all : NULL, &end_ns, arena);

    if (message)
        operation->metadata = at_admin_any(arena, message);
}
