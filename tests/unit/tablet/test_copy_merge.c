#include "support/test.h"

#include "support/store_fixture.h"

#include "cluster/model/copy_item.h"
#include "cluster/tablet/copy_merge.h"

/* Two pictures of one stretch: one character per key, its stamp is its place in the alphabet; a
 * capital is the donor's value. */

struct merge_case {
    const char *name;
    const char *donor; /* keys a..z: row r<key>, stamp 1..26 */
    const char *own;
    char t; /* stamps up to this letter */
    bool donor_side;
    const char *want; /* capital: the donor's value */
};

static const struct merge_case cases[] = {
    {"above t the union, in order", "bd", "ace", '`', true, "aBcDe"},
    {"all below t, the donor's side", "bd", "ace", 'z', true, "BD"},
    {"all below t, the receiver's side", "bd", "ace", 'z', false, "ace"},
    {"both sides of t, the donor's", "ad", "bc", 'b', true, "AcD"},
    {"both sides of t, the receiver's", "ad", "bc", 'b', false, "bcD"},
    {"what both have, below t on the receiver's side, is the receiver's", "ab", "ab", 'a', false,
     "aB"},
    {"what both have is the donor's else", "ab", "ab", 'a', true, "AB"},
    {"the donor has nothing", "", "ab", 'a', true, "b"},
    {"the receiver has nothing", "ab", "", 'a', false, "B"},
};

static void put_key(struct at_buf *b, char name)
{
    char row[3] = {'r', name, '\0'};
    struct at_key key = {.kind = AT_KEY_CELL,
                         .table = 1,
                         .family = 1,
                         .row = at_slice_cstr(row),
                         .qualifier = AT_LIT("q"),
                         .timestamp_micros = 1000,
                         .stamp = {(uint64_t)(name - 'a' + 1), {1}}};

    at_buf_clear(b);
    assert_int_equal(at_key_encode(&key, b), AT_OK);
}

static enum at_code
emit(void *ctx, struct at_slice key, struct at_slice value, struct at_error *reterr)
{
    char name = (char)(at_copy_key_hlc(key) + 'a' - 1);

    (void)reterr;
    if (at_slice_eq(value, AT_LIT("donor")))
        name = (char)(name - 'a' + 'A');
    return at_buf_append(ctx, at_slice_make(&name, 1));
}

static void run_case(void **state)
{
    const struct merge_case *c = *state;
    struct fx f;
    struct at_buf key, items, start, end, out;
    struct at_batch *batch = at_batch_new();

    fx_open(&f, 1, 1);
    at_buf_init(&key, AT_KEY_BYTES_MAX);
    at_buf_init(&start, AT_KEY_BYTES_MAX);
    at_buf_init(&end, AT_KEY_BYTES_MAX);
    at_buf_init(&items, 1 << 20);
    at_buf_init(&out, 64);
    for (const char *p = c->own; *p != '\0'; p++) {
        put_key(&key, *p);
        at_batch_put(batch, AT_SPACE_CELLS, at_buf_slice(&key), AT_LIT("own"));
    }
    assert_int_equal(at_engine_commit(at_store_engine(f.store), batch, false, NULL), AT_OK);
    for (const char *p = c->donor; *p != '\0'; p++) {
        put_key(&key, *p);
        struct at_copy_cell cell = {at_slice_from(at_buf_slice(&key), AT_KEY_PREFIX_BYTES),
                                    AT_LIT("donor")};
        assert_int_equal(at_copy_cell_encode(&cell, &items), AT_OK);
    }
    assert_int_equal(at_key_seek_row(&start, 1, 1, AT_LIT("")), AT_OK);
    assert_int_equal(at_key_seek_family_end(&end, 1, 1), AT_OK);
    struct at_copy_rule rule = {.t = (uint64_t)(c->t - 'a' + 1), .donor_side = c->donor_side};
    struct at_copy_stretch stretch = {at_buf_slice(&start), at_buf_slice(&end),
                                      at_buf_slice(&items)};
    struct at_snapshot *snapshot = at_snapshot_open(at_store_engine(f.store));
    const struct at_copy_own own = {at_store_engine(f.store), snapshot};
    assert_int_equal(at_copy_merge(&own, &rule, &stretch, emit, &out, NULL), AT_OK);
    assert_string_equal(at_buf_cstr(&out), c->want);
    at_snapshot_close(&snapshot);
    at_batch_free(&batch);
    at_buf_deinit(&key);
    at_buf_deinit(&start);
    at_buf_deinit(&end);
    at_buf_deinit(&items);
    at_buf_deinit(&out);
    fx_close(&f);
}

int main(void)
{
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].name,
                                       .test_func = run_case,
                                       .initial_state = (void *)(uintptr_t)&cases[i]};
    return _cmocka_run_group_tests("merging two pictures", tests, COUNT, NULL, NULL);
}
