/* Errors as JSON. */
#include "routing/rest/error.h"

#include "google/protobuf/any.pb-c.h"
#include "google/rpc/status.pb-c.h"
#include "support/json_fixture.h"
#include "wire/proto_alloc.h"

static const char *write(enum at_code code, const char *message, struct at_slice status)
{
    static char text[4096];
    struct at_arena arena;
    struct at_buf out;
    at_arena_init(&arena, 4096);
    at_buf_init(&out, sizeof(text) - 1);
    assert_int_equal(at_rest_error_write(code, at_slice_cstr(message), status, &arena, &out),
                     AT_OK);
    memcpy(text, out.data, out.len);
    text[out.len] = '\0';
    at_buf_deinit(&out);
    at_arena_deinit(&arena);
    return text;
}

static void every_code_has_its_http_status(void **state)
{
    (void)state;
    static const uint32_t STATUSES[AT_CODE_COUNT] = {200, 499, 500, 400, 504, 404, 409, 403, 429,
                                                     400, 409, 400, 501, 500, 503, 500, 401};
    for (int i = 0; i < AT_CODE_COUNT; i++)
        assert_int_equal(at_rest_http_status((enum at_code)i), STATUSES[i]);
}

static void the_body_is_googles(void **state)
{
    (void)state;
    assert_string_equal(write(AT_NOT_FOUND, "no \"t\"", (struct at_slice){0}),
                        "{\"error\":{\"code\":404,\"message\":\"no \\\"t\\\"\",\"status\":"
                        "\"NOT_FOUND\"}}\n");
}

static void details_are_shown_where_their_type_is_known(void **state)
{
    (void)state;
    Google__Rpc__PreconditionFailure__Violation violation =
        GOOGLE__RPC__PRECONDITION_FAILURE__VIOLATION__INIT;
    char type[] = "T";
    violation.type = type;
    Google__Rpc__PreconditionFailure__Violation *violations[] = {&violation};
    Google__Rpc__PreconditionFailure failure = GOOGLE__RPC__PRECONDITION_FAILURE__INIT;
    failure.n_violations = 1;
    failure.violations = violations;
    uint8_t packed[64];
    Google__Protobuf__Any any = GOOGLE__PROTOBUF__ANY__INIT;
    Google__Protobuf__Any unknown = GOOGLE__PROTOBUF__ANY__INIT;
    char url[] = "type.googleapis.com/google.rpc.PreconditionFailure";
    char other[] = "type.googleapis.com/a.B";
    any.type_url = url;
    any.value.data = packed;
    any.value.len = protobuf_c_message_pack(&failure.base, packed);
    unknown.type_url = other;
    Google__Protobuf__Any *details[] = {&unknown, &any, &unknown};
    Google__Rpc__Status status = GOOGLE__RPC__STATUS__INIT;
    status.n_details = 3;
    status.details = details;
    uint8_t bytes[512];
    struct at_slice all = at_slice_make(bytes, protobuf_c_message_pack(&status.base, bytes));
    assert_string_equal(write(AT_FAILED_PRECONDITION, "m", all),
                        "{\"error\":{\"code\":400,\"message\":\"m\",\"status\":"
                        "\"FAILED_PRECONDITION\",\"details\":[{\"@type\":"
                        "\"type.googleapis.com/google.rpc.PreconditionFailure\",\"violations\":["
                        "{\"type\":\"T\"}]}]}}\n");
    assert_null(strstr(write(AT_ABORTED, "m", AT_LIT("\xff\xff")), "details"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_http_status),
        cmocka_unit_test(the_body_is_googles),
        cmocka_unit_test(details_are_shown_where_their_type_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
