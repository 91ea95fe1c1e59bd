/* JSON to messages: what is accepted in which spelling, what is refused, and round trips. */
#include "wire/json/decode.h"

#include "google/longrunning/operations.pb-c.h"
#include "google/protobuf/wrappers.pb-c.h"
#include "support/json_fixture.h"

#define ADMIN(message) (&google__bigtable__admin__v2__##message##__descriptor)
#define WRAPPER(message) (&google__protobuf__##message##__descriptor)

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

struct decode_case {
    const ProtobufCMessageDescriptor *descriptor;
    const char *text;
    const char *same; /* as it is written again; NULL: refused; "=": as it was */
};

static const struct decode_case ACCEPTED[] = {
    {ADMIN(table), "{}", "="},
    {ADMIN(table), "{\"name\":null,\"column_families\":{}}", "{}"},
    {ADMIN(table),
     "{\"clusterStates\":{\"c1\":{\"replicationState\":\"READY\"}},\"columnFamilies\":{\"f\":{"
     "\"gcRule\":{\"union\":{\"rules\":[{\"maxNumVersions\":5},{\"maxAge\":\"86400s\"}]}}},\"g\":{}"
     "},\"granularity\":\"MILLIS\",\"deletionProtection\":true}",
     "="},
    {ADMIN(table), "{\"change_stream_config\":{\"retention_period\":\"1.5s\"},\"granularity\":1}",
     "{\"granularity\":\"MILLIS\",\"changeStreamConfig\":{\"retentionPeriod\":\"1.500s\"}}"},
    {ADMIN(app_profile),
     "{\"name\":\"n\",\"etag\":\"e\",\"description\":\"d\",\"multiClusterRoutingUseAny\":{"
     "\"clusterIds\":[\"a\",\"b\"],\"rowAffinity\":{}},\"standardIsolation\":{\"priority\":"
     "\"PRIORITY_HIGH\"}}",
     "="},
    {ADMIN(app_profile),
     "{\"singleClusterRouting\":{\"clusterId\":\"c\",\"allowTransactionalWrites\":\"True\"}}",
     "{\"singleClusterRouting\":{\"clusterId\":\"c\",\"allowTransactionalWrites\":true}}"},
    {ADMIN(app_profile), "{\"dataBoostIsolationReadOnly\":{\"computeBillingOwner\":\"HOST_PAYS\"}}",
     "="},
    {ADMIN(instance),
     "{\"name\":\"n\",\"displayName\":\"d\",\"state\":\"READY\",\"type\":\"PRODUCTION\",\"labels\":"
     "{\"k\":\"v\"},\"createTime\":\"2026-01-02T03:04:05Z\",\"satisfiesPzs\":false}",
     "="},
    {ADMIN(cluster),
     "{\"name\":\"n\",\"location\":\"l\",\"state\":\"READY\",\"serveNodes\":3,"
     "\"defaultStorageType\":\"SSD\",\"clusterConfig\":{\"clusterAutoscalingConfig\":{"
     "\"autoscalingLimits\":{\"minServeNodes\":1,\"maxServeNodes\":5},\"autoscalingTargets\":{"
     "\"cpuUtilizationPercent\":60}}}}",
     "="},
    {ADMIN(create_table_request),
     "{\"initialSplits\":[{\"key\":\"-_8=\"},{\"key\":\"+/8\"},{\"key\":\"\"}]}",
     "{\"initialSplits\":[{\"key\":\"+/8=\"},{\"key\":\"+/8=\"},{}]}"},
    {ADMIN(create_instance_request),
     "{\"parent\":\"p\",\"instanceId\":\"i\",\"clusters\":{\"c1\":{\"serveNodes\":1},\"c2\":{}}}",
     "="},
    {ADMIN(update_app_profile_request),
     "{\"updateMask\":\"singleClusterRouting.clusterId,description\",\"ignoreWarnings\":\"FALSE\"}",
     "{\"updateMask\":\"singleClusterRouting.clusterId,description\"}"},
    {ADMIN(update_app_profile_request), "{\"update_mask\":\"single_cluster_routing.cluster_id\"}",
     "{\"updateMask\":\"singleClusterRouting.clusterId\"}"},
    {ADMIN(modify_column_families_request),
     "{\"name\":\"t\",\"modifications\":[{\"id\":\"f\",\"create\":{}},{\"id\":\"g\",\"drop\":true},"
     "{\"id\":\"h\",\"update\":{},\"updateMask\":\"gcRule\"}]}",
     "="},
    {ADMIN(drop_row_range_request), "{\"name\":\"t\",\"deleteAllDataFromTable\":false}", "="},
    {ADMIN(drop_row_range_request), "{\"name\":\"t\",\"rowKeyPrefix\":\"\"}", "="},
    {ADMIN(list_tables_response), "{\"tables\":[{\"name\":\"a\"},{}],\"nextPageToken\":\"x\"}",
     "="},
    {ADMIN(create_cluster_metadata),
     "{\"requestTime\":\"2026-01-02T03:04:05.006Z\",\"tables\":{\"t\":{\"estimatedSizeBytes\":"
     "\"12345678901234\",\"state\":\"COPYING\"}}}",
     "="},
    {&google__longrunning__operation__descriptor,
     "{\"name\":\"o\",\"metadata\":{\"@type\":\"type.googleapis.com/"
     "google.bigtable.admin.v2.UpdateTableMetadata\",\"name\":\"t\",\"startTime\":\"1970-01-01T00:"
     "00:01Z\"},\"done\":true,\"response\":{\"@type\":\"type.googleapis.com/"
     "google.bigtable.admin.v2.Table\",\"name\":\"t\",\"columnFamilies\":{\"f\":{}}}}",
     "="},
    {&google__longrunning__operation__descriptor,
     "{\"error\":{\"code\":9,\"message\":\"m\",\"details\":[{\"@type\":\"type.googleapis.com/"
     "google.rpc.PreconditionFailure\",\"violations\":[{\"type\":\"t\",\"subject\":\"s\","
     "\"description\":\"d\"}]}]}}",
     "="},
    {&google__longrunning__operation__descriptor,
     "{\"metadata\":{\"@type\":\"type.googleapis.com/google.protobuf.Duration\",\"value\":\"5s\"}}",
     "="},
    {WRAPPER(int32_value), "\"-2147483648\"", "-2147483648"},
    {WRAPPER(int32_value), "1e3", "1000"},
    {WRAPPER(uint64_value), "\"18446744073709551615\"", "="},
    {WRAPPER(uint64_value), "5.0", "\"5\""},
    {WRAPPER(int64_value), "-9223372036854775808", "\"-9223372036854775808\""},
    {WRAPPER(uint32_value), "\"-0\"", "0"},
    {WRAPPER(double_value), "\"-Infinity\"", "="},
    {WRAPPER(double_value), "\"1.5\"", "1.5"},
    {WRAPPER(float_value), "0.5", "="},
    {WRAPPER(bool_value), "false", "="},
    {WRAPPER(string_value), "\"\\u00e9\\\"\"", "\"\xc3\xa9\\\"\""},
};

static void what_is_accepted_is_written_as_the_rules_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ACCEPTED) / sizeof(ACCEPTED[0]); i++) {
        const struct decode_case *c = &ACCEPTED[i];
        ProtobufCMessage *message;
        struct at_error error = {0};
        if (json_read(c->descriptor, c->text, &arena, &message, &error) != AT_OK)
            fail_msg("%s: %s", c->text, error.msg);
        assert_string_equal(json_write(message, &arena),
                            strcmp(c->same, "=") == 0 ? c->text : c->same);
    }
}

/* What is accepted is also the same message on the wire. */
static void a_decoded_message_can_be_packed_and_unpacked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ACCEPTED) / sizeof(ACCEPTED[0]); i++) {
        ProtobufCMessage *message;
        assert_int_equal(
            json_read(ACCEPTED[i].descriptor, ACCEPTED[i].text, &arena, &message, NULL), AT_OK);
        size_t size = protobuf_c_message_get_packed_size(message);
        uint8_t *bytes = at_arena_alloc(&arena, size);
        assert_int_equal(protobuf_c_message_pack(message, bytes), size);
        ProtobufCMessage *back =
            protobuf_c_message_unpack(ACCEPTED[i].descriptor, NULL, size, bytes);
        assert_non_null(back);
        assert_string_equal(json_write(back, &arena), json_write(message, &arena));
        protobuf_c_message_free_unpacked(back, NULL);
    }
}

struct refusal {
    const ProtobufCMessageDescriptor *descriptor;
    const char *text;
    const char *says;
};

static const struct refusal REFUSED[] = {
    {ADMIN(table), "", "Invalid JSON"},
    {ADMIN(table), "{\"name\":", "column"},
    {ADMIN(table), "{\"name\":\"a\",\"name\":\"b\"}", "duplicate"},
    {ADMIN(table), "[]", "Not an object"},
    {ADMIN(table), "{\"nam\":\"a\"}", "Unknown name \"nam\""},
    {ADMIN(table), "{\"columnFamilies\":{\"f\":{\"gcRule\":{\"maxAg\":\"1s\"}}}}",
     "\"maxAg\" at 'columnFamilies.f.gcRule'"},
    {ADMIN(table), "{\"column_families\":{},\"columnFamilies\":{}}", "Given twice"},
    {ADMIN(table), "{\"columnFamilies\":[]}", "Not an object"},
    {ADMIN(table), "{\"columnFamilies\":{\"f\":null}}", "Not an object"},
    {ADMIN(table), "{\"name\":5}", "'name'"},
    {ADMIN(table), "{\"name\":\"a\\u0000b\"}", "Invalid JSON"},
    {ADMIN(table), "{\"name\":\"\xff\"}", "Invalid JSON"},
    {ADMIN(table), "{\"granularity\":\"SECONDS\"}", "'granularity'"},
    {ADMIN(table), "{\"deletionProtection\":\"yes\"}", "'deletionProtection'"},
    {ADMIN(table), "{\"deletionProtection\":1}", "'deletionProtection'"},
    {ADMIN(gc_rule), "{\"maxNumVersions\":1,\"maxAge\":\"1s\"}", "oneof"},
    {ADMIN(gc_rule), "{\"maxAge\":5}", "Invalid duration"},
    {ADMIN(gc_rule), "{\"union\":{\"rules\":{}}}", "Not a list"},
    {ADMIN(gc_rule), "{\"union\":{\"rules\":[null]}}", "Not an object"},
    {ADMIN(instance), "{\"createTime\":\"yesterday\"}", "Invalid timestamp"},
    {ADMIN(update_table_request), "{\"updateMask\":[\"a\"]}", "Not a mask"},
    {ADMIN(create_table_request), "{\"initialSplits\":[{\"key\":\"a$\"}]}", "'initialSplits.key'"},
    {&google__longrunning__operation__descriptor, "{\"response\":{\"@type\":\"x/a.B\"}}",
     "\"x/a.B\""},
    {&google__longrunning__operation__descriptor, "{\"response\":{\"name\":\"a\"}}", "@type"},
    {&google__longrunning__operation__descriptor, "{\"response\":[]}", "@type"},
    {WRAPPER(int32_value), "2147483648", "Invalid value"},
    {WRAPPER(int32_value), "1.5", "Invalid value"},
    {WRAPPER(int32_value), "\"1x\"", "Invalid value"},
    {WRAPPER(int32_value), "\" 1\"", "Invalid value"},
    {WRAPPER(int32_value), "\"\"", "Invalid value"},
    {WRAPPER(uint32_value), "-1", "Invalid value"},
    {WRAPPER(uint64_value), "\"18446744073709551616\"", "Invalid value"},
    {WRAPPER(int64_value), "1e300", "Invalid value"},
    {WRAPPER(double_value), "\"0x1p3\"", "Invalid value"},
    {WRAPPER(float_value), "1e39", "Invalid value"},
};

static void what_is_wrong_is_refused_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++) {
        ProtobufCMessage *message;
        struct at_error error = {0};
        enum at_code code =
            json_read(REFUSED[i].descriptor, REFUSED[i].text, &arena, &message, &error);
        if (code != AT_INVALID_ARGUMENT || !strstr(error.msg, REFUSED[i].says))
            fail_msg("%s: %d, %s", REFUSED[i].text, (int)code, error.msg);
    }
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    for (int levels = 1; levels < 3000; levels = levels * 3 + 1) {
        struct at_buf text;
        at_buf_init(&text, 1 << 20);
        for (int i = 0; i < levels; i++)
            assert_int_equal(at_buf_append(&text, AT_LIT("{\"union\":{\"rules\":[")), AT_OK);
        for (int i = 0; i < levels; i++)
            assert_int_equal(at_buf_append(&text, AT_LIT("]}}")), AT_OK);
        ProtobufCMessage *message;
        assert_int_equal(json_read(ADMIN(gc_rule), at_buf_cstr(&text), &arena, &message, NULL),
                         2 * levels - 1 <= AT_JSON_DEPTH_MAX ? AT_OK : AT_INVALID_ARGUMENT);
        at_buf_deinit(&text);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_accepted_is_written_as_the_rules_say),
        TEST(a_decoded_message_can_be_packed_and_unpacked),
        TEST(what_is_wrong_is_refused_with_its_place),
        TEST(nesting_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
