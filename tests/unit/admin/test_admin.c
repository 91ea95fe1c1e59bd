#include "cluster/admin/admin.h"

#include "support/test.h"

/* Names and pages of the admin services. */

static const struct at_service service = {.project = "p", .instance = "i"};

struct name_case {
    const char *name;
    enum at_code parent; /* at_admin_parent */
    enum at_code child;  /* at_admin_child of "/clusters/" */
    const char *id;
};

static const struct name_case names[] = {
    {"projects/p/instances/i", AT_OK, AT_INVALID_ARGUMENT, NULL},
    {"projects/p/instances/-", AT_OK, AT_INVALID_ARGUMENT, NULL},
    {"projects/p/instances/--", AT_NOT_FOUND, AT_INVALID_ARGUMENT, NULL},
    {"projects/pp/instances/-", AT_NOT_FOUND, AT_INVALID_ARGUMENT, NULL},
    {"projects/q/instances/-", AT_NOT_FOUND, AT_INVALID_ARGUMENT, NULL},
    {"projects/p/instances/j", AT_NOT_FOUND, AT_INVALID_ARGUMENT, NULL},
    {"projects/", AT_INVALID_ARGUMENT, AT_INVALID_ARGUMENT, NULL},
    {"projects/p", AT_INVALID_ARGUMENT, AT_INVALID_ARGUMENT, NULL},
    {"", AT_INVALID_ARGUMENT, AT_INVALID_ARGUMENT, NULL},
    {"projects/p/instances/i/clusters/c", AT_INVALID_ARGUMENT, AT_OK, "c"},
    {"projects/p/instances/i/clusters/", AT_INVALID_ARGUMENT, AT_INVALID_ARGUMENT, NULL},
    {"projects/p/instances/i/clusters/c/x", AT_INVALID_ARGUMENT, AT_INVALID_ARGUMENT, NULL},
    {"projects/p/instances/j/clusters/c", AT_INVALID_ARGUMENT, AT_NOT_FOUND, NULL},
    {"projects/p/clusters/c", AT_INVALID_ARGUMENT, AT_INVALID_ARGUMENT, NULL},
    {"/clusters/c", AT_INVALID_ARGUMENT, AT_INVALID_ARGUMENT, NULL},
};

static void test_name(void **state)
{
    const struct name_case *c = *state;
    struct at_error error = {0};
    struct at_slice id = {NULL, 0};
    struct at_admin_parent parent;

    assert_int_equal(at_admin_parent(&service, c->name, &parent, &error), c->parent);
    assert_int_equal(at_admin_child(&service, c->name, "/clusters/", &id, &error), c->child);
    if (c->id)
        assert_true(at_slice_eq_cstr(id, c->id));
}

static const struct at_service every = {
    .project = "p", .instance = "i", .accept_any_instance = true};

struct kept_case {
    const char *name;
    enum at_code table; /* at_service_table_id */
    const char *kept;
    enum at_code cluster; /* at_admin_child of "/clusters/" */
};

static const struct kept_case kept_names[] = {
    {"projects/p/instances/i/tables/t", AT_OK, "t", AT_INVALID_ARGUMENT},
    {"projects/p/instances/j/tables/t", AT_OK, "projects/p/instances/j/tables/t",
     AT_INVALID_ARGUMENT},
    {"projects/{{projectId}}/instances/j/tables/t", AT_OK,
     "projects/{{projectId}}/instances/j/tables/t", AT_INVALID_ARGUMENT},
    {"projects/P/instances/j/tables/t", AT_INVALID_ARGUMENT, NULL, AT_INVALID_ARGUMENT},
    {"projects/p/instances/J/tables/t", AT_INVALID_ARGUMENT, NULL, AT_INVALID_ARGUMENT},
    {"projects/p/instances/j/tables/", AT_INVALID_ARGUMENT, NULL, AT_INVALID_ARGUMENT},
    {"projects/p/instances/j/tables/t/u", AT_INVALID_ARGUMENT, NULL, AT_INVALID_ARGUMENT},
    {"projects/p/instances/j/clusters/c", AT_INVALID_ARGUMENT, NULL, AT_OK},
    {"projects/p/instances/J/clusters/c", AT_INVALID_ARGUMENT, NULL, AT_INVALID_ARGUMENT},
};

static void where_every_instance_is_served_others_are_kept_by_whole_names(void **state)
{
    struct at_slice id;

    (void)state;
    for (size_t i = 0; i < sizeof(kept_names) / sizeof(kept_names[0]); i++) {
        const struct kept_case *c = &kept_names[i];
        assert_int_equal(at_service_table_id(&every, at_slice_cstr(c->name), &id, NULL), c->table);
        if (c->kept)
            assert_true(at_slice_eq_cstr(id, c->kept));
        assert_int_equal(at_admin_child(&every, c->name, "/clusters/", &id, NULL), c->cluster);
        if (c->cluster == AT_OK)
            assert_true(at_slice_eq_cstr(id, "c"));
    }
    assert_int_equal(
        at_admin_child(&every, "projects/p/instances/j/appProfiles/a", "/appProfiles/", &id, NULL),
        AT_OK);
    assert_true(at_slice_eq_cstr(id, "projects/p/instances/j/appProfiles/a"));
}

static void a_list_holds_what_is_in_its_parent(void **state)
{
    struct at_admin_parent parent;
    struct at_slice home = AT_LIT("t");
    struct at_slice pj = AT_LIT("projects/p/instances/j/tables/t");
    struct at_slice p2 = AT_LIT("projects/p2/instances/i/tables/t");

    (void)state;
    assert_int_equal(at_admin_parent(&every, "projects/p/instances/i", &parent, NULL), AT_OK);
    assert_true(at_admin_parent_holds(&parent, home));
    assert_false(at_admin_parent_holds(&parent, pj));
    assert_int_equal(at_admin_parent(&every, "projects/p/instances/j", &parent, NULL), AT_OK);
    assert_false(at_admin_parent_holds(&parent, home));
    assert_true(at_admin_parent_holds(&parent, pj));
    assert_int_equal(at_admin_parent(&every, "projects/p/instances/-", &parent, NULL), AT_OK);
    assert_true(at_admin_parent_holds(&parent, home));
    assert_true(at_admin_parent_holds(&parent, pj));
    assert_false(at_admin_parent_holds(&parent, p2));
    assert_int_equal(at_admin_parent(&every, "projects/p2/instances/-", &parent, NULL), AT_OK);
    assert_false(at_admin_parent_holds(&parent, home));
    assert_false(at_admin_parent_holds(&parent, pj));
    assert_true(at_admin_parent_holds(&parent, p2));
    assert_int_equal(at_admin_parent(&every, "projects/P/instances/-", &parent, NULL),
                     AT_INVALID_ARGUMENT);
}

static void names_are_told_as_they_are_kept(void **state)
{
    struct at_arena arena;
    struct at_slice other = AT_LIT("projects/q/instances/j");

    (void)state;
    at_arena_init(&arena, 1024);
    assert_string_equal(at_admin_table_name(&every, &arena, AT_LIT("t")),
                        "projects/p/instances/i/tables/t");
    struct at_slice kept = at_admin_keep(&arena, other, "tables", AT_LIT("t"));
    assert_string_equal(at_admin_table_name(&every, &arena, kept),
                        "projects/q/instances/j/tables/t");
    kept = at_admin_keep(&arena, other, "appProfiles", AT_LIT("a"));
    assert_string_equal(at_admin_profile_name(&every, &arena, kept),
                        "projects/q/instances/j/appProfiles/a");
    at_arena_deinit(&arena);
}

static void a_page_token_is_the_last_name(void **state)
{
    struct at_arena arena;
    struct at_admin_page page;

    (void)state;
    at_arena_init(&arena, 1024);
    const char *token = at_admin_page_token(&arena, AT_LIT("a-table.of_mine"));
    assert_int_equal(at_admin_page_decode(3, token, &arena, &page, NULL), AT_OK);
    assert_int_equal(page.size, 3);
    assert_true(at_slice_eq_cstr(page.after, "a-table.of_mine"));
    at_arena_deinit(&arena);
}

static void a_page_without_size_is_as_large_as_pages_get(void **state)
{
    struct at_arena arena;
    struct at_admin_page page;
    struct at_admin_page huge;

    (void)state;
    at_arena_init(&arena, 1024);
    assert_int_equal(at_admin_page_decode(0, "", &arena, &page, NULL), AT_OK);
    assert_int_equal(at_admin_page_decode(INT32_MAX, "", &arena, &huge, NULL), AT_OK);
    assert_int_equal(page.size, huge.size);
    assert_int_equal(page.after.len, 0);
    at_arena_deinit(&arena);
}

static void what_is_no_page_is_refused(void **state)
{
    char longer[2000];
    struct at_arena arena;
    struct at_admin_page page;

    (void)state;
    memset(longer, 'A', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    at_arena_init(&arena, 1024);
    assert_int_equal(at_admin_page_decode(-1, "", &arena, &page, NULL), AT_INVALID_ARGUMENT);
    assert_int_equal(at_admin_page_decode(1, "?", &arena, &page, NULL), AT_INVALID_ARGUMENT);
    assert_int_equal(at_admin_page_decode(1, longer, &arena, &page, NULL), AT_INVALID_ARGUMENT);
    at_arena_deinit(&arena);
}

int main(void)
{
    static const size_t count = sizeof(names) / sizeof(names[0]);
    struct CMUnitTest tests[sizeof(names) / sizeof(names[0]) + 6] = {
        cmocka_unit_test(a_page_token_is_the_last_name),
        cmocka_unit_test(a_page_without_size_is_as_large_as_pages_get),
        cmocka_unit_test(what_is_no_page_is_refused),
        cmocka_unit_test(where_every_instance_is_served_others_are_kept_by_whole_names),
        cmocka_unit_test(a_list_holds_what_is_in_its_parent),
        cmocka_unit_test(names_are_told_as_they_are_kept),
    };

    for (size_t i = 0; i < count; i++) {
        union {
            const struct name_case *in;
            void *out;
        } item = {.in = &names[i]};
        tests[i + 6] = (struct CMUnitTest){
            .name = names[i].name, .test_func = test_name, .initial_state = item.out};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
