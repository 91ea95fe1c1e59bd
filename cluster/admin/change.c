#include "cluster/admin/admin.h"

#include "base/assert.h"
#include "cluster/service/await.h"

/* The way of a change of the catalog: writer, then the other members, then the client. A member
 * that is slow to apply it holds the answer back for some seconds at most: the change stands. */

static void on_answer(struct at_ticket *ticket);
static void on_spread(struct at_grpc_call *call, void *ctx, bool all);

void at_change_submit(struct at_change *change)
{
    struct at_write_catalog *write = &change->write;

    AT_ASSERT(write->decide && change->reply);
    write->base.kind = AT_WRITE_CATALOG;
    write->arena = at_grpc_call_arena(change->call);
    at_data_submit(change->service, change->call, &change->ticket, &write->base, on_answer);
}

struct at_catalog_record *at_change_record(struct at_write_catalog *write, uint32_t count_max)
{
    if (!write->records)
        write->records = AT_ARENA_ARRAY(write->arena, struct at_catalog_record, count_max + 1);
    AT_ASSERT(write->record_count < count_max);
    return &write->records[write->record_count++];
}

static void on_answer(struct at_ticket *ticket)
{
    struct at_change *change = (struct at_change *)ticket; /* its first member */
    struct at_write *base = &change->write.base;

    if (base->code == AT_OK) {
        at_await_spread(change->service, change->call,
                        &(struct at_await_spread){
                            .seq = base->seq,
                            .deadline_ns = at_await_deadline(change->call, AT_CHANGE_SPREAD_MS),
                            .then = on_spread,
                            .ctx = change,
                        });
        return;
    }
    struct at_schema *schema = change->write.ret_schema;
    if (change->refuse)
        change->refuse(change);
    else
        at_data_fail(change->service, change->call, base, base->code);
    if (schema)
        at_schema_unref(&schema);
}

static void on_spread(struct at_grpc_call *call, void *ctx, bool all)
{
    struct at_change *change = ctx;
    struct at_schema *schema = change->write.ret_schema;

    (void)call;
    (void)all;
    AT_ASSERT(schema != NULL);
    change->reply(change);
    at_schema_unref(&schema);
}
