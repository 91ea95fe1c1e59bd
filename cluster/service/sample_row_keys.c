#include "cluster/service/data.h"

#include "base/pbwire.h"
#include "cluster/tablet/read.h"
#include "google/bigtable/v2/bigtable.pb-c.h"

enum { RESPONSE_ROW_KEY = 1, RESPONSE_OFFSET_BYTES = 2 };

static enum at_code put_sample(struct at_buf *out, const struct at_sample *sample)
{
    if (sample->row.len > 0)
        AT_TRY(at_pb_put_bytes(out, RESPONSE_ROW_KEY, sample->row));
    return at_pb_put_varint(out, RESPONSE_OFFSET_BYTES, sample->offset_bytes);
}

static enum at_code sample(struct at_service *service,
                           struct at_grpc_call *call,
                           const Google__Bigtable__V2__SampleRowKeysRequest *in,
                           struct at_error *reterr)
{
    const struct at_data_aim aim = {.table_name = in->table_name,
                                    .authorized_view_name = in->authorized_view_name,
                                    .materialized_view_name = in->materialized_view_name,
                                    .app_profile_id = in->app_profile_id,
                                    .use = AT_USE_READ};
    struct at_data_target target;
    struct at_sample *samples;
    uint32_t count;

    AT_TRY(at_data_target_check(service, &aim, &target, reterr));
    AT_TRY(at_data_serves(service, &target, reterr));
    enum at_code code = at_read_samples(service->store, target.table, at_grpc_call_arena(call),
                                        &samples, &count, reterr);
    if (code == AT_NOT_FOUND)
        return at_fail(reterr, code, "Table not found: %.*s", AT_SLICE_ARG(target.full_name));
    AT_TRY(code);
    at_service_begin(service, call);
    for (uint32_t i = 0; i < count; i++) {
        if (put_sample(at_grpc_call_begin(call), &samples[i]) != AT_OK) {
            at_grpc_call_abandon(call);
            return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "the answer is too large");
        }
        at_grpc_call_commit(call);
    }
    return AT_OK;
}

void at_on_sample_row_keys(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__V2__SampleRowKeysRequest *in = at_service_unpack(
        service, call, &google__bigtable__v2__sample_row_keys_request__descriptor);

    if (!in)
        return;
    if (sample(service, call, in, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_grpc_call_finish(call, AT_OK, at_slice_make(NULL, 0), at_slice_make(NULL, 0));
}
