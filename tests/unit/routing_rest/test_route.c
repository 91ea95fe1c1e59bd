/* Which RPC a verb and a path mean. */
#include "routing/rest/route.h"

#include "support/test.h"
#include "wire/json/field.h"

struct route_case {
    const char *verb;
    const char *path;
    const char *rpc; /* its last part; NULL: none */
    const char *variable;
    const char *value;
};

#define I "projects/p/instances/i"
#define INSTANCE "/v2/" I

static const struct route_case CASES[] = {
    {"GET", "/v2/projects/p/instances", "ListInstances", "parent", "projects/p"},
    {"GET", "/v2/projects/example.com:p/instances", "ListInstances", "parent",
     "projects/example.com:p"},
    {"GET", INSTANCE, "GetInstance", "name", I},
    {"PUT", INSTANCE, "UpdateInstance", "name", I},
    {"PATCH", INSTANCE, "PartialUpdateInstance", "instance.name", I},
    {"GET", "/v2/projects/p/instances/-/clusters", "ListClusters", "parent",
     "projects/p/instances/-"},
    {"POST", INSTANCE "/appProfiles", "CreateAppProfile", "parent", I},
    {"PATCH", INSTANCE "/appProfiles/a", "UpdateAppProfile", "app_profile.name",
     I "/appProfiles/a"},
    {"POST", INSTANCE "/tables", "CreateTable", "parent", I},
    {"POST", INSTANCE "/tables:restore", "RestoreTable", "parent", I},
    {"POST", INSTANCE "/tables/t:undelete", "UndeleteTable", "name", I "/tables/t"},
    {"POST", INSTANCE "/tables/t:modifyColumnFamilies", "ModifyColumnFamilies", "name",
     I "/tables/t"},
    {"POST", INSTANCE "/tables/t:getIamPolicy", "GetIamPolicy", "resource", I "/tables/t"},
    {"POST", INSTANCE ":testIamPermissions", "TestIamPermissions", "resource", I},
    {"GET", INSTANCE "/clusters/c/hotTablets", "ListHotTablets", "parent", I "/clusters/c"},
    {"POST", INSTANCE "/clusters/c/backups:copy", "CopyBackup", "parent", I "/clusters/c"},
    {"GET", INSTANCE "/tables/t/schemaBundles/s", "GetSchemaBundle", "name",
     I "/tables/t/schemaBundles/s"},
    {"GET", "/v2/operations/projects/p/instances/i/operations/1", "GetOperation", "name",
     "operations/projects/p/instances/i/operations/1"},
    {"GET", "/v2/operations/projects/p/operations", "ListOperations", "name",
     "operations/projects/p"},
    {"POST", "/v2/operations/x/1:cancel", "CancelOperation", "name", "operations/x/1"},
    {"GET", INSTANCE "/", NULL, NULL, NULL},
    {"GET", INSTANCE "/tables/", NULL, NULL, NULL},
    {"GET", INSTANCE "/tables/a/b", NULL, NULL, NULL},
    {"GET", INSTANCE "/tables/t:undelete", NULL, NULL, NULL},
    {"POST", INSTANCE "/tables/t:explode", NULL, NULL, NULL},
    {"POST", INSTANCE "/tables/:undelete", NULL, NULL, NULL},
    {"GET", "/v2/projects//instances", NULL, NULL, NULL},
    {"GET", "/v2/operations/", NULL, NULL, NULL},
    {"GET", "/v2/operations", NULL, NULL, NULL},
    {"GET", "/v2/", NULL, NULL, NULL},
    {"GET", "/v1/projects/p/instances", NULL, NULL, NULL},
    {"POST", INSTANCE, NULL, NULL, NULL},
    {"get", INSTANCE, NULL, NULL, NULL},
};

static void a_path_means_one_rpc(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct route_case *c = &CASES[i];
        struct at_rest_match match;
        bool found = at_rest_route_find(c->verb, at_slice_cstr(c->path), &match);
        if (found != (c->rpc != NULL))
            fail_msg("%s %s: %s", c->verb, c->path, found ? match.route->rpc : "nothing");
        if (!found)
            continue;
        assert_string_equal(strrchr(match.route->rpc, '/') + 1, c->rpc);
        assert_true(at_slice_eq_cstr(match.variable, c->variable));
        assert_true(at_slice_eq_cstr(match.value, c->value));
    }
}

/* "a.b" of a message. */
static bool has_path(const ProtobufCMessageDescriptor *d, struct at_slice path)
{
    while (d && path.len > 0) {
        const uint8_t *dot = memchr(path.data, '.', path.len);
        size_t len = dot ? (size_t)(dot - path.data) : path.len;
        const ProtobufCFieldDescriptor *field = at_json_field(d, at_slice_make(path.data, len));
        if (!field)
            return false;
        d = field->type == PROTOBUF_C_TYPE_MESSAGE ? field->descriptor : NULL;
        path = at_slice_from(path, len + (dot != NULL));
    }
    return path.len == 0;
}

static void every_route_names_fields_that_its_request_has(void **state)
{
    (void)state;
    size_t count;
    const struct at_rest_route *routes = at_rest_routes(&count);
    assert_true(count > 60);
    for (size_t i = 0; i < count; i++) {
        const char *equals = strchr(routes[i].pattern, '=');
        assert_int_equal(routes[i].pattern[0], '{');
        assert_true(
            has_path(routes[i].request, at_slice_make(routes[i].pattern + 1,
                                                      (size_t)(equals - routes[i].pattern - 1))));
        if (routes[i].body && strcmp(routes[i].body, "*") != 0)
            assert_true(has_path(routes[i].request, at_slice_cstr(routes[i].body)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_means_one_rpc),
        cmocka_unit_test(every_route_names_fields_that_its_request_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
