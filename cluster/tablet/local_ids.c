#include "cluster/tablet/local_ids.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/hash.h"

/* A hash table with open addressing over an array. Nothing is ever removed. */

#define SLOTS_FIRST 64u
#define KEY_HEAD_BYTES 12
#define ID_BYTES 4
#define NAMES_FIRST_BYTES 4096

static uint32_t *find_slot(const struct at_local_ids *ids,
                           uint32_t parent,
                           struct at_slice name,
                           uint64_t generation);
static struct at_local_id *
insert(struct at_local_ids *ids, uint32_t parent, struct at_slice name, uint64_t generation);
static void grow(struct at_local_ids *ids);

void at_local_ids_init(struct at_local_ids *ids)
{
    *ids = (struct at_local_ids){.slot_count = SLOTS_FIRST};
    ids->slots = at_alloc(SLOTS_FIRST * sizeof(*ids->slots));
    at_arena_init(&ids->names, NAMES_FIRST_BYTES);
}

void at_local_ids_deinit(struct at_local_ids *ids)
{
    at_free(ids->items);
    at_free(ids->slots);
    at_arena_deinit(&ids->names);
    *ids = (struct at_local_ids){0};
}

uint32_t at_local_ids_find(const struct at_local_ids *ids,
                           uint32_t parent,
                           struct at_slice name,
                           uint64_t generation)
{
    uint32_t slot = *find_slot(ids, parent, name, generation);

    return slot == 0 ? 0 : ids->items[slot - 1].id;
}

const struct at_local_id *at_local_ids_add(struct at_local_ids *ids,
                                           uint32_t parent,
                                           struct at_slice name,
                                           uint64_t generation)
{
    struct at_local_id *item = insert(ids, parent, name, generation);
    uint32_t *last = parent == 0 ? &ids->last_table_id : &ids->last_family_id;

    AT_ASSERT(*last < UINT32_MAX);
    item->id = ++*last;
    return item;
}

enum at_code at_local_id_key(const struct at_local_id *item, struct at_buf *out)
{
    uint8_t head[KEY_HEAD_BYTES];

    at_put_be32(head, item->parent);
    at_put_be64(head + 4, item->generation);
    AT_TRY(at_buf_append(out, at_slice_make(head, sizeof(head))));
    return at_buf_append(out, item->name);
}

enum at_code
at_local_ids_restore(struct at_local_ids *ids, struct at_slice key, struct at_slice value)
{
    if (key.len <= KEY_HEAD_BYTES || value.len != ID_BYTES)
        return AT_DATA_LOSS;
    uint32_t parent = at_get_be32(key.data);
    uint64_t generation = at_get_be64(key.data + 4);
    struct at_slice name = at_slice_from(key, KEY_HEAD_BYTES);
    uint32_t id = at_get_be32(value.data);
    if (id == 0 || at_local_ids_find(ids, parent, name, generation) != 0)
        return AT_DATA_LOSS;
    insert(ids, parent, name, generation)->id = id;
    uint32_t *last = parent == 0 ? &ids->last_table_id : &ids->last_family_id;
    if (*last < id)
        *last = id;
    return AT_OK;
}

static uint32_t *find_slot(const struct at_local_ids *ids,
                           uint32_t parent,
                           struct at_slice name,
                           uint64_t generation)
{
    uint64_t seed = ((uint64_t)parent << 32) ^ (generation * UINT64_C(0x9e3779b97f4a7c15));
    uint64_t at = at_hash64(name, seed);

    for (;; at++) {
        uint32_t *slot = &ids->slots[at & (ids->slot_count - 1)];
        if (*slot == 0)
            return slot;
        const struct at_local_id *item = &ids->items[*slot - 1];
        if (item->parent == parent && item->generation == generation &&
            at_slice_eq(item->name, name))
            return slot;
    }
}

static struct at_local_id *
insert(struct at_local_ids *ids, uint32_t parent, struct at_slice name, uint64_t generation)
{
    grow(ids);
    uint32_t *slot = find_slot(ids, parent, name, generation);
    AT_ASSERT(*slot == 0);
    struct at_local_id *item = &ids->items[ids->count];

    *item = (struct at_local_id){
        .parent = parent,
        .generation = generation,
        .name = at_arena_copy(&ids->names, name),
    };
    *slot = ++ids->count;
    return item;
}

/* Makes room for one more. */
static void grow(struct at_local_ids *ids)
{
    if (ids->count == ids->cap) {
        ids->cap = ids->cap == 0 ? SLOTS_FIRST / 2 : ids->cap * 2;
        ids->items = at_realloc(ids->items, ids->cap * sizeof(*ids->items));
    }
    if ((ids->count + 1) * 2 <= ids->slot_count)
        return;
    at_free(ids->slots);
    ids->slot_count *= 2;
    ids->slots = at_alloc(ids->slot_count * sizeof(*ids->slots));
    for (uint32_t i = 0; i < ids->count; i++) {
        const struct at_local_id *item = &ids->items[i];
        *find_slot(ids, item->parent, item->name, item->generation) = i + 1;
    }
}
