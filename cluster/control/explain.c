#include "cluster/control/explain.h"

#include "cluster/admin/instance_view.h"

#include "atoll/v1/control.pb-c.h"
#include "base/limits.h"
#include "cluster/tablet/explain.h"

/* Only names the members; the judgement is the tablet's. */

static Atoll__V1__StoredItem *
to_proto(struct at_service *service, struct at_arena *arena, const struct at_explain_item *item);
static Atoll__V1__StoredKind kind_of(enum at_explain_kind kind);
static Atoll__V1__ShowReason reason_of(const struct at_explain_item *item);

static ProtobufCBinaryData borrow(struct at_slice s)
{
    return (ProtobufCBinaryData){.len = s.len, .data = (uint8_t *)(uintptr_t)s.data};
}

void at_on_explain(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_arena *arena = at_grpc_call_arena(call);
    struct at_explanation explanation = {0};
    struct at_error error = {0};
    struct at_slice table = {0};
    Atoll__V1__ExplainRequest *request =
        at_service_unpack(service, call, &atoll__v1__explain_request__descriptor);
    if (!request)
        return;

    struct at_slice row = at_slice_make(request->row_key.data, request->row_key.len);
    int64_t now_micros = request->now_micros > 0
                             ? request->now_micros
                             : (int64_t)(at_clock_wall_ns(&service->clock) / 1000);
    enum at_code code =
        at_service_table_id(service, at_slice_cstr(request->table_name), &table, &error);
    if (code == AT_OK && (row.len == 0 || row.len > AT_ROW_KEY_BYTES_MAX))
        code = at_fail(&error, AT_INVALID_ARGUMENT, "a row key has 1 to %zu bytes",
                       AT_ROW_KEY_BYTES_MAX);
    const struct at_explain_query query = {table, row, now_micros};
    if (code == AT_OK)
        code = at_explain_row(service->store, query, arena, &explanation, &error);
    if (code != AT_OK) {
        at_service_fail(service, call, &error);
        return;
    }
    Atoll__V1__ExplainResponse response = ATOLL__V1__EXPLAIN_RESPONSE__INIT;
    response.truncated = explanation.truncated;
    response.items = AT_ARENA_ARRAY(arena, Atoll__V1__StoredItem *, explanation.count + 1);
    for (uint32_t i = 0; i < explanation.count; i++)
        response.items[response.n_items++] = to_proto(service, arena, &explanation.items[i]);
    at_service_reply(service, call, &response.base);
}

static Atoll__V1__StoredItem *
to_proto(struct at_service *service, struct at_arena *arena, const struct at_explain_item *item)
{
    Atoll__V1__StoredItem *out = AT_ARENA_NEW(arena, Atoll__V1__StoredItem);

    atoll__v1__stored_item__init(out);
    out->kind = kind_of(item->kind);
    out->reason = reason_of(item);
    out->hidden_by = item->by == AT_EXPLAIN_NONE ? 0 : item->by + 1;
    out->hides = item->hides_count;
    out->cluster_id =
        at_arena_printf(arena, "%s", at_cluster_of_member(service, item->stamp.origin.v, arena));
    out->member_id = item->stamp.origin.v;
    out->hlc = item->stamp.hlc;
    out->family = at_arena_printf(arena, "%.*s", AT_SLICE_ARG(item->family));
    out->qualifier = borrow(item->qualifier);
    out->timestamp_micros = item->timestamp_micros;
    out->start_micros = item->start_micros;
    out->end_micros = item->end_micros;
    out->prefix = borrow(item->prefix);
    out->value = borrow(item->value);
    out->value_size = item->value_size;
    return out;
}

static Atoll__V1__StoredKind kind_of(enum at_explain_kind kind)
{
    switch (kind) {
    case AT_EXPLAIN_CELL:
        return ATOLL__V1__STORED_KIND__CELL;
    case AT_EXPLAIN_PARTIAL:
        return ATOLL__V1__STORED_KIND__PARTIAL;
    case AT_EXPLAIN_COLUMN_MARKER:
        return ATOLL__V1__STORED_KIND__COLUMN_MARKER;
    case AT_EXPLAIN_FAMILY_MARKER:
        return ATOLL__V1__STORED_KIND__FAMILY_MARKER;
    case AT_EXPLAIN_ROW_MARKER:
        return ATOLL__V1__STORED_KIND__ROW_MARKER;
    case AT_EXPLAIN_DROPPED_RANGE:
        return ATOLL__V1__STORED_KIND__DROPPED_RANGE;
    }
    return ATOLL__V1__STORED_KIND__STORED_KIND_UNSPECIFIED;
}

static Atoll__V1__ShowReason reason_of(const struct at_explain_item *item)
{
    if (item->kind != AT_EXPLAIN_CELL && item->kind != AT_EXPLAIN_PARTIAL)
        return ATOLL__V1__SHOW_REASON__SHOW_REASON_UNSPECIFIED;
    switch (item->reason) {
    case AT_EXPLAIN_SHOWS:
        return ATOLL__V1__SHOW_REASON__SHOWS;
    case AT_EXPLAIN_DELETED:
        return ATOLL__V1__SHOW_REASON__DELETED;
    case AT_EXPLAIN_OVERWRITTEN:
        return ATOLL__V1__SHOW_REASON__OVERWRITTEN;
    case AT_EXPLAIN_COLLECTED:
        return ATOLL__V1__SHOW_REASON__COLLECTED;
    case AT_EXPLAIN_OTHER_KIND:
        return ATOLL__V1__SHOW_REASON__OTHER_KIND;
    case AT_EXPLAIN_CONDEMNED:
        return ATOLL__V1__SHOW_REASON__CONDEMNED;
    }
    return ATOLL__V1__SHOW_REASON__SHOW_REASON_UNSPECIFIED;
}
