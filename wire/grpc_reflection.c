/* grpc_reflection.c: both versions of the protocol have the same messages, so one codec does. */
#include "wire/grpc_reflection.h"

#include "base/assert.h"
#include "base/limits.h"
#include "grpc/reflection/v1/reflection.pb-c.h"
#include "wire/proto_alloc.h"
#include "wire/proto_files.h"

#define QUESTION_BYTES_MAX ((size_t)64 * 1024)
/* Answers that wait for a client that does not read them; then its stream ends. */
#define WAITING_BYTES_MAX ((size_t)4 * 1024 * 1024)

#define CASE(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##name
#define ANSWER(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_##name

typedef Grpc__Reflection__V1__ServerReflectionRequest request;
typedef Grpc__Reflection__V1__ServerReflectionResponse response;

static enum at_code on_message(struct at_grpc_call *call, struct at_slice message, void *ctx)
{
    const struct at_grpc_reflection *reflection = ctx;

    if (message.len > QUESTION_BYTES_MAX)
        return AT_INVALID_ARGUMENT;
    if (at_grpc_call_pending_bytes(call) > WAITING_BYTES_MAX)
        return AT_RESOURCE_EXHAUSTED;
    enum at_code code = at_grpc_reflection_answer(reflection, message, at_grpc_call_begin(call));
    if (code == AT_OK)
        at_grpc_call_commit(call);
    else
        at_grpc_call_abandon(call);
    return code;
}

static void on_end(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    at_grpc_call_finish(call, AT_OK, at_slice_make(NULL, 0), at_slice_make(NULL, 0));
}

static const struct at_grpc_stream STREAMS[AT_GRPC_REFLECTION_METHODS] = {
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", on_message},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", on_message},
};

const struct at_grpc_stream *at_grpc_reflection_streams(void)
{
    return STREAMS;
}

void at_grpc_reflection_methods(const struct at_grpc_reflection *reflection,
                                struct at_grpc_method *ret_methods)
{
    union {
        const void *in;
        void *out;
    } ctx = {.in = reflection};

    for (size_t i = 0; i < AT_GRPC_REFLECTION_METHODS; i++)
        ret_methods[i] =
            (struct at_grpc_method){.path = STREAMS[i].path, .on_request = on_end, .ctx = ctx.out};
}

static void fail(struct at_arena *arena, enum at_code code, const char *what, response *out)
{
    Grpc__Reflection__V1__ErrorResponse *error =
        AT_ARENA_NEW(arena, Grpc__Reflection__V1__ErrorResponse);

    grpc__reflection__v1__error_response__init(error);
    error->error_code = (int32_t)code;
    error->error_message = at_arena_printf(arena, "%s", what);
    out->message_response_case = ANSWER(ERROR_RESPONSE);
    out->error_response = error;
}

/* The service in "/package.Service/Method". */
static struct at_slice service_of(const char *path)
{
    const char *slash = strchr(path + 1, '/');

    AT_ASSERT(path[0] == '/' && slash != NULL);
    return at_slice_make(path + 1, (size_t)(slash - path) - 1);
}

static bool listed(const Grpc__Reflection__V1__ListServiceResponse *list, struct at_slice name)
{
    for (size_t i = 0; i < list->n_service; i++)
        if (at_slice_eq_cstr(name, list->service[i]->name))
            return true;
    return false;
}

static void
list_services(const struct at_grpc_reflection *reflection, struct at_arena *arena, response *out)
{
    Grpc__Reflection__V1__ListServiceResponse *list =
        AT_ARENA_NEW(arena, Grpc__Reflection__V1__ListServiceResponse);

    grpc__reflection__v1__list_service_response__init(list);
    list->service = AT_ARENA_ARRAY(arena, Grpc__Reflection__V1__ServiceResponse *,
                                   reflection->method_count + 1);
    for (size_t i = 0; i < reflection->method_count; i++) {
        struct at_slice name = service_of(reflection->methods[i].path);
        if (listed(list, name))
            continue;
        Grpc__Reflection__V1__ServiceResponse *service =
            AT_ARENA_NEW(arena, Grpc__Reflection__V1__ServiceResponse);
        grpc__reflection__v1__service_response__init(service);
        service->name = at_arena_printf(arena, "%.*s", AT_SLICE_ARG(name));
        list->service[list->n_service++] = service;
    }
    out->message_response_case = ANSWER(LIST_SERVICES_RESPONSE);
    out->list_services_response = list;
}

/* Bytes that protobuf-c packs and does not change. */
static ProtobufCBinaryData bytes_of(struct at_slice s)
{
    union {
        const uint8_t *in;
        uint8_t *out;
    } data = {.in = s.data};

    return (ProtobufCBinaryData){.len = s.len, .data = data.out};
}

static void tell_file(struct at_slice file, struct at_arena *arena, const char *what, response *out)
{
    struct at_slice *files;

    if (file.len == 0) {
        fail(arena, AT_NOT_FOUND, at_arena_printf(arena, "not found: %s", what), out);
        return;
    }
    size_t count = at_proto_files_needed(at_proto_files_own(), file, arena, &files);
    Grpc__Reflection__V1__FileDescriptorResponse *answer =
        AT_ARENA_NEW(arena, Grpc__Reflection__V1__FileDescriptorResponse);
    grpc__reflection__v1__file_descriptor_response__init(answer);
    answer->n_file_descriptor_proto = count;
    answer->file_descriptor_proto = AT_ARENA_ARRAY(arena, ProtobufCBinaryData, count);
    for (size_t i = 0; i < count; i++)
        answer->file_descriptor_proto[i] = bytes_of(files[i]);
    out->message_response_case = ANSWER(FILE_DESCRIPTOR_RESPONSE);
    out->file_descriptor_response = answer;
}

static void tell_extensions(char *type, struct at_arena *arena, response *out)
{
    if (!at_proto_has_message(at_proto_files_own(), at_slice_cstr(type))) {
        fail(arena, AT_NOT_FOUND, at_arena_printf(arena, "not found: %s", type), out);
        return;
    }
    Grpc__Reflection__V1__ExtensionNumberResponse *answer =
        AT_ARENA_NEW(arena, Grpc__Reflection__V1__ExtensionNumberResponse);
    grpc__reflection__v1__extension_number_response__init(answer);
    answer->base_type_name = type;
    out->message_response_case = ANSWER(ALL_EXTENSION_NUMBERS_RESPONSE);
    out->all_extension_numbers_response = answer;
}

static void decide(const struct at_grpc_reflection *reflection,
                   const request *in,
                   struct at_arena *arena,
                   response *out)
{
    struct at_slice set = at_proto_files_own();

    switch (in->message_request_case) {
    case CASE(FILE_BY_FILENAME):
        tell_file(at_proto_file_named(set, at_slice_cstr(in->file_by_filename)), arena,
                  in->file_by_filename, out);
        return;
    case CASE(FILE_CONTAINING_SYMBOL):
        tell_file(at_proto_file_defining(set, at_slice_cstr(in->file_containing_symbol)), arena,
                  in->file_containing_symbol, out);
        return;
    case CASE(FILE_CONTAINING_EXTENSION):
        fail(arena, AT_NOT_FOUND, "there are no extensions", out);
        return;
    case CASE(ALL_EXTENSION_NUMBERS_OF_TYPE):
        tell_extensions(in->all_extension_numbers_of_type, arena, out);
        return;
    case CASE(LIST_SERVICES):
        list_services(reflection, arena, out);
        return;
    case CASE(_NOT_SET):
    default: /* the generated enum has one more, for its size */
        break;
    }
    fail(arena, AT_INVALID_ARGUMENT, "the request asks for nothing", out);
}

enum at_code at_grpc_reflection_answer(const struct at_grpc_reflection *reflection,
                                       struct at_slice message,
                                       struct at_buf *out)
{
    struct at_arena arena;
    response answer = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;

    at_arena_init(&arena, 4 * AT_KIB);
    request *in = at_proto_unpack(
        &arena, &grpc__reflection__v1__server_reflection_request__descriptor, message);
    enum at_code code = AT_INVALID_ARGUMENT;
    if (in) {
        answer.valid_host = in->host;
        answer.original_request = in;
        decide(reflection, in, &arena, &answer);
        code = at_proto_pack(out, &answer.base);
    }
    at_arena_deinit(&arena);
    return code;
}
