/* local_ids.h: the 4-byte ids that stand for tables and families in this cluster's keys. PURE.
 *
 * Ids cannot be shared between clusters: two sides of a partition would give one id to two names.
 * Each (table, generation) and each (table id, family, generation) gets its own, also when the
 * catalog does not know it yet. Ids are never given back, so a late entry of a dead generation
 * still finds out that it is dead. */
#ifndef ATOLL_CLUSTER_TABLET_LOCAL_IDS_H
#define ATOLL_CLUSTER_TABLET_LOCAL_IDS_H

#include "base/arena.h"
#include "base/buf.h"

/* The longest stored key of an id. */
#define AT_LOCAL_ID_KEY_BYTES_MAX 512

struct at_local_id {
    uint32_t parent; /* 0: a table; else a family of this table id */
    uint64_t generation;
    struct at_slice name;
    uint32_t id;
};

/* Invariant: slots hold 1 + index into items, or 0; at most half of them are used. */
struct at_local_ids {
    struct at_local_id *items;
    uint32_t count;
    uint32_t cap;
    uint32_t *slots;
    uint32_t slot_count; /* a power of two */
    uint32_t last_table_id;
    uint32_t last_family_id;
    struct at_arena names;
};

void at_local_ids_init(struct at_local_ids *ids);
void at_local_ids_deinit(struct at_local_ids *ids);

/* at_local_ids_find returns the id, 0 when none was given. */
uint32_t at_local_ids_find(const struct at_local_ids *ids,
                           uint32_t parent,
                           struct at_slice name,
                           uint64_t generation);

/* at_local_ids_add gives the next id to a name that has none, and returns its item, which the
 * caller stores; it lives until the next add. The name is copied. */
const struct at_local_id *at_local_ids_add(struct at_local_ids *ids,
                                           uint32_t parent,
                                           struct at_slice name,
                                           uint64_t generation);

/* The stored form: parent(4) generation(8) name -> id(4). at_local_ids_restore takes one back:
 * DATA_LOSS when malformed or given twice. */
AT_MUST_USE enum at_code at_local_id_key(const struct at_local_id *item, struct at_buf *out);
AT_MUST_USE enum at_code
at_local_ids_restore(struct at_local_ids *ids, struct at_slice key, struct at_slice value);

#endif
