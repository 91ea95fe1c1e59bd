#include "cluster/model/catalog_slot.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/mutant.h"
#include "base/pbwire.h"

/* Records of a slot are sorted, the table's own first, so that a generation's families are one run
 * in name order: sealing copies that run, leaving out the absent ones. A replaced record's bytes
 * stay in the arena until the next copy; that is at most one update's worth. */

#define ARENA_FIRST_BYTES 1024

/* Field numbers of google.bigtable.admin.v2.ColumnFamily, Type and Type.Aggregate. */
enum { FAMILY_GC_RULE = 1, FAMILY_VALUE_TYPE = 3 };
enum { TYPE_BYTES = 1, TYPE_STRING = 2, TYPE_INT64 = 5, TYPE_AGGREGATE = 6 };
enum { AGGREGATE_INPUT = 1 };
enum { AGGREGATE_SUM = 4, AGGREGATE_HLL = 5, AGGREGATE_MAX = 6, AGGREGATE_MIN = 7 };

static int place_cmp(const struct at_catalog_record *a, const struct at_catalog_record *b);
static uint32_t lower_bound(const struct at_catalog_slot *slot, const struct at_catalog_record *r);
static void copy_record(struct at_catalog_slot *slot,
                        const struct at_catalog_record *from,
                        struct at_catalog_record *to);
static enum at_code
seal_table(struct at_catalog_slot *slot, const struct at_catalog_ids *ids, struct at_error *reterr);
static enum at_code seal_deleted(struct at_catalog_slot *slot, struct at_error *reterr);
static enum at_code table_parse(const struct at_catalog_record *r,
                                struct at_arena *arena,
                                struct at_table_fields *ret_fields);
static enum at_code fields_parse(struct at_catalog_slot *slot, struct at_error *reterr);
static enum at_code family_parse(const struct at_catalog_record *r, struct at_family *ret_family);
static void rule_parse(struct at_catalog_slot *slot, struct at_family *family);
static bool type_parse(struct at_slice type, struct at_family *ret_family);
static bool aggregate_parse(struct at_slice aggregate, struct at_family *ret_family);
static bool input_parse(struct at_slice type, enum at_family_input *ret_input);
static uint64_t digest(const struct at_catalog_slot *slot);

static inline bool is_present(const struct at_catalog_record *r)
{
    return (r->counter & 1) != 0;
}

struct at_catalog_slot *at_catalog_slot_new(enum at_catalog_kind kind, struct at_slice name)
{
    struct at_catalog_slot *slot = AT_NEW(struct at_catalog_slot);

    AT_ASSERT(kind != AT_CATALOG_FAMILY);
    slot->refs = 1;
    slot->kind = kind;
    at_arena_init(&slot->arena, ARENA_FIRST_BYTES);
    slot->name = at_arena_copy(&slot->arena, name);
    return slot;
}

struct at_catalog_slot *at_catalog_slot_copy(const struct at_catalog_slot *slot)
{
    struct at_catalog_slot *copy = at_catalog_slot_new(slot->kind, slot->name);

    copy->record_count = slot->record_count;
    copy->record_cap = slot->record_count + 4;
    copy->records = AT_ARENA_ARRAY(&copy->arena, struct at_catalog_record, copy->record_cap);
    for (uint32_t i = 0; i < slot->record_count; i++)
        copy_record(copy, &slot->records[i], &copy->records[i]);
    return copy;
}

struct at_catalog_slot *at_catalog_slot_ref(struct at_catalog_slot *slot)
{
    AT_ASSERT(slot->sealed);
    (void)__atomic_add_fetch(&slot->refs, 1, __ATOMIC_RELAXED);
    return slot;
}

void at_catalog_slot_unref(struct at_catalog_slot **slot)
{
    struct at_catalog_slot *s = AT_TAKE(*slot);

    if (s == NULL)
        return;
    if (__atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    at_arena_deinit(&s->arena);
    at_free(s);
}

const struct at_catalog_record *at_catalog_slot_find(const struct at_catalog_slot *slot,
                                                     const struct at_catalog_record *r)
{
    uint32_t i = lower_bound(slot, r);

    return i < slot->record_count && place_cmp(&slot->records[i], r) == 0 ? &slot->records[i]
                                                                          : NULL;
}

bool at_catalog_record_wins(const struct at_catalog_record *r, const struct at_catalog_record *old)
{
    if (old == NULL)
        return true;
    if (r->counter != old->counter && !AT_MUTANT(schema_by_stamp))
        return r->counter > old->counter;
    int c = at_stamp_cmp(r->stamp, old->stamp);
    return c != 0 ? c > 0 : at_slice_cmp(r->fields, old->fields) > 0;
}

bool at_catalog_record_readable(const struct at_catalog_record *r)
{
    struct at_table_fields fields;
    struct at_family family;
    struct at_arena arena;

    if (r->kind == AT_CATALOG_FAMILY)
        return !is_present(r) || family_parse(r, &family) == AT_OK;
    if (r->kind != AT_CATALOG_TABLE || (!is_present(r) && r->fields.len == 0))
        return true;
    at_arena_init(&arena, ARENA_FIRST_BYTES);
    bool readable = table_parse(r, &arena, &fields) == AT_OK;
    at_arena_deinit(&arena);
    return readable;
}

void at_catalog_slot_put(struct at_catalog_slot *slot, const struct at_catalog_record *r)
{
    uint32_t i = lower_bound(slot, r);

    AT_ASSERT(!slot->sealed);
    if (i < slot->record_count && place_cmp(&slot->records[i], r) == 0) {
        copy_record(slot, r, &slot->records[i]);
        return;
    }
    if (slot->record_count == slot->record_cap) {
        uint32_t cap = slot->record_cap * 2 + 4;
        struct at_catalog_record *grown =
            AT_ARENA_ARRAY(&slot->arena, struct at_catalog_record, cap);
        if (slot->record_count > 0)
            memcpy(grown, slot->records, sizeof(*grown) * slot->record_count);
        slot->records = grown;
        slot->record_cap = cap;
    }
    memmove(&slot->records[i + 1], &slot->records[i],
            sizeof(*slot->records) * (slot->record_count - i));
    copy_record(slot, r, &slot->records[i]);
    slot->record_count++;
}

enum at_code at_catalog_slot_seal(struct at_catalog_slot *slot,
                                  const struct at_catalog_ids *ids,
                                  struct at_error *reterr)
{
    AT_ASSERT(!slot->sealed && slot->record_count > 0);
    const struct at_catalog_record *first = &slot->records[0];

    slot->present = first->kind == slot->kind && is_present(first);
    if (slot->present && slot->kind == AT_CATALOG_TABLE)
        AT_TRY(seal_table(slot, ids, reterr));
    else if (slot->kind == AT_CATALOG_TABLE)
        AT_TRY(seal_deleted(slot, reterr));
    if (slot->present && slot->kind != AT_CATALOG_TABLE)
        slot->named = (struct at_named_record){.name = slot->name,
                                               .generation = first->counter,
                                               .stamp = first->stamp,
                                               .fields = first->fields};
    slot->digest = digest(slot);
    slot->sealed = true;
    return AT_OK;
}

static int place_cmp(const struct at_catalog_record *a, const struct at_catalog_record *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == AT_CATALOG_FAMILY && a->table_generation != b->table_generation)
        return a->table_generation < b->table_generation ? -1 : 1;
    return at_slice_cmp(a->name, b->name);
}

/* The first record at or behind the place of `r`. */
static uint32_t lower_bound(const struct at_catalog_slot *slot, const struct at_catalog_record *r)
{
    uint32_t low = 0;
    uint32_t high = slot->record_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (place_cmp(&slot->records[middle], r) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void copy_record(struct at_catalog_slot *slot,
                        const struct at_catalog_record *from,
                        struct at_catalog_record *to)
{
    *to = *from;
    to->name = from->kind == slot->kind ? slot->name : at_arena_copy(&slot->arena, from->name);
    to->table = from->kind == AT_CATALOG_FAMILY ? slot->name : at_slice_make(NULL, 0);
    to->fields = at_arena_copy(&slot->arena, from->fields);
}

static enum at_code
seal_table(struct at_catalog_slot *slot, const struct at_catalog_ids *ids, struct at_error *reterr)
{
    const struct at_catalog_record *own = &slot->records[0];
    struct at_table *t = &slot->table;

    *t = (struct at_table){.name = slot->name, .counter = own->counter, .stamp = own->stamp};
    AT_TRY(fields_parse(slot, reterr));
    t->generation = t->fields.data_generation != 0 ? t->fields.data_generation : own->counter;
    const struct at_catalog_record from = {.kind = AT_CATALOG_FAMILY,
                                           .table_generation = t->generation};
    if (ids != NULL)
        t->id = ids->table_id(ids->ctx, t->name, t->generation);
    uint32_t i = lower_bound(slot, &from);
    t->families = AT_ARENA_ARRAY(&slot->arena, struct at_family, slot->record_count - i);
    for (; i < slot->record_count && slot->records[i].table_generation == t->generation; i++) {
        struct at_family *f = &t->families[t->family_count];
        if (!is_present(&slot->records[i]))
            continue;
        if (family_parse(&slot->records[i], f) != AT_OK)
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "the catalog record of family %.*s of table %.*s is malformed",
                           AT_SLICE_ARG(slot->records[i].name), AT_SLICE_ARG(slot->name));
        rule_parse(slot, f);
        if (ids != NULL)
            f->id = ids->family_id(ids->ctx, t->id, f->name, f->generation);
        t->family_count++;
    }
    return AT_OK;
}

/* Of a table that was deleted, what may be had back. */
static enum at_code seal_deleted(struct at_catalog_slot *slot, struct at_error *reterr)
{
    const struct at_catalog_record *own = &slot->records[0];

    slot->table = (struct at_table){0};
    if (own->kind != AT_CATALOG_TABLE || own->fields.len == 0)
        return AT_OK;
    return fields_parse(slot, reterr);
}

static enum at_code table_parse(const struct at_catalog_record *r,
                                struct at_arena *arena,
                                struct at_table_fields *ret_fields)
{
    AT_TRY(at_table_fields_decode(r->fields, arena, ret_fields));
    return ret_fields->data_generation <= r->counter ? AT_OK : AT_INVALID_ARGUMENT;
}

static enum at_code fields_parse(struct at_catalog_slot *slot, struct at_error *reterr)
{
    if (table_parse(&slot->records[0], &slot->arena, &slot->table.fields) == AT_OK)
        return AT_OK;
    return at_fail(reterr, AT_INVALID_ARGUMENT, "the catalog record of table %.*s is malformed",
                   AT_SLICE_ARG(slot->name));
}

static enum at_code family_parse(const struct at_catalog_record *r, struct at_family *ret_family)
{
    struct at_slice rest = r->fields;
    struct at_pb_field field;
    bool bad = false;

    *ret_family = (struct at_family){
        .name = r->name, .generation = r->counter, .stamp = r->stamp, .fields = r->fields};
    while (at_pb_next(&rest, &field, &bad)) {
        if (field.type != AT_PB_BYTES)
            continue;
        if (field.number == FAMILY_GC_RULE)
            ret_family->gc_rule = field.bytes;
        else if (field.number == FAMILY_VALUE_TYPE && !type_parse(field.bytes, ret_family))
            return AT_INVALID_ARGUMENT;
    }
    return bad ? AT_INVALID_ARGUMENT : AT_OK;
}

/* A rule that this version does not take collects nothing: data is kept rather than lost. */
static void rule_parse(struct at_catalog_slot *slot, struct at_family *family)
{
    struct at_gc_rule *rule = AT_ARENA_NEW(&slot->arena, struct at_gc_rule);

    if (at_gc_rule_parse(family->gc_rule, &slot->arena, rule, NULL) != AT_OK)
        *rule = (struct at_gc_rule){.kind = AT_GC_NEVER};
    family->rule = rule;
}

/* Of a oneof's members the last one counts, as everywhere in protobuf. */
static bool type_parse(struct at_slice type, struct at_family *ret_family)
{
    struct at_pb_field field;
    bool bad = false;

    ret_family->type = AT_FAMILY_PLAIN;
    while (at_pb_next(&type, &field, &bad)) {
        if (field.type != AT_PB_BYTES || field.number != TYPE_AGGREGATE)
            ret_family->type = AT_FAMILY_PLAIN;
        else if (!aggregate_parse(field.bytes, ret_family))
            return false;
    }
    return !bad;
}

static bool aggregate_parse(struct at_slice aggregate, struct at_family *ret_family)
{
    struct at_pb_field field;
    bool bad = false;

    ret_family->type = AT_FAMILY_PLAIN;
    ret_family->input = AT_FAMILY_INPUT_ANY;
    while (at_pb_next(&aggregate, &field, &bad)) {
        if (field.number == AGGREGATE_SUM)
            ret_family->type = AT_FAMILY_SUM;
        else if (field.number == AGGREGATE_HLL)
            ret_family->type = AT_FAMILY_HLL;
        else if (field.number == AGGREGATE_MAX)
            ret_family->type = AT_FAMILY_MAX;
        else if (field.number == AGGREGATE_MIN)
            ret_family->type = AT_FAMILY_MIN;
        else if (field.number == AGGREGATE_INPUT && field.type == AT_PB_BYTES &&
                 !input_parse(field.bytes, &ret_family->input))
            return false;
    }
    if (ret_family->type != AT_FAMILY_HLL)
        ret_family->input = AT_FAMILY_INPUT_INT;
    return !bad;
}

/* A type that is none of these is given as raw bytes, in the caller's encoding. */
static bool input_parse(struct at_slice type, enum at_family_input *ret_input)
{
    struct at_pb_field field;
    bool bad = false;

    *ret_input = AT_FAMILY_INPUT_ANY;
    while (at_pb_next(&type, &field, &bad)) {
        if (field.number == TYPE_BYTES)
            *ret_input = AT_FAMILY_INPUT_BYTES;
        else if (field.number == TYPE_STRING)
            *ret_input = AT_FAMILY_INPUT_STRING;
        else if (field.number == TYPE_INT64)
            *ret_input = AT_FAMILY_INPUT_INT;
        else
            *ret_input = AT_FAMILY_INPUT_ANY;
    }
    return !bad;
}

static uint64_t digest(const struct at_catalog_slot *slot)
{
    uint64_t h = at_hash64(slot->name, (uint64_t)slot->kind);

    for (uint32_t i = 0; i < slot->record_count; i++) {
        const struct at_catalog_record *r = &slot->records[i];
        const uint64_t numbers[] = {(uint64_t)r->kind, r->table_generation, r->counter,
                                    r->stamp.hlc, r->stamp.origin.v};
        h = at_hash64(r->name, h);
        h = at_hash64(at_slice_make(numbers, sizeof(numbers)), h);
        h = at_hash64(r->fields, h);
    }
    return h;
}
