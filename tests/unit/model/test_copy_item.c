/* Items of copies: what is encoded comes back, and nothing else is taken. */
#include "base/alloc.h"
#include "cluster/model/copy_item.h"
#include "support/test.h"

#include <stdlib.h>

#define BUF_BYTES_MAX (64 * AT_KIB)

static const struct at_copy_item items[] = {
    {.kind = AT_COPY_CATALOG,
     .u.record = {.kind = AT_CATALOG_FAMILY,
                  .name = {(const uint8_t *)"cf", 2},
                  .table = {(const uint8_t *)"t1", 2},
                  .table_generation = 1,
                  .counter = 2,
                  .stamp = {9, {1}},
                  .fields = {(const uint8_t *)"abc", 3}}},
    {.kind = AT_COPY_DROP,
     .u.drop = {.table = {(const uint8_t *)"t1", 2},
                .table_generation = 300,
                .prefix = {(const uint8_t *)"p\0q", 3},
                .stamp = {UINT64_MAX, {UINT32_MAX}}}},
    {.kind = AT_COPY_DROP,
     .u.drop = {.table = {(const uint8_t *)"t1", 2}, .table_generation = 1, .stamp = {1, {0}}}},
    {.kind = AT_COPY_TOKEN, .u.token = {.span = 70000, .id = {.high = 1, .low = UINT64_MAX}}},
    {.kind = AT_COPY_PART,
     .u.part = {.table = {(const uint8_t *)"t1", 2}, .table_generation = 5, .bytes = 9}},
    {.kind = AT_COPY_PART,
     .u.part = {.table = {(const uint8_t *)"t1", 2},
                .table_generation = 5,
                .family = {(const uint8_t *)"cf", 2},
                .family_generation = 7,
                .bytes = UINT64_MAX,
                .start = {(const uint8_t *)"a", 1},
                .end = {(const uint8_t *)"a\0", 2}}},
};
#define ITEMS (sizeof(items) / sizeof(items[0]))

static void assert_same(const struct at_copy_item *a, const struct at_copy_item *b)
{
    assert_int_equal(a->kind, b->kind);
    switch (a->kind) {
    case AT_COPY_CATALOG:
        assert_true(at_slice_eq(a->u.record.name, b->u.record.name));
        assert_true(at_slice_eq(a->u.record.fields, b->u.record.fields));
        assert_int_equal(a->u.record.counter, b->u.record.counter);
        break;
    case AT_COPY_DROP:
        assert_true(at_slice_eq(a->u.drop.table, b->u.drop.table));
        assert_true(at_slice_eq(a->u.drop.prefix, b->u.drop.prefix));
        assert_int_equal(a->u.drop.table_generation, b->u.drop.table_generation);
        assert_int_equal(at_stamp_cmp(a->u.drop.stamp, b->u.drop.stamp), 0);
        break;
    case AT_COPY_TOKEN:
        assert_true(a->u.token.span == b->u.token.span);
        assert_true(a->u.token.id.high == b->u.token.id.high);
        assert_true(a->u.token.id.low == b->u.token.id.low);
        break;
    case AT_COPY_PART:
        assert_true(at_slice_eq(a->u.part.table, b->u.part.table));
        assert_true(at_slice_eq(a->u.part.family, b->u.part.family));
        assert_true(at_slice_eq(a->u.part.start, b->u.part.start));
        assert_true(at_slice_eq(a->u.part.end, b->u.part.end));
        assert_true(a->u.part.table_generation == b->u.part.table_generation);
        assert_true(a->u.part.family_generation == b->u.part.family_generation);
        assert_true(a->u.part.bytes == b->u.part.bytes);
        break;
    }
}

static void every_item_comes_back_and_no_part_of_one_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < ITEMS; i++) {
        struct at_copy_item got;
        struct at_unpack in;
        struct at_buf b AT_CLEANUP(at_buf_deinit);
        at_buf_init(&b, BUF_BYTES_MAX);
        assert_int_equal(at_copy_item_encode(&items[i], &b), AT_OK);
        at_unpack_init(&in, at_buf_slice(&b));
        assert_int_equal(at_copy_item_decode(&in, &got), AT_OK);
        assert_true(at_unpack_done(&in));
        assert_same(&got, &items[i]);
        for (size_t len = 0; len < b.len; len++) {
            uint8_t *exact = malloc(len ? len : 1);
            memcpy(exact, b.data, len);
            at_unpack_init(&in, at_slice_make(exact, len));
            assert_int_equal(at_copy_item_decode(&in, &got), AT_INVALID_ARGUMENT);
            free(exact);
        }
    }
}

static void a_full_buffer_is_left_as_it_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < ITEMS; i++) {
        struct at_buf b AT_CLEANUP(at_buf_deinit);
        at_buf_init(&b, 5);
        assert_int_equal(at_buf_append(&b, AT_LIT("abc")), AT_OK);
        assert_int_equal(at_copy_item_encode(&items[i], &b), AT_RESOURCE_EXHAUSTED);
        assert_int_equal(b.len, 3);
    }
}

struct bad_case {
    const char *name;
    struct at_slice bytes;
};
#define BYTES(s)                               \
    {                                          \
        (const uint8_t *)("" s), sizeof(s) - 1 \
    }

static const struct bad_case bad_cases[] = {
    {"refuses an unknown kind", BYTES("\x92\x09\x00")},
    {"refuses a kind with the items of another", BYTES("\x93\x02\xa1t\x01")},
    {"refuses a table without a name", BYTES("\x96\x02\xa0\x01\xc4\x00\x01\x01")},
    {"refuses a table of generation 0", BYTES("\x96\x02\xa1t\x00\xc4\x00\x01\x01")},
    {"refuses a drop without a stamp", BYTES("\x96\x02\xa1t\x01\xc4\x00\x00\x01")},
    {"refuses a token of zeros", BYTES("\x93\x03\x01\xc4\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
    {"refuses a short token", BYTES("\x93\x03\x01\xc4\x01\x01")},
    {"refuses a part of no family with a generation",
     BYTES("\x98\x04\xa1t\x01\xa0\x01\x00\xc4\x00\xc4\x00")},
    {"refuses a part of a family without one",
     BYTES("\x98\x04\xa1t\x01\xa1g\x00\x00\xc4\x00\xc4\x00")},
    {"refuses a family's name that is none",
     BYTES("\x98\x04\xa1t\x01\xa1/\x01\x00\xc4\x00\xc4\x00")},
    {"refuses a part that ends where it starts",
     BYTES("\x98\x04\xa1t\x01\xa0\x00\x00\xc4\x01x\xc4\x01x")},
};

static void bad(void **state)
{
    const struct bad_case *c = *state;
    struct at_copy_item got;
    struct at_unpack in;

    at_unpack_init(&in, c->bytes);
    assert_int_equal(at_copy_item_decode(&in, &got), AT_INVALID_ARGUMENT);
}

static void put_key(struct at_buf *b, enum at_key_kind kind, const char *row, uint64_t hlc)
{
    struct at_key key = {
        .kind = kind,
        .table = 7,
        .family = kind == AT_KEY_ROW_MARKER ? 0 : 3,
        .row = at_slice_cstr(row),
        .qualifier = kind >= AT_KEY_COLUMN_MARKER ? AT_LIT("q") : AT_LIT(""),
        .stamp = {hlc, {1}},
    };

    at_buf_clear(b);
    assert_int_equal(at_key_encode(&key, b), AT_OK);
}

struct cell_case {
    const char *name;
    enum at_key_kind kind;
    const char *row;
    uint64_t hlc;
    size_t value_len;
    enum at_code want;
};

static const struct cell_case cell_cases[] = {
    {"takes a cell", AT_KEY_CELL, "r", 1, 100, AT_OK},
    {"takes a partial", AT_KEY_PARTIAL, "r", 1, 8, AT_OK},
    {"takes a row marker", AT_KEY_ROW_MARKER, "r", 1, 0, AT_OK},
    {"takes a family marker", AT_KEY_FAMILY_MARKER, "r", 1, 0, AT_OK},
    {"takes a column marker", AT_KEY_COLUMN_MARKER, "r", 1, 16, AT_OK},
    {"refuses a column marker without its range", AT_KEY_COLUMN_MARKER, "r", 1, 8,
     AT_INVALID_ARGUMENT},
    {"refuses a row marker with a value", AT_KEY_ROW_MARKER, "r", 1, 1, AT_INVALID_ARGUMENT},
    {"refuses a family marker with a value", AT_KEY_FAMILY_MARKER, "r", 1, 1, AT_INVALID_ARGUMENT},
    {"refuses a key without a row", AT_KEY_CELL, "", 1, 0, AT_INVALID_ARGUMENT},
    {"refuses a key without a stamp", AT_KEY_CELL, "r", 0, 0, AT_INVALID_ARGUMENT},
};

static void cell(void **state)
{
    static const uint8_t value[100];
    const struct cell_case *c = *state;
    struct at_copy_cell got;
    struct at_unpack in;
    struct at_key key;
    struct at_buf stored AT_CLEANUP(at_buf_deinit);
    struct at_buf scratch AT_CLEANUP(at_buf_deinit);
    struct at_buf b AT_CLEANUP(at_buf_deinit);

    at_buf_init(&stored, AT_KEY_BYTES_MAX);
    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    at_buf_init(&b, BUF_BYTES_MAX);
    put_key(&stored, c->kind, c->row, c->hlc);
    struct at_copy_cell one = {at_slice_from(at_buf_slice(&stored), AT_KEY_PREFIX_BYTES),
                               at_slice_make(value, c->value_len)};
    assert_int_equal(at_copy_cell_encode(&one, &b), AT_OK);
    assert_true(b.len <= at_copy_cell_size_max(&one));
    at_unpack_init(&in, at_buf_slice(&b));
    assert_int_equal(at_copy_cell_decode(&in, &got), AT_OK);
    assert_true(at_unpack_done(&in));
    assert_true(at_slice_eq(got.key, one.key) && at_slice_eq(got.value, one.value));
    assert_int_equal(at_copy_cell_check(at_buf_slice(&stored), got.value, &scratch, &key), c->want);
    if (c->want == AT_OK)
        assert_int_equal(key.kind, c->kind);
    stored.len -= 1;
    assert_int_equal(at_copy_cell_check(at_buf_slice(&stored), got.value, &scratch, &key),
                     AT_INVALID_ARGUMENT);
    for (size_t len = 0; len < b.len; len++) {
        at_unpack_init(&in, at_slice_make(b.data, len));
        assert_int_equal(at_copy_cell_decode(&in, &got), AT_INVALID_ARGUMENT);
    }
}

int main(void)
{
    struct CMUnitTest tests[2 + sizeof(bad_cases) / sizeof(*bad_cases) +
                            sizeof(cell_cases) / sizeof(*cell_cases)] = {
        cmocka_unit_test(every_item_comes_back_and_no_part_of_one_is_taken),
        cmocka_unit_test(a_full_buffer_is_left_as_it_was),
    };
    size_t n = 2;

    for (size_t i = 0; i < sizeof(bad_cases) / sizeof(*bad_cases); i++)
        tests[n++] = (struct CMUnitTest){.name = bad_cases[i].name,
                                         .test_func = bad,
                                         .initial_state = (void *)(uintptr_t)&bad_cases[i]};
    for (size_t i = 0; i < sizeof(cell_cases) / sizeof(*cell_cases); i++)
        tests[n++] = (struct CMUnitTest){.name = cell_cases[i].name,
                                         .test_func = cell,
                                         .initial_state = (void *)(uintptr_t)&cell_cases[i]};
    return _cmocka_run_group_tests("copy items", tests, n, NULL, NULL);
}
