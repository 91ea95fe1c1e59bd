/* Names, maps and kinds, as descriptors show them. */
#include "wire/json/field.h"

#include "google/bigtable/admin/v2/table.pb-c.h"
#include "google/protobuf/any.pb-c.h"
#include "google/protobuf/field_mask.pb-c.h"
#include "google/protobuf/wrappers.pb-c.h"
#include "support/test.h"

#define TABLE (&google__bigtable__admin__v2__table__descriptor)

static const struct {
    const char *snake;
    const char *camel;
} NAMES[] = {
    {"name", "name"},
    {"column_families", "columnFamilies"},
    {"gc_rule", "gcRule"},
    {"a__b", "aB"},
    {"x_1_y", "x1Y"},
    {"tail_", "tail"},
    {"", ""},
    {"a_b.c_d", "aB.cD"},
};

static void names_are_lower_camel_case(void **state)
{
    (void)state;
    char name[AT_JSON_NAME_BYTES];
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        assert_int_equal(at_json_name(NAMES[i].snake, name, sizeof(name)), strlen(NAMES[i].camel));
        assert_string_equal(name, NAMES[i].camel);
    }
    char small[4];
    assert_int_equal(at_json_name("longer_than_this", small, sizeof(small)), 3);
    assert_string_equal(small, "lon");
}

static void a_field_is_found_by_either_spelling_only(void **state)
{
    (void)state;
    const ProtobufCFieldDescriptor *field = at_json_field(TABLE, AT_LIT("columnFamilies"));
    assert_non_null(field);
    assert_ptr_equal(field, at_json_field(TABLE, AT_LIT("column_families")));
    assert_null(at_json_field(TABLE, AT_LIT("ColumnFamilies")));
    assert_null(at_json_field(TABLE, AT_LIT("column")));
    assert_null(at_json_field(TABLE, AT_LIT("")));
}

static void repeated_entries_named_after_their_field_are_a_map(void **state)
{
    (void)state;
    const ProtobufCMessageDescriptor *gc_union =
        &google__bigtable__admin__v2__gc_rule__union__descriptor;
    assert_true(at_json_is_map(TABLE, at_json_field(TABLE, AT_LIT("columnFamilies"))));
    assert_true(at_json_is_map(TABLE, at_json_field(TABLE, AT_LIT("clusterStates"))));
    assert_false(at_json_is_map(TABLE, at_json_field(TABLE, AT_LIT("name"))));
    assert_false(at_json_is_map(gc_union, at_json_field(gc_union, AT_LIT("rules"))));
}

static void messages_with_a_form_of_their_own_are_known(void **state)
{
    (void)state;
    assert_int_equal(at_json_kind(TABLE), AT_JSON_PLAIN);
    assert_int_equal(at_json_kind(&google__protobuf__any__descriptor), AT_JSON_ANY);
    assert_int_equal(at_json_kind(&google__protobuf__field_mask__descriptor), AT_JSON_MASK);
    assert_int_equal(at_json_kind(&google__protobuf__bool_value__descriptor), AT_JSON_WRAPPER);
}

static void the_pool_finds_by_full_name(void **state)
{
    (void)state;
    const ProtobufCMessageDescriptor *const messages[] = {TABLE};
    const struct at_json_pool pool = {messages, 1};
    assert_ptr_equal(at_json_pool_find(&pool, AT_LIT("google.bigtable.admin.v2.Table")), TABLE);
    assert_null(at_json_pool_find(&pool, AT_LIT("Table")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_lower_camel_case),
        cmocka_unit_test(a_field_is_found_by_either_spelling_only),
        cmocka_unit_test(repeated_entries_named_after_their_field_are_a_map),
        cmocka_unit_test(messages_with_a_form_of_their_own_are_known),
        cmocka_unit_test(the_pool_finds_by_full_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
