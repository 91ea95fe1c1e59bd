#include "cluster/admin/backup_name.h"

#include "support/test.h"

#define I "projects/p/instances/i"
#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

struct name_case {
    const char *name;
    enum at_code code;
    const char *kept;
    const char *file;
};

static struct name_case cases[] = {
    {I "/clusters/c1/backups/b1", AT_OK, "c1/b1", "c1+b1.3"},
    {I "/clusters/c1/backups/" X50, AT_OK, "c1/" X50, "c1+" X50 ".3"},
    {I "/clusters/c1/backups/_a-b.C", AT_OK, "c1/_a-b.C", "c1+_a-b.C.3"},
    {"projects/other/instances/x-1/clusters/c1/backups/b", AT_OK,
     "projects/other/instances/x-1/clusters/c1/backups/b",
     "projects+other+instances+x-1+clusters+c1+backups+b.3"},
    {I "/clusters/c1/backups/" X50 "x", AT_INVALID_ARGUMENT, NULL, NULL},
    {I "/clusters/c1/backups/", AT_INVALID_ARGUMENT, NULL, NULL},
    {I "/clusters/c1/backups/.a", AT_INVALID_ARGUMENT, NULL, NULL},
    {I "/clusters/c1/backups/a/b", AT_INVALID_ARGUMENT, NULL, NULL},
    {I "/clusters//backups/b", AT_INVALID_ARGUMENT, NULL, NULL},
    {I "/clusters/c1", AT_INVALID_ARGUMENT, NULL, NULL},
    {I "/backups/b", AT_INVALID_ARGUMENT, NULL, NULL},
    {"b1", AT_INVALID_ARGUMENT, NULL, NULL},
    {"", AT_INVALID_ARGUMENT, NULL, NULL},
};

static const struct at_service service = {
    .project = "p", .instance = "i", .accept_any_instance = true, .backup_dir = "/d"};

static void run(void **state)
{
    const struct name_case *c = *state;
    struct at_backup_name name;
    struct at_arena arena;

    at_arena_init(&arena, 1024);
    assert_int_equal(at_backup_name_parse(&service, c->name, &arena, &name, NULL), c->code);
    if (c->code == AT_OK) {
        assert_true(at_slice_eq_cstr(name.kept, c->kept));
        assert_string_equal(at_backup_name_full(&service, &arena, &name), c->name);
        assert_string_equal(at_backup_file_name(&arena, &name, 3), c->file);
        struct at_backup_name again = at_backup_name_kept(name.kept);
        assert_true(at_slice_eq(again.cluster, name.cluster));
        assert_true(at_slice_eq(again.id, name.id));
        assert_string_equal(at_backup_name_full(&service, &arena, &again), c->name);
    }
    at_arena_deinit(&arena);
}

static void of_parts(void **state)
{
    const struct at_service strict = {.project = "p", .instance = "i", .backup_dir = "/d"};
    struct at_backup_name name;
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, 1024);
    assert_int_equal(at_backup_name_of(&strict, I "/clusters/c1", "b", &arena, &name, NULL), AT_OK);
    assert_true(at_slice_eq_cstr(name.kept, "c1/b"));
    assert_string_equal(at_backup_path(&strict, &arena, &name, 1), "/d/c1+b.1");
    assert_int_equal(at_backup_name_of(&strict, I "/clusters/c1/x", "b", &arena, &name, NULL),
                     AT_INVALID_ARGUMENT);
    assert_int_equal(at_backup_name_of(&strict, I, "b", &arena, &name, NULL), AT_INVALID_ARGUMENT);
    assert_int_equal(at_backup_name_of(&strict, I "/clusters/c1", "a b", &arena, &name, NULL),
                     AT_INVALID_ARGUMENT);
    assert_int_equal(
        at_backup_name_of(&strict, "projects/p/instances/o/clusters/c1", "b", &arena, &name, NULL),
        AT_NOT_FOUND);
    at_arena_deinit(&arena);
}

int main(void)
{
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[COUNT + 1];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, run, NULL, NULL, &cases[i]};
    tests[COUNT] = (struct CMUnitTest){"a name of its parts", of_parts, NULL, NULL, NULL};
    return _cmocka_run_group_tests("name", tests, COUNT + 1, NULL, NULL);
}
