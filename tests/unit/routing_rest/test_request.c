/* Path, query and body become one message. */
#include "routing/rest/request.h"

#include "routing/rest/pool.h"
#include "support/json_fixture.h"
#include "wire/proto_alloc.h"

struct request_case {
    const char *verb;
    const char *path;
    const char *query; /* decoded, a=b&c=d */
    const char *body;
    const char *message; /* of the request, as JSON; or what the error says, behind '!' */
};

#define I "projects/p/instances/i"
#define PROFILE "/v2/" I "/appProfiles/a"
#define TABLES "/v2/" I "/tables"

static const struct request_case CASES[] = {
    {"GET", TABLES, "alt=json&$alt=json&prettyPrint=True", "", "{\"parent\":\"" I "\"}"},
    {"GET", TABLES, "view=SCHEMA_VIEW&pageSize=5&page_token=x", "",
     "{\"parent\":\"" I "\",\"view\":\"SCHEMA_VIEW\",\"pageToken\":\"x\",\"pageSize\":5}"},
    {"GET", TABLES, "view=nonsense", "", "!'view'"},
    {"GET", TABLES, "nothing=1", "", "!\"nothing\""},
    {"GET", TABLES, "parent=projects/q/instances/j", "", "{\"parent\":\"" I "\"}"},
    {"GET", TABLES, "", "{\"view\":1}", "!no body"},
    {"DELETE", PROFILE, "ignoreWarnings=True", "{}",
     "{\"name\":\"" I "/appProfiles/a\",\"ignoreWarnings\":true}"},
    {"DELETE", PROFILE, "ignoreWarnings=False", "", "{\"name\":\"" I "/appProfiles/a\"}"},
    {"DELETE", PROFILE, "ignoreWarnings=maybe", "", "!'ignore_warnings'"},
    {"POST", "/v2/" I "/appProfiles", "appProfileId=a&ignoreWarnings=False",
     "{\"multiClusterRoutingUseAny\":{}}",
     "{\"parent\":\"" I
     "\",\"appProfileId\":\"a\",\"appProfile\":{\"multiClusterRoutingUseAny\":{}}}"},
    {"PATCH", PROFILE, "updateMask=singleClusterRouting.clusterId,description",
     "{\"singleClusterRouting\":{\"clusterId\":\"c2\"}}",
     "{\"appProfile\":{\"name\":\"" I "/appProfiles/"
     "a\",\"singleClusterRouting\":{\"clusterId\":\"c2\"}},\"updateMask\":\"singleClusterRouting."
     "clusterId,description\"}"},
    {"PATCH", PROFILE, "update_mask=description", "{\"name\":\"another\"}",
     "{\"appProfile\":{\"name\":\"" I "/appProfiles/a\"},\"updateMask\":\"description\"}"},
    {"PATCH", PROFILE, "appProfile.description=x", "{}", "!Cannot bind"},
    {"PATCH", PROFILE, "", "", "{\"appProfile\":{\"name\":\"" I "/appProfiles/a\"}}"},
    {"POST", TABLES, "", "{\"parent\":\"x\",\"tableId\":\"t\"}",
     "{\"parent\":\"" I "\",\"tableId\":\"t\"}"},
    {"POST", TABLES, "tableId=t", "{}", "!Cannot bind"},
    {"POST", TABLES, "", "{\"table\":{\"nam\":1}}", "!\"nam\" at 'table'"},
    {"POST", TABLES, "", "[1]", "!must be an object"},
    {"POST", TABLES, "", "{", "!Invalid JSON"},
    {"GET", "/v2/" I "/clusters/c/hotTablets", "startTime=2026-01-01T00:00:00Z", "",
     "{\"parent\":\"" I "/clusters/c\",\"startTime\":\"2026-01-01T00:00:00Z\"}"},
    {"POST", "/v2/" I ":testIamPermissions", "", "{\"permissions\":[\"a\",\"b\"]}",
     "{\"resource\":\"" I "\",\"permissions\":[\"a\",\"b\"]}"},
    {"PUT", "/v2/" I, "", "{\"displayName\":\"d\",\"labels\":{\"a\":\"b\"}}",
     "{\"name\":\"" I "\",\"displayName\":\"d\",\"labels\":{\"a\":\"b\"}}"},
};

static size_t split_query(const char *query, struct at_rest_param params[AT_REST_PARAMS_MAX])
{
    size_t count = 0;
    while (*query) {
        size_t len = strcspn(query, "&");
        size_t name_len = strcspn(query, "=");
        params[count++] =
            (struct at_rest_param){at_slice_make(query, name_len),
                                   at_slice_make(query + name_len + 1, len - name_len - 1)};
        query += len + (query[len] == '&');
    }
    return count;
}

static void check(const struct request_case *c, struct at_arena *arena)
{
    struct at_rest_match match;
    struct at_rest_param params[AT_REST_PARAMS_MAX];
    struct at_slice message;
    struct at_error error = {0};
    const struct at_rest_input input = {.verb = c->verb,
                                        .path = at_slice_cstr(c->path),
                                        .body = at_slice_cstr(c->body),
                                        .params = params,
                                        .param_count = split_query(c->query, params)};
    assert_true(at_rest_route_find(c->verb, input.path, &match));
    enum at_code code = at_rest_request_build(&match, &input, arena, &message, &error);
    if (c->message[0] == '!') {
        if (code != AT_INVALID_ARGUMENT || !strstr(error.msg, c->message + 1))
            fail_msg("%s %s?%s %s: %s", c->verb, c->path, c->query, c->body, error.msg);
        return;
    }
    if (code != AT_OK)
        fail_msg("%s %s?%s %s: %s", c->verb, c->path, c->query, c->body, error.msg);
    const ProtobufCMessage *request = at_proto_unpack(arena, match.route->request, message);
    assert_non_null(request);
    assert_string_equal(json_write(request, arena), c->message);
}

static void path_query_and_body_become_one_message(void **state)
{
    (void)state;
    struct at_arena arena;
    at_arena_init(&arena, 4096);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
        check(&CASES[i], &arena);
    at_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(path_query_and_body_become_one_message)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
