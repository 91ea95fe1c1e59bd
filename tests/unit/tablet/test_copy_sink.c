#include "support/copy_fixture.h"
#include "support/world_fixture.h"

#include "base/prng.h"

#include <sys/wait.h>

/* Copies between real stores: what is there afterwards, whatever both sides had. */

static void an_empty_store_gets_everything(void **state)
{
    struct world *w = *state;

    fx_make_table(&w->a);
    assert_int_equal(fx_change(&w->a, "t", "n", FX_FIELDS(FX_SUM), true), AT_OK);
    assert_int_equal(fx_set(&w->a, "gone", "f", "q", 1000, "1"), AT_OK);
    assert_int_equal(fx_delete_row(&w->a, "gone"), AT_OK);
    assert_int_equal(fx_set(&w->a, "xa", "f", "q", 1000, "1"), AT_OK);
    assert_int_equal(fx_drop(&w->a, "t", "x"), AT_OK);
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "v"), AT_OK);
    assert_int_equal(fx_set(&w->a, "s", "g", "q", 1000, "v"), AT_OK);
    assert_int_equal(fx_add(&w->a, "r", "n", "q", 5), AT_OK);
    for (size_t chunk = 1; chunk <= 1 << 20; chunk = chunk * 1000 + 1) {
        cfx_copy(&w->b, &w->a, chunk);
        fx_expect_rows(&w->b, "t",
                       "r: f:q@1000=v n:q@1000=%00%00%00%00%00%00%00%05|s: g:q@1000=v|");
        assert_true(cfx_same(&w->a, &w->b));
    }
    assert_int_equal(fx_pull(&w->b, &w->a, 1 << 20), 0); /* it has all of the log too */
    at_store_close(&w->b.store);
    fx_reopen(&w->b);
    assert_true(cfx_same(&w->a, &w->b));
    assert_int_equal(cfx_mode(&w->b), AT_MODE_READY);
    /* Markers and drops came as well: older entries do not come back. */
    assert_int_equal(fx_set(&w->b, "new", "f", "q", 1000, "v"), AT_OK);
    fx_exchange(&w->a, &w->b);
    assert_true(cfx_same(&w->a, &w->b));
}

static void what_only_the_receiver_has_stays(void **state)
{
    struct world *w = *state;

    fx_make_table(&w->a);
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "a"), AT_OK);
    assert_int_equal(fx_change(&w->b, "own", NULL, NONE, true), AT_OK);
    assert_int_equal(fx_change(&w->b, "own", "h", NONE, true), AT_OK);
    struct at_mutation m = fx_set_of("h", "q", 1000, "b");
    assert_int_equal(fx_mutate_in(&w->b, "own", fx_s("r"), &m, 1, NULL), AT_OK);
    fx_make_table(&w->b);
    assert_int_equal(fx_set(&w->b, "r", "g", "q", 1000, "b"), AT_OK);
    assert_int_equal(fx_set(&w->b, "s", "f", "q", 1000, "b"), AT_OK);
    cfx_copy(&w->b, &w->a, 1);
    fx_expect_rows(&w->b, "t", "r: f:q@1000=a g:q@1000=b|s: f:q@1000=b|");
    fx_expect_rows(&w->b, "own", "r: h:q@1000=b|");
    fx_exchange(&w->a, &w->b);
    assert_true(cfx_same(&w->a, &w->b));
    /* Both need the other's: one after the other (H11). */
    assert_int_equal(fx_set(&w->c, "r", "f", "q", 1000, "c"), AT_NOT_FOUND);
    cfx_copy(&w->c, &w->b, 1 << 20);
    assert_true(cfx_same(&w->c, &w->b));
}

/* --- the rule of stamps, key by key --- */

enum what { SET, ROW_MARKER, FAMILY_MARKER, COLUMN_MARKER, ADD, DROP };

struct rule_case {
    const char *name;
    enum what what;
    bool donor_has;
    bool own_has;
    bool below_t;    /* its stamp */
    bool donor_side; /* whose F is t */
    bool stays;
};

static const struct rule_case rule_cases[] = {
    {"above t a cell of the donor's is taken", SET, true, false, false, true, true},
    {"above t a cell of the receiver's stays", SET, false, true, false, true, true},
    {"above t a row marker of the donor's is taken", ROW_MARKER, true, false, false, false, true},
    {"above t a row marker of the receiver's stays", ROW_MARKER, false, true, false, true, true},
    {"above t a family marker is taken", FAMILY_MARKER, true, false, false, false, true},
    {"above t a family marker stays", FAMILY_MARKER, false, true, false, true, true},
    {"above t a column marker is taken", COLUMN_MARKER, true, false, false, false, true},
    {"above t a column marker stays", COLUMN_MARKER, false, true, false, true, true},
    {"above t an add is taken", ADD, true, false, false, false, true},
    {"above t an add stays", ADD, false, true, false, true, true},
    {"above t a drop is taken", DROP, true, false, false, false, true},
    {"above t a drop stays", DROP, false, true, false, true, true},
    {"below t the donor's cell is taken when t is its F", SET, true, false, true, true, true},
    {"below t the donor's cell is left when it is not", SET, true, false, true, false, false},
    {"below t the receiver's cell goes when t is the donor's F", SET, false, true, true, true,
     false},
    {"below t the receiver's cell stays when t is its own F", SET, false, true, true, false, true},
    {"below t the donor's row marker is taken", ROW_MARKER, true, false, true, true, true},
    {"below t the donor's row marker is left", ROW_MARKER, true, false, true, false, false},
    {"below t the receiver's row marker goes", ROW_MARKER, false, true, true, true, false},
    {"below t the receiver's row marker stays", ROW_MARKER, false, true, true, false, true},
    {"below t the donor's family marker is left", FAMILY_MARKER, true, false, true, false, false},
    {"below t the receiver's family marker goes", FAMILY_MARKER, false, true, true, true, false},
    {"below t the donor's column marker is left", COLUMN_MARKER, true, false, true, false, false},
    {"below t the receiver's column marker goes", COLUMN_MARKER, false, true, true, true, false},
    {"below t the donor's add is left", ADD, true, false, true, false, false},
    {"below t the receiver's add goes", ADD, false, true, true, true, false},
    {"below t the donor's drop is taken", DROP, true, false, true, true, true},
    {"below t the donor's drop is left", DROP, true, false, true, false, false},
    {"below t the receiver's drop goes", DROP, false, true, true, true, false},
    {"below t the receiver's drop stays", DROP, false, true, true, false, true},
    {"what both have stays below t", SET, true, true, true, true, true},
    {"what both have stays below t of the receiver's", SET, true, true, true, false, true},
    {"a drop that both have stays below t", DROP, true, true, true, true, true},
    {"a drop that both have stays", DROP, true, true, true, false, true},
    {"what both have stays above t", ADD, true, true, false, false, true},
};

static void write_it(struct fx *f, enum what what)
{
    struct at_mutation m = {.family = fx_s("f"), .qualifier = AT_LIT("q")};

    switch (what) {
    case SET:
        assert_int_equal(fx_set(f, "r", "f", "q", 1000, "v"), AT_OK);
        return;
    case ADD:
        assert_int_equal(fx_add(f, "r", "n", "q", 1), AT_OK);
        return;
    case DROP:
        assert_int_equal(fx_drop(f, "t", "r"), AT_OK);
        return;
    case ROW_MARKER:
        assert_int_equal(fx_delete_row(f, "r"), AT_OK);
        return;
    case FAMILY_MARKER:
        m.kind = AT_MUTATION_DELETE_FAMILY;
        break;
    case COLUMN_MARKER:
        m.kind = AT_MUTATION_DELETE_COLUMN;
        break;
    }
    assert_int_equal(fx_mutate(f, "r", &m, 1, NULL), AT_OK);
}

/* Stored keys and drops. */
static uint32_t stored(struct fx *f)
{
    static const struct at_iter_options options = {0};
    struct at_iter *i = at_iter_open(at_store_engine(f->store), AT_SPACE_CELLS, &options);
    uint32_t count = 0;

    for (at_iter_seek(i, NONE); at_iter_valid(i); at_iter_next(i))
        count++;
    at_iter_close(&i);
    i = at_iter_open(at_store_engine(f->store), AT_SPACE_META, &options);
    for (at_iter_seek(i, AT_LIT("d")); at_iter_valid(i) && at_iter_key(i).data[0] == 'd';
         at_iter_next(i))
        count++;
    at_iter_close(&i);
    return count;
}

static void rule(void **state)
{
    const struct rule_case *c = *state;
    struct world *w = NULL;
    void *made = NULL;

    assert_int_equal(setup(&made), 0);
    w = made;
    fx_make_table(&w->a);
    assert_int_equal(fx_change(&w->a, "t", "n", FX_FIELDS(FX_SUM), true), AT_OK);
    fx_pull(&w->b, &w->a, 1 << 20);
    uint64_t before = cfx_hlc(&w->a);
    if (c->donor_has) {
        write_it(&w->a, c->what);
        if (c->own_has)
            fx_pull(&w->b, &w->a, 1 << 20);
    } else {
        w->b.wall_offset_ns = AT_MS_NS * 100;
        write_it(&w->b, c->what);
    }
    uint64_t after = cfx_hlc(c->donor_has ? &w->a : &w->b);
    uint64_t t = c->below_t ? after : before - 1;
    cfx_change(&w->a, cfx_set_horizon, c->donor_side ? t : 0);
    cfx_change(&w->b, cfx_set_horizon, c->donor_side ? 0 : t);
    cfx_copy(&w->b, &w->a, 1 << 20);
    assert_int_equal(stored(&w->b), c->stays ? 1 : 0);
    at_store_close(&w->b.store);
    fx_reopen(&w->b);
    assert_int_equal(stored(&w->b), c->stays ? 1 : 0);
    assert_int_equal(teardown(&made), 0);
}

/* --- generations --- */

static void data_ahead_of_its_schema_is_copied_and_stays_invisible(void **state)
{
    static const struct at_member_id four[] = {{1}, {2}, {3}, {4}};
    struct world *w = *state;
    struct at_vector skip = {0};
    struct fx_reply *reply = at_alloc(sizeof(*reply));
    struct fx d, e;

    fx_make_table(&w->a);
    fx_pull(&w->b, &w->a, 1 << 20);
    assert_int_equal(fx_set(&w->b, "r", "f", "q", 1000, "b"), AT_OK);
    assert_int_equal(fx_delete_row(&w->b, "s"), AT_OK);
    assert_int_equal(fx_drop(&w->b, "t", "x"), AT_OK);
    fx_prepare(&d, 3, 3);
    fx_prepare(&e, 4, 4);
    d.config.replica.members = e.config.replica.members = four;
    d.config.replica.member_count = 4;
    fx_reopen(&d);
    fx_reopen(&e);
    assert_true(at_vector_raise(&skip, (struct at_position){{1}, 1, 1000}));
    fx_reply_make(reply, &w->b, &skip, 1 << 20);
    fx_reply_give(reply, &d); /* d has the rows and not the table */
    assert_int_equal(reply->apply.apply.applied_count, 3);
    fx_reply_free(reply);
    at_free(reply);
    at_vector_deinit(&skip);
    cfx_copy(&e, &d, 1);
    assert_int_equal(stored(&e), 3);
    assert_int_equal(fx_set(&e, "r", "f", "q", 1000, "e"), AT_NOT_FOUND);
    fx_pull(&e, &w->a, 1 << 20);
    fx_expect_rows(&e, "t", "r: f:q@1000=b|");
    assert_true(cfx_same(&e, &w->b));
    cfx_copy(&d, &e, 1);
    assert_true(cfx_same(&d, &w->b));
    fx_close(&d);
    fx_close(&e);
}

static void dead_generations_of_either_side_do_not_come(void **state)
{
    struct world *w = *state;

    fx_make_table(&w->a);
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "dead"), AT_OK);
    assert_int_equal(fx_set(&w->a, "r", "g", "q", 1000, "1"), AT_OK);
    fx_exchange(&w->a, &w->b);
    fx_exchange(&w->a, &w->c);
    /* The receiver deleted the family; then the donor did. */
    assert_int_equal(fx_change(&w->b, "t", "f", NONE, false), AT_OK);
    assert_int_equal(fx_change(&w->b, "t", "f", NONE, true), AT_OK);
    cfx_copy(&w->b, &w->a, 1);
    fx_expect_rows(&w->b, "t", "r: g:q@1000=1|");
    assert_int_equal(stored(&w->b), 1);
    cfx_copy(&w->c, &w->b, 1);
    fx_expect_rows(&w->c, "t", "r: g:q@1000=1|");
    assert_int_equal(stored(&w->c), 1);
    /* The whole table, at the donor. */
    assert_int_equal(fx_drop(&w->c, "t", "q"), AT_OK);
    assert_int_equal(fx_change(&w->b, "t", NULL, NONE, false), AT_OK);
    cfx_copy(&w->c, &w->b, 1);
    assert_int_equal(stored(&w->c), 0);
    fx_make_table(&w->c);
    fx_expect_rows(&w->c, "t", "");
    at_store_close(&w->c.store);
    fx_reopen(&w->c);
    fx_expect_rows(&w->c, "t", "");
}

/* --- while it runs --- */

static void readers_keep_what_they_had_and_nothing_is_written(void **state)
{
    struct world *w = *state;
    struct at_copy_table_progress progress[4];
    struct cfx c;

    fx_make_table(&w->a);
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "old"), AT_OK);
    fx_pull(&w->b, &w->a, 1 << 20);
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "new"), AT_OK);
    cfx_begin(&c, &w->b, &w->a);
    assert_int_equal(cfx_mode(&w->b), AT_MODE_COPYING);
    assert_int_equal(at_store_copy_progress(w->b.store, progress, 4), 0);
    while (cfx_step(&c))
        fx_expect_rows(&w->b, "t", "r: f:q@1000=old|");
    assert_int_equal(at_store_copy_progress(w->b.store, progress, 4), 1);
    assert_string_equal(progress[0].table, "t");
    assert_true(progress[0].copied_bytes > 0 && progress[0].bytes > 0);
    assert_int_equal(fx_set(&w->b, "x", "f", "q", 1000, "v"), AT_UNAVAILABLE);
    assert_int_equal(fx_drop(&w->b, "t", "r"), AT_UNAVAILABLE);
    /* A second one is refused, and so is donating. */
    struct cfx other;
    struct at_error error = {0};
    assert_int_equal(cfx_try_begin(&other, &w->b, &w->c, &error), AT_FAILED_PRECONDITION);
    assert_int_equal(cfx_try_begin(&other, &w->c, &w->b, &error), AT_FAILED_PRECONDITION);
    struct at_snapshot *before = at_snapshot_open(at_store_engine(w->b.store));
    assert_int_equal(cfx_finish(&c, &error), AT_OK);
    assert_int_equal(at_store_copy_progress(w->b.store, progress, 4), 0);
    fx_expect_rows(&w->b, "t", "r: f:q@1000=new|");
    struct at_iter_options options = {.snapshot = before};
    struct at_iter *i = at_iter_open(at_store_engine(w->b.store), AT_SPACE_CELLS, &options);
    at_iter_seek(i, NONE);
    assert_true(at_iter_valid(i) && at_slice_eq(at_iter_value(i), AT_LIT("old")));
    at_iter_next(i);
    assert_false(at_iter_valid(i));
    at_iter_close(&i);
    at_snapshot_close(&before);
}

static void a_copy_that_is_given_up_changes_nothing(void **state)
{
    struct world *w = *state;
    struct cfx c;

    fx_make_table(&w->a);
    fx_make_table(&w->b);
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "a"), AT_OK);
    assert_int_equal(fx_set(&w->b, "s", "f", "q", 1000, "b"), AT_OK);
    for (int steps = 0; steps < 5; steps++) {
        cfx_begin(&c, &w->b, &w->a);
        c.chunk_bytes = 1;
        for (int i = 0; i < steps * 2 && cfx_step(&c); i++)
            continue;
        cfx_abort(&c);
        assert_int_equal(cfx_mode(&w->b), AT_MODE_NEEDS_COPY);
        fx_expect_rows(&w->b, "t", "s: f:q@1000=b|");
    }
    /* An unfinished one can't be finished. */
    cfx_begin(&c, &w->b, &w->a);
    assert_int_equal(at_copy_sink_finish(&c.sink, NULL), AT_FAILED_PRECONDITION);
    assert_true(cfx_step(&c));
    assert_int_equal(at_copy_sink_finish(&c.sink, NULL), AT_FAILED_PRECONDITION);
    cfx_abort(&c);
    at_store_close(&w->b.store);
    fx_reopen(&w->b);
    assert_int_equal(cfx_mode(&w->b), AT_MODE_NEEDS_COPY);
    cfx_copy(&w->b, &w->a, 1);
    fx_expect_rows(&w->b, "t", "r: f:q@1000=a|s: f:q@1000=b|");
}

static void tokens_of_both_sides_are_known(void **state)
{
    struct world *w = *state;
    struct at_mutation m = fx_set_of("f", "q", 1000, "v");

    fx_make_table(&w->a);
    fx_pull(&w->b, &w->a, 1 << 20);
    for (int side = 0; side < 2; side++) {
        struct at_row_mutations row = {.row = side ? fx_s("rb") : fx_s("ra"),
                                       .mutations = &m,
                                       .mutation_count = 1,
                                       .token = AT_LIT("token-123456")};
        struct at_write_rows write = {.base = {.kind = AT_WRITE_ROWS},
                                      .table = fx_s("t"),
                                      .full_name = FX_NAME,
                                      .rows = &row,
                                      .row_count = 1};
        assert_int_equal(fx_run(side ? &w->b : &w->a, &write.base), AT_OK);
    }
    assert_int_equal(w->b.store->writer->tokens.count, 1);
    cfx_copy(&w->b, &w->a, 1);
    assert_int_equal(w->b.store->writer->tokens.count, 2);
    at_store_close(&w->b.store);
    fx_reopen(&w->b);
    assert_int_equal(w->b.store->writer->tokens.count, 2);
}

static void the_log_of_what_grew_is_empty_and_a_gap_to_others(void **state)
{
    struct world *w = *state;
    struct at_replica_view view;
    struct at_buf out;
    uint32_t sizes[8];
    uint32_t count = 0;

    fx_make_table(&w->a);
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "a"), AT_OK);
    fx_pull(&w->b, &w->a, 1);
    cfx_copy(&w->b, &w->a, 1);
    fx_view(&w->b, &view);
    assert_int_equal(at_vector_get(&view.applied, (struct at_member_id){1}, 1), 4);
    assert_int_equal(at_vector_get(&view.base, (struct at_member_id){1}, 1), 4);
    at_replica_view_deinit(&view);
    at_buf_init(&out, 1 << 20);
    struct at_log_read what = {{{1}, 1, 1}, 4, 1 << 20, 8};
    assert_int_equal(at_store_read_log(w->b.store, &what, &out, sizes, &count, NULL), AT_NOT_FOUND);
    /* What comes next goes on behind it. */
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "a2"), AT_OK);
    assert_int_equal(fx_pull(&w->b, &w->a, 1 << 20), 1);
    what.first.seq = what.last_seq = 5;
    assert_int_equal(at_store_read_log(w->b.store, &what, &out, sizes, &count, NULL), AT_OK);
    at_buf_deinit(&out);
}

/* --- donors that can't be trusted --- */

struct bad_case {
    const char *name;
    uint32_t part; /* which chunk is put in the place of what */
    const char *items;
    size_t items_len;
    bool last;
};
#define ITEMS(s) ("" s), sizeof(s) - 1

static const struct bad_case bad_cases[] = {
    {"refuses items that are none", 0, ITEMS("\x01"), true},
    {"refuses a catalog without its parts", 0, ITEMS(""), true},
    {"refuses parts before the catalog", 1, ITEMS(""), true},
    {"refuses a part that begins late", 0, ITEMS("\x98\x04\xa1t\x01\xa1g\x01\x00\xc4\x01m\xc4\x00"),
     true},
    {"refuses a part that ends early", 0, ITEMS("\x98\x04\xa1t\x01\xa1g\x01\x00\xc4\x00\xc4\x01m"),
     true},
    {"refuses records that can't be read", 0,
     ITEMS("\x92\x01\x98\x01\xa1x\xa0\x00\x01\x09\x01\xc4\x01\x01"
           "\x98\x04\xa1t\x01\xa1g\x01\x00\xc4\x00\xc4\x00"),
     true},
    {"refuses a second part where there is one", 0,
     ITEMS("\x98\x04\xa1t\x01\xa1g\x01\x00\xc4\x00\xc4\x00"
           "\x98\x04\xa1t\x01\xa1h\x01\x00\xc4\x00\xc4\x00"),
     true},
};

static void bad(void **state)
{
    const struct bad_case *c = *state;
    struct world *w = NULL;
    void *made = NULL;
    struct cfx x;

    assert_int_equal(setup(&made), 0);
    w = made;
    fx_make_table(&w->a);
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "a"), AT_OK);
    cfx_begin(&x, &w->b, &w->a);
    assert_int_equal(at_copy_source_offer(x.source).part_count, 2);
    assert_int_equal(at_copy_sink_take(x.sink, c->part, NONE, c->last,
                                       at_slice_make(c->items, c->items_len), NULL),
                     AT_INVALID_ARGUMENT);
    cfx_abort(&x);
    assert_int_equal(teardown(&made), 0);
}

static void keys_out_of_order_or_of_another_place_are_refused(void **state)
{
    struct world *w = *state;
    struct at_buf items;
    struct at_buf next;

    fx_make_table(&w->a);
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "a"), AT_OK);
    assert_int_equal(fx_set(&w->a, "s", "f", "q", 1000, "a"), AT_OK);
    for (int kind = 0; kind < 4; kind++) {
        struct cfx x;
        cfx_begin(&x, &w->b, &w->a);
        assert_true(cfx_step(&x));
        assert_int_equal(x.part, 1);
        at_buf_init(&items, 1 << 20);
        at_buf_init(&next, AT_KEY_BYTES_MAX);
        assert_int_equal(at_buf_reserve(&items, 1 << 16), AT_OK); /* so that it never moves */
        struct at_copy_read read = {
            .part = 1, .max_bytes = 1 << 20, .items = &items, .next = &next};
        assert_int_equal(at_copy_source_read(x.source, &read, NULL), AT_OK);
        assert_true(read.last);
        struct at_slice all = at_buf_slice(&items);
        struct at_slice half = at_slice_make(all.data, all.len / 2);
        struct at_slice other = at_slice_from(all, all.len / 2);
        enum at_code code = AT_OK;
        if (kind == 0) { /* the second row, then the first */
            assert_int_equal(at_buf_append(&items, half), AT_OK);
            code = at_copy_sink_take(x.sink, 1, NONE, true,
                                     at_slice_from(at_buf_slice(&items), half.len), NULL);
        } else if (kind == 1) { /* a cursor that what is sent has passed */
            code = at_copy_sink_take(x.sink, 1, AT_LIT("a"), false, half, NULL);
        } else if (kind == 2) { /* no end, and no cursor */
            code = at_copy_sink_take(x.sink, 1, NONE, false, half, NULL);
        } else { /* again, after the end */
            assert_int_equal(at_copy_sink_take(x.sink, 1, NONE, true, all, NULL), AT_OK);
            code = at_copy_sink_take(x.sink, 1, NONE, true, other, NULL);
        }
        assert_int_equal(code, AT_INVALID_ARGUMENT);
        cfx_abort(&x);
        at_buf_deinit(&items);
        at_buf_deinit(&next);
    }
}

int main(void)
{
#define SINK_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    struct CMUnitTest tests[64] = {
        SINK_TEST(an_empty_store_gets_everything),
        SINK_TEST(what_only_the_receiver_has_stays),
        SINK_TEST(data_ahead_of_its_schema_is_copied_and_stays_invisible),
        SINK_TEST(dead_generations_of_either_side_do_not_come),
        SINK_TEST(readers_keep_what_they_had_and_nothing_is_written),
        SINK_TEST(a_copy_that_is_given_up_changes_nothing),
        SINK_TEST(tokens_of_both_sides_are_known),
        SINK_TEST(the_log_of_what_grew_is_empty_and_a_gap_to_others),
        SINK_TEST(keys_out_of_order_or_of_another_place_are_refused),
    };
    size_t n = 9;

    for (size_t i = 0; i < sizeof(rule_cases) / sizeof(*rule_cases); i++)
        tests[n++] = (struct CMUnitTest){.name = rule_cases[i].name,
                                         .test_func = rule,
                                         .initial_state = (void *)(uintptr_t)&rule_cases[i]};
    for (size_t i = 0; i < sizeof(bad_cases) / sizeof(*bad_cases); i++)
        tests[n++] = (struct CMUnitTest){.name = bad_cases[i].name,
                                         .test_func = bad,
                                         .initial_state = (void *)(uintptr_t)&bad_cases[i]};
    AT_ASSERT(n <= 64);
    return _cmocka_run_group_tests("copies into a store", tests, n, NULL, NULL);
}
