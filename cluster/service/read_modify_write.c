#include "cluster/service/data.h"

#include "google/bigtable/v2/bigtable.pb-c.h"

struct read_modify_write {
    struct at_ticket ticket;
    struct at_service *service;
    struct at_grpc_call *call;
    struct at_write_modify write;
};

typedef Google__Bigtable__V2__ReadModifyWriteRowRequest modify_request;

static void on_answer(struct at_ticket *ticket);

#define REFUSE(reterr, index, format, ...) \
    at_fail((reterr), AT_INVALID_ARGUMENT, \
            "Error in field 'Rules' : Error in element #%zu : " format, (index), __VA_ARGS__)

static enum at_code decode_rule(const Google__Bigtable__V2__ReadModifyWriteRule *in,
                                size_t index,
                                struct at_modify_rule *out,
                                struct at_error *reterr)
{
    out->family = at_slice_cstr(in->family_name);
    out->qualifier = at_proto_bytes(in->column_qualifier);
    if (out->family.len == 0 || out->family.len > AT_FAMILY_BYTES_MAX)
        return REFUSE(reterr, index, "Family names must have 1 to %d bytes, but got %zu",
                      AT_FAMILY_BYTES_MAX, out->family.len);
    if (out->qualifier.len > AT_QUALIFIER_BYTES_MAX)
        return REFUSE(reterr, index, "Column qualifiers must be at most %zu bytes, but got %zu",
                      AT_QUALIFIER_BYTES_MAX, out->qualifier.len);
    if (in->rule_case == GOOGLE__BIGTABLE__V2__READ_MODIFY_WRITE_RULE__RULE_APPEND_VALUE) {
        out->kind = AT_RULE_APPEND;
        out->append = at_proto_bytes(in->append_value);
        if (out->append.len > AT_VALUE_BYTES_MAX)
            return REFUSE(reterr, index, "Cell values must be at most %zu bytes, but got %zu",
                          AT_VALUE_BYTES_MAX, out->append.len);
        return AT_OK;
    }
    if (in->rule_case != GOOGLE__BIGTABLE__V2__READ_MODIFY_WRITE_RULE__RULE_INCREMENT_AMOUNT)
        return REFUSE(reterr, index, "%s", "Either append_value or increment_amount must be set");
    out->kind = AT_RULE_INCREMENT;
    out->increment = in->increment_amount;
    return AT_OK;
}

static enum at_code
decode_rules(struct read_modify_write *m, const modify_request *in, struct at_error *reterr)
{
    if (in->n_rules == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "No rules provided");
    if (in->n_rules > AT_RMW_RULES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Too many rules: at most %d are allowed, but got %zu", AT_RMW_RULES_MAX,
                       in->n_rules);
    struct at_modify_rule *rules =
        AT_ARENA_ARRAY(at_grpc_call_arena(m->call), struct at_modify_rule, in->n_rules);
    for (size_t i = 0; i < in->n_rules; i++)
        AT_TRY(decode_rule(in->rules[i], i, &rules[i], reterr));
    m->write.rules = rules;
    m->write.rule_count = (uint32_t)in->n_rules;
    return AT_OK;
}

static enum at_code
decode(struct read_modify_write *m, const modify_request *in, struct at_error *reterr)
{
    const struct at_data_aim aim = {.table_name = in->table_name,
                                    .authorized_view_name = in->authorized_view_name,
                                    .app_profile_id = in->app_profile_id,
                                    .use = AT_USE_TRANSACTION};
    struct at_write_modify *w = &m->write;
    struct at_data_target target;

    AT_TRY(at_data_target_check(m->service, &aim, &target, reterr));
    w->base.kind = AT_WRITE_MODIFY;
    w->table = target.table;
    w->full_name = target.full_name;
    w->row = at_proto_bytes(in->row_key);
    w->arena = at_grpc_call_arena(m->call);
    AT_TRY(at_row_key_check(w->row, reterr));
    at_data_heat(m->service, w->table, w->row);
    return decode_rules(m, in, reterr);
}

void at_on_read_modify_write_row(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const modify_request *in = at_service_unpack(
        service, call, &google__bigtable__v2__read_modify_write_row_request__descriptor);

    if (!in)
        return;
    struct read_modify_write *m = AT_ARENA_NEW(at_grpc_call_arena(call), struct read_modify_write);
    m->service = service;
    m->call = call;
    if (decode(m, in, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_data_submit(service, call, &m->ticket, &m->write.base, on_answer);
}

/* protobuf-c has no const in its messages, but does not write through them. */
static ProtobufCBinaryData binary(struct at_slice s)
{
    union {
        const uint8_t *in;
        uint8_t *out;
    } data = {.in = s.data};

    return (ProtobufCBinaryData){.len = s.len, .data = data.out};
}

static char *text(struct at_arena *arena, struct at_slice s)
{
    return at_arena_printf(arena, "%.*s", AT_SLICE_ARG(s));
}

static Google__Bigtable__V2__Cell *new_cell(struct at_arena *arena, const struct at_cell *in)
{
    Google__Bigtable__V2__Cell *cell = AT_ARENA_NEW(arena, Google__Bigtable__V2__Cell);

    google__bigtable__v2__cell__init(cell);
    cell->timestamp_micros = in->timestamp_micros;
    cell->value = binary(in->value);
    return cell;
}

/* One column of one cell: the rules leave exactly one new cell per column. */
static Google__Bigtable__V2__Column *new_column(struct at_arena *arena, const struct at_cell *in)
{
    Google__Bigtable__V2__Column *column = AT_ARENA_NEW(arena, Google__Bigtable__V2__Column);

    google__bigtable__v2__column__init(column);
    column->qualifier = binary(in->qualifier);
    column->n_cells = 1;
    column->cells = AT_ARENA_NEW(arena, Google__Bigtable__V2__Cell *);
    column->cells[0] = new_cell(arena, in);
    return column;
}

/* Cells come in the order of families and qualifiers. */
static void build_row(const struct at_write_modify *w, Google__Bigtable__V2__Row *row)
{
    struct at_arena *arena = w->arena;
    Google__Bigtable__V2__Family *family = NULL;

    row->key = binary(w->row);
    row->families = AT_ARENA_ARRAY(arena, Google__Bigtable__V2__Family *, w->ret_cell_count);
    for (uint32_t i = 0; i < w->ret_cell_count; i++) {
        const struct at_cell *cell = &w->ret_cells[i];
        if (!family || !at_slice_eq(cell->family, w->ret_cells[i - 1].family)) {
            family = AT_ARENA_NEW(arena, Google__Bigtable__V2__Family);
            google__bigtable__v2__family__init(family);
            family->name = text(arena, cell->family);
            family->columns =
                AT_ARENA_ARRAY(arena, Google__Bigtable__V2__Column *, w->ret_cell_count - i);
            row->families[row->n_families++] = family;
        }
        family->columns[family->n_columns++] = new_column(arena, cell);
    }
}

static void on_answer(struct at_ticket *ticket)
{
    struct read_modify_write *m = (struct read_modify_write *)ticket; /* its first member */
    Google__Bigtable__V2__ReadModifyWriteRowResponse answer =
        GOOGLE__BIGTABLE__V2__READ_MODIFY_WRITE_ROW_RESPONSE__INIT;
    Google__Bigtable__V2__Row row = GOOGLE__BIGTABLE__V2__ROW__INIT;

    if (m->write.base.code != AT_OK) {
        at_data_fail(m->service, m->call, &m->write.base, m->write.base.code);
        return;
    }
    build_row(&m->write, &row);
    answer.row = &row;
    at_service_reply(m->service, m->call, &answer.base);
}
