#include "base/alloc.h"
#include "cluster/service/service.h"
#include "support/test.h"

/* Resource names: what they are taken for, without anything running. */

struct name_case {
    const char *name; /* of the table or instance */
    enum at_code code;
    const char *table; /* NULL: an instance is expected */
};

static const struct name_case cases[] = {
    {"projects/p/instances/i/tables/t", AT_OK, "t"},
    {"projects/p/instances/i/tables/a-b_c.D9", AT_OK, "a-b_c.D9"},
    {"projects/p/instances/i/tables/", AT_INVALID_ARGUMENT, ""},
    {"projects/p/instances/i/tables/t/", AT_INVALID_ARGUMENT, ""},
    {"projects/p/instances/i/tables/t/x", AT_INVALID_ARGUMENT, ""},
    {"projects/p/instances/i/table/t", AT_INVALID_ARGUMENT, ""},
    {"projects/p/instances/i", AT_INVALID_ARGUMENT, ""},
    {"projects//instances/i/tables/t", AT_INVALID_ARGUMENT, ""},
    {"projects/p/instances//tables/t", AT_INVALID_ARGUMENT, ""},
    {"/projects/p/instances/i/tables/t", AT_INVALID_ARGUMENT, ""},
    {"t", AT_INVALID_ARGUMENT, ""},
    {"", AT_INVALID_ARGUMENT, ""},
    {"projects/p/instances/j/tables/t", AT_NOT_FOUND, ""},
    {"projects/q/instances/i/tables/t", AT_NOT_FOUND, ""},
    {"projects/pp/instances/i/tables/t", AT_NOT_FOUND, ""},
    {"projects/p/instances/i", AT_OK, NULL},
    {"projects/p/instances/ii", AT_NOT_FOUND, NULL},
    {"projects/p/instances/", AT_INVALID_ARGUMENT, NULL},
    {"projects/p/instances/i/", AT_INVALID_ARGUMENT, NULL},
    {"projects/p/instances/i/tables/t", AT_INVALID_ARGUMENT, NULL},
    {"projects/p", AT_INVALID_ARGUMENT, NULL},
    {"", AT_INVALID_ARGUMENT, NULL},
};

static void names_are_taken_apart(void **state)
{
    const struct at_service service = {.project = "p", .instance = "i"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct name_case *c = &cases[i];
        struct at_slice table = {0};
        struct at_slice name = at_slice_cstr(c->name);
        struct at_error error = {0};
        enum at_code code = c->table ? at_service_table_id(&service, name, &table, &error)
                                     : at_service_instance_check(&service, name, &error);
        assert_int_equal(code, c->code);
        assert_int_equal(error.code, code);
        if (code == AT_OK && c->table)
            assert_true(at_slice_eq_cstr(table, c->table));
    }
}

static void an_overlong_name_is_refused(void **state)
{
    const struct at_service service = {.project = "p", .instance = "i"};
    char name[1000] = "projects/p/instances/i/tables/";
    struct at_slice table;

    (void)state;
    memset(name + strlen(name), 't', sizeof(name) - strlen(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(at_service_table_id(&service, at_slice_cstr(name), &table, NULL),
                     AT_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_taken_apart),
        cmocka_unit_test(an_overlong_name_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
