#include "cluster/backup/scan.h"

#include "support/backup_fixture.h"

/* A row over several chunks, and files that are not whole or say something wrong. */

static void big_row(void **state)
{
    static char big[700000];
    struct at_backup_scan s;
    struct at_backup_item item;
    struct bfx b;
    unsigned cells = 0, chunks = 0;
    bool done = false;

    (void)state;
    bfx_open(&b);
    memset(big, 'x', sizeof(big) - 1);
    for (char q[] = "a"; q[0] < 'f'; q[0]++)
        assert_int_equal(fx_set(&b.fx, "row", "f", q, 1000, big), AT_OK);
    assert_int_equal(fx_set(&b.fx, "row2", "g", "q", 1000, "v"), AT_OK);
    assert_int_equal(bfx_take(&b, NULL), AT_OK);
    assert_int_equal(at_backup_scan_open(&s, b.path, &b.error), AT_OK);
    assert_int_equal(s.head.family_count, 3);
    assert_true(at_slice_eq(s.head.source_table, FX_NAME));
    for (;;) {
        bool chunk_done = false;
        assert_int_equal(at_backup_scan_chunk(&s, &done, &b.error), AT_OK);
        if (done)
            break;
        chunks++;
        for (;;) {
            assert_int_equal(at_backup_scan_item(&s, &item, &chunk_done, &b.error), AT_OK);
            if (chunk_done)
                break;
            assert_true(at_slice_eq_cstr(item.row, cells < 5 ? "row" : "row2"));
            cells++;
        }
    }
    assert_int_equal(cells, 6);
    assert_int_equal(chunks, 3);
    assert_int_equal(s.counted.rows, 2);
    at_backup_scan_close(&s);
    bfx_close(&b);
}

static void put(struct at_backup_out *out, struct at_buf *payload)
{
    assert_int_equal(at_backup_out_chunk(out, at_buf_slice(payload), NULL), AT_OK);
    at_buf_clear(payload);
}

struct wrong_case {
    const char *name;
    const char *rows[4]; /* "": as before; "|": a new chunk */
    struct at_backup_end end;
    bool no_end;
    enum at_code code;
};

static void wrong(void **state)
{
    const struct wrong_case *c = *state;
    struct at_backup_family family = {AT_LIT("f"), AT_LIT("")};
    struct at_backup_head head = {AT_LIT("t"), 1000, &family, 1};
    struct at_backup_out out;
    struct at_backup_end counted;
    struct at_buf payload;
    struct bfx b;

    bfx_open(&b);
    at_buf_init(&payload, AT_MIB);
    assert_int_equal(at_backup_out_open(&out, b.path, NULL), AT_OK);
    assert_int_equal(at_backup_head_encode(&head, &payload), AT_OK);
    put(&out, &payload);
    assert_int_equal(at_backup_cells_begin(&payload), AT_OK);
    for (int i = 0; i < 4 && c->rows[i]; i++) {
        if (strcmp(c->rows[i], "|") == 0) {
            put(&out, &payload);
            assert_int_equal(at_backup_cells_begin(&payload), AT_OK);
            continue;
        }
        struct at_backup_item item = {.row = at_slice_cstr(c->rows[i]), .qualifier = AT_LIT("q")};
        assert_int_equal(at_backup_item_encode(&item, &payload), AT_OK);
    }
    put(&out, &payload);
    if (!c->no_end) {
        assert_int_equal(at_backup_end_encode(&c->end, &payload), AT_OK);
        put(&out, &payload);
    }
    assert_int_equal(at_backup_out_end(&out, NULL), AT_OK);
    assert_int_equal(at_backup_check(b.path, &b.stop, &counted, &b.error), c->code);
    at_buf_deinit(&payload);
    bfx_close(&b);
}

static void stopped(void **state)
{
    struct at_backup_end counted;
    struct bfx b;

    (void)state;
    bfx_open(&b);
    assert_int_equal(bfx_take(&b, NULL), AT_OK);
    assert_int_equal(at_backup_check(b.path, &b.stop, &counted, &b.error), AT_OK);
    atomic_store(&b.stop, true);
    assert_int_equal(at_backup_check(b.path, &b.stop, &counted, &b.error), AT_CANCELLED);
    bfx_damage(&b, 1);
    assert_int_equal(at_backup_check(b.path, &b.stop, &counted, &b.error), AT_DATA_LOSS);
    bfx_close(&b);
}

static struct wrong_case cases[] = {
    {"a file as it should be", {"a", "", "b"}, {2, 3}, false, AT_OK},
    {"a row in two chunks is one", {"a", "|", "a"}, {1, 2}, false, AT_OK},
    {"without an end it is not whole", {"a"}, {0, 0}, true, AT_DATA_LOSS},
    {"fewer rows than the end says", {"a", ""}, {2, 2}, false, AT_DATA_LOSS},
    {"fewer cells than the end says", {"a", ""}, {1, 3}, false, AT_DATA_LOSS},
    {"rows that go down", {"b", "a"}, {2, 2}, false, AT_DATA_LOSS},
    {"rows that go down over chunks", {"b", "|", "a"}, {2, 2}, false, AT_DATA_LOSS},
    {"a row named twice in a chunk", {"a", "a"}, {1, 2}, false, AT_DATA_LOSS},
    {"a chunk that begins without a row", {"a", "|", ""}, {1, 2}, false, AT_DATA_LOSS},
};

int main(void)
{
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[COUNT + 2];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, wrong, NULL, NULL, &cases[i]};
    tests[COUNT] =
        (struct CMUnitTest){"a large row is in several chunks", big_row, NULL, NULL, NULL};
    tests[COUNT + 1] =
        (struct CMUnitTest){"a check can be stopped; damage is told", stopped, NULL, NULL, NULL};
    return _cmocka_run_group_tests("scan", tests, COUNT + 2, NULL, NULL);
}
