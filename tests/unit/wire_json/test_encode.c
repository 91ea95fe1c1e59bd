/* Messages as JSON: the public rules of proto3's mapping. */
#include "wire/json/encode.h"

#include <math.h>

#include "google/longrunning/operations.pb-c.h"
#include "google/protobuf/any.pb-c.h"
#include "google/protobuf/wrappers.pb-c.h"
#include "support/json_fixture.h"

static struct at_arena arena;

static int set_up(void **state)
{
    (void)state;
    at_arena_init(&arena, 4096);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    at_arena_deinit(&arena);
    return 0;
}

static void default_values_are_left_out_and_oneofs_are_not(void **state)
{
    (void)state;
    Google__Bigtable__Admin__V2__Table table = GOOGLE__BIGTABLE__ADMIN__V2__TABLE__INIT;
    assert_string_equal(json_write(&table.base, &arena), "{}");
    Google__Bigtable__Admin__V2__GcRule rule = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__INIT;
    rule.rule_case = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_MAX_NUM_VERSIONS;
    assert_string_equal(json_write(&rule.base, &arena), "{\"maxNumVersions\":0}");
}

static void bytes_enums_and_wide_integers_are_strings(void **state)
{
    (void)state;
    uint8_t raw[] = {0xfb, 0xff, 0xfe, 0};
    Google__Protobuf__BytesValue bytes = GOOGLE__PROTOBUF__BYTES_VALUE__INIT;
    bytes.value = (ProtobufCBinaryData){.data = raw, .len = sizeof(raw)};
    assert_string_equal(json_write(&bytes.base, &arena), "\"+//+AA==\"");
    Google__Protobuf__Int64Value wide = GOOGLE__PROTOBUF__INT64_VALUE__INIT;
    wide.value = INT64_MIN;
    assert_string_equal(json_write(&wide.base, &arena), "\"-9223372036854775808\"");
    Google__Protobuf__UInt32Value narrow = GOOGLE__PROTOBUF__UINT32_VALUE__INIT;
    narrow.value = UINT32_MAX;
    assert_string_equal(json_write(&narrow.base, &arena), "4294967295");
    Google__Bigtable__Admin__V2__Cluster cluster = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
    cluster.state = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__STATE__READY;
    assert_string_equal(json_write(&cluster.base, &arena), "{\"state\":\"READY\"}");
    cluster.state = (Google__Bigtable__Admin__V2__Cluster__State)77;
    assert_string_equal(json_write(&cluster.base, &arena), "{\"state\":77}");
}

static void reals_that_are_no_numbers_are_strings(void **state)
{
    (void)state;
    Google__Protobuf__DoubleValue real = GOOGLE__PROTOBUF__DOUBLE_VALUE__INIT;
    real.value = 0.1;
    assert_string_equal(json_write(&real.base, &arena), "0.10000000000000001");
    real.value = -HUGE_VAL;
    assert_string_equal(json_write(&real.base, &arena), "\"-Infinity\"");
}

static void text_is_escaped(void **state)
{
    (void)state;
    Google__Protobuf__StringValue text = GOOGLE__PROTOBUF__STRING_VALUE__INIT;
    char value[] = "a\"b\\c\n\x01\xc3\xa9";
    text.value = value;
    assert_string_equal(json_write(&text.base, &arena), "\"a\\\"b\\\\c\\u000a\\u0001\xc3\xa9\"");
}

/* An Any of this type; in the arena. */
static Google__Protobuf__Any *any_of(const char *type, struct at_slice bytes)
{
    Google__Protobuf__Any *any = AT_ARENA_NEW(&arena, Google__Protobuf__Any);
    google__protobuf__any__init(any);
    any->type_url = at_arena_printf(&arena, "type.googleapis.com/%s", type);
    any->value = (ProtobufCBinaryData){.data = (uint8_t *)(uintptr_t)bytes.data, .len = bytes.len};
    return any;
}

static void an_any_shows_its_type_and_fields(void **state)
{
    (void)state;
    Google__Longrunning__Operation operation = GOOGLE__LONGRUNNING__OPERATION__INIT;
    operation.done = 1;
    operation.result_case = GOOGLE__LONGRUNNING__OPERATION__RESULT_RESPONSE;
    operation.response = any_of("google.bigtable.admin.v2.Table", AT_LIT("\x0a\x01t"));
    operation.metadata = any_of("google.protobuf.Duration", AT_LIT("\x08\x05"));
    assert_string_equal(json_write(&operation.base, &arena),
                        "{\"metadata\":{\"@type\":\"type.googleapis.com/google.protobuf.Duration\","
                        "\"value\":\"5s\"},\"done\":true,\"response\":{\"@type\":"
                        "\"type.googleapis.com/google.bigtable.admin.v2.Table\",\"name\":\"t\"}}");
}

static void an_any_that_cannot_be_shown_is_an_error(void **state)
{
    (void)state;
    struct at_buf out;
    at_buf_init(&out, 1024);
    const Google__Protobuf__Any *unknown = any_of("a.B", AT_LIT(""));
    const Google__Protobuf__Any *malformed =
        any_of("google.bigtable.admin.v2.Table", AT_LIT("\x0a\x7f"));
    assert_int_equal(at_json_encode(&json_pool, &unknown->base, &arena, &out), AT_INTERNAL);
    assert_int_equal(at_json_encode(&json_pool, &malformed->base, &arena, &out), AT_INTERNAL);
    at_buf_deinit(&out);
}

static void what_does_not_fit_is_an_error(void **state)
{
    (void)state;
    Google__Bigtable__Admin__V2__Table table = GOOGLE__BIGTABLE__ADMIN__V2__TABLE__INIT;
    char name[] = "projects/p/instances/i/tables/t";
    table.name = name;
    for (size_t max = 0; max < 42; max++) {
        struct at_buf out;
        at_buf_init(&out, max);
        enum at_code code = at_json_encode(&json_pool, &table.base, &arena, &out);
        assert_int_equal(
            code, max < strlen("{\"name\":\"\"}") + strlen(name) ? AT_RESOURCE_EXHAUSTED : AT_OK);
        at_buf_deinit(&out);
    }
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    Google__Bigtable__Admin__V2__GcRule *inner = NULL;
    for (int i = 0; i < AT_JSON_DEPTH_MAX; i++) {
        Google__Bigtable__Admin__V2__GcRule *rule =
            AT_ARENA_NEW(&arena, Google__Bigtable__Admin__V2__GcRule);
        google__bigtable__admin__v2__gc_rule__init(rule);
        if (inner) {
            rule->rule_case = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_UNION;
            rule->union_ = AT_ARENA_NEW(&arena, Google__Bigtable__Admin__V2__GcRule__Union);
            google__bigtable__admin__v2__gc_rule__union__init(rule->union_);
            rule->union_->n_rules = 1;
            rule->union_->rules = AT_ARENA_ARRAY(&arena, Google__Bigtable__Admin__V2__GcRule *, 1);
            rule->union_->rules[0] = inner;
        }
        inner = rule;
    }
    struct at_buf out;
    at_buf_init(&out, 1 << 20);
    assert_int_equal(at_json_encode(&json_pool, &inner->base, &arena, &out), AT_RESOURCE_EXHAUSTED);
    at_buf_deinit(&out);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(default_values_are_left_out_and_oneofs_are_not),
        TEST(bytes_enums_and_wide_integers_are_strings),
        TEST(reals_that_are_no_numbers_are_strings),
        TEST(text_is_escaped),
        TEST(an_any_shows_its_type_and_fields),
        TEST(an_any_that_cannot_be_shown_is_an_error),
        TEST(what_does_not_fit_is_an_error),
        TEST(nesting_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
