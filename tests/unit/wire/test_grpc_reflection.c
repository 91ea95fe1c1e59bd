/* Server reflection: each question and its answer, and a stream of them over loopback. */
#include "wire/grpc_reflection.h"

#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "grpc/reflection/v1/reflection.pb-c.h"
#include "support/test.h"
#include "wire/grpc_client.h"
#include "wire/proto_alloc.h"

#define CASE(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_##name
#define PATH "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
#define PATH_ALPHA "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"

typedef Grpc__Reflection__V1__ServerReflectionResponse response;

/* Bytes are field 3 (file), 4 (symbol), 5 (extension), 6 (numbers), 7 (list) of a request. */
struct question {
    const char *name;
    const char *bytes;
    int answer;
    int32_t error_code;
};

static const struct question QUESTIONS[] = {
    {"a file by its name", "\x1a\x1dgoogle/bigtable/v2/data.proto", CASE(FILE_DESCRIPTOR_RESPONSE),
     0},
    {"a file that is not there", "\x1a\x07x.proto", CASE(ERROR_RESPONSE), AT_NOT_FOUND},
    {"the file of a symbol", "\x22\x16google.bigtable.v2.Row", CASE(FILE_DESCRIPTOR_RESPONSE), 0},
    {"a symbol that is not there", "\x22\x04x.Yz", CASE(ERROR_RESPONSE), AT_NOT_FOUND},
    {"an extension", "\x2a\x05\x0a\x01x\x10\x01", CASE(ERROR_RESPONSE), AT_NOT_FOUND},
    {"the extensions of a message", "\x32\x16google.bigtable.v2.Row",
     CASE(ALL_EXTENSION_NUMBERS_RESPONSE), 0},
    {"the extensions of a service", "\x32\x1bgoogle.bigtable.v2.Bigtable", CASE(ERROR_RESPONSE),
     AT_NOT_FOUND},
    {"the services", "\x3a\x01*", CASE(LIST_SERVICES_RESPONSE), 0},
    {"nothing", "", CASE(ERROR_RESPONSE), AT_INVALID_ARGUMENT},
};

static void on_nothing(struct at_grpc_call *call, void *ctx)
{
    (void)call;
    (void)ctx;
}

static const struct at_grpc_method METHODS[] = {
    {"/google.bigtable.v2.Bigtable/ReadRows", on_nothing, NULL},
    {"/google.bigtable.v2.Bigtable/MutateRow", on_nothing, NULL},
    {"/grpc.health.v1.Health/Check", on_nothing, NULL},
};
static const struct at_grpc_reflection REFLECTION = {METHODS, 3};

static response *ask(struct at_arena *arena, const char *bytes)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf out;

    at_buf_init(&out, AT_MIB);
    assert_int_equal(at_grpc_reflection_answer(&REFLECTION, at_slice_cstr(bytes), &out), AT_OK);
    response *answer =
        at_proto_unpack(arena, &grpc__reflection__v1__server_reflection_response__descriptor,
                        at_arena_copy(arena, at_buf_slice(&out)));
    assert_non_null(answer);
    return answer;
}

static void test_question(void **state)
{
    const struct question *q = *state;
    struct at_arena arena;

    at_arena_init(&arena, 4096);
    response *answer = ask(&arena, q->bytes);
    assert_int_equal(answer->message_response_case, q->answer);
    assert_non_null(answer->original_request);
    if (q->answer == CASE(ERROR_RESPONSE))
        assert_int_equal(answer->error_response->error_code, q->error_code);
    at_arena_deinit(&arena);
}

static void each_service_of_the_server_is_listed_once(void **state)
{
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, 4096);
    const Grpc__Reflection__V1__ListServiceResponse *list =
        ask(&arena, "\x3a\x01*")->list_services_response;
    assert_int_equal(list->n_service, 2);
    assert_string_equal(list->service[0]->name, "google.bigtable.v2.Bigtable");
    assert_string_equal(list->service[1]->name, "grpc.health.v1.Health");
    at_arena_deinit(&arena);
}

static void malformed_questions_are_refused(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf out;

    (void)state;
    at_buf_init(&out, AT_MIB);
    assert_int_equal(at_grpc_reflection_answer(&REFLECTION, AT_LIT("\x22\x09x"), &out),
                     AT_INVALID_ARGUMENT);
    assert_int_equal(out.len, 0);
}

static void an_answer_that_has_no_room_is_refused(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf out;

    (void)state;
    at_buf_init(&out, 16);
    assert_int_equal(at_grpc_reflection_answer(&REFLECTION, AT_LIT("\x3a\x01*"), &out),
                     AT_RESOURCE_EXHAUSTED);
}

struct stream {
    struct at_loop *loop;
    unsigned messages;
    bool done;
    enum at_code code;
};

static void on_message(void *ctx, struct at_slice message)
{
    struct stream *s = ctx;

    assert_true(message.len > 0);
    s->messages++;
}

static void on_done(void *ctx, const struct at_grpc_result *result)
{
    struct stream *s = ctx;

    s->done = true;
    s->code = result->code;
    at_loop_stop(s->loop);
}

static void
call(struct at_grpc_channel *channel, struct stream *s, const char *path, struct at_slice message)
{
    static const struct at_grpc_client_handler HANDLER = {.on_message = on_message,
                                                          .on_done = on_done};
    struct at_grpc_client_request q = {
        .path = path, .message = message, .deadline_ns = UINT64_MAX, .handler = &HANDLER, .ctx = s};

    s->done = false;
    s->messages = 0;
    (void)at_grpc_client_start(channel, &q);
    while (!s->done)
        at_loop_run(s->loop);
}

static void both_versions_answer_over_the_wire(void **state)
{
    struct at_grpc_method methods[AT_GRPC_REFLECTION_METHODS];
    struct at_loop *loop = at_loop_new(at_clock_system());
    struct stream s = {.loop = at_loop_new(at_clock_system())};
    struct at_grpc_server *server = NULL;
    struct at_grpc_channel *channel = NULL;
    struct at_error error;

    (void)state;
    at_grpc_reflection_methods(&REFLECTION, methods);
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .loops = &loop,
                                           .loop_count = 1,
                                           .methods = methods,
                                           .method_count = AT_GRPC_REFLECTION_METHODS,
                                           .streams = at_grpc_reflection_streams(),
                                           .stream_count = AT_GRPC_REFLECTION_METHODS};
    assert_int_equal(at_grpc_server_open(&config, &server, &error), AT_OK);
    assert_int_equal(at_loop_start(loop, "server", &error), AT_OK);
    struct at_grpc_channel_config to = {.host = "127.0.0.1",
                                        .port = at_grpc_server_port(server),
                                        .connection_count = 1,
                                        .connect_timeout_ms = 20000};
    assert_int_equal(at_grpc_channel_open(s.loop, &to, &channel, &error), AT_OK);
    const char *paths[] = {PATH, PATH_ALPHA};
    for (int i = 0; i < 2; i++) {
        call(channel, &s, paths[i], AT_LIT("\x3a\x01*"));
        assert_int_equal(s.code, AT_OK);
        assert_int_equal(s.messages, 1);
        call(channel, &s, paths[i], AT_LIT("\x22\x09x"));
        assert_int_equal(s.code, AT_INVALID_ARGUMENT);
        assert_int_equal(s.messages, 0);
    }
    at_grpc_channel_close(&channel);
    at_loop_free(&s.loop);
    at_loop_stop(loop);
    at_loop_join(loop);
    at_grpc_server_close(&server);
    at_loop_free(&loop);
}

int main(void)
{
    enum { COUNT = sizeof(QUESTIONS) / sizeof(QUESTIONS[0]) };
    struct CMUnitTest tests[COUNT + 4];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = QUESTIONS[i].name,
                                       .test_func = test_question,
                                       .initial_state = (void *)(uintptr_t)&QUESTIONS[i]};
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(each_service_of_the_server_is_listed_once);
    tests[COUNT + 1] = (struct CMUnitTest)cmocka_unit_test(malformed_questions_are_refused);
    tests[COUNT + 2] = (struct CMUnitTest)cmocka_unit_test(an_answer_that_has_no_room_is_refused);
    tests[COUNT + 3] = (struct CMUnitTest)cmocka_unit_test(both_versions_answer_over_the_wire);
    return _cmocka_run_group_tests("grpc_reflection", tests, COUNT + 4, NULL, NULL);
}
