/* Looking things up in the descriptors of all protos. */
#include "wire/proto_files.h"

#include <string.h>

#include "base/pbwire.h"
#include "support/test.h"

#define DATA "google/bigtable/v2/data.proto"
#define BIGTABLE "google/bigtable/v2/bigtable.proto"

static struct at_slice name_of(struct at_slice file)
{
    struct at_pb_field field = {0};
    bool bad = false;

    assert_true(at_pb_next(&file, &field, &bad));
    assert_int_equal(field.number, 1);
    return field.bytes;
}

struct symbol_case {
    const char *symbol;
    const char *file; /* NULL: there is none */
    bool message;
};

static const struct symbol_case SYMBOLS[] = {
    {"google.bigtable.v2.Bigtable", BIGTABLE, false},
    {"google.bigtable.v2.Bigtable.ReadRows", BIGTABLE, false},
    {"google.bigtable.v2.ReadRowsRequest", BIGTABLE, true},
    {"google.bigtable.v2.ReadRowsRequest.table_name", BIGTABLE, false},
    {"google.bigtable.v2.ReadRowsResponse.CellChunk", BIGTABLE, true},
    {"google.bigtable.v2.ReadRowsResponse.CellChunk.row_key", BIGTABLE, false},
    {"google.bigtable.v2.Row", DATA, true},
    {"google.bigtable.v2.RowFilter.Chain", DATA, true},
    {"google.bigtable.admin.v2.BigtableTableAdmin",
     "google/bigtable/admin/v2/bigtable_table_admin.proto", false},
    {"google.bigtable.admin.v2.Table.View", "google/bigtable/admin/v2/table.proto", false},
    {"google.protobuf.Timestamp", "google/protobuf/timestamp.proto", true},
    {"grpc.reflection.v1.ServerReflection", "grpc/reflection/v1/reflection.proto", false},
    {"grpc.reflection.v1alpha.ErrorResponse", "grpc/reflection/v1alpha/reflection.proto", true},
    {"google.bigtable.v2", NULL, false},
    {"google.bigtable.v2xRow", NULL, false},
    {"google.bigtable.v2.", NULL, false},
    {"google.bigtable.v2.Bigtabl", NULL, false},
    {"google.bigtable.v2.Bigtable.", NULL, false},
    {"google.bigtable.v2.Bigtable.ReadRows.x", NULL, false},
    {".google.bigtable.v2.Row", NULL, false},
    {"google.bigtable.v2.Row..key", NULL, false},
    {"Row", NULL, false},
    {"", NULL, false},
};

static void test_symbol(void **state)
{
    const struct symbol_case *c = *state;
    struct at_slice set = at_proto_files_own();
    struct at_slice file = at_proto_file_defining(set, at_slice_cstr(c->symbol));

    assert_int_equal(file.len > 0, c->file != NULL);
    if (c->file)
        assert_true(at_slice_eq_cstr(name_of(file), c->file));
    assert_int_equal(at_proto_has_message(set, at_slice_cstr(c->symbol)), c->message);
}

static void files_are_found_by_their_whole_name(void **state)
{
    struct at_slice set = at_proto_files_own();

    (void)state;
    assert_true(at_slice_eq_cstr(name_of(at_proto_file_named(set, AT_LIT(DATA))), DATA));
    assert_int_equal(at_proto_file_named(set, AT_LIT("data.proto")).len, 0);
    assert_int_equal(at_proto_file_named(set, AT_LIT("")).len, 0);
}

static void a_file_comes_with_all_that_it_needs_and_each_once(void **state)
{
    struct at_slice set = at_proto_files_own();
    struct at_slice *files;
    struct at_arena arena;
    bool data = false;

    (void)state;
    at_arena_init(&arena, 4096);
    struct at_slice file = at_proto_file_named(set, AT_LIT(BIGTABLE));
    size_t count = at_proto_files_needed(set, file, &arena, &files);
    assert_true(count > 3);
    assert_true(at_slice_eq_cstr(name_of(files[0]), BIGTABLE));
    for (size_t i = 0; i < count; i++) {
        data = data || at_slice_eq_cstr(name_of(files[i]), DATA);
        for (size_t k = 0; k < i; k++)
            assert_false(at_slice_eq(files[i], files[k]));
    }
    assert_true(data);
    at_arena_deinit(&arena);
}

static void a_damaged_set_has_nothing_in_it(void **state)
{
    static const char DAMAGED[] = "\x0a\x7f"
                                  "\x0a\x01"
                                  "a";
    struct at_slice set = at_slice_make(DAMAGED, sizeof(DAMAGED) - 1);

    (void)state;
    assert_int_equal(at_proto_file_named(set, AT_LIT("a")).len, 0);
    assert_int_equal(at_proto_file_defining(set, AT_LIT("a")).len, 0);
}

static void what_has_no_name_is_not_found_by_none(void **state)
{
    /* A file "a" with a message that has no name, and a nested one in it likewise. */
    static const char NAMELESS[] = "\x0a\x07"
                                   "\x0a\x01"
                                   "a"
                                   "\x22\x02"
                                   "\x1a"; /* of the string's end: no bytes */
    struct at_slice set = at_slice_make(NAMELESS, sizeof(NAMELESS));

    (void)state;
    assert_int_equal(at_proto_file_named(set, AT_LIT("a")).len, 7);
    assert_int_equal(at_proto_file_defining(set, AT_LIT(".")).len, 0);
    assert_int_equal(at_proto_file_defining(set, AT_LIT("")).len, 0);
}

int main(void)
{
    enum { COUNT = sizeof(SYMBOLS) / sizeof(SYMBOLS[0]) };
    struct CMUnitTest tests[COUNT + 4];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = SYMBOLS[i].symbol,
                                       .test_func = test_symbol,
                                       .initial_state = (void *)(uintptr_t)&SYMBOLS[i]};
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(files_are_found_by_their_whole_name);
    tests[COUNT + 1] =
        (struct CMUnitTest)cmocka_unit_test(a_file_comes_with_all_that_it_needs_and_each_once);
    tests[COUNT + 2] = (struct CMUnitTest)cmocka_unit_test(a_damaged_set_has_nothing_in_it);
    tests[COUNT + 3] = (struct CMUnitTest)cmocka_unit_test(what_has_no_name_is_not_found_by_none);
    return _cmocka_run_group_tests("proto_files", tests, COUNT + 4, NULL, NULL);
}
