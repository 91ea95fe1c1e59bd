#include "cluster/service/admin.h"

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
    struct CMUnitTest tests[sizeof(names) / sizeof(names[0]) + 3] = {
        cmocka_unit_test(a_page_token_is_the_last_name),
        cmocka_unit_test(a_page_without_size_is_as_large_as_pages_get),
        cmocka_unit_test(what_is_no_page_is_refused),
    };

    for (size_t i = 0; i < count; i++) {
        union {
            const struct name_case *in;
            void *out;
        } item = {.in = &names[i]};
        tests[i + 3] = (struct CMUnitTest){
            .name = names[i].name, .test_func = test_name, .initial_state = item.out};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
