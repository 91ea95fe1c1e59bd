#include "cluster/admin/backup_field.h"

#include "base/assert.h"
#include "cluster/admin/mask.h"

#define NAME_BYTES_MAX 16

static const char *const NAMES[] = {"name",       "source_table", "source_backup", "state",
                                    "start_time", "end_time",     "expire_time",   "size_bytes"};

bool at_backup_field_find(struct at_slice name, enum at_backup_field *ret_field)
{
    char text[NAME_BYTES_MAX];

    if (name.len == 0 || name.len >= sizeof(text))
        return false;
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        *ret_field = (enum at_backup_field)i;
        if (at_mask_same(text, NAMES[i]))
            return true;
    }
    return false;
}

const char *at_backup_field_text(const Google__Bigtable__Admin__V2__Backup *backup,
                                 enum at_backup_field field)
{
    AT_ASSERT(at_backup_field_is_text(field));
    if (field == AT_BACKUP_FIELD_NAME)
        return backup->name;
    return field == AT_BACKUP_FIELD_SOURCE_TABLE ? backup->source_table : backup->source_backup;
}

/* Times of backups are checked, those in the token of a page may be anybody's. */
static int64_t micros(const Google__Protobuf__Timestamp *t)
{
    const int64_t limit = INT64_MAX / 1000000 - 3000;

    if (!t)
        return 0;
    if (t->seconds > limit || t->seconds < -limit)
        return t->seconds > 0 ? INT64_MAX : INT64_MIN;
    return t->seconds * 1000000 + t->nanos / 1000;
}

int64_t at_backup_field_number(const Google__Bigtable__Admin__V2__Backup *backup,
                               enum at_backup_field field)
{
    switch (field) {
    case AT_BACKUP_FIELD_STATE:
        return (int64_t)backup->state;
    case AT_BACKUP_FIELD_START_TIME:
        return micros(backup->start_time);
    case AT_BACKUP_FIELD_END_TIME:
        return micros(backup->end_time);
    case AT_BACKUP_FIELD_EXPIRE_TIME:
        return micros(backup->expire_time);
    case AT_BACKUP_FIELD_SIZE_BYTES:
        return backup->size_bytes;
    case AT_BACKUP_FIELD_NAME:
    case AT_BACKUP_FIELD_SOURCE_TABLE:
    case AT_BACKUP_FIELD_SOURCE_BACKUP:
        break;
    }
    AT_ASSERT(!"a text field");
    return 0;
}
