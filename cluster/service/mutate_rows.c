#include "cluster/service/data.h"

#include "base/pbwire.h"
#include "cluster/service/mutation_decode.h"
#include "google/bigtable/v2/bigtable.pb-c.h"

/* All entries are one write: one hand-over, one round. What is wrong with the form of any entry
 * refuses the request, before anything is applied; what only the writer can tell (a family that is
 * not there) is the status of its entry. The answer lists every entry, in order. */

#define MESSAGE_BYTES (256 * AT_KIB)

enum {
    RESPONSE_ENTRIES = 1,
    ENTRY_INDEX = 1,
    ENTRY_STATUS = 2,
    STATUS_CODE = 1,
    STATUS_MESSAGE = 2
};

struct mutate_rows {
    struct at_ticket ticket;
    struct at_service *service;
    struct at_grpc_call *call;
    struct at_write_rows write;
};

static void on_answer(struct at_ticket *ticket);

static enum at_code count_mutations(const Google__Bigtable__V2__MutateRowsRequest *in,
                                    struct at_error *reterr)
{
    size_t total = 0;

    if (in->n_entries == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "No mutations provided");
    for (size_t i = 0; i < in->n_entries; i++)
        total += in->entries[i]->n_mutations;
    if (total > AT_MUTATIONS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Too many mutations: at most %d over all entries are allowed, but got %zu",
                       AT_MUTATIONS_MAX, total);
    return AT_OK;
}

static enum at_code decode_entry(const Google__Bigtable__V2__MutateRowsRequest__Entry *in,
                                 int64_t granularity_micros,
                                 struct at_arena *arena,
                                 struct at_row_mutations *out,
                                 struct at_error *reterr)
{
    struct at_mutation_list list;

    out->row = at_proto_bytes(in->row_key);
    AT_TRY(at_row_key_check(out->row, reterr));
    AT_TRY(at_mutation_decode_list(in->mutations, in->n_mutations, granularity_micros, arena, &list,
                                   reterr));
    out->mutations = list.items;
    out->mutation_count = list.count;
    return at_idempotency_decode(in->idempotency, &out->token, &out->token_start_micros, reterr);
}

static enum at_code decode_entries(struct mutate_rows *m,
                                   const Google__Bigtable__V2__MutateRowsRequest *in,
                                   struct at_error *reterr)
{
    struct at_arena *arena = at_grpc_call_arena(m->call);
    int64_t granularity_micros = at_data_granularity(m->service, m->write.table);

    AT_TRY(count_mutations(in, reterr));
    m->write.rows = AT_ARENA_ARRAY(arena, struct at_row_mutations, in->n_entries);
    m->write.row_count = (uint32_t)in->n_entries;
    /* Only those of entries that fail are ever touched. */
    struct at_error *errors = at_arena_alloc_raw(arena, sizeof(*errors) * in->n_entries);
    for (size_t i = 0; i < in->n_entries; i++) {
        struct at_row_mutations *row = &m->write.rows[i];
        row->error = &errors[i];
        if (decode_entry(in->entries[i], granularity_micros, arena, row, reterr) != AT_OK)
            return at_mutation_in_entry(reterr, i);
    }
    return AT_OK;
}

static enum at_code decode(struct mutate_rows *m,
                           const Google__Bigtable__V2__MutateRowsRequest *in,
                           struct at_error *reterr)
{
    const struct at_data_aim aim = {.table_name = in->table_name,
                                    .authorized_view_name = in->authorized_view_name,
                                    .app_profile_id = in->app_profile_id,
                                    .use = AT_USE_WRITE};
    struct at_data_target target;

    AT_TRY(at_data_target_check(m->service, &aim, &target, reterr));
    m->write.base.kind = AT_WRITE_ROWS;
    m->write.table = target.table;
    m->write.full_name = target.full_name;
    m->write.server_micros = at_data_server_micros(m->call);
    for (size_t i = 0; i < in->n_entries; i++)
        at_data_heat(m->service, target.table, at_proto_bytes(in->entries[i]->row_key));
    return decode_entries(m, in, reterr);
}

void at_on_mutate_rows(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__V2__MutateRowsRequest *in =
        at_service_unpack(service, call, &google__bigtable__v2__mutate_rows_request__descriptor);

    if (!in)
        return;
    struct mutate_rows *m = AT_ARENA_NEW(at_grpc_call_arena(call), struct mutate_rows);
    m->service = service;
    m->call = call;
    if (decode(m, in, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_data_submit(service, call, &m->ticket, &m->write.base, on_answer);
}

static struct at_slice message_of(const struct at_row_mutations *row)
{
    if (row->code == AT_OK || !row->error)
        return at_slice_make(NULL, 0);
    return at_slice_make(row->error->msg, strnlen(row->error->msg, sizeof(row->error->msg)));
}

static enum at_code
put_entry(struct at_buf *out, uint32_t index, const struct at_row_mutations *row)
{
    struct at_slice message = message_of(row);
    size_t status_size = 0;

    if (row->code != AT_OK)
        status_size =
            1 + at_pb_varint_size(row->code) + 1 + at_pb_varint_size(message.len) + message.len;
    size_t size = 1 + at_pb_varint_size(index) + 1 + at_pb_varint_size(status_size) + status_size;
    AT_TRY(at_pb_put_head(out, RESPONSE_ENTRIES, size));
    AT_TRY(at_pb_put_varint(out, ENTRY_INDEX, index));
    AT_TRY(at_pb_put_head(out, ENTRY_STATUS, status_size));
    if (row->code == AT_OK)
        return AT_OK;
    AT_TRY(at_pb_put_varint(out, STATUS_CODE, row->code));
    return at_pb_put_bytes(out, STATUS_MESSAGE, message);
}

/* Puts one message of entries from `*index` on. */
static enum at_code put_message(struct at_buf *out, const struct at_write_rows *w, uint32_t *index)
{
    size_t start = out->len;

    while (*index < w->row_count && out->len - start < MESSAGE_BYTES) {
        AT_TRY(put_entry(out, *index, &w->rows[*index]));
        (*index)++;
    }
    return AT_OK;
}

static void on_answer(struct at_ticket *ticket)
{
    struct mutate_rows *m = (struct mutate_rows *)ticket; /* its first member */
    uint32_t index = 0;

    if (m->write.base.code != AT_OK) {
        at_data_fail(m->service, m->call, &m->write.base, m->write.base.code);
        return;
    }
    at_service_begin(m->service, m->call);
    while (index < m->write.row_count) {
        enum at_code code = put_message(at_grpc_call_begin(m->call), &m->write, &index);
        if (code != AT_OK) {
            at_grpc_call_abandon(m->call);
            at_grpc_call_finish(m->call, code, AT_LIT("the answer is too large"),
                                at_slice_make(NULL, 0));
            return;
        }
        at_grpc_call_commit(m->call);
    }
    at_grpc_call_finish(m->call, AT_OK, at_slice_make(NULL, 0), at_slice_make(NULL, 0));
}
