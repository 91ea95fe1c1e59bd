#include "cluster/service/drop_set.h"

#include "base/assert.h"

void at_drop_set_init(struct at_drop_set *set)
{
    set->count = 0;
    int rc = pthread_mutex_init(&set->lock, NULL);
    AT_ASSERT(rc == 0);
}

void at_drop_set_deinit(struct at_drop_set *set)
{
    AT_ASSERT(set->count <= AT_DROPS_MAX);
    pthread_mutex_destroy(&set->lock);
}

static uint32_t place_of(const struct at_drop_set *set, struct at_slice table_id)
{
    uint32_t i = 0;

    while (i < set->count &&
           !at_slice_eq(at_slice_make(set->tables[i].id, set->tables[i].len), table_id))
        i++;
    return i;
}

bool at_drop_set_enter(struct at_drop_set *set, struct at_slice table_id)
{
    if (table_id.len == 0 || table_id.len > AT_KEPT_NAME_BYTES_MAX)
        return false;
    pthread_mutex_lock(&set->lock);
    bool free = place_of(set, table_id) == set->count && set->count < AT_DROPS_MAX;
    if (free) {
        memcpy(set->tables[set->count].id, table_id.data, table_id.len);
        set->tables[set->count++].len = table_id.len;
    }
    pthread_mutex_unlock(&set->lock);
    return free;
}

void at_drop_set_leave(struct at_drop_set *set, struct at_slice table_id)
{
    pthread_mutex_lock(&set->lock);
    uint32_t place = place_of(set, table_id);
    AT_ASSERT(place < set->count);
    set->tables[place] = set->tables[--set->count];
    pthread_mutex_unlock(&set->lock);
}
