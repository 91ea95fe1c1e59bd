#include "cluster/tablet/schema.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/tablet/schema_build.h"

#include <stdatomic.h>
#include <stdlib.h>

/* The prefixes of a table's dropped ranges are sorted, and each knows the nearest one that begins
 * it (its parent). The ranges that cover a row are then the greatest prefix that is not beyond the
 * row, if it begins the row, and that one's ancestors: every string between a prefix of the row and
 * the row has that prefix too. `hidden` holds the highest stamp of a prefix and its ancestors, so a
 * look-up is one binary search and a short walk up. */

#define NO_PARENT UINT32_MAX

struct drop_link {
    uint32_t parent;
    struct at_stamp hidden;
};

struct table_state {
    uint32_t table_id;
    bool row_markers;
    bool dead;
    uint32_t floor_count;
    struct at_family_floor *floors;
    uint32_t drop_count;
    struct at_dropped_range *drops;
    struct drop_link *links;
};

struct shared_catalog {
    atomic_uint refs;
    struct at_catalog *catalog;
};

struct at_schema_impl {
    atomic_uint refs;
    struct shared_catalog *shared;
    struct table_state *tables; /* ascending by id */
    uint32_t table_count;
    struct at_arena arena; /* tables and all below them */
};

static void
copy_table(struct at_arena *arena, const struct at_schema_table *from, struct table_state *to);
static void link_drops(struct table_state *t);
static void shared_unref(struct shared_catalog *shared);
static const struct table_state *find_table(const struct at_schema *s, uint32_t table_id);
static int compare_tables(const void *a, const void *b);
static int compare_drops(const void *a, const void *b);

struct at_schema *at_schema_new(const struct at_schema_spec *spec)
{
    AT_ASSERT(spec->catalog != NULL || spec->share != NULL);
    AT_ASSERT(spec->table_count == 0 || spec->tables != NULL);

    struct at_schema *s = AT_NEW(struct at_schema);
    struct at_schema_impl *impl = AT_NEW(struct at_schema_impl);
    s->impl = impl;
    s->version = spec->version;
    s->floors_version = spec->floors_version;
    atomic_init(&impl->refs, 1);
    if (spec->catalog != NULL) {
        impl->shared = AT_NEW(struct shared_catalog);
        atomic_init(&impl->shared->refs, 1);
        impl->shared->catalog = spec->catalog;
    } else {
        impl->shared = spec->share->impl->shared;
        atomic_fetch_add_explicit(&impl->shared->refs, 1, memory_order_relaxed);
    }
    s->catalog = impl->shared->catalog;

    at_arena_init(&impl->arena, 1024);
    impl->table_count = spec->table_count;
    impl->tables = AT_ARENA_ARRAY(&impl->arena, struct table_state, spec->table_count);
    for (uint32_t i = 0; i < spec->table_count; i++)
        copy_table(&impl->arena, &spec->tables[i], &impl->tables[i]);
    if (impl->table_count > 0)
        qsort(impl->tables, impl->table_count, sizeof(*impl->tables), compare_tables);
    return s;
}

struct at_schema *at_schema_ref(struct at_schema *schema)
{
    unsigned before = atomic_fetch_add_explicit(&schema->impl->refs, 1, memory_order_relaxed);

    AT_ASSERT(before > 0);
    return schema;
}

void at_schema_unref(struct at_schema **schema)
{
    struct at_schema *s = *schema;

    *schema = NULL;
    if (s == NULL)
        return;
    unsigned before = atomic_fetch_sub_explicit(&s->impl->refs, 1, memory_order_acq_rel);
    AT_ASSERT(before > 0);
    if (before > 1)
        return;
    shared_unref(s->impl->shared);
    at_arena_deinit(&s->impl->arena);
    at_free(s->impl);
    at_free(s);
}

const struct at_dropped_range *
at_schema_drops(const struct at_schema *s, uint32_t table_id, uint32_t *ret_count)
{
    const struct table_state *t = find_table(s, table_id);

    *ret_count = t ? t->drop_count : 0;
    return t ? t->drops : NULL;
}

struct at_stamp
at_schema_row_hidden(const struct at_schema *s, uint32_t table_id, struct at_slice row)
{
    const struct table_state *t = find_table(s, table_id);
    uint32_t low = 0;
    uint32_t high = t ? t->drop_count : 0;

    /* The greatest prefix that is not beyond the row is at low - 1. */
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (at_slice_cmp(t->drops[mid].prefix, row) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    uint32_t at = low > 0 ? low - 1 : NO_PARENT;
    while (at != NO_PARENT && !at_slice_has_prefix(row, t->drops[at].prefix))
        at = t->links[at].parent;
    return at != NO_PARENT ? t->links[at].hidden : (struct at_stamp){0};
}

bool at_schema_has_row_markers(const struct at_schema *s, uint32_t table_id)
{
    const struct table_state *t = find_table(s, table_id);

    return t != NULL && t->row_markers;
}

const struct at_family_floor *
at_schema_floor(const struct at_schema *s, uint32_t table_id, uint32_t family_id)
{
    static const struct at_family_floor none = {0};
    static const struct at_family_floor dead = {.dead = true};
    const struct table_state *t = find_table(s, table_id);
    uint32_t low = 0;
    uint32_t high = t ? t->floor_count : 0;

    if (t != NULL && t->dead)
        return &dead;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (t->floors[mid].family_id == family_id)
            return &t->floors[mid];
        if (t->floors[mid].family_id < family_id)
            low = mid + 1;
        else
            high = mid;
    }
    return &none;
}

static void
copy_table(struct at_arena *arena, const struct at_schema_table *from, struct table_state *to)
{
    to->table_id = from->table_id;
    to->row_markers = from->row_markers;
    to->dead = from->dead;
    to->floor_count = from->floor_count;
    to->floors = AT_ARENA_ARRAY(arena, struct at_family_floor, from->floor_count);
    if (from->floor_count > 0)
        memcpy(to->floors, from->floors, from->floor_count * sizeof(*to->floors));
    to->drops = AT_ARENA_ARRAY(arena, struct at_dropped_range, from->drop_count);
    to->links = AT_ARENA_ARRAY(arena, struct drop_link, from->drop_count);
    for (uint32_t i = 0; i < from->drop_count; i++)
        to->drops[i] = from->drops[i];
    if (from->drop_count > 0)
        qsort(to->drops, from->drop_count, sizeof(*to->drops), compare_drops);

    /* Of equal prefixes the first has the highest stamp: it alone stays. */
    for (uint32_t i = 0; i < from->drop_count; i++) {
        struct at_dropped_range *drop = &to->drops[i];
        if (to->drop_count > 0 && at_slice_eq(to->drops[to->drop_count - 1].prefix, drop->prefix))
            continue;
        to->drops[to->drop_count].stamp = drop->stamp;
        to->drops[to->drop_count].prefix = at_arena_copy(arena, drop->prefix);
        to->drop_count++;
    }
    link_drops(to);
}

static void link_drops(struct table_state *t)
{
    for (uint32_t i = 0; i < t->drop_count; i++) {
        uint32_t parent = i > 0 ? i - 1 : NO_PARENT;
        struct at_stamp hidden = t->drops[i].stamp;

        while (parent != NO_PARENT &&
               !at_slice_has_prefix(t->drops[i].prefix, t->drops[parent].prefix))
            parent = t->links[parent].parent;
        if (parent != NO_PARENT && at_stamp_cmp(t->links[parent].hidden, hidden) > 0)
            hidden = t->links[parent].hidden;
        t->links[i] = (struct drop_link){.parent = parent, .hidden = hidden};
    }
}

static void shared_unref(struct shared_catalog *shared)
{
    if (atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) > 1)
        return;
    at_catalog_free(&shared->catalog);
    at_free(shared);
}

static const struct table_state *find_table(const struct at_schema *s, uint32_t table_id)
{
    uint32_t low = 0;
    uint32_t high = s->impl->table_count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        uint32_t id = s->impl->tables[mid].table_id;
        if (id == table_id)
            return &s->impl->tables[mid];
        if (id < table_id)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static int compare_tables(const void *a, const void *b)
{
    const struct table_state *left = a;
    const struct table_state *right = b;

    return left->table_id < right->table_id ? -1 : left->table_id > right->table_id;
}

/* Ascending by prefix, of equal ones the highest stamp first. */
static int compare_drops(const void *a, const void *b)
{
    const struct at_dropped_range *left = a;
    const struct at_dropped_range *right = b;
    int c = at_slice_cmp(left->prefix, right->prefix);

    return c != 0 ? c : at_stamp_cmp(right->stamp, left->stamp);
}
