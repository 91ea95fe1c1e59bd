#include "cluster/admin/backup_progress.h"

#include "google/bigtable/admin/v2/bigtable_table_admin.pb-c.h"
#include "support/test.h"

static struct at_arena arena;

static Google__Longrunning__Operation operation_of(const ProtobufCMessage *metadata)
{
    Google__Longrunning__Operation operation = GOOGLE__LONGRUNNING__OPERATION__INIT;

    operation.metadata = at_admin_any(&arena, metadata);
    return operation;
}

static void *metadata_of(const Google__Longrunning__Operation *operation,
                         const ProtobufCMessageDescriptor *type)
{
    void *message = at_proto_unpack(&arena, type, at_proto_bytes(operation->metadata->value));

    assert_non_null(message);
    return message;
}

static void copies(void **state)
{
    Google__Bigtable__Admin__V2__CopyBackupMetadata copy =
        GOOGLE__BIGTABLE__ADMIN__V2__COPY_BACKUP_METADATA__INIT;
    const ProtobufCMessageDescriptor *type =
        &google__bigtable__admin__v2__copy_backup_metadata__descriptor;

    (void)state;
    at_arena_init(&arena, 1024);
    Google__Longrunning__Operation operation = operation_of(&copy.base);
    assert_true(at_backup_progress_set(&operation, 40, &arena));
    assert_false(at_backup_progress_set(&operation, 40, &arena));
    const Google__Bigtable__Admin__V2__CopyBackupMetadata *now = metadata_of(&operation, type);
    assert_int_equal(now->progress->progress_percent, 40);
    assert_null(now->progress->end_time);
    at_backup_progress_end(&operation, 5 * AT_S_NS, false, &arena);
    now = metadata_of(&operation, type);
    assert_int_equal(now->progress->progress_percent, 40);
    assert_int_equal(now->progress->end_time->seconds, 5);
    at_backup_progress_end(&operation, 6 * AT_S_NS, true, &arena);
    now = metadata_of(&operation, type);
    assert_int_equal(now->progress->progress_percent, 100);
    at_arena_deinit(&arena);
}

static void restores(void **state)
{
    Google__Bigtable__Admin__V2__RestoreTableMetadata restore =
        GOOGLE__BIGTABLE__ADMIN__V2__RESTORE_TABLE_METADATA__INIT;
    char name[] = "t";

    (void)state;
    at_arena_init(&arena, 1024);
    restore.name = name;
    Google__Longrunning__Operation operation = operation_of(&restore.base);
    assert_true(at_backup_progress_set(&operation, 1, &arena));
    const Google__Bigtable__Admin__V2__RestoreTableMetadata *now =
        metadata_of(&operation, &google__bigtable__admin__v2__restore_table_metadata__descriptor);
    assert_string_equal(now->name, "t");
    assert_int_equal(now->progress->progress_percent, 1);
    at_arena_deinit(&arena);
}

static void creations(void **state)
{
    Google__Bigtable__Admin__V2__CreateBackupMetadata create =
        GOOGLE__BIGTABLE__ADMIN__V2__CREATE_BACKUP_METADATA__INIT;

    (void)state;
    at_arena_init(&arena, 1024);
    Google__Longrunning__Operation operation = operation_of(&create.base);
    assert_false(at_backup_progress_set(&operation, 40, &arena));
    at_backup_progress_end(&operation, 5 * AT_S_NS, true, &arena);
    const Google__Bigtable__Admin__V2__CreateBackupMetadata *now =
        metadata_of(&operation, &google__bigtable__admin__v2__create_backup_metadata__descriptor);
    assert_int_equal(now->end_time->seconds, 5);
    at_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"a copy tells its progress and its end", copies, NULL, NULL, NULL},
        {"a restore keeps what else it says", restores, NULL, NULL, NULL},
        {"a creation tells its end alone", creations, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
