#include "cluster/backup/chunk.h"

#include "base/assert.h"
#include "support/test.h"

static struct at_buf buf;
static struct at_arena arena;

static int begin(void **state)
{
    (void)state;
    at_buf_init(&buf, AT_MIB);
    at_arena_init(&arena, 4096);
    return 0;
}

static int end(void **state)
{
    (void)state;
    at_buf_deinit(&buf);
    at_arena_deinit(&arena);
    return 0;
}

static struct at_unpack payload_of(enum at_backup_chunk kind)
{
    enum at_backup_chunk got = AT_BACKUP_END;
    struct at_unpack rest;

    assert_int_equal(at_backup_payload_kind(at_buf_slice(&buf), &got, &rest), AT_OK);
    assert_int_equal(got, kind);
    return rest;
}

static void head_comes_back(void **state)
{
    struct at_backup_family families[] = {{AT_LIT("f"), AT_LIT("")}, {AT_LIT("g"), AT_LIT("xy")}};
    const struct at_backup_head head = {AT_LIT("projects/p/instances/i/tables/t"), 1, families, 2};
    struct at_backup_head got;

    (void)state;
    assert_int_equal(at_backup_head_encode(&head, &buf), AT_OK);
    for (size_t len = 1; len < buf.len; len++) {
        struct at_unpack cut;
        at_unpack_init(&cut, at_slice_make(buf.data + 1, len - 1));
        assert_int_equal(at_backup_head_decode(&cut, &arena, &got), AT_DATA_LOSS);
    }
    struct at_unpack rest = payload_of(AT_BACKUP_HEAD);
    assert_int_equal(at_backup_head_decode(&rest, &arena, &got), AT_OK);
    assert_true(at_slice_eq(got.source_table, head.source_table));
    assert_int_equal(got.granularity_micros, 1);
    assert_int_equal(got.family_count, 2);
    assert_true(at_slice_eq_cstr(got.families[1].name, "g"));
    assert_true(at_slice_eq_cstr(got.families[1].fields, "xy"));
}

static void head_is_refused(void **state)
{
    struct at_backup_family same[] = {{AT_LIT("f"), AT_LIT("")}, {AT_LIT("f"), AT_LIT("")}};
    struct at_backup_family unnamed[] = {{AT_LIT(""), AT_LIT("")}};
    const struct at_backup_head bad[] = {
        {AT_LIT("t"), 1000, same, 2}, {AT_LIT("t"), 1000, unnamed, 1}, {AT_LIT("t"), 7, NULL, 0}};
    struct at_backup_head got;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        at_buf_clear(&buf);
        assert_int_equal(at_backup_head_encode(&bad[i], &buf), AT_OK);
        struct at_unpack rest = payload_of(AT_BACKUP_HEAD);
        assert_int_equal(at_backup_head_decode(&rest, &arena, &got), AT_DATA_LOSS);
    }
}

static void items_come_back(void **state)
{
    const struct at_backup_item items[] = {
        {AT_LIT("r"), 1, AT_LIT("q"), 1000, AT_LIT("v")},
        {{NULL, 0}, 0, AT_LIT(""), 0, AT_LIT("")},
    };
    struct at_backup_item got;

    (void)state;
    assert_int_equal(at_backup_cells_begin(&buf), AT_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(at_backup_item_encode(&items[i], &buf), AT_OK);
    struct at_unpack rest = payload_of(AT_BACKUP_CELLS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(at_backup_item_decode(&rest, 2, &got), AT_OK);
        assert_true(at_slice_eq(got.row, items[i].row));
        assert_int_equal(got.family, items[i].family);
        assert_true(at_slice_eq(got.qualifier, items[i].qualifier));
        assert_int_equal(got.timestamp_micros, items[i].timestamp_micros);
        assert_true(at_slice_eq(got.value, items[i].value));
    }
    assert_true(at_unpack_done(&rest));
}

static void items_are_refused(void **state)
{
    const struct at_backup_item bad[] = {
        {AT_LIT("r"), 2, AT_LIT("q"), 0, AT_LIT("")},  /* no such family */
        {AT_LIT("r"), 0, AT_LIT("q"), -1, AT_LIT("")}, /* would be the server's time */
    };
    struct at_backup_item got;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct at_unpack one;
        at_buf_clear(&buf);
        assert_int_equal(at_backup_item_encode(&bad[i], &buf), AT_OK);
        at_unpack_init(&one, at_buf_slice(&buf));
        assert_int_equal(at_backup_item_decode(&one, 2, &got), AT_DATA_LOSS);
    }
}

static void end_comes_back(void **state)
{
    struct at_backup_end got;

    (void)state;
    assert_int_equal(at_backup_end_encode(&(struct at_backup_end){7, 9}, &buf), AT_OK);
    struct at_unpack rest = payload_of(AT_BACKUP_END);
    assert_int_equal(at_backup_end_decode(&rest, &got), AT_OK);
    assert_int_equal(got.rows, 7);
    assert_int_equal(got.cells, 9);
}

static void frames_are_checked(void **state)
{
    uint8_t head[AT_BACKUP_CHUNK_HEAD_BYTES];
    const uint8_t huge[AT_BACKUP_CHUNK_HEAD_BYTES] = {0xff, 0xff, 0xff, 0xff};
    const uint8_t empty[AT_BACKUP_CHUNK_HEAD_BYTES] = {0};
    size_t size = 0;

    (void)state;
    at_backup_chunk_head(AT_LIT("payload"), head);
    assert_int_equal(at_backup_chunk_size(head, &size), AT_OK);
    assert_int_equal(size, 7);
    assert_true(at_backup_chunk_check(head, AT_LIT("payload")));
    assert_false(at_backup_chunk_check(head, AT_LIT("pAyload")));
    assert_false(at_backup_chunk_check(head, AT_LIT("payloa")));
    assert_int_equal(at_backup_chunk_size(huge, &size), AT_DATA_LOSS);
    assert_int_equal(at_backup_chunk_size(empty, &size), AT_DATA_LOSS);
}

static void unknown_kinds(void **state)
{
    enum at_backup_chunk kind;
    struct at_unpack rest;

    (void)state;
    assert_int_equal(at_backup_payload_kind(AT_LIT("\x00"), &kind, &rest), AT_DATA_LOSS);
    assert_int_equal(at_backup_payload_kind(AT_LIT("\x04"), &kind, &rest), AT_DATA_LOSS);
    assert_int_equal(at_backup_payload_kind(AT_LIT(""), &kind, &rest), AT_DATA_LOSS);
}

int main(void)
{
#define TEST(name, f)             \
    {                             \
        name, f, begin, end, NULL \
    }
    const struct CMUnitTest tests[] = {
        TEST("a head comes back, and no part of one is taken for it", head_comes_back),
        TEST("a head with families twice, unnamed, or an odd granularity is refused",
             head_is_refused),
        TEST("items come back, also without a row", items_come_back),
        TEST("an item of no family or of the server's time is refused", items_are_refused),
        TEST("an end comes back", end_comes_back),
        TEST("a frame tells a changed payload, and is bounded", frames_are_checked),
        TEST("payloads of no kind are refused", unknown_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
