/* Names of instances, and the names that things in them are kept by. */
#include "base/namespace.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

struct name_case {
    const char *name;
    const char *project; /* NULL: does not begin with an instance's name */
    const char *instance;
    const char *rest;
    enum at_code code; /* at_namespace_check */
};

static const struct name_case NAMES[] = {
    {"projects/p/instances/i", "p", "i", "", AT_OK},
    {"projects/p/instances/i/tables/t", "p", "i", "/tables/t", AT_OK},
    {"projects/my-project-1/instances/i-1", "my-project-1", "i-1", "", AT_OK},
    {"projects/123456/instances/i", "123456", "i", "", AT_OK},
    {"projects/example.com:old-1/instances/i", "example.com:old-1", "i", "", AT_OK},
    {"projects/{{projectId}}/instances/i", "{{projectId}}", "i", "", AT_OK},
    {"projects/{{projectid}}/instances/i", "{{projectid}}", "i", "", AT_INVALID_ARGUMENT},
    {"projects/P/instances/i", "P", "i", "", AT_INVALID_ARGUMENT},
    {"projects/p-/instances/i", "p-", "i", "", AT_INVALID_ARGUMENT},
    {"projects/1p/instances/i", "1p", "i", "", AT_INVALID_ARGUMENT},
    {"projects/a..b:c/instances/i", "a..b:c", "i", "", AT_INVALID_ARGUMENT},
    {"projects/:c/instances/i", ":c", "i", "", AT_INVALID_ARGUMENT},
    {"projects/a:/instances/i", "a:", "i", "", AT_INVALID_ARGUMENT},
    {"projects/p q/instances/i", "p q", "i", "", AT_INVALID_ARGUMENT},
    {"projects/p/instances/I", "p", "I", "", AT_INVALID_ARGUMENT},
    {"projects/p/instances/-", "p", "-", "", AT_INVALID_ARGUMENT},
    {"projects/p/instances/i_1", "p", "i_1", "", AT_INVALID_ARGUMENT},
    {"projects/p/instances/i-", "p", "i-", "", AT_INVALID_ARGUMENT},
    {"projects/p/instances/1i", "p", "1i", "", AT_INVALID_ARGUMENT},
    {"projects//instances/i", NULL, NULL, NULL, AT_OK},
    {"projects/p/instances/", NULL, NULL, NULL, AT_OK},
    {"projects/p", NULL, NULL, NULL, AT_OK},
    {"t", NULL, NULL, NULL, AT_OK},
    {"", NULL, NULL, NULL, AT_OK},
};

static void test_name(void **state)
{
    const struct name_case *c = *state;
    struct at_slice rest = at_slice_cstr(c->name);
    struct at_instance_name name;

    assert_int_equal(at_namespace_take(&rest, &name), c->project != NULL);
    if (!c->project) {
        assert_true(at_slice_eq_cstr(rest, c->name));
        return;
    }
    assert_true(at_slice_eq_cstr(name.project, c->project));
    assert_true(at_slice_eq_cstr(name.instance, c->instance));
    assert_true(at_slice_eq_cstr(rest, c->rest));
    assert_int_equal(at_namespace_check(&name, NULL), c->code);
}

static void names_that_are_too_long_are_refused(void **state)
{
    char text[AT_INSTANCE_ID_BYTES_MAX + 2];
    struct at_instance_name name = {.project = AT_LIT("p")};

    (void)state;
    memset(text, 'a', sizeof(text));
    name.instance = at_slice_make(text, AT_INSTANCE_ID_BYTES_MAX);
    assert_int_equal(at_namespace_check(&name, NULL), AT_OK);
    name.instance.len++;
    assert_int_equal(at_namespace_check(&name, NULL), AT_INVALID_ARGUMENT);
    name = (struct at_instance_name){at_slice_make(text, AT_PROJECT_ID_BYTES_MAX), AT_LIT("i")};
    assert_int_equal(at_namespace_check(&name, NULL), AT_OK);
    name.project.len++;
    assert_int_equal(at_namespace_check(&name, NULL), AT_INVALID_ARGUMENT);
}

static void what_is_kept_tells_where_it_belongs(void **state)
{
    char kept[AT_KEPT_NAME_BYTES_MAX];
    struct at_slice other = AT_LIT("projects/p/instances/i");
    struct at_slice home = {NULL, 0};

    (void)state;
    size_t len = at_namespace_keep(other, AT_LIT("tables"), AT_LIT("t"), kept);
    struct at_slice name = at_slice_make(kept, len);
    assert_true(at_slice_eq_cstr(name, "projects/p/instances/i/tables/t"));
    assert_true(at_slice_eq(at_namespace_of(name), other));
    assert_true(at_slice_eq_cstr(at_namespace_id(name), "t"));
    assert_true(at_namespace_holds(other, name));
    assert_false(at_namespace_holds(home, name));
    assert_false(at_namespace_holds(AT_LIT("projects/p/instances/i2"), name));
    assert_false(at_namespace_holds(AT_LIT("projects/p/instances"), name));

    len = at_namespace_keep(home, AT_LIT("tables"), AT_LIT("t"), kept);
    name = at_slice_make(kept, len);
    assert_true(at_slice_eq_cstr(name, "t"));
    assert_int_equal(at_namespace_of(name).len, 0);
    assert_true(at_slice_eq_cstr(at_namespace_id(name), "t"));
    assert_true(at_namespace_holds(home, name));
    assert_false(at_namespace_holds(other, name));
}

static void the_longest_names_can_be_kept_and_longer_ones_are_not(void **state)
{
    char kept[AT_KEPT_NAME_BYTES_MAX];
    char id[AT_KEPT_NAME_BYTES_MAX + 1];
    char instance[AT_KEPT_NAME_BYTES_MAX];

    (void)state;
    memset(id, 'a', sizeof(id));
    (void)snprintf(instance, sizeof(instance), "projects/%.*s/instances/%.*s",
                   AT_PROJECT_ID_BYTES_MAX, id, AT_INSTANCE_ID_BYTES_MAX, id);
    size_t all = strlen(instance) + strlen("/appProfiles/") + AT_PROFILE_ID_BYTES_MAX;
    assert_int_equal(at_namespace_keep(at_slice_cstr(instance), AT_LIT("appProfiles"),
                                       at_slice_make(id, AT_PROFILE_ID_BYTES_MAX), kept),
                     all);
    size_t room = AT_KEPT_NAME_BYTES_MAX - (all - AT_PROFILE_ID_BYTES_MAX);
    assert_int_equal(at_namespace_keep(at_slice_cstr(instance), AT_LIT("appProfiles"),
                                       at_slice_make(id, room), kept),
                     AT_KEPT_NAME_BYTES_MAX);
    assert_int_equal(at_namespace_keep(at_slice_cstr(instance), AT_LIT("appProfiles"),
                                       at_slice_make(id, room + 1), kept),
                     0);
    assert_int_equal(at_namespace_keep(at_slice_make(NULL, 0), AT_LIT("tables"),
                                       at_slice_make(id, sizeof(id)), kept),
                     0);
}

int main(void)
{
    enum { COUNT = sizeof(NAMES) / sizeof(NAMES[0]) };
    struct CMUnitTest tests[COUNT + 3];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = NAMES[i].name,
                                       .test_func = test_name,
                                       .initial_state = (void *)(uintptr_t)&NAMES[i]};
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(names_that_are_too_long_are_refused);
    tests[COUNT + 1] = (struct CMUnitTest)cmocka_unit_test(what_is_kept_tells_where_it_belongs);
    tests[COUNT + 2] =
        (struct CMUnitTest)cmocka_unit_test(the_longest_names_can_be_kept_and_longer_ones_are_not);
    return _cmocka_run_group_tests("namespace", tests, COUNT + 3, NULL, NULL);
}
