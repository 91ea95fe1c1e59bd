/* schema.c: createtable, createfamily, setgcpolicy, setvaluetype, deletefamily. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "cli/cbt/args.h"
#include "cli/cbt/command.h"
#include "cli/cbt/csv.h"
#include "cli/cbt/family.h"
#include "cli/cbt/gc_policy.h"
#include "google/bigtable/admin/v2/bigtable_table_admin.pb-c.h"

#define SERVICE "/google.bigtable.admin.v2.BigtableTableAdmin/"

typedef Google__Bigtable__Admin__V2__CreateTableRequest create_request;
typedef Google__Bigtable__Admin__V2__ModifyColumnFamiliesRequest modify_request;
typedef Google__Bigtable__Admin__V2__ModifyColumnFamiliesRequest__Modification modification;

/* Splits a list as cbt does: as one line of CSV, copied into the arena. */
static enum at_code split_list(struct at_cbt *cbt,
                               const char *text,
                               struct at_slice **ret_items,
                               size_t *ret_count,
                               struct at_error *reterr)
{
    struct at_csv csv;
    char *copy = at_arena_printf(&cbt->arena, "%s", text);
    FILE *in = fmemopen(copy, strlen(copy), "r");
    *ret_count = 0;
    if (!in)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "EOF");
    at_csv_init(&csv, in);
    enum at_code code = at_csv_read(&csv, ret_count, reterr);
    if (code == AT_OK) {
        *ret_items = AT_ARENA_ARRAY(&cbt->arena, struct at_slice, *ret_count);
        for (size_t i = 0; i < *ret_count; i++)
            (*ret_items)[i] = at_arena_copy(&cbt->arena, csv.fields[i]);
    }
    at_csv_deinit(&csv);
    (void)fclose(in);
    return code;
}

static enum at_code add_families(struct at_cbt *cbt,
                                 Google__Bigtable__Admin__V2__Table *table,
                                 const char *text,
                                 struct at_error *reterr)
{
    struct at_slice *items = NULL;
    size_t count = 0;
    AT_TRY(split_list(cbt, text, &items, &count, reterr));
    table->column_families = AT_ARENA_ARRAY(
        &cbt->arena, Google__Bigtable__Admin__V2__Table__ColumnFamiliesEntry *, count);
    table->n_column_families = count;
    for (size_t i = 0; i < count; i++) {
        Google__Bigtable__Admin__V2__Table__ColumnFamiliesEntry *entry =
            AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__table__column_families_entry);
        AT_TRY(at_cbt_family_parse(items[i], &cbt->arena, &entry->key, &entry->value, reterr));
        table->column_families[i] = entry;
    }
    return AT_OK;
}

static enum at_code
add_splits(struct at_cbt *cbt, create_request *request, const char *text, struct at_error *reterr)
{
    struct at_slice *items = NULL;
    size_t count = 0;
    AT_TRY(split_list(cbt, text, &items, &count, reterr));
    request->initial_splits = AT_ARENA_ARRAY(
        &cbt->arena, Google__Bigtable__Admin__V2__CreateTableRequest__Split *, count);
    request->n_initial_splits = count;
    for (size_t i = 0; i < count; i++) {
        request->initial_splits[i] =
            AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__create_table_request__split);
        request->initial_splits[i]->key = at_proto_borrow(items[i]);
    }
    return AT_OK;
}

int at_cbt_createtable(struct at_cbt *cbt, int argc, char **argv)
{
    static const struct at_cbt_method METHOD = {
        SERVICE "CreateTable", &google__bigtable__admin__v2__table__descriptor, false};
    struct at_cbt_option options[] = {{.key = "families"}, {.key = "splits"}, {0}};
    struct at_error error;
    void *answer = NULL;
    if (argc < 1)
        return at_cbt_fatal("usage: cbt createtable <table> "
                            "[families=family[:gcpolicy[:type]],...] [splits=split,...]");
    if (at_cbt_args_parse(argv + 1, argc - 1, options, &error) != AT_OK)
        return at_cbt_fatal("%s", error.msg);
    create_request *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__create_table_request);
    request->parent = at_proto_text(cbt->instance_name);
    request->table_id = argv[0];
    request->table = AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__table);
    if (options[0].value && add_families(cbt, request->table, options[0].value, &error) != AT_OK)
        return at_cbt_fatal("%s", error.msg);
    if (options[1].value && add_splits(cbt, request, options[1].value, &error) != AT_OK)
        return at_cbt_fatal("Invalid splits arg format: %s", error.msg);
    if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK)
        return at_cbt_failed("Creating table", &error);
    return 0;
}

static modification *new_modification(struct at_cbt *cbt, const char *family, const char *mask)
{
    modification *m = AT_PROTO_NEW(
        &cbt->arena, google__bigtable__admin__v2__modify_column_families_request__modification);
    m->id = at_proto_text(family);
    if (!mask)
        return m;
    m->update_mask = AT_PROTO_NEW(&cbt->arena, google__protobuf__field_mask);
    m->update_mask->n_paths = 1;
    m->update_mask->paths = AT_ARENA_ARRAY(&cbt->arena, char *, 1);
    m->update_mask->paths[0] = at_proto_text(mask);
    m->mod_case =
        GOOGLE__BIGTABLE__ADMIN__V2__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__MOD_UPDATE;
    m->update = AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__column_family);
    return m;
}

static int
modify(struct at_cbt *cbt, const char *table, modification *m, bool force, const char *what)
{
    static const struct at_cbt_method METHOD = {
        SERVICE "ModifyColumnFamilies", &google__bigtable__admin__v2__table__descriptor, false};
    struct at_error error;
    void *answer = NULL;
    modify_request *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__modify_column_families_request);
    request->name = at_proto_text(at_cbt_table(cbt, table));
    request->n_modifications = 1;
    request->modifications = &m;
    request->ignore_warnings = force;
    if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK)
        return at_cbt_failed(what, &error);
    return 0;
}

int at_cbt_createfamily(struct at_cbt *cbt, int argc, char **argv)
{
    struct at_error error;
    if (argc != 2)
        return at_cbt_fatal("usage: cbt createfamily <table> <family>");
    modification *m = new_modification(cbt, "", NULL);
    m->mod_case =
        GOOGLE__BIGTABLE__ADMIN__V2__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__MOD_CREATE;
    if (at_cbt_family_parse(at_slice_cstr(argv[1]), &cbt->arena, &m->id, &m->create, &error) !=
        AT_OK)
        return at_cbt_fatal("%s", error.msg);
    return modify(cbt, argv[0], m, false, "Creating column family");
}

int at_cbt_setgcpolicy(struct at_cbt *cbt, int argc, char **argv)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf text;
    struct at_error error;
    if (argc < 3)
        return at_cbt_fatal("usage: cbt setgcpolicy <table> <family> ((maxage=<d> | "
                            "maxversions=<n>) [(and|or) (maxage=<d> | maxversions=<n>),...] | "
                            "never) [force]");
    bool first = strcmp(argv[2], "force") == 0;
    bool last = !first && strcmp(argv[argc - 1], "force") == 0;
    at_buf_init(&text, AT_MIB);
    for (int i = 2 + first; i < argc - last; i++)
        if (at_buf_printf(&text, "%s ", argv[i]) != AT_OK)
            return at_cbt_fatal("invalid GC policy: too long");
    modification *m = new_modification(cbt, argv[1], "gc_rule");
    if (at_gc_policy_parse(at_buf_cstr(&text), &cbt->arena, &m->update->gc_rule, &error) != AT_OK)
        return at_cbt_fatal("%s", error.msg);
    return modify(cbt, argv[0], m, first || last, "Setting GC policy");
}

int at_cbt_setvaluetype(struct at_cbt *cbt, int argc, char **argv)
{
    struct at_error error;
    if (argc < 3)
        return at_cbt_fatal("usage: cbt setvaluetype <table> <family> <type>");
    modification *m = new_modification(cbt, argv[1], "value_type");
    if (at_cbt_type_parse(argv[2], &cbt->arena, &m->update->value_type, &error) != AT_OK)
        return at_cbt_fatal("Failed to update family value type: %s", error.msg);
    return modify(cbt, argv[0], m, false, "Set value type");
}

int at_cbt_deletefamily(struct at_cbt *cbt, int argc, char **argv)
{
    if (argc != 2)
        return at_cbt_fatal("usage: cbt deletefamily <table> <family>");
    modification *m = new_modification(cbt, argv[1], NULL);
    m->mod_case =
        GOOGLE__BIGTABLE__ADMIN__V2__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__MOD_DROP;
    m->drop = true;
    return modify(cbt, argv[0], m, false, "Deleting column family");
}
