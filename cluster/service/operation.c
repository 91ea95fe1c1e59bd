#include "cluster/service/admin.h"

#include "base/assert.h"
#include "google/longrunning/operations.pb-c.h"

/* Operations are done when they are answered, so nothing needs to be kept of them: the name says
 * which resource was changed and by which stamp, and any member that has that change can tell, by
 * looking at the resource, that the operation is done. */

#define PREFIX "operations/"
#define MIDDLE "/operations/"
#define TYPE_PREFIX "type.googleapis.com/"

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

void at_operation_reply(struct at_service *service,
                        struct at_grpc_call *call,
                        const struct at_operation_answer *answer)
{
    struct at_arena *arena = at_grpc_call_arena(call);
    Google__Longrunning__Operation operation = GOOGLE__LONGRUNNING__OPERATION__INIT;

    operation.name = at_arena_printf(arena, PREFIX "%s" MIDDLE "%llu", answer->resource,
                                     (unsigned long long)answer->number);
    operation.done = true;
    operation.metadata = at_admin_any(arena, answer->metadata);
    operation.result_case = GOOGLE__LONGRUNNING__OPERATION__RESULT_RESPONSE;
    operation.response = at_admin_any(arena, answer->response);
    at_service_reply(service, call, &operation.base);
}

/* Splits "operations/<resource>/operations/<number>". */
static bool
parse_name(struct at_arena *arena, const char *name, char **ret_resource, uint64_t *ret_number)
{
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    const char *resource = name + strlen(PREFIX);
    const char *middle = strstr(resource, MIDDLE);
    const char *digits = middle ? middle + strlen(MIDDLE) : "";
    uint64_t number = 0;
    if (digits[0] == '\0' || strlen(digits) > 20)
        return false;
    for (; *digits >= '0' && *digits <= '9'; digits++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*digits - '0'), &number))
            return false;
    *ret_resource = at_admin_text(arena, at_slice_make(resource, (size_t)(middle - resource)));
    *ret_number = number;
    return *digits == '\0' && number > 0;
}

/* Each answers the call and returns true when the operation is one of its kind. */
static bool answer_profile(struct at_service *service,
                           struct at_grpc_call *call,
                           const struct at_catalog *catalog,
                           char *resource,
                           uint64_t number)
{
    static const Google__Bigtable__Admin__V2__UpdateAppProfileMetadata METADATA =
        GOOGLE__BIGTABLE__ADMIN__V2__UPDATE_APP_PROFILE_METADATA__INIT;
    Google__Bigtable__Admin__V2__AppProfile *profile;
    struct at_slice id;

    if (at_admin_child(service, resource, "/appProfiles/", &id, NULL) != AT_OK)
        return false;
    const struct at_named_record *record = at_catalog_named(catalog, AT_CATALOG_PROFILE, id);
    if (!record || number > record->stamp.hlc ||
        at_profile_view_render(service, record, at_grpc_call_arena(call), &profile, NULL) != AT_OK)
        return false;
    at_operation_reply(service, call,
                       &(struct at_operation_answer){.resource = resource,
                                                     .number = number,
                                                     .response = &profile->base,
                                                     .metadata = &METADATA.base});
    return true;
}

static bool answer_table(struct at_service *service,
                         struct at_grpc_call *call,
                         const struct at_catalog *catalog,
                         char *resource,
                         uint64_t number)
{
    Google__Bigtable__Admin__V2__UpdateTableMetadata metadata =
        GOOGLE__BIGTABLE__ADMIN__V2__UPDATE_TABLE_METADATA__INIT;
    Google__Bigtable__Admin__V2__Table *out;
    struct at_table_view view;
    struct at_slice id;
    int schema_view = GOOGLE__BIGTABLE__ADMIN__V2__TABLE__VIEW__SCHEMA_VIEW;

    if (at_admin_child(service, resource, "/tables/", &id, NULL) != AT_OK)
        return false;
    const struct at_table *table = at_catalog_table(catalog, id);
    if (!table || number > table->stamp.hlc ||
        at_table_view_init(&view, service, at_grpc_call_arena(call), schema_view, schema_view,
                           NULL) != AT_OK ||
        at_table_view_render(&view, table, &out, NULL) != AT_OK)
        return false;
    metadata.name = out->name;
    at_operation_reply(service, call,
                       &(struct at_operation_answer){.resource = resource,
                                                     .number = number,
                                                     .response = &out->base,
                                                     .metadata = &metadata.base});
    return true;
}

void at_on_get_operation(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    char *resource;
    uint64_t number;
    const Google__Longrunning__GetOperationRequest *in =
        at_service_unpack(service, call, &google__longrunning__get_operation_request__descriptor);

    if (!in)
        return;
    struct at_schema *schema = at_store_schema(service->store);
    bool found = parse_name(at_grpc_call_arena(call), in->name, &resource, &number) &&
                 (answer_profile(service, call, schema->catalog, resource, number) ||
                  answer_table(service, call, schema->catalog, resource, number));
    if (!found) {
        struct at_error error;
        enum at_code code = at_fail(&error, AT_NOT_FOUND, "Operation not found: %s", in->name);
        AT_ASSERT(code != AT_OK);
        at_service_fail(service, call, &error);
    }
    at_schema_unref(&schema);
}
