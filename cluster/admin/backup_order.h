/* backup_order.h: the order of ListBackups. PURE.
 *
 * "field[ desc], ...", fields as backup_field.h has them; what is equal goes by name. Empty: the
 * newest start_time first. */
#ifndef ATOLL_CLUSTER_ADMIN_BACKUP_ORDER_H
#define ATOLL_CLUSTER_ADMIN_BACKUP_ORDER_H

#include "base/status.h"
#include "cluster/admin/backup_field.h"

#define AT_BACKUP_ORDER_FIELDS_MAX 8

struct at_backup_order {
    enum at_backup_field fields[AT_BACKUP_ORDER_FIELDS_MAX];
    bool descending[AT_BACKUP_ORDER_FIELDS_MAX];
    uint32_t count;
};

/* at_backup_order_parse: INVALID_ARGUMENT. */
AT_MUST_USE enum at_code
at_backup_order_parse(const char *text, struct at_backup_order *ret_order, struct at_error *reterr);
/* at_backup_order_cmp: <0, 0 or >0; 0 only for equal names. */
int at_backup_order_cmp(const struct at_backup_order *order,
                        const Google__Bigtable__Admin__V2__Backup *a,
                        const Google__Bigtable__Admin__V2__Backup *b);

#endif
