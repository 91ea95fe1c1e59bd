/* drop_set.h: the tables in which a DropRowRange is under way here. ADAPTER (a lock). Any thread.
 */
#ifndef ATOLL_CLUSTER_SERVICE_DROP_SET_H
#define ATOLL_CLUSTER_SERVICE_DROP_SET_H

#include <pthread.h>

#include "base/limits.h"
#include "base/slice.h"

#define AT_DROPS_MAX 64 /* at a time */

struct at_drop_set {
    pthread_mutex_t lock;
    uint32_t count;
    struct {
        char id[AT_KEPT_NAME_BYTES_MAX];
        size_t len;
    } tables[AT_DROPS_MAX];
};

void at_drop_set_init(struct at_drop_set *set);
void at_drop_set_deinit(struct at_drop_set *set);

/* at_drop_set_enter: false when one is under way in this table, or too many are in others. A table
 * id that is too long is in no set. */
bool at_drop_set_enter(struct at_drop_set *set, struct at_slice table_id);
/* at_drop_set_leave ends what at_drop_set_enter began. */
void at_drop_set_leave(struct at_drop_set *set, struct at_slice table_id);

#endif
