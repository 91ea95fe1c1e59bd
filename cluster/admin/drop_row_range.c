#include "base/assert.h"
#include "cluster/admin/admin.h"
#include "cluster/service/await.h"

/* DropRowRange is answered OK when every member has applied it: from then on each of them stamps
 * its writes above the drop, so whatever is written after the answer stays. A member that is out of
 * touch holds the answer back; what was dropped here stays dropped and will be there. */

#define WAIT_MS 60000 /* for a call without a deadline */

#define TARGET(name) GOOGLE__BIGTABLE__ADMIN__V2__DROP_ROW_RANGE_REQUEST__TARGET_##name

struct drop_row_range {
    struct at_ticket ticket; /* first */
    struct at_service *service;
    struct at_grpc_call *call;
    struct at_write_drop write;
    bool nothing; /* the request says so */
};

static enum at_code prepare(struct drop_row_range *drop,
                            const Google__Bigtable__Admin__V2__DropRowRangeRequest *in,
                            struct at_error *reterr);
static void on_answer(struct at_ticket *ticket);
static void on_spread(struct at_grpc_call *call, void *ctx, bool all);

void at_on_drop_row_range(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__DropRowRangeRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__drop_row_range_request__descriptor);

    if (!in)
        return;
    struct drop_row_range *drop = AT_ARENA_NEW(at_grpc_call_arena(call), struct drop_row_range);
    drop->service = service;
    drop->call = call;
    if (prepare(drop, in, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else if (drop->nothing)
        at_admin_reply_empty(service, call);
    else
        at_data_submit(service, call, &drop->ticket, &drop->write.base, on_answer);
}

static enum at_code set_target(struct drop_row_range *drop,
                               const Google__Bigtable__Admin__V2__DropRowRangeRequest *in,
                               struct at_error *reterr)
{
    if (in->target_case == TARGET(DELETE_ALL_DATA_FROM_TABLE)) {
        drop->nothing = !in->delete_all_data_from_table;
        return AT_OK;
    }
    if (in->target_case != TARGET(ROW_KEY_PREFIX) || in->row_key_prefix.len == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'row_key_prefix' : must not be empty; to drop all rows set "
                       "delete_all_data_from_table");
    drop->write.prefix = at_proto_bytes(in->row_key_prefix);
    if (drop->write.prefix.len > AT_ROW_KEY_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'row_key_prefix' : at most %zu bytes, has %zu",
                       AT_ROW_KEY_BYTES_MAX, drop->write.prefix.len);
    return AT_OK;
}

static enum at_code check_exists(struct drop_row_range *drop, struct at_error *reterr)
{
    struct at_schema *schema = at_store_schema(drop->service->store);
    bool exists = at_catalog_table(schema->catalog, drop->write.table) != NULL;

    at_schema_unref(&schema);
    return exists ? AT_OK : at_admin_no_table(drop->service, drop->write.table, reterr);
}

static enum at_code prepare(struct drop_row_range *drop,
                            const Google__Bigtable__Admin__V2__DropRowRangeRequest *in,
                            struct at_error *reterr)
{
    struct at_service *service = drop->service;

    drop->write.base.kind = AT_WRITE_DROP;
    drop->write.full_name = at_slice_cstr(in->name);
    AT_TRY(at_service_table_id(service, drop->write.full_name, &drop->write.table, reterr));
    AT_TRY(set_target(drop, in, reterr));
    AT_TRY(check_exists(drop, reterr));
    if (!drop->nothing && !at_drop_set_enter(&service->state->drops, drop->write.table))
        return at_fail(reterr, AT_UNAVAILABLE, "A DropRowRange operation is already ongoing");
    return AT_OK;
}

static void on_answer(struct at_ticket *ticket)
{
    struct drop_row_range *drop = (struct drop_row_range *)ticket; /* its first member */
    struct at_write *base = &drop->write.base;

    if (base->code != AT_OK) {
        at_drop_set_leave(&drop->service->state->drops, drop->write.table);
        at_data_fail(drop->service, drop->call, base, base->code);
        return;
    }
    uint32_t wait_ms = WAIT_MS;
    if (at_grpc_call_deadline_ns(drop->call) != UINT64_MAX)
        wait_ms = UINT32_MAX; /* as long as the client does */
    at_await_spread(drop->service, drop->call,
                    &(struct at_await_spread){
                        .seq = base->seq,
                        .deadline_ns = at_await_deadline(drop->call, wait_ms),
                        .insist = true,
                        .then = on_spread,
                        .ctx = drop,
                    });
}

static void on_spread(struct at_grpc_call *call, void *ctx, bool all)
{
    struct drop_row_range *drop = ctx;
    struct at_service *service = drop->service;
    struct at_error error;

    at_drop_set_leave(&service->state->drops, drop->write.table);
    if (all) {
        at_admin_reply_empty(service, call);
        return;
    }
    enum at_code code = at_fail(&error, AT_DEADLINE_EXCEEDED,
                                "The rows are dropped here, and will be on every cluster, but not "
                                "all clusters could be reached in time");
    AT_ASSERT(code != AT_OK);
    at_service_fail(service, call, &error);
}
