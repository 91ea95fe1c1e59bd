#include "cluster/admin/backup_field.h"

#include "support/test.h"

static void names(void **state)
{
    enum at_backup_field field;

    (void)state;
    assert_true(at_backup_field_find(AT_LIT("expire_time"), &field));
    assert_int_equal(field, AT_BACKUP_FIELD_EXPIRE_TIME);
    assert_true(at_backup_field_find(AT_LIT("sizeBytes"), &field));
    assert_int_equal(field, AT_BACKUP_FIELD_SIZE_BYTES);
    assert_true(at_backup_field_find(AT_LIT("name"), &field));
    assert_true(at_backup_field_is_text(field));
    assert_false(at_backup_field_find(AT_LIT("nam"), &field));
    assert_false(at_backup_field_find(AT_LIT(""), &field));
    assert_false(at_backup_field_find(AT_LIT("a_name_that_is_too_long"), &field));
}

static void values(void **state)
{
    Google__Bigtable__Admin__V2__Backup b = GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__INIT;
    Google__Protobuf__Timestamp end = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    char table[] = "t", source[] = "s";

    (void)state;
    end.seconds = 3;
    end.nanos = 4000;
    b.end_time = &end;
    b.source_table = table;
    b.source_backup = source;
    b.size_bytes = 7;
    b.state = GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__STATE__READY;
    assert_string_equal(at_backup_field_text(&b, AT_BACKUP_FIELD_SOURCE_TABLE), "t");
    assert_string_equal(at_backup_field_text(&b, AT_BACKUP_FIELD_SOURCE_BACKUP), "s");
    assert_true(at_backup_field_number(&b, AT_BACKUP_FIELD_END_TIME) == 3000004);
    assert_true(at_backup_field_number(&b, AT_BACKUP_FIELD_START_TIME) == 0);
    assert_true(at_backup_field_number(&b, AT_BACKUP_FIELD_SIZE_BYTES) == 7);
    assert_true(at_backup_field_number(&b, AT_BACKUP_FIELD_STATE) == 2);
    end.seconds = INT64_MAX;
    assert_true(at_backup_field_number(&b, AT_BACKUP_FIELD_END_TIME) == INT64_MAX);
    end.seconds = INT64_MIN;
    assert_true(at_backup_field_number(&b, AT_BACKUP_FIELD_END_TIME) == INT64_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"fields are found in both spellings", names, NULL, NULL, NULL},
        {"texts and numbers", values, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
