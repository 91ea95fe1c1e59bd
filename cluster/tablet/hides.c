#include "cluster/tablet/hides.h"

#include "base/alloc.h"
#include "base/assert.h"

/* Few tables have any of this, and few ranges are dropped, so sorted arrays that are rebuilt on
 * change are enough. */

static uint32_t find(const struct at_hides *h, uint32_t table_id);
static const struct at_schema_table *get(const struct at_hides *h, uint32_t table_id);
static struct at_schema_table *get_or_add(struct at_hides *h, uint32_t table_id);
static bool covers(struct at_dropped_range wide, struct at_dropped_range narrow);
static void free_table(const struct at_schema_table *t);
static struct at_family_floor *
get_or_add_floor(struct at_hides *h, uint32_t table_id, uint32_t family_id);

void at_hides_init(struct at_hides *h)
{
    *h = (struct at_hides){0};
}

void at_hides_deinit(struct at_hides *h)
{
    for (uint32_t i = 0; i < h->count; i++)
        free_table(&h->tables[i]);
    at_free(h->tables);
    *h = (struct at_hides){0};
}

bool at_hides_has_row_markers(const struct at_hides *h, uint32_t table_id)
{
    const struct at_schema_table *t = get(h, table_id);

    return t != NULL && t->row_markers;
}

void at_hides_set_row_markers(struct at_hides *h, uint32_t table_id)
{
    get_or_add(h, table_id)->row_markers = true;
}

void at_hides_clear_row_markers(struct at_hides *h, uint32_t table_id)
{
    get_or_add(h, table_id)->row_markers = false;
    h->floors_changed = true;
}

bool at_hides_forget_drop(struct at_hides *h,
                          uint32_t table_id,
                          struct at_dropped_range drop,
                          at_hides_gone gone,
                          void *ctx)
{
    struct at_schema_table *t = get_or_add(h, table_id);
    struct at_dropped_range *drops = (struct at_dropped_range *)(uintptr_t)t->drops;
    uint32_t at = 0;

    while (at < t->drop_count && (at_stamp_cmp(drops[at].stamp, drop.stamp) != 0 ||
                                  !at_slice_eq(drops[at].prefix, drop.prefix)))
        at++;
    if (at == t->drop_count)
        return false;
    if (gone != NULL)
        gone(ctx, table_id, drops[at]);
    at_free((void *)(uintptr_t)drops[at].prefix.data);
    t->drop_count--;
    memmove(&drops[at], &drops[at + 1], (t->drop_count - at) * sizeof(*drops));
    h->floors_changed = true;
    return true;
}

bool at_hides_add_drop(struct at_hides *h,
                       uint32_t table_id,
                       struct at_dropped_range drop,
                       at_hides_gone gone,
                       void *ctx)
{
    struct at_schema_table *t = get_or_add(h, table_id);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < t->drop_count; i++)
        if (covers(t->drops[i], drop))
            return false;
    struct at_dropped_range *drops = at_alloc((t->drop_count + 1) * sizeof(*drops));
    for (uint32_t i = 0; i < t->drop_count; i++) {
        if (!covers(drop, t->drops[i])) {
            drops[kept++] = t->drops[i];
            continue;
        }
        if (gone != NULL)
            gone(ctx, table_id, t->drops[i]);
        at_free((void *)(uintptr_t)t->drops[i].prefix.data);
    }
    drop.prefix = at_slice_make(at_dup(drop.prefix.data, drop.prefix.len), drop.prefix.len);
    drops[kept++] = drop;
    at_free((void *)(uintptr_t)t->drops);
    t->drops = drops;
    t->drop_count = kept;
    return true;
}

struct at_floor at_hides_floor(const struct at_hides *h, uint32_t table_id, uint32_t family_id)
{
    const struct at_schema_table *t = get(h, table_id);

    for (uint32_t i = 0; t != NULL && i < t->floor_count; i++)
        if (t->floors[i].family_id == family_id)
            return t->floors[i].floor;
    return (struct at_floor){0};
}

void at_hides_set_floor(struct at_hides *h,
                        uint32_t table_id,
                        uint32_t family_id,
                        struct at_floor floor)
{
    struct at_family_floor *f = get_or_add_floor(h, table_id, family_id);

    AT_ASSERT(floor.before_micros >= f->floor.before_micros);
    AT_ASSERT(at_stamp_cmp(floor.stamp, f->floor.stamp) >= 0);
    f->floor = floor;
    h->floors_changed = true;
}

void at_hides_set_dead(struct at_hides *h, uint32_t table_id, uint32_t family_id)
{
    if (family_id == 0)
        get_or_add(h, table_id)->dead = true;
    else
        get_or_add_floor(h, table_id, family_id)->dead = true;
    h->floors_changed = true;
}

void at_hides_forget(struct at_hides *h, uint32_t table_id, at_hides_gone gone, void *ctx)
{
    uint32_t at = find(h, table_id);

    if (at == h->count || h->tables[at].table_id != table_id)
        return;
    const struct at_schema_table *t = &h->tables[at];
    for (uint32_t i = 0; gone != NULL && i < t->drop_count; i++)
        gone(ctx, table_id, t->drops[i]);
    free_table(t);
    h->count--;
    memmove(&h->tables[at], &h->tables[at + 1], (h->count - at) * sizeof(*h->tables));
}

/* The first index whose id is not below. */
static uint32_t find(const struct at_hides *h, uint32_t table_id)
{
    uint32_t low = 0;
    uint32_t high = h->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (h->tables[middle].table_id < table_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct at_schema_table *get(const struct at_hides *h, uint32_t table_id)
{
    uint32_t at = find(h, table_id);

    return at < h->count && h->tables[at].table_id == table_id ? &h->tables[at] : NULL;
}

static struct at_schema_table *get_or_add(struct at_hides *h, uint32_t table_id)
{
    uint32_t at = find(h, table_id);

    AT_ASSERT(table_id != 0);
    if (at < h->count && h->tables[at].table_id == table_id)
        return &h->tables[at];
    if (h->count == h->cap) {
        h->cap = h->cap == 0 ? 8 : h->cap * 2;
        h->tables = at_realloc(h->tables, h->cap * sizeof(*h->tables));
    }
    memmove(&h->tables[at + 1], &h->tables[at], (h->count - at) * sizeof(*h->tables));
    h->count++;
    h->tables[at] = (struct at_schema_table){.table_id = table_id};
    return &h->tables[at];
}

static struct at_family_floor *
get_or_add_floor(struct at_hides *h, uint32_t table_id, uint32_t family_id)
{
    struct at_schema_table *t = get_or_add(h, table_id);
    uint32_t at = 0;

    AT_ASSERT(family_id != 0);
    while (at < t->floor_count && t->floors[at].family_id < family_id)
        at++;
    if (at < t->floor_count && t->floors[at].family_id == family_id)
        return (struct at_family_floor *)(uintptr_t)&t->floors[at];
    struct at_family_floor *floors = at_alloc((t->floor_count + 1) * sizeof(*floors));
    for (uint32_t i = 0; i < t->floor_count; i++)
        floors[i < at ? i : i + 1] = t->floors[i];
    floors[at] = (struct at_family_floor){.family_id = family_id};
    at_free((void *)(uintptr_t)t->floors);
    t->floors = floors;
    t->floor_count++;
    return &floors[at];
}

static bool covers(struct at_dropped_range wide, struct at_dropped_range narrow)
{
    return at_slice_has_prefix(narrow.prefix, wide.prefix) &&
           at_stamp_cmp(wide.stamp, narrow.stamp) >= 0;
}

static void free_table(const struct at_schema_table *t)
{
    for (uint32_t i = 0; i < t->drop_count; i++)
        at_free((void *)(uintptr_t)t->drops[i].prefix.data);
    at_free((void *)(uintptr_t)t->drops);
    at_free((void *)(uintptr_t)t->floors);
}
