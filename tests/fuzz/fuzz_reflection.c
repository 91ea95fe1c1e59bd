/* fuzz_reflection: any bytes as a question to server reflection, and as the set of descriptors that
 * symbols are looked up in; an answer must be readable. */
#include "base/assert.h"
#include "base/limits.h"
#include "grpc/reflection/v1/reflection.pb-c.h"
#include "wire/grpc_reflection.h"
#include "wire/proto_alloc.h"
#include "wire/proto_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_nothing(struct at_grpc_call *call, void *ctx)
{
    (void)call;
    (void)ctx;
}

static void ask(struct at_slice question)
{
    static const struct at_grpc_method METHODS[] = {{"/a.B/C", on_nothing, NULL}};
    static const struct at_grpc_reflection REFLECTION = {METHODS, 1};
    struct at_arena arena;
    struct at_buf out;

    at_arena_init(&arena, 4096);
    at_buf_init(&out, 16 * AT_MIB);
    if (at_grpc_reflection_answer(&REFLECTION, question, &out) == AT_OK) {
        const Grpc__Reflection__V1__ServerReflectionResponse *answer =
            at_proto_unpack(&arena, &grpc__reflection__v1__server_reflection_response__descriptor,
                            at_buf_slice(&out));
        AT_ASSERT(answer != NULL && answer->message_response_case != 0);
    }
    at_buf_deinit(&out);
    at_arena_deinit(&arena);
}

/* The first half is the set, the second one the name. */
static void look_up(struct at_slice input)
{
    struct at_slice set = at_slice_make(input.data, input.len / 2);
    struct at_slice name = at_slice_from(input, input.len / 2);
    struct at_slice *files;
    struct at_arena arena;

    at_arena_init(&arena, 4096);
    struct at_slice file = at_proto_file_defining(set, name);
    if (file.len == 0)
        file = at_proto_file_named(set, name);
    if (file.len > 0)
        AT_ASSERT(at_proto_files_needed(set, file, &arena, &files) >= 1);
    at_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ask(at_slice_make(data, size));
    look_up(at_slice_make(data, size));
    return 0;
}
