#include "cluster/admin/admin.h"

#include "base/assert.h"
#include "cluster/admin/instance_view.h"
#include "cluster/model/gc_rule.h"

/* ModifyColumnFamilies: the modifications run in order on drafts of the families they touch; the
 * drafts become the records of one change when the last one went well. A family that is dropped and
 * made again in one request is a new generation all the same: its counter moves by two. */

#define MODIFICATION(name) \
    GOOGLE__BIGTABLE__ADMIN__V2__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__##name

struct modification {
    const Google__Bigtable__Admin__V2__ModifyColumnFamiliesRequest__Modification *in;
    struct at_slice name;
    struct at_slice fields; /* of a creation or an update, checked */
    bool sets_gc_rule;
    bool sets_type;
};

struct draft {
    struct at_slice name;
    struct at_slice fields;
    uint64_t counter;
};

struct modify {
    struct at_change change; /* first */
    struct at_slice table_id;
    struct modification *items;
    uint32_t item_count;
    bool ignore_warnings;
    /* On the writer thread. */
    struct draft *drafts;
    uint32_t draft_count;
    uint32_t present_count;
    bool replicated;
};

static enum at_code prepare(struct modify *m,
                            const Google__Bigtable__Admin__V2__ModifyColumnFamiliesRequest *in,
                            struct at_error *reterr);
static enum at_code
prepare_one(struct at_arena *arena, struct modification *item, struct at_error *reterr);
static enum at_code prepare_mask(struct modification *item, struct at_error *reterr);
static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);
static enum at_code
run_one(struct modify *m, struct draft *draft, const struct modification *item, struct at_error *e);
static enum at_code update(const struct modify *m,
                           struct draft *draft,
                           const struct modification *item,
                           struct at_error *reterr);

static void on_modified(struct at_change *change)
{
    at_table_view_reply(change, ((struct modify *)change)->table_id);
}

void at_on_modify_column_families(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__ModifyColumnFamiliesRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__modify_column_families_request__descriptor);

    if (!in)
        return;
    struct modify *m = AT_ARENA_NEW(at_grpc_call_arena(call), struct modify);
    m->change = (struct at_change){
        .service = service, .call = call, .write.decide = decide, .reply = on_modified};
    if (prepare(m, in, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_change_submit(&m->change);
}

static enum at_code prepare(struct modify *m,
                            const Google__Bigtable__Admin__V2__ModifyColumnFamiliesRequest *in,
                            struct at_error *reterr)
{
    struct at_arena *arena = at_grpc_call_arena(m->change.call);

    AT_TRY(at_service_table_id(m->change.service, at_slice_cstr(in->name), &m->table_id, reterr));
    if (in->n_modifications > AT_ADMIN_MODIFICATIONS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'modifications' : at most %d, has %zu",
                       AT_ADMIN_MODIFICATIONS_MAX, in->n_modifications);
    m->ignore_warnings = in->ignore_warnings;
    m->item_count = (uint32_t)in->n_modifications;
    m->items = AT_ARENA_ARRAY(arena, struct modification, m->item_count + 1);
    m->drafts = AT_ARENA_ARRAY(arena, struct draft, m->item_count + 1);
    for (uint32_t i = 0; i < m->item_count; i++) {
        m->items[i].in = in->modifications[i];
        AT_TRY(prepare_one(arena, &m->items[i], reterr));
    }
    return AT_OK;
}

static enum at_code
prepare_one(struct at_arena *arena, struct modification *item, struct at_error *reterr)
{
    item->name = at_slice_cstr(item->in->id);
    AT_TRY(at_family_name_check(item->name, reterr));
    switch ((int)item->in->mod_case) {
    case MODIFICATION(MOD_CREATE):
        return at_family_fields_make(item->in->create, arena, &item->fields, reterr);
    case MODIFICATION(MOD_UPDATE):
        AT_TRY(prepare_mask(item, reterr));
        return at_family_fields_make(item->in->update, arena, &item->fields, reterr);
    case MODIFICATION(MOD_DROP):
        if (item->in->drop)
            return AT_OK;
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'drop' : must be true");
    default:
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'modifications' : create, update or drop must be set");
    }
}

/* Without a mask only the gc rule is meant. */
static enum at_code prepare_mask(struct modification *item, struct at_error *reterr)
{
    const Google__Protobuf__FieldMask *mask = item->in->update_mask;

    item->sets_gc_rule = !mask || mask->n_paths == 0;
    for (size_t i = 0; mask && i < mask->n_paths; i++) {
        struct at_slice path = at_slice_cstr(mask->paths[i]);
        if (at_slice_eq_cstr(path, "gc_rule") || at_slice_eq_cstr(path, "gcRule"))
            item->sets_gc_rule = true;
        else if (at_slice_has_prefix(path, AT_LIT("value_type")) ||
                 at_slice_has_prefix(path, AT_LIT("valueType")))
            item->sets_type = true;
        else
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "Error in field 'update_mask' : unknown path '%s'", mask->paths[i]);
    }
    return AT_OK;
}

/* --- on the writer thread --- */

static struct draft *
draft_of(struct modify *m, const struct at_catalog *catalog, struct at_slice name)
{
    const struct at_table *table = at_catalog_table(catalog, m->table_id);

    for (uint32_t i = 0; i < m->draft_count; i++)
        if (at_slice_eq(m->drafts[i].name, name))
            return &m->drafts[i];
    const struct at_family *family = at_table_family(table, name);
    struct draft *draft = &m->drafts[m->draft_count++];
    *draft = (struct draft){
        .name = name,
        .fields = family ? family->fields : at_slice_make(NULL, 0),
        .counter = at_catalog_family_counter(catalog, m->table_id, table->generation, name),
    };
    return draft;
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    struct modify *m = (struct modify *)at_change_of(write);
    const struct at_table *table = at_catalog_table(catalog, m->table_id);

    if (!table)
        return at_admin_no_table(m->change.service, m->table_id, reterr);
    AT_TRY(at_admin_whole(m->change.service, table, reterr));
    m->draft_count = 0;
    m->present_count = table->family_count;
    m->replicated = at_cluster_entries(m->change.service, catalog, write->arena).count > 1;
    for (uint32_t i = 0; i < m->item_count; i++) {
        const struct modification *item = &m->items[i];
        if (item->in->mod_case == MODIFICATION(MOD_DROP) && table->fields.deletion_protection)
            return at_fail(reterr, AT_FAILED_PRECONDITION,
                           "table '%.*s' is protected from deletion of its families",
                           AT_SLICE_ARG(m->table_id));
        AT_TRY(run_one(m, draft_of(m, catalog, item->name), item, reterr));
    }
    if (m->present_count > AT_FAMILIES_MAX)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "A table has at most %d families, not %u",
                       AT_FAMILIES_MAX, m->present_count);
    for (uint32_t i = 0; i < m->draft_count; i++)
        *at_change_record(write, m->draft_count) = (struct at_catalog_record){
            .kind = AT_CATALOG_FAMILY,
            .name = m->drafts[i].name,
            .table = m->table_id,
            .table_generation = table->generation,
            .counter = m->drafts[i].counter,
            .fields = m->drafts[i].fields,
        };
    return AT_OK;
}

static enum at_code run_one(struct modify *m,
                            struct draft *draft,
                            const struct modification *item,
                            struct at_error *reterr)
{
    bool present = draft->counter % 2 == 1;

    if (item->in->mod_case == MODIFICATION(MOD_CREATE)) {
        if (present)
            return at_fail(reterr, AT_ALREADY_EXISTS, "family \"%.*s\" already exists",
                           AT_SLICE_ARG(item->name));
        draft->counter++;
        draft->fields = item->fields;
        m->present_count++;
        return AT_OK;
    }
    if (!present)
        return at_fail(reterr, AT_NOT_FOUND, "family \"%.*s\" not found in table '%.*s'",
                       AT_SLICE_ARG(item->name), AT_SLICE_ARG(m->table_id));
    if (item->in->mod_case == MODIFICATION(MOD_UPDATE))
        return update(m, draft, item, reterr);
    draft->counter++;
    draft->fields = at_slice_make(NULL, 0);
    m->present_count--;
    return AT_OK;
}

static enum at_code rule_of(const Google__Bigtable__Admin__V2__ColumnFamily *family,
                            struct at_arena *arena,
                            struct at_gc_rule *ret_rule,
                            struct at_error *reterr)
{
    struct at_slice bytes = at_slice_make(NULL, 0);

    if (family->gc_rule)
        bytes = at_admin_pack(arena, &family->gc_rule->base);
    return at_gc_rule_parse(bytes, arena, ret_rule, reterr);
}

static struct at_slice type_of(const Google__Bigtable__Admin__V2__ColumnFamily *family,
                               struct at_arena *arena)
{
    return family->value_type ? at_admin_pack(arena, &family->value_type->base)
                              : at_slice_make(NULL, 0);
}

static enum at_code update(const struct modify *m,
                           struct draft *draft,
                           const struct modification *item,
                           struct at_error *reterr)
{
    struct at_arena *arena = m->change.write.arena;
    struct at_gc_rule from;
    struct at_gc_rule to;
    Google__Bigtable__Admin__V2__ColumnFamily *old = at_proto_unpack(
        arena, &google__bigtable__admin__v2__column_family__descriptor, draft->fields);
    const Google__Bigtable__Admin__V2__ColumnFamily *new = at_proto_unpack(
        arena, &google__bigtable__admin__v2__column_family__descriptor, item->fields);

    if (!old || !new)
        return at_fail(reterr, AT_DATA_LOSS, "What is stored of family '%.*s' is damaged",
                       AT_SLICE_ARG(item->name));
    if (item->sets_type && !at_slice_eq(type_of(old, arena), type_of(new, arena)))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Immutable field 'value_type' of family '%.*s' cannot be updated",
                       AT_SLICE_ARG(item->name));
    if (!item->sets_gc_rule)
        return AT_OK;
    AT_TRY(rule_of(old, arena, &from, reterr));
    AT_TRY(rule_of(new, arena, &to, reterr));
    if (m->replicated && !m->ignore_warnings && at_gc_rule_relaxes_age(&from, &to))
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "Cannot relax pure age-based GC for a replicated family (%.*s). If you must "
                       "relax the age constraint, unreplicate the instance and try again.",
                       AT_SLICE_ARG(item->name));
    old->gc_rule = new->gc_rule;
    draft->fields = at_admin_pack(arena, &old->base);
    return AT_OK;
}
