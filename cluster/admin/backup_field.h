/* backup_field.h: the fields of a backup that lists filter and sort by. PURE. */
#ifndef ATOLL_CLUSTER_ADMIN_BACKUP_FIELD_H
#define ATOLL_CLUSTER_ADMIN_BACKUP_FIELD_H

#include "base/slice.h"
#include "google/bigtable/admin/v2/table.pb-c.h"

enum at_backup_field {
    AT_BACKUP_FIELD_NAME,
    AT_BACKUP_FIELD_SOURCE_TABLE,
    AT_BACKUP_FIELD_SOURCE_BACKUP,
    AT_BACKUP_FIELD_STATE,
    AT_BACKUP_FIELD_START_TIME,
    AT_BACKUP_FIELD_END_TIME,
    AT_BACKUP_FIELD_EXPIRE_TIME,
    AT_BACKUP_FIELD_SIZE_BYTES,
};

/* at_backup_field_find: "expire_time" or "expireTime". False: no such field. */
bool at_backup_field_find(struct at_slice name, enum at_backup_field *ret_field);
static inline bool at_backup_field_is_text(enum at_backup_field field)
{
    return field <= AT_BACKUP_FIELD_SOURCE_BACKUP;
}
/* The value of a text field, and of any other: microseconds since 1970, bytes, the state's number.
 * A time that is not set is 0. */
const char *at_backup_field_text(const Google__Bigtable__Admin__V2__Backup *backup,
                                 enum at_backup_field field);
int64_t at_backup_field_number(const Google__Bigtable__Admin__V2__Backup *backup,
                               enum at_backup_field field);

#endif
