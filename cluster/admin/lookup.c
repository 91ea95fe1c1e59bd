#include "cluster/admin/lookup.h"

#include "base/assert.h"

void at_lookup_answer(struct at_service *service,
                      struct at_grpc_call *call,
                      const ProtobufCMessageDescriptor *request,
                      at_lookup_fn find)
{
    const ProtobufCMessage *answer = NULL;
    struct at_error error;
    const void *in = at_service_unpack(service, call, request);

    if (!in)
        return;
    struct at_schema *schema = at_store_schema(service->store);
    const struct at_lookup lookup = {
        .service = service, .arena = at_grpc_call_arena(call), .catalog = schema->catalog};
    if (find(&lookup, in, &answer, &error) == AT_OK) {
        AT_ASSERT(answer != NULL);
        at_service_reply(service, call, answer);
    } else {
        at_service_fail(service, call, &error);
    }
    at_schema_unref(&schema);
}
