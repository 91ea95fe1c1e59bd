/* table.c: ls, deletetable, deleteallrows, waitforreplication. */
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "cli/cbt/command.h"
#include "cli/cbt/family.h"
#include "cli/cbt/gc_policy.h"
#include "cli/cbt/print.h"
#include "google/bigtable/admin/v2/bigtable_table_admin.pb-c.h"

#define SERVICE "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define FIRST_PAUSE_MS 20
#define PAUSE_MS_MAX 1000

static int compare_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static int list_tables(struct at_cbt *cbt)
{
    static const struct at_cbt_method METHOD = {
        SERVICE "ListTables", &google__bigtable__admin__v2__list_tables_response__descriptor, true};
    struct at_error error;
    size_t count = 0;
    AT_CLEANUP(at_free_ptr) const char **names = NULL;
    Google__Bigtable__Admin__V2__ListTablesRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__list_tables_request);
    request->parent = at_proto_text(cbt->instance_name);
    for (;;) {
        void *answer = NULL;
        if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK)
            return at_cbt_failed("Getting list of tables", &error);
        Google__Bigtable__Admin__V2__ListTablesResponse *page = answer;
        names = at_realloc(names, (count + page->n_tables + 1) * sizeof(*names));
        for (size_t i = 0; i < page->n_tables; i++)
            names[count++] = last_part(page->tables[i]->name);
        if (page->next_page_token[0] == '\0')
            break;
        request->page_token = page->next_page_token;
    }
    qsort(names, count, sizeof(*names), compare_text);
    for (size_t i = 0; i < count; i++)
        (void)puts(names[i]);
    return 0;
}

typedef Google__Bigtable__Admin__V2__Table__ColumnFamiliesEntry family_entry;

static int compare_families(const void *left, const void *right)
{
    return strcmp((*(family_entry *const *)left)->key, (*(family_entry *const *)right)->key);
}

static void add_family(struct at_cbt *cbt, struct at_cbt_grid *grid, const family_entry *family)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf policy;
    at_buf_init(&policy, AT_MIB);
    if (family->value && at_gc_policy_print(family->value->gc_rule, &policy) != AT_OK)
        at_buf_clear(&policy);
    at_cbt_grid_add(grid, family->key);
    at_cbt_grid_add(grid, at_arena_printf(&cbt->arena, "%s", at_buf_cstr(&policy)));
    at_cbt_grid_add(grid, at_cbt_type_text(family->value ? family->value->value_type : NULL));
}

static int describe_table(struct at_cbt *cbt, const char *name)
{
    static const struct at_cbt_method METHOD = {
        SERVICE "GetTable", &google__bigtable__admin__v2__table__descriptor, true};
    static const char *const TITLES[] = {"Family Name", "GC Policy", "Value Type"};
    static const char *const LINES[] = {"-----------", "---------", "----------"};
    struct at_cbt_grid grid;
    struct at_error error;
    void *answer = NULL;
    Google__Bigtable__Admin__V2__GetTableRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__get_table_request);
    request->name = at_proto_text(at_cbt_table(cbt, name));
    request->view = GOOGLE__BIGTABLE__ADMIN__V2__TABLE__VIEW__SCHEMA_VIEW;
    if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK)
        return at_cbt_failed("Getting table info", &error);
    Google__Bigtable__Admin__V2__Table *table = answer;
    if (table->n_column_families > 1)
        qsort(table->column_families, table->n_column_families,
              sizeof(Google__Bigtable__Admin__V2__Table__ColumnFamiliesEntry *), compare_families);
    at_cbt_grid_begin(&grid, 3, TITLES, LINES);
    for (size_t i = 0; i < table->n_column_families; i++)
        add_family(cbt, &grid, table->column_families[i]);
    at_cbt_grid_end(&grid, stdout);
    return 0;
}

int at_cbt_ls(struct at_cbt *cbt, int argc, char **argv)
{
    if (argc == 0)
        return list_tables(cbt);
    if (argc == 1)
        return describe_table(cbt, argv[0]);
    return at_cbt_fatal("Can't do `cbt ls` with %d arguments", argc);
}

int at_cbt_deletetable(struct at_cbt *cbt, int argc, char **argv)
{
    static const struct at_cbt_method METHOD = {SERVICE "DeleteTable",
                                                &google__protobuf__empty__descriptor, false};
    struct at_error error;
    void *answer = NULL;
    if (argc != 1)
        return at_cbt_fatal("Can't do `cbt deletetable` with %d arguments", argc);
    Google__Bigtable__Admin__V2__DeleteTableRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__delete_table_request);
    request->name = at_proto_text(at_cbt_table(cbt, argv[0]));
    if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK)
        return at_cbt_failed("Deleting table", &error);
    return 0;
}

int at_cbt_deleteallrows(struct at_cbt *cbt, int argc, char **argv)
{
    static const struct at_cbt_method METHOD = {SERVICE "DropRowRange",
                                                &google__protobuf__empty__descriptor, false};
    struct at_error error;
    void *answer = NULL;
    if (argc != 1)
        return at_cbt_fatal("Can't do `cbt deleteallrows` with %d arguments", argc);
    Google__Bigtable__Admin__V2__DropRowRangeRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__drop_row_range_request);
    request->name = at_proto_text(at_cbt_table(cbt, argv[0]));
    request->target_case =
        GOOGLE__BIGTABLE__ADMIN__V2__DROP_ROW_RANGE_REQUEST__TARGET_DELETE_ALL_DATA_FROM_TABLE;
    request->delete_all_data_from_table = true;
    if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK)
        return at_cbt_failed("Deleting all rows", &error);
    return 0;
}

static void print_waiting(void)
{
    char date[32] = "";
    struct tm local;
    time_t now = time(NULL);
    if (localtime_r(&now, &local))
        (void)strftime(date, sizeof(date), "%Y/%m/%d-%H:%M:%S", &local);
    (void)printf("Waiting for all writes up to %s to be replicated.\n", date);
    (void)fflush(stdout);
}

/* Asks until the token's writes are everywhere, more and more rarely. */
static enum at_code wait_for_token(struct at_cbt *cbt,
                                   Google__Bigtable__Admin__V2__CheckConsistencyRequest *request,
                                   struct at_error *reterr)
{
    static const struct at_cbt_method METHOD = {
        SERVICE "CheckConsistency",
        &google__bigtable__admin__v2__check_consistency_response__descriptor, true};
    for (long pause_ms = FIRST_PAUSE_MS;;) {
        void *answer = NULL;
        AT_TRY(at_cbt_call(cbt, &METHOD, request, &answer, reterr));
        if (((Google__Bigtable__Admin__V2__CheckConsistencyResponse *)answer)->consistent)
            return AT_OK;
        if (at_clock_mono_ns(at_loop_clock(cbt->loop)) >= cbt->deadline_ns)
            return at_fail(reterr, AT_DEADLINE_EXCEEDED, "context deadline exceeded");
        struct timespec wait = {.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000};
        (void)nanosleep(&wait, NULL);
        pause_ms = pause_ms * 2 < PAUSE_MS_MAX ? pause_ms * 2 : PAUSE_MS_MAX;
    }
}

int at_cbt_waitforreplication(struct at_cbt *cbt, int argc, char **argv)
{
    static const struct at_cbt_method METHOD = {
        SERVICE "GenerateConsistencyToken",
        &google__bigtable__admin__v2__generate_consistency_token_response__descriptor, true};
    struct at_error error;
    void *answer = NULL;
    if (argc != 1)
        return at_cbt_fatal("usage: cbt waitforreplication <table>");
    print_waiting();
    Google__Bigtable__Admin__V2__GenerateConsistencyTokenRequest *generate =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__generate_consistency_token_request);
    generate->name = at_proto_text(at_cbt_table(cbt, argv[0]));
    if (at_cbt_call(cbt, &METHOD, generate, &answer, &error) != AT_OK)
        return at_cbt_failed("Waiting for replication", &error);
    Google__Bigtable__Admin__V2__CheckConsistencyRequest *check =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__check_consistency_request);
    check->name = generate->name;
    check->consistency_token =
        ((Google__Bigtable__Admin__V2__GenerateConsistencyTokenResponse *)answer)
            ->consistency_token;
    if (wait_for_token(cbt, check, &error) != AT_OK)
        return at_cbt_failed("Waiting for replication", &error);
    return 0;
}
