/* write.c: set, addtocell, deleterow, deletecolumn: one MutateRow each. Only writes whose
 * every timestamp comes from here may be sent again. */
#include "cli/cbt/args.h"
#include "cli/cbt/command.h"
#include "google/bigtable/v2/bigtable.pb-c.h"

#define APP_PROFILE "app-profile="
#define VIEW "authorized-view="

typedef Google__Bigtable__V2__Mutation mutation;
typedef Google__Bigtable__V2__MutateRowRequest mutate_request;

static int
send_request(struct at_cbt *cbt, mutate_request *request, bool idempotent, const char *what)
{
    const struct at_cbt_method method = {"/google.bigtable.v2.Bigtable/MutateRow",
                                         &google__bigtable__v2__mutate_row_response__descriptor,
                                         idempotent};
    struct at_error error;
    void *answer = NULL;
    if (at_cbt_call(cbt, &method, request, &answer, &error) != AT_OK)
        return at_cbt_failed(what, &error);
    return 0;
}

/* A request for a row; `mutations` is made for as many. */
static mutate_request *
new_request(struct at_cbt *cbt, const char *table, const char *row, size_t mutation_max)
{
    mutate_request *request = AT_PROTO_NEW(&cbt->arena, google__bigtable__v2__mutate_row_request);
    request->table_name = at_proto_text(at_cbt_table(cbt, table));
    request->row_key = at_proto_borrow(at_slice_cstr(row));
    request->mutations = AT_ARENA_ARRAY(&cbt->arena, mutation *, mutation_max);
    return request;
}

static mutation *add_mutation(struct at_cbt *cbt, mutate_request *request)
{
    mutation *m = AT_PROTO_NEW(&cbt->arena, google__bigtable__v2__mutation);
    request->mutations[request->n_mutations++] = m;
    return m;
}

static char *family_text(struct at_cbt *cbt, struct at_slice family)
{
    return at_arena_printf(&cbt->arena, "%.*s", AT_SLICE_ARG(family));
}

static void add_set(struct at_cbt *cbt, mutate_request *request, const struct at_cbt_cell *cell)
{
    mutation *m = add_mutation(cbt, request);
    m->mutation_case = GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_SET_CELL;
    m->set_cell = AT_PROTO_NEW(&cbt->arena, google__bigtable__v2__mutation__set_cell);
    m->set_cell->family_name = family_text(cbt, cell->family);
    m->set_cell->column_qualifier = at_proto_borrow(cell->qualifier);
    m->set_cell->timestamp_micros = cell->timestamp_micros;
    m->set_cell->value = at_proto_borrow(cell->value);
}

static Google__Bigtable__V2__Value *new_value(struct at_cbt *cbt,
                                              Google__Bigtable__V2__Value__KindCase kind)
{
    Google__Bigtable__V2__Value *v = AT_PROTO_NEW(&cbt->arena, google__bigtable__v2__value);
    v->kind_case = kind;
    return v;
}

static bool add_sum(struct at_cbt *cbt, mutate_request *request, const struct at_cbt_cell *cell)
{
    int64_t number = 0;
    if (!at_cbt_int(cell->value, &number))
        return false;
    mutation *m = add_mutation(cbt, request);
    m->mutation_case = GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_ADD_TO_CELL;
    m->add_to_cell = AT_PROTO_NEW(&cbt->arena, google__bigtable__v2__mutation__add_to_cell);
    m->add_to_cell->family_name = family_text(cbt, cell->family);
    m->add_to_cell->column_qualifier = new_value(cbt, GOOGLE__BIGTABLE__V2__VALUE__KIND_RAW_VALUE);
    m->add_to_cell->column_qualifier->raw_value = at_proto_borrow(cell->qualifier);
    m->add_to_cell->timestamp =
        new_value(cbt, GOOGLE__BIGTABLE__V2__VALUE__KIND_RAW_TIMESTAMP_MICROS);
    m->add_to_cell->timestamp->raw_timestamp_micros = cell->timestamp_micros;
    m->add_to_cell->input = new_value(cbt, GOOGLE__BIGTABLE__V2__VALUE__KIND_INT_VALUE);
    m->add_to_cell->input->int_value = number;
    return true;
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The arguments of set and addtocell behind table and row. */
static int write_cells(struct at_cbt *cbt, int argc, char **argv, bool sums)
{
    struct at_error error;
    mutate_request *request = new_request(cbt, argv[0], argv[1], (size_t)argc);
    int64_t now_ms = (int64_t)(at_clock_wall_ns(at_loop_clock(cbt->loop)) / AT_MS_NS);
    for (int i = 2; i < argc; i++) {
        struct at_cbt_cell cell;
        if (has_prefix(argv[i], APP_PROFILE)) {
            request->app_profile_id = argv[i] + strlen(APP_PROFILE);
            continue;
        }
        if (!sums && has_prefix(argv[i], VIEW)) {
            request->authorized_view_name = at_proto_text(
                at_cbt_name(cbt, request->table_name, "authorizedViews", argv[i] + strlen(VIEW)));
            continue;
        }
        if (at_cbt_cell_parse(argv[i], &cell, &error) != AT_OK)
            return at_cbt_fatal("%s", error.msg);
        if (!cell.has_timestamp)
            cell.timestamp_micros = now_ms * 1000;
        if (!sums)
            add_set(cbt, request, &cell);
        else if (!add_sum(cbt, request, &cell))
            return at_cbt_fatal("Only int values are supported by addtocell.");
    }
    if (request->authorized_view_name[0] != '\0')
        request->table_name = at_proto_text("");
    return send_request(cbt, request, !sums, "Applying mutation");
}

int at_cbt_set(struct at_cbt *cbt, int argc, char **argv)
{
    if (argc < 3)
        return at_cbt_fatal("usage: cbt set <table> <row> [authorized-view=<authorized-view-id>] "
                            "[app-profile=<app profile id>] family:[column]=val[@ts] ...");
    return write_cells(cbt, argc, argv, false);
}

int at_cbt_addtocell(struct at_cbt *cbt, int argc, char **argv)
{
    if (argc < 3)
        return at_cbt_fatal("usage: cbt addtocell <table> <row> [app-profile=<app profile id>] "
                            "family:[column]=val[@ts] ...");
    return write_cells(cbt, argc, argv, true);
}

int at_cbt_deleterow(struct at_cbt *cbt, int argc, char **argv)
{
    if ((argc != 2 && argc != 3) || (argc == 3 && !has_prefix(argv[2], APP_PROFILE)))
        return at_cbt_fatal("usage: cbt deleterow <table> <row> [app-profile=<app profile id>]");
    mutate_request *request = new_request(cbt, argv[0], argv[1], 1);
    if (argc == 3)
        request->app_profile_id = argv[2] + strlen(APP_PROFILE);
    mutation *m = add_mutation(cbt, request);
    m->mutation_case = GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_DELETE_FROM_ROW;
    m->delete_from_row = AT_PROTO_NEW(&cbt->arena, google__bigtable__v2__mutation__delete_from_row);
    return send_request(cbt, request, true, "Deleting row");
}

int at_cbt_deletecolumn(struct at_cbt *cbt, int argc, char **argv)
{
    if ((argc != 4 && argc != 5) || (argc == 5 && !has_prefix(argv[4], APP_PROFILE)))
        return at_cbt_fatal("usage: cbt deletecolumn <table> <row> <family> <column> "
                            "[app-profile=<app profile id>]");
    mutate_request *request = new_request(cbt, argv[0], argv[1], 1);
    if (argc == 5)
        request->app_profile_id = argv[4] + strlen(APP_PROFILE);
    mutation *m = add_mutation(cbt, request);
    m->mutation_case = GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_DELETE_FROM_COLUMN;
    m->delete_from_column =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__v2__mutation__delete_from_column);
    m->delete_from_column->family_name = argv[2];
    m->delete_from_column->column_qualifier = at_proto_borrow(at_slice_cstr(argv[3]));
    return send_request(cbt, request, true, "Deleting cells in column");
}
