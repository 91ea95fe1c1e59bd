#include "support/test.h"

#include "support/copy_fixture.h"

#include "cluster/model/copy_item.h"

/* What a source tells, and how it is cut into parts and chunks. */

#define NONE ((struct at_slice){NULL, 0})

static void open_two(struct fx *a, struct fx *b)
{
    fx_open(a, 1, 2);
    fx_open(b, 2, 2);
}

static struct at_copy_source *open_source(struct fx *f)
{
    struct at_copy_source *s = NULL;
    struct at_vector needs = {0};

    assert_int_equal(at_copy_source_open(f->store, (struct at_member_id){2}, &needs, &s, NULL),
                     AT_OK);
    return s;
}

/* Reads a part whole, in chunks of about `chunk` bytes; returns how many there were. */
static uint32_t
read_part(struct at_copy_source *s, uint32_t part, size_t chunk, struct at_buf *items)
{
    struct at_buf cursor, next;
    uint32_t count = 0;
    struct at_copy_read read = {.part = part, .max_bytes = chunk, .items = items, .next = &next};

    at_buf_init(&cursor, AT_KEY_BYTES_MAX);
    at_buf_init(&next, AT_KEY_BYTES_MAX);
    for (; !read.last; count++) {
        size_t before = items->len;
        read.cursor = at_buf_slice(&cursor);
        assert_int_equal(at_copy_source_read(s, &read, NULL), AT_OK);
        assert_true(read.last || items->len > before);
        assert_int_equal(next.len == 0, read.last);
        at_buf_clear(&cursor);
        assert_int_equal(at_buf_append(&cursor, at_buf_slice(&next)), AT_OK);
    }
    at_buf_deinit(&cursor);
    at_buf_deinit(&next);
    return count;
}

static void chunks_of_any_size_make_the_same_part(void **state)
{
    struct fx a, b;
    struct at_buf whole, pieces;

    (void)state;
    open_two(&a, &b);
    fx_make_table(&a);
    assert_int_equal(fx_drop(&a, "t", "x"), AT_OK);
    assert_int_equal(fx_delete_row(&a, "gone"), AT_OK);
    for (int i = 0; i < 20; i++) {
        char row[16];
        snprintf(row, sizeof(row), "r%02d", i);
        assert_int_equal(fx_set(&a, row, "f", "q", 1000, "value"), AT_OK);
    }
    struct at_copy_source *s = open_source(&a);
    assert_int_equal(at_copy_source_offer(s).part_count, 3); /* row markers, f; nothing is in g */
    assert_true(at_copy_source_offer(s).bytes > 0);
    assert_int_equal(at_copy_source_offer(s).state->from.v, 1);
    assert_int_equal(fx_set(&a, "later", "f", "q", 1000, "v"), AT_OK);
    for (uint32_t part = 0; part < 3; part++) {
        at_buf_init(&whole, 1 << 20);
        assert_int_equal(read_part(s, part, 1 << 20, &whole), 1);
        for (size_t chunk = 0; chunk < 60; chunk += 1 + chunk) {
            at_buf_init(&pieces, 1 << 20);
            uint32_t count = read_part(s, part, chunk, &pieces);
            assert_true(part == 1 || count > 1);
            assert_true(at_slice_eq(at_buf_slice(&whole), at_buf_slice(&pieces)));
            at_buf_deinit(&pieces);
        }
        at_buf_deinit(&whole);
    }
    at_copy_source_close(&s);
    fx_close(&a);
    fx_close(&b);
}

static void a_large_family_has_parts_that_tile_it(void **state)
{
    enum { ROWS = 300, VALUE = 256 * 1024 };
    struct fx a, b;
    struct at_buf items;
    struct at_unpack in;
    struct at_copy_item item;
    struct at_buf end;
    uint32_t parts = 0;
    uint32_t cells = 0;

    (void)state;
    open_two(&a, &b);
    fx_make_table(&a);
    char *value = at_alloc(VALUE + 1);
    memset(value, 'v', VALUE);
    value[VALUE] = '\0';
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        snprintf(row, sizeof(row), "user%05d", i * 37);
        assert_int_equal(fx_set(&a, row, "f", "q", 1000, value), AT_OK);
    }
    at_free(value);
    struct at_copy_source *s = open_source(&a);
    assert_true(at_copy_source_offer(s).part_count >= 3);
    at_buf_init(&items, 256 * AT_MIB);
    at_buf_init(&end, AT_KIB);
    (void)read_part(s, 0, 1 << 20, &items);
    at_unpack_init(&in, at_buf_slice(&items));
    while (!at_unpack_done(&in)) {
        assert_int_equal(at_copy_item_decode(&in, &item), AT_OK);
        if (item.kind != AT_COPY_PART)
            continue;
        assert_true(at_slice_eq(item.u.part.start, at_buf_slice(&end)));
        at_buf_clear(&end);
        assert_int_equal(at_buf_append(&end, item.u.part.end), AT_OK);
        parts++;
    }
    assert_int_equal(end.len, 0);
    assert_int_equal(parts + 1, at_copy_source_offer(s).part_count);
    for (uint32_t part = 1; part <= parts; part++) {
        struct at_copy_cell cell;
        at_buf_clear(&items);
        (void)read_part(s, part, 4 * AT_MIB, &items);
        assert_true(items.len < 100 * AT_MIB);
        at_unpack_init(&in, at_buf_slice(&items));
        for (; !at_unpack_done(&in); cells++)
            assert_int_equal(at_copy_cell_decode(&in, &cell), AT_OK);
    }
    assert_int_equal(cells, ROWS);
    at_buf_deinit(&items);
    at_buf_deinit(&end);
    at_copy_source_close(&s);
    fx_close(&a);
    fx_close(&b);
}

static void what_is_not_there_is_refused(void **state)
{
    struct fx a, b;
    struct at_buf items, next;

    (void)state;
    open_two(&a, &b);
    fx_make_table(&a);
    assert_int_equal(fx_set(&a, "r", "f", "q", 1000, "v"), AT_OK);
    struct at_copy_source *s = open_source(&a);
    at_buf_init(&items, 1 << 20);
    at_buf_init(&next, AT_KEY_BYTES_MAX);
    const struct {
        uint32_t part;
        struct at_slice cursor;
    } cases[] = {{2, NONE},
                 {1, AT_LIT("\xff\xff\xff\xff")},
                 {0, AT_LIT("\xff")},
                 {0, AT_LIT("\xff\0\0\0\1")}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct at_copy_read read = {.part = cases[i].part,
                                    .cursor = cases[i].cursor,
                                    .max_bytes = 1 << 20,
                                    .items = &items,
                                    .next = &next};
        enum at_code code = at_copy_source_read(s, &read, NULL);
        if (cases[i].part == 1)
            assert_true(code == AT_OK && items.len == 0); /* behind all there is */
        else
            assert_int_equal(code, AT_INVALID_ARGUMENT);
    }
    at_buf_deinit(&items);
    at_buf_deinit(&next);
    at_copy_source_close(&s);
    /* Rule 27. */
    struct at_vector needs = {0};
    assert_int_equal(at_copy_source_open(a.store, (struct at_member_id){7}, &needs, &s, NULL),
                     AT_FAILED_PRECONDITION);
    assert_true(at_vector_raise(&needs, (struct at_position){{2}, 1, 5}));
    assert_int_equal(at_copy_source_open(a.store, (struct at_member_id){2}, &needs, &s, NULL),
                     AT_FAILED_PRECONDITION);
    at_vector_deinit(&needs);
    cfx_change(&a, cfx_set_mode, AT_MODE_INIT);
    assert_int_equal(at_copy_source_open(a.store, (struct at_member_id){2}, &needs, &s, NULL),
                     AT_FAILED_PRECONDITION);
    fx_close(&a);
    fx_close(&b);
}

/* ColumnFamily { gc_rule { max_age { seconds: 1 } } } */
#define OLD_GOES "\x0a\x04\x12\x02\x08\x01"

static void what_is_below_a_floor_is_left_out(void **state)
{
    struct fx a, b;
    struct at_buf items;
    struct at_write_collect floors = {.base = {.kind = AT_WRITE_COLLECT}, .raise_floors = true};

    (void)state;
    open_two(&a, &b);
    fx_make_table(&a);
    assert_int_equal(fx_change(&a, "t", "o", FX_FIELDS(OLD_GOES), true), AT_OK);
    struct at_mutation m = fx_set_of("o", "q", 1000, "old");
    assert_int_equal(fx_mutate(&a, "r", &m, 1, NULL), AT_OK);
    struct at_copy_source *s = open_source(&a);
    at_buf_init(&items, 1 << 20);
    (void)read_part(s, 1, 1 << 20, &items);
    assert_true(items.len > 0);
    at_copy_source_close(&s);
    assert_int_equal(fx_run(&a, &floors.base), AT_OK);
    s = open_source(&a);
    at_buf_clear(&items);
    if (at_copy_source_offer(s).part_count > 1) /* it may have been compacted away */
        (void)read_part(s, 1, 1 << 20, &items);
    assert_int_equal(items.len, 0);
    at_copy_source_close(&s);
    at_buf_deinit(&items);
    fx_close(&a);
    fx_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_of_any_size_make_the_same_part),
        cmocka_unit_test(a_large_family_has_parts_that_tile_it),
        cmocka_unit_test(what_is_not_there_is_refused),
        cmocka_unit_test(what_is_below_a_floor_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
