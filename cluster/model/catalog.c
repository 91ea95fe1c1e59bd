#include "cluster/model/catalog_slot.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"

/* A catalog is two sorted arrays of slots: one slot per table id with all that was ever recorded
 * about it, and one per profile id. Applying copies the arrays of pointers, then copies only the
 * slots in which a record wins; so it costs a few microseconds at a thousand tables, whatever
 * their families.
 *
 *     old:  [ a ][ b ][ c ]          new:  [ a ][ b'][ c ]        a and c are shared
 *
 * Sealing a slot may fail on malformed fields; then the unfinished catalog is freed and no one saw
 * it. Look-ups of present names go through arrays of their own, so that deleted names cost a
 * reader nothing. */

struct slots {
    struct at_catalog_slot **items; /* ascending by name */
    uint32_t count;
};

struct at_catalog {
    struct slots tables;
    struct slots profiles;
    struct at_catalog_slot **present_tables; /* within one allocation, tables then profiles */
    struct at_catalog_slot **present_profiles;
    uint32_t present_table_count;
    uint32_t present_profile_count;
    uint32_t *first_record; /* of tables' slots, then profiles'; ascending */
    uint32_t record_count;
    uint64_t profiles_version;
};

static enum at_code
merge(struct at_catalog *c, const struct at_catalog_record *r, struct at_error *reterr);
static struct slots *slots_of(struct at_catalog *c, const struct at_catalog_record *r);
static void slots_copy(struct slots *to, const struct slots *from, uint32_t room);
static void slots_free(struct slots *s);
static uint32_t
lower_bound(struct at_catalog_slot *const *items, uint32_t count, struct at_slice name);
static struct at_catalog_slot *
find(struct at_catalog_slot *const *items, uint32_t count, struct at_slice name);
static enum at_code
seal(struct slots *s, const struct at_catalog_ids *ids, struct at_error *reterr);
static void index_make(struct at_catalog *c);
static uint64_t slot_counter(const struct slots *s, const struct at_catalog_record *place);

static inline struct at_slice slot_name(const struct at_catalog_record *r)
{
    return r->kind == AT_CATALOG_FAMILY ? r->table : r->name;
}

struct at_catalog *at_catalog_new(void)
{
    struct at_catalog *c = AT_NEW(struct at_catalog);

    index_make(c);
    return c;
}

void at_catalog_free(struct at_catalog **catalog)
{
    struct at_catalog *c = AT_TAKE(*catalog);

    if (c == NULL)
        return;
    slots_free(&c->tables);
    slots_free(&c->profiles);
    at_free(c->present_tables);
    at_free(c->first_record);
    at_free(c);
}

enum at_code at_catalog_apply(const struct at_catalog *catalog,
                              const struct at_catalog_record *records,
                              uint32_t count,
                              const struct at_catalog_ids *ids,
                              struct at_catalog **ret_catalog,
                              struct at_error *reterr)
{
    AT_CLEANUP(at_catalog_free) struct at_catalog *c = AT_NEW(struct at_catalog);

    slots_copy(&c->tables, &catalog->tables, count);
    slots_copy(&c->profiles, &catalog->profiles, count);
    for (uint32_t i = 0; i < count; i++)
        AT_TRY(merge(c, &records[i], reterr));
    AT_TRY(seal(&c->tables, ids, reterr));
    AT_TRY(seal(&c->profiles, ids, reterr));
    index_make(c);
    *ret_catalog = AT_TAKE(c);
    return AT_OK;
}

const struct at_table *at_catalog_table(const struct at_catalog *c, struct at_slice table)
{
    const struct at_catalog_slot *slot = find(c->present_tables, c->present_table_count, table);

    return slot ? &slot->table : NULL;
}

const struct at_family *at_table_family(const struct at_table *t, struct at_slice family)
{
    uint32_t low = 0;
    uint32_t high = t->family_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int c = at_slice_cmp(t->families[middle].name, family);
        if (c == 0)
            return &t->families[middle];
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct at_profile_record *at_catalog_profile(const struct at_catalog *c,
                                                   struct at_slice profile)
{
    const struct at_catalog_slot *slot =
        find(c->present_profiles, c->present_profile_count, profile);

    return slot ? &slot->profile : NULL;
}

uint32_t at_catalog_table_count(const struct at_catalog *c)
{
    return c->present_table_count;
}

const struct at_table *at_catalog_table_at(const struct at_catalog *c, uint32_t index)
{
    AT_ASSERT(index < c->present_table_count);
    return &c->present_tables[index]->table;
}

uint32_t at_catalog_profile_count(const struct at_catalog *c)
{
    return c->present_profile_count;
}

const struct at_profile_record *at_catalog_profile_at(const struct at_catalog *c, uint32_t index)
{
    AT_ASSERT(index < c->present_profile_count);
    return &c->present_profiles[index]->profile;
}

uint64_t at_catalog_table_counter(const struct at_catalog *c, struct at_slice table)
{
    return slot_counter(&c->tables,
                        &(struct at_catalog_record){.kind = AT_CATALOG_TABLE, .name = table});
}

uint64_t at_catalog_family_counter(const struct at_catalog *c,
                                   struct at_slice table,
                                   uint64_t table_generation,
                                   struct at_slice family)
{
    return slot_counter(&c->tables,
                        &(struct at_catalog_record){.kind = AT_CATALOG_FAMILY,
                                                    .name = family,
                                                    .table = table,
                                                    .table_generation = table_generation});
}

uint64_t at_catalog_profile_counter(const struct at_catalog *c, struct at_slice profile)
{
    return slot_counter(&c->profiles,
                        &(struct at_catalog_record){.kind = AT_CATALOG_PROFILE, .name = profile});
}

uint32_t at_catalog_record_count(const struct at_catalog *c)
{
    return c->record_count;
}

const struct at_catalog_record *at_catalog_record_at(const struct at_catalog *c, uint32_t index)
{
    uint32_t low = 0; /* the last slot whose first record is at or before index */
    uint32_t high = c->tables.count + c->profiles.count;

    AT_ASSERT(index < c->record_count);
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (c->first_record[middle] <= index)
            low = middle;
        else
            high = middle;
    }
    const struct at_catalog_slot *slot =
        low < c->tables.count ? c->tables.items[low] : c->profiles.items[low - c->tables.count];
    return &slot->records[index - c->first_record[low]];
}

uint64_t at_catalog_profiles_version(const struct at_catalog *c)
{
    return c->profiles_version;
}

static enum at_code
merge(struct at_catalog *c, const struct at_catalog_record *r, struct at_error *reterr)
{
    struct slots *s = slots_of(c, r);
    struct at_slice name = slot_name(r);

    if (s == NULL || name.len == 0 || r->name.len == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "a catalog record has no kind or no name");
    uint32_t i = lower_bound(s->items, s->count, name);
    bool found = i < s->count && at_slice_eq(s->items[i]->name, name);
    if (found && !at_catalog_record_wins(r, at_catalog_slot_find(s->items[i], r)))
        return AT_OK;
    if (!found) {
        memmove(&s->items[i + 1], &s->items[i], sizeof(struct at_catalog_slot *) * (s->count - i));
        s->items[i] = at_catalog_slot_new(
            r->kind == AT_CATALOG_PROFILE ? AT_CATALOG_PROFILE : AT_CATALOG_TABLE, name);
        s->count++;
    } else if (s->items[i]->sealed) {
        struct at_catalog_slot *copy = at_catalog_slot_copy(s->items[i]);
        at_catalog_slot_unref(&s->items[i]);
        s->items[i] = copy;
    }
    at_catalog_slot_put(s->items[i], r);
    return AT_OK;
}

static struct slots *slots_of(struct at_catalog *c, const struct at_catalog_record *r)
{
    switch (r->kind) {
    case AT_CATALOG_TABLE:
    case AT_CATALOG_FAMILY:
        return &c->tables;
    case AT_CATALOG_PROFILE:
        return &c->profiles;
    }
    return NULL;
}

/* `room` is for that many new slots. */
static void slots_copy(struct slots *to, const struct slots *from, uint32_t room)
{
    to->items = at_alloc(sizeof(struct at_catalog_slot *) * ((size_t)from->count + room));
    to->count = from->count;
    for (uint32_t i = 0; i < from->count; i++)
        to->items[i] = at_catalog_slot_ref(from->items[i]);
}

static void slots_free(struct slots *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        at_catalog_slot_unref(&s->items[i]);
    at_free(s->items);
}

static uint32_t
lower_bound(struct at_catalog_slot *const *items, uint32_t count, struct at_slice name)
{
    uint32_t low = 0;

    while (low < count) {
        uint32_t middle = low + (count - low) / 2;
        if (at_slice_cmp(items[middle]->name, name) < 0)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

static struct at_catalog_slot *
find(struct at_catalog_slot *const *items, uint32_t count, struct at_slice name)
{
    uint32_t i = lower_bound(items, count, name);

    return i < count && at_slice_eq(items[i]->name, name) ? items[i] : NULL;
}

static enum at_code seal(struct slots *s, const struct at_catalog_ids *ids, struct at_error *reterr)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (!s->items[i]->sealed)
            AT_TRY(at_catalog_slot_seal(s->items[i], ids, reterr));
    return AT_OK;
}

static void index_make(struct at_catalog *c)
{
    uint32_t slot_count = c->tables.count + c->profiles.count;

    c->present_tables = at_alloc(sizeof(struct at_catalog_slot *) * slot_count);
    c->first_record = at_alloc(sizeof(uint32_t) * slot_count);
    for (uint32_t i = 0; i < c->tables.count; i++) {
        struct at_catalog_slot *slot = c->tables.items[i];
        c->first_record[i] = c->record_count;
        c->record_count += slot->record_count;
        if (slot->present)
            c->present_tables[c->present_table_count++] = slot;
    }
    c->present_profiles = c->present_tables + c->present_table_count;
    for (uint32_t i = 0; i < c->profiles.count; i++) {
        struct at_catalog_slot *slot = c->profiles.items[i];
        c->first_record[c->tables.count + i] = c->record_count;
        c->record_count += slot->record_count;
        c->profiles_version =
            at_hash64(at_slice_make(&slot->digest, sizeof(slot->digest)), c->profiles_version);
        if (slot->present)
            c->present_profiles[c->present_profile_count++] = slot;
    }
}

static uint64_t slot_counter(const struct slots *s, const struct at_catalog_record *place)
{
    const struct at_catalog_slot *slot = find(s->items, s->count, slot_name(place));
    const struct at_catalog_record *r = slot ? at_catalog_slot_find(slot, place) : NULL;

    return r ? r->counter : 0;
}
