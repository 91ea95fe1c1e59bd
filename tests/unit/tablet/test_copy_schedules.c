#include "support/copy_fixture.h"
#include "support/world_fixture.h"

#include "base/prng.h"

#include <stdio.h>

/* The schedules that broke earlier rules of copies, on real stores, and random ones. */

/* As fx_pull, leaving out what the donor has no log of any more, and all of origin `skip`. */
static bool pull(struct fx *to, struct fx *from, uint32_t skip, size_t bytes_max)
{
    struct fx_reply *reply = at_alloc(sizeof(*reply));
    struct at_replica_view have;
    struct at_replica_view donor;

    fx_view(to, &have);
    fx_view(from, &donor);
    for (uint32_t i = 0; i < donor.applied.count; i++) {
        struct at_position p = donor.applied.items[i];
        uint64_t base = at_vector_get(&donor.base, p.origin, p.epoch);
        if (p.origin.v == skip || at_vector_get(&have.applied, p.origin, p.epoch) < base)
            (void)at_vector_raise(&have.applied, p);
    }
    fx_reply_make(reply, from, &have.applied, bytes_max);
    fx_reply_give(reply, to);
    bool dropped = reply->apply.apply.dropped;
    fx_reply_free(reply);
    at_free(reply);
    at_replica_view_deinit(&have);
    at_replica_view_deinit(&donor);
    return !dropped;
}

static uint32_t stored(struct fx *f)
{
    static const struct at_iter_options options = {0};
    struct at_iter *i = at_iter_open(at_store_engine(f->store), AT_SPACE_CELLS, &options);
    uint32_t count = 0;

    for (at_iter_seek(i, NONE); at_iter_valid(i); at_iter_next(i))
        count++;
    at_iter_close(&i);
    return count;
}

static void collected(struct at_collect *collect)
{
    sem_post(collect->ctx);
}

static void collect(struct fx *f)
{
    sem_t done;

    sem_init(&done, 0, 0);
    struct at_collect c = {.table = AT_LIT("t"), .done = collected, .ctx = &done};
    assert_int_equal(at_store_collect(f->store, &c), AT_OK);
    while (sem_wait(&done) != 0)
        continue;
    sem_destroy(&done);
}

/* All that there is so far is at or below F, and is forgotten. */
static void forget(struct fx *f)
{
    cfx_change(f, cfx_set_horizon, cfx_hlc(f));
    collect(f);
}

static void make_tables(struct world *w)
{
    fx_make_table(&w->a);
    assert_int_equal(fx_change(&w->a, "t", "n", FX_FIELDS(FX_SUM), true), AT_OK);
    fx_pull(&w->b, &w->a, 1 << 20);
    fx_pull(&w->c, &w->a, 1 << 20);
}

static void h10_the_only_copy_of_an_entry_is_not_wiped(void **state)
{
    struct world *w = *state;

    make_tables(w);
    assert_int_equal(fx_set(&w->c, "x", "f", "q", 1000, "c"), AT_OK);
    fx_pull(&w->a, &w->c, 1 << 20);
    assert_int_equal(fx_set(&w->a, "y", "f", "q", 1000, "a"), AT_OK);
    assert_true(pull(&w->b, &w->a, 3, 1 << 20)); /* y alone; a dies */
    fx_expect_rows(&w->b, "t", "y: f:q@1000=a|");
    cfx_copy(&w->b, &w->c, 1);
    fx_expect_rows(&w->b, "t", "x: f:q@1000=c|y: f:q@1000=a|");
    assert_true(pull(&w->c, &w->b, 0, 1 << 20));
    assert_true(cfx_same(&w->b, &w->c));
}

static void h11_two_that_lack_each_others_entries_copy_one_after_the_other(void **state)
{
    struct world *w = *state;

    make_tables(w);
    assert_int_equal(fx_set(&w->a, "a", "f", "q", 1000, "1"), AT_OK);
    assert_int_equal(fx_set(&w->c, "c", "f", "q", 1000, "2"), AT_OK);
    cfx_change(&w->a, cfx_set_mode, AT_MODE_NEEDS_COPY);
    cfx_change(&w->c, cfx_set_mode, AT_MODE_NEEDS_COPY);
    cfx_copy(&w->c, &w->a, 1);
    cfx_copy(&w->a, &w->c, 1);
    fx_expect_rows(&w->a, "t", "a: f:q@1000=1|c: f:q@1000=2|");
    assert_true(cfx_same(&w->a, &w->c));
}

static void h12_what_was_deleted_and_forgotten_does_not_come_back(void **state)
{
    struct world *w = *state;

    make_tables(w);
    assert_int_equal(fx_set(&w->a, "x", "f", "q", 1000, "1"), AT_OK);
    fx_pull(&w->c, &w->a, 1 << 20);
    w->b.wall_offset_ns = 10 * AT_MS_NS;
    assert_int_equal(fx_delete_row(&w->b, "x"), AT_OK);
    fx_pull(&w->a, &w->b, 1 << 20);
    forget(&w->a);
    assert_int_equal(stored(&w->a), 0);
    assert_int_equal(stored(&w->c), 1);
    cfx_copy(&w->c, &w->a, 1);
    assert_int_equal(stored(&w->c), 0);
    fx_expect_rows(&w->c, "t", "");
}

static void h13_half_of_a_lost_donor_is_not_kept(void **state)
{
    struct world *w = *state;
    struct cfx c;

    make_tables(w);
    assert_int_equal(fx_set(&w->b, "r1", "f", "q", 1000, "b"), AT_OK);
    fx_pull(&w->a, &w->b, 1 << 20);
    assert_int_equal(fx_set(&w->a, "r0", "f", "q", 1000, "a"), AT_OK);
    cfx_begin(&c, &w->c, &w->a);
    c.chunk_bytes = 1;
    while (c.part == 0 || c.cursor.len == 0) /* the catalog, and row 0 */
        assert_true(cfx_step(&c));
    cfx_abort(&c); /* a dies for good */
    cfx_copy(&w->c, &w->b, 1);
    fx_expect_rows(&w->c, "t", "r1: f:q@1000=b|");
    assert_true(cfx_same(&w->b, &w->c));
}

static void h14_an_add_that_was_folded_meanwhile_counts_once(void **state)
{
    struct world *w = *state;
    struct cfx c;

    make_tables(w);
    assert_int_equal(fx_add(&w->a, "r", "n", "q", 1), AT_OK);
    fx_pull(&w->b, &w->a, 1 << 20);
    cfx_begin(&c, &w->c, &w->b);
    while (cfx_step(&c))
        continue;
    cfx_abort(&c); /* b restarts */
    assert_int_equal(fx_add(&w->a, "r", "n", "q", 2), AT_OK);
    fx_pull(&w->b, &w->a, 1 << 20);
    forget(&w->b);
    cfx_copy(&w->c, &w->b, 1);
    fx_expect_rows(&w->c, "t", "r: n:q@1000=%00%00%00%00%00%00%00%03|");
    assert_int_equal(fx_pull(&w->c, &w->a, 1 << 20), 0);
    /* And the other way round: the receiver folded. */
    assert_int_equal(fx_add(&w->a, "r", "n", "q", 4), AT_OK);
    forget(&w->c);
    cfx_copy(&w->c, &w->a, 1);
    fx_expect_rows(&w->c, "t", "r: n:q@1000=%00%00%00%00%00%00%00%07|");
}

static void h15_forgetting_under_a_running_copy_takes_nothing_from_it(void **state)
{
    struct world *w = *state;
    struct cfx c;

    make_tables(w);
    assert_int_equal(fx_set(&w->a, "x", "f", "q", 1000, "1"), AT_OK);
    fx_pull(&w->c, &w->a, 1 << 20);
    w->b.wall_offset_ns = 10 * AT_MS_NS;
    assert_int_equal(fx_delete_row(&w->b, "x"), AT_OK);
    fx_pull(&w->a, &w->b, 1 << 20);
    cfx_begin(&c, &w->c, &w->a);
    forget(&w->a);
    assert_int_equal(stored(&w->a), 0);
    assert_int_equal(cfx_finish(&c, NULL), AT_OK);
    fx_expect_rows(&w->c, "t", "");
    assert_int_equal(stored(&w->c), 2); /* the marker came with the snapshot */
}

static void h17_nothing_is_pulled_while_a_copy_runs(void **state)
{
    struct world *w = *state;
    struct cfx c;

    make_tables(w);
    assert_int_equal(fx_set(&w->a, "x", "f", "q", 1000, "1"), AT_OK);
    assert_int_equal(fx_delete_row(&w->a, "x"), AT_OK);
    fx_pull(&w->b, &w->a, 1 << 20);
    forget(&w->b);
    cfx_begin(&c, &w->c, &w->b);
    assert_true(cfx_step(&c));
    assert_false(pull(&w->c, &w->a, 0, 1));
    assert_int_equal(cfx_finish(&c, NULL), AT_OK);
    fx_expect_rows(&w->c, "t", "");
    assert_int_equal(stored(&w->c), 0);
    assert_true(pull(&w->c, &w->a, 0, 1 << 20));
    fx_expect_rows(&w->c, "t", "");
}

static void register_four(struct at_replica *r, uint64_t hlc)
{
    struct at_member_seed seed = {{4}, NONE};

    at_replica_member_joined(r, &seed, (struct at_position){{3}, 1, 1000}, hlc);
}

static void h18_the_horizon_that_counts_is_the_one_that_was_used(void **state)
{
    struct world *w = *state;
    struct at_replica_view view;

    make_tables(w);
    assert_int_equal(fx_add(&w->c, "x", "n", "q", 1), AT_OK);
    fx_pull(&w->a, &w->c, 1 << 20);
    w->a.wall_offset_ns = 10 * AT_MS_NS;
    assert_int_equal(fx_delete_row(&w->a, "x"), AT_OK);
    forget(&w->a);
    fx_view(&w->a, &view);
    uint64_t before = view.horizon;
    at_replica_view_deinit(&view);
    cfx_change(&w->a, register_four, cfx_hlc(&w->a)); /* it has promised nothing */
    fx_view(&w->a, &view);
    assert_true(view.horizon >= before);
    at_replica_view_deinit(&view);
    cfx_copy(&w->c, &w->a, 1);
    assert_int_equal(stored(&w->c), 0);
    fx_view(&w->c, &view);
    assert_true(view.horizon >= before);
    at_replica_view_deinit(&view);
}

/* --- random histories --- */

static void random_step(struct world *w, struct at_prng *prng)
{
    static const char *const rows[] = {"r", "rr", "s"};
    static const char *const families[] = {"f", "g", "n"};
    struct fx *all[] = {&w->a, &w->b, &w->c};
    uint64_t at = at_prng_below(prng, 3);
    struct fx *f = all[at];
    struct fx *other = all[(at + 1 + at_prng_below(prng, 2)) % 3];
    const char *family = families[at_prng_below(prng, 3)];
    const char *row = rows[at_prng_below(prng, 3)];
    struct at_mutation m = {.family = fx_s(family), .qualifier = AT_LIT("q")};

    switch (at_prng_below(prng, 24)) {
    case 0:
        (void)fx_delete_row(f, row);
        return;
    case 1:
        (void)fx_drop(f, "t", at_prng_below(prng, 2) ? "r" : row);
        return;
    case 2:
        m.kind = AT_MUTATION_DELETE_FAMILY;
        (void)fx_mutate(f, row, &m, 1, NULL);
        return;
    case 3:
        m.kind = AT_MUTATION_DELETE_COLUMN;
        m.end_micros = at_prng_below(prng, 2) ? 2000 : 0;
        (void)fx_mutate(f, row, &m, 1, NULL);
        return;
    case 4:
        (void)fx_change(f, "t", family, family[0] == 'n' ? FX_FIELDS(FX_SUM) : NONE,
                        at_prng_below(prng, 2));
        return;
    case 5:
        if (at_prng_below(prng, 4) == 0)
            (void)fx_change(f, "t", NULL, NONE, at_prng_below(prng, 3) != 0);
        return;
    case 6:
        cfx_copy(f, other, 1 + at_prng_below(prng, 300));
        return;
    case 7:
        collect(f);
        return;
    case 8:
    case 9:
    case 10:
    case 11:
    case 12:
        assert_true(pull(f, other, 0, 1 + at_prng_below(prng, 400)));
        return;
    default:
        break;
    }
    if (family[0] == 'n')
        (void)fx_add(f, row, "n", "q", (int64_t)at_prng_below(prng, 10));
    else
        (void)fx_set(f, row, family, "q", (int64_t)at_prng_below(prng, 3) * 1000,
                     at_prng_below(prng, 2) ? "1" : "2");
}

static void settle(struct world *w)
{
    struct fx *all[] = {&w->a, &w->b, &w->c};

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 6; i++)
            assert_true(pull(all[i / 2], all[(i / 2 + 1 + i % 2) % 3], 0, 1 << 20));
    if (cfx_same(&w->a, &w->b) && cfx_same(&w->a, &w->c))
        return;
    /* What nobody has a log of any more. */
    cfx_copy(&w->a, &w->b, 1 << 20);
    cfx_copy(&w->a, &w->c, 1 << 20);
    cfx_copy(&w->b, &w->a, 1 << 20);
    cfx_copy(&w->c, &w->a, 1 << 20);
}

static void any_history_with_copies_ends_in_equal_stores(void **state)
{
    struct world *w = *state;
    const char *wish = getenv("AT_TEST_SEED");
    const char *many = getenv("AT_TEST_ROUNDS");
    uint64_t seed = wish != NULL ? strtoull(wish, NULL, 10) : 1;
    int rounds = many != NULL ? (int)strtol(many, NULL, 10) : 5;

    make_tables(w);
    for (int round = 0; round < rounds; round++, seed++) {
        struct at_prng prng;
        at_prng_init(&prng, seed);
        for (int i = 0; i < 50; i++)
            random_step(w, &prng);
        settle(w);
        if (!cfx_same(&w->a, &w->b) || !cfx_same(&w->a, &w->c)) {
            char *x = fx_rows(&w->a, "t");
            char *y = fx_rows(&w->b, "t");
            char *z = fx_rows(&w->c, "t");
            fail_msg("round %d, seed %llu:\n%s\n%s\n%s", round, (unsigned long long)seed, x, y, z);
        }
    }
}

int main(void)
{
#define SCHEDULE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        SCHEDULE_TEST(h10_the_only_copy_of_an_entry_is_not_wiped),
        SCHEDULE_TEST(h11_two_that_lack_each_others_entries_copy_one_after_the_other),
        SCHEDULE_TEST(h12_what_was_deleted_and_forgotten_does_not_come_back),
        SCHEDULE_TEST(h13_half_of_a_lost_donor_is_not_kept),
        SCHEDULE_TEST(h14_an_add_that_was_folded_meanwhile_counts_once),
        SCHEDULE_TEST(h15_forgetting_under_a_running_copy_takes_nothing_from_it),
        SCHEDULE_TEST(h17_nothing_is_pulled_while_a_copy_runs),
        SCHEDULE_TEST(h18_the_horizon_that_counts_is_the_one_that_was_used),
        SCHEDULE_TEST(any_history_with_copies_ends_in_equal_stores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
