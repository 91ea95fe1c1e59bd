#include "cluster/service/operation.h"

#include "base/assert.h"
#include "cluster/service/admin.h"
#include "cluster/service/cluster_progress.h"

/* Names say which resource was changed and when; what else there is to know is in the record. Lists
 * go by name, within a project, an instance, or whatever else stands before "/operations". */

#define PREFIX "operations/"
#define MIDDLE "/operations/"
#define TAIL "/operations"
#define TYPE_PREFIX "type.googleapis.com/"

struct operation_write {
    struct at_change change; /* first */
    Google__Longrunning__Operation *operation;
    struct at_slice fields;
};

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);

Google__Protobuf__Any *at_admin_any(struct at_arena *arena, const ProtobufCMessage *message)
{
    Google__Protobuf__Any *any = AT_ARENA_NEW(arena, Google__Protobuf__Any);
    struct at_slice bytes = at_admin_pack(arena, message);

    google__protobuf__any__init(any);
    any->type_url = at_arena_printf(arena, TYPE_PREFIX "%s", message->descriptor->name);
    any->value.len = bytes.len;
    any->value.data = at_arena_alloc_raw(arena, bytes.len + 1);
    memcpy(any->value.data, bytes.data, bytes.len);
    return any;
}

Google__Protobuf__Timestamp *at_admin_time(struct at_arena *arena, uint64_t wall_ns)
{
    Google__Protobuf__Timestamp *t = AT_ARENA_NEW(arena, Google__Protobuf__Timestamp);

    google__protobuf__timestamp__init(t);
    t->seconds = (int64_t)(wall_ns / AT_S_NS);
    t->nanos = (int32_t)(wall_ns % AT_S_NS);
    return t;
}

char *at_operation_name(struct at_arena *arena, const char *resource, uint64_t number)
{
    return at_arena_printf(arena, PREFIX "%s" MIDDLE "%llu", resource, (unsigned long long)number);
}

/* The change stands already: whether its operation could be recorded or not, it is answered. */
static void on_recorded(struct at_change *change)
{
    const struct operation_write *w = (struct operation_write *)change;

    at_service_reply(change->service, change->call, &w->operation->base);
}

void at_operation_reply(struct at_service *service,
                        struct at_grpc_call *call,
                        const struct at_operation_answer *answer)
{
    struct at_arena *arena = at_grpc_call_arena(call);
    struct operation_write *w = AT_ARENA_NEW(arena, struct operation_write);
    Google__Longrunning__Operation *operation = AT_ARENA_NEW(arena, Google__Longrunning__Operation);

    google__longrunning__operation__init(operation);
    operation->name = at_operation_name(arena, answer->resource, answer->number);
    operation->done = true;
    operation->metadata = at_admin_any(arena, answer->metadata);
    operation->result_case = GOOGLE__LONGRUNNING__OPERATION__RESULT_RESPONSE;
    operation->response = at_admin_any(arena, answer->response);
    w->operation = operation;
    w->fields = at_admin_pack(arena, &operation->base);
    w->change = (struct at_change){.service = service,
                                   .call = call,
                                   .write.decide = decide,
                                   .reply = on_recorded,
                                   .refuse = on_recorded};
    at_change_submit(&w->change);
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    const struct operation_write *w = (struct operation_write *)at_change_of(write);
    struct at_slice name = at_slice_cstr(w->operation->name);

    (void)reterr;
    if (at_catalog_named_counter(catalog, AT_CATALOG_OPERATION, name) == 0)
        *at_change_record(write, 1) = (struct at_catalog_record){
            .kind = AT_CATALOG_OPERATION, .name = name, .counter = 1, .fields = w->fields};
    return AT_OK;
}

static Google__Longrunning__Operation *read_record(struct at_service *service,
                                                   const struct at_catalog *catalog,
                                                   const struct at_named_record *record,
                                                   struct at_arena *arena)
{
    Google__Longrunning__Operation *operation = at_proto_unpack(
        arena, &google__longrunning__operation__descriptor, at_arena_copy(arena, record->fields));

    if (!operation)
        return NULL;
    operation->name = at_admin_text(arena, record->name);
    if (!operation->done)
        at_cluster_progress_fill(service, catalog, operation, arena);
    return operation;
}

Google__Longrunning__Operation *
at_operation_find(struct at_service *service, struct at_arena *arena, const char *name)
{
    struct at_schema *schema = at_store_schema(service->store);
    const struct at_named_record *record =
        at_catalog_named(schema->catalog, AT_CATALOG_OPERATION, at_slice_cstr(name));
    Google__Longrunning__Operation *operation =
        record ? read_record(service, schema->catalog, record, arena) : NULL;

    at_schema_unref(&schema);
    return operation;
}

void at_on_get_operation(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Longrunning__GetOperationRequest *in =
        at_service_unpack(service, call, &google__longrunning__get_operation_request__descriptor);

    if (!in)
        return;
    const Google__Longrunning__Operation *operation =
        at_operation_find(service, at_grpc_call_arena(call), in->name);
    if (operation) {
        at_service_reply(service, call, &operation->base);
        return;
    }
    enum at_code code = at_fail(&error, AT_NOT_FOUND, "Operation not found: %s", in->name);
    AT_ASSERT(code != AT_OK);
    at_service_fail(service, call, &error);
}

/* "operations/projects/P[/instances/I...][/operations]" becomes what names begin with. Of an
 * instance "-" all are meant. */
static enum at_code list_prefix(const char *name, struct at_slice *ret_prefix, struct at_error *e)
{
    struct at_slice rest = at_slice_cstr(name);
    struct at_slice tail = AT_LIT(TAIL);
    struct at_slice any = AT_LIT("/instances/-");

    if (!at_slice_has_prefix(rest, AT_LIT(PREFIX "projects/")))
        return at_fail(e, AT_INVALID_ARGUMENT,
                       "Invalid name '%s': operations/projects/<project> is expected", name);
    if (rest.len > tail.len && at_slice_eq(at_slice_from(rest, rest.len - tail.len), tail))
        rest.len -= tail.len;
    if (rest.len > any.len && at_slice_eq(at_slice_from(rest, rest.len - any.len), any))
        rest.len -= any.len;
    *ret_prefix = rest;
    return AT_OK;
}

static bool is_below(struct at_slice prefix, struct at_slice name)
{
    return at_slice_has_prefix(name, prefix) && name.len > prefix.len &&
           name.data[prefix.len] == '/';
}

static enum at_code list_in(struct at_service *service,
                            struct at_arena *arena,
                            const Google__Longrunning__ListOperationsRequest *in,
                            const struct at_catalog *catalog,
                            Google__Longrunning__ListOperationsResponse *out,
                            struct at_error *reterr)
{
    struct at_admin_page page;
    struct at_slice prefix = {0};
    uint32_t count = at_catalog_named_count(catalog, AT_CATALOG_OPERATION);

    AT_TRY(list_prefix(in->name, &prefix, reterr));
    AT_TRY(at_admin_page_decode(in->page_size, in->page_token, arena, &page, reterr));
    out->operations = AT_ARENA_ARRAY(arena, Google__Longrunning__Operation *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct at_named_record *record =
            at_catalog_named_at(catalog, AT_CATALOG_OPERATION, i);
        if (!is_below(prefix, record->name) || at_slice_cmp(record->name, page.after) <= 0)
            continue;
        if (out->n_operations == page.size) {
            out->next_page_token = at_admin_page_token(arena, page.after);
            break;
        }
        Google__Longrunning__Operation *operation = read_record(service, catalog, record, arena);
        if (operation)
            out->operations[out->n_operations++] = operation;
        page.after = record->name;
    }
    return AT_OK;
}

void at_on_list_operations(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    Google__Longrunning__ListOperationsResponse out =
        GOOGLE__LONGRUNNING__LIST_OPERATIONS_RESPONSE__INIT;
    const Google__Longrunning__ListOperationsRequest *in =
        at_service_unpack(service, call, &google__longrunning__list_operations_request__descriptor);

    if (!in)
        return;
    struct at_schema *schema = at_store_schema(service->store);
    if (list_in(service, at_grpc_call_arena(call), in, schema->catalog, &out, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_service_reply(service, call, &out.base);
    at_schema_unref(&schema);
}
