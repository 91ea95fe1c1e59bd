#include "cluster/admin/admin.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/namespace.h"

/* CreateTable. All that does not depend on what exists is checked before the writer is asked. */

#define GRANULARITY_MICROS 2

struct family_draft {
    struct at_slice name;
    struct at_slice fields;
};

struct create_table {
    struct at_change change; /* first */
    struct at_slice in;      /* its instance */
    struct at_slice id;      /* the name it is kept by */
    struct at_slice fields;
    struct family_draft *families;
    uint32_t family_count;
};

static enum at_code prepare(struct create_table *create,
                            const Google__Bigtable__Admin__V2__CreateTableRequest *in,
                            struct at_error *reterr);
static enum at_code prepare_splits(struct at_arena *arena,
                                   const Google__Bigtable__Admin__V2__CreateTableRequest *in,
                                   struct at_table_fields *fields,
                                   struct at_error *reterr);
static enum at_code prepare_families(struct create_table *create,
                                     const Google__Bigtable__Admin__V2__Table *table,
                                     struct at_error *reterr);
static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);

static void on_created(struct at_change *change)
{
    struct create_table *create = (struct create_table *)change;

    at_table_view_reply(change, create->id);
}

void at_on_create_table(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__CreateTableRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__create_table_request__descriptor);

    if (!in)
        return;
    struct create_table *create = AT_ARENA_NEW(at_grpc_call_arena(call), struct create_table);
    create->change = (struct at_change){
        .service = service, .call = call, .write.decide = decide, .reply = on_created};
    if (prepare(create, in, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_change_submit(&create->change);
}

static enum at_code check_table(const Google__Bigtable__Admin__V2__Table *table,
                                struct at_error *reterr)
{
    if (table->name[0] != '\0')
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'table.name' : must be empty, the name is made of parent "
                       "and table_id");
    if ((int)table->granularity < 0 || (int)table->granularity > GRANULARITY_MICROS)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'table.granularity' : unknown");
    if (table->row_key_schema)
        return at_fail(reterr, AT_UNIMPLEMENTED, "table.row_key_schema is not supported");
    if (table->automated_backup_config_case != 0)
        return at_fail(reterr, AT_UNIMPLEMENTED, "table.automated_backup_policy is not supported");
    return at_change_stream_check(table->change_stream_config, reterr);
}

static enum at_code prepare(struct create_table *create,
                            const Google__Bigtable__Admin__V2__CreateTableRequest *in,
                            struct at_error *reterr)
{
    static const Google__Bigtable__Admin__V2__Table NONE = GOOGLE__BIGTABLE__ADMIN__V2__TABLE__INIT;
    struct at_arena *arena = at_grpc_call_arena(create->change.call);
    const Google__Bigtable__Admin__V2__Table *table = in->table ? in->table : &NONE;
    struct at_table_fields fields = {
        .granularity_micros = (int)table->granularity == GRANULARITY_MICROS ? 1 : 1000,
        .deletion_protection = table->deletion_protection,
    };

    AT_TRY(at_service_instance_check(create->change.service, at_slice_cstr(in->parent), reterr));
    AT_TRY(at_service_namespace(create->change.service, at_slice_cstr(in->parent), &create->in,
                                reterr));
    AT_TRY(at_table_id_check(at_slice_cstr(in->table_id), reterr));
    create->id = at_admin_keep(arena, create->in, "tables", at_slice_cstr(in->table_id));
    AT_TRY(check_table(table, reterr));
    if (table->change_stream_config)
        fields.change_stream_config = at_admin_pack(arena, &table->change_stream_config->base);
    AT_TRY(prepare_splits(arena, in, &fields, reterr));
    AT_TRY(at_table_fields_make(&fields, arena, &create->fields, reterr));
    return prepare_families(create, table, reterr);
}

static int compare_slices(const void *a, const void *b)
{
    return at_slice_cmp(*(const struct at_slice *)a, *(const struct at_slice *)b);
}

static enum at_code prepare_splits(struct at_arena *arena,
                                   const Google__Bigtable__Admin__V2__CreateTableRequest *in,
                                   struct at_table_fields *fields,
                                   struct at_error *reterr)
{
    size_t count = in->n_initial_splits;

    if (count == 0)
        return AT_OK;
    if (count > AT_TABLE_SPLITS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'initial_splits' : at most %d, has %zu", AT_TABLE_SPLITS_MAX,
                       count);
    struct at_slice *splits = AT_ARENA_ARRAY(arena, struct at_slice, count);
    for (size_t i = 0; i < count; i++) {
        splits[i] = at_proto_bytes(in->initial_splits[i]->key);
        if (splits[i].len == 0 || splits[i].len > AT_ROW_KEY_BYTES_MAX)
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "Error in field 'initial_splits' : a key must have 1 to %zu bytes, "
                           "number %zu has %zu",
                           AT_ROW_KEY_BYTES_MAX, i + 1, splits[i].len);
    }
    qsort(splits, count, sizeof(splits[0]), compare_slices);
    fields->splits = splits;
    for (size_t i = 0; i < count; i++)
        if (fields->split_count == 0 || !at_slice_eq(splits[fields->split_count - 1], splits[i]))
            splits[fields->split_count++] = splits[i];
    return AT_OK;
}

/* Of several map entries with one key the last one counts. */
static enum at_code prepare_families(struct create_table *create,
                                     const Google__Bigtable__Admin__V2__Table *table,
                                     struct at_error *reterr)
{
    struct at_arena *arena = at_grpc_call_arena(create->change.call);
    size_t count = table->n_column_families;

    if (count > AT_FAMILIES_MAX)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "A table has at most %d families, not %zu",
                       AT_FAMILIES_MAX, count);
    create->families = AT_ARENA_ARRAY(arena, struct family_draft, count + 1);
    for (size_t i = 0; i < count; i++) {
        struct at_slice name = at_slice_cstr(table->column_families[i]->key);
        uint32_t k = 0;
        AT_TRY(at_family_name_check(name, reterr));
        while (k < create->family_count && !at_slice_eq(create->families[k].name, name))
            k++;
        create->families[k].name = name;
        AT_TRY(at_family_fields_make(table->column_families[i]->value, arena,
                                     &create->families[k].fields, reterr));
        create->family_count += k == create->family_count;
    }
    return AT_OK;
}

enum at_code
at_table_count_check(const struct at_catalog *catalog, struct at_slice in, struct at_error *reterr)
{
    uint32_t all = at_catalog_table_count(catalog);
    uint32_t count = 0;

    for (uint32_t i = 0; i < all; i++)
        count += at_namespace_holds(in, at_catalog_table_at(catalog, i)->name);
    if (count >= AT_TABLES_MAX)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "An instance has at most %d tables",
                       AT_TABLES_MAX);
    if (all >= AT_TABLES_ALL_MAX)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED,
                       "All instances together have at most %d tables", AT_TABLES_ALL_MAX);
    return AT_OK;
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    struct create_table *create = (struct create_table *)at_change_of(write);
    const struct at_service *service = create->change.service;
    uint64_t counter = at_catalog_table_counter(catalog, create->id);
    uint32_t record_count = create->family_count + 1;

    if (at_catalog_table(catalog, create->id))
        return at_fail(reterr, AT_ALREADY_EXISTS, "table \"%s\" already exists",
                       at_admin_table_name(service, write->arena, create->id));
    AT_TRY(at_table_count_check(catalog, create->in, reterr));
    AT_ASSERT(counter % 2 == 0);
    AT_TRY(at_table_created_fields(catalog, create->id, write->arena, &create->fields, reterr));
    *at_change_record(write, record_count) = (struct at_catalog_record){
        .kind = AT_CATALOG_TABLE,
        .name = create->id,
        .counter = counter + 1,
        .fields = create->fields,
    };
    for (uint32_t i = 0; i < create->family_count; i++) {
        const struct family_draft *family = &create->families[i];
        /* Not 0 when another member's families of this very generation came before its table. */
        uint64_t had = at_catalog_family_counter(catalog, create->id, counter + 1, family->name);
        *at_change_record(write, record_count) = (struct at_catalog_record){
            .kind = AT_CATALOG_FAMILY,
            .name = family->name,
            .table = create->id,
            .table_generation = counter + 1,
            .counter = had | 1,
            .fields = family->fields,
        };
    }
    return AT_OK;
}
