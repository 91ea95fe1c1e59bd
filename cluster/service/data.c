#include "cluster/service/data.h"

#include <stdatomic.h>

#include "base/assert.h"

#define DEFAULT_GRANULARITY_MICROS 1000
#define WRITE_MICROS_HEADER "atoll-write-micros"
#define BEGIN_MICROS_HEADER "atoll-begin-micros"
#define PATH(rpc) "/google.bigtable.v2.Bigtable/" rpc

struct data_method {
    const char *path;
    void (*on_request)(struct at_grpc_call *call, void *ctx);
};

static const struct data_method METHODS[] = {
    {PATH("ReadRows"), at_on_read_rows},
    {PATH("SampleRowKeys"), at_on_sample_row_keys},
    {PATH("MutateRow"), at_on_mutate_row},
    {PATH("MutateRows"), at_on_mutate_rows},
    {PATH("CheckAndMutateRow"), at_on_check_and_mutate_row},
    {PATH("ReadModifyWriteRow"), at_on_read_modify_write_row},
    {PATH("PingAndWarm"), at_on_ping_and_warm},
    {PATH("GenerateInitialChangeStreamPartitions"), at_on_unimplemented},
    {PATH("ReadChangeStream"), at_on_unimplemented},
    {PATH("PrepareQuery"), at_on_unimplemented},
    {PATH("ExecuteQuery"), at_on_unimplemented},
    {PATH("GetClientConfiguration"), at_on_unimplemented},
    {PATH("OpenTable"), at_on_unimplemented},
    {PATH("OpenAuthorizedView"), at_on_unimplemented},
    {PATH("OpenMaterializedView"), at_on_unimplemented},
};

size_t at_data_methods(struct at_service *service, struct at_grpc_method *methods, size_t max)
{
    size_t count = sizeof(METHODS) / sizeof(METHODS[0]);

    AT_ASSERT(count <= max);
    for (size_t i = 0; i < count; i++)
        methods[i] = (struct at_grpc_method){
            .path = METHODS[i].path, .on_request = METHODS[i].on_request, .ctx = service};
    return count;
}

static enum at_code check_views(const struct at_data_aim *aim, struct at_error *reterr)
{
    if (aim->authorized_view_name[0] != '\0')
        return at_fail(reterr, AT_UNIMPLEMENTED,
                       "authorized views are not supported: authorized_view_name must be empty");
    if (aim->materialized_view_name && aim->materialized_view_name[0] != '\0')
        return at_fail(
            reterr, AT_UNIMPLEMENTED,
            "materialized views are not supported: materialized_view_name must be empty");
    return AT_OK;
}

enum at_code at_data_target_check(struct at_service *service,
                                  const struct at_data_aim *aim,
                                  struct at_data_target *ret_target,
                                  struct at_error *reterr)
{
    AT_TRY(check_views(aim, reterr));
    ret_target->full_name = at_slice_cstr(aim->table_name);
    AT_TRY(at_service_table_id(service, ret_target->full_name, &ret_target->table, reterr));
    return at_service_profile_check(service, ret_target->full_name,
                                    at_slice_cstr(aim->app_profile_id), aim->use, reterr);
}

enum at_code at_data_serves(struct at_service *service,
                            const struct at_data_target *target,
                            struct at_error *reterr)
{
    struct at_schema *schema = at_store_schema(service->store);
    const struct at_table *table = at_catalog_table(schema->catalog, target->table);
    enum at_code code = at_table_serves(table, target->full_name, reterr);

    at_schema_unref(&schema);
    return code;
}

void at_data_heat(struct at_service *service, struct at_slice table, struct at_slice row)
{
    if (at_heat_due(service->state->heat))
        at_heat_note(service->state->heat, table, row, at_clock_wall_ns(&service->clock));
}

int64_t at_data_granularity(struct at_service *service, struct at_slice table_id)
{
    struct at_schema *schema = at_store_schema(service->store);
    const struct at_table *table = at_catalog_table(schema->catalog, table_id);
    int64_t micros = table ? table->fields.granularity_micros : DEFAULT_GRANULARITY_MICROS;

    at_schema_unref(&schema);
    AT_ASSERT(micros > 0);
    return micros;
}

/* A decimal number that a router sent; `none` for anything else. */
static int64_t decimal_header(const struct at_grpc_call *call, const char *name, int64_t none)
{
    struct at_slice text = at_grpc_call_metadata(call, name);
    int64_t number = 0;

    if (text.len == 0 || text.len > 18)
        return none;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return none;
        number = number * 10 + (text.data[i] - '0');
    }
    return number;
}

int64_t at_data_server_micros(const struct at_grpc_call *call)
{
    return decimal_header(call, WRITE_MICROS_HEADER, 0);
}

static void on_cancel(struct at_grpc_call *call, void *ctx)
{
    struct at_write *write = ctx;

    (void)call;
    atomic_store_explicit(&write->begin_by_ns, AT_WRITE_CALLED_OFF, memory_order_relaxed);
}

static uint64_t begin_by_ns(const struct at_grpc_call *call)
{
    int64_t micros = decimal_header(call, BEGIN_MICROS_HEADER, -1);

    return micros < 0 ? 0 : at_grpc_call_start_ns(call) + (uint64_t)micros * 1000;
}

void at_data_submit(struct at_service *service,
                    struct at_grpc_call *call,
                    struct at_ticket *ticket,
                    struct at_write *write,
                    void (*answer)(struct at_ticket *ticket))
{
    struct at_loop *loop = at_grpc_call_loop(call);

    atomic_init(&write->begin_by_ns, begin_by_ns(call));
    at_grpc_call_on_cancel(call, on_cancel, write);
    at_lane_submit(at_service_lane(service->state, service->store, loop), ticket, write, answer);
}

void at_data_fail(struct at_service *service,
                  struct at_grpc_call *call,
                  const struct at_write *write,
                  enum at_code code)
{
    struct at_error error = write->error;

    AT_ASSERT(code != AT_OK);
    error.code = code;
    at_service_fail(service, call, &error);
}
