#include "cli/table_name.h"

#include "base/limits.h"
#include "support/test.h"

static void an_id_is_of_the_instance_and_a_full_name_of_any(void **state)
{
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, AT_KIB);
    assert_string_equal(at_table_name_full(&arena, "p", "i", "t"),
                        "projects/p/instances/i/tables/t");
    assert_string_equal(at_table_name_full(&arena, "p", "i", "projects/o/instances/x/tables/t"),
                        "projects/o/instances/x/tables/t");
    at_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_of_the_instance_and_a_full_name_of_any)};

    return cmocka_run_group_tests_name("table_name", tests, NULL, NULL);
}
