#include "cluster/service/data.h"

#include "cluster/service/filter_decode.h"
#include "cluster/service/mutation_decode.h"
#include "google/bigtable/v2/bigtable.pb-c.h"

struct check_and_mutate {
    struct at_ticket ticket;
    struct at_service *service;
    struct at_grpc_call *call;
    struct at_filter *predicate;
    struct at_write_check write;
};

typedef Google__Bigtable__V2__CheckAndMutateRowRequest check_request;

static void on_answer(struct at_ticket *ticket);

static enum at_code
decode_predicate(struct check_and_mutate *m, const check_request *in, struct at_error *reterr)
{
    struct at_filter_node *root;

    AT_TRY(at_filter_decode(in->predicate_filter, at_grpc_call_arena(m->call), &root, reterr));
    if (root)
        AT_TRY(at_filter_compile(root, &m->predicate, reterr));
    m->write.predicate = m->predicate;
    return AT_OK;
}

static enum at_code decode_branch(struct check_and_mutate *m,
                                  Google__Bigtable__V2__Mutation *const *mutations,
                                  size_t count,
                                  struct at_row_mutations *out,
                                  struct at_error *reterr)
{
    struct at_mutation_list list;

    out->row = m->write.row;
    out->error = &m->write.base.error;
    if (count == 0)
        return AT_OK;
    AT_TRY(at_mutation_decode_list(mutations, count,
                                   at_data_granularity(m->service, m->write.table),
                                   at_grpc_call_arena(m->call), &list, reterr));
    out->mutations = list.items;
    out->mutation_count = list.count;
    return AT_OK;
}

static enum at_code
decode(struct check_and_mutate *m, const check_request *in, struct at_error *reterr)
{
    const struct at_data_aim aim = {.table_name = in->table_name,
                                    .authorized_view_name = in->authorized_view_name,
                                    .app_profile_id = in->app_profile_id,
                                    .use = AT_USE_TRANSACTION};
    struct at_write_check *w = &m->write;
    struct at_data_target target;

    AT_TRY(at_data_target_check(m->service, &aim, &target, reterr));
    w->base.kind = AT_WRITE_CHECK;
    w->table = target.table;
    w->full_name = target.full_name;
    w->row = at_proto_bytes(in->row_key);
    w->arena = at_grpc_call_arena(m->call);
    AT_TRY(at_row_key_check(w->row, reterr));
    at_data_heat(m->service, w->table, w->row);
    if (in->n_true_mutations == 0 && in->n_false_mutations == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "No mutations provided");
    AT_TRY(decode_branch(m, in->true_mutations, in->n_true_mutations, &w->if_true, reterr));
    AT_TRY(decode_branch(m, in->false_mutations, in->n_false_mutations, &w->if_false, reterr));
    return decode_predicate(m, in, reterr);
}

void at_on_check_and_mutate_row(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const check_request *in = at_service_unpack(
        service, call, &google__bigtable__v2__check_and_mutate_row_request__descriptor);

    if (!in)
        return;
    struct check_and_mutate *m = AT_ARENA_NEW(at_grpc_call_arena(call), struct check_and_mutate);
    m->service = service;
    m->call = call;
    if (decode(m, in, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_data_submit(service, call, &m->ticket, &m->write.base, on_answer);
}

static void on_answer(struct at_ticket *ticket)
{
    struct check_and_mutate *m = (struct check_and_mutate *)ticket; /* its first member */
    Google__Bigtable__V2__CheckAndMutateRowResponse answer =
        GOOGLE__BIGTABLE__V2__CHECK_AND_MUTATE_ROW_RESPONSE__INIT;
    const struct at_row_mutations *taken =
        m->write.ret_matched ? &m->write.if_true : &m->write.if_false;
    enum at_code code = m->write.base.code != AT_OK ? m->write.base.code : taken->code;

    at_filter_free(&m->predicate);
    answer.predicate_matched = m->write.ret_matched;
    if (code != AT_OK)
        at_data_fail(m->service, m->call, &m->write.base, code);
    else
        at_service_reply(m->service, m->call, &answer.base);
}
