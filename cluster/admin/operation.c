#include "cluster/admin/operation.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/admin/admin.h"
#include "cluster/admin/cluster_progress.h"
#include "cluster/admin/lookup.h"
#include "google/rpc/status.pb-c.h"

/* Names say which resource was changed and when; what else there is to know is in the record. Lists
 * go by name, within a project, an instance, or whatever else stands before "/operations". */

typedef Google__Longrunning__Operation operation_t;
typedef Google__Longrunning__ListOperationsResponse list_t;

#define PREFIX "operations/"
#define MIDDLE "/operations/"
#define TAIL "/operations"
#define TYPE_PREFIX "type.googleapis.com/"

#define NUMBER_STEP 256 /* nanoseconds; below it stands who made the operation */

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

/* at_change_record left room for it. */
static void put_record(struct at_change *change)
{
    struct at_write_catalog *write = &change->write;

    AT_ASSERT(write->record_count > 0 && change->operation);
    write->records[write->record_count++] = (struct at_catalog_record){
        .kind = AT_CATALOG_OPERATION,
        .name = at_slice_cstr(change->operation->name),
        .counter = 1,
        .fields = at_admin_pack(write->arena, &change->operation->base),
    };
}

void at_operation_reply(struct at_change *change)
{
    AT_ASSERT(change->operation != NULL);
    at_service_reply(change->service, change->call, &change->operation->base);
}

/* --- an operation that begins with its change --- */

void at_operation_begin(struct at_change *change,
                        const char *resource,
                        uint64_t number,
                        const ProtobufCMessage *metadata)
{
    struct at_arena *arena = change->write.arena;

    change->operation = AT_ARENA_NEW(arena, operation_t);
    google__longrunning__operation__init(change->operation);
    change->operation->name = at_operation_name(arena, resource, number);
    change->operation->metadata = at_admin_any(arena, metadata);
    put_record(change);
}

/* --- an operation that is done with its change --- */

/* Two members may begin at the same time. */
static char *
unused_name(const struct at_change *change, const struct at_catalog *catalog, const char *resource)
{
    const struct at_service *service = change->service;
    uint64_t now_ns = at_clock_wall_ns(&service->clock);
    uint64_t number = now_ns - now_ns % NUMBER_STEP + service->member % NUMBER_STEP;
    char *name;

    do {
        name = at_operation_name(change->write.arena, resource, number);
        number += NUMBER_STEP;
    } while (at_catalog_named_counter(catalog, AT_CATALOG_OPERATION, at_slice_cstr(name)) > 0);
    return name;
}

static enum at_code
make_operation(struct at_change *change, const struct at_catalog *catalog, struct at_error *reterr)
{
    AT_CLEANUP(at_catalog_free) struct at_catalog *after = NULL;
    struct at_write_catalog *write = &change->write;
    struct at_operation_answer answer = {0};
    operation_t *operation = AT_ARENA_NEW(write->arena, operation_t);

    /* Later than what there is, as they will be. */
    for (uint32_t i = 0; i < write->record_count; i++)
        write->records[i].stamp = (struct at_stamp){UINT64_MAX, {change->service->member}};
    AT_TRY(at_catalog_apply(catalog, write->records, write->record_count, NULL, &after, reterr));
    AT_TRY(change->answer(change, after, &answer, reterr));
    google__longrunning__operation__init(operation);
    operation->name = unused_name(change, catalog, answer.resource);
    operation->done = true;
    operation->metadata = at_admin_any(write->arena, answer.metadata);
    operation->result_case = GOOGLE__LONGRUNNING__OPERATION__RESULT_RESPONSE;
    operation->response = at_admin_any(write->arena, answer.response);
    change->operation = operation;
    return AT_OK;
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    struct at_change *change = at_change_of(write);

    AT_TRY(change->decide(write, catalog, reterr));
    AT_ASSERT(write->record_count > 0);
    AT_TRY(make_operation(change, catalog, reterr));
    put_record(change);
    return AT_OK;
}

void at_operation_submit(struct at_change *change, at_operation_answer_fn answer)
{
    AT_ASSERT(change->write.decide && answer);
    change->decide = change->write.decide;
    change->answer = answer;
    change->write.decide = decide;
    change->reply = at_operation_reply;
    at_change_submit(change);
}

struct at_slice at_operation_ended(const struct at_named_record *record,
                                   struct at_arena *arena,
                                   enum at_code code,
                                   const char *message)
{
    operation_t *operation = at_proto_unpack(arena, &google__longrunning__operation__descriptor,
                                             at_arena_copy(arena, record->fields));
    Google__Rpc__Status *status = AT_ARENA_NEW(arena, Google__Rpc__Status);

    if (!operation)
        return at_slice_make(NULL, 0);
    google__rpc__status__init(status);
    status->code = (int32_t)code;
    status->message = at_arena_printf(arena, "%s", message);
    operation->done = true;
    operation->result_case = GOOGLE__LONGRUNNING__OPERATION__RESULT_ERROR;
    operation->error = status;
    return at_admin_pack(arena, &operation->base);
}

/* --- looking --- */

static operation_t *read_record(struct at_service *service,
                                const struct at_catalog *catalog,
                                const struct at_named_record *record,
                                struct at_arena *arena)
{
    operation_t *operation = at_proto_unpack(arena, &google__longrunning__operation__descriptor,
                                             at_arena_copy(arena, record->fields));

    if (!operation)
        return NULL;
    operation->name = at_admin_text(arena, record->name);
    if (!operation->done)
        at_cluster_progress_fill(service, catalog, operation, arena);
    return operation;
}

static operation_t *find(struct at_service *service,
                         const struct at_catalog *catalog,
                         const char *name,
                         struct at_arena *arena)
{
    const struct at_named_record *record =
        at_catalog_named(catalog, AT_CATALOG_OPERATION, at_slice_cstr(name));

    return record ? read_record(service, catalog, record, arena) : NULL;
}

operation_t *at_operation_find(struct at_service *service, struct at_arena *arena, const char *name)
{
    struct at_schema *schema = at_store_schema(service->store);
    operation_t *operation = find(service, schema->catalog, name, arena);

    at_schema_unref(&schema);
    return operation;
}

static enum at_code fail_unknown(const char *name, struct at_error *reterr)
{
    return at_fail(reterr, AT_NOT_FOUND, "Operation not found: %s", name);
}

void at_operation_fail_unknown(struct at_service *service,
                               struct at_grpc_call *call,
                               const char *name)
{
    struct at_error error;
    enum at_code code = fail_unknown(name, &error);

    AT_ASSERT(code != AT_OK);
    at_service_fail(service, call, &error);
}

static enum at_code get(const struct at_lookup *lookup,
                        const void *request,
                        const ProtobufCMessage **ret_answer,
                        struct at_error *reterr)
{
    const Google__Longrunning__GetOperationRequest *in = request;
    operation_t *out = find(lookup->service, lookup->catalog, in->name, lookup->arena);

    if (!out)
        return fail_unknown(in->name, reterr);
    *ret_answer = &out->base;
    return AT_OK;
}

void at_on_get_operation(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__longrunning__get_operation_request__descriptor, get);
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

/* "done:true", "done = false"; or nothing: both are meant. */
static enum at_code list_filter(const char *filter, int *ret_done, struct at_error *reterr)
{
    static const char DONE[] = "done";
    char text[16] = {0};
    size_t len = 0;

    *ret_done = -1;
    for (const char *c = filter; *c; c++)
        if (*c != ' ' && len < sizeof(text) - 1)
            text[len++] = *c;
    if (len == 0)
        return AT_OK;
    const char *value = text + sizeof(DONE);
    if (memcmp(text, DONE, sizeof(DONE) - 1) == 0 && (value[-1] == ':' || value[-1] == '=')) {
        if (strcmp(value, "true") == 0)
            *ret_done = 1;
        else if (strcmp(value, "false") == 0)
            *ret_done = 0;
    }
    return *ret_done >= 0 ? AT_OK
                          : at_fail(reterr, AT_INVALID_ARGUMENT,
                                    "Error in field 'filter' : only done:true and done:false are "
                                    "supported");
}

static bool is_below(struct at_slice prefix, struct at_slice name)
{
    return at_slice_has_prefix(name, prefix) && name.len > prefix.len &&
           name.data[prefix.len] == '/';
}

static enum at_code list(const struct at_lookup *lookup,
                         const void *request,
                         const ProtobufCMessage **ret_answer,
                         struct at_error *reterr)
{
    const Google__Longrunning__ListOperationsRequest *in = request;
    const struct at_catalog *catalog = lookup->catalog;
    struct at_arena *arena = lookup->arena;
    list_t *out = AT_ARENA_NEW(arena, list_t);
    struct at_admin_page page;
    struct at_slice prefix = {0};
    uint32_t count = at_catalog_named_count(catalog, AT_CATALOG_OPERATION);
    int done = -1;

    google__longrunning__list_operations_response__init(out);
    AT_TRY(list_prefix(in->name, &prefix, reterr));
    AT_TRY(list_filter(in->filter, &done, reterr));
    AT_TRY(at_admin_page_decode(in->page_size, in->page_token, arena, &page, reterr));
    out->operations = AT_ARENA_ARRAY(arena, operation_t *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct at_named_record *record =
            at_catalog_named_at(catalog, AT_CATALOG_OPERATION, i);
        if (!is_below(prefix, record->name) || at_slice_cmp(record->name, page.after) <= 0)
            continue;
        operation_t *operation = read_record(lookup->service, catalog, record, arena);
        if (!operation || (done >= 0 && operation->done != (done == 1)))
            continue;
        if (out->n_operations == page.size) {
            out->next_page_token = at_admin_page_token(arena, page.after);
            break;
        }
        out->operations[out->n_operations++] = operation;
        page.after = record->name;
    }
    *ret_answer = &out->base;
    return AT_OK;
}

void at_on_list_operations(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__longrunning__list_operations_request__descriptor, list);
}
