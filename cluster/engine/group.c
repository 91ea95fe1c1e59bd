#include "cluster/engine/engine_internal.h"

#include "base/alloc.h"

/* RocksDB calls a group a prefix, and remembers in each table by which function, by name, its
 * filter was made: one of another name is not asked. So the name changes when the meaning of the
 * groups does. An iterator that is not for one group must ask for the total order (iter.c). */

#define GROUP_NAME "atoll.row.1"
#define MEMTABLE_FILTER_RATIO 0.02 /* of a memtable: about 16 bits for a row of 100 bytes */

struct group {
    size_t (*len)(struct at_slice key);
};

static void group_free(void *group);
static char *group_get(void *group, const char *key, size_t key_len, size_t *ret_len);
static unsigned char group_has(void *group, const char *key, size_t key_len);
static unsigned char group_in_range(void *group, const char *key, size_t key_len);
static const char *group_name(void *group);

void engine_group_set(rocksdb_options_t *o, size_t (*group)(struct at_slice key))
{
    struct group *g = AT_NEW(struct group);

    g->len = group;
    rocksdb_options_set_prefix_extractor(o, rocksdb_slicetransform_create(g, group_free, group_get,
                                                                          group_has, group_in_range,
                                                                          group_name));
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(o, MEMTABLE_FILTER_RATIO);
}

static void group_free(void *group)
{
    at_free(group);
}

static char *group_get(void *group, const char *key, size_t key_len, size_t *ret_len)
{
    const struct group *g = group;
    union {
        const char *in;
        char *out;
    } k = {.in = key};

    *ret_len = g->len(at_slice_make(key, key_len));
    return k.out;
}

static unsigned char group_has(void *group, const char *key, size_t key_len)
{
    const struct group *g = group;

    return g->len(at_slice_make(key, key_len)) > 0;
}

static unsigned char group_in_range(void *group, const char *key, size_t key_len)
{
    const struct group *g = group;

    return g->len(at_slice_make(key, key_len)) == key_len;
}

static const char *group_name(void *group)
{
    (void)group;
    return GROUP_NAME;
}
