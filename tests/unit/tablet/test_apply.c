#include "support/world_fixture.h"

#include "base/prng.h"
#include "cluster/tablet/writer.h"

#include <stdio.h>

/* Stores of one instance that exchange their logs by hand: whatever the order, the same rows. */

static struct at_digest digest(struct fx *f)
{
    struct at_digest_run *run = NULL;
    struct at_digest d = {0};
    bool done = false;

    assert_int_equal(at_digest_open(f->store, NONE, 1, &run, NULL), AT_OK);
    while (!done)
        assert_int_equal(at_digest_step(run, 1 << 20, &done, &d, NULL), AT_OK);
    at_digest_close(&run);
    return d;
}

static bool same(struct fx *a, struct fx *b)
{
    struct at_digest x = digest(a);
    struct at_digest y = digest(b);

    return x.rows == y.rows && x.cells == y.cells && memcmp(x.bytes, y.bytes, 16) == 0;
}

static void all_exchange(struct world *w)
{
    for (int i = 0; i < 2; i++) {
        fx_exchange(&w->a, &w->b);
        fx_exchange(&w->b, &w->c);
        fx_exchange(&w->a, &w->c);
    }
}

static void rows_deletes_and_schema_travel(void **state)
{
    struct world *w = *state;

    fx_make_table(&w->a);
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "a"), AT_OK);
    assert_int_equal(fx_set(&w->a, "gone", "f", "q", 1000, "a"), AT_OK);
    fx_exchange(&w->a, &w->b);
    fx_expect_rows(&w->b, "t", "gone: f:q@1000=a|r: f:q@1000=a|");
    assert_int_equal(fx_delete_row(&w->b, "gone"), AT_OK);
    assert_int_equal(fx_set(&w->b, "r", "f", "q", 1000, "b"), AT_OK);
    assert_int_equal(fx_set(&w->a, "s", "g", "q", 1000, "a"), AT_OK);
    fx_exchange(&w->a, &w->b);
    fx_expect_rows(&w->a, "t", "r: f:q@1000=b|s: g:q@1000=a|");
    assert_true(same(&w->a, &w->b));
    assert_false(same(&w->a, &w->c));
    assert_int_equal(fx_pull(&w->c, &w->b, 1 << 20), 8); /* b relays what a wrote */
    assert_true(same(&w->a, &w->c));
    assert_int_equal(fx_pull(&w->c, &w->a, 1 << 20), 0);
}

static void everything_is_there_after_the_appliers_restart(void **state)
{
    struct world *w = *state;

    fx_make_table(&w->a);
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "a"), AT_OK);
    assert_int_equal(fx_drop(&w->a, "t", "x"), AT_OK);
    assert_int_equal(fx_delete_row(&w->a, "y"), AT_OK);
    fx_pull(&w->b, &w->a, 1 << 20);
    at_store_close(&w->b.store);
    fx_reopen(&w->b);
    fx_expect_rows(&w->b, "t", "r: f:q@1000=a|");
    assert_int_equal(fx_pull(&w->b, &w->a, 1 << 20), 0);
    assert_int_equal(fx_pull(&w->c, &w->b, 1 << 20), 6);
    assert_true(same(&w->a, &w->c));
}

static void a_repeated_reply_changes_nothing(void **state)
{
    struct world *w = *state;
    struct at_vector nothing = {0};
    struct fx_reply *reply = at_alloc(sizeof(*reply));

    fx_make_table(&w->a);
    assert_int_equal(fx_change(&w->a, "t", "n", FX_FIELDS(FX_SUM), true), AT_OK);
    assert_int_equal(fx_add(&w->a, "r", "n", "q", 5), AT_OK);
    for (int i = 0; i < 3; i++) {
        fx_reply_make(reply, &w->a, &nothing, 1 << 20);
        fx_reply_give(reply, &w->b);
        assert_int_equal(reply->apply.apply.applied_count, i == 0 ? 5 : 0);
        fx_reply_free(reply);
    }
    fx_expect_rows(&w->b, "t", "r: n:q@1000=%00%00%00%00%00%00%00%05|");
    at_free(reply);
}

/* H33: data overtakes the schema of another origin. */
static void data_ahead_of_its_schema_is_kept_invisible(void **state)
{
    struct world *w = *state;
    struct at_vector skip = {0};
    struct fx_reply *reply = at_alloc(sizeof(*reply));

    fx_make_table(&w->a);
    assert_int_equal(fx_change(&w->a, "t", "n", FX_FIELDS(FX_SUM), true), AT_OK);
    fx_pull(&w->b, &w->a, 1 << 20);
    fx_pull(&w->c, &w->a, 1 << 20);
    assert_int_equal(fx_change(&w->a, "t", "n", NONE, false), AT_OK);
    assert_int_equal(fx_change(&w->a, "t", "n", FX_FIELDS(FX_SUM), true), AT_OK);
    fx_pull(&w->b, &w->a, 1 << 20);
    assert_int_equal(fx_add(&w->b, "r", "n", "q", 7), AT_OK);
    /* c gets b's entry alone */
    at_vector_init(&skip);
    assert_true(at_vector_raise(&skip, (struct at_position){{1}, 1, 1000}));
    fx_reply_make(reply, &w->b, &skip, 1 << 20);
    fx_reply_give(reply, &w->c);
    assert_int_equal(reply->apply.apply.applied_count, 1);
    assert_int_equal(reply->apply.apply.discarded_count, 0);
    fx_reply_free(reply);
    at_free(reply);
    at_vector_deinit(&skip);
    fx_expect_rows(&w->c, "t", "");
    at_store_close(&w->c.store); /* kept over a restart, too */
    fx_reopen(&w->c);
    fx_pull(&w->c, &w->a, 1 << 20);
    fx_expect_rows(&w->c, "t", "r: n:q@1000=%00%00%00%00%00%00%00%07|");
}

static void a_table_that_is_not_known_at_all_is_kept_invisible(void **state)
{
    struct world *w = *state;
    struct at_vector skip = {0};
    struct fx_reply *reply = at_alloc(sizeof(*reply));

    fx_make_table(&w->a);
    fx_pull(&w->b, &w->a, 1 << 20);
    assert_int_equal(fx_set(&w->b, "r", "f", "q", 1000, "b"), AT_OK);
    assert_int_equal(fx_delete_row(&w->b, "s"), AT_OK);
    assert_int_equal(fx_set(&w->b, "xr", "f", "q", 1000, "b"), AT_OK);
    assert_int_equal(fx_drop(&w->b, "t", "x"), AT_OK);
    assert_true(at_vector_raise(&skip, (struct at_position){{1}, 1, 1000}));
    fx_reply_make(reply, &w->b, &skip, 1 << 20);
    fx_reply_give(reply, &w->c);
    assert_int_equal(reply->apply.apply.applied_count, 4);
    fx_reply_free(reply);
    at_free(reply);
    at_vector_deinit(&skip);
    fx_pull(&w->c, &w->a, 1 << 20);
    fx_expect_rows(&w->c, "t", "r: f:q@1000=b|");
    assert_true(same(&w->b, &w->c));
}

/* H34: a row delete hides families its cluster did not know. */
static void a_row_delete_covers_families_it_does_not_know(void **state)
{
    struct world *w = *state;

    fx_make_table(&w->a);
    fx_exchange(&w->a, &w->b);
    assert_int_equal(fx_change(&w->b, "t", "n", FX_FIELDS(FX_SUM), true), AT_OK);
    assert_int_equal(fx_add(&w->b, "r", "n", "q", 1), AT_OK);
    w->a.wall_offset_ns = 2 * AT_S_NS; /* the delete is the later operation */
    assert_int_equal(fx_delete_row(&w->a, "r"), AT_OK);
    w->a.wall_offset_ns = 0;
    fx_exchange(&w->a, &w->b);
    fx_expect_rows(&w->a, "t", "");
    fx_expect_rows(&w->b, "t", "");
    assert_true(same(&w->a, &w->b));
}

/* Protocol rule 34: two clusters make one family, of different types, and write to it before they
 * meet. The winner's kind shows, the other is kept and hidden, and no row becomes unreadable. */
static void values_of_the_losing_type_are_kept_and_hidden(void **state)
{
    struct world *w = *state;

    fx_make_table(&w->a);
    fx_exchange(&w->a, &w->b);
    assert_int_equal(fx_change(&w->a, "t", "n", FX_FIELDS(FX_SUM), true), AT_OK);
    assert_int_equal(fx_add(&w->a, "r", "n", "q", 5), AT_OK);
    assert_int_equal(fx_change(&w->a, "t", "o", FX_FIELDS(FX_SUM), true), AT_OK);
    assert_int_equal(fx_add(&w->a, "r", "o", "q", 5), AT_OK);
    w->b.wall_offset_ns = AT_S_NS; /* its records win */
    assert_int_equal(fx_change(&w->b, "t", "n", NONE, true), AT_OK);
    assert_int_equal(fx_set(&w->b, "r", "n", "q", 1000, "v"), AT_OK);
    assert_int_equal(fx_change(&w->b, "t", "o", FX_FIELDS(FX_HLL), true), AT_OK);
    w->b.wall_offset_ns = 0;
    all_exchange(w);
    fx_expect_rows(&w->a, "t", "r: n:q@1000=v|");
    assert_true(same(&w->a, &w->b));
    assert_true(same(&w->a, &w->c));
    assert_int_equal(fx_add(&w->a, "r", "n", "q", 1), AT_INVALID_ARGUMENT);
}

/* Partials of one value go in any order, each perhaps twice. */
static void unique_counts_agree_everywhere(void **state)
{
    struct world *w = *state;

    fx_make_table(&w->a);
    assert_int_equal(fx_change(&w->a, "t", "h", FX_FIELDS(FX_HLL), true), AT_OK);
    all_exchange(w);
    for (int64_t i = 0; i < 20; i++) {
        assert_int_equal(fx_add(&w->a, "r", "h", "q", i), AT_OK);
        assert_int_equal(fx_add(&w->b, "r", "h", "q", i * 2), AT_OK);
        assert_int_equal(fx_add(&w->c, "r", "h", "q", i * 3), AT_OK);
        if (i % 5 == 0)
            fx_exchange(&w->a, &w->c);
    }
    all_exchange(w);
    assert_true(same(&w->a, &w->b));
    assert_true(same(&w->a, &w->c));
}

/* A19: a drop and a rewrite, applied in any order. */
static void a_drop_hides_what_is_older_and_nothing_else(void **state)
{
    struct world *w = *state;

    fx_make_table(&w->a);
    fx_exchange(&w->a, &w->b);
    assert_int_equal(fx_set(&w->b, "row1", "f", "q", 0, "old"), AT_OK);
    assert_int_equal(fx_set(&w->b, "row2", "f", "q", 0, "old"), AT_OK);
    w->a.wall_offset_ns = 2 * AT_S_NS;
    assert_int_equal(fx_drop(&w->a, "t", ""), AT_OK);
    assert_int_equal(fx_set(&w->a, "row1", "f", "q", 0, "new"), AT_OK);
    fx_pull(&w->c, &w->a, 1 << 20);
    fx_pull(&w->c, &w->b, 1 << 20); /* the older rows come after the drop */
    fx_exchange(&w->a, &w->b);
    w->a.wall_offset_ns = 0;
    fx_expect_rows(&w->a, "t", "row1: f:q@0=new|");
    fx_expect_rows(&w->b, "t", "row1: f:q@0=new|");
    fx_expect_rows(&w->c, "t", "row1: f:q@0=new|");
}

/* A20 and rule 33: deleting beats every write to that generation, whatever the stamps. */
static void writes_to_a_dead_generation_are_discarded_and_move_the_position(void **state)
{
    struct world *w = *state;
    struct at_store_stats stats;

    fx_make_table(&w->a);
    fx_exchange(&w->a, &w->b);
    assert_int_equal(fx_change(&w->a, "t", "f", NONE, false), AT_OK);
    assert_int_equal(fx_change(&w->a, "t", "f", NONE, true), AT_OK);
    w->b.wall_offset_ns = 2 * AT_S_NS;
    assert_int_equal(fx_set(&w->b, "r", "f", "q", 1000, "dead"), AT_OK);
    assert_int_equal(fx_set(&w->b, "r", "g", "q", 1000, "alive"), AT_OK);
    w->b.wall_offset_ns = 0;
    assert_int_equal(fx_pull(&w->a, &w->b, 1 << 20), 2);
    at_store_stats(w->a.store, &stats);
    assert_int_equal(stats.discarded_entries, 1);
    fx_expect_rows(&w->a, "t", "r: g:q@1000=alive|");
    assert_int_equal(fx_pull(&w->a, &w->b, 1 << 20), 0);
    assert_int_equal(fx_pull(&w->c, &w->a, 1 << 20), 7); /* also the discarded one */
    fx_exchange(&w->a, &w->b);
    fx_expect_rows(&w->b, "t", "r: g:q@1000=alive|");
    assert_true(same(&w->a, &w->b));
    assert_true(same(&w->a, &w->c));

    assert_int_equal(fx_change(&w->a, "t", NULL, NONE, false), AT_OK);
    fx_make_table(&w->a);
    assert_int_equal(fx_set(&w->b, "r", "f", "q", 1000, "dead"), AT_OK);
    fx_exchange(&w->a, &w->b);
    fx_expect_rows(&w->a, "t", "");
    fx_expect_rows(&w->b, "t", "");
    assert_int_equal(fx_set(&w->b, "r", "f", "q", 1000, "fresh"), AT_OK);
    fx_exchange(&w->a, &w->b);
    fx_expect_rows(&w->a, "t", "r: f:q@1000=fresh|");
}

static void the_same_table_made_on_two_sides_is_one(void **state)
{
    struct world *w = *state;

    fx_make_table(&w->a);
    fx_make_table(&w->b);
    assert_int_equal(fx_set(&w->a, "a", "f", "q", 1000, "1"), AT_OK);
    assert_int_equal(fx_set(&w->b, "b", "f", "q", 1000, "2"), AT_OK);
    fx_exchange(&w->a, &w->b);
    fx_expect_rows(&w->a, "t", "a: f:q@1000=1|b: f:q@1000=2|");
    assert_true(same(&w->a, &w->b));
}

static void what_is_not_for_us_is_dropped_whole(void **state)
{
    struct world *w = *state;
    struct at_vector nothing = {0};
    struct fx_reply *reply = at_alloc(sizeof(*reply));

    fx_make_table(&w->a);
    fx_reply_make(reply, &w->a, &nothing, 1 << 20);
    reply->apply.apply.message.u.reply.instance_id = 78;
    fx_reply_give(reply, &w->b);
    assert_true(reply->apply.apply.dropped);
    assert_int_equal(reply->apply.apply.applied_count, 0);
    reply->apply.apply.message.u.reply.instance_id = 77;
    fx_reply_give(reply, &w->b);
    assert_false(reply->apply.apply.dropped);
    assert_int_equal(reply->apply.apply.applied_count, 3);
    fx_reply_free(reply);
    at_free(reply);
}

static void add_operation(struct at_record_builder *b,
                          struct fx *from,
                          uint64_t seq,
                          const struct at_operation *op)
{
    struct at_buf bytes;

    at_buf_init(&bytes, AT_MIB);
    assert_int_equal(at_operation_encode(op, &bytes), AT_OK);
    struct at_entry entry = {seq, fx_wall_ns(from) + seq, 4, at_buf_slice(&bytes)};
    assert_int_equal(at_record_add(b, &entry), AT_OK);
    at_buf_deinit(&bytes);
}

/* One change of a table that can't be read, a family that can't, and a profile. */
static void add_unreadable(struct at_record_builder *b, struct fx *from, uint64_t seq)
{
    const struct at_stamp stamp = {fx_wall_ns(from) + seq, {1}};
    struct at_catalog_record records[] = {
        {.kind = AT_CATALOG_TABLE, .name = AT_LIT("u"), .counter = 1, .fields = AT_LIT("\xff")},
        {.kind = AT_CATALOG_FAMILY,
         .name = AT_LIT("bad"),
         .table = AT_LIT("t"),
         .table_generation = 1,
         .counter = 1,
         .fields = AT_LIT("\x0a\x7f")},
        {.kind = AT_CATALOG_PROFILE,
         .name = AT_LIT("p"),
         .counter = 1,
         .fields = AT_LIT("\x0a\x7f")},
    };
    const struct at_operation op = {
        .kind = AT_OPERATION_CATALOG, .records = records, .record_count = 3};

    for (size_t i = 0; i < 3; i++)
        records[i].stamp = stamp;
    add_operation(b, from, seq, &op);
}

static void records_that_can_not_be_read_are_left_out_and_the_log_goes_on(void **state)
{
    struct world *w = *state;
    struct fx *const others[] = {&w->b, &w->c};
    struct at_mutation set = fx_set_of("f", "q", 1000, "v");
    struct at_record_builder b;

    fx_make_table(&w->a);
    set.family_generation = 1;
    const struct at_operation row = {.kind = AT_OPERATION_ROW,
                                     .table = AT_LIT("t"),
                                     .table_generation = 1,
                                     .row = AT_LIT("after"),
                                     .mutations = &set,
                                     .mutation_count = 1};
    at_record_builder_init(&b, AT_MIB);
    at_record_begin(&b, 4);
    add_unreadable(&b, &w->a, 4);
    add_operation(&b, &w->a, 5, &row);
    struct at_slice record = at_record_finish(&b);
    for (size_t i = 0; i < 2; i++) {
        struct at_vector nothing = {0};
        struct fx_reply *reply = at_alloc(sizeof(*reply));
        fx_pull(others[i], &w->a, 1 << 20);
        fx_reply_make(reply, &w->a, &nothing, 1 << 20);
        struct at_reply *r = &reply->apply.apply.message.u.reply;
        r->runs[0] = (struct at_run){.origin = {1}, .epoch = 1, .record = record};
        r->run_count = 1;
        fx_reply_give(reply, others[i]);
        assert_int_equal(reply->apply.apply.applied_count, 2);
        assert_int_equal(reply->apply.apply.discarded_count, 1);
        fx_reply_free(reply);
        at_free(reply);
        fx_expect_rows(others[i], "t", "after: f:q@1000=v|");
        struct at_schema *schema = at_store_schema(others[i]->store);
        assert_null(at_catalog_table(schema->catalog, AT_LIT("u")));
        assert_int_equal(at_catalog_table_counter(schema->catalog, AT_LIT("u")), 0);
        assert_int_equal(at_catalog_table(schema->catalog, AT_LIT("t"))->family_count, 2);
        assert_non_null(at_catalog_named(schema->catalog, AT_CATALOG_PROFILE, AT_LIT("p")));
        at_schema_unref(&schema);
    }
    assert_true(same(&w->b, &w->c));
    at_store_close(&w->b.store);
    fx_reopen(&w->b);
    fx_expect_rows(&w->b, "t", "after: f:q@1000=v|");
    at_record_builder_deinit(&b);
}

static void a_malformed_entry_ends_its_run_and_not_the_process(void **state)
{
    struct world *w = *state;
    struct at_record_builder b;
    struct fx_reply *reply = at_alloc(sizeof(*reply));
    struct at_vector nothing = {0};
    struct at_replica_view view;

    fx_make_table(&w->a);
    fx_pull(&w->b, &w->a, 1 << 20);
    fx_reply_make(reply, &w->a, &nothing, 1 << 20);
    struct at_reply *r = &reply->apply.apply.message.u.reply;
    at_record_builder_init(&b, AT_MIB);
    at_record_begin(&b, 4);
    struct at_entry bad = {4, fx_wall_ns(&w->a), 1, AT_LIT("\x93\x01")};
    assert_int_equal(at_record_add(&b, &bad), AT_OK);
    r->runs[0] = (struct at_run){.origin = {1}, .epoch = 1, .record = at_record_finish(&b)};
    r->runs[1] = (struct at_run){.origin = {1}, .epoch = 1, .record = AT_LIT("no record")};
    r->run_count = 2;
    fx_reply_give(reply, &w->b);
    assert_int_equal(reply->apply.apply.applied_count, 0);
    assert_false(reply->apply.apply.dropped);
    fx_view(&w->b, &view);
    assert_int_equal(at_vector_get(&view.applied, (struct at_member_id){1}, 1), 3);
    at_replica_view_deinit(&view);
    assert_int_equal(fx_set(&w->b, "r", "f", "q", 1000, "v"), AT_OK);
    at_record_builder_deinit(&b);
    fx_reply_free(reply);
    at_free(reply);
}

/* Acknowledged by all: trimmed, and then no longer to be read. */
static void what_all_have_durably_leaves_the_log(void **state)
{
    struct world *w = *state;
    struct at_replica_view view;
    struct at_buf out;
    uint32_t sizes[64];
    uint32_t count = 0;
    struct at_position first = {{1}, 1, 1};
    enum at_code rc = AT_OK;

    fx_make_table(&w->a);
    for (int i = 0; i < 20; i++)
        assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "v"), AT_OK);
    fx_pull(&w->b, &w->a, 1 << 20);
    fx_pull(&w->c, &w->a, 1 << 20);
    at_buf_init(&out, AT_MIB);
    for (int i = 0; i < 600 && rc == AT_OK; i++) {
        fx_acknowledge(&w->a, &w->b);
        fx_acknowledge(&w->a, &w->c);
        usleep(100000);
        at_buf_clear(&out);
        const struct at_log_read what = {first, 23, AT_MIB, 64};
        rc = at_store_read_log(w->a.store, &what, &out, sizes, &count, NULL);
    }
    assert_int_equal(rc, AT_NOT_FOUND);
    fx_view(&w->a, &view);
    assert_true(at_vector_get(&view.base, first.origin, 1) > 0);
    at_replica_view_deinit(&view);
    at_buf_deinit(&out);
}

/* --- random histories --- */

static void random_step(struct world *w, struct at_prng *prng)
{
    static const char *const families[] = {"f", "g", "n"};
    static const char *const rows[] = {"r1", "r2", "r3"};
    struct fx *all[] = {&w->a, &w->b, &w->c};
    uint64_t at = at_prng_below(prng, 3);
    struct fx *f = all[at];
    const char *family = families[at_prng_below(prng, 3)];
    const char *row = rows[at_prng_below(prng, 3)];
    bool sum = family[0] == 'n';
    char value[8];
    struct at_mutation m[3];

    switch (at_prng_below(prng, 16)) {
    case 0:
    case 1:
        (void)fx_delete_row(f, row);
        return;
    case 2:
        (void)fx_drop(f, "t", at_prng_below(prng, 2) ? "r" : row);
        return;
    case 3:
        m[0] = (struct at_mutation){.kind = AT_MUTATION_DELETE_FAMILY, .family = fx_s(family)};
        (void)fx_mutate(f, row, m, 1, NULL);
        return;
    case 4:
        m[0] = (struct at_mutation){.kind = AT_MUTATION_DELETE_COLUMN,
                                    .family = fx_s(family),
                                    .qualifier = AT_LIT("q"),
                                    .start_micros = 1000,
                                    .end_micros = at_prng_below(prng, 2) ? 2000 : 0};
        (void)fx_mutate(f, row, m, 1, NULL);
        return;
    case 5:
        (void)fx_change(f, "t", family, sum ? FX_FIELDS(FX_SUM) : NONE, at_prng_below(prng, 2));
        return;
    case 6:
        if (at_prng_below(prng, 4) == 0)
            (void)fx_change(f, "t", NULL, NONE, at_prng_below(prng, 3) != 0);
        return;
    case 7:
    case 8:
    case 9:
        (void)fx_pull(f, all[(at + 1 + at_prng_below(prng, 2)) % 3], 1 + at_prng_below(prng, 400));
        return;
    default:
        break;
    }
    snprintf(value, sizeof(value), "%u", (unsigned)at_prng_below(prng, 100));
    if (sum) {
        (void)fx_add(f, row, family, "q", (int64_t)at_prng_below(prng, 10));
        return;
    }
    m[0] = fx_set_of(family, "q", (int64_t)at_prng_below(prng, 3) * 1000, value);
    m[1] = (struct at_mutation){.kind = AT_MUTATION_DELETE_ROW};
    m[2] = fx_set_of(family, "p", 1000, value);
    (void)fx_mutate(f, row, m, at_prng_below(prng, 4) == 0 ? 3 : 1, NULL);
}

static void any_history_ends_in_equal_copies(void **state)
{
    struct world *w = *state;
    const char *wish = getenv("AT_TEST_SEED");
    uint64_t seed = wish != NULL ? strtoull(wish, NULL, 10) : 1;

    fx_make_table(&w->a);
    assert_int_equal(fx_change(&w->a, "t", "n", FX_FIELDS(FX_SUM), true), AT_OK);
    all_exchange(w);
    for (int round = 0; round < 40; round++, seed++) {
        struct at_prng prng;
        at_prng_init(&prng, seed);
        for (int i = 0; i < 60; i++)
            random_step(w, &prng);
        all_exchange(w);
        if (!same(&w->a, &w->b) || !same(&w->a, &w->c)) {
            char *x = fx_rows(&w->a, "t");
            char *y = fx_rows(&w->b, "t");
            char *z = fx_rows(&w->c, "t");
            fail_msg("round %d, seed %llu:\n%s\n%s\n%s", round, (unsigned long long)seed, x, y, z);
        }
    }
}

/* Only what is ahead of the catalog waits: the rest goes on, and it does as well once it is known.
 */
static void data_ahead_of_its_schema_waits_when_there_is_too_much_of_it(void **state)
{
    struct world *w = *state;
    struct at_local_ids *ids = &w->c.store->writer->ids;
    struct at_vector skip = {0};
    struct fx_reply *reply = at_alloc(sizeof(*reply));
    char name[16];

    fx_make_table(&w->a);
    fx_pull(&w->b, &w->a, 1 << 20);
    fx_pull(&w->c, &w->a, 1 << 20);
    for (uint32_t i = 0; ids->count < AT_LOCAL_IDS_MAX; i++) { /* the writer is idle */
        snprintf(name, sizeof(name), "x%u", i);
        (void)at_local_ids_add(ids, 0, fx_s(name), 1);
    }
    assert_int_equal(fx_change(&w->a, "t", "h", NONE, true), AT_OK);
    fx_pull(&w->b, &w->a, 1 << 20);
    assert_int_equal(fx_set(&w->b, "r", "f", "q", 1000, "1"), AT_OK);
    assert_int_equal(fx_set(&w->b, "r", "h", "q", 1000, "2"), AT_OK);
    at_vector_init(&skip);
    assert_true(at_vector_raise(&skip, (struct at_position){{1}, 1, 1000}));
    fx_reply_make(reply, &w->b, &skip, 1 << 20);
    for (int i = 0; i < 2; i++) {
        fx_reply_give(reply, &w->c);
        assert_int_equal(reply->apply.apply.applied_count, i == 0 ? 1 : 0);
    }
    assert_int_equal(ids->count, AT_LOCAL_IDS_MAX);
    fx_expect_rows(&w->c, "t", "r: f:q@1000=1|");
    fx_pull(&w->c, &w->a, 1 << 20);
    fx_reply_give(reply, &w->c);
    assert_int_equal(reply->apply.apply.applied_count, 1);
    fx_expect_rows(&w->c, "t", "r: f:q@1000=1 h:q@1000=2|");
    fx_reply_free(reply);
    at_free(reply);
    at_vector_deinit(&skip);
}

int main(void)
{
#define APPLY_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        APPLY_TEST(rows_deletes_and_schema_travel),
        APPLY_TEST(everything_is_there_after_the_appliers_restart),
        APPLY_TEST(a_repeated_reply_changes_nothing),
        APPLY_TEST(data_ahead_of_its_schema_is_kept_invisible),
        APPLY_TEST(data_ahead_of_its_schema_waits_when_there_is_too_much_of_it),
        APPLY_TEST(a_table_that_is_not_known_at_all_is_kept_invisible),
        APPLY_TEST(a_row_delete_covers_families_it_does_not_know),
        APPLY_TEST(values_of_the_losing_type_are_kept_and_hidden),
        APPLY_TEST(unique_counts_agree_everywhere),
        APPLY_TEST(a_drop_hides_what_is_older_and_nothing_else),
        APPLY_TEST(writes_to_a_dead_generation_are_discarded_and_move_the_position),
        APPLY_TEST(the_same_table_made_on_two_sides_is_one),
        APPLY_TEST(what_is_not_for_us_is_dropped_whole),
        APPLY_TEST(records_that_can_not_be_read_are_left_out_and_the_log_goes_on),
        APPLY_TEST(a_malformed_entry_ends_its_run_and_not_the_process),
        APPLY_TEST(what_all_have_durably_leaves_the_log),
        APPLY_TEST(any_history_ends_in_equal_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
