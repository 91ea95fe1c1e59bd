#include "support/test.h"

#include <google/bigtable/v2/bigtable.pb-c.h>

#include "base/alloc.h"
#include "base/pbwire.h"
#include "wire/proto_alloc.h"

#define MUTATE &google__bigtable__v2__mutate_row_request__descriptor
#define FILTER &google__bigtable__v2__row_filter__descriptor

static void a_message_comes_back_as_it_was_packed(void **state)
{
    (void)state;
    struct at_arena arena;
    struct at_buf bytes;
    Google__Bigtable__V2__MutateRowRequest in = GOOGLE__BIGTABLE__V2__MUTATE_ROW_REQUEST__INIT;
    char table[] = "projects/p/instances/i/tables/t\xc3\xbc";
    uint8_t key[] = {0, 255, 128};
    at_arena_init(&arena, 512);
    at_buf_init(&bytes, 1000);
    in.table_name = table;
    in.row_key = (ProtobufCBinaryData){sizeof(key), key};
    assert_int_equal(at_proto_pack(&bytes, &in.base), AT_OK);
    const Google__Bigtable__V2__MutateRowRequest *out =
        at_proto_unpack(&arena, MUTATE, at_buf_slice(&bytes));
    assert_non_null(out);
    assert_string_equal(out->table_name, table);
    assert_true(at_slice_eq(at_proto_bytes(out->row_key), at_slice_make(key, sizeof(key))));
    at_buf_deinit(&bytes);
    at_arena_deinit(&arena);
}

static void an_empty_message_is_a_message(void **state)
{
    (void)state;
    struct at_arena arena;
    struct at_buf bytes;
    Google__Bigtable__V2__MutateRowRequest in = GOOGLE__BIGTABLE__V2__MUTATE_ROW_REQUEST__INIT;
    at_arena_init(&arena, 512);
    at_buf_init(&bytes, 10);
    assert_int_equal(at_proto_pack(&bytes, &in.base), AT_OK);
    assert_int_equal(bytes.len, 0);
    assert_non_null(at_proto_unpack(&arena, MUTATE, at_buf_slice(&bytes)));
    at_buf_deinit(&bytes);
    at_arena_deinit(&arena);
}

static void packing_stops_at_the_buffers_maximum(void **state)
{
    (void)state;
    struct at_buf bytes;
    Google__Bigtable__V2__MutateRowRequest in = GOOGLE__BIGTABLE__V2__MUTATE_ROW_REQUEST__INIT;
    char table[] = "a name that is longer than that";
    in.table_name = table;
    at_buf_init(&bytes, 10);
    assert_int_equal(at_proto_pack(&bytes, &in.base), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(bytes.len, 0);
    at_buf_deinit(&bytes);
}

struct bytes_case {
    const char *name;
    struct at_slice bytes;
    bool good;
};

static const struct bytes_case CASES[] = {
    {"takes text", {(const uint8_t *)"\x0a\x02hi", 4}, true},
    {"takes an unknown field", {(const uint8_t *)"\xa2\x1f\x02\xff\xff", 5}, true},
    {"takes any bytes in a bytes field", {(const uint8_t *)"\x12\x02\xff\xfe", 4}, true},
    {"refuses text with a NUL in it",
     {(const uint8_t *)"\x0a\x03"
                       "a\0b",
      5},
     false},
    {"refuses text that is not UTF-8", {(const uint8_t *)"\x0a\x02\xff\xfe", 4}, false},
    {"refuses a surrogate", {(const uint8_t *)"\x0a\x03\xed\xa0\x80", 5}, false},
    {"refuses bad text deep inside", /* mutations[0].set_cell.family_name */
     {(const uint8_t *)"\x1a\x05\x0a\x03\x0a\x01\xff", 7},
     false},
    {"refuses a cut length", {(const uint8_t *)"\x0a\x20hi", 4}, false},
    {"refuses a cut varint", {(const uint8_t *)"\x0a\x80", 2}, false},
    {"refuses a group", {(const uint8_t *)"\x0b\x0c", 2}, false},
    {"refuses field 0", {(const uint8_t *)"\x02\x00", 2}, false},
    {"refuses a number where text belongs", {(const uint8_t *)"\x08\x01", 2}, false},
};

static void bytes_are_taken_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct at_arena arena;
        at_arena_init(&arena, 512);
        if ((at_proto_unpack(&arena, MUTATE, CASES[i].bytes) != NULL) != CASES[i].good)
            fail_msg("%s", CASES[i].name);
        at_arena_deinit(&arena);
    }
}

/* A filter of `depth` chains within each other. */
static struct at_buf nested_filter(size_t depth)
{
    struct at_buf inner;
    at_buf_init(&inner, 64 * 1024 * 1024);
    assert_int_equal(at_pb_put_varint(&inner, 17, 1), AT_OK);
    for (size_t i = 0; i < depth; i++) {
        /* RowFilter.chain = 1, Chain.filters = 1 */
        for (int j = 0; j < 2; j++) {
            struct at_buf outer;
            at_buf_init(&outer, 64 * 1024 * 1024);
            assert_int_equal(at_pb_put_bytes(&outer, 1, at_buf_slice(&inner)), AT_OK);
            at_buf_deinit(&inner);
            inner = outer;
        }
    }
    return inner;
}

static void nesting_is_refused_before_it_can_overflow_the_stack(void **state)
{
    (void)state;
    static const struct {
        size_t depth;
        bool good;
    } DEPTHS[] = {{1, true}, {49, true}, {50, false}, {2000, false}};
    for (size_t i = 0; i < sizeof(DEPTHS) / sizeof(DEPTHS[0]); i++) {
        struct at_arena arena;
        struct at_buf bytes = nested_filter(DEPTHS[i].depth);
        at_arena_init(&arena, 512);
        assert_int_equal(at_proto_unpack(&arena, FILTER, at_buf_slice(&bytes)) != NULL,
                         DEPTHS[i].good);
        at_arena_deinit(&arena);
        at_buf_deinit(&bytes);
    }
}

static void too_many_elements_are_refused(void **state)
{
    (void)state;
    enum { COUNT = 4000001 };
    struct at_arena arena;
    uint8_t *bytes = at_alloc(2 * COUNT);
    at_arena_init(&arena, 512);
    for (size_t i = 0; i < COUNT; i++)
        bytes[2 * i] = 0x1a; /* an empty mutation */
    assert_null(at_proto_unpack(&arena, MUTATE, at_slice_make(bytes, 2 * COUNT)));
    assert_true(arena.used_bytes == 0);
    assert_non_null(at_proto_unpack(&arena, MUTATE, at_slice_make(bytes, 2000)));
    at_arena_deinit(&arena);
    at_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_comes_back_as_it_was_packed),
        cmocka_unit_test(an_empty_message_is_a_message),
        cmocka_unit_test(packing_stops_at_the_buffers_maximum),
        cmocka_unit_test(bytes_are_taken_or_refused),
        cmocka_unit_test(nesting_is_refused_before_it_can_overflow_the_stack),
        cmocka_unit_test(too_many_elements_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
