/* Every mapping of the schema can be named in a message. */
#include "configs/schema.h"

#include <string.h>

#include "support/test.h"

static void every_mapping_lists_its_fields(void **state)
{
    (void)state;
    const cyaml_schema_field_t *top = at_instance_schema_fields("");
    for (; top->key; top++) {
        bool mapping = top->value.type == CYAML_MAPPING;
        bool sequence = top->value.type == CYAML_SEQUENCE;
        if (mapping || sequence)
            assert_non_null(at_instance_schema_fields(top->key));
    }
    assert_null(at_instance_schema_fields("nothing"));
    assert_int_equal(at_instance_schema()->type, CYAML_MAPPING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_mapping_lists_its_fields)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
