#include "cluster/service/data.h"

#include "cluster/service/mutation_decode.h"
#include "google/bigtable/v2/bigtable.pb-c.h"

/* The hottest write: everything lives in the call's arena, and the writes of one turn reach the
 * writer together. */

struct mutate_row {
    struct at_ticket ticket;
    struct at_service *service;
    struct at_grpc_call *call;
    struct at_row_mutations row;
    struct at_write_rows write;
};

static void on_answer(struct at_ticket *ticket);

static enum at_code decode(struct mutate_row *m,
                           const Google__Bigtable__V2__MutateRowRequest *in,
                           struct at_error *reterr)
{
    const struct at_data_aim aim = {.table_name = in->table_name,
                                    .authorized_view_name = in->authorized_view_name,
                                    .app_profile_id = in->app_profile_id,
                                    .use = AT_USE_WRITE};
    struct at_data_target target;
    struct at_mutation_list list;

    AT_TRY(at_data_target_check(m->service, &aim, &target, reterr));
    m->row.row = at_proto_bytes(in->row_key);
    AT_TRY(at_row_key_check(m->row.row, reterr));
    at_data_heat(m->service, target.table, m->row.row);
    AT_TRY(at_mutation_decode_list(in->mutations, in->n_mutations,
                                   at_data_granularity(m->service, target.table),
                                   at_grpc_call_arena(m->call), &list, reterr));
    AT_TRY(
        at_idempotency_decode(in->idempotency, &m->row.token, &m->row.token_start_micros, reterr));
    m->row.mutations = list.items;
    m->row.mutation_count = list.count;
    m->row.error = &m->write.base.error;
    m->write.base.kind = AT_WRITE_ROWS;
    m->write.table = target.table;
    m->write.full_name = target.full_name;
    m->write.rows = &m->row;
    m->write.row_count = 1;
    m->write.server_micros = at_data_server_micros(m->call);
    return AT_OK;
}

void at_on_mutate_row(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__V2__MutateRowRequest *in =
        at_service_unpack(service, call, &google__bigtable__v2__mutate_row_request__descriptor);

    if (!in)
        return;
    struct mutate_row *m = AT_ARENA_NEW(at_grpc_call_arena(call), struct mutate_row);
    m->service = service;
    m->call = call;
    if (decode(m, in, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_data_submit(service, call, &m->ticket, &m->write.base, on_answer);
}

static void on_answer(struct at_ticket *ticket)
{
    static const Google__Bigtable__V2__MutateRowResponse ANSWER =
        GOOGLE__BIGTABLE__V2__MUTATE_ROW_RESPONSE__INIT;
    struct mutate_row *m = (struct mutate_row *)ticket; /* its first member */
    enum at_code code = m->write.base.code != AT_OK ? m->write.base.code : m->row.code;

    if (code != AT_OK)
        at_data_fail(m->service, m->call, &m->write.base, code);
    else
        at_service_reply(m->service, m->call, &ANSWER.base);
}
