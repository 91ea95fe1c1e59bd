/* Names are cut where the instance, the project and the cluster end. */
#include "routing/resource.h"

#include "support/test.h"

struct name_case {
    const char *name;
    bool ok;
    const char *instance;
    const char *cluster;
};

static const struct name_case CASES[] = {
    {"projects/p/instances/i", true, "projects/p/instances/i", ""},
    {"projects/p/instances/i/tables/t", true, "projects/p/instances/i", ""},
    {"projects/p/instances/i/clusters/c", true, "projects/p/instances/i", "c"},
    {"projects/p/instances/i/clusters/c/backups/b", true, "projects/p/instances/i", "c"},
    {"projects/p/instances/i/clusters/", true, "projects/p/instances/i", ""},
    {"projects/p/instances/-", true, "projects/p/instances/-", ""},
    {"operations/projects/p/instances/i/clusters/c/operations/7", true, "projects/p/instances/i",
     "c"},
    {"projects/{{projectId}}/instances/i", true, "projects/{{projectId}}/instances/i", ""},
    {"", false, "", ""},
    {"projects", false, "", ""},
    {"projects/", false, "", ""},
    {"projects/p", false, "", ""},
    {"projects/p/instances", false, "", ""},
    {"projects/p/instances/", false, "", ""},
    {"projects//instances/i", false, "", ""},
    {"projects/p/tables/i", false, "", ""},
    {"operations/operations/projects/p/instances/i", false, "", ""},
};

static void names_are_cut_at_their_slashes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct at_resource r;
        bool ok = at_resource_parse(at_slice_cstr(CASES[i].name), &r);
        if (ok != CASES[i].ok || (ok && (!at_slice_eq_cstr(r.instance, CASES[i].instance) ||
                                         !at_slice_eq_cstr(r.cluster, CASES[i].cluster))))
            fail_msg("wrong: %s", CASES[i].name);
    }
}

static void project_and_id_are_told(void **state)
{
    (void)state;
    struct at_resource r;
    assert_true(at_resource_parse(AT_LIT("projects/p/instances/i/tables/t"), &r));
    assert_true(at_slice_eq_cstr(r.project, "p"));
    assert_true(at_slice_eq_cstr(r.id, "i"));
}

static void a_project_alone_is_known(void **state)
{
    (void)state;
    struct at_slice project;
    assert_true(at_resource_project(AT_LIT("projects/p"), &project));
    assert_true(at_slice_eq_cstr(project, "p"));
    assert_true(at_resource_project(AT_LIT("operations/projects/q/operations"), &project));
    assert_true(at_slice_eq_cstr(project, "q"));
    assert_false(at_resource_project(AT_LIT("projects/p/instances/i"), &project));
    assert_false(at_resource_project(AT_LIT("project/p"), &project));
    assert_false(at_resource_project(AT_LIT(""), &project));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_cut_at_their_slashes),
        cmocka_unit_test(project_and_id_are_told),
        cmocka_unit_test(a_project_alone_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
