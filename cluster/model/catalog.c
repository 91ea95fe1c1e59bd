#include "cluster/model/catalog_slot.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/limits.h"

/* A catalog is sorted arrays of slots, one array for tables and one for each other kind: a slot has
 * all that was ever recorded about a table id, or the one record of another name. Applying copies
 * the arrays of pointers, then copies only the slots in which a record wins; so it costs a few
 * microseconds at a thousand tables, whatever their families.
 *
 *     old:  [ a ][ b ][ c ]          new:  [ a ][ b'][ c ]        a and c are shared
 *
 * Sealing a slot may fail on malformed fields; then the unfinished catalog is freed and no one saw
 * it. Look-ups of present names go through arrays of their own, so that deleted names cost a
 * reader nothing.
 *
 * The operations kept are those with the highest stamps: what was left out has a lower stamp than
 * all that stand, and would be left out again whenever it came. So it is a function of the set of
 * records still. */

/* One group for tables with their families, one for each kind behind. */
#define GROUPS (AT_CATALOG_KIND_MAX - AT_CATALOG_PROFILE + 2)

struct slots {
    struct at_catalog_slot **items; /* ascending by name */
    uint32_t count;
    struct at_catalog_slot **present; /* within one allocation of all groups */
    uint32_t present_count;
    uint64_t version; /* a digest */
};

struct at_catalog {
    struct slots groups[GROUPS];
    struct at_catalog_slot **present;
    uint32_t slot_count;
    struct at_catalog_slot **slots; /* of all groups, in their order; borrowed of them */
    uint32_t *first_record;         /* of each of them; ascending */
    uint32_t record_count;
};

static enum at_code
merge(struct at_catalog *c, const struct at_catalog_record *r, struct at_error *reterr);
static bool is_kind(enum at_catalog_kind kind);
static void drop_oldest(struct slots *operations);
static void slots_copy(struct slots *to, const struct slots *from, uint32_t room);
static void slots_free(struct slots *s);
static uint32_t
lower_bound(struct at_catalog_slot *const *items, uint32_t count, struct at_slice name);
static struct at_catalog_slot *
find(struct at_catalog_slot *const *items, uint32_t count, struct at_slice name);
static enum at_code
seal(struct slots *s, const struct at_catalog_ids *ids, struct at_error *reterr);
static void index_make(struct at_catalog *c);
static const struct at_catalog_record *record_at(const struct at_catalog *c,
                                                 const struct at_catalog_record *place);

static inline uint32_t group_of(enum at_catalog_kind kind)
{
    return kind < AT_CATALOG_PROFILE ? 0 : (uint32_t)kind - AT_CATALOG_PROFILE + 1;
}

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
    for (uint32_t g = 0; g < GROUPS; g++)
        slots_free(&c->groups[g]);
    at_free(c->present);
    at_free(c->slots);
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

    for (uint32_t g = 0; g < GROUPS; g++)
        slots_copy(&c->groups[g], &catalog->groups[g], count);
    for (uint32_t i = 0; i < count; i++)
        AT_TRY(merge(c, &records[i], reterr));
    drop_oldest(&c->groups[group_of(AT_CATALOG_OPERATION)]);
    for (uint32_t g = 0; g < GROUPS; g++)
        AT_TRY(seal(&c->groups[g], ids, reterr));
    index_make(c);
    *ret_catalog = AT_TAKE(c);
    return AT_OK;
}

const struct at_table *at_catalog_table(const struct at_catalog *c, struct at_slice table)
{
    const struct slots *tables = &c->groups[0];
    const struct at_catalog_slot *slot = find(tables->present, tables->present_count, table);

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

enum at_code
at_table_serves(const struct at_table *t, struct at_slice full_name, struct at_error *reterr)
{
    if (t == NULL)
        return at_fail(reterr, AT_NOT_FOUND, "Table not found: %.*s", AT_SLICE_ARG(full_name));
    if (!t->fields.restoring)
        return AT_OK;
    return at_fail(reterr, AT_FAILED_PRECONDITION,
                   "Table %.*s is being restored from a backup: it can be used when that is done",
                   AT_SLICE_ARG(full_name));
}

const struct at_named_record *
at_catalog_named(const struct at_catalog *c, enum at_catalog_kind kind, struct at_slice name)
{
    AT_ASSERT(kind >= AT_CATALOG_PROFILE && kind <= AT_CATALOG_KIND_MAX);
    const struct slots *group = &c->groups[group_of(kind)];
    const struct at_catalog_slot *slot = find(group->present, group->present_count, name);

    return slot ? &slot->named : NULL;
}

uint32_t at_catalog_table_count(const struct at_catalog *c)
{
    return c->groups[0].present_count;
}

const struct at_table *at_catalog_table_at(const struct at_catalog *c, uint32_t index)
{
    AT_ASSERT(index < c->groups[0].present_count);
    return &c->groups[0].present[index]->table;
}

uint32_t at_catalog_named_count(const struct at_catalog *c, enum at_catalog_kind kind)
{
    AT_ASSERT(kind >= AT_CATALOG_PROFILE && kind <= AT_CATALOG_KIND_MAX);
    return c->groups[group_of(kind)].present_count;
}

const struct at_named_record *
at_catalog_named_at(const struct at_catalog *c, enum at_catalog_kind kind, uint32_t index)
{
    AT_ASSERT(index < at_catalog_named_count(c, kind));
    return &c->groups[group_of(kind)].present[index]->named;
}

const struct at_table_fields *at_catalog_deleted_table(const struct at_catalog *c,
                                                       struct at_slice table)
{
    const struct at_catalog_slot *slot = find(c->groups[0].items, c->groups[0].count, table);

    return slot && !slot->present && slot->table.fields.previous_count > 0 ? &slot->table.fields
                                                                           : NULL;
}

const struct at_table_previous *
at_catalog_previous(const struct at_catalog *c, struct at_slice table, uint64_t generation)
{
    const struct at_catalog_slot *slot = find(c->groups[0].items, c->groups[0].count, table);

    for (uint32_t i = 0; slot && i < slot->table.fields.previous_count; i++)
        if (slot->table.fields.previous[i].generation == generation)
            return &slot->table.fields.previous[i];
    return NULL;
}

bool at_catalog_table_over(const struct at_catalog *c, struct at_slice table, uint64_t generation)
{
    const struct at_table *present = at_catalog_table(c, table);

    if (generation >= at_catalog_table_counter(c, table))
        return false;
    return !(present && present->generation == generation) &&
           !at_catalog_previous(c, table, generation);
}

uint64_t at_catalog_table_counter(const struct at_catalog *c, struct at_slice table)
{
    return at_catalog_named_counter(c, AT_CATALOG_TABLE, table);
}

uint64_t at_catalog_family_counter(const struct at_catalog *c,
                                   struct at_slice table,
                                   uint64_t table_generation,
                                   struct at_slice family)
{
    const struct at_catalog_record *r =
        record_at(c, &(struct at_catalog_record){.kind = AT_CATALOG_FAMILY,
                                                 .name = family,
                                                 .table = table,
                                                 .table_generation = table_generation});
    return r ? r->counter : 0;
}

uint64_t at_catalog_named_counter(const struct at_catalog *c,
                                  enum at_catalog_kind kind,
                                  struct at_slice name)
{
    const struct at_catalog_record *r = at_catalog_record_of(c, kind, name);

    return r ? r->counter : 0;
}

const struct at_catalog_record *
at_catalog_record_of(const struct at_catalog *c, enum at_catalog_kind kind, struct at_slice name)
{
    return record_at(c, &(struct at_catalog_record){.kind = kind, .name = name});
}

bool at_catalog_has(const struct at_catalog *c, const struct at_catalog_record *place)
{
    return record_at(c, place) != NULL;
}

uint32_t at_catalog_record_count(const struct at_catalog *c)
{
    return c->record_count;
}

const struct at_catalog_record *at_catalog_record_at(const struct at_catalog *c, uint32_t index)
{
    uint32_t low = 0; /* the last slot whose first record is at or before index */
    uint32_t high = c->slot_count;

    AT_ASSERT(index < c->record_count);
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (c->first_record[middle] <= index)
            low = middle;
        else
            high = middle;
    }
    return &c->slots[low]->records[index - c->first_record[low]];
}

uint64_t at_catalog_kind_version(const struct at_catalog *c, enum at_catalog_kind kind)
{
    AT_ASSERT(kind >= AT_CATALOG_PROFILE && kind <= AT_CATALOG_KIND_MAX);
    return c->groups[group_of(kind)].version;
}

static enum at_code
merge(struct at_catalog *c, const struct at_catalog_record *r, struct at_error *reterr)
{
    struct at_slice name = slot_name(r);
    bool nameless = name.len == 0 || r->name.len == 0;

    if (!is_kind(r->kind) || (nameless && r->kind != AT_CATALOG_POLICY))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "a catalog record has no kind or no name");
    struct slots *s = &c->groups[group_of(r->kind)];
    uint32_t i = lower_bound(s->items, s->count, name);
    bool found = i < s->count && at_slice_eq(s->items[i]->name, name);
    if (found && !at_catalog_record_wins(r, at_catalog_slot_find(s->items[i], r)))
        return AT_OK;
    if (!found) {
        memmove(&s->items[i + 1], &s->items[i], sizeof(struct at_catalog_slot *) * (s->count - i));
        s->items[i] =
            at_catalog_slot_new(r->kind == AT_CATALOG_FAMILY ? AT_CATALOG_TABLE : r->kind, name);
        s->count++;
    } else if (s->items[i]->sealed) {
        struct at_catalog_slot *copy = at_catalog_slot_copy(s->items[i]);
        at_catalog_slot_unref(&s->items[i]);
        s->items[i] = copy;
    }
    at_catalog_slot_put(s->items[i], r);
    return AT_OK;
}

static bool is_kind(enum at_catalog_kind kind)
{
    return kind >= AT_CATALOG_TABLE && kind <= AT_CATALOG_KIND_MAX;
}

/* One at a time: one more comes with each change. */
static void drop_oldest(struct slots *operations)
{
    while (operations->count > AT_OPERATIONS_MAX) {
        uint32_t oldest = 0;
        for (uint32_t i = 1; i < operations->count; i++)
            if (at_stamp_cmp(operations->items[i]->records[0].stamp,
                             operations->items[oldest]->records[0].stamp) < 0)
                oldest = i;
        at_catalog_slot_unref(&operations->items[oldest]);
        operations->count--;
        memmove(&operations->items[oldest], &operations->items[oldest + 1],
                sizeof(struct at_catalog_slot *) * (operations->count - oldest));
    }
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
    uint32_t present_count = 0, at = 0;

    for (uint32_t g = 0; g < GROUPS; g++)
        c->slot_count += c->groups[g].count;
    c->present = at_alloc(sizeof(struct at_catalog_slot *) * c->slot_count);
    c->slots = at_alloc(sizeof(struct at_catalog_slot *) * c->slot_count);
    c->first_record = at_alloc(sizeof(uint32_t) * c->slot_count);
    for (uint32_t g = 0; g < GROUPS; g++) {
        struct slots *group = &c->groups[g];
        group->present = c->present + present_count;
        for (uint32_t i = 0; i < group->count; i++, at++) {
            struct at_catalog_slot *slot = group->items[i];
            c->slots[at] = slot;
            c->first_record[at] = c->record_count;
            c->record_count += slot->record_count;
            if (g > 0) /* tables have none: nobody asks, and there may be many */
                group->version =
                    at_hash64(at_slice_make(&slot->digest, sizeof(slot->digest)), group->version);
            if (slot->present)
                group->present[group->present_count++] = slot;
        }
        present_count += group->present_count;
    }
}

static const struct at_catalog_record *record_at(const struct at_catalog *c,
                                                 const struct at_catalog_record *place)
{
    AT_ASSERT(is_kind(place->kind));
    const struct slots *s = &c->groups[group_of(place->kind)];
    const struct at_catalog_slot *slot = find(s->items, s->count, slot_name(place));

    return slot ? at_catalog_slot_find(slot, place) : NULL;
}
