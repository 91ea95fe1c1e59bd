#include "support/copy_fixture.h"
#include "support/gc_fixture.h"
#include "support/test.h"

#include "base/prng.h"

/* Deleted tables that may be had back, on stores of one instance that exchange their logs by hand:
 * whoever deletes, makes anew or undeletes, and whatever comes late, all see the same. */

#define NONE ((struct at_slice){NULL, 0})
#define KEEP_MS 600000
#define MARGIN_MS 3600000

enum act { ACT_DELETE, ACT_UNDELETE, ACT_CREATE };

struct act_change {
    struct at_write_catalog write;
    enum act act;
};

/* As the handlers of DeleteTable, UndeleteTable and CreateTable do. */
static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *c, struct at_error *reterr)
{
    const struct act_change *x = (struct act_change *)write;
    const struct at_table *table = at_catalog_table(c, AT_LIT("t"));
    const struct at_table_fields *deleted = at_catalog_deleted_table(c, AT_LIT("t"));
    struct at_table_fields f = {.granularity_micros = 1000};
    struct at_buf bytes;

    if (x->act == ACT_DELETE ? !table : (table || (x->act == ACT_UNDELETE && !deleted)))
        return at_fail(reterr, AT_FAILED_PRECONDITION, "not so");
    if (x->act == ACT_DELETE) {
        f.data_generation = table->generation;
        f.previous[f.previous_count++] = (struct at_table_previous){
            table->generation, gcx_now_micros() + KEEP_MS * INT64_C(1000)};
        for (uint32_t i = 0;
             i < table->fields.previous_count && f.previous_count < AT_TABLE_PREVIOUS_MAX; i++)
            if (table->fields.previous[i].generation != table->generation)
                f.previous[f.previous_count++] = table->fields.previous[i];
    } else if (deleted) {
        uint32_t from = x->act == ACT_UNDELETE ? 1 : 0;
        f.data_generation = from ? deleted->previous[0].generation : 0;
        f.previous_count = deleted->previous_count - from;
        memcpy(f.previous, deleted->previous + from, sizeof(f.previous[0]) * f.previous_count);
    }
    at_buf_init(&bytes, AT_KIB);
    AT_ASSERT(at_table_fields_encode(&f, &bytes) == AT_OK);
    write->records = AT_ARENA_NEW(write->arena, struct at_catalog_record);
    write->records[0] =
        (struct at_catalog_record){.kind = AT_CATALOG_TABLE,
                                   .name = AT_LIT("t"),
                                   .counter = at_catalog_table_counter(c, AT_LIT("t")) + 1,
                                   .fields = at_arena_copy(write->arena, at_buf_slice(&bytes))};
    write->record_count = 1;
    at_buf_deinit(&bytes);
    return AT_OK;
}

static enum at_code act(struct fx *f, enum act what)
{
    struct at_arena arena;
    struct act_change x = {
        .write = {.base = {.kind = AT_WRITE_CATALOG}, .decide = decide, .arena = &arena},
        .act = what};

    at_arena_init(&arena, 1024);
    enum at_code code = fx_run(f, &x.write.base);
    at_schema_unref(&x.write.ret_schema);
    at_arena_deinit(&arena);
    return code;
}

static enum at_code make_anew(struct fx *f)
{
    enum at_code code = act(f, ACT_CREATE);

    return code == AT_OK ? fx_change(f, "t", "f", NONE, true) : code;
}

static enum at_code set(struct fx *f, const char *row, const char *value)
{
    return fx_set(f, row, "f", "q", 1000, value);
}

/* --- three stores --- */

struct world {
    struct fx at[3];
};

static void open_all(struct world *w, uint32_t count)
{
    for (uint32_t i = 0; i < 3; i++)
        gcx_open(&w->at[i], i + 1, count);
    assert_int_equal(fx_change(&w->at[0], "t", "f", NONE, true), AT_OK);
}

static int setup(void **state)
{
    struct world *w = AT_NEW(struct world);

    open_all(w, 3);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    for (uint32_t i = 0; i < 3; i++)
        fx_close(&w->at[i]);
    at_free(w);
    return 0;
}

static void exchange(struct world *w)
{
    for (int i = 0; i < 2; i++) {
        fx_exchange(&w->at[0], &w->at[1]);
        fx_exchange(&w->at[1], &w->at[2]);
        fx_exchange(&w->at[0], &w->at[2]);
    }
}

static void restart(struct fx *f)
{
    at_store_close(&f->store);
    fx_reopen(f);
}

static bool same(struct fx *a, struct fx *b)
{
    struct at_digest x = cfx_digest(a);
    struct at_digest y = cfx_digest(b);

    return x.rows == y.rows && x.cells == y.cells && memcmp(x.bytes, y.bytes, 16) == 0;
}

static void expect_all(struct world *w, const char *rows)
{
    for (uint32_t i = 0; i < 3; i++)
        fx_expect_rows(&w->at[i], "t", rows);
    assert_true(same(&w->at[0], &w->at[1]) && same(&w->at[1], &w->at[2]));
}

static void what_comes_after_the_deletion_is_there_when_it_is_had_back(void **state)
{
    struct world *w = *state;
    struct fx *a = &w->at[0], *b = &w->at[1], *c = &w->at[2];

    assert_int_equal(set(a, "early", "1"), AT_OK);
    exchange(w);
    assert_int_equal(set(b, "late", "2"), AT_OK);
    assert_int_equal(fx_drop(b, "t", "early"), AT_OK);
    assert_int_equal(act(a, ACT_DELETE), AT_OK);
    fx_pull(c, a, 1 << 20);
    restart(c);
    fx_pull(c, b, 1 << 20); /* of a table that is deleted there */
    fx_pull(a, b, 1 << 20);
    restart(a);
    assert_int_equal(set(a, "x", "3"), AT_NOT_FOUND);
    assert_int_equal(act(c, ACT_UNDELETE), AT_OK);
    exchange(w);
    expect_all(w, "late: f:q@1000=2|");
    restart(b);
    assert_int_equal(set(b, "more", "4"), AT_OK);
    exchange(w);
    expect_all(w, "late: f:q@1000=2|more: f:q@1000=4|");
}

static void one_made_anew_and_one_had_back_at_once_become_one(void **state)
{
    struct world *w = *state;
    struct fx *a = &w->at[0], *b = &w->at[1];

    assert_int_equal(set(a, "old", "1"), AT_OK);
    assert_int_equal(act(a, ACT_DELETE), AT_OK);
    exchange(w);
    for (int later = 0; later < 2; later++) {
        assert_int_equal(later ? act(a, ACT_UNDELETE) : make_anew(b), AT_OK);
        gcx_pass_ms(1);
        assert_int_equal(later ? make_anew(b) : act(a, ACT_UNDELETE), AT_OK);
        assert_int_equal(set(a, later ? "a2" : "a1", "a"), AT_OK);
        assert_int_equal(set(b, later ? "b2" : "b1", "b"), AT_OK);
        exchange(w);
        /* The later one stands; what was put into the old data meanwhile is kept with it. */
        expect_all(w, later ? "b2: f:q@1000=b|" : "a1: f:q@1000=a|old: f:q@1000=1|");
        assert_int_equal(act(a, ACT_DELETE), AT_OK);
        exchange(w);
    }
    assert_int_equal(act(b, ACT_UNDELETE), AT_OK); /* the newest: b2 */
    exchange(w);
    expect_all(w, "b2: f:q@1000=b|");
}

static void a_copy_takes_along_what_may_be_had_back(void **state)
{
    struct world *w = *state;
    struct fx *a = &w->at[0], *c = &w->at[2];

    assert_int_equal(set(a, "r", "1"), AT_OK);
    assert_int_equal(act(a, ACT_DELETE), AT_OK);
    assert_int_equal(make_anew(a), AT_OK);
    assert_int_equal(set(a, "new", "2"), AT_OK);
    cfx_copy(c, a, 64);
    fx_expect_rows(c, "t", "new: f:q@1000=2|");
    restart(c);
    assert_int_equal(act(a, ACT_DELETE), AT_OK);
    assert_int_equal(act(a, ACT_UNDELETE), AT_OK);
    assert_int_equal(act(a, ACT_DELETE), AT_OK);
    exchange(w);
    assert_int_equal(act(c, ACT_UNDELETE), AT_OK);
    exchange(w);
    expect_all(w, "new: f:q@1000=2|");
}

/* --- random --- */

static void step(struct world *w, struct at_prng *prng, uint64_t *rows)
{
    uint64_t i = at_prng_below(prng, 3);
    struct fx *f = &w->at[i];
    struct fx *other = &w->at[(i + 1 + at_prng_below(prng, 2)) % 3];
    char row[8];

    gcx_pass_ms(1);
    switch (at_prng_below(prng, 8)) {
    case 0:
        (void)act(f, ACT_DELETE);
        break;
    case 1:
        (void)act(f, ACT_UNDELETE);
        break;
    case 2:
        (void)make_anew(f);
        break;
    case 3:
        fx_pull(f, other, 1 << 20);
        break;
    case 4:
        fx_exchange(f, other);
        break;
    case 5:
        if (at_prng_below(prng, 4) == 0)
            restart(f);
        break;
    default:
        (void)snprintf(row, sizeof(row), "r%03u", (unsigned)(*rows)++);
        (void)set(f, row, "v");
        break;
    }
}

static void whatever_the_order_all_have_the_same_and_so_does_a_copy(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct world *w = AT_NEW(struct world);
        struct at_prng prng;
        uint64_t rows = 0;
        open_all(w, 3);
        exchange(w);
        at_prng_init(&prng, seed);
        for (int i = 0; i < 60; i++)
            step(w, &prng, &rows);
        for (int back = 0; back < 3; back++) { /* what is kept is the same as well */
            exchange(w);
            if (act(&w->at[0], ACT_UNDELETE) != AT_OK)
                (void)make_anew(&w->at[0]); /* unless it is there */
            exchange(w);
            char *text = fx_rows(&w->at[0], "t");
            expect_all(w, text);
            at_free(text);
            (void)act(&w->at[back], ACT_DELETE);
            (void)act(&w->at[back], ACT_UNDELETE);
        }
        exchange(w);
        (void)act(&w->at[0], ACT_DELETE); /* the copy brings what is kept */
        exchange(w);
        cfx_copy(&w->at[2], &w->at[0], 200);
        assert_int_equal(act(&w->at[2], ACT_UNDELETE), AT_OK);
        exchange(w);
        assert_true(same(&w->at[0], &w->at[2]));
        for (uint32_t i = 0; i < 3; i++)
            fx_close(&w->at[i]);
        at_free(w);
    }
}

/* --- time --- */

static unsigned cell_count(struct fx *f)
{
    struct at_iter_options options = {0};
    struct at_iter *i = at_iter_open(at_store_engine(f->store), AT_SPACE_CELLS, &options);
    unsigned count = 0;

    for (at_iter_seek(i, NONE); at_iter_valid(i); at_iter_next(i))
        count++;
    at_iter_close(&i);
    return count;
}

static void data_goes_when_nobody_can_have_it_back_and_not_before(void **state)
{
    struct fx f;

    (void)state;
    gcx_open(&f, 1, 1);
    assert_int_equal(fx_change(&f, "t", "f", NONE, true), AT_OK);
    assert_int_equal(set(&f, "r", "1"), AT_OK);
    assert_int_equal(act(&f, ACT_DELETE), AT_OK);
    gcx_pass_ms(KEEP_MS + MARGIN_MS - 1);
    gcx_raise_floors(&f);
    assert_int_equal(cell_count(&f), 1);
    restart(&f);
    assert_int_equal(cell_count(&f), 1);
    gcx_pass_ms(2000);
    gcx_raise_floors(&f); /* the horizon follows the clock */
    gcx_raise_floors(&f);
    assert_int_equal(cell_count(&f), 0);
    restart(&f);
    assert_int_equal(cell_count(&f), 0);
    assert_int_equal(make_anew(&f), AT_OK);
    fx_expect_rows(&f, "t", "");
    fx_close(&f);
}

static void one_that_was_had_back_is_never_taken_away(void **state)
{
    struct fx f;

    (void)state;
    gcx_open(&f, 1, 1);
    assert_int_equal(fx_change(&f, "t", "f", NONE, true), AT_OK);
    assert_int_equal(set(&f, "r", "1"), AT_OK);
    assert_int_equal(act(&f, ACT_DELETE), AT_OK);
    assert_int_equal(act(&f, ACT_UNDELETE), AT_OK);
    gcx_pass_ms(2 * (KEEP_MS + MARGIN_MS));
    gcx_raise_floors(&f);
    gcx_raise_floors(&f);
    fx_expect_rows(&f, "t", "r: f:q@1000=1|");
    fx_close(&f);
}

static void a_table_made_and_deleted_for_ever_does_not_grow_the_store(void **state)
{
    struct fx f;

    (void)state;
    gcx_open(&f, 1, 1);
    assert_int_equal(fx_change(&f, "t", "f", NONE, true), AT_OK);
    for (int i = 0; i < 3 * AT_TABLE_PREVIOUS_MAX; i++) {
        assert_int_equal(set(&f, "r", "1"), AT_OK);
        assert_int_equal(act(&f, ACT_DELETE), AT_OK);
        assert_int_equal(make_anew(&f), AT_OK);
        assert_true(cell_count(&f) <= AT_TABLE_PREVIOUS_MAX);
    }
    restart(&f);
    assert_int_equal(cell_count(&f), AT_TABLE_PREVIOUS_MAX);
    fx_close(&f);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(what_comes_after_the_deletion_is_there_when_it_is_had_back),
        WORLD_TEST(one_made_anew_and_one_had_back_at_once_become_one),
        WORLD_TEST(a_copy_takes_along_what_may_be_had_back),
        cmocka_unit_test(whatever_the_order_all_have_the_same_and_so_does_a_copy),
        cmocka_unit_test(data_goes_when_nobody_can_have_it_back_and_not_before),
        cmocka_unit_test(one_that_was_had_back_is_never_taken_away),
        cmocka_unit_test(a_table_made_and_deleted_for_ever_does_not_grow_the_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
